// LIBSVM text to a batch. Plain entries are read in plain-entries.ts, others here: errors, blanks of all kinds, comments, and
// numbers of any form. Digits are read eight at a time: a word is loaded, the run of digits at its start is found with one mask,
// and three multiplications turn it into a number.
import {
  BATCH_FEATURES, BATCH_INDICES, BATCH_LABELS, BATCH_LABEL_AT, BATCH_NONZEROS, BATCH_NONZERO_CAPACITY, BATCH_ROWS,
  BATCH_ROW_CAPACITY, BATCH_STARTS, BATCH_VALUES, BATCH_VALUE_BYTES, LABEL_TEXT_UPPER, MOST_FEATURES, PARSE_CURSOR,
  PARSE_END, PARSE_ERROR_AFTER_VALUE, PARSE_ERROR_COLON, PARSE_ERROR_DUPLICATE, PARSE_ERROR_INDEX,
  PARSE_ERROR_INDEX_RANGE, PARSE_ERROR_INDEX_ZERO, PARSE_ERROR_MISSING_VALUE, PARSE_ERROR_NOT_FINITE,
  PARSE_ERROR_TOO_LARGE, PARSE_ERROR_TOO_MANY_ENTRIES, PARSE_ERROR_UNSORTED, PARSE_ERROR_VALUE, PARSE_INDEX_BASE,
  PARSE_LINES, PARSE_SKIP_BAD, PARSE_SLOW, PARSE_SLOW_CAPACITY, PARSE_SLOW_COUNT, PARSE_ZEROS,
} from '../layouts'
import { noteBadRow } from './bad-rows'
import { labelEnd, labelError, readLabel, sameText } from './parse-label'
import {
  CR, DOT, eightDigits, HASH, isBreak, LF, MINUS, notDigits, numberEnd, numberExact, POWERS, SPACE, slowNumber, spellsNotFinite, TAB,
  WHOLE_POWERS, ZEROS,
} from './parse-number'
import { plainCount, plainEntries, plainLast } from './plain-entries'

const COLON: u32 = 58
/** Of data that counts from 1; where it counts from 0, the last feature has an index less by one. */
const LARGEST_INDEX: u64 = u64(MOST_FEATURES)
const ONE_AND_SPACE: u16 = 0x2031
const ZERO_AND_POINT: u16 = 0x2e30

/** Parses from the cursor until the text ends, the batch is full, or (unless bad rows are skipped) a row is bad. */
export function parseLibsvm(state: usize, batch: usize): void {
  if (load<u32>(batch, BATCH_VALUE_BYTES) == 8) parse<f64>(state, batch)
  else parse<f32>(state, batch)
}

