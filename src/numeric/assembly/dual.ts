// Dual coordinate descent over row records, after Hsieh, Chang, Lin, Keerthi, Sundararajan (ICML 2008), Algorithm 3:
//
//   min_α  ½ αᵀ(Q + D)α − eᵀα   subject to 0 ≤ α_i ≤ U_i,   Q_ij = y_i y_j x_iᵀx_j,   w = Σ α_i y_i x_i
//
// One visit of row i:  G = y_i wᵀx_i − 1 + D_i α_i;  α_i ← clamp(α_i − G / (Q_ii + D_i), 0, U_i);  w += (Δα) y_i x_i.
// Rows at a bound whose gradient lies beyond the last pass's extremes are shrunk: moved behind the active part of the
// order. The sweep runs in slices, so that its thread can hear of an abort between them. Over many rows, steps go further than to the
// optimum of their row at first (SWEEP_EXTRA): see optimise/solvers/many-rows.ts.
//
// Over ranks, each sweeps over its own rows, and others move w as well: a damping σ makes Q_ii σ times as large, and w moves σ times
// as far, as if the others moved alike. See optimise/solvers/over-ranks.ts.
import {
  PROBLEM_ALPHA, PROBLEM_BIAS, PROBLEM_BIAS_FEATURE, PROBLEM_DAMPING, PROBLEM_GRADIENTS, PROBLEM_HOT, PROBLEM_LOGISTIC, PROBLEM_MARGINS,
  PROBLEM_OWN, PROBLEM_POSITIVE, PROBLEM_ROWS, PROBLEM_WEIGHTS, ROW_CLASS,
  ROW_COUNT, ROW_NORM, SWEEP_ACTIVE, SWEEP_CURSOR, SWEEP_EXTRA, SWEEP_GAP, SWEEP_GRADIENT_MAX, SWEEP_GRADIENT_MIN,
  SWEEP_INNER, SWEEP_LOSS, SWEEP_LOWER, SWEEP_NEWTON, SWEEP_ORDER, SWEEP_SHRINK, SWEEP_STEEP, SWEEP_STEEPNESS, SWEEP_UPPER, SWEEP_VISITED,
} from '../layouts'
import { areFar, bringLast, bringNext, bringWeights } from './ahead'
import { addToBias } from './bias'
import { boxLoss, logisticLoss, negativeEntropy } from './losses'
import { swap } from './order'
import { axpyParted, axpyRow, dotParted, place } from './row'
import {
  boundForNegative, boundForPositive, diagonalForNegative, diagonalForPositive, rowBound, rowDiagonal, rowWeightsOf,
} from './row-costs'

/** Visits rows until the pass is done or about `budget` nonzeros have been seen; true when the pass is done. */
export function sweepBoxF64(problem: usize, sweep: usize, budget: f64): bool { return sweepBox<f64, f64>(problem, sweep, budget) }
export function sweepBoxF32(problem: usize, sweep: usize, budget: f64): bool { return sweepBox<f32, f64>(problem, sweep, budget) }
export function sweepLogisticF64(problem: usize, sweep: usize, budget: f64): bool { return sweepLogistic<f64, f64>(problem, sweep, budget) }
export function sweepLogisticF32(problem: usize, sweep: usize, budget: f64): bool { return sweepLogistic<f32, f64>(problem, sweep, budget) }
// The same for one of several trainers, whose most frequent weights are its own: PROBLEM_OWN.
export function sweepBoxPartedF64(problem: usize, sweep: usize, budget: f64): bool { return sweepBox<f64, bool>(problem, sweep, budget) }
export function sweepBoxPartedF32(problem: usize, sweep: usize, budget: f64): bool { return sweepBox<f32, bool>(problem, sweep, budget) }
export function sweepLogisticPartedF64(problem: usize, sweep: usize, budget: f64): bool { return sweepLogistic<f64, bool>(problem, sweep, budget) }
export function sweepLogisticPartedF32(problem: usize, sweep: usize, budget: f64): bool { return sweepLogistic<f32, bool>(problem, sweep, budget) }

