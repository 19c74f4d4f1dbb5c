// Dual coordinate descent for up to eight models at once: the row is read once, one gather of a feature brings the weights
// of all models, and SIMD runs across them (lanes.ts). Each model is what dual.ts solves alone; what they share is the order
// of rows.
import {
  BUNDLE_ACTIVE, BUNDLE_ALPHA, BUNDLE_BIAS, BUNDLE_BIAS_FEATURE, BUNDLE_COLUMN,
  BUNDLE_DOTS, BUNDLE_FOLDS, BUNDLE_GAP, BUNDLE_GRADIENT_MAX,
  BUNDLE_GRADIENT_MIN, BUNDLE_HELD_OUT, BUNDLE_LOGISTIC, BUNDLE_LOSS, BUNDLE_LOWER, BUNDLE_MODELS, BUNDLE_POSITIVE,
  BUNDLE_ROWS, BUNDLE_STEPS, BUNDLE_UPPER, BUNDLE_WEIGHTS, BUNDLE_WORTH,
} from '../bundle-layout'
import {
  ROW_CLASS, ROW_COUNT, ROW_NORM, SWEEP_ACTIVE, SWEEP_CURSOR, SWEEP_INNER, SWEEP_NEWTON, SWEEP_ORDER, SWEEP_SHRINK,
  SWEEP_VISITED,
} from '../layouts'
import { bringLast, bringNext } from './ahead'
import { axpyLanes, at, dotLanes, shift } from './lanes'
import { boxLoss, logisticLoss, negativeEntropy } from './losses'
import { swap } from './order'
import { laneBound, laneDiagonal, rowWeightsOfBundle } from './row-costs'

const SUMS = 5

/** Visits rows until the sweep is done or about `budget` nonzeros have been seen; true when it is done. */
export function sweepBundle2(bundle: usize, sweep: usize, budget: f64): bool { return sweepBundle<u8>(bundle, sweep, budget) }
export function sweepBundle4(bundle: usize, sweep: usize, budget: f64): bool { return sweepBundle<u16>(bundle, sweep, budget) }
export function sweepBundle8(bundle: usize, sweep: usize, budget: f64): bool { return sweepBundle<u32>(bundle, sweep, budget) }

