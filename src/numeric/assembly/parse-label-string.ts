// `LABEL STRING` text to a batch: one entry a letter, its position as the index, its byte as the value, lower case folded
// to upper. Letters are taken sixteen at a time: one comparison finds where a string ends, and the bytes widen to values in
// registers.
import {
  BATCH_FEATURES, BATCH_INDICES, BATCH_LABELS, BATCH_LABEL_AT, BATCH_NONZEROS, BATCH_NONZERO_CAPACITY, BATCH_ROWS,
  BATCH_ROW_CAPACITY, BATCH_STARTS, BATCH_VALUES, BATCH_VALUE_BYTES, LONGEST_STRING, PARSE_CURSOR, PARSE_END,
  PARSE_ERROR_AFTER_STRING, PARSE_ERROR_LETTER, PARSE_ERROR_MISSING_STRING, PARSE_ERROR_STRING_LENGTH,
  PARSE_ERROR_TOO_MANY_ENTRIES, PARSE_LINES, PARSE_NEEDS_ROOM, PARSE_SKIP_BAD,
} from '../layouts'
import { noteBadRow } from './bad-rows'
import { labelEnd, labelError, readLabel } from './parse-label'
import { CR, HASH, isBreak, LF, SPACE, TAB } from './parse-number'

/** The letters are what prints and is no blank, without the sign that opens a comment. */
const LAST_LETTER: u32 = 126

@inline
function isLetter(c: u32): bool {
  return c > SPACE && c <= LAST_LETTER && c != HASH
}

@inline
function folded(c: u32): u32 {
  return c - 97 < 26 ? c - 32 : c
}

/** Four letters of 32 bits as values of type V at an address. */
@inline
function storeFour<V>(at: usize, letters: v128): void {
  if (sizeof<V>() == 4) v128.store(at, f32x4.convert_i32x4_u(letters))
  else {
    v128.store(at, f64x2.convert_low_i32x4_u(letters))
    v128.store(at, f64x2.convert_low_i32x4_u(i8x16.shuffle(letters, letters, 8, 9, 10, 11, 12, 13, 14, 15, 8, 9, 10, 11, 12, 13, 14, 15)), 16)
  }
}

/** Parses from the cursor until the text ends, the batch is full, or (unless bad rows are skipped) a row is bad. */
export function parseLabelString(state: usize, batch: usize): void {
  if (load<u32>(batch, BATCH_VALUE_BYTES) == 8) parse<f64>(state, batch)
  else parse<f32>(state, batch)
}

