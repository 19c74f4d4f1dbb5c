// Loads ahead of time. Sweeps meet rows in random order, so each row's first lines miss every cache. A sweep that waits for
// one miss after the other spends most of its time that way. So before every few rows one loop loads a word of each cache
// line of all of them: these loads do not depend on each other, and the misses overlap. No result changes.
import {
  ROW_COUNT, ROW_ENTRIES, ROW_KIND, ROW_KIND_CODED, ROW_KIND_CONSTANT, ROW_KIND_F32, ROW_KIND_F64, ROW_KIND_SCALED_F32,
} from '../layouts'
import { place, recordBytes } from './row'

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

/** Loads rows for a sweep whose present rows end at `to`, and which goes on to `end`: the entries of the few that come next, and what
 *  stands beside them; of those behind, the headers; and of those behind them, where they are. So the next call
 *  waits for no address and no length, and whoever looks at the entries of the present rows finds them. */
export function bringOn(rows: usize, order: usize, to: u32, end: u32, beside: usize, bytesBeside: usize): void {
  let sum: u32 = 0
  const entries = min(to + AHEAD, end)
  for (let k = to; k < entries; k++) {
    const i = load<u32>(order + (usize(k) << 2))
    const row = usize(load<u32>(rows + (usize(i) << 2)))
    sum += touchLines(row, bytesToTouch(row))
    if (bytesBeside != 0) sum += touchLines(beside + usize(i) * bytesBeside, bytesBeside)
  }
  const headers = min(entries + AHEAD, end)
  for (let k = entries; k < headers; k++) {
    const i = load<u32>(order + (usize(k) << 2))
    sum += load<u32>(usize(load<u32>(rows + (usize(i) << 2))), ROW_COUNT)
    if (bytesBeside != 0) sum += load<u8>(beside + usize(i) * bytesBeside)
  }
  const addresses = min(headers + AHEAD, end)
  for (let k = headers; k < addresses; k++) sum += load<u32>(rows + (usize(load<u32>(order + (usize(k) << 2))) << 2))
  touched += sum
}

/** Weights of so many bytes stay in the second cache, so that nobody has to wait for one. */
const NEAR_WEIGHTS: usize = 1 << 18
/** The processor itself looks far enough ahead in longer rows. */
const MOST_ENTRIES: u32 = 64

/** Whether it pays to load the weights of short rows ahead: where there are so many that they are far away. */
@inline
export function areFar<W>(weights: u32): bool { return usize(weights) * sizeof<W>() > NEAR_WEIGHTS }

/** Loads the weights of the rows that the order lists at from..to. A dot product waits for them otherwise, and the next one begins
 *  when it is known whether its row moves. */
@inline
export function bringWeights<W, S>(rows: usize, order: usize, from: u32, to: u32, w: usize, own: usize, hot: u32): void {
  let sum: u32 = 0
  for (let k = from; k < to; k++) {
    const row = usize(load<u32>(rows + (usize(load<u32>(order + (usize(k) << 2))) << 2)))
    const count = load<u32>(row, ROW_COUNT)
    if (count > MOST_ENTRIES || !hasWideIndices(load<u32>(row, ROW_KIND))) continue
    let at = row + ROW_ENTRIES
    for (const end = at + (usize(count) << 2); at < end; at += 4) sum += load<u8>(place<W, S>(w, own, hot, load<u32>(at)))
  }
  touched += sum
}

export function bringWeightsF64(rows: usize, order: usize, from: u32, to: u32, w: usize): void { bringWeights<f64, f64>(rows, order, from, to, w, w, 0) }
export function bringWeightsF32(rows: usize, order: usize, from: u32, to: u32, w: usize): void { bringWeights<f32, f64>(rows, order, from, to, w, w, 0) }

/** Whether rows of a kind begin with u32 indices of weights. */
@inline
function hasWideIndices(kind: u32): bool {
  return kind == ROW_KIND_CONSTANT || kind == ROW_KIND_CODED || kind == ROW_KIND_F32 || kind == ROW_KIND_F64 || kind == ROW_KIND_SCALED_F32
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
  bringOn(rows, order, to, end, beside, bytesBeside)
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
