// The primal side of multinomial logistic regression, all classes at once; the formulas are at the head of
// optimise/objectives/softmax.ts. The weights of a feature for all classes stand together, and so do gradients, products and
// diagonals.
//
// Row i with s_k = w_kᵀx has p_k = e^(s_k − max s) / Z, Z the sum of those. Everything is reckoned from the highest score: no
// power overflows, and log Z is log1p of the other classes' share. α_y = C (1 − p_y) is summed from the other classes, so
// that it keeps its digits where p_y is nearly 1.
import {
  TOGETHER_BIAS, TOGETHER_BIAS_WEIGHTS, TOGETHER_CLASSES, TOGETHER_PLACES, TOGETHER_ROWS, TOGETHER_STRIDE,
  TOGETHER_WEIGHTS,
} from '../crammer-singer-layout'
import { ROW_CLASS, SUMS_ALPHA_MARGIN, SUMS_BYTES, SUMS_CORRECT, SUMS_DUAL, SUMS_LOSS, SUMS_SUPPORT } from '../layouts'
import { costsTogether, rowCostTogether, rowWeightsTogether } from './row-costs'
import { addRowTogether, addSquaresTogether, scoreTogether } from './row-together'

/** Where the class of the highest score stands, the first of equals. */
@inline
export function highestOf(scores: usize, classes: u32): u32 {
  let best: u32 = 0
  let highest = load<f64>(scores)
  for (let k: u32 = 1; k < classes; k++) {
    const score = load<f64>(scores + (usize(k) << 3))
    if (score > highest) {
      highest = score
      best = k
    }
  }
  return best
}

/** Scores become differences from the highest, which stands at `best`; the shares p of the classes go to `shares`. log Z. */
@inline
function sharesOf(scores: usize, classes: u32, best: u32, shares: usize): f64 {
  const highest = load<f64>(scores + (usize(best) << 3))
  let others: f64 = 0
  for (let k: usize = 0; k < usize(classes) << 3; k += 8) {
    const below = load<f64>(scores + k) - highest
    const power = Math.exp(below)
    store<f64>(scores + k, below)
    store<f64>(shares + k, power)
    if (k != usize(best) << 3) others += power
  }
  const inverse = 1 / (1 + others)
  for (let k: usize = 0; k < usize(classes) << 3; k += 8) store<f64>(shares + k, load<f64>(shares + k) * inverse)
  return Math.log1p(others)
}

/** Over rows from..to: v_k += Σ α_k x, diagonals_jk += Σ C p_k (1 − p_k) x_j², and what is added to the sums of a
 *  certificate. No matrix is summed. `room`: for three numbers of each class (K rounded up). With v = 0 the sums alone are made. */
export function slopeSoftmax(
  problem: usize, from: u32, to: u32, v: usize, diagonals: usize, _matrix: usize, _n: u32, _scratch: usize, sums: usize, room: usize,
): void {
  meetRows<f64>(problem, from, to, 0, v, diagonals, sums, room)
}

/** The sums of a certificate alone. */
export function evaluateSoftmax(problem: usize, from: u32, to: u32, room: usize, sums: usize): void {
  memory.fill(sums, 0, SUMS_BYTES)
  slopeSoftmax(problem, from, to, 0, 0, 0, 0, 0, sums, room)
}

/** Over rows from..to: product_k += Σ C p_k (z_k − Σ_c p_c z_c) x, z_k = d_kᵀx. */
export function curvatureSoftmax(problem: usize, from: u32, to: u32, d: usize, product: usize, room: usize): void {
  meetRows<f32>(problem, from, to, d, product, 0, 0, room)
}

