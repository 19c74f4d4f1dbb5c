// Which column of a text is which column of a schema: by name where the text has a header, else by place.
import { SpillwayError } from '../errors.ts'
import type { TextLayout } from './delimited-text.ts'
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
  const inFirst = new Set(first)
  const isNamed = header === 'yes' || (header !== 'no' && known.some(column => inFirst.has(column.name)))
  if (schema.header && isNamed) {
    const missing = known.filter(column => !inFirst.has(column.name)).map(column => column.name)
    if (missing.length > 0) throw missingColumns(name, missing)
    const places = new Map(schema.columns.map((column, k) => [column.name, k]))
    const order = first.map(each => places.get(each) ?? -1)
    return { ...bounds(layout, true), order: once(order), names: first }
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

function missingColumns(name: string, missing: string[]): SpillwayError {
  const shown = missing.slice(0, 5).map(each => JSON.stringify(each))
  const more = missing.length > 5 ? ` and ${missing.length - 5} more` : ''
  return new SpillwayError(
    `${name} has no column ${shown.join(', ')}${more}`,
    'columns may stand in any order, but all that were trained on have to be there',
  )
}

function shownNames(columns: Column[]): string {
  const shown = columns.slice(0, 8).map(({ name }) => name)
  return shown.join(', ') + (columns.length > 8 ? ', …' : '')
}
