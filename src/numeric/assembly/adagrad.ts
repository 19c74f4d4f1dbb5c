// One pass of stochastic gradients over rows, in their order, with a step size for each feature: where a method begins that
// looks at all rows for each of its steps.
//
//   G_j += (loss'(m) x_j)²,   w_j += η_j α y x_j,   η_j = r / (r + s_j √G_j),   r = η √(t / N)
//
// s_j is the largest |x_j| so far, so that features of any size move alike; N = Σ Σ_j (x_j / s_j)² over the t rows so far. Duchi,
// Hazan, Singer: Adaptive subgradient methods (JMLR 12, 2011); Ross, Mineiro, Langford: Normalized online learning (UAI 2013).
// No η_j exceeds 1, what ½‖w‖² would allow. α = −loss' is that of the margin behind the step, so that no row overshoots.
import {
  PROBLEM_BIAS, PROBLEM_BIAS_FEATURE, PROBLEM_FOLDS, PROBLEM_HELD_OUT, PROBLEM_LOGISTIC, PROBLEM_POSITIVE, PROBLEM_ROWS, ROW_CLASS,
} from '../layouts'
import { writeEntries } from './entries'
import { wrongness } from './losses'
import {
  boundForNegative, boundForPositive, diagonalForNegative, diagonalForPositive, rowBound, rowDiagonal, rowWeightsOf,
} from './row-costs'

/** η: how far a weight may go at first, as a share of what makes a margin of 1. */
const RATE: f64 = 0.5

/** Moves the n weights at w, over rows from..to of a problem, but for those that are held out. `state` has t, N, and G and s of each weight, f64 all of
 *  them; behind them room for the entries of a row, n f64 and n u32. */
export function adagradRows(problem: usize, from: u32, to: u32, w: usize, n: u32, state: usize): void {
  const rows = <usize>load<u32>(problem, PROBLEM_ROWS)
  const positive = load<u32>(problem, PROBLEM_POSITIVE)
  const logistic = load<u32>(problem, PROBLEM_LOGISTIC) != 0
  const bias = load<f64>(problem, PROBLEM_BIAS)
  const biasFeature = load<u32>(problem, PROBLEM_BIAS_FEATURE)
  const boundPositive = boundForPositive(problem)
  const boundNegative = boundForNegative(problem)
  const diagonalPositive = diagonalForPositive(problem)
  const diagonalNegative = diagonalForNegative(problem)
  const rowWeights = rowWeightsOf(problem)
  const folds = <usize>load<u32>(problem, PROBLEM_FOLDS)
  const heldOut = load<u32>(problem, PROBLEM_HELD_OUT)
  const line = usize(n) << 3
  const squares = state + 16
  const sizes = squares + line
  const values = sizes + line
  const indices = values + line
  let seen = load<f64>(state)
  let norms = load<f64>(state, 8)
  for (let i = from; i < to; i++) {
    if (folds != 0 && u32(load<u8>(folds + usize(i))) == heldOut) continue
    const row = <usize>load<u32>(rows + (usize(i) << 2))
    let entries = writeEntries(row, indices, values)
    if (bias != 0) {
      store<u32>(indices + (usize(entries) << 2), biasFeature)
      store<f64>(values + (usize(entries) << 3), bias)
      entries++
    }
    let dot: f64 = 0
    for (let k: usize = 0; k < usize(entries); k++) {
      const x = load<f64>(values + (k << 3))
      if (x == 0) continue
      const at = usize(load<u32>(indices + (k << 2))) << 3
      const size = sized(w + at, sizes + at, Math.abs(x))
      norms += (x / size) * (x / size)
      dot += load<f64>(w + at) * x
    }
    seen += 1
    const isPositive = load<u32>(row, ROW_CLASS) == positive
    const y: f64 = isPositive ? 1 : -1
    const margin = y * dot
    const bound = rowBound(isPositive, boundPositive, boundNegative, rowWeights, i)
    const diagonal = rowDiagonal(isPositive, diagonalPositive, diagonalNegative, rowWeights, i)
    const a = logistic ? bound * wrongness(margin) : min(max(1 - margin, 0) / diagonal, bound)
    if (a == 0 || norms == 0) continue
    const rate = RATE * Math.sqrt(seen / norms)
    // What a step would change the margin by, for each unit of a.
    let reach: f64 = 0
    for (let k: usize = 0; k < usize(entries); k++) {
      const x = load<f64>(values + (k << 3))
      const at = usize(load<u32>(indices + (k << 2))) << 3
      const g = a * x
      const square = load<f64>(squares + at) + g * g
      store<f64>(squares + at, square)
      const step = (rate * x) / (rate + load<f64>(sizes + at) * Math.sqrt(square))
      store<f64>(values + (k << 3), step)
      reach += step * x
    }
    const taken = y * (logistic ? slopeBehind(margin, bound, reach) : min(max(1 - margin, 0) / (diagonal + reach), bound))
    for (let k: usize = 0; k < usize(entries); k++) {
      const at = w + (usize(load<u32>(indices + (k << 2))) << 3)
      store<f64>(at, load<f64>(at) + taken * load<f64>(values + (k << 3)))
    }
  }
  store<f64>(state, seen)
  store<f64>(state, norms, 8)
}

/** Of the logistic loss: a with a = C / (1 + e^(m + a·reach)), about. */
@inline
function slopeBehind(margin: f64, bound: f64, reach: f64): f64 {
  let low: f64 = 0, high = bound * wrongness(margin)
  for (let round = 0; round < 12; round++) {
    const a = 0.5 * (low + high)
    if (a < bound * wrongness(margin + a * reach)) low = a
    else high = a
  }
  return low
}

/** The largest value of a feature, this one included. A weight that was made for smaller values shrinks with them. */
@inline
function sized(weight: usize, at: usize, x: f64): f64 {
  const size = load<f64>(at)
  if (x <= size) return size
  if (size > 0) store<f64>(weight, load<f64>(weight) * (size / x))
  store<f64>(at, x)
  return x
}
