// What ranks do between two passes with the dual variables of their rows: see optimise/solvers/over-ranks.ts. Lists of numbers have
// one f64 a row. A row whose second derivative is negative in its list is not free: it stands at a bound, and stays there.
import {
  PROBLEM_ALPHA, PROBLEM_BIAS, PROBLEM_BIAS_FEATURE, PROBLEM_LOGISTIC, PROBLEM_POSITIVE, PROBLEM_ROWS, PROBLEM_WEIGHTS, ROW_CLASS, ROW_NORM,
} from '../layouts'
import { addToBias, biasPartOf } from './bias'
import { negativeEntropy } from './losses'
import { axpyRow, dotRow } from './row'
import {
  boundForNegative, boundForPositive, diagonalForNegative, diagonalForPositive, rowBound, rowDiagonal, rowWeightsOf,
} from './row-costs'

/** to = from + step · (to − from). A number that has not moved stays as it is, bit by bit. */
export function moveTowards(to: usize, from: usize, step: f64, count: u32): void {
  for (const end = to + (usize(count) << 3); to < end; to += 8, from += 8) {
    const old = load<f64>(from)
    store<f64>(to, old + step * (load<f64>(to) - old))
  }
}

/** What the separable part of a box dual has on its diagonal, for rows from..to. */
export function listDiagonals(problem: usize, from: u32, to: u32, out: usize): void {
  const rows = <usize>load<u32>(problem, PROBLEM_ROWS)
  const positive = load<u32>(problem, PROBLEM_POSITIVE)
  const diagonalPositive = diagonalForPositive(problem)
  const diagonalNegative = diagonalForNegative(problem)
  const rowWeights = rowWeightsOf(problem)
  for (let i = from; i < to; i++) {
    const isPositive = load<u32>(<usize>load<u32>(rows + (usize(i) << 2)), ROW_CLASS) == positive
    store<f64>(out + (usize(i) << 3), rowDiagonal(isPositive, diagonalPositive, diagonalNegative, rowWeights, i))
  }
}

/** Adds to three f64, over rows from..to: the separable part of the dual at the dual variables before, at those now, and its slope
 *  from the first to the second. `before`: of row 0 on. `diagonals`: the same for what listDiagonals gave, when rows are not here; 0 when
 *  they are. The entropic dual needs neither. */
export function stepSums(problem: usize, from: u32, to: u32, before: usize, diagonals: usize, sums: usize): void {
  const rows = <usize>load<u32>(problem, PROBLEM_ROWS)
  const alpha = <usize>load<u32>(problem, PROBLEM_ALPHA)
  const positive = load<u32>(problem, PROBLEM_POSITIVE)
  const logistic = load<u32>(problem, PROBLEM_LOGISTIC) != 0
  const diagonalPositive = diagonalForPositive(problem)
  const diagonalNegative = diagonalForNegative(problem)
  const rowWeights = rowWeightsOf(problem)
  let first = load<f64>(sums), last = load<f64>(sums, 8), slope = load<f64>(sums, 16)
  for (let i = from; i < to; i++) {
    if (logistic) {
      const at = usize(i) << 4
      const old = load<f64>(before + at), oldRest = load<f64>(before + at, 8)
      const a = load<f64>(alpha + at), rest = load<f64>(alpha + at, 8)
      first += negativeEntropy(old, oldRest, old + oldRest)
      last += negativeEntropy(a, rest, a + rest)
      if (a != old) slope += (a - old) * Math.log(oldRest / old)
    } else {
      const old = load<f64>(before + (usize(i) << 3))
      const a = load<f64>(alpha + (usize(i) << 3))
      let diagonal: f64
      if (diagonals != 0) diagonal = load<f64>(diagonals + (usize(i) << 3))
      else {
        const isPositive = load<u32>(<usize>load<u32>(rows + (usize(i) << 2)), ROW_CLASS) == positive
        diagonal = rowDiagonal(isPositive, diagonalPositive, diagonalNegative, rowWeights, i)
      }
      first += old - 0.5 * diagonal * old * old
      last += a - 0.5 * diagonal * a * a
      slope += (a - old) * (1 - diagonal * old)
    }
  }
  store<f64>(sums, first)
  store<f64>(sums, last, 8)
  store<f64>(sums, slope, 16)
}

/** Of the entropic dual: its separable part at before + step · (alpha − before). */
export function entropyAlong(alpha: usize, before: usize, step: f64, rows: u32): f64 {
  let sum: f64 = 0
  for (const end = alpha + (usize(rows) << 4); alpha < end; alpha += 16, before += 16) {
    const old = load<f64>(before), oldRest = load<f64>(before, 8)
    const a = old + step * (load<f64>(alpha) - old)
    const rest = oldRest + step * (load<f64>(alpha, 8) - oldRest)
    sum += negativeEntropy(a, rest, a + rest)
  }
  return sum
}

/** Slopes of the dual by the dual variables of rows from..to, 0 of those that are not free, and second derivatives of its separable
 *  part, with their signs turned. A box dual may have none of its own: `holding` adds a share of each row's square, so that no row
 *  goes far. */
