// Delimited text to a batch, by what each column becomes: a number as it is, a value by its place in a list or by its hash, the
// words of a text by their hashes. Numbers of few digits go through no loop.
import {
  BATCH_INDICES, BATCH_LABELS, BATCH_LABEL_AT, BATCH_NONZEROS, BATCH_NONZERO_CAPACITY, BATCH_ROWS, BATCH_ROW_CAPACITY,
  BATCH_STARTS, BATCH_VALUES, BATCH_VALUE_BYTES, PARSE_CURSOR, PARSE_END, PARSE_ERROR_NOT_FINITE,
  PARSE_ERROR_TOO_LARGE, PARSE_ERROR_TOO_MANY_ENTRIES, PARSE_LINES, PARSE_NEEDS_ROOM, PARSE_SKIP_BAD, PARSE_SLOW,
  PARSE_SLOW_CAPACITY, PARSE_SLOW_COUNT, PARSE_ZEROS,
} from '../layouts'
import {
  COLUMN_BITS, COLUMN_BYTES, COLUMN_ENTRIES, COLUMN_FEATURE, COLUMN_MASK, COLUMN_MISSING, COLUMN_ROLE, COLUMN_TABLE, NO_FEATURE,
  ROLE_CATEGORY, ROLE_HASHED, ROLE_LABEL, ROLE_NUMBER, ROLE_WEIGHT, ROLE_WORDS, TABLE_COLUMN_AT, TABLE_COLUMNS, TABLE_DELIMITER,
  TABLE_ERROR_COLUMN, TABLE_ERROR_LABEL, TABLE_ERROR_NO_LABEL, TABLE_ERROR_NUMBER, TABLE_ERROR_WEIGHT, TABLE_ERROR_WIDTH,
  TABLE_LABEL_TEXTS, TABLE_LINE_OF, TABLE_NEEDS_LABEL, TABLE_SCRATCH, TABLE_WEIGHTS,
} from '../table-layout'
import { noteBadRow } from './bad-rows'
import { xxh64, XXH64_OF_NOTHING, xxh64OfWord } from './hash'
import {
  beginRuns, numberRun, runAhead, runAt, runBase, runEnded, runEntries, runNext, runRecord, runStop, runUnsorted, runZeros,
} from './number-run'
import { labelEnd, labelError, textLabel } from './parse-label'
import { CR, LF, numberEnd, numberExact, SPACE, slowNumber, spellsNotFinite, TAB } from './parse-number'
import {
  cellEnd, cellError, cellLines, cellStart, cellStop, isMissing, isPlainText, quickNumber, quickValue, readCell, sameBytes,
  scratchNext, separatorsFrom, setScratch,
} from './read-cell'
import { endOfRow, rowsLines } from './scan-table'

const QUESTION: u32 = 63

/** Where a value of a column stands in its list; NO_FEATURE when it is not there. */
export function placeOf(column: usize, start: usize, length: usize): u32 {
  const table = <usize>load<u32>(column, COLUMN_TABLE)
  const mask = load<u32>(column, COLUMN_MASK)
  const entries = <usize>load<u32>(column, COLUMN_ENTRIES)
  let slot = u32(xxh64(start, u32(length))) & mask
  while (true) {
    const place = load<u32>(table + (usize(slot) << 2))
    if (place == 0) return NO_FEATURE
    const entry = entries + (usize(place - 1) << 3)
    if (usize(load<u32>(entry, 4)) == length && sameBytes(<usize>load<u32>(entry), start, length)) return place - 1
    slot = (slot + 1) & mask
  }
}

/** Whether a byte belongs to a word: letters and digits, and all that is beyond ASCII. */
@inline
function isWord(c: u32): bool {
  return (c | 32) - 97 < 26 || c - 48 <= 9 || c >= 128
}

// Where the rows of a batch go, and how far they have come.
let indices: usize = 0
let values: usize = 0
export let entries: u32 = 0
let room: u32 = 0
/** One more than the feature of the last entry of the row. */
let next: u32 = 0
let unsorted: bool = false

