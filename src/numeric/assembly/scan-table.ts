// What the columns of a table hold, in text or in cells: whether all cells are numbers, how many are missing, and the values of
// those that are not numbers, listed in the order in which they are met.
import {
  PARSE_CURSOR, PARSE_END, PARSE_LINES, PARSE_NEEDS_ROOM, PARSE_SKIP_BAD,
} from '../layouts'
import {
  CELLS_AT, CELLS_BYTES, CELLS_KIND, COLUMN_ENTRIES, COLUMN_MASK, COLUMN_TABLE, LOOK_AGAIN, LOOK_AWAY, LOOK_KIND, LOOK_VALUES, NUMBER_CELLS, SCANNED_BYTES, SCANNED_COUNT,
  SCANNED_ENTRIES, SCANNED_FIRST_BYTES, SCANNED_FIRST_LINE, SCANNED_FIRST_TEXT, SCANNED_LOOK, SCANNED_MASK, SCANNED_MISSING,
  SCANNED_NUMBERS, SCANNED_ROOM, SCANNED_TABLE, SCANNED_TEXTS, TABLE_CELLS, TABLE_COLUMN_AT, TABLE_COLUMNS, TABLE_DELIMITER, TABLE_ERROR_COLUMN,
  TABLE_ERROR_WIDTH, TEXT_CELLS,
} from '../table-layout'
import { noteBadRow } from './bad-rows'
import { xxh64 } from './hash'
import { CR, LF, numberEnd, SPACE, slowNumber, TAB } from './parse-number'
import { plainRows, plainRowsPassed } from './plain-rows'
import { cellDoubled, cellEnd, cellError, cellLines, cellStart, cellStop, isMissing, quickNumber, readCell, sameBytes, setCell, setScratch } from './read-cell'

/** Scans from the cursor until the text ends, a list is full, or (unless bad rows are skipped) a row is bad. Rows of the wrong
 *  width count for nothing when they are skipped, but for the values that were listed. */
export function scanTable(state: usize, table: usize): void {
  const end = <usize>load<u32>(state, PARSE_END)
  const skipBad = load<u32>(state, PARSE_SKIP_BAD) != 0
  const columns = load<u32>(table, TABLE_COLUMNS)
  const scannedAt = <usize>load<u32>(table, TABLE_COLUMN_AT)
  const delimiter = load<u32>(table, TABLE_DELIMITER)
  let p = <usize>load<u32>(state, PARSE_CURSOR)
  let lines = load<u32>(state, PARSE_LINES)
  full = false
  // Values are listed as they stand in the text.
  setScratch(0)

  // Rows to read before plain ones are looked for again. Where there are none, it is seldom.
  let wait: u32 = 0
  let pause: u32 = 1
  // A row adds one value to a list at most, so that lists are looked at behind each row.
  while (p < end && !full) {
    if (wait > 0) wait--
    else {
      const plain = listsNone(scannedAt, columns) ? plainRows(p, end, delimiter, columns) : p
      if (plain > p) {
        for (let k: u32 = 0; k < columns; k++) {
          const scanned = scannedAt + usize(k) * SCANNED_BYTES
          store<u32>(scanned, load<u32>(scanned, SCANNED_NUMBERS) + plainRowsPassed, SCANNED_NUMBERS)
        }
        lines += plainRowsPassed
        p = plain
        pause = 1
        continue
      }
      pause = min<u32>(pause << 1, 256)
      wait = pause
    }
    const line = p
    let c = <u32>load<u8>(p)
    while (c == SPACE || c == CR || (c == TAB && delimiter != TAB)) c = <u32>load<u8>(++p)
    if (c == LF) {
      p++
      lines++
      continue
    }
    p = line
    let error: u32 = 0
    let column: u32 = 0
    let rowLines: u32 = 1
    while (true) {
      if (column == columns) {
        error = TABLE_ERROR_WIDTH
        break
      }
      const scanned = scannedAt + usize(column) * SCANNED_BYTES
      const look = load<u32>(scanned, SCANNED_LOOK)
      const stop: usize = look == LOOK_VALUES ? 0 : quickNumber(p, delimiter, false)
      if (stop != 0) {
        p = stop
        store<u32>(scanned, load<u32>(scanned, SCANNED_NUMBERS) + 1, SCANNED_NUMBERS)
      } else {
        readCell(p, end, delimiter)
        p = cellStop
        if (cellError != 0) {
          error = cellError
          break
        }
        if (look != LOOK_AWAY) learn(scanned, look, lines + rowLines - 1)
        rowLines += cellLines
      }
      column++
      if (<u32>load<u8>(p) == LF) {
        if (column < columns) error = TABLE_ERROR_WIDTH
        break
      }
      p++
    }
    if (error != 0) {
      noteBadRow(state, error | (column << TABLE_ERROR_COLUMN), lines, p, line)
      if (!skipBad) break
      p = endOfRow(line, end, delimiter)
      rowLines = rowsLines
    }
    p++
    lines += rowLines
  }
  store<u32>(state, u32(p), PARSE_CURSOR)
  store<u32>(state, lines, PARSE_LINES)
  store<u32>(state, full ? 1 : 0, PARSE_NEEDS_ROOM)
}

