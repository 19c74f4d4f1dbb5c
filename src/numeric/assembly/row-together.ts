// Dot and axpy of a row where the weights of a feature for all classes stand together: a nonzero is read once for all of
// them, or once for every few.
import {
  ROW_COUNT, ROW_DICTIONARY, ROW_ENTRIES, ROW_KIND, ROW_KIND_CODED, ROW_KIND_CONSTANT, ROW_KIND_DENSE, ROW_KIND_F32,
  ROW_KIND_SCALED_DENSE, ROW_KIND_SCALED_F32, ROW_SCALE,
} from '../layouts'
import { wideValues } from './row'
import { factorsOfRows, scaledValue } from './scaled-row'

// V names a kind of row: bool constant, u8 coded, f32 and f64 with indices, u32 dense; i64 and i32 are f32 and u32 with factors,
// which stand where others have their dictionary.
@inline
function isFactored<V>(): bool {
  return isInteger<V>() && isSigned<V>()
}

@inline
function besides<V>(row: usize): usize {
  return isFactored<V>() ? factorsOfRows() : <usize>load<u32>(row, ROW_DICTIONARY)
}

@inline
function indexAt<V>(indices: usize, t: u32): usize {
  if (isInteger<V>() && sizeof<V>() == 4) return usize(t)
  return usize(load<u32>(indices + (usize(t) << 2)))
}

@inline
function valueAt<V>(indices: usize, values: usize, dictionary: usize, t: u32): f64 {
  if (isBoolean<V>()) return 1
  if (isFactored<V>()) return scaledValue(values + (usize(t) << 2), dictionary, u32(indexAt<V>(indices, t)))
  if (isFloat<V>()) return f64(load<V>(values + usize(t) * sizeof<V>()))
  if (sizeof<V>() == 4) return f64(load<f32>(values + (usize(t) << 2)))
  return f64(load<f32>(dictionary + (usize(load<u8>(values + usize(t))) << 2)))
}

/** Where the values of a row stand. */
@inline
function valuesOf<V>(entries: usize, n: u32): usize {
  if (isInteger<V>() && sizeof<V>() == 4) return entries
  if (isFloat<V>() && sizeof<V>() == 8) return wideValues(entries, n)
  return entries + (usize(n) << 2)
}

// N says how many classes a loop goes over at a time, two to a vector: u64 sixteen, u32 eight, u16 four, u8 two.

/** out[k] = Σ_j w[j, k] x_j for the first classes of those that are left. */
@inline
function scorePart<V, N>(n: u32, indices: usize, values: usize, dictionary: usize, scale: v128, w: usize, stride: usize, out: usize): void {
  let a = f64x2.splat(0), b = a, c = a, d = a, e = a, f = a, g = a, h = a
  for (let t: u32 = 0; t < n; t++) {
    const p = w + indexAt<V>(indices, t) * stride
    const x = f64x2.splat(valueAt<V>(indices, values, dictionary, t))
    a = f64x2.add(a, f64x2.mul(x, v128.load(p)))
    if (sizeof<N>() > 1) b = f64x2.add(b, f64x2.mul(x, v128.load(p, 16)))
    if (sizeof<N>() > 2) {
      c = f64x2.add(c, f64x2.mul(x, v128.load(p, 32)))
      d = f64x2.add(d, f64x2.mul(x, v128.load(p, 48)))
    }
    if (sizeof<N>() > 4) {
      e = f64x2.add(e, f64x2.mul(x, v128.load(p, 64)))
      f = f64x2.add(f, f64x2.mul(x, v128.load(p, 80)))
      g = f64x2.add(g, f64x2.mul(x, v128.load(p, 96)))
      h = f64x2.add(h, f64x2.mul(x, v128.load(p, 112)))
    }
  }
  v128.store(out, f64x2.mul(a, scale))
  if (sizeof<N>() > 1) v128.store(out, f64x2.mul(b, scale), 16)
  if (sizeof<N>() > 2) {
    v128.store(out, f64x2.mul(c, scale), 32)
    v128.store(out, f64x2.mul(d, scale), 48)
  }
  if (sizeof<N>() > 4) {
    v128.store(out, f64x2.mul(e, scale), 64)
    v128.store(out, f64x2.mul(f, scale), 80)
    v128.store(out, f64x2.mul(g, scale), 96)
    v128.store(out, f64x2.mul(h, scale), 112)
  }
}

