// From columns as they were scanned to a schema: what the user says of them, then what their cells are.
import { SpillwayError, UsageError } from '../errors.ts'
import { isNumber, LABEL_NAMES } from './delimited-text.ts'
import type { Column, Schema } from './schema.ts'
import { categoriesOf, type TableOptions, USUAL_BITS } from './table-options.ts'

/** Values of a column that are listed; a column of more is hashed. */
export const MOST_VALUES = 1 << 16
/** Bytes of all of them. */
export const MOST_VALUE_BYTES = 1 << 24

/** What the user says a column is; `seen` is for the cells to show. */
export type SaidRole = 'label' | 'weight' | 'ignored' | 'words' | 'values' | 'seen'

/** What the cells of a column are. */
export interface ScannedColumn {
  missing: number
  numbers: number
  texts: number
  /** The first cell that is no number, and its line in its file, from 1 on. */
  firstText?: { text: string; file: string; line: number }
  /** In the order of the data; undefined where there are too many, or where nobody asked. */
  values?: string[] | undefined
}

/** Columns that are named in the options. */
export function namedColumns(options: TableOptions): string[] {
  const { label, weight, ignore = [], text = [] } = options
  const one = [label, weight].filter(name => name !== undefined)
  return [...one, ...ignore, ...text, ...categoriesOf(options).names]
}

/** A table whose column of labels nobody has named. */
export class LabelUnknown extends UsageError {
  override name = 'LabelUnknown'
  readonly columns: readonly string[]

  constructor(columns: readonly string[], message: string, advice: string) {
    super(message, advice)
    this.columns = columns
  }
}

/** What the user says of each column. Columns are called by their names, or by their numbers. */
export function saidRoles(names: readonly string[], header: boolean, options: TableOptions): SaidRole[] {
  const placeOf = (name: string, option: string): number => {
    const place = names.indexOf(name)
    if (place >= 0) return place
    const number = /^\d+$/.test(name) ? Number(name) : 0
    if (number >= 1 && number <= names.length) return number - 1
    throw new UsageError(`${option} names the column ${JSON.stringify(name)}; ${columnList(names, header)}`)
  }
  const roles = names.map((): SaidRole => 'seen')
  const say = (name: string, option: string, role: SaidRole): void => {
    const place = placeOf(name, option)
    const before = roles[place]
    if (before !== 'seen' && before !== role) {
      throw new UsageError(
        `${option} names the column ${JSON.stringify(names[place])}, which is something else already`,
      )
    }
    roles[place] = role
  }
  const lower = names.map(name => name.toLowerCase())
  const usual = LABEL_NAMES.map(name => lower.indexOf(name)).find(place => place >= 0)
  if (options.label !== undefined) say(options.label, 'label', 'label')
  else if (header && usual !== undefined) roles[usual] = 'label'
  else {
    throw new LabelUnknown(
      names,
      `which column is the label? ${columnList(names, header)}`,
      `say --label ${header ? 'NAME' : 'NUMBER'}`,
    )
  }
  if (options.weight !== undefined) say(options.weight, 'weight', 'weight')
  for (const name of options.ignore ?? []) say(name, 'ignore', 'ignored')
  for (const name of options.text ?? []) say(name, 'text', 'words')
  for (const name of categoriesOf(options).names) say(name, 'categorical', 'values')
  return roles
}

function columnList(names: readonly string[], header: boolean): string {
  if (!header) return `the table has ${names.length} columns and no header`
  const shown = names.slice(0, 40).map(name => JSON.stringify(name))
  return `the columns are ${shown.join(', ')}${names.length > 40 ? `, … (${names.length} in all)` : ''}`
}

