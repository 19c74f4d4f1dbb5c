// The certificate: primal, dual and their gap over all rows, by a reading pass of its own. A solver never marks its own
// work: it only hands over α and w.
import { SUMS_BYTES } from '../numeric/layouts.ts'
import type { ThreadPool } from '../threads/pool.ts'
import type { BinaryProblem } from './problem.ts'

export interface Certificate {
  primal: number
  dual: number
  /** (primal − dual) / primal. */
  gap: number
  supportVectors: number
  /** Share of training rows on the right side. */
  trainingAccuracy: number
}

/** Rows summed apart: the pieces are the same for any number of threads, so the sums are the same bits. */
const PIECES = 32

export async function certify(pool: ThreadPool, problem: BinaryProblem): Promise<Certificate> {
  const { arena, rows } = problem
  const mark = arena.mark()
  const sums = arena.allocate(PIECES * SUMS_BYTES, 'the certificate')
  const bound = (k: number): number => Math.floor((rows.rows * k) / PIECES)
  const tasks = Array.from({ length: PIECES }, (_, k) =>
    pool.run('evaluate-rows', {
      problem: problem.at,
      narrow: problem.narrow,
      from: bound(k),
      to: bound(k + 1),
      sums: sums + k * SUMS_BYTES,
    }),
  )
  await Promise.all(tasks)
  const total = [0, 0, 0, 0, 0]
  const parts = arena.f64(sums, PIECES * total.length)
  parts.forEach((part, k) => {
    total[k % total.length] += part
  })
  arena.release(mark)
  const [loss, dualPart, alphaMargin, correct, support] = total
  const half = 0.5 * problem.squaredLength()
  const primal = half + loss
  // With v = Σ α y x: ½‖v‖² = wᵀv − ½‖w‖² + ½‖v − w‖², and the last term is of second order in the rounding of w.
  const dual = dualPart - (alphaMargin - half)
  return {
    primal,
    dual,
    gap: primal > 0 ? (primal - dual) / primal : 0,
    supportVectors: support,
    trainingAccuracy: rows.rows > 0 ? correct / rows.rows : 1,
  }
}