/** Whether no column has its values listed. */
function listsNone(scannedAt: usize, columns: u32): bool {
  for (let k: u32 = 0; k < columns; k++) {
    if (load<u32>(scannedAt + usize(k) * SCANNED_BYTES, SCANNED_LOOK) == LOOK_VALUES) return false
  }
  return true
}

/** Scans columns of cells from the row at the cursor on, until the rows end or a list is full. */
export function scanColumns(state: usize, table: usize): void {
  const end = load<u32>(state, PARSE_END)
  const columns = load<u32>(table, TABLE_COLUMNS)
  const scannedAt = <usize>load<u32>(table, TABLE_COLUMN_AT)
  const cellsAt = <usize>load<u32>(table, TABLE_CELLS)
  let row = load<u32>(state, PARSE_CURSOR)
  let texts = false
  for (let column: u32 = 0; column < columns; column++) {
    const scanned = scannedAt + usize(column) * SCANNED_BYTES
    const cells = cellsAt + usize(column) * CELLS_BYTES
    if (load<u32>(scanned, SCANNED_LOOK) == LOOK_AWAY) continue
    const kind = load<u32>(cells, CELLS_KIND)
    if (kind == TEXT_CELLS) texts = true
    else if (kind == NUMBER_CELLS && row == 0) countNumbers(scanned, <usize>load<u32>(cells, CELLS_AT), end)
  }
  full = false
  setScratch(0)
  if (!texts) row = end
  for (; row < end && !full; row++) {
    for (let column: u32 = 0; column < columns; column++) {
      const scanned = scannedAt + usize(column) * SCANNED_BYTES
      const cells = cellsAt + usize(column) * CELLS_BYTES
      const look = load<u32>(scanned, SCANNED_LOOK)
      if (look == LOOK_AWAY || load<u32>(cells, CELLS_KIND) != TEXT_CELLS) continue
      const cell = <usize>load<u32>(cells, CELLS_AT) + (usize(row) << 3)
      const start = <usize>load<u32>(cell)
      const stop = start + usize(load<u32>(cell, 4))
      setCell(start, stop)
      if (start == stop) {
        learn(scanned, look, row)
        continue
      }
      // A number ends before the first byte that cannot belong to it: what stands behind the text is put aside for a moment.
      const behind = load<u8>(stop)
      store<u8>(stop, u8(LF))
      learn(scanned, look, row)
      store<u8>(stop, behind)
    }
  }
  store<u32>(state, row, PARSE_CURSOR)
  store<u32>(state, row, PARSE_LINES)
  store<u32>(state, full ? 1 : 0, PARSE_NEEDS_ROOM)
}

function countNumbers(scanned: usize, cells: usize, rows: u32): void {
  let missing: u32 = 0
  for (let r: u32 = 0; r < rows; r++) missing += u32(isNaN(load<f64>(cells + (usize(r) << 3))))
  store<u32>(scanned, missing, SCANNED_MISSING)
  store<u32>(scanned, rows - missing, SCANNED_NUMBERS)
}

/** Whether a list has no room for another value. */
let full: bool = false

/** Lines of the row that endOfRow was last asked for. */
export let rowsLines: u32 = 0

/** The line feed that ends a bad row: behind its last cell, or where quotes are broken, that of its first line. */
export function endOfRow(line: usize, end: usize, delimiter: u32): usize {
  rowsLines = 1
  for (let p = line; ; p++) {
    readCell(p, end, delimiter)
    if (cellError != 0) break
    rowsLines += cellLines
    p = cellStop
    if (<u32>load<u8>(p) == LF) return p
  }
  rowsLines = 1
  let p = line
  while (<u32>load<u8>(p) != LF) p++
  return p
}

/** Counts the present cell, and lists its value if asked. */
function learn(scanned: usize, look: u32, line: u32): void {
  if (isMissing(cellStart, cellEnd)) {
    store<u32>(scanned, load<u32>(scanned, SCANNED_MISSING) + 1, SCANNED_MISSING)
    return
  }
  slowNumber(cellStart)
  const isNumber = numberEnd == cellEnd
  if (look == LOOK_KIND && !isNumber) {
    // Numbers that came before are values as well.
    look = load<u32>(scanned, SCANNED_NUMBERS) == 0 ? LOOK_VALUES : LOOK_AGAIN
    store<u32>(scanned, look, SCANNED_LOOK)
  }
  if (look == LOOK_VALUES) list(scanned)
  if (isNumber) store<u32>(scanned, load<u32>(scanned, SCANNED_NUMBERS) + 1, SCANNED_NUMBERS)
  else {
    const texts = load<u32>(scanned, SCANNED_TEXTS)
    if (texts == 0) {
      store<u32>(scanned, u32(cellStart), SCANNED_FIRST_TEXT)
      store<u32>(scanned, u32(cellEnd - cellStart), SCANNED_FIRST_BYTES)
      store<u32>(scanned, line, SCANNED_FIRST_LINE)
    }
    store<u32>(scanned, texts + 1, SCANNED_TEXTS)
  }
}

