// Dual variables carried on: before a sweep, they go a share further the way that the last sweep took them.
//
//   α ← clamp(α + β (α − α′)),   w ← w + β (w − w′) + what clamped rows took back,   α′ and w′: before the last sweep
//
// An entropic dual stays inside its box: of α and C − α, neither becomes less than a tenth of what it was.
//
// w stays Σ α y x. The point is taken if the dual objective is no less there; else everything is as before. See
// optimise/solvers/momentum.ts.
import {
  BUNDLE_ALPHA, BUNDLE_BIAS, BUNDLE_BIAS_FEATURE, BUNDLE_DOTS, BUNDLE_GAINS, BUNDLE_LOGISTIC, BUNDLE_MODELS, BUNDLE_POSITIVE,
  BUNDLE_ROWS, BUNDLE_SHARES, BUNDLE_STEPS, BUNDLE_WEIGHTS,
} from '../bundle-layout'
import {
  PROBLEM_ALPHA, PROBLEM_BIAS, PROBLEM_BIAS_FEATURE, PROBLEM_LOGISTIC, PROBLEM_POSITIVE, PROBLEM_ROWS, PROBLEM_WEIGHTS,
  ROW_CLASS,
} from '../layouts'
import { addToBias } from './bias'
import { squaredLengths } from './bundle'
import { at, axpyLanes, shift } from './lanes'
import { negativeEntropy } from './losses'
import { axpyRow } from './row'
import {
  boundForNegative, boundForPositive, diagonalForNegative, diagonalForPositive, laneBound, laneDiagonal, rowBound, rowDiagonal,
  rowWeightsOf, rowWeightsOfBundle,
} from './row-costs'
import { innerProduct } from './vectors'

/** Of a dual with f64 weights: carries its first `count` rows on. The dual variables and weights that there were are at the
 *  addresses of those before them afterwards. Whether the point was taken. */
export function carryOn(problem: usize, count: u32, weightCount: u32, beforeAlpha: usize, beforeWeights: usize, share: f64): bool {
  const alpha = <usize>load<u32>(problem, PROBLEM_ALPHA)
  const w = <usize>load<u32>(problem, PROBLEM_WEIGHTS)
  const length = carryWeights(w, beforeWeights, weightCount, share)
  const gain = carryRows(problem, 0, count, beforeAlpha, share)
  if (gain - 0.5 * (innerProduct(w, w, weightCount) - length) >= 0) return true
  memory.copy(w, beforeWeights, usize(weightCount) << 3)
  memory.copy(alpha, beforeAlpha, usize(count) << (load<u32>(problem, PROBLEM_LOGISTIC) != 0 ? 4 : 3))
  return false
}

/** Carries weights on alone: those that there were are in the place of those before them. Gives the squared length of those that
 *  there were. Their rows follow, by `carryRows`: until all have, w is not Σ α y x. */
export function carryWeights(w: usize, before: usize, count: u32, share: f64): f64 {
  const length = innerProduct(w, w, count)
  const shares = f64x2.splat(share)
  const end2 = w + (usize(count & ~1) << 3)
  const end = w + (usize(count) << 3)
  for (; w < end2; w += 16, before += 16) {
    const now = v128.load(w)
    v128.store(w, f64x2.add(now, f64x2.mul(shares, f64x2.sub(now, v128.load(before)))))
    v128.store(before, now)
  }
  for (; w < end; w += 8, before += 8) {
    const now = load<f64>(w)
    store<f64>(w, now + share * (now - load<f64>(before)))
    store<f64>(before, now)
  }
  return length
}

/** Carries the rows from..to on, whose dual variables of before begin at an address, and gives w back what clamped ones did not
 *  take of it: what the rows' own parts of the dual objective gain. */
export function carryRows(problem: usize, from: u32, to: u32, before: usize, share: f64): f64 {
  const rows = <usize>load<u32>(problem, PROBLEM_ROWS)
  const alpha = <usize>load<u32>(problem, PROBLEM_ALPHA)
  const w = <usize>load<u32>(problem, PROBLEM_WEIGHTS)
  const positive = load<u32>(problem, PROBLEM_POSITIVE)
  const bias = load<f64>(problem, PROBLEM_BIAS)
  const biasAt = w + (usize(load<u32>(problem, PROBLEM_BIAS_FEATURE)) << 3)
  const boundPositive = boundForPositive(problem)
  const boundNegative = boundForNegative(problem)
  const diagonalPositive = diagonalForPositive(problem)
  const diagonalNegative = diagonalForNegative(problem)
  const rowWeights = rowWeightsOf(problem)
  const logistic = load<u32>(problem, PROBLEM_LOGISTIC) != 0
  const rowShift: usize = logistic ? 4 : 3
  // Where all rows cost the same, only those that are clamped are looked at.
  const alike = rowWeights == 0 && boundPositive == boundNegative && diagonalPositive == diagonalNegative
  let gain: f64 = 0
  let at = alpha + (usize(from) << rowShift)
  for (let i = from; i < to; i++, at += usize(1) << rowShift, before += usize(1) << rowShift) {
    if (isStill(at, before, 8, logistic)) continue
    let bound = boundPositive
    let diagonal = diagonalPositive
    if (!alike) {
      const isPositive = load<u32>(<usize>load<u32>(rows + (usize(i) << 2)), ROW_CLASS) == positive
      bound = rowBound(isPositive, boundPositive, boundNegative, rowWeights, i)
      diagonal = rowDiagonal(isPositive, diagonalPositive, diagonalNegative, rowWeights, i)
    }
    gain += logistic
      ? carryPair(at, before, 8, bound, share)
      : carryBox(at, before, bound, diagonal, share)
    if (takenBack == 0) continue
    const row = <usize>load<u32>(rows + (usize(i) << 2))
    const back = load<u32>(row, ROW_CLASS) == positive ? takenBack : -takenBack
    axpyRow<f64>(row, back, w)
    addToBias<f64>(biasAt, bias, back)
  }
  return gain
}