@inline
function sweepBox<W, S>(problem: usize, sweep: usize, budget: f64): bool {
  const rows = <usize>load<u32>(problem, PROBLEM_ROWS)
  const alpha = <usize>load<u32>(problem, PROBLEM_ALPHA)
  const w = <usize>load<u32>(problem, PROBLEM_WEIGHTS)
  const positive = load<u32>(problem, PROBLEM_POSITIVE)
  const bias = load<f64>(problem, PROBLEM_BIAS)
  const own = isBoolean<S>() ? <usize>load<u32>(problem, PROBLEM_OWN) : w
  const hot = isBoolean<S>() ? load<u32>(problem, PROBLEM_HOT) : 0
  const biasAt = place<W, S>(w, own, hot, load<u32>(problem, PROBLEM_BIAS_FEATURE))
  const isFar = areFar<W>(load<u32>(problem, PROBLEM_BIAS_FEATURE))
  const boundPositive = boundForPositive(problem)
  const boundNegative = boundForNegative(problem)
  const diagonalPositive = diagonalForPositive(problem)
  const diagonalNegative = diagonalForNegative(problem)
  const rowWeights = rowWeightsOf(problem)
  const margins = <usize>load<u32>(problem, PROBLEM_MARGINS)
  const gradients = <usize>load<u32>(problem, PROBLEM_GRADIENTS)
  const damping = load<f64>(problem, PROBLEM_DAMPING)
  const order = <usize>load<u32>(sweep, SWEEP_ORDER)
  const shrink = load<u32>(sweep, SWEEP_SHRINK) != 0
  const upper = load<f64>(sweep, SWEEP_UPPER)
  const lower = load<f64>(sweep, SWEEP_LOWER)
  const relaxation = 1 + load<f64>(sweep, SWEEP_EXTRA)
  let active = load<u32>(sweep, SWEEP_ACTIVE)
  let cursor = load<u32>(sweep, SWEEP_CURSOR)
  let gradientMax = load<f64>(sweep, SWEEP_GRADIENT_MAX)
  let gradientMin = load<f64>(sweep, SWEEP_GRADIENT_MIN)
  let lossSum = load<f64>(sweep, SWEEP_LOSS)
  let gapSum = load<f64>(sweep, SWEEP_GAP)
  let steepness = load<f64>(sweep, SWEEP_STEEPNESS)
  let steep = load<f64>(sweep, SWEEP_STEEP)
  let visited: f64 = 0

  let loaded = cursor
  let lastLoaded = active
  while (cursor < active && visited < budget) {
    if (cursor == loaded) {
      loaded = bringNext(rows, order, cursor, loaded, active, alpha, 8)
      if (isFar) bringWeights<W, S>(rows, order, cursor, loaded, w, own, hot)
    }
    const i = load<u32>(order + (usize(cursor) << 2))
    const row = <usize>load<u32>(rows + (usize(i) << 2))
    const isPositive = load<u32>(row, ROW_CLASS) == positive
    const y: f64 = isPositive ? 1 : -1
    const bound = rowBound(isPositive, boundPositive, boundNegative, rowWeights, i)
    const diagonal = rowDiagonal(isPositive, diagonalPositive, diagonalNegative, rowWeights, i)
    const alphaAt = alpha + (usize(i) << 3)
    const a = load<f64>(alphaAt)
    // The row is left out: see outliers.ts.
    if (a < 0) {
      visited += 1
      cursor++
      continue
    }
    visited += f64(load<u32>(row, ROW_COUNT)) + 4

    let dot = dotParted<W, S>(row, w, own, hot)
    if (bias != 0) dot += bias * f64(load<W>(biasAt))
    const margin = y * dot
    if (margins != 0) store<f64>(margins + (usize(i) << 3), margin)
    const gradient = margin - 1 + diagonal * a
    if (gradients != 0) store<f64>(gradients + (usize(i) << 3), gradient)
    const loss = boxLoss(1 - margin, bound, diagonal)
    lossSum += loss
    gapSum += loss - a * (1 - margin) + 0.5 * diagonal * a * a

    let projected: f64 = 0
    if (a == 0) {
      if (shrink && gradient > upper) {
        lastLoaded = bringLast(rows, order, cursor, active, lastLoaded, alpha, 8)
        swap(order, cursor, --active)
        continue
      }
      if (gradient < 0) projected = gradient
    } else if (a == bound) {
      if (shrink && gradient < lower) {
        lastLoaded = bringLast(rows, order, cursor, active, lastLoaded, alpha, 8)
        swap(order, cursor, --active)
        continue
      }
      if (gradient > 0) projected = gradient
    } else {
      projected = gradient
    }
    gradientMax = max(gradientMax, projected)
    gradientMin = min(gradientMin, projected)

    if (abs(projected) > 1e-12) {
      steepness += abs(projected)
      steep += 1
      const curvature = damping * (load<f64>(row, ROW_NORM) + bias * bias) + diagonal
      // A row without entries does not move w: its best α is at the bound.
      const next = curvature > 0 ? min(max(a - relaxation * gradient / curvature, 0), bound) : (gradient < 0 ? bound : 0)
      if (next != a) {
        store<f64>(alphaAt, next)
        const step = damping * (next - a) * y
        axpyParted<W, S>(row, step, w, own, hot)
        addToBias<W>(biasAt, bias, step)
        if (gradients != 0) store<f64>(gradients + (usize(i) << 3), gradient + curvature * (next - a))
      }
    }
    cursor++
  }

  store<u32>(sweep, active, SWEEP_ACTIVE)
  store<u32>(sweep, cursor, SWEEP_CURSOR)
  store<f64>(sweep, gradientMax, SWEEP_GRADIENT_MAX)
  store<f64>(sweep, gradientMin, SWEEP_GRADIENT_MIN)
  store<f64>(sweep, lossSum, SWEEP_LOSS)
  store<f64>(sweep, gapSum, SWEEP_GAP)
  store<f64>(sweep, steepness, SWEEP_STEEPNESS)
  store<f64>(sweep, steep, SWEEP_STEEP)
  store<f64>(sweep, load<f64>(sweep, SWEEP_VISITED) + visited, SWEEP_VISITED)
  return cursor >= active
}

