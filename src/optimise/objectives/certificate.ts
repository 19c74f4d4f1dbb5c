// The certificate: primal, dual and their gap over all rows, by a reading pass of its own. A solver never marks its own
// work: it only hands over α and w.

import type { Arena } from '../../numeric/arena.ts'
import { SUMS_BYTES } from '../../numeric/layouts.ts'
import type { ThreadPool } from '../../threads/pool.ts'
import { certifyL1 } from './certificate-l1.ts'
import { evaluateRowsTask } from './evaluate-rows-task.ts'
import type { BinaryProblem } from './problem.ts'

export interface Certificate {
  primal: number
  /** Null for methods without dual variables, and so the gap. */
  dual: number | null
  /** (primal − dual) / primal. */
  gap: number | null
  supportVectors: number | null
  /** Share of training rows on the right side; null when rows were left unread that cannot owe anything to the gap. */
  trainingAccuracy: number | null
}

/** Rows summed apart: the pieces are the same for any number of threads, so the sums are the same bits. */
const PIECES = 32

export async function certify(pool: ThreadPool, problem: BinaryProblem): Promise<Certificate> {
  if (problem.settings.regularizer === 'l1') return certifyL1(pool, problem)
  const { arena, rows, at, narrow } = problem
  return certifyInPieces(arena, rows.rows, 0, problem, ({ from, to, sums }) =>
    pool.run(evaluateRowsTask, { problem: at, narrow, from, to, sums }),
  )
}

/** One piece of the rows, where its sums go, and scratch memory of its own. */
export interface Piece {
  from: number
  to: number
  sums: number
  scratch: number
}

export async function certifyInPieces(
  arena: Arena,
  rows: number,
  scratchBytes: number,
  problem: { squaredLength(): number },
  evaluate: (piece: Piece) => Promise<void>,
): Promise<Certificate> {
  const mark = arena.mark()
  const sums = arena.allocate(PIECES * SUMS_BYTES, 'the certificate')
  const bound = (k: number): number => Math.floor((rows * k) / PIECES)
  const tasks = Array.from({ length: PIECES }, (_, k) =>
    evaluate({
      from: bound(k),
      to: bound(k + 1),
      sums: sums + k * SUMS_BYTES,
      scratch: scratchBytes === 0 ? 0 : arena.allocate(scratchBytes, 'the certificate'),
    }),
  )
  await Promise.all(tasks)
  const total = new Float64Array(SUMS_BYTES / 8)
  const parts = arena.f64(sums, PIECES * total.length)
  parts.forEach((part, k) => {
    total[k % total.length] += part
  })
  arena.release(mark)
  return certificateOf(total, problem.squaredLength(), rows, true)
}

/** The certificate that the sums over all rows make, in the order of the SUMS_ layout. */
export function certificateOf(sums: Float64Array, squaredLength: number, rows: number, dual: boolean): Certificate {
  const [loss, dualPart, alphaMargin, correct, support] = sums
  const primal = 0.5 * squaredLength + loss
  // With v = Σ α y x: ½‖v‖² = wᵀv − ½‖w‖² + ½‖v − w‖², and the last term is of second order in the rounding of w.
  const dualValue = dualPart - (alphaMargin - 0.5 * squaredLength)
  return {
    primal,
    dual: dual ? dualValue : null,
    gap: dual ? (primal > 0 ? (primal - dualValue) / primal : 0) : null,
    supportVectors: dual ? support : null,
    trainingAccuracy: rows > 0 ? correct / rows : 1,
  }
}
