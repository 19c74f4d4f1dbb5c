// By look-up: an entry of feature j becomes `width` entries, features width·j and on, whose values stand in a table at the
// bin nearest to the entry's value. Values that come out as 0 are left out.
//
// The bins go from 0 to 1. For what is beyond them there are two rules: see EXPAND_BEYOND in layouts.ts. A homogeneous map
// goes on above 1 as it is at 1: its first value grows with √x, and each pair behind it turns by its angle besides:
//
//   first value  √x t_0,    pair j  √x t_(2j−1) (cos φ, sin φ)  with φ = j · period · log x,  t = the table at 1
import {
  BATCH_INDICES, BATCH_ROWS, BATCH_STARTS, BATCH_UPPER, BATCH_VALUE_BYTES, BATCH_VALUES, EXPAND_BEYOND,
  EXPAND_BEYOND_HOMOGENEOUS, EXPAND_BEYOND_ODD, EXPAND_BINS, EXPAND_ERROR, EXPAND_ERROR_FEATURE, EXPAND_ERROR_NEGATIVE, EXPAND_PERIOD, EXPAND_ROW,
  EXPAND_TABLE, EXPAND_VALUE, EXPAND_WIDTH,
} from '../layouts'
import { finish, fits, MOST_FEATURES } from './expand-rows'

export function expandTable(state: usize, from: usize, to: usize): void {
  if (load<u32>(from, BATCH_VALUE_BYTES) == 8) expand<f64>(state, from, to)
  else expand<f32>(state, from, to)
}

@inline
function expand<V>(state: usize, from: usize, to: usize): void {
  const rows = load<u32>(from, BATCH_ROWS)
  const starts = <usize>load<u32>(from, BATCH_STARTS)
  const indices = <usize>load<u32>(from, BATCH_INDICES)
  const values = <usize>load<u32>(from, BATCH_VALUES)
  const outStarts = <usize>load<u32>(to, BATCH_STARTS)
  const outIndices = <usize>load<u32>(to, BATCH_INDICES)
  const outValues = <usize>load<u32>(to, BATCH_VALUES)
  const outUpper = <usize>load<u32>(to, BATCH_UPPER)
  const table = <usize>load<u32>(state, EXPAND_TABLE)
  const width = load<u32>(state, EXPAND_WIDTH)
  const bins = load<u32>(state, EXPAND_BINS)
  const odd = load<u32>(state, EXPAND_BEYOND) == EXPAND_BEYOND_ODD
  const homogeneous = load<u32>(state, EXPAND_BEYOND) == EXPAND_BEYOND_HOMOGENEOUS
  const period = load<f64>(state, EXPAND_PERIOD)
  const atOne = table + usize(bins) * (usize(width) << 3)
  const first = load<u32>(state, EXPAND_ROW)
  let count: u32 = 0
  let entries: u32 = 0

  for (; first + count < rows; count++) {
    const start = load<u32>(starts + (usize(first + count) << 2))
    const end = load<u32>(starts + (usize(first + count) << 2), 4)
    if (!fits(state, to, count, entries, u64(end - start) * u64(width))) break
    store<u32>(outStarts + (usize(count) << 2), entries)
    if (end > start && outUpper == 0) {
      const last = u64(load<u32>(indices + (usize(end - 1) << 2)))
      if ((last + 1) * u64(width) > MOST_FEATURES) {
        store<u32>(state, EXPAND_ERROR_FEATURE, EXPAND_ERROR)
        break
      }
    }
    for (let entry = start; entry < end; entry++) {
      let x = f64(load<V>(values + usize(entry) * sizeof<V>()))
      const sign: f64 = odd && x < 0 ? -1 : 1
      x *= sign
      if (homogeneous && !(x >= 0 && x < Infinity)) {
        store<f64>(state, x, EXPAND_VALUE)
        store<u32>(state, EXPAND_ERROR_NEGATIVE, EXPAND_ERROR)
        break
      }
      if (!(x > 0)) continue
      const number = u64(load<u32>(indices + (usize(entry) << 2))) * u64(width)
      if (homogeneous && x > 1) {
        const root = Math.sqrt(x)
        const turn = period * Math.log(x)
        for (let k: u32 = 0; k < width; k++) {
          const angle = f64((k + 1) >> 1) * turn
          // The sine of a pair has the factor of the cosine before it: at 1 the sine itself is 0.
          const sine = k > 0 && (k & 1) == 0
          const factor = root * load<f64>(atOne + (usize(sine ? k - 1 : k) << 3))
          const value = k == 0 ? factor : factor * (sine ? Math.sin(angle) : Math.cos(angle))
          entries = put<V>(outIndices, outUpper, outValues, entries, number + u64(k), <V>value)
        }
        continue
      }
      let bin = x < 1 ? u32(x * f64(bins) + 0.5) : bins
      if (bin == 0) {
        if (!homogeneous) continue
        bin = 1
      }
      const found = table + usize(bin) * (usize(width) << 3)
      for (let k: u32 = 0; k < width; k++) {
        entries = put<V>(outIndices, outUpper, outValues, entries, number + u64(k), <V>(sign * load<f64>(found + (usize(k) << 3))))
      }
    }
    if (load<u32>(state, EXPAND_ERROR) != 0) break
  }
  finish(state, from, to, first, count, entries, sizeof<V>())
}

/** Writes an entry; returns how many there are then. One of value 0 is written over by the next. */
@inline
function put<V>(indices: usize, upper: usize, values: usize, entries: u32, number: u64, value: V): u32 {
  store<u32>(indices + (usize(entries) << 2), u32(number))
  if (upper != 0) store<u32>(upper + (usize(entries) << 2), u32(number >> 32))
  store<V>(values + usize(entries) * sizeof<V>(), value)
  return entries + u32(value != <V>0)
}
