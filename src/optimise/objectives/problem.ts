// A binary problem as the compiled loops see it: the numbers of its loss, and where its parts are.
//
//   min_w  ½‖w‖² + Σ_i C_i loss(y_i wᵀx_i)          w = Σ_i α_i y_i x_i at the optimum
//   min_w   ‖w‖₁ + Σ_i C_i loss(y_i wᵀx_i)          with the l1 regulariser
import type { Regularizer } from '../../losses/formulations.ts'
import type { BoxDual, Loss } from '../../losses/loss.ts'
import type { Arena } from '../../numeric/arena.ts'
import {
  PROBLEM_ALPHA,
  PROBLEM_BIAS,
  PROBLEM_BIAS_FEATURE,
  PROBLEM_BOUND_NEGATIVE,
  PROBLEM_BOUND_POSITIVE,
  PROBLEM_COUNT,
  PROBLEM_DIAGONAL_NEGATIVE,
  PROBLEM_DIAGONAL_POSITIVE,
  PROBLEM_LOGISTIC,
  PROBLEM_POSITIVE,
  PROBLEM_ROW_WEIGHTS,
  PROBLEM_ROWS,
  PROBLEM_WEIGHTS,
} from '../../numeric/layouts.ts'

export interface ProblemSettings {
  loss: Loss
  costPositive: number
  costNegative: number
  /** Value of the feature added to every row; 0 for none. */
  bias: number
  /** Class number that is positive; the others are negative. */
  positive: number
  /** 64 or 32. */
  weightBits: 64 | 32
  /** l2 when not given. Under l1 only the certificate sets dual variables. */
  regularizer?: Regularizer
}

/** Where the parts of a problem are; a block's problem has its own table and its own part of the dual variables. */
export interface ProblemPlaces {
  table: number
  rows: number
  alpha: number
  weights: number
  /** Place of the bias among the weights. */
  biasFeature: number
  /** Address of a weight for each row, f64, or 0. */
  rowWeights?: number | undefined
}

/** The numbers of the loss for each side; the entropic dual has its bound alone. */
export function boxesOf({
  loss,
  costPositive,
  costNegative,
}: ProblemSettings): Record<'positive' | 'negative', BoxDual> {
  const box = (cost: number): BoxDual => loss.box?.(cost) ?? { bound: cost, diagonal: 0 }
  return { positive: box(costPositive), negative: box(costNegative) }
}

/** Fills a PROBLEM_ structure. */
export function writeProblem(arena: Arena, at: number, settings: ProblemSettings, places: ProblemPlaces): void {
  const u32 = (offset: number, value: number): void => arena.setU32(at + offset, value)
  const f64 = (offset: number, value: number): void => arena.setF64(at + offset, value)
  u32(PROBLEM_ROWS, places.table)
  u32(PROBLEM_COUNT, places.rows)
  u32(PROBLEM_ALPHA, places.alpha)
  u32(PROBLEM_WEIGHTS, places.weights)
  u32(PROBLEM_POSITIVE, settings.positive)
  u32(PROBLEM_BIAS_FEATURE, places.biasFeature)
  f64(PROBLEM_BIAS, settings.bias)
  const { positive, negative } = boxesOf(settings)
  f64(PROBLEM_BOUND_POSITIVE, positive.bound)
  f64(PROBLEM_BOUND_NEGATIVE, negative.bound)
  f64(PROBLEM_DIAGONAL_POSITIVE, positive.diagonal)
  f64(PROBLEM_DIAGONAL_NEGATIVE, negative.diagonal)
  u32(PROBLEM_ROW_WEIGHTS, places.rowWeights ?? 0)
  u32(PROBLEM_LOGISTIC, settings.loss.entropicDual === true ? 1 : 0)
}
