// One binary problem in memory: rows, dual variables, weights, and the numbers of its loss.
//
//   min_w  ½‖w‖² + Σ_i C_i loss(y_i wᵀx_i)          w = Σ_i α_i y_i x_i at the optimum
//   min_w   ‖w‖₁ + Σ_i C_i loss(y_i wᵀx_i)          with the l1 regulariser
import type { BoxDual, Loss } from '../../losses/loss.ts'
import type { Arena } from '../../numeric/arena.ts'
import {
  PROBLEM_ALPHA,
  PROBLEM_BIAS,
  PROBLEM_BIAS_FEATURE,
  PROBLEM_BOUND_NEGATIVE,
  PROBLEM_BOUND_POSITIVE,
  PROBLEM_BYTES,
  PROBLEM_COUNT,
  PROBLEM_DIAGONAL_NEGATIVE,
  PROBLEM_DIAGONAL_POSITIVE,
  PROBLEM_LOGISTIC,
  PROBLEM_POSITIVE,
  PROBLEM_ROWS,
  PROBLEM_WEIGHTS,
} from '../../numeric/layouts.ts'
import type { RowSet } from '../../rows/row-set.ts'
import { penaltyOf } from './line-search.ts'

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
  regularizer?: 'l2' | 'l1'
}

/** Where the parts of a problem are; a block's problem has its own table and its own part of the dual variables. */
export interface ProblemPlaces {
  table: number
  rows: number
  alpha: number
  weights: number
  /** Place of the bias among the weights. */
  biasFeature: number
}

/** Fills a PROBLEM_ structure. */
export function writeProblem(arena: Arena, at: number, settings: ProblemSettings, places: ProblemPlaces): void {
  const { loss } = settings
  const u32 = (offset: number, value: number): void => arena.setU32(at + offset, value)
  const f64 = (offset: number, value: number): void => arena.setF64(at + offset, value)
  u32(PROBLEM_ROWS, places.table)
  u32(PROBLEM_COUNT, places.rows)
  u32(PROBLEM_ALPHA, places.alpha)
  u32(PROBLEM_WEIGHTS, places.weights)
  u32(PROBLEM_POSITIVE, settings.positive)
  u32(PROBLEM_BIAS_FEATURE, places.biasFeature)
  f64(PROBLEM_BIAS, settings.bias)
  const box = (cost: number): BoxDual => loss.box?.(cost) ?? { bound: cost, diagonal: 0 }
  const positive = box(settings.costPositive)
  const negative = box(settings.costNegative)
  f64(PROBLEM_BOUND_POSITIVE, positive.bound)
  f64(PROBLEM_BOUND_NEGATIVE, negative.bound)
  f64(PROBLEM_DIAGONAL_POSITIVE, positive.diagonal)
  f64(PROBLEM_DIAGONAL_NEGATIVE, negative.diagonal)
  u32(PROBLEM_LOGISTIC, loss.entropicDual === true ? 1 : 0)
}

export class BinaryProblem {
  readonly arena: Arena
  readonly rows: RowSet
  readonly settings: ProblemSettings
  /** Address of the PROBLEM_ structure. */
  readonly at: number
  readonly alpha: number
  readonly weights: number
  /** Weights in all, the bias among them. */
  readonly weightCount: number
  /** Bytes from one row's dual variable to the next. */
  readonly alphaStride: number

  constructor(arena: Arena, rows: RowSet, settings: ProblemSettings) {
    this.arena = arena
    this.rows = rows
    this.settings = settings
    const entropic = settings.loss.entropicDual === true
    this.alphaStride = entropic ? 16 : 8
    this.weightCount = rows.weights + 1
    this.alpha = arena.allocateZeroed(Math.max(rows.rows, 1) * this.alphaStride, 'the dual variables')
    this.weights = arena.allocateZeroed(this.weightCount * (settings.weightBits / 8), 'the weights')
    this.at = arena.allocateZeroed(PROBLEM_BYTES, 'the problem')
    writeProblem(arena, this.at, settings, {
      table: rows.table,
      rows: rows.rows,
      alpha: this.alpha,
      weights: this.weights,
      biasFeature: rows.weights,
    })
    const { startEntropicF32, startEntropicF64 } = arena.numeric
    if (entropic && settings.regularizer !== 'l1')
      (this.narrow ? startEntropicF32 : startEntropicF64)(this.at, 0, rows.rows)
  }

  get narrow(): boolean {
    return this.settings.weightBits === 32
  }

  /** ‖w‖², the bias included. */
  squaredLength(): number {
    const { numeric } = this.arena
    const length = this.narrow ? numeric.squaredLengthF32 : numeric.squaredLengthF64
    return length(this.weights, this.weightCount)
  }

  /** What t·w costs besides losses. */
  penalty(): (t: number) => number {
    if (this.settings.regularizer !== 'l1') return penaltyOf(this.squaredLength())
    const length = this.arena.numeric.lengthL1(this.weights, this.weightCount)
    return t => t * length
  }

  /** A copy of the weights, the bias last. */
  copyWeights(): Float64Array {
    const { arena } = this
    if (this.narrow) return Float64Array.from(arena.f32(this.weights, this.weightCount))
    return arena.f64(this.weights, this.weightCount).slice()
  }
}