/** T says what becomes of a row: f64 is for slopeSoftmax, f32 for curvatureSoftmax. What they sum goes to `out`. */
@inline
function meetRows<T>(problem: usize, from: u32, to: u32, d: usize, out: usize, diagonals: usize, sums: usize, room: usize): void {
  const rows = <usize>load<u32>(problem, TOGETHER_ROWS)
  const classes = load<u32>(problem, TOGETHER_CLASSES)
  const stride = load<u32>(problem, TOGETHER_STRIDE)
  const w = <usize>load<u32>(problem, TOGETHER_WEIGHTS)
  const biasWeights = <usize>load<u32>(problem, TOGETHER_BIAS_WEIGHTS)
  const places = <usize>load<u32>(problem, TOGETHER_PLACES)
  const costs = costsTogether(problem)
  const rowWeights = rowWeightsTogether(problem)
  const bias = load<f64>(problem, TOGETHER_BIAS)
  const biasAt = biasWeights - w
  const shares = room + usize(stride)
  const steps = shares + usize(stride)
  const end = usize(classes) << 3
  let lossSum: f64 = 0, dualSum: f64 = 0, alphaScore: f64 = 0, correct: f64 = 0
  if (sizeof<T>() == 8) {
    memory.fill(steps, 0, usize(stride))
    lossSum = load<f64>(sums, SUMS_LOSS)
    dualSum = load<f64>(sums, SUMS_DUAL)
    alphaScore = load<f64>(sums, SUMS_ALPHA_MARGIN)
    correct = load<f64>(sums, SUMS_CORRECT)
  }
  for (let i = from; i < to; i++) {
    const row = <usize>load<u32>(rows + (usize(i) << 2))
    const y = load<u32>(places + (usize(load<u32>(row, ROW_CLASS)) << 2))
    const cost = rowCostTogether(y, costs, rowWeights, i)
    scoreTogether(row, w, stride, biasWeights, bias, room)
    const best = highestOf(room, classes)
    // Two classes: the model asks for a score above 0.
    if (sizeof<T>() == 8 && y == (classes == 2 ? u32(!(load<f64>(room) > 0)) : best)) correct += 1
    const logSum = sharesOf(room, classes, best, shares)
    let mean: f64 = 0
    if (sizeof<T>() == 4) {
      // The direction of a class too many is 0, and so is its step.
      scoreTogether(row, d, stride, d + biasAt, bias, steps)
      for (let k: usize = 0; k < end; k += 8) mean += load<f64>(shares + k) * load<f64>(steps + k)
      for (let k: usize = 0; k < end; k += 8) {
        store<f64>(steps + k, cost * load<f64>(shares + k) * (load<f64>(steps + k) - mean))
      }
      addRowTogether(row, out, stride, out + biasAt, bias, steps)
    } else {
      const yAt = usize(y) << 3
      let others: f64 = 0
      for (let k: usize = 0; k < end; k += 8) {
        const p = load<f64>(shares + k)
        mean += p * load<f64>(room + k)
        if (k != yAt) others += p
        store<f64>(steps + k, -cost * p)
      }
      store<f64>(steps + yAt, cost * others)
      const own = load<f64>(room + yAt)
      lossSum += cost * (logSum - own)
      dualSum += cost * (logSum - mean)
      // Σ_k α_k is 0: differences of scores do as well as scores.
      alphaScore += cost * (own - mean)
      if (out == 0) continue
      addRowTogether(row, out, stride, out + biasAt, bias, steps)
      if (diagonals == 0) continue
      for (let k: usize = 0; k < end; k += 8) {
        const p = load<f64>(shares + k)
        store<f64>(steps + k, cost * p * (1 - p))
      }
      addSquaresTogether(row, diagonals, stride, diagonals + biasAt, bias, steps)
    }
  }
  if (sizeof<T>() == 8) {
    store<f64>(sums, lossSum, SUMS_LOSS)
    store<f64>(sums, dualSum, SUMS_DUAL)
    store<f64>(sums, alphaScore, SUMS_ALPHA_MARGIN)
    store<f64>(sums, correct, SUMS_CORRECT)
    store<f64>(sums, load<f64>(sums, SUMS_SUPPORT) + f64(to - from), SUMS_SUPPORT)
  }
}
