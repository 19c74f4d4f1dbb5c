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
import {
  PROBLEM_BIAS, PROBLEM_BIAS_FEATURE, PROBLEM_LOGISTIC, PROBLEM_POSITIVE, PROBLEM_ROWS, PROBLEM_SMOOTHING, PROBLEM_WEIGHTS, ROW_CLASS,
  SUMS_ALPHA_MARGIN, SUMS_CORRECT, SUMS_DUAL, SUMS_LOSS, SUMS_SUPPORT,
} from '../layouts'
import { addSquares, writeEntries } from './entries'
import { boxLoss, logisticLoss, negativeEntropy, wrongness } from './losses'
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

/** Over rows from..to: v += Σ α y x; where they are wanted, diagonal_j += Σ c x_j², and the lower triangle of an n × n matrix
 *  += Σ c x xᵀ, whose room for a row's entries is `scratch`; and the sums of a certificate. */
export function slopeRows(problem: usize, from: u32, to: u32, v: usize, diagonals: usize, matrix: usize, n: u32, scratch: usize, sums: usize): void {
  const rows = <usize>load<u32>(problem, PROBLEM_ROWS)
  const w = <usize>load<u32>(problem, PROBLEM_WEIGHTS)
  const positive = load<u32>(problem, PROBLEM_POSITIVE)
  const logistic = load<u32>(problem, PROBLEM_LOGISTIC) != 0
  const bias = load<f64>(problem, PROBLEM_BIAS)
  const biasFeature = load<u32>(problem, PROBLEM_BIAS_FEATURE)
  const biasAt = usize(biasFeature) << 3
  const biasPart = bias == 0 ? 0 : bias * load<f64>(w + biasAt)
  const boundPositive = boundForPositive(problem)
  const boundNegative = boundForNegative(problem)
  const diagonalPositive = diagonalForPositive(problem)
  const diagonalNegative = diagonalForNegative(problem)
  const rowWeights = rowWeightsOf(problem)
  const smoothing = load<f64>(problem, PROBLEM_SMOOTHING)
  let lossSum: f64 = 0, dualSum: f64 = 0, smoothSum: f64 = 0, correct: f64 = 0, support: f64 = 0
  for (let i = from; i < to; i++) {
    const row = <usize>load<u32>(rows + (usize(i) << 2))
    const isPositive = load<u32>(row, ROW_CLASS) == positive
    const y: f64 = isPositive ? 1 : -1
    const bound = rowBound(isPositive, boundPositive, boundNegative, rowWeights, i)
    const diagonal = smoothDiagonal(isPositive, diagonalPositive, diagonalNegative, rowWeights, i, smoothing, bound)
    const dot = dotRow<f64>(row, w) + biasPart
    const margin = y * dot
    if (isPositive ? dot > 0 : dot <= 0) correct += 1
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
    axpyRow<f64>(row, a * y, v)
    if (bias != 0) store<f64>(v + biasAt, load<f64>(v + biasAt) + a * y * bias)
    const c = curvatureOf(margin, bound, diagonal, logistic)
    if (c == 0) continue
    if (diagonals != 0) {
      addSquares(row, diagonals, c)
      if (bias != 0) store<f64>(diagonals + biasAt, load<f64>(diagonals + biasAt) + c * bias * bias)
    }
    if (matrix != 0) addProducts(row, c, bias, biasFeature, matrix, n, scratch)
  }
  store<f64>(sums, lossSum, SUMS_LOSS)
  store<f64>(sums, dualSum, SUMS_DUAL)
  // The losses as they are minimised, where a certificate has something that nobody needs here.
  store<f64>(sums, smoothSum, SUMS_ALPHA_MARGIN)
  store<f64>(sums, correct, SUMS_CORRECT)
  store<f64>(sums, support, SUMS_SUPPORT)
}

/** The lower triangle of a matrix += c x xᵀ. Features that were renumbered come in any order. */
@inline
function addProducts(row: usize, c: f64, bias: f64, biasFeature: u32, matrix: usize, n: u32, scratch: usize): void {
  const values = scratch + (((usize(n) << 2) + 7) & ~7)
  let count = writeEntries(row, scratch, values)
  if (bias != 0) {
    store<u32>(scratch + (usize(count) << 2), biasFeature)
    store<f64>(values + (usize(count) << 3), bias)
    count++
  }
  for (let p: u32 = 0; p < count; p++) {
    const j = load<u32>(scratch + (usize(p) << 2))
    const s = c * load<f64>(values + (usize(p) << 3))
    for (let q: u32 = 0; q <= p; q++) {
      const k = load<u32>(scratch + (usize(q) << 2))
      const at = matrix + ((usize(max(j, k)) * usize(n) + usize(min(j, k))) << 3)
      store<f64>(at, load<f64>(at) + s * load<f64>(values + (usize(q) << 3)))
    }
  }
}

