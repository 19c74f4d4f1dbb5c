// The driver of one binary problem: asks the solver for passes, the certificate for the truth, and decides when to stop.

import type { ThreadPool } from '../../threads/pool.ts'
import { type Certificate, certify } from '../objectives/certificate.ts'
import {
  certificateAt,
  type LossesAlong,
  lookAlongInPieces,
  roomForLook,
  type ShortEnd,
} from '../objectives/line-search.ts'
import { lookAlongTask } from '../objectives/look-along-task.ts'
import type { BinaryProblem } from '../objectives/problem.ts'
import type { MemorySolver, SolverRun, SolverSettings } from '../solvers/solver.ts'

export type ExitReason = 'converged' | 'max-passes' | 'interrupted'

export interface DriverSettings extends SolverSettings {
  tolerance: number
  maxPasses: number
  signal?: AbortSignal | undefined
}

export interface Solution {
  /** Undefined when the run was interrupted before it could be certified. */
  certificate: Certificate | undefined
  passes: number
  exitReason: ExitReason
  /** Of a run that ended short of its tolerance: what its weights are multiplied by, and why that may be. */
  short?: ShortEnd
  /** Of many models that were trained together: each of them. */
  models?: Solution[]
}

export interface PassProgress {
  pass: number
  primal: number
  gap: number | null
  certified: boolean
}

export function solve(
  pool: ThreadPool,
  solver: MemorySolver,
  problem: BinaryProblem,
  settings: DriverSettings,
  tell: (progress: PassProgress) => void,
): Promise<Solution> {
  const { arena, rows, at, narrow } = problem
  const truth: Truth = {
    certify: () => certify(pool, problem),
    penalty: () => problem.penalty(),
    lookAlong: () =>
      lookAlongInPieces(arena, roomForLook(arena), rows.rows, ({ from, to, along }) =>
        pool.run(lookAlongTask, { problem: at, kind: narrow ? 'f32' : 'f64', from, to, along }),
      ),
  }
  return drive(solver.start(pool, problem, settings), truth, settings, tell)
}

/** What tells the truth about a problem's weights. */
export interface Truth {
  certify(): Promise<Certificate>
  /** For the last line search: what t·w costs besides losses, and the losses along w. */
  penalty(): (t: number) => number
  lookAlong(): Promise<LossesAlong>
}

/** The same for whatever makes passes and whatever certifies them. */
export async function drive(
  run: SolverRun,
  truth: Truth,
  { tolerance, maxPasses, signal }: DriverSettings,
  tell: (progress: PassProgress) => void,
): Promise<Solution> {
  let passes = 0
  // Until a pass has been made there is no primal to measure the gap by.
  let primal = 0
  for (;;) {
    const left = maxPasses - passes
    const order = { most: Math.min(1, left), targetGap: tolerance * primal, left, signal }
    const report = await run.pass(order)
    passes += report.passes
    const stopped = signal?.aborted === true
    // A solver overshoots its budget by at most a row, which does not make a pass.
    const last = stopped || passes >= maxPasses - 1e-3
    if (!report.ready && !last) {
      primal = report.estimate.primal
      tell({ pass: passes, primal, gap: primal > 0 ? report.estimate.gap / primal : 0, certified: false })
      continue
    }
    let certificate = await truth.certify()
    let short: ShortEnd | undefined
    if (last && !(certificate.gap! <= tolerance)) {
      const { primal, ...found } = (await truth.lookAlong()).best(0, truth.penalty())
      certificate = certificateAt(certificate, { ...found, primal })
      short = found
    }
    primal = certificate.primal
    tell({ pass: passes, primal, gap: certificate.gap, certified: true })
    const converged = certificate.gap! <= tolerance
    if (converged || last) {
      const exitReason = converged ? 'converged' : stopped ? 'interrupted' : 'max-passes'
      const whole = Math.min(maxPasses, Math.ceil(passes - 1e-3))
      return { certificate, passes: whole, exitReason, ...(short && { short }) }
    }
    run.notYet()
  }
}
