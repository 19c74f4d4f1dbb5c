// Rows that a truncated loss gives up: outliers.
//
//   min_w  ½‖w‖² + Σ_i min(loss_i(m_i), loss_i(limit)),  m_i = y_i wᵀx_i             an outlier has m_i < limit
//
// Each convex problem on the way there is one of the other rows. A row that is left out of it says so by a negative dual
// variable: what a row is to one model stands beside the row's number for that model, goes with it into blocks and
// checkpoints, and costs no memory. Duals of boxes are never negative otherwise. Loops that meet one pass the row over.
import {
  PROBLEM_ALPHA, PROBLEM_BIAS, PROBLEM_BIAS_FEATURE, PROBLEM_POSITIVE, PROBLEM_ROWS, PROBLEM_WEIGHTS, ROW_CLASS,
  SUMS_ALPHA_MARGIN, SUMS_CORRECT, SUMS_DUAL, SUMS_LOSS, SUMS_SUPPORT,
} from '../layouts'
import { addToBias, biasPartOf } from './bias'
import { boxLoss } from './losses'
import { axpyRow, dotRow } from './row'
import {
  boundForNegative, boundForPositive, diagonalForNegative, diagonalForPositive, rowBound, rowDiagonal, rowWeightsOf,
} from './row-costs'

/** What the dual variable of a row is that is left out. */
const LEFT_OUT: f64 = -1

/** Whether row i is left out. There may be no dual variables. Those of the logistic loss are pairs, and none is negative. */
@inline
export function isLeftOut(alpha: usize, i: u32): bool {
  return alpha != 0 && load<f64>(alpha + (usize(i) << 3)) < 0
}

/** Looks at rows from..to with the weights times a factor: which of them are outliers, u8 each at `marks`, and what those
 *  that are none so far have in w, added up at `parts` where that is asked for. Rows of a fold that the model does not see are
 *  passed over: `folds` is u8 each, or 0. The sums are the truncated losses, the outliers, the rows that are on the other side
 *  than before, the rows on the right side of the plane, and all that were looked at. */
export function findOutliersF64(problem: usize, from: u32, to: u32, limit: f64, factor: f64, marks: usize, parts: usize, sums: usize, folds: usize, heldOut: u32): void { findOutliers<f64>(problem, from, to, limit, factor, marks, parts, sums, folds, heldOut) }
export function findOutliersF32(problem: usize, from: u32, to: u32, limit: f64, factor: f64, marks: usize, parts: usize, sums: usize, folds: usize, heldOut: u32): void { findOutliers<f32>(problem, from, to, limit, factor, marks, parts, sums, folds, heldOut) }

@inline
function findOutliers<W>(problem: usize, from: u32, to: u32, limit: f64, factor: f64, marks: usize, parts: usize, sums: usize, folds: usize, heldOut: u32): void {
  const rows = <usize>load<u32>(problem, PROBLEM_ROWS)
  const alpha = <usize>load<u32>(problem, PROBLEM_ALPHA)
  const w = <usize>load<u32>(problem, PROBLEM_WEIGHTS)
  const positive = load<u32>(problem, PROBLEM_POSITIVE)
  const bias = load<f64>(problem, PROBLEM_BIAS)
  const biasAt = usize(load<u32>(problem, PROBLEM_BIAS_FEATURE)) * sizeof<W>()
  const biasPart = biasPartOf<W>(problem, w)
  const boundPositive = boundForPositive(problem)
  const boundNegative = boundForNegative(problem)
  const diagonalPositive = diagonalForPositive(problem)
  const diagonalNegative = diagonalForNegative(problem)
  const rowWeights = rowWeightsOf(problem)
  let lossSum: f64 = 0, outliers: f64 = 0, changed: f64 = 0, correct: f64 = 0, seen: f64 = 0
  for (let i = from; i < to; i++) {
    if (folds != 0 && u32(load<u8>(folds + usize(i - from))) == heldOut) continue
    seen += 1
    const row = <usize>load<u32>(rows + (usize(i) << 2))
    const isPositive = load<u32>(row, ROW_CLASS) == positive
    const bound = rowBound(isPositive, boundPositive, boundNegative, rowWeights, i)
    const diagonal = rowDiagonal(isPositive, diagonalPositive, diagonalNegative, rowWeights, i)
    const dot = factor * (dotRow<W>(row, w) + biasPart)
    const margin = isPositive ? dot : -dot
    if (isPositive ? dot > 0 : dot <= 0) correct += 1
    const isOutlier = margin < limit
    lossSum += boxLoss(1 - max(margin, limit), bound, diagonal)
    if (isOutlier) outliers += 1
    store<u8>(marks + usize(i - from), isOutlier ? 1 : 0)
    const a = load<f64>(alpha + (usize(i) << 3))
    if (isOutlier != (a < 0)) changed += 1
    if (!isOutlier || !(a > 0) || parts == 0) continue
    const step = isPositive ? a : -a
    axpyRow<W>(row, step, parts)
    addToBias<W>(parts + biasAt, bias, step)
  }
  store<f64>(sums, lossSum, SUMS_LOSS)
  store<f64>(sums, outliers, SUMS_DUAL)
  store<f64>(sums, changed, SUMS_ALPHA_MARGIN)
  store<f64>(sums, correct, SUMS_CORRECT)
  store<f64>(sums, seen, SUMS_SUPPORT)
}

/** Leaves the marked rows out from now on, and takes the others in. */
export function leaveOut(alpha: usize, marks: usize, rows: u32): void {
  for (let i: u32 = 0; i < rows; i++) {
    const at = alpha + (usize(i) << 3)
    const isOut = load<f64>(at) < 0
    if (load<u8>(marks + usize(i)) != 0) {
      if (!isOut) store<f64>(at, LEFT_OUT)
    } else if (isOut) store<f64>(at, 0)
  }
}

/** w −= what outliers had in it. */
export function takeOutF64(w: usize, parts: usize, count: u32): void { takeOut<f64>(w, parts, count) }
export function takeOutF32(w: usize, parts: usize, count: u32): void { takeOut<f32>(w, parts, count) }

@inline
function takeOut<W>(w: usize, parts: usize, count: u32): void {
  for (let j: u32 = 0; j < count; j++) {
    const at = usize(j) * sizeof<W>()
    store<W>(w + at, load<W>(w + at) - load<W>(parts + at))
  }
}
