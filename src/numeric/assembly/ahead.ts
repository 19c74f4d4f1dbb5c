// Loads ahead of time. Sweeps meet rows in random order, so each row's first lines miss every cache. A sweep that waits for
// one miss after the other spends most of its time that way. So before every few rows one loop loads a word of each cache
// line of all of them: these loads do not depend on each other, and the misses overlap. No result changes.
import { ROW_COUNT, ROW_ENTRIES, ROW_KIND, ROW_KIND_CONSTANT, ROW_KIND_F64 } from '../layouts'
import { recordBytes } from './row'

/** So many rows are loaded at a time: enough misses to keep the memory busy, few enough rows to stay in the first cache. */
export const AHEAD: u32 = 16
const LINE: usize = 64
/** The processor itself loads ahead in longer runs of memory. */
const MOST_BYTES: usize = 64 * LINE

// The sum of all words that were loaded. It can be asked for, so no compiler may leave the loads out.
let touched: u32 = 0
export function wordsTouched(): u32 { return touched }

/** Adds to that sum what a loop elsewhere has loaded. */
@inline
export function noteTouched(sum: u32): void { touched += sum }

@inline
export function touchLines(from: usize, bytes: usize): u32 {
  let sum: u32 = 0
  const end = from + min(bytes, MOST_BYTES)
  for (let at = from; at < end; at += LINE) sum += load<u8>(at)
  return sum + load<u8>(end - 1)
}

/** Loads the rows that the order lists at from..to, and what stands beside each of them: so many bytes a row. */
export function bringRows(rows: usize, order: usize, from: u32, to: u32, beside: usize, bytesBeside: usize): void {
  let sum: u32 = 0
  for (let k = from; k < to; k++) {
    const i = load<u32>(order + (usize(k) << 2))
    const row = usize(load<u32>(rows + (usize(i) << 2)))
    sum += load<u32>(row, ROW_COUNT)
    if (bytesBeside != 0) sum += touchLines(beside + usize(i) * bytesBeside, bytesBeside)
  }
  for (let k = from; k < to; k++) {
    const row = usize(load<u32>(rows + (usize(load<u32>(order + (usize(k) << 2))) << 2)))
    sum += touchLines(row, bytesToTouch(row))
  }
  touched += sum
}

/** Loads rows as bringRows does, for a sweep that goes on to `end`. Of the rows that come next, it loads the headers and what stands
 *  beside them, and of those behind, where they are: the next call waits for no address and no length then. */
export function bringOn(rows: usize, order: usize, from: u32, to: u32, end: u32, beside: usize, bytesBeside: usize): void {
  let sum: u32 = 0
  for (let k = from; k < to; k++) {
    const i = load<u32>(order + (usize(k) << 2))
    const row = usize(load<u32>(rows + (usize(i) << 2)))
    sum += touchLines(row, bytesToTouch(row))
    if (bytesBeside != 0) sum += touchLines(beside + usize(i) * bytesBeside, bytesBeside)
  }
  const headers = min(to + AHEAD, end)
  for (let k = to; k < headers; k++) {
    const i = load<u32>(order + (usize(k) << 2))
    sum += load<u32>(usize(load<u32>(rows + (usize(i) << 2))), ROW_COUNT)
    if (bytesBeside != 0) sum += load<u8>(beside + usize(i) * bytesBeside)
  }
  const addresses = min(headers + AHEAD, end)
  for (let k = headers; k < addresses; k++) sum += load<u32>(rows + (usize(load<u32>(order + (usize(k) << 2))) << 2))
  touched += sum
}

/** Bytes of a record that are surely in the memory. */
@inline
function bytesToTouch(row: usize): usize {
  const kind = load<u32>(row, ROW_KIND)
  // Most short rows are of this kind.
  if (kind == ROW_KIND_CONSTANT) return usize(ROW_ENTRIES) + (usize(load<u32>(row, ROW_COUNT)) << 2)
  // A record of f64 values ends 8 bytes before the room that is reckoned for it.
  return recordBytes(row) - (kind == ROW_KIND_F64 ? 8 : 0)
}

/** Loads the next rows of an order when a sweep has come to where it had loaded; returns how far it has loaded then. */
@inline
export function bringNext(rows: usize, order: usize, cursor: u32, loaded: u32, end: u32, beside: usize, bytesBeside: usize): u32 {
  if (cursor != loaded) return loaded
  const to = min(cursor + AHEAD, end)
  bringOn(rows, order, cursor, to, end, beside, bytesBeside)
  return to
}

/** Loads the last rows of the active part of an order, where a sweep has used up those that it had loaded: a shrunk row is
 *  replaced by the last one. Returns the first place that is loaded. */
@inline
export function bringLast(rows: usize, order: usize, cursor: u32, active: u32, lastLoaded: u32, beside: usize, bytesBeside: usize): u32 {
  if (active != lastLoaded) return lastLoaded
  const from = active - cursor > AHEAD ? active - AHEAD : cursor
  bringRows(rows, order, from, active, beside, bytesBeside)
  return from
}

/** Loads the columns that the order lists at from..to: their entries, and their values of 8 bytes. */
export function bringColumns(starts: usize, order: usize, from: u32, to: u32, entries: usize, values: usize): void {
  let sum: u32 = 0
  for (let k = from; k < to; k++) sum += load<u32>(starts + (usize(load<u32>(order + (usize(k) << 2))) << 2))
  for (let k = from; k < to; k++) {
    const at = starts + (usize(load<u32>(order + (usize(k) << 2))) << 2)
    const first = usize(load<u32>(at))
    const count = usize(load<u32>(at, 4)) - first
    if (count == 0) continue
    sum += touchLines(entries + (first << 2), count << 2) + touchLines(values + (first << 3), count << 3)
  }
  touched += sum
}

/** The same as bringNext for columns. */
@inline
export function bringNextColumns(starts: usize, order: usize, cursor: u32, loaded: u32, end: u32, entries: usize, values: usize): u32 {
  if (cursor != loaded) return loaded
  const to = min(cursor + AHEAD, end)
  bringColumns(starts, order, cursor, to, entries, values)
  return to
}
