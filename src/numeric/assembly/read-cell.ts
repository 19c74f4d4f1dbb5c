// One cell of delimited text: where its content stands, with or without quotes around it, and whether it is a number or missing.
import { TABLE_ERROR_AFTER_QUOTE, TABLE_ERROR_OPEN_QUOTE } from '../table-layout'
import { eightDigits, notDigits, WHOLE_POWERS, ZEROS } from './parse-number'
import { CR, DOT, LF, MINUS, POWERS, SPACE, TAB } from './parse-number'

const QUOTE: u32 = 34

// What readCell leaves behind. Globals belong to an instance, so to one thread.
/** The content, and the delimiter or line feed behind the cell. */
export let cellStart: usize = 0
export let cellEnd: usize = 0
export let cellStop: usize = 0
/** Line feeds within the cell. */
export let cellLines: u32 = 0
/** 0, or why it cannot be read; cellStop is where. */
export let cellError: u32 = 0
/** Whether quotes are doubled in the content, and have been left so. */
export let cellDoubled: bool = false
/** Where the next cell goes whose quotes are undone; 0 to leave them. */
export let scratchNext: usize = 0

export function setScratch(at: usize): void {
  scratchNext = at
}

/** Has a content that stands in no text be the present cell. */
export function setCell(start: usize, end: usize): void {
  cellStart = start
  cellEnd = end
  cellDoubled = false
}

/** Where a delimiter or a line feed stands, from p on. */
@inline
export function stopFrom(p: usize, delimiter: u32): usize {
  const delimiters = i8x16.splat(i8(delimiter))
  while (true) {
    const text = v128.load(p)
    const hit = i8x16.bitmask(v128.or(i8x16.eq(text, delimiters), i8x16.eq(text, i8x16.splat(i8(LF)))))
    if (hit != 0) return p + usize(ctz(hit))
    p += 16
  }
}

@inline
function isBlank(c: u32, delimiter: u32): bool {
  return c == SPACE || (c == TAB && delimiter != TAB)
}

/** Reads the cell at p, in text that ends with a line feed. */
export function readCell(p: usize, end: usize, delimiter: u32): void {
  cellError = 0
  cellLines = 0
  cellDoubled = false
  while (isBlank(<u32>load<u8>(p), delimiter)) p++
  if (<u32>load<u8>(p) == QUOTE) {
    readQuoted(p + 1, end, delimiter)
    return
  }
  const stop = stopFrom(p, delimiter)
  let last = stop
  if (<u32>load<u8>(stop) == LF && last > p && <u32>load<u8>(last - 1) == CR) last--
  while (last > p && isBlank(<u32>load<u8>(last - 1), delimiter)) last--
  cellStart = p
  cellEnd = last
  cellStop = stop
}

/** The rest of a cell, behind the quote that opens it. A quote within it is doubled. */
function readQuoted(start: usize, end: usize, delimiter: u32): void {
  let p = start
  let doubled: u32 = 0
  while (true) {
    if (p >= end) {
      cellError = TABLE_ERROR_OPEN_QUOTE
      cellStop = start - 1
      return
    }
    const c = <u32>load<u8>(p)
    if (c == LF) cellLines++
    else if (c == QUOTE) {
      if (<u32>load<u8>(p, 1) != QUOTE) break
      doubled++
      p++
    }
    p++
  }
  cellStart = start
  cellEnd = p
  if (doubled > 0) {
    if (scratchNext == 0) cellDoubled = true
    else undouble(start, p)
  }
  p++
  while (isBlank(<u32>load<u8>(p), delimiter) || (<u32>load<u8>(p) == CR && <u32>load<u8>(p, 1) == LF)) p++
  cellStop = p
  if (<u32>load<u8>(p) != delimiter && <u32>load<u8>(p) != LF) cellError = TABLE_ERROR_AFTER_QUOTE
}

/** Copies a content, each doubled quote as one. */
function undouble(p: usize, end: usize): void {
  cellStart = scratchNext
  let to = scratchNext
  for (; p < end; p++) {
    const c = <u32>load<u8>(p)
    store<u8>(to++, u8(c))
    if (c == QUOTE) p++
  }
  cellEnd = to
  scratchNext = to
}

/** A bit for each of the 64 bytes from p on that is a delimiter or a line feed. Cells are found by it before they are read, so that
 *  reading one waits for none before it. */