// Logistic regression, Yu, Huang, Lin (Machine Learning 85, 2011), Algorithm 5: the dual adds Σ α log α + (C−α) log(C−α)
// to ½ αᵀQα over 0 < α < C. Each visit minimises in one variable by Newton steps on whichever of α and C−α is smaller,
// so that neither loses its digits near zero; both are kept.
@inline
function sweepLogistic<W, S>(problem: usize, sweep: usize, budget: f64): bool {
  const rows = <usize>load<u32>(problem, PROBLEM_ROWS)
  const alpha = <usize>load<u32>(problem, PROBLEM_ALPHA)
  const w = <usize>load<u32>(problem, PROBLEM_WEIGHTS)
  const positive = load<u32>(problem, PROBLEM_POSITIVE)
  const bias = load<f64>(problem, PROBLEM_BIAS)
  const own = isBoolean<S>() ? <usize>load<u32>(problem, PROBLEM_OWN) : w
  const hot = isBoolean<S>() ? load<u32>(problem, PROBLEM_HOT) : 0
  const biasAt = place<W, S>(w, own, hot, load<u32>(problem, PROBLEM_BIAS_FEATURE))
  const isFar = areFar<W>(load<u32>(problem, PROBLEM_BIAS_FEATURE))
  const boundPositive = boundForPositive(problem)
  const boundNegative = boundForNegative(problem)
  const rowWeights = rowWeightsOf(problem)
  const margins = <usize>load<u32>(problem, PROBLEM_MARGINS)
  const gradients = <usize>load<u32>(problem, PROBLEM_GRADIENTS)
  const damping = load<f64>(problem, PROBLEM_DAMPING)
  const order = <usize>load<u32>(sweep, SWEEP_ORDER)
  const active = load<u32>(sweep, SWEEP_ACTIVE)
  const inner = load<f64>(sweep, SWEEP_INNER)
  // Logarithms of the last row: rows that were not met before have the same dual variables, and most begin at the same z.
  let entropy: f64 = 0, lastAlpha: f64 = -1, lastRest: f64 = 0, lastBound: f64 = 0
  let firstLog: f64 = 0, firstZ: f64 = -1, firstBound: f64 = 0
  let newton: f64 = load<f64>(sweep, SWEEP_NEWTON)
  let cursor = load<u32>(sweep, SWEEP_CURSOR)
  let gradientMax = load<f64>(sweep, SWEEP_GRADIENT_MAX)
  let lossSum = load<f64>(sweep, SWEEP_LOSS)
  let gapSum = load<f64>(sweep, SWEEP_GAP)
  let visited: f64 = 0

  let loaded = cursor
  while (cursor < active && visited < budget) {
    if (cursor == loaded) {
      loaded = bringNext(rows, order, cursor, loaded, active, alpha, 16)
      if (isFar) bringWeights<W, S>(rows, order, cursor, loaded, w, own, hot)
    }
    const i = load<u32>(order + (usize(cursor) << 2))
    const row = <usize>load<u32>(rows + (usize(i) << 2))
    const isPositive = load<u32>(row, ROW_CLASS) == positive
    const y: f64 = isPositive ? 1 : -1
    const bound = rowBound(isPositive, boundPositive, boundNegative, rowWeights, i)
    const alphaAt = alpha + (usize(i) << 4)
    const a = load<f64>(alphaAt)
    const rest = load<f64>(alphaAt, 8)
    visited += f64(load<u32>(row, ROW_COUNT)) + 4

    let dot = dotParted<W, S>(row, w, own, hot)
    if (bias != 0) dot += bias * f64(load<W>(biasAt))
    const margin = y * dot
    if (margins != 0) store<f64>(margins + (usize(i) << 3), margin)
    const curvature = damping * (load<f64>(row, ROW_NORM) + bias * bias)
    const loss = bound * logisticLoss(margin)
    lossSum += loss
    if (a != lastAlpha || rest != lastRest || bound != lastBound) {
      entropy = negativeEntropy(a, rest, bound)
      lastAlpha = a
      lastRest = rest
      lastBound = bound
    }
    gapSum += loss - entropy + a * margin

    // Work on z, the smaller of the two after the step, judged by the sign of the derivative in the middle.
    const flip = 0.5 * curvature * (rest - a) + margin < 0
    const sign: f64 = flip ? -1 : 1
    const old = flip ? rest : a
    let z = old
    if (bound - z < 0.5 * bound) z *= 0.1
    if (z != firstZ || bound != firstBound) {
      firstLog = Math.log(z / (bound - z))
      firstZ = z
      firstBound = bound
    }
    let derivative = curvature * (z - old) + sign * margin + firstLog
    gradientMax = max(gradientMax, abs(derivative))
    let steps = 0
    while (steps < 100 && abs(derivative) >= inner) {
      const second = curvature + bound / ((bound - z) * z)
      const next = z - derivative / second
      z = next <= 0 ? z * 0.1 : next
      derivative = curvature * (z - old) + sign * margin + Math.log(z / (bound - z))
      steps++
    }
    newton += steps
    if (steps > 0) {
      const nextAlpha = flip ? bound - z : z
      store<f64>(alphaAt, nextAlpha)
      store<f64>(alphaAt, flip ? z : bound - z, 8)
      const step = damping * sign * (z - old) * y
      axpyParted<W, S>(row, step, w, own, hot)
      addToBias<W>(biasAt, bias, step)
      if (gradients != 0) store<f64>(gradients + (usize(i) << 3), margin + curvature * sign * (z - old))
    } else if (gradients != 0) store<f64>(gradients + (usize(i) << 3), margin)
    cursor++
  }

  store<u32>(sweep, cursor, SWEEP_CURSOR)
  store<f64>(sweep, newton, SWEEP_NEWTON)
  store<f64>(sweep, gradientMax, SWEEP_GRADIENT_MAX)
  store<f64>(sweep, lossSum, SWEEP_LOSS)
  store<f64>(sweep, gapSum, SWEEP_GAP)
  store<f64>(sweep, load<f64>(sweep, SWEEP_VISITED) + visited, SWEEP_VISITED)
  return cursor >= active
}

