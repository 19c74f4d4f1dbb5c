// Feature statistics and scaling of row records that were packed plain (indices and f32 or f64 values, or dense).
import {
  BATCH_INDICES, BATCH_NONZEROS, BATCH_VALUE_BYTES, BATCH_VALUES, MOMENTS_BYTES, MOMENTS_COUNT, MOMENTS_EXPONENT, MOMENTS_MEAN,
  MOMENTS_SQUARES, ROW_CLASS, ROW_COUNT, ROW_ENTRIES, ROW_KIND, ROW_KIND_DENSE, ROW_KIND_F32, ROW_KIND_F64, ROW_KIND_SCALED_DENSE, ROW_KIND_SCALED_F32, ROW_ONES, ROW_SCALE,
} from '../layouts'
import { binOf } from './bin-rows'
import { finishBySquares, finishRow, wideValues } from './row'
import { squaresScaled } from './scaled-row'

/** For each feature, into f64[]: the largest |x|. */
export function gatherExtremes(table: usize, from: u32, to: u32, extremes: usize): void {
  for (let r = from; r < to; r++) {
    const row = <usize>load<u32>(table + (usize(r) << 2))
    const n = load<u32>(row, ROW_COUNT)
    for (let k: u32 = 0; k < n; k++) {
      const at = extremes + (usize(indexAt(row, k)) << 3)
      store<f64>(at, max(load<f64>(at), abs(valueAt(row, n, k))))
    }
  }
}

/** How many rows have each feature, into f64[classes] by feature: those of each class, or all of them where `classes` is 1. */
export function gatherCounts(table: usize, from: u32, to: u32, classes: u32, counts: usize): void {
  for (let r = from; r < to; r++) {
    const row = <usize>load<u32>(table + (usize(r) << 2))
    const n = load<u32>(row, ROW_COUNT)
    const own = counts + (classes > 1 ? usize(load<u32>(row, ROW_CLASS)) << 3 : 0)
    for (let k: u32 = 0; k < n; k++) {
      if (valueAt(row, n, k) == 0) continue
      const at = own + ((usize(indexAt(row, k)) * usize(classes)) << 3)
      store<f64>(at, load<f64>(at) + 1)
    }
  }
}

@inline
function indexAt(row: usize, k: u32): u32 {
  return load<u32>(row, ROW_KIND) == ROW_KIND_DENSE ? k : load<u32>(row + ROW_ENTRIES + (usize(k) << 2))
}

@inline
function valueAt(row: usize, n: u32, k: u32): f64 {
  const kind = load<u32>(row, ROW_KIND)
  const entries = row + ROW_ENTRIES
  if (kind == ROW_KIND_DENSE) return f64(load<f32>(entries + (usize(k) << 2)))
  if (kind == ROW_KIND_F64) return load<f64>(wideValues(entries, n) + (usize(k) << 3))
  return f64(load<f32>(entries + (usize(n) << 2) + (usize(k) << 2)))
}

/** How far an exponent may be above the one that a feature's numbers are kept at: squares of 2^256, summed, are still far from
 *  the largest number. */
const HEADROOM: u32 = 256

/** Mean and squared distances from it, of the values that are not 0 of each feature `below` one, into records of the MOMENTS_ layout. The mean
 *  follows the values (Welford 1962), so a spread is not lost beside a large mean as it is in Σx² − (Σx)²/n; and numbers are
 *  kept near 1 by a power of two, so that no square passes the largest number or falls below the smallest. */
export function gatherMoments(table: usize, from: u32, to: u32, below: u32, moments: usize): void {
  for (let r = from; r < to; r++) {
    const row = <usize>load<u32>(table + (usize(r) << 2))
    const n = load<u32>(row, ROW_COUNT)
    if (load<u32>(row, ROW_KIND) == ROW_KIND_F32) {
      const length = usize(n) << 2
      let i = row + ROW_ENTRIES
      for (const end = i + length; i < end; i += 4) {
        const index = load<u32>(i)
        if (index >= below) continue
        const x = f64(load<f32>(i + length))
        if (x != 0) addValue(moments + usize(index) * MOMENTS_BYTES, x)
      }
      continue
    }
    for (let k: u32 = 0; k < n; k++) {
      const index = indexAt(row, k)
      if (index >= below) continue
      const x = valueAt(row, n, k)
      if (x != 0) addValue(moments + usize(index) * MOMENTS_BYTES, x)
    }
  }
}

@inline
function addValue(record: usize, value: f64): void {
  const count = load<u32>(record, MOMENTS_COUNT) + 1
  const own = u32((reinterpret<u64>(value) >> 52) & 0x7ff)
  let exponent = load<u32>(record, MOMENTS_EXPONENT)
  if (count == 1 || own > exponent + HEADROOM) {
    const next = min<u32>(max<u32>(own, 1), 2045)
    if (count > 1) {
      const shift = powerOfTwo(i32(exponent) - i32(next))
      store<f64>(record, load<f64>(record, MOMENTS_MEAN) * shift, MOMENTS_MEAN)
      store<f64>(record, load<f64>(record, MOMENTS_SQUARES) * shift * shift, MOMENTS_SQUARES)
    }
    exponent = next
    store<u32>(record, exponent, MOMENTS_EXPONENT)
  }
  const x = value * powerOfTwo(1023 - i32(exponent))
  const mean = load<f64>(record, MOMENTS_MEAN)
  const next = mean + (x - mean) / f64(count)
  store<f64>(record, next, MOMENTS_MEAN)
  store<f64>(record, load<f64>(record, MOMENTS_SQUARES) + (x - mean) * (x - next), MOMENTS_SQUARES)
  store<u32>(record, count, MOMENTS_COUNT)
}