@inline
function sweepBundle<S>(bundle: usize, sweep: usize, budget: f64): bool {
  const rows = <usize>load<u32>(bundle, BUNDLE_ROWS)
  const alpha = <usize>load<u32>(bundle, BUNDLE_ALPHA)
  const w = <usize>load<u32>(bundle, BUNDLE_WEIGHTS)
  const logistic = load<u32>(bundle, BUNDLE_LOGISTIC) != 0
  const models = load<u32>(bundle, BUNDLE_MODELS)
  const trained = load<u32>(bundle, BUNDLE_ACTIVE)
  const folds = <usize>load<u32>(bundle, BUNDLE_FOLDS)
  const bias = load<f64>(bundle, BUNDLE_BIAS)
  const biasAt = at<S>(w, load<u32>(bundle, BUNDLE_BIAS_FEATURE))
  const rowShift = shift<S>() + (logistic ? 1 : 0)
  const dots = bundle + BUNDLE_DOTS
  const steps = bundle + BUNDLE_STEPS
  const rowWeights = rowWeightsOfBundle(bundle)
  const worths = <usize>load<u32>(bundle, BUNDLE_WORTH)
  const order = <usize>load<u32>(sweep, SWEEP_ORDER)
  const shrink = load<u32>(sweep, SWEEP_SHRINK) != 0
  const inner = load<f64>(sweep, SWEEP_INNER)
  let newton = load<f64>(sweep, SWEEP_NEWTON)
  let active = load<u32>(sweep, SWEEP_ACTIVE)
  let cursor = load<u32>(sweep, SWEEP_CURSOR)
  let visited: f64 = 0

  let loaded = cursor
  let lastLoaded = active
  while (cursor < active && visited < budget) {
    loaded = bringNext(rows, order, cursor, loaded, active, alpha, usize(1) << rowShift)
    const i = load<u32>(order + (usize(cursor) << 2))
    const row = <usize>load<u32>(rows + (usize(i) << 2))
    visited += f64(load<u32>(row, ROW_COUNT)) + 4
    dotLanes<S>(row, w, dots)
    const itsClass = load<u32>(row, ROW_CLASS)
    const fold: u32 = folds == 0 ? 0xfffffffe : u32(load<u8>(folds + usize(i)))
    const norm = load<f64>(row, ROW_NORM) + bias * bias
    let alphaAt = alpha + (usize(i) << rowShift)
    let moves = false
    let needed = false
    let worth: f64 = 0
    let lane = bundle
    for (let k: u32 = 0; k < models; k++, lane += 8, alphaAt += 8) {
      store<f64>(lane, 0, BUNDLE_STEPS)
      if (((trained >> k) & 1) == 0 || load<u32>(bundle + (usize(k) << 2), BUNDLE_HELD_OUT) == fold) continue
      const isPositive = load<u32>(bundle + (usize(k) << 2), BUNDLE_POSITIVE) == itsClass
      const y: f64 = isPositive ? 1 : -1
      const bound = laneBound(isPositive, lane, rowWeights, i)
      let dot = load<f64>(lane, BUNDLE_DOTS)
      if (bias != 0) dot += bias * load<f64>(biasAt + (usize(k) << 3))
      const margin = y * dot
      const a = load<f64>(alphaAt)
      if (logistic) {
        const restAt = alphaAt + (usize(1) << shift<S>())
        const rest = load<f64>(restAt)
        const loss = bound * logisticLoss(margin)
        store<f64>(lane, load<f64>(lane, BUNDLE_LOSS) + loss, BUNDLE_LOSS)
        store<f64>(lane, load<f64>(lane, BUNDLE_GAP) + loss - negativeEntropy(a, rest, bound) + a * margin, BUNDLE_GAP)
        // As in dual.ts: on whichever of α and C − α will be smaller.
        const flip = 0.5 * norm * (rest - a) + margin < 0
        const sign: f64 = flip ? -1 : 1
        const old = flip ? rest : a
        let z = old
        if (bound - z < 0.5 * bound) z *= 0.1
        let derivative = norm * (z - old) + sign * margin + Math.log(z / (bound - z))
        store<f64>(lane, max(load<f64>(lane, BUNDLE_GRADIENT_MAX), abs(derivative)), BUNDLE_GRADIENT_MAX)
        let turns = 0
        while (turns < 100 && abs(derivative) >= inner) {
          const second = norm + bound / ((bound - z) * z)
          const next = z - derivative / second
          z = next <= 0 ? z * 0.1 : next
          derivative = norm * (z - old) + sign * margin + Math.log(z / (bound - z))
          turns++
        }
        newton += turns
        needed = true
        worth += 4 * (a / bound) * (rest / bound)
        if (turns == 0) continue
        store<f64>(alphaAt, flip ? bound - z : z)
        store<f64>(restAt, flip ? z : bound - z)
        store<f64>(lane, sign * (z - old) * y, BUNDLE_STEPS)
        moves = true
        continue
      }
      const diagonal = laneDiagonal(isPositive, lane, rowWeights, i)
      const gradient = margin - 1 + diagonal * a
      const loss = boxLoss(1 - margin, bound, diagonal)
      store<f64>(lane, load<f64>(lane, BUNDLE_LOSS) + loss, BUNDLE_LOSS)
      store<f64>(lane, load<f64>(lane, BUNDLE_GAP) + loss - a * (1 - margin) + 0.5 * diagonal * a * a, BUNDLE_GAP)
      if (worths) worth += worthOf(a, bound, gradient)
      let projected: f64 = gradient
      if (a == 0) {
        if (gradient > load<f64>(lane, BUNDLE_UPPER)) continue
        projected = min(gradient, 0)
      } else if (a == bound) {
        if (gradient < load<f64>(lane, BUNDLE_LOWER)) continue
        projected = max(gradient, 0)
      }
      needed = true
      store<f64>(lane, max(load<f64>(lane, BUNDLE_GRADIENT_MAX), projected), BUNDLE_GRADIENT_MAX)
      store<f64>(lane, min(load<f64>(lane, BUNDLE_GRADIENT_MIN), projected), BUNDLE_GRADIENT_MIN)
      if (abs(projected) <= 1e-12) continue
      const curvature = norm + diagonal
      const next = curvature > 0 ? min(max(a - gradient / curvature, 0), bound) : (gradient < 0 ? bound : 0)
      if (next == a) continue
      store<f64>(alphaAt, next)
      store<f64>(lane, (next - a) * y, BUNDLE_STEPS)
      moves = true
    }
    if (worths) store<f64>(worths + (usize(i) << 3), worth)
    if (shrink && !needed) {
      lastLoaded = bringLast(rows, order, cursor, active, lastLoaded, alpha, usize(1) << rowShift)
      swap(order, cursor, --active)
      continue
    }
    if (moves) {
      axpyLanes<S>(row, steps, w)
      if (bias != 0) {
        for (let k: usize = 0; k < usize(models) << 3; k += 8) store<f64>(biasAt + k, load<f64>(biasAt + k) + bias * load<f64>(steps + k))
      }
    }
    cursor++
  }

  store<u32>(sweep, active, SWEEP_ACTIVE)
  store<u32>(sweep, cursor, SWEEP_CURSOR)
  store<f64>(sweep, newton, SWEEP_NEWTON)
  store<f64>(sweep, load<f64>(sweep, SWEEP_VISITED) + visited, SWEEP_VISITED)
  return cursor >= active
}

