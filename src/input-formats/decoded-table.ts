// Tables that come in columns, from files or queries that libraries decode. A worker thread decodes a chunk into tab-separated
// text, and from there on it is a table like any other: the same columns, the same features, the same bits.
import type { Arena } from '../numeric/arena.ts'
import { TAB } from '../tables/delimited-text.ts'
import { aboutTable, TableParser } from './csv.ts'
import { decodeApart } from './decode-apart.ts'
import type {
  AboutEncoded,
  ChunkBytes,
  DecodedTables,
  ParsedBatch,
  ParseSettings,
  TableOfInput,
} from './input-format.ts'

/** What workers are told of a chunk. */
export interface AboutDecoded {
  decode: AboutEncoded
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
    const text = await decodeApart(tables, { bytes, about: (chunk.about as AboutDecoded).decode })
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
