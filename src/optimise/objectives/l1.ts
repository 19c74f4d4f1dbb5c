// A binary model under the l1 regulariser, with its certificate:
//
//   min_w  ‖w‖₁ + Σ_i C_i loss(y_i wᵀx_i)
//
// The dual is  max_α Σ dual part_i(α_i)  subject to  |Σ_i α_i y_i x_ij| ≤ 1  for every feature j. The margins, computed afresh
// from w, give α_i = −C_i loss'(m_i); shortened until no feature exceeds 1, it is feasible. Only the certificate sets dual
// variables.
import type { Regularizer } from '../../losses/formulations.ts'
import type { RowSource } from '../sources/row-source.ts'
import { BinaryObjective } from './binary.ts'
import type { Certificate } from './certificate.ts'
import { bySlopes } from './slopes.ts'

export class L1Objective extends BinaryObjective {
  penalties(): ((t: number) => number)[] {
    const length = this.arena.numeric.lengthL1(this.weights, this.weightCount)
    return [t => t * length]
  }

  certify(source: RowSource): Promise<Certificate[]> {
    const { numeric } = this.arena
    const { weights, weightCount } = this
    return bySlopes(this, source, ({ rows, problem, v, loss, linear, square, trainingAccuracy }) => {
      const longest = 1 / numeric.steepest(v, weightCount)
      // Along α the quadratic dual part is highest at a known place; the entropic one ends at C.
      const factor = square > 0 ? Math.min(longest, linear / (2 * square)) : Math.min(longest, 1)
      const dual = numeric.shortenDual(problem, rows, factor)
      const primal = numeric.lengthL1(weights, weightCount) + loss
      return {
        ...{ primal, dual, gap: primal > 0 ? (primal - dual) / primal : 0 },
        ...{ supportVectors: null, trainingAccuracy },
      }
    })
  }
}

/** The objective of one binary model, by what is added to its losses. */
export const allBinaryObjectives: Record<Regularizer, typeof BinaryObjective> = { l2: BinaryObjective, l1: L1Objective }