/** Begins a batch: its rows go where it says, and texts of labels to where the table says. */
export function beginBatch(batch: usize, table: usize): void {
  indices = <usize>load<u32>(batch, BATCH_INDICES)
  values = <usize>load<u32>(batch, BATCH_VALUES)
  room = load<u32>(batch, BATCH_NONZERO_CAPACITY)
  textsNext = <usize>load<u32>(table, TABLE_LABEL_TEXTS)
  entries = 0
}

export function beginRow(): void {
  next = 0
  unsorted = false
}

/** Puts the entries of a row in order, from `first` on. */
@inline
export function endRow<V>(first: u32): void {
  if (unsorted) sortRow<V>(first)
}

/** Takes a row that does not fit away again. */
export function dropRow(first: u32): void {
  entries = first
}

/** Adds an entry to the row; whether there is room for it. */
@inline
export function add<V>(feature: u32, value: V): bool {
  if (entries >= room) return false
  store<u32>(indices + (usize(entries) << 2), feature)
  store<V>(values + usize(entries) * sizeof<V>(), value)
  entries++
  if (feature < next) unsorted = true
  next = feature + 1
  return true
}

/** Enters the words of the present cell, in lower case. They are put together where scratch is. */
export function addWords<V>(feature: u32, bits: u32): bool {
  const scratch = scratchNext
  let p = cellStart
  const end = cellEnd
  while (p < end) {
    let c = <u32>load<u8>(p)
    if (!isWord(c)) {
      p++
      continue
    }
    let to = scratch
    for (; p < end; p++) {
      c = <u32>load<u8>(p)
      if (!isWord(c)) break
      store<u8>(to++, u8(c - 65 < 26 ? c + 32 : c))
    }
    if (!add<V>(feature + hashed(scratch, to, bits), <V>1)) return false
  }
  return true
}

@inline
function hashed(start: usize, end: usize, bits: u32): u32 {
  return u32(xxh64(start, u32(end - start)) >> (64 - u64(bits)))
}

/** The same of a short cell, where most are of eight bytes. All ways to say that a value is missing are one value, the empty one. */
@inline
export function hashedShort(start: usize, end: usize, bits: u32): u32 {
  if (end - start == 8) return u32(xxh64OfWord(load<u64>(start)) >> (64 - u64(bits)))
  if (isMissing(start, end)) return u32(XXH64_OF_NOTHING >> (64 - u64(bits)))
  return hashed(start, end, bits)
}

/** Sorts the entries of a row from `first` on, by Shell's method, and leaves out a feature that is there already: a word counts once. */
function sortRow<V>(first: u32): void {
  const count = entries - first
  let gap: u32 = 1
  while (gap < count / 3) gap = gap * 3 + 1
  const at = indices + (usize(first) << 2)
  const valueAt = values + usize(first) * sizeof<V>()
  for (; gap > 0; gap /= 3) {
    for (let k = gap; k < count; k++) {
      const feature = load<u32>(at + (usize(k) << 2))
      const value = load<V>(valueAt + usize(k) * sizeof<V>())
      let j = k
      for (; j >= gap; j -= gap) {
        const before = load<u32>(at + (usize(j - gap) << 2))
        if (before <= feature) break
        store<u32>(at + (usize(j) << 2), before)
        store<V>(valueAt + usize(j) * sizeof<V>(), load<V>(valueAt + usize(j - gap) * sizeof<V>()))
      }
      store<u32>(at + (usize(j) << 2), feature)
      store<V>(valueAt + usize(j) * sizeof<V>(), value)
    }
  }
  let kept: u32 = 0
  for (let k: u32 = 1; k < count; k++) {
    const feature = load<u32>(at + (usize(k) << 2))
    if (feature == load<u32>(at + (usize(kept) << 2))) continue
    kept++
    store<u32>(at + (usize(kept) << 2), feature)
    store<V>(valueAt + usize(kept) * sizeof<V>(), load<V>(valueAt + usize(k) * sizeof<V>()))
  }
  entries = first + kept + 1
}

/** Where an entry of a feature stands, from `first` on. */
function entryOf(feature: u32, first: u32): u32 {
  while (load<u32>(indices + (usize(first) << 2)) != feature) first++
  return first
}