/** The features of all columns, one column after the other. */
export function makeSchema(
  names: readonly string[],
  header: boolean,
  roles: readonly SaidRole[],
  scanned: readonly ScannedColumn[],
  options: TableOptions,
): Schema {
  const bits = categoriesOf(options).bits ?? USUAL_BITS
  let features = 0
  const columns = names.map((name, k): Column => {
    const said = roles[k]
    if (said === 'label' || said === 'weight' || said === 'ignored') return { name, role: said }
    const feature = features
    const { missing, texts, values } = scanned[k]
    const withMissing = (count: number) => {
      features += count + (missing > 0 ? 1 : 0)
      return missing > 0 ? { missing: feature + count } : {}
    }
    if (said === 'seen' && texts === 0) return { name, role: 'number', feature, ...withMissing(1) }
    if (said === 'seen') refuseStrange(name, scanned[k])
    if (said !== 'words' && values) return { name, role: 'category', feature, values, ...withMissing(values.length) }
    features += 2 ** bits
    return { name, role: said === 'words' ? 'words' : 'hashed', feature, bits }
  })
  if (features > 2 ** 32 - 3) {
    throw new UsageError(`the table has ${features} features; expected fewer than 2^32`, 'hash to fewer bits')
  }
  if (features === 0) throw new UsageError('the table has no column besides the label', 'is the delimiter another one?')
  return { header, columns, features }
}

const DATE = /^(\d{4}-\d{1,2}-\d{1,2}|\d{1,2}[./]\d{1,2}[./]\d{2,4}|\d{4}\/\d{1,2}\/\d{1,2})([T ].*)?$/
/** 3,14 and 1.234,5; 1,234 and 1,234.5. Numbers among them may do without. */
const COMMA_IN_NUMBER = /^[+-]?(\d+|\d{1,3}(\.\d{3})+),\d+$|^[+-]?\d{1,3}(,\d{3})+(\.\d*)?$/
const INFINITE = /^[+-]?inf(inity)?$/i
/** Below this share, cells that are no numbers are taken for mistakes. */
const FEW = 0.1
const MANY_NUMBERS = 50

/** Refuses texts that are most likely meant otherwise. */
function refuseStrange(name: string, { numbers, texts, firstText, values }: ScannedColumn): void {
  const where = firstText ? `${firstText.file}, line ${firstText.line}: found ` : ''
  const shown = JSON.stringify(firstText?.text.slice(0, 40) ?? '')
  const column = `column ${JSON.stringify(name)}`
  const ignore = `leave it out with --ignore ${JSON.stringify(name)}`
  const refuse = (expected: string, advice: string): SpillwayError =>
    new SpillwayError(`${where}${shown} in ${column}, expected ${expected}`, advice)
  const all = (pattern: RegExp): boolean =>
    values ? values.every(value => pattern.test(value)) : pattern.test(firstText?.text ?? '') && numbers === 0
  if (all(DATE)) {
    throw refuse(
      'no dates, for a date says little as a number or as a name',
      `${ignore}, make columns such as year, month or weekday of it, or take its values as names with --categorical ${JSON.stringify(name)}`,
    )
  }
  const hasComma = (text: string): boolean => COMMA_IN_NUMBER.test(text)
  if (hasComma(firstText?.text ?? '') && (values?.every(value => isNumber(value) || hasComma(value)) ?? true)) {
    throw refuse(
      'a point in a number, and no commas',
      `write 3.14 for 3,14 and 1234 for 1,234, ${ignore}, or take its values as names with --categorical ${JSON.stringify(name)}`,
    )
  }
  const isInfinite = (text: string): boolean => INFINITE.test(text)
  if (values?.every(value => isNumber(value) || isInfinite(value))) {
    throw refuse(
      'a finite number',
      `correct the cell or leave it empty, ${ignore}, or take its values as names with --categorical ${JSON.stringify(name)}`,
    )
  }
  if (texts < FEW * (numbers + texts) && numbers >= MANY_NUMBERS) {
    throw refuse(
      `a number, as in ${numbers} other cells of the column`,
      `correct the cell or leave it empty, ${ignore}, or take its values as names with --categorical ${JSON.stringify(name)}`,
    )
  }
}
