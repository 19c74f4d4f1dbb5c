// What an input format is to the rest of the program. It says how its data is cut into chunks, which the main thread brings
// into shared memory, and it has a parser, which runs inside a worker thread and turns chunks into batches of rows.
import type { Arena } from '../numeric/arena.ts'
import type { Address, ByteCount } from '../sizes.ts'
import type { MeetName } from '../tables/hashed-names.ts'
import type { PlacedSchema } from '../tables/place-schema.ts'
import type { DeclaredTask } from '../threads/task.ts'
import type { CellRooms, CellsOfChunk, CellsWanted, EncodedBytes } from './cells.ts'

export interface InputFormat {
  /** import.meta.url of its file, which worker threads load. */
  module: string
  name: string
  /** What its files' names end with, if they do: such a name is never taken for that of a model. */
  endings?: readonly string[]
  summary: string
  /** What such data is called, e.g. `LIBSVM text`. */
  title: string
  /** What a row looks like. */
  row: string
  /** Whether rows are strings of letters: a feature is a position, counted from 1, and a value is the byte of a letter. */
  letters: boolean
  /** Whether labels may be in a file of their own, which is named. */
  takesLabels?: boolean
  cut: ByLines | ByPlan
  newParser(arena: Arena): ChunkParser
  /** Of a format that hashes names: goes through those of a text. */
  namesIn?(text: Uint8Array, meet: MeetName): void
}

/** Rows are lines of text. Files, compressed or not, and pipes are read from their beginning to their end. */
export interface ByLines {
  by: 'lines'
  /** Rows as a user may write them; the contract tests read them. */
  examples: string[]
  /** Whether a first line with content speaks for this format; the line may be cut off. */
  detect(line: string): boolean
  /** The number of the first feature: always the same, or judged by the start of the data; undefined when it can't be told. */
  indexBase: number | ((text: Uint8Array) => number | undefined)
  /** What the parser has to know of a file in every chunk, by the file's first chunk: the columns of a header, say. Plain data. */
  about?(text: Uint8Array, table: TableOfInput): unknown
  /** Where the last whole row ends, in text that begins with one; 0 when none does. The last line feed when not given. `about`
   *  is known once the first chunk is cut. */
  endOfRows?(text: Uint8Array, about: unknown): number
  /** Of tables: bytes that may separate cells. Rows are read by a schema, which is learnt before. */
  delimiters?: readonly number[]
}

/** What a format of tables is told of a file. */
export interface TableOfInput {
  /** For messages. */
  name: string
  /** What columns become, once it was learnt. */
  placed: PlacedSchema | undefined
  /** Whether every row has to have a label, and a weight where the schema has weights. */
  needsLabel: boolean
  /** Whether the first row names the columns, where the user says it. */
  header: string | undefined
}

/** The format opens an input, and plans the chunks that are read: row groups by their places in a file, say. */
export interface ByPlan {
  by: 'plan'
  /** Whether a file that begins so is in this format. */
  detect(head: Uint8Array): boolean
  /** Whether inputs are no files, but names of tables, say: nobody looks for them on disk. */
  noFiles?: boolean
  /** The number that is shown for the first feature. */
  indexBase: number
  /** Of tables: what decodes a chunk. Rows are read by a schema, which is learnt before. */
  tables?: DecodedTables
  /** Chunks should have about `chunkBytes` where the format leaves a choice. */
  open(input: InputToOpen, chunkBytes: number): Promise<OpenedInput>
}

/** How chunks of a table are decoded. */
export interface DecodedTables {
  /** To columns of cells, by loops, where the chunk is; undefined for a chunk that has to become text. */
  toCells(
    rooms: CellRooms,
    chunk: EncodedBytes,
    about: AboutEncoded,
    wanted: readonly CellsWanted[],
  ): Promise<CellsOfChunk | undefined>
  /** To text whose cells are separated by tabs, by a library. It runs in a thread of its own, which ends when it takes too long or
   *  too much memory. */
  toText: DeclaredTask<ChunkToDecode, Uint8Array>
}

export interface ChunkToDecode {
  bytes: Uint8Array
  /** That of the planned chunk. */
  about: AboutEncoded
}

/** Plain data of the format. */
export interface AboutEncoded {
  /** What messages call the chunk. */
  name: string
  /** Bytes of its cells, as far as its file tells. */
  decodedBytes: number
}

/** What a format is given to open. */
export interface InputToOpen {
  /** As the user wrote it. */
  path: string
  /** The same, for messages. */
  name: string
  /** Random access to its bytes. A pipe and a compressed file are refused. */
  file(): Promise<RandomAccess>
}

/** Bytes at any place of a file. One that ends too early is refused. */
export interface RandomAccess {
  size: number
  bytes(at: number, length: number): Promise<Uint8Array>
  fill(target: Uint8Array, at: number): Promise<void>
}

export interface OpenedInput {
  /** In the order of the rows. A list lets samples be taken; what comes one after the other is read once. */
  chunks: PlannedChunk[] | AsyncIterable<PlannedChunk>
  /** Of tables: the names of the columns. */
  columns?: string[]
  close?(): Promise<void>
}

export interface PlannedChunk {
  /** What messages call it, e.g. `row group 3`: its rows are counted from its beginning. Without it they are counted from
   *  the beginning of the file. */
  name?: string
  /** Bytes that the parser will get. */
  bytes: number
  /** Brings them, in the main thread. */
  fill(target: Uint8Array): Promise<void>
  /** What the parser has to know besides: plain data. */
  about?: unknown
}

/** A chunk as a parser gets it. */
export interface ChunkBytes {
  at: Address
  bytes: ByteCount
  /** Whether it is the first of its file. */
  first: boolean
  /** What the format has to say of it, or of its file. */
  about?: unknown
}

/** How a format is to read: only plain data, for it crosses to worker threads. */
export interface ParseSettings {
  /** 0 or 1: the number of the first feature in the file. */
  indexBase: number
  skipBad: boolean
  /** 32 or 64: how values are kept. */
  valueBits: 32 | 64
}

/** A parser of one thread. It owns its batch and reuses it. */
export interface ChunkParser {
  /** Does what has to be waited for, before a chunk is parsed: a library may decode no other way. */
  prepare?(chunk: ChunkBytes, settings: ParseSettings): Promise<void>
  /** Parses a chunk; yields its batches in order. */
  parse(chunk: ChunkBytes, settings: ParseSettings): Generator<ParsedBatch>
  /** After the last batch: lines of the chunk (rows, where there are no lines), and its bad rows, the first few in full. */
  lines: number
  badRows: number
  bad: BadRow[]
  /** The text of a label as the user wrote it, given a row of the present batch. */
  labelText(row: number): string
  /** Where a row of the present batch stands. */
  place(row: number): Place
  /** The weights of the rows of the present batch, where the data has them. */
  rowWeights?(rows: number): Float64Array | undefined
}

export interface ParsedBatch {
  /** Address of the batch; valid until the next one is asked for. */
  batch: Address
  rows: number
  nonzeros: number
  features: number
}

/** Where a row stands in its chunk. */
export interface Place {
  /** The line, or the number of the row where there are no lines; counted from 0. */
  line: number
  /** Of text alone: counted from 1, in bytes; 0 for the line as a whole. */
  column?: number
}

/** A row that could not be read: where, what was found, what was expected. */
export interface BadRow extends Place {
  found: string
  expected: string
  /** What the user can do, where there is something to say. */
  advice?: string
}