/** Enters the present cell into the list of a column, unless it is there. */
function list(scanned: usize): void {
  const marked = u32(cellEnd - cellStart) | (cellDoubled ? DOUBLED : 0)
  const slot = slotOf(scanned, cellStart, marked)
  if (load<u32>(slot) == 0) put(scanned, slot, cellStart, marked)
}

/** Marks the length of a value whose quotes are doubled. */
const DOUBLED: u32 = 0x80000000

/** The slot of a value in the hash table of a list: that of an equal one, or an empty one. */
function slotOf(scanned: usize, start: usize, marked: u32): usize {
  const table = <usize>load<u32>(scanned, SCANNED_TABLE)
  const mask = load<u32>(scanned, SCANNED_MASK)
  const entries = <usize>load<u32>(scanned, SCANNED_ENTRIES)
  const length = marked & ~DOUBLED
  let slot = u32(xxh64(start, length)) & mask
  while (true) {
    const at = table + (usize(slot) << 2)
    const place = load<u32>(at)
    if (place == 0) return at
    const entry = entries + (usize(place - 1) << 3)
    if (load<u32>(entry, 4) == marked && sameBytes(<usize>load<u32>(entry), start, length)) return at
    slot = (slot + 1) & mask
  }
}

/** Puts a value into a list, at an empty slot. */
function put(scanned: usize, slot: usize, start: usize, marked: u32): void {
  const count = load<u32>(scanned, SCANNED_COUNT)
  const entry = <usize>load<u32>(scanned, SCANNED_ENTRIES) + (usize(count) << 3)
  store<u32>(entry, u32(start))
  store<u32>(entry, marked, 4)
  store<u32>(slot, count + 1)
  store<u32>(scanned, count + 1, SCANNED_COUNT)
  if (count + 1 == load<u32>(scanned, SCANNED_ROOM)) full = true
}

/** Enters the values of a list of a chunk into that of all chunks, from `first` on, and copies those that are new to `texts`.
 *  Returns how many were looked at: fewer than there are when the list or the texts have no more room. */
export function mergeValues(scanned: usize, values: usize, first: u32, count: u32, texts: usize, textsEnd: usize): u32 {
  full = false
  mergedEnd = texts
  let k = first
  for (; k < count && !full; k++) {
    const value = values + (usize(k) << 3)
    const start = <usize>load<u32>(value)
    const marked = load<u32>(value, 4)
    const slot = slotOf(scanned, start, marked)
    if (load<u32>(slot) != 0) continue
    const length = usize(marked & ~DOUBLED)
    if (mergedEnd + length > textsEnd) break
    memory.copy(mergedEnd, start, length)
    put(scanned, slot, mergedEnd, marked)
    mergedEnd += length
  }
  return k
}

/** Where the texts that mergeValues has copied end. */
export let mergedEnd: usize = 0

export function endOfMerged(): usize {
  return mergedEnd
}

/** Moves the list of a column to where there is more room; the new hash table is of zeros. */
export function growList(scanned: usize, table: usize, slots: u32, entries: usize): void {
  const count = load<u32>(scanned, SCANNED_COUNT)
  memory.copy(entries, <usize>load<u32>(scanned, SCANNED_ENTRIES), usize(count) << 3)
  hashList(table, slots - 1, entries, count)
  store<u32>(scanned, u32(table), SCANNED_TABLE)
  store<u32>(scanned, slots - 1, SCANNED_MASK)
  store<u32>(scanned, u32(entries), SCANNED_ENTRIES)
}

/** Fills the hash table of a column from its list of values, which are all different. */
export function listValues(column: usize, count: u32): void {
  const entries = <usize>load<u32>(column, COLUMN_ENTRIES)
  hashList(<usize>load<u32>(column, COLUMN_TABLE), load<u32>(column, COLUMN_MASK), entries, count)
}

function hashList(table: usize, mask: u32, entries: usize, count: u32): void {
  for (let k: u32 = 0; k < count; k++) {
    const entry = entries + (usize(k) << 3)
    let slot = u32(xxh64(<usize>load<u32>(entry), load<u32>(entry, 4) & ~DOUBLED)) & mask
    while (load<u32>(table + (usize(slot) << 2)) != 0) slot = (slot + 1) & mask
    store<u32>(table + (usize(slot) << 2), k + 1)
  }
}
