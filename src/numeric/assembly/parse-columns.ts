// Columns of cells to a batch, by what each column becomes. It gives the rows that parse-table.ts gives of the same cells as text.
import {
  BATCH_LABELS, BATCH_LABEL_AT, BATCH_NONZEROS, BATCH_ROWS, BATCH_ROW_CAPACITY, BATCH_STARTS, BATCH_VALUE_BYTES, LONGEST_LABEL,
  PARSE_CURSOR, PARSE_END, PARSE_LINES, PARSE_NEEDS_ROOM, PARSE_ZEROS,
} from '../layouts'
import {
  CELLS_AT, CELLS_BYTES, CELLS_KIND, COLUMN_BITS, COLUMN_BYTES, COLUMN_FEATURE, COLUMN_MISSING, COLUMN_ROLE, NO_FEATURE,
  NUMBER_CELLS, ROLE_CATEGORY, ROLE_HASHED, ROLE_LABEL, ROLE_NUMBER, ROLE_WEIGHT, ROLE_WORDS, TABLE_CELLS, TABLE_COLUMN_AT,
  TABLE_COLUMNS, TABLE_LABEL_TEXTS, TABLE_NEEDS_LABEL, TABLE_SCRATCH, TABLE_WEIGHTS, UNFIT_CELLS,
} from '../table-layout'
import { isMissing, setCell, setScratch } from './read-cell'
import {
  add, addWords, beginBatch, beginRow, dropRow, endRow, entries, hashedShort, label, labelFault, placeOf, readLabel, startLabels,
  textsNext,
} from './parse-table'

/** Whole numbers up to here are themselves as f64, and so are their texts. */
const LARGEST_WHOLE: f64 = 9007199254740992

/** Looks whether cells can become rows as they are. UNFIT_CELLS where a row would be bad, for its error shows a text, or where
 *  a label is better read as one; else the bytes of the longest text whose words are features. */
export function checkColumns(table: usize, rows: u32, valueBytes: u32): u32 {
  const columns = load<u32>(table, TABLE_COLUMNS)
  let longest: u32 = 0
  for (let column: u32 = 0; column < columns; column++) {
    const role = load<u32>(<usize>load<u32>(table, TABLE_COLUMN_AT) + usize(column) * COLUMN_BYTES, COLUMN_ROLE)
    const record = <usize>load<u32>(table, TABLE_CELLS) + usize(column) * CELLS_BYTES
    const cells = <usize>load<u32>(record, CELLS_AT)
    const numbers = load<u32>(record, CELLS_KIND) == NUMBER_CELLS
    if (role == ROLE_NUMBER && valueBytes == 4 && !fitFloats(cells, rows)) return UNFIT_CELLS
    if (role == ROLE_WEIGHT && !areWeights(cells, rows)) return UNFIT_CELLS
    if (role == ROLE_LABEL && !(numbers ? areLabels(cells, rows, table) : areTextLabels(cells, rows, table))) return UNFIT_CELLS
    if (role == ROLE_WORDS)
      for (let r: u32 = 0; r < rows; r++) longest = max(longest, load<u32>(cells + (usize(r) << 3), 4))
  }
  return longest
}

/** Whether no number is too large for 32 bits. */
function fitFloats(cells: usize, rows: u32): bool {
  let infinite: u32 = 0
  for (let r: u32 = 0; r < rows; r++) infinite |= u32(abs(f32(load<f64>(cells + (usize(r) << 3)))) == <f32>Infinity)
  return infinite == 0
}

function areWeights(cells: usize, rows: u32): bool {
  let wrong: u32 = 0
  for (let r: u32 = 0; r < rows; r++) {
    const weight = load<f64>(cells + (usize(r) << 3))
    wrong |= u32(!(weight > 0 && weight < Infinity))
  }
  return wrong == 0
}

function areLabels(cells: usize, rows: u32, table: usize): bool {
  const needed = load<u32>(table, TABLE_NEEDS_LABEL) != 0
  for (let r: u32 = 0; r < rows; r++) {
    const value = load<f64>(cells + (usize(r) << 3))
    if (isNaN(value) ? needed : trunc(value) != value || abs(value) > LARGEST_WHOLE) return false
  }
  return true
}

function areTextLabels(cells: usize, rows: u32, table: usize): bool {
  const needed = load<u32>(table, TABLE_NEEDS_LABEL) != 0
  for (let r: u32 = 0; r < rows; r++) {
    const start = <usize>load<u32>(cells + (usize(r) << 3))
    const length = load<u32>(cells + (usize(r) << 3), 4)
    if (length > u32(LONGEST_LABEL)) return false
    startLabels(<usize>load<u32>(table, TABLE_LABEL_TEXTS))
    readLabel(start, start + usize(length), needed)
    if (labelFault != 0) return false
  }
  return true
}

/** Parses from the row at the cursor on, until the rows end or the batch is full. checkColumns has seen the cells. */
export function parseColumns(state: usize, batch: usize, table: usize): void {
  if (load<u32>(batch, BATCH_VALUE_BYTES) == 8) parse<f64>(state, batch, table)
  else parse<f32>(state, batch, table)
}

