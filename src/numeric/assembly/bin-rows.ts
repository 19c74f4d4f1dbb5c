// Values to bin numbers: of a batch's rows as they are packed, or of packed rows, each value times its feature's factor. Bin k stands for
// the value k / bins; what rounds to 0 is no entry any more. Where values may be negative a bin's number is doubled, and odd
// for a negative value.
import {
  BATCH_INDICES, BATCH_NONZEROS, BATCH_ROWS, BATCH_STARTS, BATCH_VALUE_BYTES, BATCH_VALUES, ROW_COUNT, ROW_ENTRIES, ROW_KIND, ROW_KIND_BINS8, ROW_KIND_DENSE,
  ROW_KIND_DENSE_BINS16, ROW_KIND_DENSE_BINS8, ROW_KIND_F64, ROW_KIND_SHORT_BINS8, ROW_SCALE,
} from '../layouts'
import { finishRow, wideValues } from './row'

/** The number of the bin of a value; values beyond 1 count as 1, negative ones as 0 unless there are signs. */
@inline
export function binOf(x: f64, bins: u32, signs: bool): u32 {
  const size = min<u32>(u32(min<f64>(abs(x), 1) * f64(bins) + 0.5), bins == 256 && !signs ? 255 : bins)
  if (signs) return size == 0 ? 0 : (size << 1) | u32(x < 0)
  return x > 0 ? size : 0
}

/** Whether a bin's number takes two bytes. */
@inline
function isWide(bins: u32, signs: bool): bool {
  return signs ? bins > 127 : bins > 256
}

/** The first value of a batch outside [0, 1], by the number of its entry; 2^32 − 1 when there is none. */
export function findOutside(batch: usize): u32 {
  const n = load<u32>(batch, BATCH_NONZEROS)
  const values = <usize>load<u32>(batch, BATCH_VALUES)
  const wide = load<u32>(batch, BATCH_VALUE_BYTES) == 8
  for (let e: u32 = 0; e < n; e++) {
    const x = wide ? load<f64>(values + (usize(e) << 3)) : f64(load<f32>(values + (usize(e) << 2)))
    if (!(x >= 0 && x <= 1)) return e
  }
  return 0xffffffff
}

/** Rounds a batch's values, which lie in [0, 1], to those of their bins; what rounds to 0 is left out. A store of such values
 *  keeps the numbers of the bins. */
export function roundBatch(batch: usize, bins: u32): void {
  const rows = load<u32>(batch, BATCH_ROWS)
  const starts = <usize>load<u32>(batch, BATCH_STARTS)
  const indices = <usize>load<u32>(batch, BATCH_INDICES)
  const values = <usize>load<u32>(batch, BATCH_VALUES)
  const wide = load<u32>(batch, BATCH_VALUE_BYTES) == 8
  let kept: usize = 0
  let from = load<u32>(starts)
  for (let r: u32 = 0; r < rows; r++) {
    const to = load<u32>(starts + (usize(r) << 2), 4)
    for (let e = usize(from); e < usize(to); e++) {
      const bin = binOf(wide ? load<f64>(values + (e << 3)) : f64(load<f32>(values + (e << 2))), bins, false)
      if (bin == 0) continue
      store<u32>(indices + (kept << 2), load<u32>(indices + (e << 2)))
      const value = f64(bin) / f64(bins)
      if (wide) store<f64>(values + (kept << 3), value)
      else store<f32>(values + (kept << 2), f32(value))
      kept++
    }
    from = to
    store<u32>(starts + (usize(r) << 2), u32(kept), 4)
  }
  store<u32>(starts, 0)
  store<u32>(batch, u32(kept), BATCH_NONZEROS)
}