/** The rows' own parts of the dual objective: all of it but −½‖w‖². */
export function dualParts(problem: usize, count: u32): f64 {
  const rows = <usize>load<u32>(problem, PROBLEM_ROWS)
  const alpha = <usize>load<u32>(problem, PROBLEM_ALPHA)
  const positive = load<u32>(problem, PROBLEM_POSITIVE)
  const boundPositive = boundForPositive(problem)
  const boundNegative = boundForNegative(problem)
  const diagonalPositive = diagonalForPositive(problem)
  const diagonalNegative = diagonalForNegative(problem)
  const rowWeights = rowWeightsOf(problem)
  const logistic = load<u32>(problem, PROBLEM_LOGISTIC) != 0
  let parts: f64 = 0
  for (let i: u32 = 0; i < count; i++) {
    const a = load<f64>(alpha + (usize(i) << (logistic ? 4 : 3)))
    if (a <= 0) continue
    const isPositive = load<u32>(<usize>load<u32>(rows + (usize(i) << 2)), ROW_CLASS) == positive
    if (logistic) {
      const bound = rowBound(isPositive, boundPositive, boundNegative, rowWeights, i)
      parts += negativeEntropy(a, load<f64>(alpha + (usize(i) << 4), 8), bound)
    } else parts += a * (1 - 0.5 * rowDiagonal(isPositive, diagonalPositive, diagonalNegative, rowWeights, i) * a)
  }
  return parts
}

/** Whether the last sweep did not move a dual variable: neither α nor, of a pair, C − α, which stands so many bytes behind it. */
@inline
function isStill(at: usize, before: usize, behind: usize, isPair: bool): bool {
  return load<f64>(at) == load<f64>(before) && (!isPair || load<f64>(at + behind) == load<f64>(before + behind))
}

/** What the last dual variable had to take back of its way. */
let takenBack: f64 = 0

/** Carries the α of a box on, which stands at an address: what that gains. A row that is left out stays: see outliers.ts. */
@inline
function carryBox(at: usize, before: usize, bound: f64, diagonal: f64, share: f64): f64 {
  const a = load<f64>(at)
  const last = load<f64>(before)
  store<f64>(before, a)
  takenBack = 0
  if (a < 0 || last < 0) return 0
  const aim = a + share * (a - last)
  const next = min(max(aim, 0), bound)
  store<f64>(at, next)
  takenBack = next - aim
  return (next - a) * (1 - 0.5 * diagonal * (next + a))
}

/** Of a pair, neither is less: it has a logarithm. */
const LEAST: f64 = 1e-290

/** The same for α and C − α, which stands so many bytes behind it. */
@inline
function carryPair(at: usize, before: usize, behind: usize, bound: f64, share: f64): f64 {
  const a = load<f64>(at)
  const rest = load<f64>(at + behind)
  let next = a + share * (a - load<f64>(before))
  let nextRest = rest + share * (rest - load<f64>(before + behind))
  store<f64>(before, a)
  store<f64>(before + behind, rest)
  const aim = next
  const isClamped = next < 0.1 * a || nextRest < 0.1 * rest
  // The smaller one keeps its digits.
  if (next < nextRest) {
    next = max(max(next, 0.1 * a), LEAST)
    nextRest = bound - next
  } else {
    nextRest = max(max(nextRest, 0.1 * rest), LEAST)
    next = bound - nextRest
  }
  store<f64>(at, next)
  store<f64>(at + behind, nextRest)
  takenBack = isClamped ? next - aim : 0
  return negativeEntropy(next, nextRest, bound) - negativeEntropy(a, rest, bound)
}

/** The same for each model of a bundle, by its own share. A bit for each whose point was taken. */
export function carryOnBundle2(bundle: usize, count: u32, weightCount: u32, beforeAlpha: usize, beforeWeights: usize): u32 { return carryOnBundle<u8>(bundle, count, weightCount, beforeAlpha, beforeWeights) }
export function carryOnBundle4(bundle: usize, count: u32, weightCount: u32, beforeAlpha: usize, beforeWeights: usize): u32 { return carryOnBundle<u16>(bundle, count, weightCount, beforeAlpha, beforeWeights) }
export function carryOnBundle8(bundle: usize, count: u32, weightCount: u32, beforeAlpha: usize, beforeWeights: usize): u32 { return carryOnBundle<u32>(bundle, count, weightCount, beforeAlpha, beforeWeights) }

