// Columns of a file to cells of eight bytes: a number, NaN where it is missing, or the address and the length of a text. A loop
// that returns false met what it cannot keep as it is: the caller goes another way then.
import {
  CELL_BIT, CELL_F32, CELL_F64, CELL_I16, CELL_I32, CELL_I64, CELL_I8, CELL_U16, CELL_U32, CELL_U64, CELL_U8,
} from '../table-layout'
import { sequenceEnd } from './parse-label'
import { eightDigits, writeNumber, ZEROS } from './write-number'

/** From here on a whole number has more digits than a word has room for as it is parsed. */
const TWENTY_DIGITS: u64 = 10000000000000000000
/** Whole numbers up to here are written as they are. */
const LARGEST_WHOLE: f64 = 9007199254740992
const EIGHT_DIGITS: u64 = 100000000
const MINUS: u8 = 45, ZERO: u8 = 48
const ANY_HIGH_BIT: u64 = 0x8080808080808080
const BYTE_ORDER_MARK: u32 = 0xbfbbef

@inline
function widen<T>(from: usize, count: u32, cells: usize, factor: f64): void {
  const end = cells + (usize(count) << 3)
  for (; cells < end; cells += 8, from += sizeof<T>()) store<f64>(cells, f64(load<T>(from)) * factor)
}

/** Whether all are finite, or NaN. */
@inline
function widenFloats<T>(from: usize, count: u32, cells: usize): bool {
  const end = cells + (usize(count) << 3)
  let infinite: u32 = 0
  for (; cells < end; cells += 8, from += sizeof<T>()) {
    const value = load<T>(from)
    infinite |= u32(abs(value) == <T>Infinity)
    store<f64>(cells, f64(value))
  }
  return infinite == 0
}

function widenLargest(from: usize, count: u32, cells: usize): bool {
  for (let k: usize = 0; k < usize(count); k++) {
    const value = load<u64>(from + (k << 3))
    if (value >= TWENTY_DIGITS) return false
    store<f64>(cells + (k << 3), f64(value))
  }
  return true
}

function widenBits(from: usize, count: u32, cells: usize): void {
  for (let k: u32 = 0; k < count; k++)
    store<f64>(cells + (usize(k) << 3), f64((<u32>load<u8>(from + usize(k >> 3)) >> (k & 7)) & 1))
}

/** Numbers of a kind to cells. Whole numbers are multiplied by a factor, which decimals have. */
export function numbersToCells(kind: u32, from: usize, count: u32, cells: usize, factor: f64): bool {
  if (kind == CELL_F64) return widenFloats<f64>(from, count, cells)
  if (kind == CELL_F32) return widenFloats<f32>(from, count, cells)
  if (kind == CELL_U64) return widenLargest(from, count, cells)
  if (kind == CELL_I64) widen<i64>(from, count, cells, factor)
  else if (kind == CELL_I32) widen<i32>(from, count, cells, factor)
  else if (kind == CELL_U32) widen<u32>(from, count, cells, factor)
  else if (kind == CELL_I16) widen<i16>(from, count, cells, factor)
  else if (kind == CELL_U16) widen<u16>(from, count, cells, factor)
  else if (kind == CELL_I8) widen<i8>(from, count, cells, factor)
  else if (kind == CELL_U8) widen<u8>(from, count, cells, factor)
  else if (kind == CELL_BIT) widenBits(from, count, cells)
  else return false
  return true
}

@inline
function keepMissing(cell: usize, texts: bool): void {
  if (texts) store<u64>(cell, 0)
  else store<f64>(cell, NaN)
}

/** Moves the cells that are there to their rows: a level of 1 stands for one, and `present` of them are. */
export function spreadCells(cells: usize, levels: usize, rows: u32, present: u32, texts: bool): void {
  let from = present
  for (let r = rows; r > 0; r--) {
    const cell = cells + (usize(r - 1) << 3)
    if (load<u32>(levels + (usize(r - 1) << 2)) != 0) store<u64>(cell, load<u64>(cells + (usize(--from) << 3)))
    else keepMissing(cell, texts)
  }
}

/** Marks cells as missing whose bit is 0. */
export function blankCells(cells: usize, bits: usize, rows: u32, texts: bool): void {
  for (let r: u32 = 0; r < rows; r++)
    if (((<u32>load<u8>(bits + usize(r >> 3)) >> (r & 7)) & 1) == 0) keepMissing(cells + (usize(r) << 3), texts)
}

