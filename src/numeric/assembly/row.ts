// The linear row space: dot, axpy and norm of one row record against weights of type W (f64 or f32).
// Every kind of row has its own loop; the kind is asked once a row, never once a nonzero.
import {
  ROW_COUNT, ROW_DICTIONARY, ROW_ENTRIES, ROW_KIND, ROW_KIND_CODED, ROW_KIND_CONSTANT, ROW_KIND_DENSE, ROW_KIND_F32,
  ROW_KIND_BINS16, ROW_KIND_BINS8, ROW_KIND_DENSE_BINS16, ROW_KIND_DENSE_BINS8, ROW_KIND_F64, ROW_KIND_SCALED_DENSE,
  ROW_KIND_SCALED_F32, ROW_KIND_SHORT_BINS16, ROW_KIND_SHORT_BINS8, ROW_NORM, ROW_SCALE,
} from '../layouts'
import { axpyBinned, dotBinned, squaresBinned } from './binned-row'
import { axpyScaled, dotScaled, factorsOfRows, squaresScaled } from './scaled-row'

// S says where weights are: f64 for one place, bool for two, the first `hot` of them in a trainer's own.
@inline
export function place<W, S>(w: usize, own: usize, hot: u32, index: u32): usize {
  return (isBoolean<S>() ? select<usize>(own, w, index < hot) : w) + usize(index) * sizeof<W>()
}

@inline
export function weight<W, S>(w: usize, own: usize, hot: u32, index: u32): f64 {
  return f64(load<W>(place<W, S>(w, own, hot, index)))
}

@inline
export function addTo<W, S>(w: usize, own: usize, hot: u32, index: u32, amount: f64): void {
  const at = place<W, S>(w, own, hot, index)
  store<W>(at, <W>(f64(load<W>(at)) + amount))
}

/** Whether a row has no indices: its entries are those of features 0, 1, 2, … */
@inline
export function isDense(row: usize): bool {
  const kind = load<u32>(row, ROW_KIND)
  return kind == ROW_KIND_DENSE || kind == ROW_KIND_SCALED_DENSE || kind == ROW_KIND_DENSE_BINS8 || kind == ROW_KIND_DENSE_BINS16
}

/** Whether a row's values are multiplied by factors as it is used. */
@inline
export function isScaled(kind: u32): bool {
  return kind == ROW_KIND_SCALED_F32 || kind == ROW_KIND_SCALED_DENSE
}

/** Whether a row has u16 indices. */
@inline
export function isShort(row: usize): bool {
  const kind = load<u32>(row, ROW_KIND)
  return kind == ROW_KIND_SHORT_BINS8 || kind == ROW_KIND_SHORT_BINS16
}

/** Where the f64 values of n entries start: the next multiple of 8 after the indices. */
@inline
export function wideValues(entries: usize, n: u32): usize {
  return (entries + (usize(n) << 2) + 7) & ~7
}

/** Σ w_j x_j, scale included. */
@inline
export function dotRow<W>(row: usize, w: usize): f64 { return dotParted<W, f64>(row, w, w, 0) }

