// Feature statistics and scaling of row records that were packed plain (indices and f32 or f64 values, or dense).
import {
  BATCH_INDICES, BATCH_NONZEROS, BATCH_VALUE_BYTES, BATCH_VALUES, ROW_COUNT, ROW_ENTRIES, ROW_KIND, ROW_KIND_DENSE, ROW_KIND_F64, ROW_NORM, ROW_SCALE,
} from '../layouts'
import { squaredNorm, wideValues } from './row'

/** For each feature, into f64 arrays: the largest |x| (extremes), Σx and Σx² (moments); either address may be 0. */
export function gatherStatistics(table: usize, from: u32, to: u32, extremes: usize, sums: usize, squares: usize): void {
  for (let r = from; r < to; r++) {
    const row = <usize>load<u32>(table + (usize(r) << 2))
    const n = load<u32>(row, ROW_COUNT)
    const kind = load<u32>(row, ROW_KIND)
    const entries = row + ROW_ENTRIES
    const narrow = entries + (usize(n) << 2)
    const wide = wideValues(entries, n)
    for (let k: u32 = 0; k < n; k++) {
      const index = kind == ROW_KIND_DENSE ? k : load<u32>(entries + (usize(k) << 2))
      const x =
        kind == ROW_KIND_DENSE
          ? f64(load<f32>(entries + (usize(k) << 2)))
          : kind == ROW_KIND_F64
            ? load<f64>(wide + (usize(k) << 3))
            : f64(load<f32>(narrow + (usize(k) << 2)))
      const at = usize(index) << 3
      if (extremes != 0) store<f64>(extremes + at, max(load<f64>(extremes + at), abs(x)))
      if (sums != 0) {
        store<f64>(sums + at, load<f64>(sums + at) + x)
        store<f64>(squares + at, load<f64>(squares + at) + x * x)
      }
    }
  }
}

/** Multiplies every value by its feature's factor (f64), then makes rows unit length if asked. */
export function scaleRows(table: usize, from: u32, to: u32, factors: usize, unit: bool): void {
  for (let r = from; r < to; r++) {
    const row = <usize>load<u32>(table + (usize(r) << 2))
    const n = load<u32>(row, ROW_COUNT)
    const kind = load<u32>(row, ROW_KIND)
    const entries = row + ROW_ENTRIES
    if (kind == ROW_KIND_F64) {
      const wide = wideValues(entries, n)
      for (let k: u32 = 0; k < n; k++) {
        const at = wide + (usize(k) << 3)
        store<f64>(at, load<f64>(at) * load<f64>(factors + (usize(load<u32>(entries + (usize(k) << 2))) << 3)))
      }
    } else {
      const values = kind == ROW_KIND_DENSE ? entries : entries + (usize(n) << 2)
      for (let k: u32 = 0; k < n; k++) {
        const index = kind == ROW_KIND_DENSE ? k : load<u32>(entries + (usize(k) << 2))
        const at = values + (usize(k) << 2)
        store<f32>(at, f32(f64(load<f32>(at)) * load<f64>(factors + (usize(index) << 3))))
      }
    }
    store<f64>(row, 1, ROW_SCALE)
    const norm = squaredNorm(row)
    store<f64>(row, unit && norm > 0 ? 1 / Math.sqrt(norm) : 1, ROW_SCALE)
    store<f64>(row, unit && norm > 0 ? 1 : norm, ROW_NORM)
  }
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
 *  tells, see rangeEnds in features/additive-kernel.ts. Without ranges they are cut off at 0 and 1. */
export function fitBatch(batch: usize, ranges: usize, features: u32): void {
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
    if (wide) store<f64>(values + (e << 3), min(max(load<f64>(values + (e << 3)) * factor, lowest), highest))
    else store<f32>(values + (e << 2), f32(min(max(f64(load<f32>(values + (e << 2))) * factor, lowest), highest)))
  }
}
