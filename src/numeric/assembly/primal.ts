// The primal side of a binary problem, for methods that look at all rows at once: value, gradient and second derivatives.
//
//   P(w) = ½‖w‖² + Σ loss_i(m_i),  m_i = y_i wᵀx_i        α_i = −loss_i'(m_i),  c_i = loss_i''(m_i)
//   ∇P = w − Σ α_i y_i x_i                                ∇²P = I + Σ c_i x_i x_iᵀ
//
// The hinge has no second derivative. Its kink is rounded over a smoothing σ of the margin, which is the box loss of diagonal
// σ / C: the smaller it is, the nearer is the optimum to the hinge's. Certificates are the hinge's own all the same.
//
// The losses' parts are summed here, the regulariser's is the caller's. α_i is feasible for the dual, and with it loss_i is
// the dual part less α_i m_i, so that P − D = ½‖∇P‖²: a gradient is a certificate.
//
// Sums are added to what is there: rows may come in parts, and the sums are the same bits.
import {
  PROBLEM_ALPHA, PROBLEM_BIAS, PROBLEM_BIAS_FEATURE, PROBLEM_FOLDS, PROBLEM_HELD_OUT, PROBLEM_LOGISTIC, PROBLEM_POSITIVE, PROBLEM_ROWS,
  PROBLEM_SMOOTHING, PROBLEM_WEIGHTS, ROW_CLASS, SUMS_ALPHA_MARGIN, SUMS_CORRECT, SUMS_DUAL, SUMS_LOSS, SUMS_SUPPORT,
} from '../layouts'
import { addToBias, biasPartOf } from './bias'
import { addSquares, writeEntries } from './entries'
import { boxLoss, logisticLoss, negativeEntropy, wrongness } from './losses'
import { isLeftOut } from './outliers'
import { axpyRow, dotRow } from './row'
import {
  boundForNegative, boundForPositive, diagonalForNegative, diagonalForPositive, rowBound, rowDiagonal, rowWeightsOf,
} from './row-costs'

/** The diagonal of row i; where the loss has none, that of a hinge whose kink is rounded. */
@inline
function smoothDiagonal(isPositive: bool, positive: f64, negative: f64, rowWeights: usize, i: u32, smoothing: f64, bound: f64): f64 {
  const diagonal = rowDiagonal(isPositive, positive, negative, rowWeights, i)
  return diagonal == 0 ? smoothing / bound : diagonal
}

/** c of a row: the second derivative of its loss at a margin. */
@inline
function curvatureOf(margin: f64, bound: f64, diagonal: f64, logistic: bool): f64 {
  if (logistic) return bound * wrongness(margin) * wrongness(-margin)
  const slack = 1 - margin
  return slack > 0 && slack < bound * diagonal ? 1 / diagonal : 0
}

/** Over rows from..to: v += Σ α y x; where they are wanted, diagonal_j += Σ c x_j², and an n × n matrix += Σ c x xᵀ, half
 *  of it (foldTriangles makes it the lower one), whose room for a row's entries is `scratch`; and the sums of a certificate. */
export function slopeRows(problem: usize, from: u32, to: u32, v: usize, diagonals: usize, matrix: usize, n: u32, scratch: usize, sums: usize): void {
  meetRows<f64>(problem, from, to, 0, v, sums, n, diagonals, matrix, scratch)
}

/** Over rows from..to: product += Σ c x (xᵀd). */
export function curvatureRows(problem: usize, from: u32, to: u32, d: usize, product: usize): void {
  meetRows<f32>(problem, from, to, d, product, 0, 0, 0, 0, 0)
}

/** Over rows from..to: derivatives of the losses along d, at each of `count` steps (f64 at `steps`), added to `slopes`. */
export function lineRows(problem: usize, from: u32, to: u32, d: usize, steps: usize, count: u32, slopes: usize): void {
  meetRows<u32>(problem, from, to, d, slopes, steps, count, 0, 0, 0)
}

/** T says what becomes of a row: f64 is for slopeRows, f32 for curvatureRows, u32 for lineRows. What they sum goes to `out`;
 *  `list` has the sums or the steps, and `n` says how long things are. Rows of the fold that is held out count for nothing. */
