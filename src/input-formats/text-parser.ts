// What parsers of text have in common: the buffers around a compiled parser, batch after batch of a chunk, and the tokens
// that errors show.
import type { Arena } from '../numeric/arena.ts'
import {
  BATCH_BYTES,
  BATCH_FEATURES,
  BATCH_INDICES,
  BATCH_LABEL_AT,
  BATCH_LABELS,
  BATCH_NONZERO_CAPACITY,
  BATCH_NONZEROS,
  BATCH_ROW_CAPACITY,
  BATCH_ROWS,
  BATCH_STARTS,
  BATCH_VALUE_BYTES,
  BATCH_VALUES,
  LONGEST_LABEL,
  PARSE_BAD_ROWS,
  PARSE_BYTES,
  PARSE_CURSOR,
  PARSE_END,
  PARSE_ERROR_BYTES,
  PARSE_ERROR_LABEL_BYTE,
  PARSE_ERROR_LABEL_LENGTH,
  PARSE_ERROR_ROOM,
  PARSE_ERRORS,
  PARSE_INDEX_BASE,
  PARSE_LINES,
  PARSE_SKIP_BAD,
  PARSE_SLOW,
  PARSE_SLOW_CAPACITY,
  PARSE_ZEROS,
} from '../numeric/layouts.ts'
import { roundUp } from '../numeric/rounding.ts'
import type { BadRow, ChunkBytes, ChunkParser, ParsedBatch, ParseSettings, Place } from './input-format.ts'

/** Where a compiled parser met what it refuses. */
export interface ParseError {
  code: number
  line: number
  /** Addresses of the offending byte and of its line's start. */
  address: number
  lineStart: number
}

const LINE_FEED = 10
const isBlank = (byte: number): boolean => byte === 32 || byte === 10 || byte === 9 || byte === 13
const isBreak = (byte: number): boolean => isBlank(byte) || byte === 35

/** What a format says of labels that it refuses, by the parser's error number. */
export const LABEL_ERRORS: Record<number, { expected: string; advice?: string }> = {
  [PARSE_ERROR_LABEL_LENGTH]: { expected: `a label of at most ${LONGEST_LABEL} bytes` },
  [PARSE_ERROR_LABEL_BYTE]: {
    expected: 'a label of UTF-8 text without control characters',
    advice: 'is this text? If it is in another encoding, convert it, e.g. with iconv -t UTF-8',
  },
}

export abstract class TextParser implements ChunkParser {
  lines = 0
  badRows = 0
  bad: BadRow[] = []
  protected readonly arena: Arena
  protected readonly state: number
  protected readonly batch: number
  /** 4 or 8: the width of the values that the buffers were made for. */
  protected valueBytes = 0
  /** Text bytes that the buffers were made for, and the entries that they hold. */
  #madeFor = 0
  #entries = 0
  #labelAt = 0
  #chunkStart = 0
  #chunkEnd = 0

  constructor(arena: Arena) {
    this.arena = arena
    this.state = arena.allocateZeroed(PARSE_BYTES, 'the parser')
    this.batch = arena.allocateZeroed(BATCH_BYTES, 'the parser')
  }

  /** The most entries of a batch, given the bytes of a chunk. */
  protected abstract entryCapacity(bytes: number): number
  /** Calls the compiled parser once: it fills the batch from where it stands. */
  protected abstract fill(): void
  /** The words for what was refused. */
  protected abstract describe(error: ParseError): BadRow

  #makeRoom(bytes: number, valueBytes: number): void {
    if (bytes <= this.#madeFor && valueBytes === this.valueBytes) return
    this.#allocate(bytes, Math.max(this.entryCapacity(bytes), this.#entries), valueBytes)
  }

