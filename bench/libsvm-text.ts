// A plain streaming reader of LIBSVM text, written for the harness alone: it shares no code with src/, so that a mistake
// there cannot hide itself here. It holds one chunk of the file and one row at a time.
import { createReadStream } from 'node:fs'

const CHUNK_BYTES = 1 << 20
const NEWLINE = 10
const RETURN = 13
const SPACE = 32
const TAB = 9
const HASH = 35
const COLON = 58
const PLUS = 43
const MINUS = 45
const POINT = 46

/** One row; the arrays are reused, so only the first `length` entries count, and only until the next row. */
export interface TextRow {
  label: number
  length: number
  /** Numbers as they stand in the file, from 1 for LIBLINEAR. */
  indices: Float64Array
  values: Float64Array
}

/** Calls `visit` for each line's bytes, without its line end; at most one line is held beyond a chunk. */
export async function forEachLine(
  file: string,
  visit: (bytes: Buffer, start: number, end: number) => void,
): Promise<void> {
  let rest: Buffer = Buffer.alloc(0)
  for await (const piece of createReadStream(file, { highWaterMark: CHUNK_BYTES }) as AsyncIterable<Buffer>) {
    const chunk = rest.length > 0 ? Buffer.concat([rest, piece]) : piece
    let start = 0
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      visit(chunk, start, end > start && chunk[end - 1] === RETURN ? end - 1 : end)
      start = end + 1
    }
    // Copied: a view would keep the whole chunk alive.
    rest = Buffer.from(chunk.subarray(start))
  }
  if (rest.length > 0) visit(rest, 0, rest[rest.length - 1] === RETURN ? rest.length - 1 : rest.length)
}

/** Calls `visit` for each row of a LIBSVM text file; empty lines and comments are passed over. */
export async function forEachRow(file: string, visit: (row: TextRow) => void): Promise<void> {
  const row: TextRow = { label: 0, length: 0, indices: new Float64Array(1024), values: new Float64Array(1024) }
  let line = 0
  await forEachLine(file, (bytes, start, end) => {
    line++
    let has: boolean
    try {
      has = parseRow(bytes, start, end, row)
    } catch (error) {
      throw new Error(`${file}:${line}: ${(error as Error).message}`)
    }
    if (has) visit(row)
  })
}

function parseRow(bytes: Buffer, start: number, lineEnd: number, row: TextRow): boolean {
  const comment = bytes.subarray(start, lineEnd).indexOf(HASH)
  const end = comment < 0 ? lineEnd : start + comment
  let at = skipBlanks(bytes, start, end)
  if (at === end) return false
  let stop = wordEnd(bytes, at, end)
  row.label = parseNumber(bytes, at, stop)
  row.length = 0
  for (at = skipBlanks(bytes, stop, end); at < end; at = skipBlanks(bytes, stop, end)) {
    let colon = at
    let index = 0
    // Anything but a digit makes it not a number, for good.
    for (; colon < end && bytes[colon] !== COLON; colon++) {
      const digit = bytes[colon] - 48
      index = index * 10 + (digit >= 0 && digit <= 9 ? digit : Number.NaN)
    }
    stop = wordEnd(bytes, colon, end)
    if (colon === at || colon >= stop || !(index >= 0))
      throw new Error(`expected INDEX:VALUE, got "${bytes.toString('latin1', at, stop)}"`)
    if (row.length === row.indices.length) grow(row)
    row.indices[row.length] = index
    row.values[row.length++] = parseNumber(bytes, colon + 1, stop)
  }
  return true
}

function grow(row: TextRow): void {
  for (const key of ['indices', 'values'] as const) {
    const larger = new Float64Array(2 * row[key].length)
    larger.set(row[key])
    row[key] = larger
  }
}

function skipBlanks(bytes: Buffer, from: number, end: number): number {
  let at = from
  while (at < end && (bytes[at] === SPACE || bytes[at] === TAB)) at++
  return at
}

function wordEnd(bytes: Buffer, from: number, end: number): number {
  let at = from
  while (at < end && bytes[at] !== SPACE && bytes[at] !== TAB) at++
  return at
}

const POWERS = Array.from({ length: 23 }, (_, k) => Number(`1e${k}`))

/** Exactly the double that Number() gives: digits and power of ten are both exact here, so one division rounds once. */
export function parseNumber(bytes: Buffer, start: number, end: number): number {
  let at = start
  const sign = bytes[at]
  if (sign === PLUS || sign === MINUS) at++
  let digits = 0
  let decimals = -1
  let read = 0
  for (; at < end; at++) {
    const byte = bytes[at]
    if (byte === POINT && decimals < 0) decimals = 0
    else if (byte >= 48 && byte <= 57) {
      digits = digits * 10 + (byte - 48)
      read++
      if (decimals >= 0) decimals++
    } else return slowNumber(bytes, start, end)
  }
  if (digits > Number.MAX_SAFE_INTEGER || decimals > 22 || read === 0) return slowNumber(bytes, start, end)
  const value = decimals > 0 ? digits / POWERS[decimals] : digits
  return sign === MINUS ? -value : value
}

function slowNumber(bytes: Buffer, start: number, end: number): number {
  const text = bytes.toString('latin1', start, end)
  const value = Number(text)
  if (text.trim() === '' || Number.isNaN(value)) throw new Error(`expected a number, got "${text}"`)
  return value
}