/** Over rows from..to: product += Σ c x (xᵀd). */
export function curvatureRows(problem: usize, from: u32, to: u32, d: usize, product: usize): void {
  const rows = <usize>load<u32>(problem, PROBLEM_ROWS)
  const w = <usize>load<u32>(problem, PROBLEM_WEIGHTS)
  const positive = load<u32>(problem, PROBLEM_POSITIVE)
  const logistic = load<u32>(problem, PROBLEM_LOGISTIC) != 0
  const bias = load<f64>(problem, PROBLEM_BIAS)
  const biasAt = usize(load<u32>(problem, PROBLEM_BIAS_FEATURE)) << 3
  const biasPart = bias == 0 ? 0 : bias * load<f64>(w + biasAt)
  const biasStep = bias == 0 ? 0 : bias * load<f64>(d + biasAt)
  const boundPositive = boundForPositive(problem)
  const boundNegative = boundForNegative(problem)
  const diagonalPositive = diagonalForPositive(problem)
  const diagonalNegative = diagonalForNegative(problem)
  const rowWeights = rowWeightsOf(problem)
  const smoothing = load<f64>(problem, PROBLEM_SMOOTHING)
  for (let i = from; i < to; i++) {
    const row = <usize>load<u32>(rows + (usize(i) << 2))
    const isPositive = load<u32>(row, ROW_CLASS) == positive
    const bound = rowBound(isPositive, boundPositive, boundNegative, rowWeights, i)
    const diagonal = smoothDiagonal(isPositive, diagonalPositive, diagonalNegative, rowWeights, i, smoothing, bound)
    const dot = dotRow<f64>(row, w) + biasPart
    const c = curvatureOf(isPositive ? dot : -dot, bound, diagonal, logistic)
    if (c == 0) continue
    const step = c * (dotRow<f64>(row, d) + biasStep)
    axpyRow<f64>(row, step, product)
    if (bias != 0) store<f64>(product + biasAt, load<f64>(product + biasAt) + step * bias)
  }
}

/** Over rows from..to: derivatives of the losses along d, at each of `count` steps (f64 at `steps`), added to `slopes`. */
export function lineRows(problem: usize, from: u32, to: u32, d: usize, steps: usize, count: u32, slopes: usize): void {
  const rows = <usize>load<u32>(problem, PROBLEM_ROWS)
  const w = <usize>load<u32>(problem, PROBLEM_WEIGHTS)
  const positive = load<u32>(problem, PROBLEM_POSITIVE)
  const logistic = load<u32>(problem, PROBLEM_LOGISTIC) != 0
  const bias = load<f64>(problem, PROBLEM_BIAS)
  const biasAt = usize(load<u32>(problem, PROBLEM_BIAS_FEATURE)) << 3
  const biasPart = bias == 0 ? 0 : bias * load<f64>(w + biasAt)
  const biasStep = bias == 0 ? 0 : bias * load<f64>(d + biasAt)
  const boundPositive = boundForPositive(problem)
  const boundNegative = boundForNegative(problem)
  const diagonalPositive = diagonalForPositive(problem)
  const diagonalNegative = diagonalForNegative(problem)
  const rowWeights = rowWeightsOf(problem)
  const smoothing = load<f64>(problem, PROBLEM_SMOOTHING)
  for (let i = from; i < to; i++) {
    const row = <usize>load<u32>(rows + (usize(i) << 2))
    const isPositive = load<u32>(row, ROW_CLASS) == positive
    const y: f64 = isPositive ? 1 : -1
    const bound = rowBound(isPositive, boundPositive, boundNegative, rowWeights, i)
    const diagonal = smoothDiagonal(isPositive, diagonalPositive, diagonalNegative, rowWeights, i, smoothing, bound)
    const margin = y * (dotRow<f64>(row, w) + biasPart)
    const change = y * (dotRow<f64>(row, d) + biasStep)
    for (let k: usize = 0; k < usize(count) << 3; k += 8) {
      const m = margin + load<f64>(steps + k) * change
      const a = logistic ? bound * wrongness(m) : max(0, min((1 - m) / diagonal, bound))
      store<f64>(slopes + k, load<f64>(slopes + k) - a * change)
    }
  }
}

/** Dual variables of a box loss with a second derivative, as w has them: α = −loss'(m). */
export function dualOfMargins(problem: usize, count: u32, alpha: usize): void {
  const rows = <usize>load<u32>(problem, PROBLEM_ROWS)
  const w = <usize>load<u32>(problem, PROBLEM_WEIGHTS)
  const positive = load<u32>(problem, PROBLEM_POSITIVE)
  const bias = load<f64>(problem, PROBLEM_BIAS)
  const biasPart = bias == 0 ? 0 : bias * load<f64>(w + (usize(load<u32>(problem, PROBLEM_BIAS_FEATURE)) << 3))
  const boundPositive = boundForPositive(problem)
  const boundNegative = boundForNegative(problem)
  const diagonalPositive = diagonalForPositive(problem)
  const diagonalNegative = diagonalForNegative(problem)
  const rowWeights = rowWeightsOf(problem)
  for (let i: u32 = 0; i < count; i++) {
    const row = <usize>load<u32>(rows + (usize(i) << 2))
    const isPositive = load<u32>(row, ROW_CLASS) == positive
    const bound = rowBound(isPositive, boundPositive, boundNegative, rowWeights, i)
    const diagonal = rowDiagonal(isPositive, diagonalPositive, diagonalNegative, rowWeights, i)
    const slack = 1 - (isPositive ? 1 : -1) * (dotRow<f64>(row, w) + biasPart)
    store<f64>(alpha + (usize(i) << 3), slack > 0 ? min(slack / diagonal, bound) : 0)
  }
}
