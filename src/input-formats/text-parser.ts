// What parsers of text have in common: the buffers around a compiled parser, batch after batch of a chunk, and the tokens
// that errors show.
import type { Arena } from '../numeric/arena.ts'
import { BatchFields } from '../numeric/fields/batch.ts'
import { ParseFields } from '../numeric/fields/parse.ts'
import {
  BATCH_BYTES,
  LONGEST_LABEL,
  PARSE_BYTES,
  PARSE_ERROR_BYTES,
  PARSE_ERROR_LABEL_BYTE,
  PARSE_ERROR_LABEL_LENGTH,
  PARSE_ERROR_ROOM,
  PARSE_ERRORS,
} from '../numeric/layouts.ts'
import { roundUp } from '../numeric/rounding.ts'
import type { Address, ByteCount } from '../sizes.ts'
import type { BadRow, ChunkBytes, ChunkParser, ParsedBatch, ParseSettings, Place } from './input-format.ts'

/** Where a compiled parser met what it refuses. */
export interface ParseError {
  code: number
  line: number
  /** Addresses of the offending byte and of its line's start. */
  address: Address
  lineStart: Address
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
  protected readonly state: ParseFields
  protected readonly batch: BatchFields
  /** 4 or 8: the width of the values that the buffers were made for. */
  protected valueBytes = 0
  /** Text bytes that the buffers were made for, and the entries that they hold. */
  #madeFor = 0
  #entries = 0
  #labelAt = 0
  #chunkStart = 0
  #chunkEnd = 0
  /** The row whose place was last asked for. */
  #placed = { at: 0, line: 0 }

  constructor(arena: Arena) {
    this.arena = arena
    this.state = new ParseFields(arena, arena.allocateZeroed(PARSE_BYTES, 'the parser'))
    this.batch = new BatchFields(arena, arena.allocateZeroed(BATCH_BYTES, 'the parser'))
  }

  /** The most entries of a batch, given the bytes of a chunk. */
  protected abstract entryCapacity(bytes: ByteCount): number
  /** The most rows of a batch: those beyond go into the next one. */
  protected rowCapacity(bytes: ByteCount): number {
    return Math.floor(bytes / 32) + 1024
  }
  /** Sees a chunk before it is parsed. */
  protected begin(_chunk: ChunkBytes): void {}
  /** Calls the compiled parser once: it fills the batch from where it stands. */
  protected abstract fill(): void
  /** The words for what was refused. */
  protected abstract describe(error: ParseError): BadRow

  #makeRoom(bytes: ByteCount, valueBytes: ByteCount): void {
    if (bytes <= this.#madeFor && valueBytes === this.valueBytes) return
    this.#allocate(bytes, Math.max(this.entryCapacity(bytes), this.#entries), valueBytes)
  }

  #allocate(bytes: ByteCount, entries: number, valueBytes: ByteCount): void {
    const size = Math.max(bytes, this.#madeFor)
    const rows = this.rowCapacity(size)
    const slow = valueBytes === 8 ? entries : 1
    const arena = this.arena
    const a = arena.allocate(entries * (4 + valueBytes) + rows * 16 + slow * 8 + 256, 'the parser')
    const values = a
    const labels = values + roundUp(entries * valueBytes, 8)
    const indices = labels + roundUp(rows * 8, 8)
    const starts = indices + roundUp(entries * 4, 8)
    this.#labelAt = starts + roundUp((rows + 1) * 4, 8)
    const batch = this.batch
    batch.values = values
    batch.labels = labels
    batch.indices = indices
    batch.starts = starts
    batch.labelAt = this.#labelAt
    batch.valueBytes = valueBytes
    this.state.slow = this.#labelAt + roundUp(rows * 4, 8)
    this.state.slowCapacity = slow
    this.#madeFor = size
    this.#entries = entries
    this.valueBytes = valueBytes
  }

  /** Room for a row longer than usual; what is in the batch is lost. */
  protected enlarge(entries: number): void {
    if (entries > this.#entries) this.#allocate(this.#madeFor, entries, this.valueBytes)
    this.batch.nonzeroCapacity = entries
  }

  *parse(chunk: ChunkBytes, settings: ParseSettings): Generator<ParsedBatch> {
    const { at, bytes } = chunk
    const { state, batch } = this
    this.#makeRoom(bytes, settings.valueBits / 8)
    // Where a chunk is cut into batches depends on the chunk alone, not on how large the buffers have grown.
    batch.rowCapacity = this.rowCapacity(bytes)
    batch.nonzeroCapacity = this.entryCapacity(bytes)
    this.#chunkStart = at
    this.#chunkEnd = at + bytes
    this.#placed = { at, line: 0 }
    state.cursor = at
    state.end = at + bytes
    state.indexBase = settings.indexBase
    state.skipBad = settings.skipBad ? 1 : 0
    state.lines = 0
    state.badRows = 0
    state.zeros = 0
    this.badRows = 0
    this.bad = []
    this.begin(chunk)
    for (;;) {
      this.fill()
      this.lines = state.lines
      this.badRows = state.badRows
      const { rows, nonzeros, features } = batch
      if (rows > 0) yield { batch: batch.at, rows, nonzeros, features }
      if (this.badRows > 0 && !settings.skipBad) break
      if (state.cursor >= at + bytes) break
    }
    for (let k = 0; k < Math.min(this.badRows, PARSE_ERROR_ROOM); k++) {
      const [code, line, address, lineStart] = this.arena.u32(state.at + PARSE_ERRORS + k * PARSE_ERROR_BYTES, 4)
      this.bad.push(this.describe({ code, line, address, lineStart }))
    }
  }

  labelText(row: number): string {
    const at = this.arena.u32(this.#labelAt, row + 1)[row]
    const isNumber = !Number.isNaN(this.arena.f64(this.batch.labels, row + 1)[row])
    if (isNumber) return this.token(at).text
    // No # ends a label of text.
    const room = this.arena.bytes(at, Math.min(LONGEST_LABEL + 1, this.#chunkEnd - at))
    return Buffer.from(room.slice(0, room.findIndex(isBlank))).toString()
  }

  place(row: number): Place {
    const at = this.arena.u32(this.#labelAt, row + 1)[row]
    // Whoever asks for many rows asks for them in order: lines are counted from the last one on.
    let { at: from, line } = this.#placed.at <= at ? this.#placed : { at: this.#chunkStart, line: 0 }
    for (const byte of this.arena.bytes(from, at - from)) if (byte === LINE_FEED) line++
    this.#placed = { at, line }
    return { line, column: 1 }
  }

  /** A byte that a label cannot have. */
  protected describeByte({ code, line, address, lineStart }: ParseError): BadRow {
    const found = `the byte 0x${this.arena.bytes(address, 1)[0].toString(16).padStart(2, '0')}`
    return { line, column: address - lineStart + 1, found, ...LABEL_ERRORS[code] }
  }

  /** The token around an address, and where it starts. */
  protected token(
    address: Address,
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
