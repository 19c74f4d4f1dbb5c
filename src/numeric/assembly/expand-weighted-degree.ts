// Weighted degree features of strings: for every position p and every k up to the degree D, the k letters from p on are one
// feature of value 1. With an alphabet of A letters and S = A + A² + … + A^D,
//
//   number = p·S + (A + … + A^(k−1)) + the k letters read as a number to the base A
//
// which rises along a row. A letter outside the alphabet ends the strings that would contain it, and so does a missing
// position.
import {
  BATCH_INDICES, BATCH_ROWS, BATCH_STARTS, BATCH_UPPER, BATCH_VALUE_BYTES, BATCH_VALUES, EXPAND_CODES, EXPAND_DEGREE,
  EXPAND_ERROR, EXPAND_ERROR_FEATURE, EXPAND_LETTERS, EXPAND_NO_LETTER, EXPAND_ROW,
} from '../layouts'
import { finish, fits, MOST_FEATURES } from './expand-rows'

export function expandWeightedDegree(state: usize, from: usize, to: usize): void {
  if (load<u32>(from, BATCH_VALUE_BYTES) == 8) expand<f64>(state, from, to)
  else expand<f32>(state, from, to)
}

/** The code of a value that is a byte. */
@inline
function codeOf<V>(codes: usize, value: V): u32 {
  return value >= 0 && value < 256 ? <u32>load<u8>(codes + usize(u32(value))) : u32(EXPAND_NO_LETTER)
}

@inline
function expand<V>(state: usize, from: usize, to: usize): void {
  const degree = load<u32>(state, EXPAND_DEGREE)
  const letters = u64(load<u32>(state, EXPAND_LETTERS))
  const table = <usize>load<u32>(state, EXPAND_CODES)
  const rows = load<u32>(from, BATCH_ROWS)
  const starts = <usize>load<u32>(from, BATCH_STARTS)
  const indices = <usize>load<u32>(from, BATCH_INDICES)
  const values = <usize>load<u32>(from, BATCH_VALUES)
  const outStarts = <usize>load<u32>(to, BATCH_STARTS)
  const outIndices = <usize>load<u32>(to, BATCH_INDICES)
  const outValues = <usize>load<u32>(to, BATCH_VALUES)
  const outUpper = <usize>load<u32>(to, BATCH_UPPER)
  let perPosition: u64 = 0
  for (let k: u32 = 0; k < degree; k++) perPosition = (perPosition + 1) * letters
  const first = load<u32>(state, EXPAND_ROW)
  let count: u32 = 0
  let entries: u32 = 0

  for (; first + count < rows; count++) {
    const start = load<u32>(starts + (usize(first + count) << 2))
    const n = load<u32>(starts + (usize(first + count) << 2), 4) - start
    if (!fits(state, to, count, entries, u64(n) * u64(degree))) break
    store<u32>(outStarts + (usize(count) << 2), entries)
    const position = indices + (usize(start) << 2)
    const value = values + usize(start) * sizeof<V>()
    if (n > 0 && outUpper == 0 && (u64(load<u32>(position + (usize(n - 1) << 2))) + 1) * perPosition > MOST_FEATURES) {
      store<u32>(state, EXPAND_ERROR_FEATURE, EXPAND_ERROR)
      break
    }
    // The row's values are written last; until then their room holds the codes and how many letters follow each other.
    const codes = outValues + (usize(entries) << 2)
    const runs = codes + usize(n)
    let run: u32 = 0
    for (let p = n; p-- > 0; ) {
      const code = codeOf<V>(table, load<V>(value + usize(p) * sizeof<V>()))
      const here = position + (usize(p) << 2)
      if (code == u32(EXPAND_NO_LETTER)) run = 0
      else if (p + 1 < n && load<u32>(here, 4) == load<u32>(here) + 1) run = min(run + 1, degree)
      else run = 1
      store<u8>(codes + usize(p), u8(code))
      store<u8>(runs + usize(p), u8(run))
    }
    const before = entries
    let out = outIndices + (usize(entries) << 2)
    for (let p: u32 = 0; p < n; p++) {
      const reach = <u32>load<u8>(runs + usize(p))
      // Numbers of the strings of one length stand together: `base` is where those of this length start.
      let base = u64(load<u32>(position + (usize(p) << 2))) * perPosition
      let code: u64 = 0
      let size: u64 = 1
      const letter = codes + usize(p)
      for (let k: u32 = 0; k < reach; k++) {
        code = code * letters + u64(load<u8>(letter + usize(k)))
        const number = base + code
        store<u32>(out, u32(number))
        if (outUpper != 0) store<u32>(outUpper + (out - outIndices), u32(number >> 32))
        out += 4
        size *= letters
        base += size
      }
    }
    entries = u32((out - outIndices) >> 2)
    let at = outValues + (usize(before) << 2)
    const end = outValues + (usize(entries) << 2)
    for (; at + 16 <= end; at += 16) v128.store(at, f32x4.splat(1))
    for (; at < end; at += 4) store<f32>(at, 1)
  }
  finish(state, from, to, first, count, entries, 4)
}