/** What a row is worth to a model: one whose dual variable can move as much as any, others by how near they are to that. */
@inline
function worthOf(a: f64, bound: f64, gradient: f64): f64 {
  if ((a > 0 && a < bound) || (a == 0 && gradient < 0) || (a == bound && gradient > 0)) return 1
  return 0.5 / (1 + 16 * gradient * gradient)
}

/** The sums of the certificate over rows from..to, in the order of the SUMS_ layout, eight of each: held-out rows count for
 *  nothing. */
export function evaluateBundle2(bundle: usize, from: u32, to: u32, sums: usize): void { evaluateBundle<u8>(bundle, from, to, sums) }
export function evaluateBundle4(bundle: usize, from: u32, to: u32, sums: usize): void { evaluateBundle<u16>(bundle, from, to, sums) }
export function evaluateBundle8(bundle: usize, from: u32, to: u32, sums: usize): void { evaluateBundle<u32>(bundle, from, to, sums) }

@inline
function evaluateBundle<S>(bundle: usize, from: u32, to: u32, sums: usize): void {
  const rows = <usize>load<u32>(bundle, BUNDLE_ROWS)
  const alpha = <usize>load<u32>(bundle, BUNDLE_ALPHA)
  const w = <usize>load<u32>(bundle, BUNDLE_WEIGHTS)
  const logistic = load<u32>(bundle, BUNDLE_LOGISTIC) != 0
  const models = load<u32>(bundle, BUNDLE_MODELS)
  const folds = <usize>load<u32>(bundle, BUNDLE_FOLDS)
  const bias = load<f64>(bundle, BUNDLE_BIAS)
  const biasAt = at<S>(w, load<u32>(bundle, BUNDLE_BIAS_FEATURE))
  const rowShift = shift<S>() + (logistic ? 1 : 0)
  const rowWeights = rowWeightsOfBundle(bundle)
  // Behind the sums: dot products of a row, for several threads evaluate one bundle.
  const dots = sums + SUMS * 64
  memory.fill(sums, 0, SUMS * 64)
  for (let i = from; i < to; i++) {
    const row = <usize>load<u32>(rows + (usize(i) << 2))
    dotLanes<S>(row, w, dots)
    const itsClass = load<u32>(row, ROW_CLASS)
    const fold: u32 = folds == 0 ? 0xfffffffe : u32(load<u8>(folds + usize(i)))
    let alphaAt = alpha + (usize(i) << rowShift)
    let lane = bundle
    let sum = sums
    for (let k: u32 = 0; k < models; k++, lane += 8, alphaAt += 8, sum += 8) {
      if (load<u32>(bundle + (usize(k) << 2), BUNDLE_HELD_OUT) == fold) continue
      const isPositive = load<u32>(bundle + (usize(k) << 2), BUNDLE_POSITIVE) == itsClass
      const bound = laneBound(isPositive, lane, rowWeights, i)
      let dot = load<f64>(dots + (usize(k) << 3))
      if (bias != 0) dot += bias * load<f64>(biasAt + (usize(k) << 3))
      const margin = isPositive ? dot : -dot
      const a = load<f64>(alphaAt)
      let loss: f64, dual: f64
      if (logistic) {
        loss = bound * logisticLoss(margin)
        dual = negativeEntropy(a, load<f64>(alphaAt + (usize(1) << shift<S>())), bound)
      } else {
        const diagonal = laneDiagonal(isPositive, lane, rowWeights, i)
        loss = boxLoss(1 - margin, bound, diagonal)
        dual = a - 0.5 * diagonal * a * a
      }
      store<f64>(sum, load<f64>(sum) + loss)
      store<f64>(sum, load<f64>(sum, 64) + dual, 64)
      store<f64>(sum, load<f64>(sum, 128) + a * margin, 128)
      if (isPositive ? dot > 0 : dot <= 0) store<f64>(sum, load<f64>(sum, 192) + 1, 192)
      if (a > 0) store<f64>(sum, load<f64>(sum, 256) + 1, 256)
    }
  }
}