@inline
export function dotParted<W, S>(row: usize, w: usize, own: usize, hot: u32): f64 {
  const n = load<u32>(row, ROW_COUNT)
  const kind = load<u32>(row, ROW_KIND)
  let i = row + ROW_ENTRIES
  // Four sums hide the latency of the additions.
  let a: f64 = 0, b: f64 = 0, c: f64 = 0, d: f64 = 0
  if (kind == ROW_KIND_CONSTANT) {
    const end = i + (usize(n) << 2)
    const end4 = i + (usize(n & ~3) << 2)
    for (; i < end4; i += 16) {
      a += weight<W, S>(w, own, hot, load<u32>(i))
      b += weight<W, S>(w, own, hot, load<u32>(i, 4))
      c += weight<W, S>(w, own, hot, load<u32>(i, 8))
      d += weight<W, S>(w, own, hot, load<u32>(i, 12))
    }
    for (; i < end; i += 4) a += weight<W, S>(w, own, hot, load<u32>(i))
  } else if (kind == ROW_KIND_CODED) {
    const dictionary = <usize>load<u32>(row, ROW_DICTIONARY)
    const end = i + (usize(n) << 2)
    const end4 = i + (usize(n & ~3) << 2)
    let v = end
    for (; i < end4; i += 16, v += 4) {
      const codes = load<u32>(v)
      a += weight<W, S>(w, own, hot, load<u32>(i)) * f64(load<f32>(dictionary + ((codes & 0xff) << 2)))
      b += weight<W, S>(w, own, hot, load<u32>(i, 4)) * f64(load<f32>(dictionary + (((codes >> 8) & 0xff) << 2)))
      c += weight<W, S>(w, own, hot, load<u32>(i, 8)) * f64(load<f32>(dictionary + (((codes >> 16) & 0xff) << 2)))
      d += weight<W, S>(w, own, hot, load<u32>(i, 12)) * f64(load<f32>(dictionary + ((codes >> 24) << 2)))
    }
    for (; i < end; i += 4, v++) a += weight<W, S>(w, own, hot, load<u32>(i)) * f64(load<f32>(dictionary + (usize(load<u8>(v)) << 2)))
  } else if (kind == ROW_KIND_F32) {
    const end = i + (usize(n) << 2)
    const end4 = i + (usize(n & ~3) << 2)
    let v = end
    for (; i < end4; i += 16, v += 16) {
      a += weight<W, S>(w, own, hot, load<u32>(i)) * f64(load<f32>(v))
      b += weight<W, S>(w, own, hot, load<u32>(i, 4)) * f64(load<f32>(v, 4))
      c += weight<W, S>(w, own, hot, load<u32>(i, 8)) * f64(load<f32>(v, 8))
      d += weight<W, S>(w, own, hot, load<u32>(i, 12)) * f64(load<f32>(v, 12))
    }
    for (; i < end; i += 4, v += 4) a += weight<W, S>(w, own, hot, load<u32>(i)) * f64(load<f32>(v))
  } else if (kind == ROW_KIND_DENSE) {
    return denseDot<W>(i, n, own) * load<f64>(row, ROW_SCALE)
  } else if (kind != ROW_KIND_F64) {
    return isScaled(kind) ? dotScaled<W, S>(row, w, own, hot) : dotBinned<W>(row, w)
  } else {
    const end = i + (usize(n) << 2)
    let v = wideValues(i, n)
    for (; i < end; i += 4, v += 8) a += weight<W, S>(w, own, hot, load<u32>(i)) * load<f64>(v)
  }
  return (a + b + (c + d)) * load<f64>(row, ROW_SCALE)
}

@inline
export function denseDot<W>(values: usize, n: u32, w: usize): f64 {
  let lo = f64x2.splat(0), hi = f64x2.splat(0)
  const end4 = values + (usize(n & ~3) << 2)
  const end = values + (usize(n) << 2)
  let v = values
  let p = w
  if (sizeof<W>() == 8) {
    for (; v < end4; v += 16, p += 32) {
      const x = v128.load(v)
      lo = f64x2.add(lo, f64x2.mul(f64x2.promote_low_f32x4(x), v128.load(p)))
      hi = f64x2.add(hi, f64x2.mul(f64x2.promote_low_f32x4(i8x16.shuffle(x, x, 8, 9, 10, 11, 12, 13, 14, 15, 8, 9, 10, 11, 12, 13, 14, 15)), v128.load(p, 16)))
    }
  } else {
    for (; v < end4; v += 16, p += 16) {
      const x = f32x4.mul(v128.load(v), v128.load(p))
      lo = f64x2.add(lo, f64x2.promote_low_f32x4(x))
      hi = f64x2.add(hi, f64x2.promote_low_f32x4(i8x16.shuffle(x, x, 8, 9, 10, 11, 12, 13, 14, 15, 8, 9, 10, 11, 12, 13, 14, 15)))
    }
  }
  const both = f64x2.add(lo, hi)
  let sum = f64x2.extract_lane(both, 0) + f64x2.extract_lane(both, 1)
  for (; v < end; v += 4, p += sizeof<W>()) sum += f64(load<f32>(v)) * f64(load<W>(p))
  return sum
}

/** w += step · row. */
@inline
export function axpyRow<W>(row: usize, step: f64, w: usize): void { axpyParted<W, f64>(row, step, w, w, 0) }