@inline
function meetRows<T>(
  problem: usize, from: u32, to: u32, d: usize, out: usize, list: usize, n: u32, diagonals: usize, matrix: usize, scratch: usize,
): void {
  const rows = <usize>load<u32>(problem, PROBLEM_ROWS)
  const alpha = <usize>load<u32>(problem, PROBLEM_ALPHA)
  const w = <usize>load<u32>(problem, PROBLEM_WEIGHTS)
  const positive = load<u32>(problem, PROBLEM_POSITIVE)
  const logistic = load<u32>(problem, PROBLEM_LOGISTIC) != 0
  const bias = load<f64>(problem, PROBLEM_BIAS)
  const biasFeature = load<u32>(problem, PROBLEM_BIAS_FEATURE)
  const biasAt = usize(biasFeature) << 3
  const biasPart = bias == 0 ? 0 : bias * load<f64>(w + biasAt)
  const biasStep = d == 0 || bias == 0 ? 0 : bias * load<f64>(d + biasAt)
  const boundPositive = boundForPositive(problem)
  const boundNegative = boundForNegative(problem)
  const diagonalPositive = diagonalForPositive(problem)
  const diagonalNegative = diagonalForNegative(problem)
  const rowWeights = rowWeightsOf(problem)
  const smoothing = load<f64>(problem, PROBLEM_SMOOTHING)
  const folds = <usize>load<u32>(problem, PROBLEM_FOLDS)
  const heldOut = load<u32>(problem, PROBLEM_HELD_OUT)
  let lossSum: f64 = 0, dualSum: f64 = 0, smoothSum: f64 = 0, correct: f64 = 0, support: f64 = 0
  if (isFloat<T>() && sizeof<T>() == 8) {
    lossSum = load<f64>(list, SUMS_LOSS)
    dualSum = load<f64>(list, SUMS_DUAL)
    // The losses as they are minimised, where a certificate has something that nobody needs here.
    smoothSum = load<f64>(list, SUMS_ALPHA_MARGIN)
    correct = load<f64>(list, SUMS_CORRECT)
    support = load<f64>(list, SUMS_SUPPORT)
  }
  for (let i = from; i < to; i++) {
    if (folds != 0 && u32(load<u8>(folds + usize(i))) == heldOut) continue
    const leftOut = isLeftOut(alpha, i)
    if ((!isFloat<T>() || sizeof<T>() == 4) && leftOut) continue
    const row = <usize>load<u32>(rows + (usize(i) << 2))
    const isPositive = load<u32>(row, ROW_CLASS) == positive
    const y: f64 = isPositive ? 1 : -1
    const bound = rowBound(isPositive, boundPositive, boundNegative, rowWeights, i)
    const diagonal = smoothDiagonal(isPositive, diagonalPositive, diagonalNegative, rowWeights, i, smoothing, bound)
    const dot = dotRow<f64>(row, w) + biasPart
    const margin = y * dot
    if (!isFloat<T>()) {
      const change = y * (dotRow<f64>(row, d) + biasStep)
      for (let k: usize = 0; k < usize(n) << 3; k += 8) {
        const m = margin + load<f64>(list + k) * change
        const a = logistic ? bound * wrongness(m) : max(0, min((1 - m) / diagonal, bound))
        store<f64>(out + k, load<f64>(out + k) - a * change)
      }
    } else if (sizeof<T>() == 4) {
      const c = curvatureOf(margin, bound, diagonal, logistic)
      if (c != 0) addRow(row, c * (dotRow<f64>(row, d) + biasStep), out, bias, biasAt)
    } else {
      if (isPositive ? dot > 0 : dot <= 0) correct += 1
      if (leftOut) continue
      let a: f64
      if (logistic) {
        a = bound * wrongness(margin)
        const loss = bound * logisticLoss(margin)
        lossSum += loss
        smoothSum += loss
        dualSum += negativeEntropy(a, bound * wrongness(-margin), bound)
      } else {
        const slack = 1 - margin
        if (slack <= 0) continue
        a = min(slack / diagonal, bound)
        const smooth = boxLoss(slack, bound, diagonal)
        smoothSum += smooth
        lossSum += smoothing > 0 ? bound * slack : smooth
        dualSum += smoothing > 0 ? a : a - 0.5 * diagonal * a * a
      }
      support += 1
      addRow(row, a * y, out, bias, biasAt)
      const c = curvatureOf(margin, bound, diagonal, logistic)
      if (c == 0) continue
      if (diagonals != 0) {
        addSquares(row, diagonals, c)
        if (bias != 0) store<f64>(diagonals + biasAt, load<f64>(diagonals + biasAt) + c * bias * bias)
      }
      if (matrix != 0) addProducts(row, c, bias, biasFeature, matrix, n, scratch)
    }
  }
  if (isFloat<T>() && sizeof<T>() == 8) {
    store<f64>(list, lossSum, SUMS_LOSS)
    store<f64>(list, dualSum, SUMS_DUAL)
    store<f64>(list, smoothSum, SUMS_ALPHA_MARGIN)
    store<f64>(list, correct, SUMS_CORRECT)
    store<f64>(list, support, SUMS_SUPPORT)
  }
}

/** to += step · row, the bias included. */
@inline
export function addRow(row: usize, step: f64, to: usize, bias: f64, biasAt: usize): void {
  axpyRow<f64>(row, step, to)
  addToBias<f64>(to + biasAt, bias, step)
}

