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
//
// Over ranks, each sweeps over its own rows, and others move w as well: a damping σ makes A σ times as large, and w moves σ times as far.
import {
  TOGETHER_ALPHA, TOGETHER_BIAS, TOGETHER_BIAS_WEIGHTS, TOGETHER_CLASSES, TOGETHER_DAMPING, TOGETHER_PLACES, TOGETHER_ROWS,
  TOGETHER_SCRATCH, TOGETHER_SHRUNK, TOGETHER_STRIDE, TOGETHER_WEIGHTS, TOGETHER_WORDS,
} from '../crammer-singer-layout'
import {
  ROW_CLASS, ROW_COUNT, ROW_NORM, SUMS_ALPHA_MARGIN, SUMS_CORRECT, SUMS_DUAL, SUMS_LOSS, SUMS_SUPPORT, SWEEP_ACTIVE,
  SWEEP_CURSOR, SWEEP_GAP, SWEEP_GRADIENT_MAX, SWEEP_GRADIENT_MIN, SWEEP_LOSS, SWEEP_ORDER, SWEEP_SHRINK, SWEEP_UPPER,
  SWEEP_VISITED,
} from '../layouts'
import { bringLast, bringNext } from './ahead'
import { swap } from './order'
import { costsTogether, rowCostTogether, rowWeightsTogether } from './row-costs'
import { addSome, scoreSome, scoreTogether } from './row-together'

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
  const damping = load<f64>(problem, TOGETHER_DAMPING)
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
    loaded = bringNext(rows, order, cursor, loaded, active, alpha, usize(classes) << 3)
    const i = load<u32>(order + (usize(cursor) << 2))
    const row = <usize>load<u32>(rows + (usize(i) << 2))
    const y = load<u32>(places + (usize(load<u32>(row, ROW_CLASS)) << 2))
    const cost = rowCostTogether(y, costs, rowWeights, i)
    const curvature = damping * (load<f64>(row, ROW_NORM) + bias * bias)
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
        lastLoaded = bringLast(rows, order, cursor, active, lastLoaded, alpha, usize(classes) << 3)
        swap(order, cursor, --active)
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
        store<f64>(steps + (usize(moved) << 3), damping * (after - before))
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

/** Adds to three f64, over rows from..to: the separable part of the dual at the dual variables before, at those now, and its slope from
 *  the first to the second. `before`: of row 0 on. */
export function stepSumsTogether(problem: usize, from: u32, to: u32, before: usize, sums: usize): void {
  const rows = <usize>load<u32>(problem, TOGETHER_ROWS)
  const classes = load<u32>(problem, TOGETHER_CLASSES)
  const alpha = <usize>load<u32>(problem, TOGETHER_ALPHA)
  const places = <usize>load<u32>(problem, TOGETHER_PLACES)
  let first: f64 = 0, last: f64 = 0
  for (let i = from; i < to; i++) {
    const y = load<u32>(places + (usize(load<u32>(<usize>load<u32>(rows + (usize(i) << 2)), ROW_CLASS)) << 2))
    const own = (usize(i) * usize(classes) + usize(y)) << 3
    first += load<f64>(before + own)
    last += load<f64>(alpha + own)
  }
  store<f64>(sums, load<f64>(sums) + first)
  store<f64>(sums, load<f64>(sums, 8) + last, 8)
  store<f64>(sums, load<f64>(sums, 16) + last - first, 16)
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
