// LIBSVM text: `label index:value index:value … # comment`, one row a line. The bytes are parsed in
// numeric/assembly/parse-libsvm.ts; here are its buffers and the words for what it refuses.
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
  PARSE_BAD_ROWS,
  PARSE_BYTES,
  PARSE_CURSOR,
  PARSE_END,
  PARSE_ERROR_AFTER_LABEL,
  PARSE_ERROR_AFTER_VALUE,
  PARSE_ERROR_BYTES,
  PARSE_ERROR_COLON,
  PARSE_ERROR_DUPLICATE,
  PARSE_ERROR_INDEX,
  PARSE_ERROR_INDEX_RANGE,
  PARSE_ERROR_INDEX_ZERO,
  PARSE_ERROR_LABEL,
  PARSE_ERROR_MISSING_VALUE,
  PARSE_ERROR_NOT_FINITE,
  PARSE_ERROR_ROOM,
  PARSE_ERROR_TOO_LARGE,
  PARSE_ERROR_UNSORTED,
  PARSE_ERROR_VALUE,
  PARSE_ERRORS,
  PARSE_INDEX_BASE,
  PARSE_LINES,
  PARSE_SKIP_BAD,
  PARSE_SLOW,
  PARSE_SLOW_CAPACITY,
  PARSE_SLOW_COUNT,
  PARSE_ZEROS,
} from '../numeric/layouts.ts'
import type { BadRow, ChunkParser, InputFormat, ParsedBatch, ParseSettings } from './input-format.ts'

/** What was expected, and what to do, by the parser's error number. */
const EXPECTED: Record<number, { expected: string; advice?: string }> = {
  [PARSE_ERROR_LABEL]: { expected: 'a label at the start of the line: a number such as +1, -1 or 3' },
  [PARSE_ERROR_AFTER_LABEL]: {
    expected: 'a label, then a blank',
    advice: 'a line starts with its label: LABEL INDEX:VALUE INDEX:VALUE …',
  },
  [PARSE_ERROR_INDEX]: { expected: 'INDEX:VALUE with a whole number as index' },
  [PARSE_ERROR_INDEX_RANGE]: { expected: 'an index of at most 4294967294' },
  [PARSE_ERROR_INDEX_ZERO]: {
    expected: 'an index of at least 1, for the indices of this data count from 1',
    advice: 'if they count from 0, say --index-base 0',
  },
  [PARSE_ERROR_COLON]: { expected: 'INDEX:VALUE; the colon is missing' },
  [PARSE_ERROR_MISSING_VALUE]: { expected: 'a value after the colon', advice: 'is the line cut short?' },
  [PARSE_ERROR_VALUE]: { expected: 'a number as value' },
  [PARSE_ERROR_AFTER_VALUE]: { expected: 'a number as value, then a blank' },
  [PARSE_ERROR_NOT_FINITE]: {
    expected: 'a finite number',
    advice: 'clean the data, or step over such rows with --on-bad-row skip',
  },
  [PARSE_ERROR_DUPLICATE]: { expected: 'each index once in a row' },
  [PARSE_ERROR_UNSORTED]: {
    expected: 'indices that rise within a row',
    advice: 'sort the indices of each row',
  },
  [PARSE_ERROR_TOO_LARGE]: {
    expected: 'a number that a 32-bit float can hold (below 3.4e38)',
    advice: 'scale the feature down, or keep 64-bit values with --values f64',
  },
}

const isBreak = (byte: number): boolean => byte === 32 || byte === 10 || byte === 9 || byte === 13 || byte === 35

class LibsvmParser implements ChunkParser {
  lines = 0
  badRows = 0
  bad: BadRow[] = []
  readonly #arena: Arena
  readonly #state: number
  readonly #batch: number
  /** Text bytes and value width that the buffers were made for. */
  #madeFor = [0, 0]
  #labelAt = 0
  #chunkEnd = 0

  constructor(arena: Arena) {
    this.#arena = arena
    this.#state = arena.allocateZeroed(PARSE_BYTES, 'the parser')
    this.#batch = arena.allocateZeroed(BATCH_BYTES, 'the parser')
  }

