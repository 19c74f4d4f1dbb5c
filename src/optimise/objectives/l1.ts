// A binary model under the l1 regulariser, with its certificate:
//
//   min_w  ‖w‖₁ + Σ_i C_i loss(y_i wᵀx_i)
//
// The dual is  max_α Σ dual part_i(α_i)  subject to  |Σ_i α_i y_i x_ij| ≤ 1  for every feature j. The margins, computed afresh
// from w, give α_i = −C_i loss'(m_i); shortened until no feature exceeds 1, it is feasible. Only the certificate sets dual
// variables.
import type { Regularizer } from '../../losses/formulations.ts'
import { PROBLEM_BYTES } from '../../numeric/layouts.ts'
import { loopTask } from '../../threads/loop-task.ts'
import type { RowSource } from '../sources/row-source.ts'
import { BinaryObjective } from './binary.ts'
import type { Certificate } from './certificate.ts'
import { writeProblem } from './problem.ts'

export class L1Objective extends BinaryObjective {
  penalties(): ((t: number) => number)[] {
    const length = this.arena.numeric.lengthL1(this.weights, this.weightCount)
    return [t => t * length]
  }

  /** Of rows in memory: they are one group. */
  async certify(source: RowSource): Promise<Certificate[]> {
    const certificates: Certificate[] = []
    for await (const group of source.pass([[0]])) {
      const { arena, threads } = source
      const [[loss, linear, square, correct]] = await this.evaluate(threads, group, 'evaluateL1')
      const mark = arena.mark()
      // v = Σ α y x is added up where w would be in a problem of its own.
      const bytes = this.weightCount * 8
      const v = arena.allocate(bytes, 'the certificate')
      const of = arena.allocateZeroed(PROBLEM_BYTES, 'the certificate')
      const { rows, table, problem } = group
      const places = { table, rows, alpha: this.alpha, weights: v, biasFeature: this.weightCount - 1 }
      writeProblem(arena, of, this.settings, places)
      const numbers = [of, 0, rows, this.alphaStride]
      await threads.run(loopTask, { loop: 'addDualF64', numbers, clear: { at: v, bytes } })
      const longest = 1 / arena.numeric.steepest(v, this.weightCount)
      // Along α the quadratic dual part is highest at a known place; the entropic one ends at C.
      const factor = square > 0 ? Math.min(longest, linear / (2 * square)) : Math.min(longest, 1)
      const dual = arena.numeric.shortenDual(problem, rows, factor)
      const primal = arena.numeric.lengthL1(this.weights, this.weightCount) + loss
      arena.release(mark)
      certificates.push({
        ...{ primal, dual, gap: primal > 0 ? (primal - dual) / primal : 0 },
        ...{ supportVectors: null, trainingAccuracy: rows > 0 ? correct / rows : 1 },
      })
    }
    return certificates
  }
}

/** The objective of one binary model, by what is added to its losses. */
export const allBinaryObjectives: Record<Regularizer, typeof BinaryObjective> = { l2: BinaryObjective, l1: L1Objective }