@inline
function carryOnBundle<S>(bundle: usize, count: u32, weightCount: u32, beforeAlpha: usize, beforeWeights: usize): u32 {
  const alpha = <usize>load<u32>(bundle, BUNDLE_ALPHA)
  const w = <usize>load<u32>(bundle, BUNDLE_WEIGHTS)
  const models = load<u32>(bundle, BUNDLE_MODELS)
  const lengths = bundle + BUNDLE_DOTS
  squaredLengths<S>(w, weightCount, lengths)
  for (let k: usize = 0; k < 64; k += 8) store<f64>(bundle + k, 0.5 * load<f64>(lengths + k), BUNDLE_GAINS)
  carryWeightsOfBundle<S>(bundle, beforeWeights, weightCount)
  carryRowsOfBundle<S>(bundle, count, beforeAlpha)
  squaredLengths<S>(w, weightCount, lengths)
  let taken: u32 = 0
  for (let k: u32 = 0; k < models; k++) {
    const lane = usize(k) << 3
    if (load<f64>(bundle + lane, BUNDLE_GAINS) - 0.5 * load<f64>(lengths + lane) >= 0) taken |= 1 << k
    else {
      copyLane<S>(w + lane, beforeWeights + lane, weightCount)
      // Of pairs there are twice as many.
      copyLane<S>(alpha + lane, beforeAlpha + lane, count << (load<u32>(bundle, BUNDLE_LOGISTIC) != 0 ? 1 : 0))
    }
  }
  return taken
}

@inline
function copyLane<S>(to: usize, from: usize, count: u32): void {
  for (const end = at<S>(to, count); to < end; to += usize(1) << shift<S>(), from += usize(1) << shift<S>()) store<f64>(to, load<f64>(from))
}

@inline
function carryWeightsOfBundle<S>(bundle: usize, before: usize, count: u32): void {
  const shares = bundle + BUNDLE_SHARES
  let w = <usize>load<u32>(bundle, BUNDLE_WEIGHTS)
  for (const end = at<S>(w, count); w < end; ) {
    for (let k: usize = 0; k < usize(1) << shift<S>(); k += 16, w += 16, before += 16) {
      const now = v128.load(w)
      v128.store(w, f64x2.add(now, f64x2.mul(v128.load(shares + k), f64x2.sub(now, v128.load(before)))))
      v128.store(before, now)
    }
  }
}

@inline
function carryRowsOfBundle<S>(bundle: usize, count: u32, before: usize): void {
  const rows = <usize>load<u32>(bundle, BUNDLE_ROWS)
  const alpha = <usize>load<u32>(bundle, BUNDLE_ALPHA)
  const w = <usize>load<u32>(bundle, BUNDLE_WEIGHTS)
  const models = load<u32>(bundle, BUNDLE_MODELS)
  const bias = load<f64>(bundle, BUNDLE_BIAS)
  const biasAt = at<S>(w, load<u32>(bundle, BUNDLE_BIAS_FEATURE))
  const steps = bundle + BUNDLE_STEPS
  const rowWeights = rowWeightsOfBundle(bundle)
  const logistic = load<u32>(bundle, BUNDLE_LOGISTIC) != 0
  const rowShift = shift<S>() + (logistic ? 1 : 0)
  const behind = usize(1) << shift<S>()
  for (let i: u32 = 0; i < count; i++) {
    const row = <usize>load<u32>(rows + (usize(i) << 2))
    let isClamped = false
    let lane = bundle
    let place = usize(i) << rowShift
    for (let k: u32 = 0; k < models; k++, lane += 8, place += 8) {
      store<f64>(lane, 0, BUNDLE_STEPS)
      if (isStill(alpha + place, before + place, behind, logistic)) continue
      const isPositive = load<u32>(bundle + (usize(k) << 2), BUNDLE_POSITIVE) == load<u32>(row, ROW_CLASS)
      const bound = laneBound(isPositive, lane, rowWeights, i)
      const share = load<f64>(lane, BUNDLE_SHARES)
      const gain = logistic
        ? carryPair(alpha + place, before + place, behind, bound, share)
        : carryBox(alpha + place, before + place, bound, laneDiagonal(isPositive, lane, rowWeights, i), share)
      store<f64>(lane, load<f64>(lane, BUNDLE_GAINS) + gain, BUNDLE_GAINS)
      if (takenBack == 0) continue
      store<f64>(lane, isPositive ? takenBack : -takenBack, BUNDLE_STEPS)
      isClamped = true
    }
    if (!isClamped) continue
    axpyLanes<S>(row, steps, w)
    if (bias == 0) continue
    for (let k: usize = 0; k < usize(models) << 3; k += 8) store<f64>(biasAt + k, load<f64>(biasAt + k) + bias * load<f64>(steps + k))
  }
}