// What readLabel leaves behind: the label's bits, where its text goes on, and why it is refused.
export let label: f64 = 0
export let textsNext: usize = 0
export let labelFault: u32 = 0

/** Says where texts of labels go from now on. */
export function startLabels(at: usize): void {
  textsNext = at
}

/** Reads a cell that is a label of few digits as readLabel does; false where it takes more care to tell. */
@inline
function quickLabel(p: usize, stop: usize, delimiter: u32): bool {
  const length = stop - p
  if (length > 16 || quickNumber(p, delimiter, true) != stop || <u32>load<u8>(stop - 1) == CR) return false
  v128.store(textsNext, v128.load(p))
  store<u8>(textsNext + length, u8(LF))
  textsNext += length + 1
  label = quickValue
  return true
}

/** Reads a content as a label. Its text is copied, closed by a line feed, to where labels of text are looked for. */
export function readLabel(start: usize, contentEnd: usize, needed: bool): void {
  labelFault = 0
  const length = contentEnd - start
  const missing = isMissing(start, contentEnd)
  if (missing && needed) {
    labelFault = TABLE_ERROR_NO_LABEL
    return
  }
  if (missing) store<u8>(textsNext, u8(QUESTION))
  else memory.copy(textsNext, start, length)
  const end = textsNext + (missing ? 1 : length)
  store<u8>(end, u8(LF))
  label = slowNumber(textsNext)
  if (numberEnd == end) {
    if (!(abs(label) < Infinity)) labelFault = PARSE_ERROR_TOO_LARGE
  } else {
    label = textLabel(textsNext, textsNext)
    labelFault = labelError == 0 && labelEnd == end ? 0 : labelError == PARSE_ERROR_NOT_FINITE ? labelError : TABLE_ERROR_LABEL
  }
  textsNext = end + 1
}

/** Parses from the cursor until the text ends, the batch is full, or (unless bad rows are skipped) a row is bad. */
export function parseTable(state: usize, batch: usize, table: usize): void {
  if (load<u32>(batch, BATCH_VALUE_BYTES) == 8) parse<f64>(state, batch, table)
  else parse<f32>(state, batch, table)
}

