// What is minimised: one or more models over the same rows, with their weights and dual variables. An objective knows sums
// over rows; which rows are in memory is the source's business, how models move is the method's.
import type { StatePlaces } from '../../block-store/checkpoint.ts'
import type { Arena } from '../../numeric/arena.ts'
import type { ThreadPool } from '../../threads/pool.ts'
import type { RowGroup, RowSource } from '../sources/row-source.ts'
import type { BundledProblem } from './bundle.ts'
import type { Certificate } from './certificate.ts'
import type { LossesAlong } from './line-search.ts'

export interface Objective extends StatePlaces {
  readonly arena: Arena
  /** How many models there are; all classes of Crammer and Singer's problem are one. */
  readonly models: number
  /** ‖w‖² of each, the bias included. */
  squaredLengths(): number[]
  /** Of each model: the sums of the certificate over the rows of a group, in the order of the SUMS_ layout. */
  evaluate(threads: ThreadPool, group: RowGroup): Promise<Float64Array[]>
  /** Where sums over rows are not enough: the certificates themselves, of rows in memory. */
  certify?(source: RowSource): Promise<Certificate[]>
  /** For the last line search: looks that models share, of up to eight each; which look and lane each model has; losses of a
   *  group's rows along the weights, of at most so many rows of each piece, added to the looks; and what t·w of each model costs
   *  besides losses, ½t²‖w‖² when not said. */
  readonly looks: { look: number; lane: number }[]
  lookAlong(threads: ThreadPool, group: RowGroup, looks: LossesAlong[], most: number): Promise<void>
  penalties?(): ((t: number) => number)[]
  /** What `evaluate` and `lookAlong` find, by one loop over the rows; undefined where there is none that does both. */
  evaluateAlong?(threads: ThreadPool, group: RowGroup, looks: LossesAlong[]): Promise<Float64Array[] | undefined>
  /** w += Σ α y x over the rows of a group, where there are dual variables. */
  addDual?(threads: ThreadPool, group: RowGroup): Promise<void>
  /** Which models are trained from now on; the others rest. */
  activate?(models: boolean[]): void
}

/** Many models whose weights can be told apart. */
export interface ManyModels extends Objective {
  /** A copy of a model's weights, the bias last. */
  copyWeights(model: number): Float64Array
  setWeights(model: number, own: Float64Array): void
  /** Scores of a group's rows by the models that did not see them, into f32 columns of all rows. */
  score(threads: ThreadPool, group: RowGroup, scores: number): Promise<void>
  /** Goes on to problems that differ in their costs, from what these have come to; the costs are a factor apart. */
  rescale(problems: BundledProblem[], factor: number): void
}

/** Places of weights and dual variables of K numbers a feature and a row, zeroed. */
export function allocatePlaces(
  arena: Arena,
  { weightCount, weightBytes, alphaStride }: Pick<Objective, 'weightCount' | 'weightBytes' | 'alphaStride'>,
  rows: number,
): { weights: number; alpha: number } {
  return {
    weights: arena.allocateZeroed(weightCount * weightBytes, 'the weights'),
    alpha: alphaStride > 0 ? arena.allocateZeroed(Math.max(rows, 1) * alphaStride, 'the dual variables') : 0,
  }
}