/** The entropic dual lives strictly inside its box: puts every listed row that has no dual variable yet (both of its numbers
 *  are zero) a little above 0, and moves w with it. Order 0 lists the first rows. */
export function startEntropicF64(problem: usize, order: usize, listed: u32): void { startEntropic<f64>(problem, order, listed) }
export function startEntropicF32(problem: usize, order: usize, listed: u32): void { startEntropic<f32>(problem, order, listed) }

@inline
function startEntropic<W>(problem: usize, order: usize, listed: u32): void {
  const rows = <usize>load<u32>(problem, PROBLEM_ROWS)
  const alpha = <usize>load<u32>(problem, PROBLEM_ALPHA)
  const w = <usize>load<u32>(problem, PROBLEM_WEIGHTS)
  const positive = load<u32>(problem, PROBLEM_POSITIVE)
  const bias = load<f64>(problem, PROBLEM_BIAS)
  const biasAt = w + usize(load<u32>(problem, PROBLEM_BIAS_FEATURE)) * sizeof<W>()
  const boundPositive = boundForPositive(problem)
  const boundNegative = boundForNegative(problem)
  const rowWeights = rowWeightsOf(problem)
  const damping = load<f64>(problem, PROBLEM_DAMPING)
  for (let k: u32 = 0; k < listed; k++) {
    const i = order == 0 ? k : load<u32>(order + (usize(k) << 2))
    const at = alpha + (usize(i) << 4)
    if (load<f64>(at) != 0 || load<f64>(at, 8) != 0) continue
    const row = <usize>load<u32>(rows + (usize(i) << 2))
    const isPositive = load<u32>(row, ROW_CLASS) == positive
    const cost = rowBound(isPositive, boundPositive, boundNegative, rowWeights, i)
    const a = min(0.001 * cost, 1e-8)
    store<f64>(at, a)
    store<f64>(at, cost - a, 8)
    const step = damping * (isPositive ? a : -a)
    axpyRow<W>(row, step, w)
    addToBias<W>(biasAt, bias, step)
  }
}

