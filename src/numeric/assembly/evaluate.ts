// The sums of which a certificate is made, by one reading pass that shares nothing with the sweep but the row space.
// With w = Σ α y x:  primal = ½‖w‖² + Σ loss,  dual = Σ (dual part) − ½‖w‖². Σ α·margin is wᵀ(Σ α y x), from which the
// caller learns ‖Σ α y x‖² even when rounding has moved w a little.
import {
  PROBLEM_ALPHA, PROBLEM_FOLDS, PROBLEM_HELD_OUT, PROBLEM_LOGISTIC, PROBLEM_MARGINS,
  PROBLEM_POSITIVE, PROBLEM_ROWS, PROBLEM_WEIGHTS, ROW_CLASS, SUMS_ALPHA_MARGIN, SUMS_CORRECT, SUMS_DUAL, SUMS_LOSS, SUMS_SUPPORT,
} from '../layouts'
import { addLosses, lookAtRows } from './along'
import { biasPartOf } from './bias'
import { boxLoss, logisticLoss, negativeEntropy } from './losses'
import { isLeftOut } from './outliers'
import { dotRow } from './row'
import {
  boundForNegative, boundForPositive, diagonalForNegative, diagonalForPositive, rowBound, rowDiagonal, rowWeightsOf,
} from './row-costs'

/** Sums over rows from..to, written to `sums`; rows of the fold that is held out count for nothing. */
export function evaluateF64(problem: usize, from: u32, to: u32, sums: usize): void { evaluate<f64, f64>(problem, from, to, sums, 0) }
export function evaluateF32(problem: usize, from: u32, to: u32, sums: usize): void { evaluate<f32, f64>(problem, from, to, sums, 0) }
/** The same, and losses along the weights: see along.ts. One dot product serves both. */
export function evaluateAlongF64(problem: usize, from: u32, to: u32, sums: usize, along: usize): void { evaluate<f64, bool>(problem, from, to, sums, along) }
export function evaluateAlongF32(problem: usize, from: u32, to: u32, sums: usize, along: usize): void { evaluate<f32, bool>(problem, from, to, sums, along) }

// A is bool where losses along the weights are summed as well.
@inline
function evaluate<W, A>(problem: usize, from: u32, to: u32, sums: usize, along: usize): void {
  const rows = <usize>load<u32>(problem, PROBLEM_ROWS)
  const alpha = <usize>load<u32>(problem, PROBLEM_ALPHA)
  const w = <usize>load<u32>(problem, PROBLEM_WEIGHTS)
  const positive = load<u32>(problem, PROBLEM_POSITIVE)
  const logistic = load<u32>(problem, PROBLEM_LOGISTIC) != 0
  const biasPart = biasPartOf<W>(problem, w)
  const boundPositive = boundForPositive(problem)
  const boundNegative = boundForNegative(problem)
  const diagonalPositive = diagonalForPositive(problem)
  const diagonalNegative = diagonalForNegative(problem)
  const rowWeights = rowWeightsOf(problem)
  const margins = <usize>load<u32>(problem, PROBLEM_MARGINS)
  const folds = <usize>load<u32>(problem, PROBLEM_FOLDS)
  const heldOut = load<u32>(problem, PROBLEM_HELD_OUT)
  let lossSum: f64 = 0, dualSum: f64 = 0, alphaMargin: f64 = 0, correct: f64 = 0, support: f64 = 0
  for (let i = from; i < to; i++) {
    if (folds != 0 && u32(load<u8>(folds + usize(i))) == heldOut) continue
    const row = <usize>load<u32>(rows + (usize(i) << 2))
    const isPositive = load<u32>(row, ROW_CLASS) == positive
    const bound = rowBound(isPositive, boundPositive, boundNegative, rowWeights, i)
    const dot = dotRow<W>(row, w) + biasPart
    const margin = isPositive ? dot : -dot
    if (margins != 0) store<f64>(margins + (usize(i) << 3), margin)
    if (isBoolean<A>() && !isLeftOut(alpha, i)) {
      const diagonal = rowDiagonal(isPositive, diagonalPositive, diagonalNegative, rowWeights, i)
      addLosses(along, 0, margin, bound, diagonal, logistic)
    }
    if (isPositive ? dot > 0 : dot <= 0) correct += 1
    if (logistic) {
      const at = alpha + (usize(i) << 4)
      const a = load<f64>(at)
      lossSum += bound * logisticLoss(margin)
      dualSum += negativeEntropy(a, load<f64>(at, 8), bound)
      alphaMargin += a * margin
      support += 1
    } else {
      const diagonal = rowDiagonal(isPositive, diagonalPositive, diagonalNegative, rowWeights, i)
      // A method without dual variables has none to tell; a row that is left out counts for nothing.
      const a = alpha == 0 ? 0 : load<f64>(alpha + (usize(i) << 3))
      if (a < 0) continue
      lossSum += boxLoss(1 - margin, bound, diagonal)
      dualSum += a - 0.5 * diagonal * a * a
      alphaMargin += a * margin
      if (a > 0) support += 1
    }
  }
  if (isBoolean<A>()) lookAtRows(rows, from, to, along)
  store<f64>(sums, lossSum, SUMS_LOSS)
  store<f64>(sums, dualSum, SUMS_DUAL)
  store<f64>(sums, alphaMargin, SUMS_ALPHA_MARGIN)
  store<f64>(sums, correct, SUMS_CORRECT)
  store<f64>(sums, support, SUMS_SUPPORT)
}
