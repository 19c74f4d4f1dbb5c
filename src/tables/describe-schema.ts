// What became of each column of a table, in a few lines.

import { formatCount } from '../sizes.ts'
import { type Column, hasFeatures, type Schema } from './schema.ts'

const MOST_LINES = 40

/** A line for each column; neighbours that became the same share one. */
export function schemaLines(schema: Schema, indent = '  '): string[] {
  const rows = schema.columns.map(column => [nameOf(column), becomes(column)])
  const groups: [first: string, last: string, count: number, what: string][] = []
  for (const [name, what] of rows) {
    const before = groups.at(-1)
    if (before && before[3] === what && rows.length > MOST_LINES / 2) {
      before[1] = name
      before[2]++
    } else groups.push([name, name, 1, what])
  }
  const named = groups.map(([first, last, count, what]) => [count === 1 ? first : `${first} to ${last}`, what])
  const shown = named.slice(0, MOST_LINES)
  const width = Math.min(40, Math.max(...shown.map(([name]) => name.length)))
  const lines = shown.map(([name, what]) => `${indent}${name.padEnd(width)}  ${what}`)
  return named.length > shown.length ? [...lines, `${indent}and ${named.length - shown.length} more`] : lines
}

/** On one line, whatever a name holds. */
function nameOf({ name }: Column): string {
  const flat = name.replace(/\s+/g, ' ')
  return flat.length > 40 ? `${flat.slice(0, 39)}…` : flat
}

/** What a column became, in a few words. */
export function becomes(column: Column): string {
  if (!hasFeatures(column)) {
    return { label: 'the label', weight: 'the weight of the row', ignored: 'left out' }[column.role]
  }
  const missing = 'missing' in column && column.missing !== undefined ? ', and one for missing cells' : ''
  if (column.role === 'number') return `a number${missing}`
  if (column.role === 'category') {
    const { length } = column.values
    return `names: ${formatCount(length)} ${length === 1 ? 'feature' : 'features'}${missing}`
  }
  const what = column.role === 'words' ? 'words' : 'names'
  return `${what}, by hashes of ${column.bits} bits: ${formatCount(2 ** column.bits)} features`
}