/** out[k] = Σ_j w[j, k] x_j for every class. */
@inline
function scoreAll<V>(row: usize, w: usize, stride: usize, out: usize): void {
  const n = load<u32>(row, ROW_COUNT)
  const indices = row + ROW_ENTRIES
  const values = valuesOf<V>(indices, n)
  const dictionary = besides<V>(row)
  const scale = f64x2.splat(load<f64>(row, ROW_SCALE))
  let left = stride >> 4
  for (; left >= 8; left -= 8, w += 128, out += 128) scorePart<V, u64>(n, indices, values, dictionary, scale, w, stride, out)
  if (left & 4) {
    scorePart<V, u32>(n, indices, values, dictionary, scale, w, stride, out)
    w += 64
    out += 64
  }
  if (left & 2) {
    scorePart<V, u16>(n, indices, values, dictionary, scale, w, stride, out)
    w += 32
    out += 32
  }
  if (left & 1) scorePart<V, u8>(n, indices, values, dictionary, scale, w, stride, out)
}

/** out[p] = Σ_j w[j, list[p]] x_j for the listed classes, two at a time. */
@inline
function scoreListed<V>(row: usize, w: usize, stride: usize, list: usize, count: u32, out: usize): void {
  const n = load<u32>(row, ROW_COUNT)
  const indices = row + ROW_ENTRIES
  const values = valuesOf<V>(indices, n)
  const dictionary = besides<V>(row)
  const scale = load<f64>(row, ROW_SCALE)
  let p: u32 = 0
  for (; p + 1 < count; p += 2) {
    const first = w + (usize(load<u32>(list + (usize(p) << 2))) << 3)
    const second = w + (usize(load<u32>(list + (usize(p) << 2), 4)) << 3)
    let a: f64 = 0, b: f64 = 0
    for (let t: u32 = 0; t < n; t++) {
      const at = indexAt<V>(indices, t) * stride
      const x = valueAt<V>(indices, values, dictionary, t)
      a += x * load<f64>(first + at)
      b += x * load<f64>(second + at)
    }
    store<f64>(out + (usize(p) << 3), a * scale)
    store<f64>(out + (usize(p) << 3), b * scale, 8)
  }
  if (p < count) {
    const first = w + (usize(load<u32>(list + (usize(p) << 2))) << 3)
    let a: f64 = 0
    for (let t: u32 = 0; t < n; t++) a += valueAt<V>(indices, values, dictionary, t) * load<f64>(first + indexAt<V>(indices, t) * stride)
    store<f64>(out + (usize(p) << 3), a * scale)
  }
}

/** w[j, list[p]] += steps[p] x_j for the listed classes, two at a time. */
@inline
function addListed<V>(row: usize, w: usize, stride: usize, list: usize, count: u32, steps: usize): void {
  const n = load<u32>(row, ROW_COUNT)
  const indices = row + ROW_ENTRIES
  const values = valuesOf<V>(indices, n)
  const dictionary = besides<V>(row)
  const scale = load<f64>(row, ROW_SCALE)
  let p: u32 = 0
  for (; p + 1 < count; p += 2) {
    const first = w + (usize(load<u32>(list + (usize(p) << 2))) << 3)
    const second = w + (usize(load<u32>(list + (usize(p) << 2), 4)) << 3)
    const a = scale * load<f64>(steps + (usize(p) << 3))
    const b = scale * load<f64>(steps + (usize(p) << 3), 8)
    for (let t: u32 = 0; t < n; t++) {
      const at = indexAt<V>(indices, t) * stride
      const x = valueAt<V>(indices, values, dictionary, t)
      store<f64>(first + at, load<f64>(first + at) + x * a)
      store<f64>(second + at, load<f64>(second + at) + x * b)
    }
  }
  if (p < count) {
    const first = w + (usize(load<u32>(list + (usize(p) << 2))) << 3)
    const a = scale * load<f64>(steps + (usize(p) << 3))
    for (let t: u32 = 0; t < n; t++) {
      const at = first + indexAt<V>(indices, t) * stride
      store<f64>(at, load<f64>(at) + valueAt<V>(indices, values, dictionary, t) * a)
    }
  }
}

// One call a row from here on; the kind is asked once.

/** x_j, or its square, two times. */
@inline
function timesOf<V>(indices: usize, values: usize, dictionary: usize, t: u32, squared: bool): v128 {
  const x = valueAt<V>(indices, values, dictionary, t)
  return f64x2.splat(squared ? x * x : x)
}