function parse<V>(state: usize, batch: usize, table: usize): void {
  const end = <usize>load<u32>(state, PARSE_END)
  const skipBad = load<u32>(state, PARSE_SKIP_BAD) != 0
  const starts = <usize>load<u32>(batch, BATCH_STARTS)
  const labels = <usize>load<u32>(batch, BATCH_LABELS)
  const labelAt = <usize>load<u32>(batch, BATCH_LABEL_AT)
  const rowRoom = load<u32>(batch, BATCH_ROW_CAPACITY)
  const slowList = <usize>load<u32>(state, PARSE_SLOW)
  const slowRoom = load<u32>(state, PARSE_SLOW_CAPACITY)
  const columns = load<u32>(table, TABLE_COLUMNS)
  const columnAt = <usize>load<u32>(table, TABLE_COLUMN_AT)
  const lastRecord = columnAt + usize(columns - 1) * COLUMN_BYTES
  const delimiter = load<u32>(table, TABLE_DELIMITER)
  const scratch = <usize>load<u32>(table, TABLE_SCRATCH)
  const lineOf = <usize>load<u32>(table, TABLE_LINE_OF)
  const weights = <usize>load<u32>(table, TABLE_WEIGHTS)
  const needsLabel = load<u32>(table, TABLE_NEEDS_LABEL) != 0
  beginBatch(batch, table)
  beginRuns(indices, values, room)
  const toIndices = indices
  const toValues = values
  let p = <usize>load<u32>(state, PARSE_CURSOR)
  let lines = load<u32>(state, PARSE_LINES)
  let zeros = load<u32>(state, PARSE_ZEROS)
  let rows: u32 = 0
  let slow: u32 = 0
  // The separators from p on, as far as the 64 bytes from `base` on have any.
  let base = p
  let ahead = separatorsFrom(p, delimiter)

  while (p < end) {
    const line = p
    let c = <u32>load<u8>(p)
    while (c == SPACE || c == CR || (c == TAB && delimiter != TAB)) c = <u32>load<u8>(++p)
    if (c == LF) {
      while (ahead == 0) {
        base += 64
        ahead = separatorsFrom(base, delimiter)
      }
      ahead &= ahead - 1
      p++
      lines++
      continue
    }
    p = line
    if (rows >= rowRoom) break
    const firstEntry = entries
    const firstSlow = slow
    let error: u32 = 0
    let column: u32 = 0
    let rowLines: u32 = 1
    let weight: f64 = 1
    let labelStart: usize = 0
    let stop: usize = 0
    beginRow()
    setScratch(scratch)

    while (true) {
      if (column == columns) {
        error = TABLE_ERROR_WIDTH
        break
      }
      // Cells that need no care come in runs: numbers of few digits, short texts. What changes with each is kept in locals.
      let record = columnAt + usize(column) * COLUMN_BYTES
      let role = load<u32>(record, COLUMN_ROLE)
      let filled = entries
      let after = next
      let quick = false
      while (filled < room) {
        if (role == ROLE_NUMBER) {
          const before = record
          numberRun<V>(p, base, ahead, delimiter, record, lastRecord, filled, after)
          p = runAt
          stop = runStop
          base = runBase
          ahead = runAhead
          record = runRecord
          filled = runEntries
          after = runNext
          zeros += runZeros
          unsorted = unsorted || runUnsorted
          quick = runEnded
          if (quick || record == before) break
          role = load<u32>(record, COLUMN_ROLE)
          if (role == ROLE_NUMBER) break
        }
        while (ahead == 0) {
          base += 64
          ahead = separatorsFrom(base, delimiter)
        }
        stop = base + usize(ctz(ahead))
        let feature = load<u32>(record, COLUMN_FEATURE)
        let kept = <V>1
        if (role == ROLE_HASHED) {
          if (!isPlainText(p, stop)) break
          feature += hashedShort(p, stop, load<u32>(record, COLUMN_BITS))
        } else if (role == ROLE_LABEL) {
          const text = textsNext
          if (!quickLabel(p, stop, delimiter)) break
          labelStart = text
          kept = <V>0
        } else break
        p = stop
        ahead &= ahead - 1
        if (kept != 0) {
          store<u32>(toIndices + (usize(filled) << 2), feature)
          store<V>(toValues + usize(filled) * sizeof<V>(), kept)
          filled++
          if (feature < after) unsorted = true
          after = feature + 1
        }
        quick = true
        if (<u32>load<u8>(p) == LF || record == lastRecord) break
        p++
        quick = false
        record += COLUMN_BYTES
        role = load<u32>(record, COLUMN_ROLE)
      }
      entries = filled
      next = after
      column = u32(record - columnAt) / COLUMN_BYTES
      const cell = p
      if (!quick) {
        readCell(p, end, delimiter)
        p = cellStop
        // A cell in quotes may have separators in it.
        if (p == stop) ahead &= ahead - 1
        else {
          base = p + 1
          ahead = separatorsFrom(base, delimiter)
        }
        if (cellError != 0) {
          error = cellError
          break
        }
        rowLines += cellLines
        const length = cellEnd - cellStart
        const missing = isMissing(cellStart, cellEnd)
        if (role == ROLE_LABEL) {
          labelStart = textsNext
          readLabel(cellStart, cellEnd, needsLabel)
          error = labelFault
        } else if (role == ROLE_NUMBER || role == ROLE_WEIGHT) {
          let value: f64 = 0
          if (!missing) {
            value = slowNumber(cellStart)
            if (numberEnd != cellEnd) error = spellsNotFinite(cellStart) && length < 10 ? PARSE_ERROR_NOT_FINITE : TABLE_ERROR_NUMBER
          }
          if (role == ROLE_WEIGHT) {
            weight = value
            if (error == 0 && !(value > 0 && value < Infinity)) error = TABLE_ERROR_WEIGHT
          } else if (error == 0) {
            const kept = <V>value
            if (!(abs(kept) < <V>Infinity)) error = PARSE_ERROR_TOO_LARGE
            else if (missing) {
              const feature = load<u32>(record, COLUMN_MISSING)
              if (feature != NO_FEATURE && !add<V>(feature, <V>1)) error = PARSE_ERROR_TOO_MANY_ENTRIES
            } else if (kept == 0) zeros++
            else {
              const feature = load<u32>(record, COLUMN_FEATURE)
              if (!add<V>(feature, kept) || slow >= slowRoom) error = PARSE_ERROR_TOO_MANY_ENTRIES
              else if (sizeof<V>() == 8 && !numberExact) {
                // The feature, until the row is sorted.
                store<u32>(slowList + (usize(slow) << 3), feature)
                store<u32>(slowList + (usize(slow) << 3), u32(cellStart), 4)
                slow++
              }
            }
          }
        } else if (role == ROLE_CATEGORY) {
          let feature = load<u32>(record, COLUMN_MISSING)
          if (!missing) {
            const place = placeOf(record, cellStart, length)
            feature = place == NO_FEATURE ? NO_FEATURE : load<u32>(record, COLUMN_FEATURE) + place
          }
          if (feature != NO_FEATURE && !add<V>(feature, <V>1)) error = PARSE_ERROR_TOO_MANY_ENTRIES
        } else if (role == ROLE_HASHED) {
          // All ways to say that a value is missing are one value, the empty one.
          const start = missing ? cellEnd : cellStart
          const feature = load<u32>(record, COLUMN_FEATURE) + hashed(start, cellEnd, load<u32>(record, COLUMN_BITS))
          if (!add<V>(feature, <V>1)) error = PARSE_ERROR_TOO_MANY_ENTRIES
        } else if (role == ROLE_WORDS && !missing) {
          if (!addWords<V>(load<u32>(record, COLUMN_FEATURE), load<u32>(record, COLUMN_BITS))) error = PARSE_ERROR_TOO_MANY_ENTRIES
        }
        if (error != 0) {
          p = cell
          break
        }
      }
      column++
      if (<u32>load<u8>(p) == LF) {
        if (column < columns) error = TABLE_ERROR_WIDTH
        break
      }
      p++
    }

    if (error == PARSE_ERROR_TOO_MANY_ENTRIES) {
      // The batch is full: this row opens the next one, or a larger one when it does not fit even alone.
      if (rows == 0) store<u32>(state, 1, PARSE_NEEDS_ROOM)
      entries = firstEntry
      slow = firstSlow
      p = line
      break
    }
    if (error != 0) {
      noteBadRow(state, error | (column << TABLE_ERROR_COLUMN), lines, p, line)
      entries = firstEntry
      slow = firstSlow
      if (!skipBad) break
      p = endOfRow(line, end, delimiter)
      rowLines = rowsLines
      base = p + 1
      ahead = separatorsFrom(base, delimiter)
    } else {
      if (labelStart == 0) {
        // No column has labels.
        labelStart = textsNext
        readLabel(line, line, false)
      }
      endRow<V>(firstEntry)
      for (let k = firstSlow; k < slow; k++) {
        const at = slowList + (usize(k) << 3)
        store<u32>(at, entryOf(load<u32>(at), firstEntry))
      }
      store<u32>(starts + (usize(rows) << 2), firstEntry)
      store<f64>(labels + (usize(rows) << 3), label)
      store<u32>(labelAt + (usize(rows) << 2), u32(labelStart))
      store<u32>(lineOf + (usize(rows) << 2), lines)
      if (weights != 0) store<f64>(weights + (usize(rows) << 3), weight)
      rows++
    }
    p++
    lines += rowLines
  }

  store<u32>(starts + (usize(rows) << 2), entries)
  store<u32>(batch, rows, BATCH_ROWS)
  store<u32>(batch, entries, BATCH_NONZEROS)
  store<u32>(state, u32(p), PARSE_CURSOR)
  store<u32>(state, lines, PARSE_LINES)
  store<u32>(state, zeros, PARSE_ZEROS)
  store<u32>(state, slow, PARSE_SLOW_COUNT)
}
