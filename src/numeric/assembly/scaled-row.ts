// Rows under `--scale`: values stay as they were read, and each is multiplied by its feature's factor whenever the row is used.
// A scaled value that was rounded to f32 again would be another one than the model and its factors stand for. There is one list
// of factors at a time, f64 by feature, at an address that the control page knows, as there is one table of bins. Entries at the end
// of a row that are 1 like their factors need neither: w · (1 · 1) is w, to the last bit.
import { ROW_COUNT, ROW_ENTRIES, ROW_KIND, ROW_KIND_SCALED_DENSE, ROW_ONES, ROW_SCALE, SPACE_FACTORS } from '../layouts'
import { addTo, weight } from './row'

/** The factors of this memory. */
@inline
export function factorsOfRows(): usize {
  return <usize>load<u32>(SPACE_FACTORS)
}

/** The scaled value of an f32 at `value`. */
@inline
export function scaledValue(value: usize, factors: usize, index: u32): f64 {
  return f64(load<f32>(value)) * load<f64>(factors + (usize(index) << 3))
}

/** Two of four f32 values, as f64; `upper` for the last two. */
@inline
function promoted(x: v128, upper: bool): v128 {
  return f64x2.promote_low_f32x4(upper ? i8x16.shuffle(x, x, 8, 9, 10, 11, 12, 13, 14, 15, 8, 9, 10, 11, 12, 13, 14, 15) : x)
}

/** Σ w_j d_j x_j, scale included. Weights are where row.ts says. */
export function dotScaled<W, S>(row: usize, w: usize, own: usize, hot: u32): f64 {
  const n = load<u32>(row, ROW_COUNT)
  const factors = factorsOfRows()
  let i = row + ROW_ENTRIES
  const end = i + (usize(n) << 2)
  const end4 = i + (usize(n & ~3) << 2)
  if (load<u32>(row, ROW_KIND) == ROW_KIND_SCALED_DENSE) {
    let lo = f64x2.splat(0), hi = f64x2.splat(0)
    let p = own, f = factors
    if (sizeof<W>() == 8) {
      for (; i < end4; i += 16, p += 32, f += 32) {
        const x = v128.load(i)
        lo = f64x2.add(lo, f64x2.mul(f64x2.mul(promoted(x, false), v128.load(f)), v128.load(p)))
        hi = f64x2.add(hi, f64x2.mul(f64x2.mul(promoted(x, true), v128.load(f, 16)), v128.load(p, 16)))
      }
    }
    const both = f64x2.add(lo, hi)
    let sum = f64x2.extract_lane(both, 0) + f64x2.extract_lane(both, 1)
    for (; i < end; i += 4, p += sizeof<W>(), f += 8) sum += f64(load<W>(p)) * (f64(load<f32>(i)) * load<f64>(f))
    return sum * load<f64>(row, ROW_SCALE)
  }
  let a: f64 = 0, b: f64 = 0, c: f64 = 0, d: f64 = 0
  let v = end
  // Entries are summed four at a time, and the ones as they would be if they were like the others.
  const scaled = i + (usize(n - load<u32>(row, ROW_ONES)) << 2)
  for (; i < end4 && i < scaled; i += 16, v += 16) {
    a += weight<W, S>(w, own, hot, load<u32>(i)) * scaledValue(v, factors, load<u32>(i))
    b += weight<W, S>(w, own, hot, load<u32>(i, 4)) * scaledValue(v + 4, factors, load<u32>(i, 4))
    c += weight<W, S>(w, own, hot, load<u32>(i, 8)) * scaledValue(v + 8, factors, load<u32>(i, 8))
    d += weight<W, S>(w, own, hot, load<u32>(i, 12)) * scaledValue(v + 12, factors, load<u32>(i, 12))
  }
  for (; i < end4; i += 16) {
    a += weight<W, S>(w, own, hot, load<u32>(i))
    b += weight<W, S>(w, own, hot, load<u32>(i, 4))
    c += weight<W, S>(w, own, hot, load<u32>(i, 8))
    d += weight<W, S>(w, own, hot, load<u32>(i, 12))
  }
  v = i + (usize(n) << 2)
  for (; i < end && i < scaled; i += 4, v += 4) a += weight<W, S>(w, own, hot, load<u32>(i)) * scaledValue(v, factors, load<u32>(i))
  for (; i < end; i += 4) a += weight<W, S>(w, own, hot, load<u32>(i))
  return (a + b + (c + d)) * load<f64>(row, ROW_SCALE)
}

/** w += step · row. */
export function axpyScaled<W, S>(row: usize, step: f64, w: usize, own: usize, hot: u32): void {
  const n = load<u32>(row, ROW_COUNT)
  const factors = factorsOfRows()
  const s = step * load<f64>(row, ROW_SCALE)
  let i = row + ROW_ENTRIES
  const end = i + (usize(n) << 2)
  if (load<u32>(row, ROW_KIND) == ROW_KIND_SCALED_DENSE) {
    let p = own, f = factors
    if (sizeof<W>() == 8) {
      const both = f64x2.splat(s)
      for (const end4 = i + (usize(n & ~3) << 2); i < end4; i += 16, p += 32, f += 32) {
        const x = v128.load(i)
        v128.store(p, f64x2.add(v128.load(p), f64x2.mul(f64x2.mul(promoted(x, false), v128.load(f)), both)))
        v128.store(p, f64x2.add(v128.load(p, 16), f64x2.mul(f64x2.mul(promoted(x, true), v128.load(f, 16)), both)), 16)
      }
    }
    for (; i < end; i += 4, p += sizeof<W>(), f += 8) {
      store<W>(p, <W>(f64(load<W>(p)) + f64(load<f32>(i)) * load<f64>(f) * s))
    }
    return
  }
  const scaled = end - (usize(load<u32>(row, ROW_ONES)) << 2)
  for (let v = end; i < scaled; i += 4, v += 4) {
    const index = load<u32>(i)
    addTo<W, S>(w, own, hot, index, s * scaledValue(v, factors, index))
  }
  for (; i < end; i += 4) addTo<W, S>(w, own, hot, load<u32>(i), s)
}

/** Σ (d_j x_j)², the row's scale left out. */
export function squaresScaled(row: usize, factors: usize): f64 {
  const n = load<u32>(row, ROW_COUNT)
  const dense = load<u32>(row, ROW_KIND) == ROW_KIND_SCALED_DENSE
  const entries = row + ROW_ENTRIES
  const values = dense ? entries : entries + (usize(n) << 2)
  const scaled = dense ? n : n - load<u32>(row, ROW_ONES)
  let sum: f64 = 0
  for (let k: u32 = 0; k < scaled; k++) {
    const x = scaledValue(values + (usize(k) << 2), factors, dense ? k : load<u32>(entries + (usize(k) << 2)))
    sum += x * x
  }
  for (let k = scaled; k < n; k++) sum += 1
  return sum
}