  #makeRoom(bytes: number, valueBytes: number): void {
    const [room, width] = this.#madeFor
    if (bytes <= room && valueBytes === width) return
    const size = Math.max(bytes, room)
    const entries = entryCapacity(size)
    const rows = rowCapacity(size)
    const slow = valueBytes === 8 ? entries : 1
    const arena = this.#arena
    const a = arena.allocate(entries * (4 + valueBytes) + rows * 16 + slow * 8 + 256, 'the parser')
    const values = a
    const labels = values + align(entries * valueBytes)
    const indices = labels + align(rows * 8)
    const starts = indices + align(entries * 4)
    this.#labelAt = starts + align((rows + 1) * 4)
    const batch = this.#batch
    arena.setU32(batch + BATCH_VALUES, values)
    arena.setU32(batch + BATCH_LABELS, labels)
    arena.setU32(batch + BATCH_INDICES, indices)
    arena.setU32(batch + BATCH_STARTS, starts)
    arena.setU32(batch + BATCH_LABEL_AT, this.#labelAt)
    arena.setU32(batch + BATCH_VALUE_BYTES, valueBytes)
    arena.setU32(this.#state + PARSE_SLOW, this.#labelAt + align(rows * 4))
    arena.setU32(this.#state + PARSE_SLOW_CAPACITY, slow)
    this.#madeFor = [size, valueBytes]
  }

  *parse(at: number, bytes: number, settings: ParseSettings): Generator<ParsedBatch> {
    const { numeric } = this.#arena
    const arena = this.#arena
    const state = this.#state
    const batch = this.#batch
    this.#makeRoom(bytes, settings.valueBits / 8)
    // Where a chunk is cut into batches depends on the chunk alone, not on how large the buffers have grown.
    arena.setU32(batch + BATCH_ROW_CAPACITY, rowCapacity(bytes))
    arena.setU32(batch + BATCH_NONZERO_CAPACITY, entryCapacity(bytes))
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
      numeric.parseLibsvm(state, batch)
      if (settings.valueBits === 64) this.#exactValues()
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
      this.bad.push(this.#describe(state + PARSE_ERRORS + k * PARSE_ERROR_BYTES))
    }
  }

  /** Values with more digits than one division can round correctly are read again, by the language's own parser. */
  #exactValues(): void {
    const arena = this.#arena
    const count = arena.getU32(this.#state + PARSE_SLOW_COUNT)
    if (count === 0) return
    const list = arena.u32(arena.getU32(this.#state + PARSE_SLOW), count * 2)
    const nonzeros = arena.getU32(this.#batch + BATCH_NONZEROS)
    const values = arena.f64(arena.getU32(this.#batch + BATCH_VALUES), nonzeros)
    for (let k = 0; k < count; k++) values[list[2 * k]] = Number(this.#token(list[2 * k + 1]).text)
  }

  labelText(row: number): string {
    return this.#token(this.#arena.u32(this.#labelAt, row + 1)[row]).text
  }

  /** The token around an address, and where it starts. */
  #token(address: number, lineStart = address, most = Number.POSITIVE_INFINITY): { text: string; start: number } {
    let start = address
    while (start > lineStart && !isBreak(this.#arena.bytes(start - 1, 1)[0])) start--
    const room = this.#arena.bytes(start, Math.min(this.#chunkEnd - start, most))
    let length = 0
    while (length < room.length && !isBreak(room[length])) length++
    return { text: Buffer.from(room.slice(0, length)).toString(), start }
  }

  #describe(at: number): BadRow {
    const [code, line, address, lineStart] = this.#arena.u32(at, 4)
    const { text, start } = this.#token(address, lineStart, 4096)
    // Only values that are kept as floats are bound by what a float holds; labels never are.
    const wide = code === PARSE_ERROR_TOO_LARGE && (this.#madeFor[1] === 8 || !text.includes(':'))
    const shown = text.length > 40 ? `${text.slice(0, 40)}…` : text
    return {
      line,
      column: start - lineStart + 1,
      found: text === '' ? 'the end of the line' : JSON.stringify(shown),
      ...(wide ? { expected: 'a number that a 64-bit float can hold (below 1.8e308)' } : EXPECTED[code]),
    }
  }
}

/** The shortest entry, ` 1:1`, has four bytes. */
const entryCapacity = (bytes: number): number => (bytes >> 2) + 16
/** Rows beyond it go into the next batch. */
const rowCapacity = (bytes: number): number => (bytes >> 5) + 1024
const align = (bytes: number): number => (bytes + 7) & ~7

export const libsvm: InputFormat = {
  name: 'libsvm',
  summary: 'LIBSVM text: LABEL INDEX:VALUE INDEX:VALUE …',
  endings: ['.svm', '.libsvm', '.txt', ''],
  // The first row that has an entry decides: a row of one-based data cannot start with 0, and data that counts from 0
  // but does not show it there is refused at its first 0 with the option to say so, never read one way and then another.
  detectIndexBase(head) {
    for (const line of Buffer.from(head).toString('latin1').split('\n')) {
      const entry = /^[ \t\r]*[^\s#]+[ \t]+(\d+):/.exec(line)
      if (entry) return Number(entry[1]) === 0 ? 0 : 1
    }
    return undefined
  },
  newParser: arena => new LibsvmParser(arena),
}