/** w += Σ α y x over rows from..to: what a run starts from when it is given dual variables. */
export function addDualF64(problem: usize, from: u32, to: u32, stride: u32): void { addDual<f64>(problem, from, to, stride) }
export function addDualF32(problem: usize, from: u32, to: u32, stride: u32): void { addDual<f32>(problem, from, to, stride) }

@inline
function addDual<W>(problem: usize, from: u32, to: u32, stride: u32): void {
  const rows = <usize>load<u32>(problem, PROBLEM_ROWS)
  const alpha = <usize>load<u32>(problem, PROBLEM_ALPHA)
  const w = <usize>load<u32>(problem, PROBLEM_WEIGHTS)
  const positive = load<u32>(problem, PROBLEM_POSITIVE)
  const bias = load<f64>(problem, PROBLEM_BIAS)
  const biasAt = w + usize(load<u32>(problem, PROBLEM_BIAS_FEATURE)) * sizeof<W>()
  for (let i = from; i < to; i++) {
    const a = load<f64>(alpha + usize(i) * usize(stride))
    // Nor does a row that is left out add anything.
    if (a <= 0) continue
    const row = <usize>load<u32>(rows + (usize(i) << 2))
    const step = load<u32>(row, ROW_CLASS) == positive ? a : -a
    axpyRow<W>(row, step, w)
    addToBias<W>(biasAt, bias, step)
  }
}

/** Losses and debts to the gap of the first `count` rows of a problem, from margins that a sweep left and the dual
 *  variables before it: two f64 at `sums`. */
