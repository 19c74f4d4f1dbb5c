// What an input format is to the rest of the program: a parser that runs inside a worker thread and turns chunks of
// whole lines into batches.
import type { Arena } from '../numeric/arena.ts'

/** Where a row stands in its chunk. */
export interface Place {
  /** The line, or the number of the row where there are no lines; counted from 0. */
  line: number
  /** Of text alone: counted from 1, in bytes. */
  column?: number
}

/** A row that could not be read: where, what was found, what was expected. */
export interface BadRow extends Place {
  found: string
  expected: string
  /** What the user can do, where there is something to say. */
  advice?: string
}

/** How a format is to read: only plain data, for it crosses to worker threads. */
export interface ParseSettings {
  /** 0 or 1: the number of the first feature in the file. */
  indexBase: number
  skipBad: boolean
  /** 32 or 64: how values are kept. */
  valueBits: 32 | 64
}

export interface ParsedBatch {
  /** Address of the batch; valid until the next one is asked for. */
  batch: number
  rows: number
  nonzeros: number
  features: number
}

/** A parser of one thread. It owns its batch and reuses it. */
export interface ChunkParser {
  /** Parses a chunk; yields its batches in order. */
  parse(at: number, bytes: number, settings: ParseSettings): Generator<ParsedBatch>
  /** After the last batch: lines of the chunk (rows, where there are no lines), and its bad rows, the first few in full. */
  lines: number
  badRows: number
  bad: BadRow[]
  /** The text of a label as the user wrote it, given a row of the present batch. */
  labelText(row: number): string
  /** Where a row of the present batch stands. */
  place(row: number): Place
}

export interface InputFormat {
  /** import.meta.url of its file, which worker threads load. */
  module: string
  name: string
  summary: string
  /** What such text is called, e.g. `LIBSVM text`. */
  title: string
  /** What a row looks like. */
  row: string
  /** Rows as a user may write them; the contract tests read them. */
  examples: string[]
  /** Whether rows are strings of letters: a feature is a position, counted from 1, and a value is the byte of a letter. */
  letters: boolean
  /** Whether a first line with content speaks for this format; the line may be cut off. */
  detect(line: string): boolean
  /** File name endings, compression not counted. */
  endings: string[]
  /** Which number the first feature has, judged by the start of the data; undefined when it can't be told. */
  detectIndexBase(head: Uint8Array): number | undefined
  newParser(arena: Arena): ChunkParser
}