/** to[j, k] += steps[k] x_j for the first classes of those that are left, or x_j² in place of x_j. */
@inline
function addPart<V, N>(n: u32, indices: usize, values: usize, dictionary: usize, factor: v128, to: usize, stride: usize, steps: usize, squared: bool): void {
  const a = f64x2.mul(factor, v128.load(steps))
  const b = sizeof<N>() > 1 ? f64x2.mul(factor, v128.load(steps, 16)) : a
  const c = sizeof<N>() > 2 ? f64x2.mul(factor, v128.load(steps, 32)) : a
  const d = sizeof<N>() > 2 ? f64x2.mul(factor, v128.load(steps, 48)) : a
  const e = sizeof<N>() > 4 ? f64x2.mul(factor, v128.load(steps, 64)) : a
  const f = sizeof<N>() > 4 ? f64x2.mul(factor, v128.load(steps, 80)) : a
  const g = sizeof<N>() > 4 ? f64x2.mul(factor, v128.load(steps, 96)) : a
  const h = sizeof<N>() > 4 ? f64x2.mul(factor, v128.load(steps, 112)) : a
  for (let t: u32 = 0; t < n; t++) {
    const p = to + indexAt<V>(indices, t) * stride
    const x = timesOf<V>(indices, values, dictionary, t, squared)
    v128.store(p, f64x2.add(v128.load(p), f64x2.mul(x, a)))
    if (sizeof<N>() > 1) v128.store(p, f64x2.add(v128.load(p, 16), f64x2.mul(x, b)), 16)
    if (sizeof<N>() > 2) {
      v128.store(p, f64x2.add(v128.load(p, 32), f64x2.mul(x, c)), 32)
      v128.store(p, f64x2.add(v128.load(p, 48), f64x2.mul(x, d)), 48)
    }
    if (sizeof<N>() > 4) {
      v128.store(p, f64x2.add(v128.load(p, 64), f64x2.mul(x, e)), 64)
      v128.store(p, f64x2.add(v128.load(p, 80), f64x2.mul(x, f)), 80)
      v128.store(p, f64x2.add(v128.load(p, 96), f64x2.mul(x, g)), 96)
      v128.store(p, f64x2.add(v128.load(p, 112), f64x2.mul(x, h)), 112)
    }
  }
}

/** to[j, k] += steps[k] x_j for every class, or x_j² in place of x_j. */
@inline
function addAll<V>(row: usize, to: usize, stride: usize, steps: usize, squared: bool): void {
  const n = load<u32>(row, ROW_COUNT)
  const indices = row + ROW_ENTRIES
  const values = valuesOf<V>(indices, n)
  const dictionary = besides<V>(row)
  const scale = load<f64>(row, ROW_SCALE)
  const factor = f64x2.splat(squared ? scale * scale : scale)
  let left = stride >> 4
  for (; left >= 8; left -= 8, to += 128, steps += 128) addPart<V, u64>(n, indices, values, dictionary, factor, to, stride, steps, squared)
  if (left & 4) {
    addPart<V, u32>(n, indices, values, dictionary, factor, to, stride, steps, squared)
    to += 64
    steps += 64
  }
  if (left & 2) {
    addPart<V, u16>(n, indices, values, dictionary, factor, to, stride, steps, squared)
    to += 32
    steps += 32
  }
  if (left & 1) addPart<V, u8>(n, indices, values, dictionary, factor, to, stride, steps, squared)
}

/** Scores of a row for all classes, the bias included; `out` has room for an even number of them. */
export function scoreTogether(row: usize, w: usize, stride: u32, biasWeights: usize, bias: f64, out: usize): void {
  const kind = load<u32>(row, ROW_KIND)
  if (kind == ROW_KIND_CONSTANT) scoreAll<bool>(row, w, stride, out)
  else if (kind == ROW_KIND_CODED) scoreAll<u8>(row, w, stride, out)
  else if (kind == ROW_KIND_F32) scoreAll<f32>(row, w, stride, out)
  else if (kind == ROW_KIND_DENSE) scoreAll<u32>(row, w, stride, out)
  else if (kind == ROW_KIND_SCALED_F32) scoreAll<i64>(row, w, stride, out)
  else if (kind == ROW_KIND_SCALED_DENSE) scoreAll<i32>(row, w, stride, out)
  else scoreAll<f64>(row, w, stride, out)
  if (bias == 0) return
  const b = f64x2.splat(bias)
  for (let at: usize = 0; at < usize(stride); at += 16) {
    v128.store(out + at, f64x2.add(v128.load(out + at), f64x2.mul(b, v128.load(biasWeights + at))))
  }
}

