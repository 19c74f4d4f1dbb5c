// Tables that come in columns, from files or queries that libraries decode. A worker thread decodes a chunk into tab-separated
// text, and from there on it is a table like any other: the same columns, the same features, the same bits.
import { SpillwayError } from '../errors.ts'
import type { Arena } from '../numeric/arena.ts'
import { TAB } from '../tables/delimited-text.ts'
import { aboutTable, TableParser } from './csv.ts'
import type { ChunkBytes, DecodedTables, ParsedBatch, ParseSettings, TableOfInput } from './input-format.ts'

/** What workers are told of a chunk. */
export interface AboutDecoded {
  /** Plain data of the format. */
  decode: unknown
}

/** What every chunk of an input with these columns is told. */
export function aboutColumns(columns: readonly string[], table: TableOfInput): object {
  const layout = layoutOfColumns(columns)
  return table.placed ? aboutTable(layout, table) : layout
}

/** Decoded text has no header. The names of its columns stand for one. */
export function layoutOfColumns(columns: readonly string[]) {
  return { delimiter: TAB, rows: [[...columns]], firstBytes: 0, firstLines: 0 }
}

/** Memory for decoded text, which grows. */
export class TextRoom {
  readonly #arena: Arena
  #at = 0
  #capacity = 0

  constructor(arena: Arena) {
    this.#arena = arena
  }

  /** Decodes a chunk, and puts its text there. */
  async decode(tables: DecodedTables, chunk: ChunkBytes): Promise<ChunkBytes> {
    const bytes = this.#arena.bytes(chunk.at, chunk.bytes).slice()
    const text = await tables.toText(bytes, (chunk.about as AboutDecoded).decode)
    if (text.length > this.#capacity) {
      this.#capacity = Math.ceil(text.length * 1.25)
      // Loops read words behind the end.
      this.#at = this.#arena.allocate(this.#capacity + 64, 'decoded text')
    }
    this.#arena.bytes(this.#at, text.length).set(text)
    return { ...chunk, at: this.#at, bytes: text.length, first: false }
  }
}

export class DecodedTableParser extends TableParser {
  readonly #tables: DecodedTables
  readonly #room: TextRoom
  #text: ChunkBytes | undefined

  constructor(arena: Arena, tables: DecodedTables) {
    super(arena)
    this.#tables = tables
    this.#room = new TextRoom(arena)
  }

  async prepare(chunk: ChunkBytes): Promise<void> {
    this.#text = await this.#room.decode(this.#tables, chunk)
  }

  override parse(_chunk: ChunkBytes, settings: ParseSettings): Generator<ParsedBatch> {
    return super.parse(this.#text!, settings)
  }
}

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
