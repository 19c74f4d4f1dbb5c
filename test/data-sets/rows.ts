// Rows as the tests themselves read and write them, by code that shares nothing with the program.
import { readFileSync } from 'node:fs'
import { zstdDecompressSync } from 'node:zlib'

export interface Row {
  label: number
  indices: number[]
  values: number[]
}

/** The lines of a .zst file that are not empty. */
export const readLines = (path: string): string[] =>
  zstdDecompressSync(readFileSync(path))
    .toString('latin1')
    .split('\n')
    .filter(line => line !== '')

/** A line of LIBSVM text; indices stay as they are written. */
export function rowOf(line: string): Row {
  const [label, ...entries] = line.trim().split(/\s+/)
  const row: Row = { label: Number(label), indices: [], values: [] }
  for (const entry of entries) {
    const colon = entry.indexOf(':')
    row.indices.push(Number(entry.slice(0, colon)))
    row.values.push(Number(entry.slice(colon + 1)))
  }
  return row
}

/** The rows of a LIBSVM text. */
export const rowsOfText = (text: string): Row[] => text.trim().split('\n').map(rowOf)

export function unitLength(row: Row): Row {
  const length = Math.sqrt(row.values.reduce((sum, x) => sum + x * x, 0))
  return length === 0 ? row : { ...row, values: row.values.map(x => x / length) }
}

export const writeData = (rows: Row[]): string =>
  rows.map(row => `${row.label}${row.indices.map((index, k) => ` ${index}:${row.values[k]}`).join('')}\n`).join('')