function parse<V>(state: usize, batch: usize, table: usize): void {
  const end = load<u32>(state, PARSE_END)
  const starts = <usize>load<u32>(batch, BATCH_STARTS)
  const labels = <usize>load<u32>(batch, BATCH_LABELS)
  const labelAt = <usize>load<u32>(batch, BATCH_LABEL_AT)
  const rowRoom = load<u32>(batch, BATCH_ROW_CAPACITY)
  const columns = load<u32>(table, TABLE_COLUMNS)
  const columnAt = <usize>load<u32>(table, TABLE_COLUMN_AT)
  const cellsAt = <usize>load<u32>(table, TABLE_CELLS)
  const weights = <usize>load<u32>(table, TABLE_WEIGHTS)
  beginBatch(batch, table)
  setScratch(<usize>load<u32>(table, TABLE_SCRATCH))
  let row = load<u32>(state, PARSE_CURSOR)
  let zeros = load<u32>(state, PARSE_ZEROS)
  let rows: u32 = 0

  for (; row < end && rows < rowRoom; row++) {
    const firstEntry = entries
    const place = usize(row) << 3
    let weight: f64 = 1
    let labelStart: usize = 0
    let labelled = false
    let bits: f64 = 0
    let fits = true
    beginRow()
    for (let column: u32 = 0; column < columns && fits; column++) {
      const record = columnAt + usize(column) * COLUMN_BYTES
      const role = load<u32>(record, COLUMN_ROLE)
      const cell = <usize>load<u32>(cellsAt + usize(column) * CELLS_BYTES, CELLS_AT) + place
      if (role == ROLE_NUMBER) {
        const value = <V>load<f64>(cell)
        if (value == 0) zeros++
        else if (!isNaN(value)) fits = add<V>(load<u32>(record, COLUMN_FEATURE), value)
        else {
          const feature = load<u32>(record, COLUMN_MISSING)
          if (feature != NO_FEATURE) fits = add<V>(feature, <V>1)
        }
      } else if (role == ROLE_WEIGHT) weight = load<f64>(cell)
      else if (role == ROLE_LABEL) {
        const numbers = load<u32>(cellsAt + usize(column) * CELLS_BYTES, CELLS_KIND) == NUMBER_CELLS
        const number = load<f64>(cell)
        labelled = true
        labelStart = textsNext
        if (!numbers) bits = readTextLabel(cell)
        else if (isNaN(number)) bits = readNoLabel()
        else {
          // A zero has no sign in a text.
          bits = number + 0
          labelStart = 0
        }
      } else if (role == ROLE_CATEGORY || role == ROLE_HASHED || role == ROLE_WORDS) fits = addText<V>(record, role, cell)
    }
    if (!fits) {
      // The batch is full: this row opens the next one, or a larger one when it does not fit even alone.
      if (rows == 0) store<u32>(state, 1, PARSE_NEEDS_ROOM)
      dropRow(firstEntry)
      break
    }
    if (!labelled) {
      labelStart = textsNext
      bits = readNoLabel()
    }
    endRow<V>(firstEntry)
    store<u32>(starts + (usize(rows) << 2), firstEntry)
    store<f64>(labels + (usize(rows) << 3), bits)
    store<u32>(labelAt + (usize(rows) << 2), u32(labelStart))
    if (weights != 0) store<f64>(weights + (usize(rows) << 3), weight)
    rows++
  }

  store<u32>(starts + (usize(rows) << 2), entries)
  store<u32>(batch, rows, BATCH_ROWS)
  store<u32>(batch, entries, BATCH_NONZEROS)
  store<u32>(state, row, PARSE_CURSOR)
  store<u32>(state, row, PARSE_LINES)
  store<u32>(state, zeros, PARSE_ZEROS)
}

function readTextLabel(cell: usize): f64 {
  const start = <usize>load<u32>(cell)
  readLabel(start, start + usize(load<u32>(cell, 4)), false)
  return label
}

function readNoLabel(): f64 {
  readLabel(0, 0, false)
  return label
}

/** The features of a text; whether there is room for them. */
@inline
function addText<V>(record: usize, role: u32, cell: usize): bool {
  const start = <usize>load<u32>(cell)
  const end = start + usize(load<u32>(cell, 4))
  const first = load<u32>(record, COLUMN_FEATURE)
  if (role == ROLE_HASHED) return add<V>(first + hashedShort(start, end, load<u32>(record, COLUMN_BITS)), <V>1)
  const missing = isMissing(start, end)
  if (role == ROLE_WORDS) {
    if (missing) return true
    setCell(start, end)
    return addWords<V>(first, load<u32>(record, COLUMN_BITS))
  }
  let feature = load<u32>(record, COLUMN_MISSING)
  if (!missing) {
    const place = placeOf(record, start, end - start)
    feature = place == NO_FEATURE ? NO_FEATURE : first + place
  }
  return feature == NO_FEATURE || add<V>(feature, <V>1)
}
