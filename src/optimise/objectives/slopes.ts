// The certificate of a method that keeps weights alone: margins, computed afresh from w, give α_i = −C_i loss'(m_i), and
// v = Σ α_i y_i x_i is summed from them. What the method believes of its margins plays no part.
import { PROBLEM_BYTES } from '../../numeric/layouts.ts'
import { loopTask } from '../../threads/loop-task.ts'
import type { RowSource } from '../sources/row-source.ts'
import type { BinaryObjective } from './binary.ts'
import type { Certificate } from './certificate.ts'
import { writeProblem } from './problem.ts'

/** What is known once α is set. */
export interface Slopes {
  rows: number
  /** Address of the problem: α can be shortened there. */
  problem: number
  /** Address of v, which is gone after the look. */
  v: number
  loss: number
  /** Of box duals: Σ α, and what is quadratic in α. */
  linear: number
  square: number
  trainingAccuracy: number
}

/** Sets the dual variables of rows in memory by w, and has a look at them taken. */
export async function bySlopes(
  objective: BinaryObjective,
  source: RowSource,
  look: (slopes: Slopes) => Certificate,
): Promise<Certificate[]> {
  const certificates: Certificate[] = []
  // Rows in memory are one group.
  for await (const group of source.pass([[0]])) {
    const { arena, threads } = source
    const { alpha, alphaStride, weightCount } = objective
    const [[loss, linear, square, correct]] = await objective.evaluate(threads, group, 'evaluateL1')
    const mark = arena.mark()
    // v is added up where w would be in a problem of its own.
    const bytes = weightCount * 8
    const v = arena.allocate(bytes, 'the certificate')
    const of = arena.allocateZeroed(PROBLEM_BYTES, 'the certificate')
    const { rows, table, problem } = group
    writeProblem(arena, of, objective.settings, { table, rows, alpha, weights: v, biasFeature: weightCount - 1 })
    const numbers = [of, 0, rows, alphaStride]
    await threads.run(loopTask, { loop: 'addDualF64', numbers, clear: { at: v, bytes } })
    const trainingAccuracy = rows > 0 ? correct / rows : 1
    certificates.push(look({ rows, problem, v, loss, linear, square, trainingAccuracy }))
    arena.release(mark)
  }
  return certificates
}

/** Under ½‖w‖²: α is feasible as it is, and the gap is ½‖w − v‖². */
export function certifyWeights(objective: BinaryObjective, source: RowSource): Promise<Certificate[]> {
  const { arena, alpha, alphaStride, weightCount } = objective
  return bySlopes(objective, source, ({ rows, problem, v, loss, trainingAccuracy }) => {
    const primal = 0.5 * objective.squaredLengths()[0] + loss
    const dual = arena.numeric.shortenDual(problem, rows, 1) - 0.5 * arena.numeric.squaredLengthF64(v, weightCount)
    const stride = alphaStride / 8
    const isSupport = (a: number, k: number): boolean => k % stride === 0 && a > 0
    const supportVectors = arena.f64(alpha, rows * stride).reduce((n, a, k) => n + (isSupport(a, k) ? 1 : 0), 0)
    return { primal, dual, gap: primal > 0 ? (primal - dual) / primal : 0, supportVectors, trainingAccuracy }
  })
}
