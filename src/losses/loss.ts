// What a loss is to the rest of the program. It sees margins, never matrices.
import type { TogetherKind } from './formulations.ts'

/** The box dual of a row with cost C: 0 ≤ α ≤ bound, and diagonal·½α² added to the dual objective. */
export interface BoxDual {
  bound: number
  diagonal: number
}

export interface Loss {
  name: string
  /** One line for help pages and error messages. */
  summary: string
  /** LIBLINEAR's `-s` number for the L2-regularised dual solver of this loss. */
  liblinearSolver: number
  /** The loss at margin m = y wᵀx, cost not counted. The reference that tests hold the numeric loops against. */
  value(margin: number): number
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

/** Whether a loss has a second derivative, but for single margins. */
export function isSmooth(loss: Loss): boolean {
  return loss.entropicDual === true || (loss.box?.(1).diagonal ?? 0) > 0
}