@inline
export function axpyParted<W, S>(row: usize, step: f64, w: usize, own: usize, hot: u32): void {
  const n = load<u32>(row, ROW_COUNT)
  const kind = load<u32>(row, ROW_KIND)
  const s = step * load<f64>(row, ROW_SCALE)
  let i = row + ROW_ENTRIES
  const end = i + (usize(n) << 2)
  if (kind == ROW_KIND_CONSTANT) {
    for (; i < end; i += 4) addTo<W, S>(w, own, hot, load<u32>(i), s)
  } else if (kind == ROW_KIND_CODED) {
    const dictionary = <usize>load<u32>(row, ROW_DICTIONARY)
    let v = end
    for (; i < end; i += 4, v++) addTo<W, S>(w, own, hot, load<u32>(i), s * f64(load<f32>(dictionary + (usize(load<u8>(v)) << 2))))
  } else if (kind == ROW_KIND_F32) {
    let v = end
    for (; i < end; i += 4, v += 4) addTo<W, S>(w, own, hot, load<u32>(i), s * f64(load<f32>(v)))
  } else if (kind == ROW_KIND_DENSE) {
    denseAxpy<W>(i, n, s, own)
  } else if (kind != ROW_KIND_F64) {
    if (isScaled(kind)) axpyScaled<W, S>(row, step, w, own, hot)
    else axpyBinned<W>(row, step, w)
  } else {
    let v = wideValues(i, n)
    for (; i < end; i += 4, v += 8) addTo<W, S>(w, own, hot, load<u32>(i), s * load<f64>(v))
  }
}

@inline
export function denseAxpy<W>(values: usize, n: u32, s: f64, w: usize): void {
  const end4 = values + (usize(n & ~3) << 2)
  const end = values + (usize(n) << 2)
  let v = values
  let p = w
  if (sizeof<W>() == 8) {
    const step = f64x2.splat(s)
    for (; v < end4; v += 16, p += 32) {
      const x = v128.load(v)
      v128.store(p, f64x2.add(v128.load(p), f64x2.mul(f64x2.promote_low_f32x4(x), step)))
      v128.store(p, f64x2.add(v128.load(p, 16), f64x2.mul(f64x2.promote_low_f32x4(i8x16.shuffle(x, x, 8, 9, 10, 11, 12, 13, 14, 15, 8, 9, 10, 11, 12, 13, 14, 15)), step)), 16)
    }
  } else {
    const step = f32x4.splat(f32(s))
    for (; v < end4; v += 16, p += 16) v128.store(p, f32x4.add(v128.load(p), f32x4.mul(v128.load(v), step)))
  }
  for (; v < end; v += 4, p += sizeof<W>()) store<W>(p, <W>(f64(load<W>(p)) + f64(load<f32>(v)) * s))
}

export function dotF64(row: usize, w: usize): f64 { return dotRow<f64>(row, w) }
export function dotF32(row: usize, w: usize): f64 { return dotRow<f32>(row, w) }
export function axpyF64(row: usize, step: f64, w: usize): void { axpyRow<f64>(row, step, w) }
export function axpyF32(row: usize, step: f64, w: usize): void { axpyRow<f32>(row, step, w) }

/** Σ (scale · x_j)², recomputed from the entries. */
export function squaredNorm(row: usize): f64 {
  const n = load<u32>(row, ROW_COUNT)
  const kind = load<u32>(row, ROW_KIND)
  const scale = load<f64>(row, ROW_SCALE)
  const entries = row + ROW_ENTRIES
  let sum: f64 = 0
  if (kind == ROW_KIND_CONSTANT) {
    sum = f64(n)
  } else if (kind == ROW_KIND_CODED) {
    const dictionary = <usize>load<u32>(row, ROW_DICTIONARY)
    const codes = entries + (usize(n) << 2)
    for (let k: u32 = 0; k < n; k++) {
      const x = f64(load<f32>(dictionary + (usize(load<u8>(codes + k)) << 2)))
      sum += x * x
    }
  } else if (kind == ROW_KIND_F32 || kind == ROW_KIND_DENSE) {
    let v = kind == ROW_KIND_DENSE ? entries : entries + (usize(n) << 2)
    let lo = f64x2.splat(0), hi = f64x2.splat(0)
    for (const end4 = v + (usize(n & ~3) << 2); v < end4; v += 16) {
      const x = v128.load(v)
      const a = f64x2.promote_low_f32x4(x)
      const b = f64x2.promote_low_f32x4(i8x16.shuffle(x, x, 8, 9, 10, 11, 12, 13, 14, 15, 8, 9, 10, 11, 12, 13, 14, 15))
      lo = f64x2.add(lo, f64x2.mul(a, a))
      hi = f64x2.add(hi, f64x2.mul(b, b))
    }
    const both = f64x2.add(lo, hi)
    sum = f64x2.extract_lane(both, 0) + f64x2.extract_lane(both, 1)
    for (let k = n & ~3; k < n; k++, v += 4) {
      const x = f64(load<f32>(v))
      sum += x * x
    }
  } else if (kind != ROW_KIND_F64) {
    sum = isScaled(kind) ? squaresScaled(row, factorsOfRows()) : squaresBinned(row)
  } else {
    let v = wideValues(entries, n)
    for (const end = v + (usize(n) << 3); v < end; v += 8) {
      const x = load<f64>(v)
      sum += x * x
    }
  }
  return sum * scale * scale
}