@inline
function parse<V>(state: usize, batch: usize): void {
  const end = <usize>load<u32>(state, PARSE_END)
  const skipBad = load<u32>(state, PARSE_SKIP_BAD) != 0
  const starts = <usize>load<u32>(batch, BATCH_STARTS)
  const labels = <usize>load<u32>(batch, BATCH_LABELS)
  const labelAt = <usize>load<u32>(batch, BATCH_LABEL_AT)
  const indices = <usize>load<u32>(batch, BATCH_INDICES)
  const values = <usize>load<u32>(batch, BATCH_VALUES)
  const rowRoom = load<u32>(batch, BATCH_ROW_CAPACITY)
  const room = load<u32>(batch, BATCH_NONZERO_CAPACITY)
  let p = <usize>load<u32>(state, PARSE_CURSOR)
  let lines = load<u32>(state, PARSE_LINES)
  let rows: u32 = 0
  let entries: u32 = 0
  let features: u32 = 0

  while (p < end) {
    const line = p
    let c = <u32>load<u8>(p)
    while (c == SPACE || c == TAB || c == CR) c = <u32>load<u8>(++p)
    if (c == LF || c == HASH) {
      while (c != LF) c = <u32>load<u8>(++p)
      p++
      lines++
      continue
    }
    if (rows >= rowRoom) {
      p = line
      break
    }
    const labelStart = p
    const label = readLabel(p)
    let error = labelError
    p = labelEnd

    let length: u32 = 0
    if (error == 0) {
      c = <u32>load<u8>(p)
      while (c == SPACE || c == TAB) c = <u32>load<u8>(++p)
      if (c == LF || c == CR || c == HASH) error = PARSE_ERROR_MISSING_STRING
      const most = min(room - entries, u32(LONGEST_STRING))
      let index = indices + (usize(entries) << 2)
      let value = values + usize(entries) * sizeof<V>()
      let places = v128(0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0)
      while (length + 16 <= most) {
        const text = v128.load(p)
        const letters = v128.and(
          v128.and(i8x16.gt_u(text, i8x16.splat(i8(SPACE))), i8x16.le_u(text, i8x16.splat(i8(LAST_LETTER)))),
          i8x16.ne(text, i8x16.splat(i8(HASH))),
        )
        if (!i8x16.all_true(letters)) break
        const lower = i8x16.lt_u(i8x16.sub(text, i8x16.splat(97)), i8x16.splat(26))
        const upper = i8x16.sub(text, v128.and(lower, i8x16.splat(32)))
        const first = i16x8.extend_low_i8x16_u(upper)
        const second = i16x8.extend_high_i8x16_u(upper)
        storeFour<V>(value, i32x4.extend_low_i16x8_u(first))
        storeFour<V>(value + 4 * sizeof<V>(), i32x4.extend_high_i16x8_u(first))
        storeFour<V>(value + 8 * sizeof<V>(), i32x4.extend_low_i16x8_u(second))
        storeFour<V>(value + 12 * sizeof<V>(), i32x4.extend_high_i16x8_u(second))
        for (let k: usize = 0; k < 64; k += 16) {
          v128.store(index + k, places)
          places = i32x4.add(places, i32x4.splat(4))
        }
        p += 16
        index += 64
        value += 16 * sizeof<V>()
        length += 16
      }
      for (c = <u32>load<u8>(p); isLetter(c) && length < most; c = <u32>load<u8>(++p)) {
        store<u32>(index, length)
        store<V>(value, <V>folded(c))
        index += 4
        value += sizeof<V>()
        length++
      }
      if (error == 0) {
        if (isLetter(c)) error = length < u32(LONGEST_STRING) ? PARSE_ERROR_TOO_MANY_ENTRIES : PARSE_ERROR_STRING_LENGTH
        else if (!isBreak(c)) error = PARSE_ERROR_LETTER
        else {
          while (c == SPACE || c == TAB || c == CR) c = <u32>load<u8>(++p)
          if (c == HASH) while (c != LF) c = <u32>load<u8>(++p)
          if (c != LF) error = PARSE_ERROR_AFTER_STRING
        }
      }
    }

    if (error == PARSE_ERROR_TOO_MANY_ENTRIES) {
      // The batch is full: this row opens the next one, or a larger one when it does not fit even alone.
      if (rows == 0) store<u32>(state, 1, PARSE_NEEDS_ROOM)
      p = line
      break
    }
    if (error != 0) {
      noteBadRow(state, error, lines, p, line)
      if (!skipBad) break
      while (<u32>load<u8>(p) != LF) p++
    } else {
      store<u32>(starts + (usize(rows) << 2), entries)
      store<f64>(labels + (usize(rows) << 3), label)
      store<u32>(labelAt + (usize(rows) << 2), u32(labelStart))
      rows++
      entries += length
      features = max(features, length)
    }
    p++
    lines++
  }

  store<u32>(starts + (usize(rows) << 2), entries)
  store<u32>(batch, rows, BATCH_ROWS)
  store<u32>(batch, entries, BATCH_NONZEROS)
  store<u32>(batch, features, BATCH_FEATURES)
  store<u32>(state, u32(p), PARSE_CURSOR)
  store<u32>(state, lines, PARSE_LINES)
}