export function freeRows(problem: usize, from: u32, to: u32, slopes: usize, seconds: usize, holding: f64): void {
  const rows = <usize>load<u32>(problem, PROBLEM_ROWS)
  const alpha = <usize>load<u32>(problem, PROBLEM_ALPHA)
  const w = <usize>load<u32>(problem, PROBLEM_WEIGHTS)
  const positive = load<u32>(problem, PROBLEM_POSITIVE)
  const logistic = load<u32>(problem, PROBLEM_LOGISTIC) != 0
  const bias = load<f64>(problem, PROBLEM_BIAS)
  const biasPart = biasPartOf<f64>(problem, w)
  const boundPositive = boundForPositive(problem)
  const boundNegative = boundForNegative(problem)
  const diagonalPositive = diagonalForPositive(problem)
  const diagonalNegative = diagonalForNegative(problem)
  const rowWeights = rowWeightsOf(problem)
  for (let i = from; i < to; i++) {
    const row = <usize>load<u32>(rows + (usize(i) << 2))
    const isPositive = load<u32>(row, ROW_CLASS) == positive
    const at = usize(i) << 3
    let slope: f64 = 0, second: f64 = -1
    if (logistic) {
      const a = load<f64>(alpha + (at << 1)), rest = load<f64>(alpha + (at << 1), 8)
      const dot = dotRow<f64>(row, w) + biasPart
      slope = Math.log(rest / a) - (isPositive ? dot : -dot)
      second = 1 / a + 1 / rest
    } else {
      const a = load<f64>(alpha + at)
      const diagonal = rowDiagonal(isPositive, diagonalPositive, diagonalNegative, rowWeights, i)
      if (a > 0 && a < rowBound(isPositive, boundPositive, boundNegative, rowWeights, i)) {
        const dot = dotRow<f64>(row, w) + biasPart
        slope = 1 - (isPositive ? dot : -dot) - diagonal * a
        second = diagonal + holding * (load<f64>(row, ROW_NORM) + bias * bias)
      }
    }
    store<f64>(slopes + at, slope)
    store<f64>(seconds + at, second)
  }
}

/** to = slopes over the second derivatives of each row alone. */
export function overRows(problem: usize, from: u32, to: u32, slopes: usize, seconds: usize, out: usize): void {
  const rows = <usize>load<u32>(problem, PROBLEM_ROWS)
  const bias = load<f64>(problem, PROBLEM_BIAS)
  for (let i = from; i < to; i++) {
    const at = usize(i) << 3
    const second = load<f64>(seconds + at)
    const own = load<f64>(<usize>load<u32>(rows + (usize(i) << 2)), ROW_NORM) + bias * bias + second
    store<f64>(out + at, second >= 0 && own > 0 ? load<f64>(slopes + at) / own : 0)
  }
}

/** u += Σ move y x over rows from..to. */
export function addMoves(problem: usize, from: u32, to: u32, moves: usize, u: usize): void {
  const rows = <usize>load<u32>(problem, PROBLEM_ROWS)
  const positive = load<u32>(problem, PROBLEM_POSITIVE)
  const bias = load<f64>(problem, PROBLEM_BIAS)
  const biasAt = u + (usize(load<u32>(problem, PROBLEM_BIAS_FEATURE)) << 3)
  for (let i = from; i < to; i++) {
    const move = load<f64>(moves + (usize(i) << 3))
    if (move == 0) continue
    const row = <usize>load<u32>(rows + (usize(i) << 2))
    const step = load<u32>(row, ROW_CLASS) == positive ? move : -move
    axpyRow<f64>(row, step, u)
    addToBias<f64>(biasAt, bias, step)
  }
}

/** Second derivatives of the dual, their signs turned, times moves, whose sum Σ move y x is u: for free rows y uᵀx + second · move. */
export function timesMoves(problem: usize, from: u32, to: u32, moves: usize, seconds: usize, u: usize, out: usize): void {
  const rows = <usize>load<u32>(problem, PROBLEM_ROWS)
  const positive = load<u32>(problem, PROBLEM_POSITIVE)
  const biasPart = biasPartOf<f64>(problem, u)
  for (let i = from; i < to; i++) {
    const at = usize(i) << 3
    const second = load<f64>(seconds + at)
    let product: f64 = 0
    if (second >= 0) {
      const row = <usize>load<u32>(rows + (usize(i) << 2))
      const dot = dotRow<f64>(row, u) + biasPart
      product = (load<u32>(row, ROW_CLASS) == positive ? dot : -dot) + second * load<f64>(moves + at)
    }
    store<f64>(out + at, product)
  }
}

/** Moves the dual variables of rows from..to as far as their box allows; of the entropic dual, nine tenths of the way to its end.
 *  Moves become those that were made. */
export function makeMoves(problem: usize, from: u32, to: u32, moves: usize): void {
  const rows = <usize>load<u32>(problem, PROBLEM_ROWS)
  const alpha = <usize>load<u32>(problem, PROBLEM_ALPHA)
  const positive = load<u32>(problem, PROBLEM_POSITIVE)
  const logistic = load<u32>(problem, PROBLEM_LOGISTIC) != 0
  const boundPositive = boundForPositive(problem)
  const boundNegative = boundForNegative(problem)
  const rowWeights = rowWeightsOf(problem)
  for (let i = from; i < to; i++) {
    const move = load<f64>(moves + (usize(i) << 3))
    if (move == 0) continue
    if (logistic) {
      const at = alpha + (usize(i) << 4)
      const a = load<f64>(at), rest = load<f64>(at, 8)
      const moved = min(max(move, -0.9 * a), 0.9 * rest)
      store<f64>(at, a + moved)
      store<f64>(at, rest - moved, 8)
      store<f64>(moves + (usize(i) << 3), moved)
      continue
    }
    const at = alpha + (usize(i) << 3)
    const isPositive = load<u32>(<usize>load<u32>(rows + (usize(i) << 2)), ROW_CLASS) == positive
    const a = load<f64>(at)
    const next = min(max(a + move, 0), rowBound(isPositive, boundPositive, boundNegative, rowWeights, i))
    store<f64>(at, next)
    store<f64>(moves + (usize(i) << 3), next - a)
  }
}
