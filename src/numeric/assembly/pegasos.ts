// Pegasos over the row records of one block: what optimise/solvers/pegasos.ts has at its head. Update number t, with the batch B:
//
//   w ← (1 − 1/t) w + (l / (t |B|)) Σ_{i ∈ B, y_i wᵀx_i < 1} C_i y_i x_i        then w ← min(1, √S / ‖w‖) w
//
// While rows are visited, w is a scalar times the vector in memory, so that shrinking and projecting cost nothing, and ‖w‖²
// follows each step; at the end of the block the scalar is multiplied in.
import {
  PROBLEM_BIAS, PROBLEM_BIAS_FEATURE, PROBLEM_COUNT, PROBLEM_POSITIVE,
  PROBLEM_ROWS, PROBLEM_WEIGHTS, ROW_CLASS, ROW_NORM,
} from '../layouts'
import { AHEAD, bringRows } from './ahead'
import { addToBias } from './bias'
import { axpyRow, dotRow, squaredLengthF32, squaredLengthF64 } from './row'
import { boundForNegative, boundForPositive, rowBound, rowWeightsOf } from './row-costs'

/** One update for each row, in the given order; `before` updates were made before, `all` is l and `ball` is S. Returns
 *  the losses as the rows were met. */
export function pegasosRowsF64(problem: usize, order: usize, before: f64, all: f64, ball: f64): f64 {
  return pegasosRows<f64>(problem, order, before, all, ball)
}
export function pegasosRowsF32(problem: usize, order: usize, before: f64, all: f64, ball: f64): f64 {
  return pegasosRows<f32>(problem, order, before, all, ball)
}
/** One update with all rows; `list` is room for as many numbers. */
export function pegasosBlockF64(problem: usize, list: usize, before: f64, all: f64, ball: f64): f64 {
  return pegasosBlock<f64>(problem, list, before, all, ball)
}
export function pegasosBlockF32(problem: usize, list: usize, before: f64, all: f64, ball: f64): f64 {
  return pegasosBlock<f32>(problem, list, before, all, ball)
}

/** Below it the scalar is multiplied in: the vector keeps its digits, and stays far from the largest number of its type. */
@inline
export function smallestScale<W>(): f64 {
  return sizeof<W>() == 8 ? 1e-100 : 1e-12
}

/** w ← factor · w. */
@inline
export function scaleWeights<W>(w: usize, count: u32, factor: f64): void {
  if (factor == 1) return
  const end = w + usize(count) * sizeof<W>()
  for (; w < end; w += sizeof<W>()) store<W>(w, <W>(f64(load<W>(w)) * factor))
}

@inline
export function lengthOf<W>(w: usize, count: u32): f64 {
  return sizeof<W>() == 8 ? squaredLengthF64(w, count) : squaredLengthF32(w, count)
}

@inline
function pegasosRows<W>(problem: usize, order: usize, before: f64, all: f64, ball: f64): f64 {
  const rows = <usize>load<u32>(problem, PROBLEM_ROWS)
  const count = load<u32>(problem, PROBLEM_COUNT)
  const w = <usize>load<u32>(problem, PROBLEM_WEIGHTS)
  const weights = load<u32>(problem, PROBLEM_BIAS_FEATURE) + 1
  const positive = load<u32>(problem, PROBLEM_POSITIVE)
  const bias = load<f64>(problem, PROBLEM_BIAS)
  const biasAt = w + usize(weights - 1) * sizeof<W>()
  const costPositive = boundForPositive(problem)
  const costNegative = boundForNegative(problem)
  const rowWeights = rowWeightsOf(problem)
  let t = before
  let scale: f64 = 1
  let length = lengthOf<W>(w, weights)
  let lossSum: f64 = 0
  for (let k: u32 = 0; k < count; k++) {
    if (k % AHEAD == 0) bringRows(rows, order, k, min(k + AHEAD, count), 0, 0)
    const i = load<u32>(order + (usize(k) << 2))
    const row = <usize>load<u32>(rows + (usize(i) << 2))
    const isPositive = load<u32>(row, ROW_CLASS) == positive
    const y: f64 = isPositive ? 1 : -1
    const cost = rowBound(isPositive, costPositive, costNegative, rowWeights, i)
    t += 1
    let dot = dotRow<W>(row, w)
    if (bias != 0) dot += bias * f64(load<W>(biasAt))
    const margin = y * scale * dot
    // The first step shrinks w to nothing, and it is nothing already: a scalar of 0 could not be undone.
    const shrink = t > 1 ? (t - 1) / t : 1
    scale *= shrink
    length *= shrink * shrink
    if (margin < 1) {
      lossSum += cost * (1 - margin)
      const size = (all * cost) / t
      length = max(length + 2 * shrink * size * margin + size * size * (load<f64>(row, ROW_NORM) + bias * bias), 0)
      const step = (y * size) / scale
      axpyRow<W>(row, step, w)
      addToBias<W>(biasAt, bias, step)
    }
    if (length > ball) {
      scale *= Math.sqrt(ball / length)
      length = ball
    }
    if (scale < smallestScale<W>()) {
      scaleWeights<W>(w, weights, scale)
      scale = 1
      length = lengthOf<W>(w, weights)
    }
  }
  scaleWeights<W>(w, weights, scale)
  return lossSum
}

@inline
function pegasosBlock<W>(problem: usize, list: usize, before: f64, all: f64, ball: f64): f64 {
  const rows = <usize>load<u32>(problem, PROBLEM_ROWS)
  const count = load<u32>(problem, PROBLEM_COUNT)
  const w = <usize>load<u32>(problem, PROBLEM_WEIGHTS)
  const weights = load<u32>(problem, PROBLEM_BIAS_FEATURE) + 1
  const positive = load<u32>(problem, PROBLEM_POSITIVE)
  const bias = load<f64>(problem, PROBLEM_BIAS)
  const biasAt = w + usize(weights - 1) * sizeof<W>()
  const costPositive = boundForPositive(problem)
  const costNegative = boundForNegative(problem)
  const rowWeights = rowWeightsOf(problem)
  if (count == 0) return 0
  const t = before + 1
  let lossSum: f64 = 0
  // Every margin is that of the old w, so the rows inside the margin are listed before w moves.
  let inside: u32 = 0
  for (let i: u32 = 0; i < count; i++) {
    const row = <usize>load<u32>(rows + (usize(i) << 2))
    const isPositive = load<u32>(row, ROW_CLASS) == positive
    let dot = dotRow<W>(row, w)
    if (bias != 0) dot += bias * f64(load<W>(biasAt))
    const margin = isPositive ? dot : -dot
    if (margin >= 1) continue
    lossSum += rowBound(isPositive, costPositive, costNegative, rowWeights, i) * (1 - margin)
    store<u32>(list + (usize(inside) << 2), i)
    inside++
  }
  scaleWeights<W>(w, weights, (t - 1) / t)
  const share = all / (t * f64(count))
  for (let k: u32 = 0; k < inside; k++) {
    const i = load<u32>(list + (usize(k) << 2))
    const row = <usize>load<u32>(rows + (usize(i) << 2))
    const isPositive = load<u32>(row, ROW_CLASS) == positive
    const size = share * rowBound(isPositive, costPositive, costNegative, rowWeights, i)
    const step = isPositive ? size : -size
    axpyRow<W>(row, step, w)
    addToBias<W>(biasAt, bias, step)
  }
  const length = lengthOf<W>(w, weights)
  if (length > ball) scaleWeights<W>(w, weights, Math.sqrt(ball / length))
  return lossSum
}