/** A matrix += c x xᵀ, each pair of features once: in the lower triangle, or in the upper one where the row has the larger
 *  feature first: features that were renumbered come in any order. */
@inline
export function addProducts(row: usize, c: f64, bias: f64, biasFeature: u32, matrix: usize, n: u32, scratch: usize): void {
  const values = scratch + (((usize(n) << 2) + 7) & ~7)
  let count = writeEntries(row, scratch, values)
  if (bias != 0) {
    store<u32>(scratch + (usize(count) << 2), biasFeature)
    store<f64>(values + (usize(count) << 3), bias)
    count++
  }
  if (areInOrder(scratch, count)) {
    // Of features without a gap, two at a time: the bits are the same.
    const first = usize(load<u32>(scratch)) << 3
    for (let p: usize = 0; p < usize(count); p++) {
      const s = c * load<f64>(values + (p << 3))
      const line = matrix + ((usize(load<u32>(scratch + (p << 2))) * usize(n)) << 3) + first
      const both = f64x2.splat(s)
      const end = (p + 1) << 3
      let q: usize = 0
      for (; q + 16 <= end; q += 16) {
        v128.store(line + q, f64x2.add(v128.load(line + q), f64x2.mul(both, v128.load(values + q))))
      }
      if (q < end) store<f64>(line + q, load<f64>(line + q) + s * load<f64>(values + q))
    }
    return
  }
  for (let p: u32 = 0; p < count; p++) {
    const j = load<u32>(scratch + (usize(p) << 2))
    const s = c * load<f64>(values + (usize(p) << 3))
    const line = matrix + ((usize(j) * usize(n)) << 3)
    for (let q: usize = 0; q <= usize(p); q++) {
      const at = line + (usize(load<u32>(scratch + (q << 2))) << 3)
      store<f64>(at, load<f64>(at) + s * load<f64>(values + (q << 3)))
    }
  }
}

/** Whether each feature of a row is one more than the last. */
@inline
function areInOrder(features: usize, count: u32): bool {
  if (count < 4) return false
  const end = features + (usize(count) << 2)
  let next = load<u32>(features)
  for (let at = features; at < end; at += 4, next++) if (load<u32>(at) != next) return false
  return true
}

/** Scores of the rows from..to that were held out, f32, into a column: row i has its place at i. */
export function scoreHeldOutRows(problem: usize, from: u32, to: u32, column: usize): void {
  const rows = <usize>load<u32>(problem, PROBLEM_ROWS)
  const alpha = <usize>load<u32>(problem, PROBLEM_ALPHA)
  const w = <usize>load<u32>(problem, PROBLEM_WEIGHTS)
  const biasPart = biasPartOf<f64>(problem, w)
  const folds = <usize>load<u32>(problem, PROBLEM_FOLDS)
  const heldOut = load<u32>(problem, PROBLEM_HELD_OUT)
  if (folds == 0) return
  for (let i = from; i < to; i++) {
    if (u32(load<u8>(folds + usize(i))) != heldOut) continue
    store<f32>(column + (usize(i) << 2), f32(dotRow<f64>(<usize>load<u32>(rows + (usize(i) << 2)), w) + biasPart))
  }
}

/** Dual variables of a box loss with a second derivative, as w has them: α = −loss'(m). */
export function dualOfMargins(problem: usize, count: u32, alpha: usize): void {
  const rows = <usize>load<u32>(problem, PROBLEM_ROWS)
  const w = <usize>load<u32>(problem, PROBLEM_WEIGHTS)
  const positive = load<u32>(problem, PROBLEM_POSITIVE)
  const biasPart = biasPartOf<f64>(problem, w)
  const boundPositive = boundForPositive(problem)
  const boundNegative = boundForNegative(problem)
  const diagonalPositive = diagonalForPositive(problem)
  const diagonalNegative = diagonalForNegative(problem)
  const rowWeights = rowWeightsOf(problem)
  for (let i: u32 = 0; i < count; i++) {
    if (load<f64>(alpha + (usize(i) << 3)) < 0) continue
    const row = <usize>load<u32>(rows + (usize(i) << 2))
    const isPositive = load<u32>(row, ROW_CLASS) == positive
    const bound = rowBound(isPositive, boundPositive, boundNegative, rowWeights, i)
    const diagonal = rowDiagonal(isPositive, diagonalPositive, diagonalNegative, rowWeights, i)
    const slack = 1 - (isPositive ? 1 : -1) * (dotRow<f64>(row, w) + biasPart)
    store<f64>(alpha + (usize(i) << 3), slack > 0 ? min(slack / diagonal, bound) : 0)
  }
}