// Squares of numbers beyond these are not to be trusted: they pass the largest number, or lose digits below the smallest.
const LEAST_SQUARES: f64 = 1e-280
const MOST_SQUARES: f64 = 1e280

/** Whether a sum of squares says how long a row is. */
@inline
export function isSound(squares: f64): bool {
  return squares >= LEAST_SQUARES && squares <= MOST_SQUARES
}

/** A power of two that brings a number above 0 near 1. */
@inline
export function towardsOne(size: f64): f64 {
  const exponent = min<u64>(max<u64>((reinterpret<u64>(size) >> 52) & 0x7ff, 1), 2045)
  return reinterpret<f64>((2046 - exponent) << 52)
}

/** Multiplies f64 values whose squares are beyond numbers by a power of two, in place: a row that ends unit length is the same. */
function bringNearOne(row: usize): void {
  const n = load<u32>(row, ROW_COUNT)
  const values = wideValues(row + ROW_ENTRIES, n)
  const end = values + (usize(n) << 3)
  let largest: f64 = 0
  for (let v = values; v < end; v += 8) largest = max(largest, abs(load<f64>(v)))
  if (largest == 0) return
  const factor = towardsOne(largest)
  for (let v = values; v < end; v += 8) store<f64>(v, load<f64>(v) * factor)
}

/** Notes the squared length of a row that has its entries and scale; makes it unit length if asked. */
export function finishRow(row: usize, unit: bool): void {
  finishBySquares(row, unit, squaredNorm(row))
}

@inline
export function finishBySquares(row: usize, unit: bool, squares: f64): void {
  if (unit && !isSound(squares) && load<u32>(row, ROW_KIND) == ROW_KIND_F64) {
    bringNearOne(row)
    squares = squaredNorm(row)
  }
  if (unit && squares > 0) {
    store<f64>(row, load<f64>(row, ROW_SCALE) / Math.sqrt(squares), ROW_SCALE)
    store<f64>(row, 1, ROW_NORM)
  } else {
    store<f64>(row, squares, ROW_NORM)
  }
}

/** Σ w_j² over count weights. */
export function squaredLengthF64(w: usize, count: u32): f64 { return squaredLength<f64>(w, count) }
export function squaredLengthF32(w: usize, count: u32): f64 { return squaredLength<f32>(w, count) }

@inline
function squaredLength<W>(w: usize, count: u32): f64 {
  let a: f64 = 0, b: f64 = 0
  const end2 = w + usize(count & ~1) * sizeof<W>()
  const end = w + usize(count) * sizeof<W>()
  for (; w < end2; w += 2 * sizeof<W>()) {
    const x = f64(load<W>(w))
    const y = f64(load<W>(w + sizeof<W>()))
    a += x * x
    b += y * y
  }
  for (; w < end; w += sizeof<W>()) {
    const x = f64(load<W>(w))
    a += x * x
  }
  return a + b
}

/** Copies the records of a table to an address, one after the other, and lists them in another table; where they end. */
export function copyRecords(table: usize, count: u32, to: usize, listed: usize): usize {
  for (let k: u32 = 0; k < count; k++) {
    const row = usize(load<u32>(table + (usize(k) << 2)))
    const bytes = recordBytes(row)
    memory.copy(to, row, bytes)
    store<u32>(listed + (usize(k) << 2), u32(to))
    to += bytes
  }
  return to
}

/** Bytes of a record, padding included, its dictionary not. Rows of a block have no dictionaries, so a record is one piece. */
export function recordBytes(row: usize): usize {
  const count = usize(load<u32>(row, ROW_COUNT))
  const kind = load<u32>(row, ROW_KIND)
  const per: usize = kind == ROW_KIND_CODED ? 5 : kind == ROW_KIND_CONSTANT || kind == ROW_KIND_DENSE || kind == ROW_KIND_SCALED_DENSE ? 4 : kind == ROW_KIND_F64 ? 12
    : kind == ROW_KIND_BINS8 ? 5 : kind == ROW_KIND_BINS16 ? 6 : kind == ROW_KIND_SHORT_BINS8 ? 3 : kind == ROW_KIND_SHORT_BINS16 ? 4 : kind == ROW_KIND_DENSE_BINS8 ? 1 : kind == ROW_KIND_DENSE_BINS16 ? 2 : 8
  return (usize(ROW_ENTRIES) + count * per + usize(kind == ROW_KIND_F64 ? 8 : 0) + 7) & ~7
}
