// Polynomial features of degree 2: the features themselves, and the products of every two. What belongs to feature j stands
// together, behind what belongs to smaller ones, so that numbers do not depend on how many features there are:
//
//   start_j = (j+1)(j+2)/2 − 1        x_j at start_j,  √2 x_i x_j (i < j) and x_j² (i = j) at start_j + 1 + i
//
// The numbers rise along a row, and xᵀz + (xᵀz)² is the product of two rows.
import {
  BATCH_INDICES, BATCH_ROWS, BATCH_STARTS, BATCH_UPPER, BATCH_VALUE_BYTES, BATCH_VALUES, EXPAND_ERROR, EXPAND_ERROR_FEATURE,
  EXPAND_ERROR_VALUE, EXPAND_ROW,
} from '../layouts'
import { finish, fits, MOST_FEATURES } from './expand-rows'

export function expandPolynomial(state: usize, from: usize, to: usize): void {
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
  const first = load<u32>(state, EXPAND_ROW)
  let count: u32 = 0
  let entries: u32 = 0

  for (; first + count < rows; count++) {
    const start = load<u32>(starts + (usize(first + count) << 2))
    const n = load<u32>(starts + (usize(first + count) << 2), 4) - start
    if (!fits(state, to, count, entries, (u64(n) * (u64(n) + 3)) >> 1)) break
    store<u32>(outStarts + (usize(count) << 2), entries)
    const index = indices + (usize(start) << 2)
    const value = values + usize(start) * sizeof<V>()
    let largest: f64 = 0
    for (let j: u32 = 0; j < n; j++) largest = max(largest, abs(f64(load<V>(value + usize(j) * sizeof<V>()))))
    // The square of the largest value may be the largest number; its product with one of the same size is √2 times that.
    if (!(abs(<V>(Math.SQRT2 * largest * largest)) < <V>Infinity)) {
      store<u32>(state, EXPAND_ERROR_VALUE, EXPAND_ERROR)
      break
    }
    if (n > 0 && outUpper == 0) {
      const last = u64(load<u32>(index + (usize(n - 1) << 2)))
      if (((last + 1) * (last + 2)) / 2 + last >= MOST_FEATURES) {
        store<u32>(state, EXPAND_ERROR_FEATURE, EXPAND_ERROR)
        break
      }
    }
    for (let j: u32 = 0; j < n; j++) {
      const feature = u64(load<u32>(index + (usize(j) << 2)))
      const x = f64(load<V>(value + usize(j) * sizeof<V>()))
      // One of two neighbours is even: halving it first keeps the product of the largest ones below 2^64.
      let number = ((feature & 1) == 0 ? (feature / 2 + 1) * (feature + 1) : ((feature + 1) / 2) * (feature + 2)) - 1
      let out = usize(entries) << 2
      let outValue = outValues + usize(entries) * sizeof<V>()
      store<u32>(outIndices + out, u32(number))
      if (outUpper != 0) store<u32>(outUpper + out, u32(number >> 32))
      store<V>(outValue, <V>x)
      number++
      for (let i: u32 = 0; i <= j; i++) {
        out += 4
        outValue += sizeof<V>()
        const product = number + u64(load<u32>(index + (usize(i) << 2)))
        store<u32>(outIndices + out, u32(product))
        if (outUpper != 0) store<u32>(outUpper + out, u32(product >> 32))
        const factor = i < j ? Math.SQRT2 : 1
        store<V>(outValue, <V>(factor * f64(load<V>(value + usize(i) * sizeof<V>())) * x))
      }
      entries += j + 2
    }
  }
  finish(state, from, to, first, count, entries, sizeof<V>())
}
