// Columns of cells as tab-separated text.
import { SpillwayError } from '../errors.ts'

const SPECIAL = /["\t\r\n]|^\s|\s$/
/** Characters of lines that become bytes at a time: strings of all rows would take several times the memory. */
const PIECE = 1 << 18

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

/** Rows of cells that become text, one after the other. */
export class RowsAsText {
  /** Of the text, as far as it became bytes. */
  bytes = 0
  readonly #names: readonly string[]
  #pieces: Buffer[] = []
  #lines = ''

  constructor(names: readonly string[]) {
    this.#names = names
  }

  /** A row, by what gives the cell of each column. */
  row(cellOf: (column: number) => unknown): void {
    let line = ''
    for (let k = 0; k < this.#names.length; k++) line += (k > 0 ? '\t' : '') + cell(cellOf(k), this.#names[k])
    this.#lines += `${line}\n`
    if (this.#lines.length >= PIECE) this.#cut()
  }

  /** The text of all rows since this was asked last. */
  finish(): Buffer {
    this.#cut()
    const pieces = this.#pieces
    this.#pieces = []
    this.bytes = 0
    return pieces.length === 1 ? pieces[0] : Buffer.concat(pieces)
  }

  #cut(): void {
    if (this.#lines.length === 0) return
    const piece = Buffer.from(this.#lines)
    this.#pieces.push(piece)
    this.bytes += piece.length
    this.#lines = ''
  }
}