/** Scores of rows from..to by the models that did not see them, into f32 columns of `rows` each: BUNDLE_COLUMN. `dots` is
 *  room for eight f64. */
export function scoreHeldOut2(bundle: usize, from: u32, to: u32, scores: usize, rows: u32, dots: usize): void { scoreHeldOut<u8>(bundle, from, to, scores, rows, dots) }
export function scoreHeldOut4(bundle: usize, from: u32, to: u32, scores: usize, rows: u32, dots: usize): void { scoreHeldOut<u16>(bundle, from, to, scores, rows, dots) }
export function scoreHeldOut8(bundle: usize, from: u32, to: u32, scores: usize, rows: u32, dots: usize): void { scoreHeldOut<u32>(bundle, from, to, scores, rows, dots) }

@inline
function scoreHeldOut<S>(bundle: usize, from: u32, to: u32, scores: usize, count: u32, dots: usize): void {
  const rows = <usize>load<u32>(bundle, BUNDLE_ROWS)
  const w = <usize>load<u32>(bundle, BUNDLE_WEIGHTS)
  const models = load<u32>(bundle, BUNDLE_MODELS)
  const folds = <usize>load<u32>(bundle, BUNDLE_FOLDS)
  const bias = load<f64>(bundle, BUNDLE_BIAS)
  const biasAt = at<S>(w, load<u32>(bundle, BUNDLE_BIAS_FEATURE))
  for (let i = from; i < to; i++) {
    const fold: u32 = folds == 0 ? 0xfffffffe : u32(load<u8>(folds + usize(i)))
    let any = false
    for (let k: u32 = 0; k < models; k++) any = any || load<u32>(bundle + (usize(k) << 2), BUNDLE_HELD_OUT) == fold
    if (!any) continue
    dotLanes<S>(<usize>load<u32>(rows + (usize(i) << 2)), w, dots)
    for (let k: u32 = 0; k < models; k++) {
      const lane = bundle + (usize(k) << 2)
      if (load<u32>(lane, BUNDLE_HELD_OUT) != fold) continue
      let dot = load<f64>(dots + (usize(k) << 3))
      if (bias != 0) dot += bias * load<f64>(biasAt + (usize(k) << 3))
      store<f32>(scores + ((usize(load<u32>(lane, BUNDLE_COLUMN)) * usize(count) + usize(i)) << 2), f32(dot))
    }
  }
}

