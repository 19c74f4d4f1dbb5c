// The sequential dual method for Crammer and Singer's problem, after Keerthi, Sundararajan, Chang, Hsieh, Lin (KDD 2008);
// the formulas are at the head of optimise/objectives/crammer-singer.ts. The weights of a feature for all classes stand together,
// so that a nonzero is read once for all of them, or once for every few.
//
// A visit of row i has s_k = w_kᵀx, G_k = s_k + [k ≠ y], b_k = C[k = y] − α_k (so b ≥ 0 and Σ b = C), A = ‖x‖² + B²:
//
//   b_k ← max(0, (G_k + A b_k − θ) / A),  θ such that Σ b = C;      w_k += (b_k before − b_k after) x
//
// θ is exact and found without sorting: of the classes still in question, θ = (Σ (G_k + A b_k) − A C) / count; those below
// it leave; again until none leaves (Michelot 1986). A class with b_k = 0 whose G_k lies below all G of classes with b > 0,
// by more than the largest violation of the last sweep, is shrunk for that row; a row of which one class is left is shrunk.
import {
  TOGETHER_ALPHA, TOGETHER_BIAS, TOGETHER_BIAS_WEIGHTS, TOGETHER_CLASSES, TOGETHER_PLACES, TOGETHER_ROWS,
  TOGETHER_SCRATCH, TOGETHER_SHRUNK, TOGETHER_STRIDE, TOGETHER_WEIGHTS, TOGETHER_WORDS,
} from '../crammer-singer-layout'
import {
  ROW_CLASS, ROW_COUNT, ROW_DICTIONARY, ROW_ENTRIES, ROW_KIND, ROW_KIND_CODED, ROW_KIND_CONSTANT, ROW_KIND_DENSE,
  ROW_KIND_F32, ROW_KIND_SCALED_DENSE, ROW_KIND_SCALED_F32, ROW_NORM, ROW_SCALE, SUMS_ALPHA_MARGIN, SUMS_CORRECT, SUMS_DUAL, SUMS_LOSS, SUMS_SUPPORT, SWEEP_ACTIVE,
  SWEEP_CURSOR, SWEEP_GAP, SWEEP_GRADIENT_MAX, SWEEP_GRADIENT_MIN, SWEEP_LOSS, SWEEP_ORDER, SWEEP_SHRINK, SWEEP_UPPER,
  SWEEP_VISITED,
} from '../layouts'
import { AHEAD, bringLast, bringRows } from './ahead'
import { wideValues } from './row'
import { costsTogether, rowCostTogether, rowWeightsTogether } from './row-costs'
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