export function visitedSums(problem: usize, count: u32, margins: usize, alpha: usize, sums: usize): void {
  const rows = <usize>load<u32>(problem, PROBLEM_ROWS)
  const positive = load<u32>(problem, PROBLEM_POSITIVE)
  const logistic = load<u32>(problem, PROBLEM_LOGISTIC) != 0
  const boundPositive = boundForPositive(problem)
  const boundNegative = boundForNegative(problem)
  const diagonalPositive = diagonalForPositive(problem)
  const diagonalNegative = diagonalForNegative(problem)
  const rowWeights = rowWeightsOf(problem)
  let lossSum: f64 = 0, gapSum: f64 = 0
  for (let i: u32 = 0; i < count; i++) {
    const row = <usize>load<u32>(rows + (usize(i) << 2))
    const isPositive = load<u32>(row, ROW_CLASS) == positive
    const bound = rowBound(isPositive, boundPositive, boundNegative, rowWeights, i)
    const margin = load<f64>(margins + (usize(i) << 3))
    if (logistic) {
      const a = load<f64>(alpha + (usize(i) << 4))
      const loss = bound * logisticLoss(margin)
      lossSum += loss
      gapSum += loss - negativeEntropy(a, load<f64>(alpha + (usize(i) << 4), 8), bound) + a * margin
    } else {
      const diagonal = rowDiagonal(isPositive, diagonalPositive, diagonalNegative, rowWeights, i)
      const a = load<f64>(alpha + (usize(i) << 3))
      if (a < 0) continue
      const loss = boxLoss(1 - margin, bound, diagonal)
      lossSum += loss
      gapSum += loss - a * (1 - margin) + 0.5 * diagonal * a * a
    }
  }
  store<f64>(sums, lossSum)
  store<f64>(sums, gapSum, 8)
}

/** How much a row is worth keeping, into f64[count]: off its bounds most, then by its projected gradient, then by how near
 *  to changing it is. */
export function rowWorth(problem: usize, count: u32, worth: usize): void {
  const rows = <usize>load<u32>(problem, PROBLEM_ROWS)
  const alpha = <usize>load<u32>(problem, PROBLEM_ALPHA)
  const margins = <usize>load<u32>(problem, PROBLEM_MARGINS)
  const gradients = <usize>load<u32>(problem, PROBLEM_GRADIENTS)
  const positive = load<u32>(problem, PROBLEM_POSITIVE)
  const logistic = load<u32>(problem, PROBLEM_LOGISTIC) != 0
  const boundPositive = boundForPositive(problem)
  const boundNegative = boundForNegative(problem)
  const diagonalPositive = diagonalForPositive(problem)
  const diagonalNegative = diagonalForNegative(problem)
  const rowWeights = rowWeightsOf(problem)
  for (let i: u32 = 0; i < count; i++) {
    const row = <usize>load<u32>(rows + (usize(i) << 2))
    const isPositive = load<u32>(row, ROW_CLASS) == positive
    const bound = rowBound(isPositive, boundPositive, boundNegative, rowWeights, i)
    const margin = load<f64>(margins + (usize(i) << 3))
    let value: f64
    if (logistic) {
      // Where the loss curves most, α moves most with w.
      const a = load<f64>(alpha + (usize(i) << 4)) / bound
      value = a * (1 - a)
    } else {
      const diagonal = rowDiagonal(isPositive, diagonalPositive, diagonalNegative, rowWeights, i)
      const a = load<f64>(alpha + (usize(i) << 3))
      const gradient = margin - 1 + diagonal * a
      // Rows that are left out come last.
      if (a < 0) value = -1e300
      else if (a > 0 && a < bound) value = 2e300
      else if ((a == 0 && gradient < 0) || (a == bound && gradient > 0)) value = 1e6 * (1 + min(abs(gradient), 1e6))
      else value = -abs(gradient)
    }
    store<f64>(worth + (usize(i) << 3), value)
  }
}