/** ‖w‖² of every lane, into eight f64. */
export function squaredLengths2(w: usize, count: u32, out: usize): void { squaredLengths<u8>(w, count, out) }
export function squaredLengths4(w: usize, count: u32, out: usize): void { squaredLengths<u16>(w, count, out) }
export function squaredLengths8(w: usize, count: u32, out: usize): void { squaredLengths<u32>(w, count, out) }

@inline
export function squaredLengths<S>(w: usize, count: u32, out: usize): void {
  let a = f64x2.splat(0), b = f64x2.splat(0), c = f64x2.splat(0), d = f64x2.splat(0)
  for (const end = at<S>(w, count); w < end; w += usize(1) << shift<S>()) {
    const x = v128.load(w)
    a = f64x2.add(a, f64x2.mul(x, x))
    if (sizeof<S>() > 1) {
      const x = v128.load(w, 16)
      b = f64x2.add(b, f64x2.mul(x, x))
    }
    if (sizeof<S>() > 2) {
      const x = v128.load(w, 32), y = v128.load(w, 48)
      c = f64x2.add(c, f64x2.mul(x, x))
      d = f64x2.add(d, f64x2.mul(y, y))
    }
  }
  v128.store(out, a)
  v128.store(out, b, 16)
  v128.store(out, c, 32)
  v128.store(out, d, 48)
}

/** The entropic dual lives strictly inside its box: puts every row a little above 0 in every lane that sees it, and moves w. */
export function startEntropicBundle2(bundle: usize, count: u32): void { startEntropicBundle<u8>(bundle, count) }
export function startEntropicBundle4(bundle: usize, count: u32): void { startEntropicBundle<u16>(bundle, count) }
export function startEntropicBundle8(bundle: usize, count: u32): void { startEntropicBundle<u32>(bundle, count) }

@inline
function startEntropicBundle<S>(bundle: usize, count: u32): void {
  const rows = <usize>load<u32>(bundle, BUNDLE_ROWS)
  const alpha = <usize>load<u32>(bundle, BUNDLE_ALPHA)
  const w = <usize>load<u32>(bundle, BUNDLE_WEIGHTS)
  const models = load<u32>(bundle, BUNDLE_MODELS)
  const folds = <usize>load<u32>(bundle, BUNDLE_FOLDS)
  const bias = load<f64>(bundle, BUNDLE_BIAS)
  const biasAt = at<S>(w, load<u32>(bundle, BUNDLE_BIAS_FEATURE))
  const rowWeights = rowWeightsOfBundle(bundle)
  const steps = bundle + BUNDLE_STEPS
  for (let i: u32 = 0; i < count; i++) {
    const row = <usize>load<u32>(rows + (usize(i) << 2))
    const fold: u32 = folds == 0 ? 0xfffffffe : u32(load<u8>(folds + usize(i)))
    let alphaAt = alpha + (usize(i) << (shift<S>() + 1))
    let moves = false
    for (let k: u32 = 0; k < models; k++, alphaAt += 8) {
      const lane = bundle + (usize(k) << 3)
      store<f64>(lane, 0, BUNDLE_STEPS)
      const restAt = alphaAt + (usize(1) << shift<S>())
      if (load<u32>(bundle + (usize(k) << 2), BUNDLE_HELD_OUT) == fold || load<f64>(alphaAt) != 0 || load<f64>(restAt) != 0) continue
      const isPositive = load<u32>(bundle + (usize(k) << 2), BUNDLE_POSITIVE) == load<u32>(row, ROW_CLASS)
      const cost = laneBound(isPositive, lane, rowWeights, i)
      const a = min(0.001 * cost, 1e-8)
      store<f64>(alphaAt, a)
      store<f64>(restAt, cost - a)
      store<f64>(lane, isPositive ? a : -a, BUNDLE_STEPS)
      moves = true
    }
    if (!moves) continue
    axpyLanes<S>(row, steps, w)
    if (bias != 0) {
      for (let k: usize = 0; k < usize(models) << 3; k += 8) store<f64>(biasAt + k, load<f64>(biasAt + k) + bias * load<f64>(steps + k))
    }
  }
}

