// A binary model under the l1 regulariser, with its certificate:
//
//   min_w  ‖w‖₁ + Σ_i C_i loss(y_i wᵀx_i)
//
// The dual is  max_α Σ dual part_i(α_i)  subject to  |Σ_i α_i y_i x_ij| ≤ 1  for every feature j. The margins, computed afresh
// from w, give α_i = −C_i loss'(m_i); shortened until no feature exceeds 1, it is feasible. Only the certificate sets dual
// variables.
import { PROBLEM_BYTES } from '../../numeric/layouts.ts'
import type { RowSource } from '../sources/row-source.ts'
import { addDualTask } from './add-dual-task.ts'
import { BinaryObjective } from './binary.ts'
import { type Certificate, roomForSums, sumInPieces } from './certificate.ts'
import { evaluateL1Task } from './evaluate-l1-task.ts'
import { writeProblem } from './problem.ts'

export class L1Objective extends BinaryObjective {
  override penalties(): ((t: number) => number)[] {
    const length = this.arena.numeric.lengthL1(this.weights, this.weightCount)
    return [t => t * length]
  }

  /** Of rows in memory: they are one group. */
  async certify(source: RowSource): Promise<Certificate[]> {
    const certificates: Certificate[] = []
    for await (const group of source.pass([[0]])) {
      const { arena, threads } = source
      const problem = this.of(group)
      const mark = arena.mark()
      const total = await sumInPieces(arena, roomForSums(arena), group, ({ from, to, sums }) =>
        threads.run(evaluateL1Task, { problem, from, to, sums }),
      )
      const [loss, linear, square, correct] = total
      // v = Σ α y x is added up where w would be in a problem of its own.
      const bytes = this.weightCount * 8
      const v = arena.allocate(bytes, 'the certificate')
      const of = arena.allocateZeroed(PROBLEM_BYTES, 'the certificate')
      const { rows, table } = group
      const places = { table, rows, alpha: this.alpha, weights: v, biasFeature: this.weightCount - 1 }
      writeProblem(arena, of, this.settings, places)
      const clear = { at: v, bytes }
      await threads.run(addDualTask, { problem: of, rows, stride: this.alphaStride, narrow: false, clear })
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
