// Tables that come in columns. The thread that parses a chunk decodes it into columns of cells, where they are plain numbers and
// texts. Else a library decodes it into tab-separated text, in a thread of its own, and from there on it is a table like any
// other. Both ways give the same columns, the same features, the same bits.
import type { Arena } from '../numeric/arena.ts'
import { TAB } from '../tables/delimited-text.ts'
import { type CellRooms, type CellsOfChunk, type CellsWanted, newCellRooms, withTexts } from './cells.ts'
import { ColumnsParser, wantedBy } from './columns-parser.ts'
import { type AboutTable, aboutTable, TableParser } from './csv.ts'
import { decodeApart } from './decode-apart.ts'
import type {
  AboutEncoded,
  BadRow,
  ChunkBytes,
  ChunkParser,
  DecodedTables,
  ParsedBatch,
  ParseSettings,
  Place,
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

/** The cells of a chunk, where they are plain; a line of text that has one empty cell would be no row. */
export async function cellsOfChunk(
  tables: DecodedTables,
  rooms: CellRooms,
  { at, bytes, about }: ChunkBytes,
  wanted: readonly CellsWanted[],
): Promise<CellsOfChunk | undefined> {
  if (wanted.length < 2) return undefined
  const cells = await tables.toCells(rooms, { at, bytes }, (about as AboutDecoded).decode, wanted)
  return cells && withTexts(rooms, cells, wanted)
}

export class DecodedTableParser implements ChunkParser {
  readonly #arena: Arena
  readonly #tables: DecodedTables
  readonly #rooms: CellRooms
  readonly #ofCells: ColumnsParser
  readonly #room: TextRoom
  readonly #ofText: TableParser
  /** What the present chunk goes through, and as what. */
  #parser: ColumnsParser | TableParser
  #chunk: ChunkBytes | undefined

  constructor(arena: Arena, tables: DecodedTables) {
    this.#arena = arena
    this.#tables = tables
    this.#rooms = newCellRooms(arena)
    this.#ofCells = new ColumnsParser(arena)
    this.#room = new TextRoom(arena)
    this.#ofText = new TableParser(arena)
    this.#parser = this.#ofText
  }

  async prepare(chunk: ChunkBytes, { valueBits }: ParseSettings): Promise<void> {
    const about = chunk.about as AboutTable
    const cells = await cellsOfChunk(this.#tables, this.#rooms, chunk, wantedBy(this.#arena, about))
    if (cells && this.#ofCells.take(cells, about, valueBits / 8)) {
      this.#parser = this.#ofCells
      this.#chunk = { at: 0, bytes: cells.rows, first: false }
    } else {
      this.#parser = this.#ofText
      this.#chunk = await this.#room.decode(this.#tables, chunk)
    }
  }

  parse(_chunk: ChunkBytes, settings: ParseSettings): Generator<ParsedBatch> {
    return this.#parser.parse(this.#chunk!, settings)
  }

  get lines(): number {
    return this.#parser.lines
  }
  get badRows(): number {
    return this.#parser.badRows
  }
  get bad(): BadRow[] {
    return this.#parser.bad
  }
  labelText(row: number): string {
    return this.#parser.labelText(row)
  }
  place(row: number): Place {
    return this.#parser.place(row)
  }
  rowWeights(rows: number): Float64Array | undefined {
    return this.#parser.rowWeights(rows)
  }
}
