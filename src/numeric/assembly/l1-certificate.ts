// Sums under l1: what the objective and its dual are made of. While columns are at hand, from their state, to see whether a
// certificate is worth asking for; then the certificate itself, from rows alone.
import {
  PROBLEM_ALPHA, PROBLEM_LOGISTIC, PROBLEM_POSITIVE, PROBLEM_ROWS, PROBLEM_WEIGHTS,
  ROW_CLASS, SUMS_ALPHA_MARGIN, SUMS_CORRECT, SUMS_DUAL, SUMS_LOSS, SUMS_SUPPORT,
} from '../layouts'
import { L1_COSTS, L1_LOSS, L1_MARGINS, L1_ROWS, L1_STATE } from '../l1-layout'
import { biasPartOf } from './bias'
import { boxLoss, logisticLoss, negativeEntropy, wrongness } from './losses'
import { dotRow } from './row'
import {
  boundForNegative, boundForPositive, diagonalForNegative, diagonalForPositive, rowBound, rowDiagonal, rowWeightsOf,
} from './row-costs'

// --- From columns

/** Σ |w_j|. */
export function lengthL1(w: usize, count: u32): f64 {
  let sum: f64 = 0
  for (let j: u32 = 0; j < count; j++) sum += Math.abs(load<f64>(w + (usize(j) << 3)))
  return sum
}

/** max |v_j|. */
export function steepest(v: usize, count: u32): f64 {
  let most: f64 = 0
  for (let j: u32 = 0; j < count; j++) most = max(most, Math.abs(load<f64>(v + (usize(j) << 3))))
  return most
}

/** Σ loss goes to L1_LOSS; Σ α is returned, α = 2 C (1 − m) where that is above 0. */
export function sumsOfSquared(l1: usize): f64 {
  const rows = load<u32>(l1, L1_ROWS)
  const state = <usize>load<u32>(l1, L1_STATE)
  const costs = <usize>load<u32>(l1, L1_COSTS)
  let loss: f64 = 0, alpha: f64 = 0
  for (let i: usize = 0; i < usize(rows); i++) {
    const b = max(load<f64>(state + (i << 3)), 0)
    loss += b * b
    alpha += load<f64>(costs + (i << 3)) * b
  }
  store<f64>(l1, loss, L1_LOSS)
  return 2 * alpha
}

/** The dual objective of α = factor · C p at the present margins. */
export function dualOfLogistic(l1: usize, factor: f64): f64 {
  const rows = load<u32>(l1, L1_ROWS)
  const costs = <usize>load<u32>(l1, L1_COSTS)
  const margins = <usize>load<u32>(l1, L1_MARGINS)
  let sum: f64 = 0
  for (let i: usize = 0; i < usize(rows); i++) {
    const cost = load<f64>(costs + (i << 3))
    const a = factor * cost * wrongness(load<f64>(margins + (i << 3)))
    sum += negativeEntropy(a, cost - a, cost)
  }
  return sum
}

// --- The certificate, from rows alone

/** Margins of rows from..to afresh from w, and from them α = −C loss'(m), in its place. Sums: losses, rows on the right side,
 *  Σ α, and Σ of what is quadratic in α (SUMS_ALPHA_MARGIN). */
export function evaluateL1(problem: usize, from: u32, to: u32, sums: usize): void {
  const rows = <usize>load<u32>(problem, PROBLEM_ROWS)
  const alpha = <usize>load<u32>(problem, PROBLEM_ALPHA)
  const w = <usize>load<u32>(problem, PROBLEM_WEIGHTS)
  const positive = load<u32>(problem, PROBLEM_POSITIVE)
  const logistic = load<u32>(problem, PROBLEM_LOGISTIC) != 0
  const biasPart = biasPartOf<f64>(problem, w)
  const boundPositive = boundForPositive(problem)
  const boundNegative = boundForNegative(problem)
  const diagonalPositive = diagonalForPositive(problem)
  const diagonalNegative = diagonalForNegative(problem)
  const rowWeights = rowWeightsOf(problem)
  let loss: f64 = 0, correct: f64 = 0, linear: f64 = 0, square: f64 = 0
  for (let i = from; i < to; i++) {
    const row = <usize>load<u32>(rows + (usize(i) << 2))
    const isPositive = load<u32>(row, ROW_CLASS) == positive
    const bound = rowBound(isPositive, boundPositive, boundNegative, rowWeights, i)
    const dot = dotRow<f64>(row, w) + biasPart
    const margin = isPositive ? dot : -dot
    if (isPositive ? dot > 0 : dot <= 0) correct += 1
    if (logistic) {
      const a = bound * wrongness(margin)
      store<f64>(alpha + (usize(i) << 4), a)
      store<f64>(alpha + (usize(i) << 4), bound - a, 8)
      loss += bound * logisticLoss(margin)
    } else {
      const diagonal = rowDiagonal(isPositive, diagonalPositive, diagonalNegative, rowWeights, i)
      const a = max(1 - margin, 0) / diagonal
      store<f64>(alpha + (usize(i) << 3), a)
      loss += boxLoss(1 - margin, bound, diagonal)
      linear += a
      square += 0.5 * diagonal * a * a
    }
  }
  store<f64>(sums, loss, SUMS_LOSS)
  store<f64>(sums, linear, SUMS_DUAL)
  store<f64>(sums, square, SUMS_ALPHA_MARGIN)
  store<f64>(sums, correct, SUMS_CORRECT)
  store<f64>(sums, 0, SUMS_SUPPORT)
}

/** Multiplies α of all rows by a factor that makes it feasible; the dual objective there. */
export function shortenDual(problem: usize, rows: u32, factor: f64): f64 {
  const table = <usize>load<u32>(problem, PROBLEM_ROWS)
  const alpha = <usize>load<u32>(problem, PROBLEM_ALPHA)
  const positive = load<u32>(problem, PROBLEM_POSITIVE)
  const logistic = load<u32>(problem, PROBLEM_LOGISTIC) != 0
  const boundPositive = boundForPositive(problem)
  const boundNegative = boundForNegative(problem)
  const diagonalPositive = diagonalForPositive(problem)
  const diagonalNegative = diagonalForNegative(problem)
  const rowWeights = rowWeightsOf(problem)
  let sum: f64 = 0
  for (let i: u32 = 0; i < rows; i++) {
    const row = <usize>load<u32>(table + (usize(i) << 2))
    const isPositive = load<u32>(row, ROW_CLASS) == positive
    if (logistic) {
      const bound = rowBound(isPositive, boundPositive, boundNegative, rowWeights, i)
      const at = alpha + (usize(i) << 4)
      const a = factor * load<f64>(at)
      store<f64>(at, a)
      store<f64>(at, bound - a, 8)
      sum += negativeEntropy(a, bound - a, bound)
    } else {
      const diagonal = rowDiagonal(isPositive, diagonalPositive, diagonalNegative, rowWeights, i)
      const at = alpha + (usize(i) << 3)
      const a = factor * load<f64>(at)
      store<f64>(at, a)
      sum += a - 0.5 * diagonal * a * a
    }
  }
  return sum
}
