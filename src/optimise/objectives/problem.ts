// A binary problem as the compiled loops see it: the numbers of its loss, and where its parts are.
//
//   min_w  ½‖w‖² + Σ_i C_i loss(y_i wᵀx_i)          w = Σ_i α_i y_i x_i at the optimum
//   min_w   ‖w‖₁ + Σ_i C_i loss(y_i wᵀx_i)          with the l1 regulariser
import type { Regularizer } from '../../losses/formulations.ts'
import type { BoxDual, Loss } from '../../losses/loss.ts'
import type { Arena } from '../../numeric/arena.ts'
import { ProblemFields } from '../../numeric/fields/problem.ts'

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
  /** The fold whose rows it does not see. */
  heldOut?: number
  /** Of a truncated loss, whose convex one `loss` is: rows of a margin below this are outliers. */
  outliersBelow?: number
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
  /** Address of the fold of each row, u8, or 0. */
  folds?: number | undefined
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
  const fields = new ProblemFields(arena, at)
  fields.rows = places.table
  fields.count = places.rows
  fields.alpha = places.alpha
  fields.weights = places.weights
  fields.positive = settings.positive
  fields.biasFeature = places.biasFeature
  fields.bias = settings.bias
  const { positive, negative } = boxesOf(settings)
  fields.boundPositive = positive.bound
  fields.boundNegative = negative.bound
  fields.diagonalPositive = positive.diagonal
  fields.diagonalNegative = negative.diagonal
  fields.rowWeights = places.rowWeights ?? 0
  fields.smoothing = 0
  fields.folds = settings.heldOut === undefined ? 0 : (places.folds ?? 0)
  fields.heldOut = settings.heldOut ?? 0
  fields.damping = 1
  fields.logistic = settings.loss.entropicDual === true ? 1 : 0
}