/** Writes the entries of a row as bins, the kind and the count; where they end. */
@inline
export function packBins(row: usize, index: usize, value: usize, n: u32, wideValue: bool, bins: u32): usize {
  const wide = isWide(bins, false)
  const entries = row + ROW_ENTRIES
  let count: u32 = 0, length: u32 = 0
  for (let e: usize = 0; e < usize(n); e++) {
    const x = wideValue ? load<f64>(value + (e << 3)) : f64(load<f32>(value + (e << 2)))
    if (binOf(x, bins, false) == 0) continue
    count++
    length = load<u32>(index + (e << 2)) + 1
  }
  const dense = count * 2 > length
  const short = length <= 65536
  const places = dense ? entries : entries + (usize(count) << (short ? 1 : 2))
  if (dense) memory.fill(entries, 0, usize(length) << (wide ? 1 : 0))
  let k: usize = 0
  for (let e: usize = 0; e < usize(n); e++) {
    const x = wideValue ? load<f64>(value + (e << 3)) : f64(load<f32>(value + (e << 2)))
    const bin = binOf(x, bins, false)
    if (bin == 0) continue
    const feature = load<u32>(index + (e << 2))
    const place = dense ? usize(feature) : k
    if (!dense) {
      if (short) store<u16>(entries + (k << 1), u16(feature))
      else store<u32>(entries + (k << 2), feature)
    }
    if (wide) store<u16>(places + (place << 1), u16(bin))
    else store<u8>(places + place, u8(bin))
    k++
  }
  store<u32>(row, dense ? length : count, ROW_COUNT)
  const kind: u32 = dense ? ROW_KIND_DENSE_BINS8 : short ? ROW_KIND_SHORT_BINS8 : ROW_KIND_BINS8
  // Of each pair of kinds the one with two bytes a bin comes second.
  store<u32>(row, kind + u32(wide), ROW_KIND)
  return places + (usize(dense ? length : count) << (wide ? 1 : 0))
}

/** Packed rows from..to, plain, become rows of bins where they are: those are never longer. Values times their features'
 *  factors (f64) lie in [−1, 1], or are clipped to that. */
export function binRows(table: usize, from: u32, to: u32, factors: usize, bins: u32, signs: bool, unit: bool): void {
  const wide = isWide(bins, signs)
  for (let r = from; r < to; r++) {
    const row = <usize>load<u32>(table + (usize(r) << 2))
    const n = load<u32>(row, ROW_COUNT)
    const kind = load<u32>(row, ROW_KIND)
    const entries = row + ROW_ENTRIES
    if (kind == ROW_KIND_DENSE) {
      // Each value is read before its bin is written at or before its place.
      for (let e: usize = 0; e < usize(n); e++) {
        const bin = binOf(f64(load<f32>(entries + (e << 2))) * load<f64>(factors + (e << 3)), bins, signs)
        if (wide) store<u16>(entries + (e << 1), u16(bin))
        else store<u8>(entries + e, u8(bin))
      }
      store<u32>(row, wide ? ROW_KIND_DENSE_BINS16 : ROW_KIND_DENSE_BINS8, ROW_KIND)
    } else {
      const wideValue = kind == ROW_KIND_F64
      const values = wideValue ? wideValues(entries, n) : entries + (usize(n) << 2)
      // Bins first take the place of the values, from where they go behind the indices that are left.
      let count: usize = 0
      const short = n == 0 || load<u32>(entries + (usize(n - 1) << 2)) < 65536
      for (let e: usize = 0; e < usize(n); e++) {
        const index = load<u32>(entries + (e << 2))
        const x = wideValue ? load<f64>(values + (e << 3)) : f64(load<f32>(values + (e << 2)))
        const bin = binOf(x * load<f64>(factors + (usize(index) << 3)), bins, signs)
        if (bin == 0) continue
        if (short) store<u16>(entries + (count << 1), u16(index))
        else store<u32>(entries + (count << 2), index)
        if (wide) store<u16>(values + (count << 1), u16(bin))
        else store<u8>(values + count, u8(bin))
        count++
      }
      memory.copy(entries + (count << (short ? 1 : 2)), values, count << (wide ? 1 : 0))
      store<u32>(row, u32(count), ROW_COUNT)
      store<u32>(row, (short ? ROW_KIND_SHORT_BINS8 : ROW_KIND_BINS8) + u32(wide), ROW_KIND)
    }
    store<f64>(row, 1, ROW_SCALE)
    finishRow(row, unit)
  }
}