@inline
function parse<V>(state: usize, batch: usize): void {
  const end = <usize>load<u32>(state, PARSE_END)
  const base = u64(load<u32>(state, PARSE_INDEX_BASE))
  const largest = LARGEST_INDEX - 1 + base
  const skipBad = load<u32>(state, PARSE_SKIP_BAD) != 0
  const starts = <usize>load<u32>(batch, BATCH_STARTS)
  const labels = <usize>load<u32>(batch, BATCH_LABELS)
  const labelAt = <usize>load<u32>(batch, BATCH_LABEL_AT)
  const indices = <usize>load<u32>(batch, BATCH_INDICES)
  const values = <usize>load<u32>(batch, BATCH_VALUES)
  const rowRoom = load<u32>(batch, BATCH_ROW_CAPACITY)
  const room = load<u32>(batch, BATCH_NONZERO_CAPACITY)
  const slowList = <usize>load<u32>(state, PARSE_SLOW)
  const slowRoom = load<u32>(state, PARSE_SLOW_CAPACITY)
  let p = <usize>load<u32>(state, PARSE_CURSOR)
  let lines = load<u32>(state, PARSE_LINES)
  let zeros = load<u32>(state, PARSE_ZEROS)
  let rows: u32 = 0
  let entries: u32 = 0
  let slow: u32 = 0
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
    const firstEntry = entries
    const firstSlow = slow
    if (rows >= rowRoom) {
      p = line
      break
    }

    // The label.
    const labelStart = p
    const label = readLabel(p)
    let error = labelError
    p = labelEnd

    // The entries.
    let previous: i64 = -1
    let plain = true
    if (error == 0) {
      while (true) {
        if (plain) {
          const before = entries
          p = plainEntries<V>(p, previous, entries, batch, i64(base))
          entries = plainCount
          previous = plainLast
          // Where the way for plain entries reads none, it is not tried again in this row.
          plain = entries > before
        }
        c = <u32>load<u8>(p)
        while (c == SPACE || c == TAB) c = <u32>load<u8>(++p)
        let word = load<u64>(p) ^ ZEROS
        let mask = notDigits(word)
        let index: u64
        const indexStart = p
        if (mask != 0) {
          const length = u64(ctz(mask)) & 0x78
          if (length == 0) {
            if (c == LF) break
            if (c == CR || c == HASH) {
              // A carriage return in the middle of a line is a blank; a comment runs to the end of its line.
              if (c == CR) {
                p++
                continue
              }
              while (c != LF) c = <u32>load<u8>(++p)
              break
            }
            error = PARSE_ERROR_INDEX
            break
          }
          index = eightDigits(word << (64 - length))
          p += usize(length >> 3)
        } else {
          index = eightDigits(word)
          p += 8
          for (c = <u32>load<u8>(p); c - 48 <= 9 && index <= LARGEST_INDEX; c = <u32>load<u8>(++p)) index = index * 10 + u64(c - 48)
        }
        if (index > largest) {
          error = PARSE_ERROR_INDEX_RANGE
          p = indexStart
          break
        }
        if (<u32>load<u8>(p) != COLON) {
          error = PARSE_ERROR_COLON
          break
        }
        p++
        if (index < base) {
          error = PARSE_ERROR_INDEX_ZERO
          p = indexStart
          break
        }
        index -= base
        if (i64(index) <= previous) {
          error = i64(index) == previous ? PARSE_ERROR_DUPLICATE : PARSE_ERROR_UNSORTED
          p = indexStart
          break
        }
        previous = i64(index)

        // The value: up to seven digits, then up to sixteen after the point, else the slow way.
        const valueStart = p
        // Most values of most sparse data are a single 1.
        if (load<u16>(p) == ONE_AND_SPACE && entries < room) {
          p++
          store<u32>(indices + (usize(entries) << 2), u32(index))
          store<V>(values + usize(entries) * sizeof<V>(), <V>1)
          entries++
          continue
        }
        const negative = <u32>load<u8>(p) == MINUS
        if (negative) p++
        if (load<u16>(p) == ZERO_AND_POINT) {
          // And most others are 0 and up to fifteen decimals: the number before the point need not be made.
          word = load<u64>(p, 2) ^ ZEROS
          mask = notDigits(word)
          let part = u64(ctz(mask)) & 0x78
          let after = p + 2 + usize(part >> 3)
          let decimals: u64
          if (mask != 0) decimals = part == 0 ? 0 : eightDigits(word << (64 - part))
          else {
            decimals = eightDigits(word)
            word = load<u64>(p, 10) ^ ZEROS
            mask = notDigits(word)
            part = u64(ctz(mask)) & 0x78
            if (part != 0) decimals = decimals * unchecked(WHOLE_POWERS[i32(part >> 3)]) + eightDigits(word << (64 - part))
            after = p + 10 + usize(part >> 3)
            part += 64
          }
          if (mask != 0 && decimals != 0 && isBreak(<u32>load<u8>(after)) && entries < room) {
            const number = f64(i64(decimals)) / unchecked(POWERS[i32(part >> 3)])
            store<u32>(indices + (usize(entries) << 2), u32(index))
            store<V>(values + usize(entries) * sizeof<V>(), <V>(negative ? -number : number))
            entries++
            p = after
            continue
          }
        }
        word = load<u64>(p) ^ ZEROS
        mask = notDigits(word)
        let value: f64 = 0
        let fast = false
        if (mask != 0) {
          const length = u64(ctz(mask)) & 0x78
          if (length != 0) {
            let mantissa = eightDigits(word << (64 - length))
            p += usize(length >> 3)
            c = <u32>load<u8>(p)
            if (c == DOT) {
              p++
              word = load<u64>(p) ^ ZEROS
              mask = notDigits(word)
              if (mask != 0) {
                const part = u64(ctz(mask)) & 0x78
                if (part != 0) {
                  mantissa = mantissa * unchecked(WHOLE_POWERS[i32(part >> 3)]) + eightDigits(word << (64 - part))
                  p += usize(part >> 3)
                  value = f64(i64(mantissa)) / unchecked(POWERS[i32(part >> 3)])
                  c = <u32>load<u8>(p)
                  fast = isBreak(c)
                }
              } else {
                mantissa = mantissa * 100000000 + eightDigits(word)
                p += 8
                word = load<u64>(p) ^ ZEROS
                mask = notDigits(word)
                if (mask != 0) {
                  const part = u64(ctz(mask)) & 0x78
                  if (part != 0) mantissa = mantissa * unchecked(WHOLE_POWERS[i32(part >> 3)]) + eightDigits(word << (64 - part))
                  p += usize(part >> 3)
                  value = f64(i64(mantissa)) / unchecked(POWERS[i32(8 + (part >> 3))])
                  c = <u32>load<u8>(p)
                  // Eighteen digits fit in the word; 2^53 bounds what one division can make exact.
                  fast = isBreak(c) && length + part <= 80 && (sizeof<V>() == 4 || mantissa < (u64(1) << 53))
                } else if (sizeof<V>() == 4 && length <= 16) {
                  // Eighteen digits that count say all that a float can hold: the rest is stepped over.
                  mantissa = mantissa * 100000000 + eightDigits(word)
                  let places = 16
                  let whole = true
                  for (p += 8, c = <u32>load<u8>(p); c - 48 <= 9; c = <u32>load<u8>(++p)) {
                    if (mantissa < 100000000000000000 && places < 22) {
                      mantissa = mantissa * 10 + u64(c - 48)
                      places++
                    } else whole = false
                  }
                  value = f64(mantissa) / unchecked(POWERS[places])
                  // Behind many zeros there may be digits yet to come.
                  fast = isBreak(c) && (whole || mantissa >= 100000000000000000)
                }
              }
            } else {
              value = f64(i64(mantissa))
              fast = isBreak(c)
            }
            if (negative) value = -value
          }
        }
        if (!fast) {
          value = slowNumber(valueStart)
          p = numberEnd
          c = <u32>load<u8>(p)
          if (p == valueStart || !isBreak(c)) {
            if (spellsNotFinite(valueStart)) {
              error = PARSE_ERROR_NOT_FINITE
              p = valueStart
            } else if (p == valueStart) error = isBreak(c) ? PARSE_ERROR_MISSING_VALUE : PARSE_ERROR_VALUE
            else error = PARSE_ERROR_AFTER_VALUE
            break
          }
          if (sizeof<V>() == 8 && !numberExact) {
            store<u32>(slowList + (usize(slow) << 3), entries)
            store<u32>(slowList + (usize(slow) << 3), u32(valueStart), 4)
            slow++
          }
        }
        const kept = <V>value
        if (!(abs(kept) < <V>Infinity)) {
          error = PARSE_ERROR_TOO_LARGE
          p = valueStart
          break
        }
        if (entries >= room) {
          error = PARSE_ERROR_TOO_MANY_ENTRIES
          break
        }
        if (kept == 0) {
          zeros++
          if (slow > firstSlow && load<u32>(slowList + (usize(slow - 1) << 3)) == entries) slow--
          continue
        }
        store<u32>(indices + (usize(entries) << 2), u32(index))
        store<V>(values + usize(entries) * sizeof<V>(), kept)
        entries++
        if (slow >= slowRoom) {
          error = PARSE_ERROR_TOO_MANY_ENTRIES
          break
        }
      }
    }

    if (error == PARSE_ERROR_TOO_MANY_ENTRIES && rows > 0) {
      // The batch is full: this row opens the next one.
      entries = firstEntry
      slow = firstSlow
      p = line
      break
    }
    if (error != 0) {
      noteBadRow(state, error, lines, p, line)
      entries = firstEntry
      slow = firstSlow
      if (!skipBad) break
      while (<u32>load<u8>(p) != LF) p++
    } else {
      store<u32>(starts + (usize(rows) << 2), firstEntry)
      store<f64>(labels + (usize(rows) << 3), label)
      store<u32>(labelAt + (usize(rows) << 2), u32(labelStart))
      rows++
      if (previous >= 0) features = max(features, u32(previous) + 1)
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
  store<u32>(state, zeros, PARSE_ZEROS)
  store<u32>(state, slow, PARSE_SLOW_COUNT)
}

/** −0 is 0; other bits stand for themselves. */
@inline
function labelBits(labels: usize, row: u32): u64 {
  const bits = load<u64>(labels + (usize(row) << 3))
  return bits == 0x8000000000000000 ? 0 : bits
}

@inline
function isText(bits: u64): bool {
  return (u32(bits >> 32) & LABEL_TEXT_UPPER) == LABEL_TEXT_UPPER
}

/** Bits that no label has: a NaN that is not quiet. */
const NO_LABEL: u64 = 0x7ff0000000000001

/** Gives labels numbers in order of appearance. `codes` receives u32[rows]; `firsts` the row where each label is first
 *  met; `table` is u32[slots] of zeros, slots a power of two above twice the room, and is zero again afterwards.
 *  `labelAt` is u32[rows], where labels stand in the text, so that two texts of one code are two labels; 0 without text.
 *  Returns how many labels there are. There is room for as many as there are rows. */
export function numberLabels(labels: usize, rows: u32, codes: usize, firsts: usize, table: usize, slots: u32, labelAt: usize): u32 {
  let count: u32 = 0
  let lastBits = NO_LABEL
  let lastCode: u32 = 0
  for (let i: u32 = 0; i < rows; i++) {
    const bits = labelBits(labels, i)
    if (bits != lastBits) {
      const compare = labelAt != 0 && isText(bits)
      let slot = u32((bits * 0x9e3779b97f4a7c15) >> 32) & (slots - 1)
      while (true) {
        const code = load<u32>(table + (usize(slot) << 2))
        if (code == 0) {
          store<u32>(firsts + (usize(count) << 2), i)
          count++
          store<u32>(table + (usize(slot) << 2), count)
          lastCode = count - 1
          break
        }
        const at = load<u32>(firsts + (usize(code - 1) << 2))
        if (labelBits(labels, at) == bits && (!compare || sameText(textAt(labelAt, at), textAt(labelAt, i)))) {
          lastCode = code - 1
          break
        }
        slot = (slot + 1) & (slots - 1)
      }
      // A label of text is compared in every row, even if the row before has the same code.
      lastBits = compare ? NO_LABEL : bits
    }
    store<u32>(codes + (usize(i) << 2), lastCode)
  }
  for (let k: u32 = 0; k < count; k++) {
    const bits = labelBits(labels, load<u32>(firsts + (usize(k) << 2)))
    let slot = u32((bits * 0x9e3779b97f4a7c15) >> 32) & (slots - 1)
    // Every slot of the probe chain is cleared; chains that shared it end at the same zero.
    while (load<u32>(table + (usize(slot) << 2)) != 0) {
      store<u32>(table + (usize(slot) << 2), 0)
      slot = (slot + 1) & (slots - 1)
    }
  }
  return count
}

@inline
function textAt(labelAt: usize, row: u32): usize {
  return <usize>load<u32>(labelAt + (usize(row) << 2))
}