/** The same for the listed classes alone. */
export function scoreSome(row: usize, w: usize, stride: u32, biasWeights: usize, bias: f64, list: usize, count: u32, out: usize): void {
  const kind = load<u32>(row, ROW_KIND)
  if (kind == ROW_KIND_CONSTANT) scoreListed<bool>(row, w, stride, list, count, out)
  else if (kind == ROW_KIND_CODED) scoreListed<u8>(row, w, stride, list, count, out)
  else if (kind == ROW_KIND_F32) scoreListed<f32>(row, w, stride, list, count, out)
  else if (kind == ROW_KIND_DENSE) scoreListed<u32>(row, w, stride, list, count, out)
  else if (kind == ROW_KIND_SCALED_F32) scoreListed<i64>(row, w, stride, list, count, out)
  else if (kind == ROW_KIND_SCALED_DENSE) scoreListed<i32>(row, w, stride, list, count, out)
  else scoreListed<f64>(row, w, stride, list, count, out)
  if (bias == 0) return
  for (let p: u32 = 0; p < count; p++) {
    const at = out + (usize(p) << 3)
    store<f64>(at, load<f64>(at) + bias * load<f64>(biasWeights + (usize(load<u32>(list + (usize(p) << 2))) << 3)))
  }
}

/** Adds a row to the weights of the listed classes, each by its step. */
export function addSome(row: usize, w: usize, stride: u32, biasWeights: usize, bias: f64, list: usize, count: u32, steps: usize): void {
  const kind = load<u32>(row, ROW_KIND)
  if (kind == ROW_KIND_CONSTANT) addListed<bool>(row, w, stride, list, count, steps)
  else if (kind == ROW_KIND_CODED) addListed<u8>(row, w, stride, list, count, steps)
  else if (kind == ROW_KIND_F32) addListed<f32>(row, w, stride, list, count, steps)
  else if (kind == ROW_KIND_DENSE) addListed<u32>(row, w, stride, list, count, steps)
  else if (kind == ROW_KIND_SCALED_F32) addListed<i64>(row, w, stride, list, count, steps)
  else if (kind == ROW_KIND_SCALED_DENSE) addListed<i32>(row, w, stride, list, count, steps)
  else addListed<f64>(row, w, stride, list, count, steps)
  if (bias == 0) return
  for (let p: u32 = 0; p < count; p++) {
    const at = biasWeights + (usize(load<u32>(list + (usize(p) << 2))) << 3)
    store<f64>(at, load<f64>(at) + bias * load<f64>(steps + (usize(p) << 3)))
  }
}

/** Adds a row to the weights of every class, each by its step; or its squares. `biasTo` is where the bias has its weights.
 *  `steps` are an even number: that of a class too many is 0. */
@inline
function addTogether(row: usize, to: usize, stride: u32, biasTo: usize, bias: f64, steps: usize, squared: bool): void {
  const kind = load<u32>(row, ROW_KIND)
  if (kind == ROW_KIND_CONSTANT) addAll<bool>(row, to, stride, steps, squared)
  else if (kind == ROW_KIND_CODED) addAll<u8>(row, to, stride, steps, squared)
  else if (kind == ROW_KIND_F32) addAll<f32>(row, to, stride, steps, squared)
  else if (kind == ROW_KIND_DENSE) addAll<u32>(row, to, stride, steps, squared)
  else if (kind == ROW_KIND_SCALED_F32) addAll<i64>(row, to, stride, steps, squared)
  else if (kind == ROW_KIND_SCALED_DENSE) addAll<i32>(row, to, stride, steps, squared)
  else addAll<f64>(row, to, stride, steps, squared)
  if (bias == 0) return
  const b = f64x2.splat(squared ? bias * bias : bias)
  for (let at: usize = 0; at < usize(stride); at += 16) {
    v128.store(biasTo + at, f64x2.add(v128.load(biasTo + at), f64x2.mul(b, v128.load(steps + at))))
  }
}

export function addRowTogether(row: usize, to: usize, stride: u32, biasTo: usize, bias: f64, steps: usize): void {
  addTogether(row, to, stride, biasTo, bias, steps, false)
}

export function addSquaresTogether(row: usize, to: usize, stride: u32, biasTo: usize, bias: f64, steps: usize): void {
  addTogether(row, to, stride, biasTo, bias, steps, true)
}