/** w += Σ α y x over the first `count` rows, in every lane: what a run starts from when it is given dual variables. */
export function addDualBundle2(bundle: usize, count: u32): void { addDualBundle<u8>(bundle, count) }
export function addDualBundle4(bundle: usize, count: u32): void { addDualBundle<u16>(bundle, count) }
export function addDualBundle8(bundle: usize, count: u32): void { addDualBundle<u32>(bundle, count) }

@inline
function addDualBundle<S>(bundle: usize, count: u32): void {
  const rows = <usize>load<u32>(bundle, BUNDLE_ROWS)
  const alpha = <usize>load<u32>(bundle, BUNDLE_ALPHA)
  const w = <usize>load<u32>(bundle, BUNDLE_WEIGHTS)
  const models = load<u32>(bundle, BUNDLE_MODELS)
  const bias = load<f64>(bundle, BUNDLE_BIAS)
  const biasAt = at<S>(w, load<u32>(bundle, BUNDLE_BIAS_FEATURE))
  const rowShift = shift<S>() + (load<u32>(bundle, BUNDLE_LOGISTIC) != 0 ? 1 : 0)
  const steps = bundle + BUNDLE_STEPS
  for (let i: u32 = 0; i < count; i++) {
    const row = <usize>load<u32>(rows + (usize(i) << 2))
    const itsClass = load<u32>(row, ROW_CLASS)
    let alphaAt = alpha + (usize(i) << rowShift)
    let moves = false
    for (let k: usize = 0; k < usize(models); k++, alphaAt += 8) {
      const a = load<f64>(alphaAt)
      store<f64>(steps + (k << 3), load<u32>(bundle + (k << 2), BUNDLE_POSITIVE) == itsClass ? a : -a)
      moves = moves || a != 0
    }
    if (!moves) continue
    axpyLanes<S>(row, steps, w)
    if (bias != 0) {
      for (let k: usize = 0; k < usize(models) << 3; k += 8) store<f64>(biasAt + k, load<f64>(biasAt + k) + bias * load<f64>(steps + k))
    }
  }
}

/** Copies `bytes` of each of some records, which lie further apart than that. */
export function copyStrided(from: usize, fromStride: u32, to: usize, toStride: u32, bytes: u32, count: u32): void {
  for (let k: u32 = 0; k < count; k++, from += usize(fromStride), to += usize(toStride)) copyWords(from, to, bytes)
}

/** Copies `bytes` of each record whose number is listed to where they lie one after the other. */
export function gatherListed(from: usize, stride: u32, numbers: usize, to: usize, bytes: u32, count: u32): void {
  for (let k: u32 = 0; k < count; k++, numbers += 4, to += usize(bytes)) {
    copyWords(from + usize(load<u32>(numbers)) * usize(stride), to, bytes)
  }
}

/** And back. */
export function scatterListed(from: usize, bytes: u32, numbers: usize, to: usize, stride: u32, count: u32): void {
  for (let k: u32 = 0; k < count; k++, numbers += 4, from += usize(bytes)) {
    copyWords(from, to + usize(load<u32>(numbers)) * usize(stride), bytes)
  }
}

@inline
function copyWords(from: usize, to: usize, bytes: u32): void {
  for (let b: usize = 0; b < usize(bytes); b += 8) store<u64>(to + b, load<u64>(from + b))
}