@inline
export function separatorsFrom(p: usize, delimiter: u32): u64 {
  return u64(separatorsOf(p, delimiter)) | (u64(separatorsOf(p + 16, delimiter)) << 16)
    | (u64(separatorsOf(p + 32, delimiter)) << 32) | (u64(separatorsOf(p + 48, delimiter)) << 48)
}

@inline
function separatorsOf(p: usize, delimiter: u32): u32 {
  const text = v128.load(p)
  return u32(i8x16.bitmask(v128.or(i8x16.eq(text, i8x16.splat(i8(delimiter))), i8x16.eq(text, i8x16.splat(i8(LF))))))
}

/** Whether a cell has neither quotes nor blanks around it. A carriage return is below a blank, too. */
@inline
export function isPlainText(p: usize, stop: usize): bool {
  if (stop == p) return true
  const first = <u32>load<u8>(p)
  return first > SPACE && first != QUOTE && <u32>load<u8>(stop - 1) > SPACE
}

/** What quickNumber leaves behind. */
export let quickValue: f64 = 0

/** Reads a number of few digits that fills a cell without quotes: where the cell ends, or 0 where it takes more care to tell.
 *  `wide`: values are f64. Signs take no branch: nobody can foresee them. */
@inline
export function quickNumber(start: usize, delimiter: u32, wide: bool): usize {
  let word = load<u64>(start)
  const negative = u64((word & 0xff) == u64(MINUS))
  // Behind a minus, seven digits are left. A zero byte follows them, which is no digit.
  word = (word >> (negative << 3)) ^ ZEROS
  let mask = notDigits(word)
  if (mask == 0) return 0
  const length = u64(ctz(mask)) & 0x78
  if (length == 0) return 0
  let mantissa = eightDigits(word << (64 - length))
  let p = start + usize(negative) + usize(length >> 3)
  let value = f64(i64(mantissa))
  let c = <u32>load<u8>(p)
  if (c == DOT) {
    p++
    word = load<u64>(p) ^ ZEROS
    mask = notDigits(word)
    if (mask != 0) {
      const part = u64(ctz(mask)) & 0x78
      if (part == 0) return 0
      mantissa = mantissa * unchecked(WHOLE_POWERS[i32(part >> 3)]) + eightDigits(word << (64 - part))
      p += usize(part >> 3)
      value = f64(i64(mantissa)) / unchecked(POWERS[i32(part >> 3)])
    } else {
      mantissa = mantissa * 100000000 + eightDigits(word)
      p += 8
      word = load<u64>(p) ^ ZEROS
      mask = notDigits(word)
      if (mask == 0) return 0
      const part = u64(ctz(mask)) & 0x78
      if (part != 0) mantissa = mantissa * unchecked(WHOLE_POWERS[i32(part >> 3)]) + eightDigits(word << (64 - part))
      p += usize(part >> 3)
      // Eighteen digits fit in the word; 2^53 bounds what one division can make exact.
      if (length + part > 80 || (wide && mantissa >= (u64(1) << 53))) return 0
      value = f64(i64(mantissa)) / unchecked(POWERS[i32(8 + (part >> 3))])
    }
    c = <u32>load<u8>(p)
  }
  if (c == CR && <u32>load<u8>(p, 1) == LF) c = <u32>load<u8>(++p)
  if (c != delimiter && c != LF) return 0
  quickValue = reinterpret<f64>(reinterpret<u64>(value) ^ (negative << 63))
  return p
}

/** Whether a content stands for nothing: it is empty, NA, NaN, null or ?, in any case. */
export function isMissing(start: usize, end: usize): bool {
  const length = end - start
  if (length == 0) return true
  if (length > 4) return false
  if (length == 1) return <u32>load<u8>(start) == 63
  const lower = load<u32>(start) | 0x20202020
  if (length == 2) return (lower & 0xffff) == 0x616e
  if (length == 3) return (lower & 0xffffff) == 0x6e616e
  return lower == 0x6c6c756e
}

/** Whether the bytes at two places are the same. */
export function sameBytes(a: usize, b: usize, length: usize): bool {
  while (length >= 8) {
    if (load<u64>(a) != load<u64>(b)) return false
    a += 8
    b += 8
    length -= 8
  }
  for (; length > 0; length--) if (load<u8>(a++) != load<u8>(b++)) return false
  return true
}
