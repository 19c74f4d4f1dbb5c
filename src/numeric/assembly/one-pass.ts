// The ball of Rai, Daumé and Venkatasubramanian, grown over the row records of one block: what optimise/solvers/one-pass.ts has at
// its head. While rows are visited, w is a scalar times the vector in memory, so that shrinking it costs nothing, and ‖w‖²
// follows each step: ‖w − yx‖² = ‖w‖² − 2y wᵀx + ‖x‖².
import { BALL_LOSS, BALL_RADIUS, BALL_SLACK, BALL_SQUARE, BALL_UPDATES } from '../ball-layout'
import {
  PROBLEM_BIAS, PROBLEM_BIAS_FEATURE, PROBLEM_COUNT, PROBLEM_POSITIVE, PROBLEM_ROWS, PROBLEM_WEIGHTS, ROW_CLASS,
  ROW_NORM,
} from '../layouts'
import { addToBias } from './bias'
import { boxLoss } from './losses'
import { lengthOf, scaleWeights, smallestScale } from './pegasos'
import { axpyRow, dotRow } from './row'
import {
  boundForNegative, boundForPositive, diagonalForNegative, diagonalForPositive, rowBound, rowDiagonal, rowWeightsOf,
} from './row-costs'

/** Takes the rows in, in the order in which they stand. */
export function growBallF64(problem: usize, ball: usize): void { growBall<f64>(problem, ball) }
export function growBallF32(problem: usize, ball: usize): void { growBall<f32>(problem, ball) }

@inline
function growBall<W>(problem: usize, ball: usize): void {
  const rows = <usize>load<u32>(problem, PROBLEM_ROWS)
  const count = load<u32>(problem, PROBLEM_COUNT)
  const w = <usize>load<u32>(problem, PROBLEM_WEIGHTS)
  const weights = load<u32>(problem, PROBLEM_BIAS_FEATURE) + 1
  const positive = load<u32>(problem, PROBLEM_POSITIVE)
  const bias = load<f64>(problem, PROBLEM_BIAS)
  const biasAt = w + usize(weights - 1) * sizeof<W>()
  const boundPositive = boundForPositive(problem)
  const boundNegative = boundForNegative(problem)
  const diagonalPositive = diagonalForPositive(problem)
  const diagonalNegative = diagonalForNegative(problem)
  const rowWeights = rowWeightsOf(problem)
  let radius = load<f64>(ball, BALL_RADIUS)
  let slack = load<f64>(ball, BALL_SLACK)
  let square = load<f64>(ball, BALL_SQUARE)
  let updates = load<f64>(ball, BALL_UPDATES)
  let lossSum: f64 = 0
  let scale = square
  let length = scale * scale * lengthOf<W>(w, weights)
  for (let i: u32 = 0; i < count; i++) {
    const row = <usize>load<u32>(rows + (usize(i) << 2))
    const isPositive = load<u32>(row, ROW_CLASS) == positive
    const y: f64 = isPositive ? 1 : -1
    const bound = rowBound(isPositive, boundPositive, boundNegative, rowWeights, i)
    const diagonal = rowDiagonal(isPositive, diagonalPositive, diagonalNegative, rowWeights, i)
    const norm = load<f64>(row, ROW_NORM) + bias * bias
    let move: f64 = 0
    if (square == 0) {
      // The first row is the ball: w, which is zero, goes all the way.
      lossSum += boxLoss(1, bound, diagonal)
      scale = 1
      move = 1
      length = norm
      slack = diagonal
    } else {
      let dot = dotRow<W>(row, w)
      if (bias != 0) dot += bias * f64(load<W>(biasAt))
      const score = y * scale * dot
      lossSum += boxLoss(1 - score / square, bound, diagonal)
      const distance = Math.sqrt(max(length - 2 * score + norm, 0) + slack + diagonal)
      if (distance < radius) continue
      move = 0.5 * (1 - radius / distance)
      const rest = 1 - move
      length = max(rest * rest * length + 2 * move * rest * score + move * move * norm, 0)
      slack = rest * rest * slack + move * move * diagonal
      radius += 0.5 * (distance - radius)
      scale *= rest
    }
    square = length + slack
    updates += 1
    const step = (y * move) / scale
    axpyRow<W>(row, step, w)
    addToBias<W>(biasAt, bias, step)
    if (scale < smallestScale<W>()) {
      scaleWeights<W>(w, weights, scale)
      scale = 1
      length = lengthOf<W>(w, weights)
      square = length + slack
    }
  }
  if (square > 0) scaleWeights<W>(w, weights, scale / square)
  store<f64>(ball, radius, BALL_RADIUS)
  store<f64>(ball, slack, BALL_SLACK)
  store<f64>(ball, square, BALL_SQUARE)
  store<f64>(ball, updates, BALL_UPDATES)
  store<f64>(ball, lossSum, BALL_LOSS)
}
