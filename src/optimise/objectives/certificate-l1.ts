// The certificate of  min ‖w‖₁ + Σ C loss,  by a reading pass of its own. The dual is
//
//   max_α  Σ dual part_i(α_i)     subject to  |Σ_i α_i y_i x_ij| ≤ 1  for every feature j
//
// The margins, computed afresh from w, give α_i = −C_i loss'(m_i); shortened until no feature exceeds 1, it is feasible.

import { PROBLEM_BYTES, SUMS_BYTES } from '../../numeric/layouts.ts'
import type { ThreadPool } from '../../threads/pool.ts'
import { addDualTask } from './add-dual-task.ts'
import type { Certificate } from './certificate.ts'
import { evaluateL1Task } from './evaluate-l1-task.ts'
import { type BinaryProblem, writeProblem } from './problem.ts'

/** Rows summed apart, as in certificate.ts. */
const PIECES = 32

export async function certifyL1(pool: ThreadPool, problem: BinaryProblem): Promise<Certificate> {
  const { arena, rows, settings } = problem
  const mark = arena.mark()
  const sums = arena.allocate(PIECES * SUMS_BYTES, 'the certificate')
  const bound = (k: number): number => Math.floor((rows.rows * k) / PIECES)
  await Promise.all(
    Array.from({ length: PIECES }, (_, k) =>
      pool.run(evaluateL1Task, {
        problem: problem.at,
        from: bound(k),
        to: bound(k + 1),
        sums: sums + k * SUMS_BYTES,
      }),
    ),
  )
  const total = new Float64Array(SUMS_BYTES / 8)
  arena.f64(sums, PIECES * total.length).forEach((part, k) => {
    total[k % total.length] += part
  })
  const [loss, linear, square, correct] = total
  // v = Σ α y x is added up where w would be in a problem of its own.
  const bytes = problem.weightCount * 8
  const v = arena.allocate(bytes, 'the certificate')
  const of = arena.allocateZeroed(PROBLEM_BYTES, 'the certificate')
  writeProblem(arena, of, settings, {
    table: rows.table,
    rows: rows.rows,
    alpha: problem.alpha,
    weights: v,
    biasFeature: rows.weights,
  })
  const stride = problem.alphaStride
  await pool.run(addDualTask, { problem: of, rows: rows.rows, stride, narrow: false, clear: { at: v, bytes } })
  const longest = 1 / arena.numeric.steepest(v, problem.weightCount)
  // Along α the quadratic dual part is highest at a known place; the entropic one ends at C.
  const factor = square > 0 ? Math.min(longest, linear / (2 * square)) : Math.min(longest, 1)
  const dual = arena.numeric.shortenDual(problem.at, rows.rows, factor)
  const primal = arena.numeric.lengthL1(problem.weights, problem.weightCount) + loss
  arena.release(mark)
  return {
    primal,
    dual,
    gap: primal > 0 ? (primal - dual) / primal : 0,
    supportVectors: null,
    trainingAccuracy: rows.rows > 0 ? correct / rows.rows : 1,
  }
}
