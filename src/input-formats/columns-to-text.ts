// Columns of cells as tab-separated text.
import { SpillwayError } from '../errors.ts'

const SPECIAL = /["\t\r\n]|^\s|\s$/

/** A cell as text. Numbers are written so that reading them gives the same numbers. */
function cell(value: unknown, column: string): string {
  if (typeof value === 'number') return Number.isNaN(value) ? '' : String(value)
  if (typeof value === 'string') return SPECIAL.test(value) ? `"${value.replaceAll('"', '""')}"` : value
  if (value === null || value === undefined) return ''
  if (typeof value === 'bigint') return String(value)
  if (typeof value === 'boolean') return value ? '1' : '0'
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? '' : value.toISOString()
  throw new SpillwayError(
    `found lists, records or bytes in column ${JSON.stringify(column)}, expected numbers or texts`,
    'leave the column out, or make columns of it, e.g. by a query',
  )
}

/** Columns of the same length as rows of text. */
export function columnsToText(names: readonly string[], columns: readonly ArrayLike<unknown>[]): Buffer {
  const lines: string[] = []
  const rows = columns[0]?.length ?? 0
  for (let r = 0; r < rows; r++) {
    let line = ''
    for (let k = 0; k < columns.length; k++) line += (k > 0 ? '\t' : '') + cell(columns[k][r], names[k])
    lines.push(line)
  }
  return Buffer.from(lines.length > 0 ? `${lines.join('\n')}\n` : '')
}
