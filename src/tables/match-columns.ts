// Which column of a text is which column of a schema: by name where the text has a header, else by place.
import { SpillwayError } from '../errors.ts'
import { columnNames, isNumber, type TextLayout } from './delimited-text.ts'
import { type Column, hasFeatures, type Schema } from './schema.ts'

/** How the columns of one text are read. */
export interface MatchedText {
  delimiter: number
  /** Of the header, which is stepped over; 0 without one. */
  headerBytes: number
  headerLines: number
  /** Of each column of the text: its place in the schema, or −1 for one that the schema does not know. */
  order: number[]
  /** What messages call the columns of the text. */
  names: string[]
}

/** `needed`: columns that have to be there besides those with features. */
export function matchText(
  layout: TextLayout,
  schema: Schema,
  { name, needed, header }: { name: string; needed: readonly Column['role'][]; header?: string | undefined },
): MatchedText {
  const [first = []] = layout.rows
  const isNeeded = (column: Column): boolean => hasFeatures(column) || needed.includes(column.role)
  const known = schema.columns.filter(isNeeded)
  const names = columnNames(first)
  // Models of before may have a column without a name.
  const inFirst = new Set([...first, ...names])
  const isNamed = header === 'yes' || (header !== 'no' && isHeader(first, known))
  if (schema.header && isNamed) {
    const missing = known.filter(column => !inFirst.has(column.name)).map(column => column.name)
    if (missing.length > 0) throw missingColumns(name, missing, names)
    const places = new Map(schema.columns.map((column, k) => [column.name, k]))
    const order = first.map((each, k) => places.get(each) ?? places.get(names[k]) ?? -1)
    return { ...bounds(layout, true), order: once(order), names }
  }
  const skipped = !schema.header && header === 'yes'
  const all = schema.columns.map((_, k) => k)
  // Rows that are to be predicted may come without the columns that nobody needs.
  const order = [all, all.filter(k => isNeeded(schema.columns[k]))].find(({ length }) => length === first.length)
  if (!order) {
    throw new SpillwayError(
      `${name}: found ${first.length} columns and no header, expected the ${all.length} columns ${shownNames(schema.columns)}`,
      schema.header ? 'give it a first row that names its columns' : undefined,
    )
  }
  return { ...bounds(layout, skipped), order, names: order.map(k => schema.columns[k].name) }
}

/** A row that has the name of a column, or many of them written in another way: it is no row of data then, and what is missing can
 *  be told. */
function isHeader(row: string[], columns: Column[]): boolean {
  const exact = new Set(row)
  // A number may as well be a cell.
  if (columns.some(({ name }) => !isNumber(name) && exact.has(name))) return true
  const alike = new Set(row.map(loosely))
  return columns.filter(({ name }) => alike.has(loosely(name))).length > columns.length / 2
}

function bounds({ delimiter, firstBytes, firstLines }: TextLayout, header: boolean) {
  return { delimiter, headerBytes: header ? firstBytes : 0, headerLines: header ? firstLines : 0 }
}

/** A name that stands there twice is read where it stands first. */
function once(order: number[]): number[] {
  const met = new Set<number>()
  return order.map(place => {
    const again = met.has(place)
    met.add(place)
    return again ? -1 : place
  })
}

/** A name as people take it for the same. */
function loosely(name: string): string {
  return name.toLowerCase().replace(/[\s_-]+/g, '')
}

function missingColumns(name: string, missing: string[], found: string[]): SpillwayError {
  const isSlip = (each: string, other: string): boolean => loosely(each) === loosely(other)
  const slip = missing.flatMap(each => found.filter(other => isSlip(each, other)).map(other => [each, other]))[0]
  return new SpillwayError(
    `${name} has no column ${quoted(missing, 5)}; its columns are ${quoted(found, 8)}`,
    slip
      ? `names count letter by letter: is ${JSON.stringify(slip[1])} the column ${JSON.stringify(slip[0])}?`
      : 'columns may stand in any order, but all that were trained on have to be there',
  )
}

function quoted(names: string[], most: number): string {
  const shown = names.slice(0, most).map(each => JSON.stringify(each))
  return shown.join(', ') + (names.length > most ? ` and ${names.length - most} more` : '')
}

function shownNames(columns: Column[]): string {
  const shown = columns.slice(0, 8).map(({ name }) => name)
  return shown.join(', ') + (columns.length > 8 ? ', …' : '')
}
