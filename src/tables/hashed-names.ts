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
  // Most names come again and again: each is hashed once.
  const met = columns.map(() => new Set<string>())
  for (let at = headerBytes; at < text.length; ) {
    const row = rowFrom(text, at, delimiter)
    if (!row) return
    at = row.end
    if (row.cells.length !== columns.length) continue
    for (const [k, column] of columns.entries()) if (column) namesInCell(row.cells[k], column, met[k], meet)
  }
}

function namesInCell(cell: string, { role, feature, bits }: HashedColumn, met: Set<string>, meet: MeetName): void {
  const missing = isMissing(cell)
  const meetOnce = (name: string): void => {
    if (met.has(name)) return
    met.add(name)
    meet(feature + hashOf(name, bits), name)
  }
  if (role === 'hashed') meetOnce(missing ? '' : cell)
  else if (!missing) {
    for (const [word] of cell.matchAll(WORDS)) meetOnce(word.replace(/[A-Z]+/g, letters => letters.toLowerCase()))
  }
}

/** The upper bits of the name's XXH64. */
function hashOf(name: string, bits: number): number {
  const { high } = new Xxh64().update(Buffer.from(name)).digest()
  return Math.floor(high / 2 ** (32 - bits))
}
