// One cell of delimited text: where its content stands, with or without quotes around it, and whether it is a number or missing.
import { TABLE_ERROR_AFTER_QUOTE, TABLE_ERROR_OPEN_QUOTE } from '../table-layout'
import { eightDigits, notDigits, WHOLE_POWERS, ZEROS } from './parse-libsvm'
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

/** Where a cell of at most fifteen bytes ends that has neither quotes nor blanks around it; 0 where it takes more care to tell. */
@inline
export function quickText(p: usize, delimiter: u32): usize {
  const text = v128.load(p)
  const ends = v128.or(i8x16.eq(text, i8x16.splat(i8(delimiter))), i8x16.eq(text, i8x16.splat(i8(LF))))
  const hit = i8x16.bitmask(ends)
  if (hit == 0) return 0
  const stop = p + usize(ctz(hit))
  const first = <u32>load<u8>(p)
  // A carriage return is below a blank, too.
  if (stop != p && (first <= SPACE || first == QUOTE || <u32>load<u8>(stop - 1) <= SPACE)) return 0
  return stop
}

// What quickNumber leaves behind.
export let quickValue: f64 = 0
export let quickStop: usize = 0

/** Reads a number of few digits that fills a cell without quotes; false where it takes more care to tell. `wide`: values are f64. */
@inline
export function quickNumber(p: usize, delimiter: u32, wide: bool): bool {
  const negative = <u32>load<u8>(p) == MINUS
  if (negative) p++
  let word = load<u64>(p) ^ ZEROS
  let mask = notDigits(word)
  if (mask == 0) return false
  const length = u64(ctz(mask)) & 0x78
  if (length == 0) return false
  let mantissa = eightDigits(word << (64 - length))
  p += usize(length >> 3)
  let value = f64(i64(mantissa))
  let c = <u32>load<u8>(p)
  if (c == DOT) {
    p++
    word = load<u64>(p) ^ ZEROS
    mask = notDigits(word)
    if (mask != 0) {
      const part = u64(ctz(mask)) & 0x78
      if (part == 0) return false
      mantissa = mantissa * unchecked(WHOLE_POWERS[i32(part >> 3)]) + eightDigits(word << (64 - part))
      p += usize(part >> 3)
      value = f64(i64(mantissa)) / unchecked(POWERS[i32(part >> 3)])
    } else {
      mantissa = mantissa * 100000000 + eightDigits(word)
      p += 8
      word = load<u64>(p) ^ ZEROS
      mask = notDigits(word)
      if (mask == 0) return false
      const part = u64(ctz(mask)) & 0x78
      if (part != 0) mantissa = mantissa * unchecked(WHOLE_POWERS[i32(part >> 3)]) + eightDigits(word << (64 - part))
      p += usize(part >> 3)
      // Eighteen digits fit in the word; 2^53 bounds what one division can make exact.
      if (length + part > 80 || (wide && mantissa >= (u64(1) << 53))) return false
      value = f64(i64(mantissa)) / unchecked(POWERS[i32(8 + (part >> 3))])
    }
    c = <u32>load<u8>(p)
  }
  if (c == CR && <u32>load<u8>(p, 1) == LF) c = <u32>load<u8>(++p)
  if (c != delimiter && c != LF) return false
  quickValue = negative ? -value : value
  quickStop = p
  return true
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