/** Whether bytes are UTF-8 that decoders leave as it is: they take a byte order mark away. */
function isText(start: usize, end: usize): bool {
  if (end - start >= 3 && (load<u32>(start) & 0xffffff) == BYTE_ORDER_MARK) return false
  let p = start
  while (p < end) {
    if (end - p >= 8 && (load<u64>(p) & ANY_HIGH_BIT) == 0) p += 8
    else if (load<u8>(p) < 0x80) p++
    else {
      const next = sequenceEnd(p)
      if (next == p || next > end) return false
      p = next
    }
  }
  return true
}

/** Texts, each behind its length, to cells. */
export function textsToCells(from: usize, end: usize, count: u32, cells: usize): bool {
  for (let k: u32 = 0; k < count; k++) {
    if (end - from < 4) return false
    const length = usize(load<u32>(from))
    const start = from + 4
    if (length > end - start || !isText(start, start + length)) return false
    store<u32>(cells + (usize(k) << 3), u32(start))
    store<u32>(cells + (usize(k) << 3), u32(length), 4)
    from = start + length
  }
  return true
}

/** Texts one after the other to cells, by where each begins: one offset more than there are texts. */
export function offsetsToCells(offsets: usize, count: u32, texts: usize, bytes: u32, cells: usize): bool {
  let from = load<u32>(offsets)
  for (let k: u32 = 0; k < count; k++) {
    const to = load<u32>(offsets + (usize(k + 1) << 2))
    if (from > to || to > bytes || !isText(texts + usize(from), texts + usize(to))) return false
    store<u32>(cells + (usize(k) << 3), u32(texts) + from)
    store<u32>(cells + (usize(k) << 3), to - from, 4)
    from = to
  }
  return true
}

/** Texts one after the other to cells, by their lengths, in words of 64 bits, which stand in the cells. */
export function lengthsToCells(cells: usize, count: u32, texts: usize, end: usize): bool {
  for (let k: u32 = 0; k < count; k++) {
    const cell = cells + (usize(k) << 3)
    const length = load<u64>(cell)
    if (length > u64(end - texts) || !isText(texts, texts + usize(length))) return false
    store<u32>(cell, u32(texts))
    store<u32>(cell, u32(length), 4)
    texts += usize(length)
  }
  return true
}

/** Cells of a dictionary to those of rows, by their numbers in it. */
export function lookUpCells(numbers: usize, count: u32, dictionary: usize, size: u32, cells: usize): bool {
  for (let k: u32 = 0; k < count; k++) {
    const number = load<u32>(numbers + (usize(k) << 2))
    if (number >= size) return false
    store<u64>(cells + (usize(k) << 3), load<u64>(dictionary + (usize(number) << 3)))
  }
  return true
}

/** The same where the numbers are in the cells, and NaN where there is none. */
export function replaceCells(cells: usize, count: u32, dictionary: usize, size: u32, texts: bool): bool {
  for (let k: u32 = 0; k < count; k++) {
    const cell = cells + (usize(k) << 3)
    const number = load<f64>(cell)
    if (isNaN(number)) keepMissing(cell, texts)
    else if (number >= 0 && number < f64(size)) store<u64>(cell, load<u64>(dictionary + (usize(number) << 3)))
    else return false
  }
  return true
}

/** Cells of numbers to cells of their texts, which are whole numbers; there is room for 17 bytes each, and for eight more. */
export function cellsToTexts(cells: usize, count: u32, texts: usize): bool {
  for (let k: u32 = 0; k < count; k++) {
    const cell = cells + (usize(k) << 3)
    const value = load<f64>(cell)
    if (isNaN(value)) {
      keepMissing(cell, true)
      continue
    }
    if (trunc(value) != value || abs(value) > LARGEST_WHOLE) return false
    const start = texts
    const whole = u64(abs(value))
    if (value < 0) store<u8>(texts++, MINUS)
    if (whole == 0) store<u8>(texts++, ZERO)
    else if (whole < EIGHT_DIGITS) texts = writeNumber(texts, u32(whole))
    else {
      const high = whole / EIGHT_DIGITS
      texts = writeNumber(texts, u32(high))
      store<u64>(texts, eightDigits(u32(whole - high * EIGHT_DIGITS)) | ZEROS)
      texts += 8
    }
    store<u32>(cell, u32(start))
    store<u32>(cell, u32(texts - start), 4)
  }
  return true
}
