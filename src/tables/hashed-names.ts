// Names that the hashed columns of a table have, each with the feature that it falls on: values as they are, words in lower
// case. The features are those of numeric/assembly/parse-table.ts.
import { Xxh64 } from '../files/xxh64.ts'
import { isMissing, rowFrom } from './delimited-text.ts'
import type { HashedColumn } from './schema.ts'

/** Told of each name that is met. */
export type MeetName = (feature: number, name: string) => void

/** How a text is laid out: the byte between cells, and the bytes of its header. */
export interface HashedText {
  text: Uint8Array
  delimiter: number
  headerBytes: number
  /** Of each column of the text, what hashes it. */
  columns: readonly (HashedColumn | undefined)[]
}

/** Letters, digits, and all that is beyond ASCII. */
const WORDS = /[A-Za-z0-9\u0080-\uffff]+/g

/** Goes through the rows of a text. Rows that cannot be read have no names. */
export function namesInTable({ text, delimiter, headerBytes, columns }: HashedText, meet: MeetName): void {
  for (let at = headerBytes; at < text.length; ) {
    const row = rowFrom(text, at, delimiter)
    if (!row) return
    at = row.end
    if (row.cells.length !== columns.length) continue
    for (const [k, column] of columns.entries()) if (column) namesInCell(row.cells[k], column, meet)
  }
}

function namesInCell(cell: string, { role, feature, bits }: HashedColumn, meet: MeetName): void {
  const missing = isMissing(cell)
  if (role === 'hashed') {
    meet(feature + hashOf(missing ? '' : cell, bits), missing ? '' : cell)
    return
  }
  if (missing) return
  for (const [word] of cell.matchAll(WORDS)) {
    const lower = word.replace(/[A-Z]+/g, letters => letters.toLowerCase())
    meet(feature + hashOf(lower, bits), lower)
  }
}

/** The upper bits of the name's XXH64. */
function hashOf(name: string, bits: number): number {
  const { high } = new Xxh64().update(Buffer.from(name)).digest()
  return Math.floor(high / 2 ** (32 - bits))
}