/** 2^k, from the smallest that has all its digits. */
@inline
function powerOfTwo(k: i32): f64 {
  return k < -1022 ? 0 : reinterpret<f64>(u64(k + 1023) << 52)
}

/** Has every value multiplied by its feature's factor (f64), and makes rows unit length if asked. Values of f32 stay as they are:
 *  the row's kind says that factors go with them. */
export function scaleRows(table: usize, from: u32, to: u32, factors: usize, unit: bool): void {
  for (let r = from; r < to; r++) {
    const row = <usize>load<u32>(table + (usize(r) << 2))
    const n = load<u32>(row, ROW_COUNT)
    const kind = load<u32>(row, ROW_KIND)
    store<f64>(row, 1, ROW_SCALE)
    if (kind == ROW_KIND_F64) {
      const entries = row + ROW_ENTRIES
      const wide = wideValues(entries, n)
      for (let k: u32 = 0; k < n; k++) {
        const at = wide + (usize(k) << 3)
        store<f64>(at, load<f64>(at) * load<f64>(factors + (usize(load<u32>(entries + (usize(k) << 2))) << 3)))
      }
      finishRow(row, unit)
    } else {
      store<u32>(row, kind == ROW_KIND_DENSE ? ROW_KIND_SCALED_DENSE : ROW_KIND_SCALED_F32, ROW_KIND)
      store<u32>(row, kind == ROW_KIND_DENSE ? 0 : onesAtEnd(row, n, factors), ROW_ONES)
      // By these factors, not by those that loops use: trainers may have put them into another order.
      finishBySquares(row, unit, squaresScaled(row, factors))
    }
  }
}

/** How many entries at the end of a row are 1 and have a factor of 1: values of tables that stand for names come in crowds. */
@inline
function onesAtEnd(row: usize, n: u32, factors: usize): u32 {
  const length = usize(n) << 2
  const first = row + ROW_ENTRIES
  let i = first + length
  while (i > first && load<f32>(i - 4 + length) == 1 && load<f64>(factors + (usize(load<u32>(i - 4)) << 3)) == 1) i -= 4
  return u32((first + length - i) >> 2)
}

/** For each feature, into f64 pairs: the largest and the smallest x, 0 included. */
export function gatherRanges(table: usize, from: u32, to: u32, ranges: usize): void {
  for (let r = from; r < to; r++) {
    const row = <usize>load<u32>(table + (usize(r) << 2))
    const n = load<u32>(row, ROW_COUNT)
    const kind = load<u32>(row, ROW_KIND)
    const entries = row + ROW_ENTRIES
    const wide = wideValues(entries, n)
    const narrow = kind == ROW_KIND_DENSE ? entries : entries + (usize(n) << 2)
    for (let k: usize = 0; k < usize(n); k++) {
      const index = kind == ROW_KIND_DENSE ? k : usize(load<u32>(entries + (k << 2)))
      const x = kind == ROW_KIND_F64 ? load<f64>(wide + (k << 3)) : f64(load<f32>(narrow + (k << 2)))
      const at = ranges + (index << 4)
      store<f64>(at, max(load<f64>(at), x))
      store<f64>(at, min(load<f64>(at, 8), x), 8)
    }
  }
}

/** Values of a batch by their features' ranges, pairs of a factor and a mark: multiplied, and cut off at the ends that the mark
 *  tells, see rangeEnds in features/additive-kernel.ts. Without ranges they are cut off at 0 and 1. Each becomes the value of
 *  its bin, which training drew from the product as well: an f32 beside the border of two bins would be drawn into the other. */
export function fitBatch(batch: usize, ranges: usize, features: u32, bins: u32): void {
  const n = load<u32>(batch, BATCH_NONZEROS)
  const indices = <usize>load<u32>(batch, BATCH_INDICES)
  const values = <usize>load<u32>(batch, BATCH_VALUES)
  const wide = load<u32>(batch, BATCH_VALUE_BYTES) == 8
  for (let e: usize = 0; e < usize(n); e++) {
    const index = load<u32>(indices + (e << 2))
    let factor: f64 = 1, mark: f64 = 0
    if (ranges != 0 && index < features) {
      factor = load<f64>(ranges + (usize(index) << 4))
      mark = load<f64>(ranges + (usize(index) << 4), 8)
    }
    const lowest = max(mark, -1)
    const highest = min(mark + 2, 1)
    const x = wide ? load<f64>(values + (e << 3)) : f64(load<f32>(values + (e << 2)))
    const fitted = binnedValue(min(max(x * factor, lowest), highest), bins)
    if (wide) store<f64>(values + (e << 3), fitted)
    else store<f32>(values + (e << 2), f32(fitted))
  }
}

/** The value that a value's bin stands for. */
@inline
function binnedValue(x: f64, bins: u32): f64 {
  const size = f64(binOf(abs(x), bins, false)) / f64(bins)
  return x < 0 ? -size : size
}
