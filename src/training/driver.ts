// The driver of one binary problem: asks the solver for passes, the certificate for the truth, and decides when to stop.
import type { MemorySolver, SolverRun, SolverSettings } from '../solvers/solver.ts'
import type { ThreadPool } from '../threads/pool.ts'
import { type Certificate, certify } from './certificate.ts'
import type { BinaryProblem } from './problem.ts'

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
  return drive(solver.start(pool, problem, settings), () => certify(pool, problem), settings, tell)
}

/** The same for whatever makes passes and whatever certifies them. */
export async function drive(
  run: SolverRun,
  certified: () => Promise<Certificate>,
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
    const certificate = await certified()
    primal = certificate.primal
    tell({ pass: passes, primal, gap: certificate.gap, certified: true })
    const converged = certificate.gap! <= tolerance
    if (converged || last) {
      const exitReason = converged ? 'converged' : stopped ? 'interrupted' : 'max-passes'
      return { certificate, passes: Math.min(maxPasses, Math.ceil(passes - 1e-3)), exitReason }
    }
    run.notYet()
  }
}