/** out[k] = Σ_j w[j, k] x_j for every class, two to a vector and up to 16 at a time. */
@inline
function scoreAll<V>(row: usize, w: usize, stride: usize, out: usize): void {
  const n = load<u32>(row, ROW_COUNT)
  const indices = row + ROW_ENTRIES
  const values = valuesOf<V>(indices, n)
  const dictionary = besides<V>(row)
  const scale = f64x2.splat(load<f64>(row, ROW_SCALE))
  let left = stride >> 4
  while (left >= 8) {
    let a = f64x2.splat(0), b = a, c = a, d = a, e = a, f = a, g = a, h = a
    for (let t: u32 = 0; t < n; t++) {
      const p = w + indexAt<V>(indices, t) * stride
      const x = f64x2.splat(valueAt<V>(indices, values, dictionary, t))
      a = f64x2.add(a, f64x2.mul(x, v128.load(p)))
      b = f64x2.add(b, f64x2.mul(x, v128.load(p, 16)))
      c = f64x2.add(c, f64x2.mul(x, v128.load(p, 32)))
      d = f64x2.add(d, f64x2.mul(x, v128.load(p, 48)))
      e = f64x2.add(e, f64x2.mul(x, v128.load(p, 64)))
      f = f64x2.add(f, f64x2.mul(x, v128.load(p, 80)))
      g = f64x2.add(g, f64x2.mul(x, v128.load(p, 96)))
      h = f64x2.add(h, f64x2.mul(x, v128.load(p, 112)))
    }
    v128.store(out, f64x2.mul(a, scale))
    v128.store(out, f64x2.mul(b, scale), 16)
    v128.store(out, f64x2.mul(c, scale), 32)
    v128.store(out, f64x2.mul(d, scale), 48)
    v128.store(out, f64x2.mul(e, scale), 64)
    v128.store(out, f64x2.mul(f, scale), 80)
    v128.store(out, f64x2.mul(g, scale), 96)
    v128.store(out, f64x2.mul(h, scale), 112)
    left -= 8
    w += 128
    out += 128
  }
  if (left & 4) {
    let a = f64x2.splat(0), b = a, c = a, d = a
    for (let t: u32 = 0; t < n; t++) {
      const p = w + indexAt<V>(indices, t) * stride
      const x = f64x2.splat(valueAt<V>(indices, values, dictionary, t))
      a = f64x2.add(a, f64x2.mul(x, v128.load(p)))
      b = f64x2.add(b, f64x2.mul(x, v128.load(p, 16)))
      c = f64x2.add(c, f64x2.mul(x, v128.load(p, 32)))
      d = f64x2.add(d, f64x2.mul(x, v128.load(p, 48)))
    }
    v128.store(out, f64x2.mul(a, scale))
    v128.store(out, f64x2.mul(b, scale), 16)
    v128.store(out, f64x2.mul(c, scale), 32)
    v128.store(out, f64x2.mul(d, scale), 48)
    w += 64
    out += 64
  }
  if (left & 2) {
    let a = f64x2.splat(0), b = a
    for (let t: u32 = 0; t < n; t++) {
      const p = w + indexAt<V>(indices, t) * stride
      const x = f64x2.splat(valueAt<V>(indices, values, dictionary, t))
      a = f64x2.add(a, f64x2.mul(x, v128.load(p)))
      b = f64x2.add(b, f64x2.mul(x, v128.load(p, 16)))
    }
    v128.store(out, f64x2.mul(a, scale))
    v128.store(out, f64x2.mul(b, scale), 16)
    w += 32
    out += 32
  }
  if (left & 1) {
    let a = f64x2.splat(0)
    for (let t: u32 = 0; t < n; t++) {
      const p = w + indexAt<V>(indices, t) * stride
      a = f64x2.add(a, f64x2.mul(f64x2.splat(valueAt<V>(indices, values, dictionary, t)), v128.load(p)))
    }
    v128.store(out, f64x2.mul(a, scale))
  }
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

/** The row's subproblem: values[p] = G + A b in, b out, so that b ≥ 0, Σ b = cost and A b² / 2 − values·b is least.
 *  `scratch` has room for `count` u32. */
export function solveSimplex(values: usize, count: u32, curvature: f64, cost: f64, scratch: usize): void {
  let highest = load<f64>(values)
  for (let p: u32 = 1; p < count; p++) highest = max(highest, load<f64>(values + (usize(p) << 3)))
  // Reckoned from the highest, θ stays below it whatever is rounded, and classes so far down cannot be in question.
  const mass = curvature * cost
  let left: u32 = 0
  let sum: f64 = 0
  for (let p: u32 = 0; p < count; p++) {
    const d = load<f64>(values + (usize(p) << 3)) - highest
    store<f64>(values + (usize(p) << 3), d)
    if (d <= -mass) continue
    store<u32>(scratch + (usize(left) << 2), p)
    sum += d
    left++
  }
  let theta = (sum - mass) / f64(left)
  for (;;) {
    let kept: u32 = 0
    sum = 0
    for (let q: u32 = 0; q < left; q++) {
      const p = load<u32>(scratch + (usize(q) << 2))
      const d = load<f64>(values + (usize(p) << 3))
      if (d <= theta) continue
      store<u32>(scratch + (usize(kept) << 2), p)
      sum += d
      kept++
    }
    if (kept == left) break
    left = kept
    theta = (sum - mass) / f64(left)
  }
  const inverse = 1 / curvature
  for (let p: u32 = 0; p < count; p++) {
    const at = values + (usize(p) << 3)
    const d = load<f64>(at)
    // A class that is left alone has all of it, to the bit.
    store<f64>(at, d <= theta ? 0 : left == 1 ? cost : min((d - theta) * inverse, cost))
  }
}

/** Visits rows until the sweep is done or about `budget` nonzeros have been seen; true when it is done. */
export function sweepTogether(problem: usize, sweep: usize, budget: f64): bool {
  const rows = <usize>load<u32>(problem, TOGETHER_ROWS)
  const classes = load<u32>(problem, TOGETHER_CLASSES)
  const stride = load<u32>(problem, TOGETHER_STRIDE)
  const w = <usize>load<u32>(problem, TOGETHER_WEIGHTS)
  const biasWeights = <usize>load<u32>(problem, TOGETHER_BIAS_WEIGHTS)
  const alpha = <usize>load<u32>(problem, TOGETHER_ALPHA)
  const places = <usize>load<u32>(problem, TOGETHER_PLACES)
  const costs = costsTogether(problem)
  const rowWeights = rowWeightsTogether(problem)
  const shrunk = <usize>load<u32>(problem, TOGETHER_SHRUNK)
  const words = load<u32>(problem, TOGETHER_WORDS)
  const bias = load<f64>(problem, TOGETHER_BIAS)
  const scores = <usize>load<u32>(problem, TOGETHER_SCRATCH)
  const values = scores + usize(stride)
  const steps = values + usize(stride)
  const list = steps + usize(stride)
  const moving = list + (usize(stride) >> 1)
  const order = <usize>load<u32>(sweep, SWEEP_ORDER)
  const shrink = load<u32>(sweep, SWEEP_SHRINK) != 0
  const distance = load<f64>(sweep, SWEEP_UPPER)
  let active = load<u32>(sweep, SWEEP_ACTIVE)
  let cursor = load<u32>(sweep, SWEEP_CURSOR)
  let worst = load<f64>(sweep, SWEEP_GRADIENT_MAX)
  let lossSum = load<f64>(sweep, SWEEP_LOSS)
  let gapSum = load<f64>(sweep, SWEEP_GAP)
  let visited: f64 = 0

  let loaded = cursor
  let lastLoaded = active
  while (cursor < active && visited < budget) {
    if (cursor == loaded) {
      loaded = min(cursor + AHEAD, active)
      bringRows(rows, order, cursor, loaded, alpha, usize(classes) << 3)
    }
    const i = load<u32>(order + (usize(cursor) << 2))
    const row = <usize>load<u32>(rows + (usize(i) << 2))
    const y = load<u32>(places + (usize(load<u32>(row, ROW_CLASS)) << 2))
    const cost = rowCostTogether(y, costs, rowWeights, i)
    const curvature = load<f64>(row, ROW_NORM) + bias * bias
    const alphas = alpha + usize(i) * (usize(classes) << 3)
    const bits = shrunk + usize(i) * (usize(words) << 3)
    visited += f64(load<u32>(row, ROW_COUNT)) + 4

    let count: u32 = classes
    for (let q: u32 = 0; q < words; q++) count -= u32(popcnt(load<u64>(bits + (usize(q) << 3))))
    // Single classes cost more each than classes side by side.
    if (count * 3 <= classes) {
      let p: u32 = 0
      for (let q: u32 = 0; q < words; q++) {
        let word = ~load<u64>(bits + (usize(q) << 3))
        if (q + 1 == words && (classes & 63) != 0) word &= ((<u64>1) << u64(classes & 63)) - 1
        for (; word != 0; word &= word - 1, p++) store<u32>(list + (usize(p) << 2), (q << 6) + u32(ctz(word)))
      }
      scoreSome(row, w, stride, biasWeights, bias, list, count, scores)
    } else {
      count = classes
      for (let k: u32 = 0; k < classes; k++) store<u32>(list + (usize(k) << 2), k)
      scoreTogether(row, w, stride, biasWeights, bias, scores)
    }

    // G, b and what they say of the row; G + A b for the subproblem.
    let highest = -Infinity, lowest = Infinity, own: f64 = 0, weighted: f64 = 0
    let support: u32 = 0
    for (let p: u32 = 0; p < count; p++) {
      const k = load<u32>(list + (usize(p) << 2))
      const score = load<f64>(scores + (usize(p) << 3))
      const g = k == y ? score : score + 1
      const b = (k == y ? cost : 0) - load<f64>(alphas + (usize(k) << 3))
      store<f64>(scores + (usize(p) << 3), g)
      store<f64>(values + (usize(p) << 3), g + curvature * b)
      highest = max(highest, g)
      if (k == y) own = g
      if (b > 0) {
        lowest = min(lowest, g)
        weighted += b * g
        support++
      }
    }
    const violation = highest - lowest
    lossSum += cost * (highest - own)
    gapSum += max(0, cost * highest - weighted)
    worst = max(worst, violation)

    if (shrink) {
      // The row's own class stays, for the loss.
      const below = lowest - distance
      let near: u32 = 0
      for (let p: u32 = 0; p < count; p++) {
        if (load<f64>(scores + (usize(p) << 3)) >= below) { near++; continue }
        const k = load<u32>(list + (usize(p) << 2))
        if (k == y || load<f64>(alphas + (usize(k) << 3)) != 0) continue
        const word = bits + (usize(k >> 6) << 3)
        store<u64>(word, load<u64>(word) | ((<u64>1) << u64(k & 63)))
      }
      if (near == 1 && support == 1) {
        if (active == lastLoaded) lastLoaded = bringLast(rows, order, cursor, active, alpha, usize(classes) << 3)
        active--
        const last = order + (usize(active) << 2)
        store<u32>(order + (usize(cursor) << 2), load<u32>(last))
        store<u32>(last, i)
        continue
      }
    }

    if (violation > 1e-12) {
      if (curvature > 0) solveSimplex(values, count, curvature, cost, moving)
      else {
        // A row without entries moves no weights: any class that is not its own may have it all.
        let given = false
        for (let p: u32 = 0; p < count; p++) {
          const all = !given && load<f64>(scores + (usize(p) << 3)) == highest
          store<f64>(values + (usize(p) << 3), all ? cost : 0)
          given = given || all
        }
      }
      let moved: u32 = 0
      for (let p: u32 = 0; p < count; p++) {
        const k = load<u32>(list + (usize(p) << 2))
        const at = alphas + (usize(k) << 3)
        const before = load<f64>(at)
        const after = (k == y ? cost : 0) - load<f64>(values + (usize(p) << 3))
        if (after == before) continue
        store<f64>(at, after)
        store<u32>(moving + (usize(moved) << 2), k)
        store<f64>(steps + (usize(moved) << 3), after - before)
        moved++
      }
      if (curvature > 0) addSome(row, w, stride, biasWeights, bias, moving, moved, steps)
    }
    cursor++
  }

  store<u32>(sweep, active, SWEEP_ACTIVE)
  store<u32>(sweep, cursor, SWEEP_CURSOR)
  store<f64>(sweep, worst, SWEEP_GRADIENT_MAX)
  store<f64>(sweep, 0, SWEEP_GRADIENT_MIN)
  store<f64>(sweep, lossSum, SWEEP_LOSS)
  store<f64>(sweep, gapSum, SWEEP_GAP)
  store<f64>(sweep, load<f64>(sweep, SWEEP_VISITED) + visited, SWEEP_VISITED)
  return cursor >= active
}

/** The sums of the certificate over rows from..to. `scores` has room for an even number of classes. */
export function evaluateTogether(problem: usize, from: u32, to: u32, scores: usize, sums: usize): void {
  const rows = <usize>load<u32>(problem, TOGETHER_ROWS)
  const classes = load<u32>(problem, TOGETHER_CLASSES)
  const stride = load<u32>(problem, TOGETHER_STRIDE)
  const w = <usize>load<u32>(problem, TOGETHER_WEIGHTS)
  const biasWeights = <usize>load<u32>(problem, TOGETHER_BIAS_WEIGHTS)
  const alpha = <usize>load<u32>(problem, TOGETHER_ALPHA)
  const places = <usize>load<u32>(problem, TOGETHER_PLACES)
  const costs = costsTogether(problem)
  const rowWeights = rowWeightsTogether(problem)
  const bias = load<f64>(problem, TOGETHER_BIAS)
  let lossSum: f64 = 0, dualSum: f64 = 0, alphaScore: f64 = 0, correct: f64 = 0, support: f64 = 0
  for (let i = from; i < to; i++) {
    const row = <usize>load<u32>(rows + (usize(i) << 2))
    const y = load<u32>(places + (usize(load<u32>(row, ROW_CLASS)) << 2))
    const alphas = alpha + usize(i) * (usize(classes) << 3)
    scoreTogether(row, w, stride, biasWeights, bias, scores)
    const own = load<f64>(scores + (usize(y) << 3))
    let highest = own
    let best: u32 = 0
    for (let k: u32 = 0; k < classes; k++) {
      const score = load<f64>(scores + (usize(k) << 3))
      alphaScore += load<f64>(alphas + (usize(k) << 3)) * score
      if (k != y) highest = max(highest, score + 1)
      if (score > load<f64>(scores + (usize(best) << 3))) best = k
    }
    // Two classes: the model asks for a score above 0.
    if (classes == 2) best = load<f64>(scores) > 0 ? 0 : 1
    const mine = load<f64>(alphas + (usize(y) << 3))
    lossSum += rowCostTogether(y, costs, rowWeights, i) * (highest - own)
    dualSum += mine
    if (mine > 0) support += 1
    if (best == y) correct += 1
  }
  store<f64>(sums, lossSum, SUMS_LOSS)
  store<f64>(sums, dualSum, SUMS_DUAL)
  store<f64>(sums, alphaScore, SUMS_ALPHA_MARGIN)
  store<f64>(sums, correct, SUMS_CORRECT)
  store<f64>(sums, support, SUMS_SUPPORT)
}

/** w_k += Σ α_k x over rows from..to: what a run starts from when it is given dual variables. */
export function addDualTogether(problem: usize, from: u32, to: u32): void {
  const rows = <usize>load<u32>(problem, TOGETHER_ROWS)
  const classes = load<u32>(problem, TOGETHER_CLASSES)
  const stride = load<u32>(problem, TOGETHER_STRIDE)
  const w = <usize>load<u32>(problem, TOGETHER_WEIGHTS)
  const biasWeights = <usize>load<u32>(problem, TOGETHER_BIAS_WEIGHTS)
  const alpha = <usize>load<u32>(problem, TOGETHER_ALPHA)
  const bias = load<f64>(problem, TOGETHER_BIAS)
  const steps = <usize>load<u32>(problem, TOGETHER_SCRATCH)
  const list = steps + usize(stride)
  for (let i = from; i < to; i++) {
    const row = <usize>load<u32>(rows + (usize(i) << 2))
    const alphas = alpha + usize(i) * (usize(classes) << 3)
    let count: u32 = 0
    for (let k: u32 = 0; k < classes; k++) {
      const a = load<f64>(alphas + (usize(k) << 3))
      if (a == 0) continue
      store<u32>(list + (usize(count) << 2), k)
      store<f64>(steps + (usize(count) << 3), a)
      count++
    }
    if (count > 0) addSome(row, w, stride, biasWeights, bias, list, count, steps)
  }
}