  #allocate(bytes: number, entries: number, valueBytes: number): void {
    const size = Math.max(bytes, this.#madeFor)
    const rows = rowCapacity(size)
    const slow = valueBytes === 8 ? entries : 1
    const arena = this.arena
    const a = arena.allocate(entries * (4 + valueBytes) + rows * 16 + slow * 8 + 256, 'the parser')
    const values = a
    const labels = values + roundUp(entries * valueBytes, 8)
    const indices = labels + roundUp(rows * 8, 8)
    const starts = indices + roundUp(entries * 4, 8)
    this.#labelAt = starts + roundUp((rows + 1) * 4, 8)
    const batch = this.batch
    arena.setU32(batch + BATCH_VALUES, values)
    arena.setU32(batch + BATCH_LABELS, labels)
    arena.setU32(batch + BATCH_INDICES, indices)
    arena.setU32(batch + BATCH_STARTS, starts)
    arena.setU32(batch + BATCH_LABEL_AT, this.#labelAt)
    arena.setU32(batch + BATCH_VALUE_BYTES, valueBytes)
    arena.setU32(this.state + PARSE_SLOW, this.#labelAt + roundUp(rows * 4, 8))
    arena.setU32(this.state + PARSE_SLOW_CAPACITY, slow)
    this.#madeFor = size
    this.#entries = entries
    this.valueBytes = valueBytes
  }

  /** Room for a row longer than usual; what is in the batch is lost. */
  protected enlarge(entries: number): void {
    if (entries > this.#entries) this.#allocate(this.#madeFor, entries, this.valueBytes)
    this.arena.setU32(this.batch + BATCH_NONZERO_CAPACITY, entries)
  }

  *parse({ at, bytes }: ChunkBytes, settings: ParseSettings): Generator<ParsedBatch> {
    const { arena, state, batch } = this
    this.#makeRoom(bytes, settings.valueBits / 8)
    // Where a chunk is cut into batches depends on the chunk alone, not on how large the buffers have grown.
    arena.setU32(batch + BATCH_ROW_CAPACITY, rowCapacity(bytes))
    arena.setU32(batch + BATCH_NONZERO_CAPACITY, this.entryCapacity(bytes))
    this.#chunkStart = at
    this.#chunkEnd = at + bytes
    arena.setU32(state + PARSE_CURSOR, at)
    arena.setU32(state + PARSE_END, at + bytes)
    arena.setU32(state + PARSE_INDEX_BASE, settings.indexBase)
    arena.setU32(state + PARSE_SKIP_BAD, settings.skipBad ? 1 : 0)
    arena.setU32(state + PARSE_LINES, 0)
    arena.setU32(state + PARSE_BAD_ROWS, 0)
    arena.setU32(state + PARSE_ZEROS, 0)
    this.badRows = 0
    this.bad = []
    for (;;) {
      this.fill()
      this.lines = arena.getU32(state + PARSE_LINES)
      this.badRows = arena.getU32(state + PARSE_BAD_ROWS)
      const rows = arena.getU32(batch + BATCH_ROWS)
      if (rows > 0) {
        const nonzeros = arena.getU32(batch + BATCH_NONZEROS)
        yield { batch, rows, nonzeros, features: arena.getU32(batch + BATCH_FEATURES) }
      }
      if (this.badRows > 0 && !settings.skipBad) break
      if (arena.getU32(state + PARSE_CURSOR) >= at + bytes) break
    }
    for (let k = 0; k < Math.min(this.badRows, PARSE_ERROR_ROOM); k++) {
      const [code, line, address, lineStart] = arena.u32(state + PARSE_ERRORS + k * PARSE_ERROR_BYTES, 4)
      this.bad.push(this.describe({ code, line, address, lineStart }))
    }
  }

  labelText(row: number): string {
    const at = this.arena.u32(this.#labelAt, row + 1)[row]
    const isNumber = !Number.isNaN(this.arena.f64(this.arena.getU32(this.batch + BATCH_LABELS), row + 1)[row])
    if (isNumber) return this.token(at).text
    // No # ends a label of text.
    const room = this.arena.bytes(at, Math.min(LONGEST_LABEL + 1, this.#chunkEnd - at))
    return Buffer.from(room.slice(0, room.findIndex(isBlank))).toString()
  }

  place(row: number): Place {
    const start = this.#chunkStart
    const before = this.arena.bytes(start, this.arena.u32(this.#labelAt, row + 1)[row] - start)
    return { line: before.reduce((lines, byte) => lines + (byte === LINE_FEED ? 1 : 0), 0), column: 1 }
  }

  /** A byte that a label cannot have. */
  protected describeByte({ code, line, address, lineStart }: ParseError): BadRow {
    const found = `the byte 0x${this.arena.bytes(address, 1)[0].toString(16).padStart(2, '0')}`
    return { line, column: address - lineStart + 1, found, ...LABEL_ERRORS[code] }
  }

  /** The token around an address, and where it starts. */
  protected token(
    address: number,
    lineStart = address,
    most = Number.POSITIVE_INFINITY,
  ): { text: string; start: number } {
    let start = address
    while (start > lineStart && !isBreak(this.arena.bytes(start - 1, 1)[0])) start--
    const room = this.arena.bytes(start, Math.min(this.#chunkEnd - start, most))
    let length = 0
    while (length < room.length && !isBreak(room[length])) length++
    return { text: Buffer.from(room.slice(0, length)).toString(), start }
  }
}

/** What was found, as an error shows it. */
export function shownToken(text: string): string {
  if (text === '') return 'the end of the line'
  return JSON.stringify(text.length > 40 ? `${text.slice(0, 40)}…` : text)
}

/** Rows beyond it go into the next batch. */
const rowCapacity = (bytes: number): number => Math.floor(bytes / 32) + 1024
