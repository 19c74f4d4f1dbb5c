// What a loss is to the rest of the program. It sees margins, never matrices.
import type { TogetherKind } from './formulations.ts'

/** The box dual of a row with cost C: 0 ≤ α ≤ bound, and diagonal·½α² added to the dual objective. */
export interface BoxDual {
  bound: number
  diagonal: number
}

/** A loss that is cut off at 1 + s: the convex loss that it follows up to there, and the margin below which a row is an
 *  outlier, for an outlier margin s. */
export interface Truncation {
  loss: Loss
  limit(outlierMargin: number): number
}

/** s, when nobody says another. */
export const OUTLIER_MARGIN = 1

export interface Loss {
  name: string
  /** One line for help pages and error messages. */
  summary: string
  /** LIBLINEAR's `-s` number for the L2-regularised dual solver of this loss, if it has one. */
  liblinearSolver?: number
  /** The loss at margin m = y wᵀx, cost not counted. The reference that tests hold the numeric loops against. */
  value(margin: number, outlierMargin?: number): number
  /** Of a loss that is cut off, and so not convex: solvers work on convex problems of the loss that it follows. It has no dual. */
  truncates?: Truncation
  /** The box dual, for losses that have one. */
  box?(cost: number): BoxDual
  /** True when the dual is the entropic one of logistic regression, solved by inner Newton steps. */
  entropicDual?: true
  /** True when 1 / (1 + e^−score) of a trained model is a probability. */
  probability?: true
  /** The way to train all classes in one problem whose loss it is. A row's margin in Crammer and Singer's is the one over the
   *  best other class; the logistic loss of several classes is that of their softmax. */
  allClasses?: TogetherKind
}

/** The value of a loss that is cut off. */
export function truncatedAt(loss: Loss): Loss['value'] {
  return (margin, outlierMargin = OUTLIER_MARGIN) => Math.min(loss.value(margin), 1 + outlierMargin)
}

/** The loss of the convex problems that are solved: its own, or the one that it follows. */
export function convexLoss(loss: Loss): Loss {
  return loss.truncates?.loss ?? loss
}

/** Whether a loss has a second derivative, but for single margins. */
export function isSmooth(loss: Loss): boolean {
  return loss.entropicDual === true || (loss.box?.(1).diagonal ?? 0) > 0
}
