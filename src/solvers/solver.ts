// What a solver is to the rest of the program. It owns one pass; the driver in training/ owns passes, timing, stopping,
// certificates and abort. What a solver needs is declared here and checked in one place before any work starts.
import { UsageError } from '../errors.ts'
import type { Loss } from '../losses/loss.ts'
import type { ThreadPool } from '../threads/pool.ts'
import type { BinaryProblem } from '../training/problem.ts'

export interface SolverSettings {
  seed: number
  shrinking: boolean
}

/** What the driver tells a solver before a pass. */
export interface PassOrder {
  /** Work allowed, in passes over all nonzeros; at least one sweep's share. */
  most: number
  /** The gap (absolute) at which the solver should come back early and be certified. */
  targetGap: number
  signal: AbortSignal | undefined
}

export interface PassReport {
  /** Work done, in passes over all nonzeros. */
  passes: number
  /** What the solver believes: an estimate, no certificate. */
  estimate: { primal: number; gap: number }
  /** True when the solver thinks the target is met. */
  ready: boolean
}

export interface SolverRun {
  pass(order: PassOrder): Promise<PassReport>
  /** The certificate did not confirm what the solver believed. */
  notYet(): void
}

export interface Solver {
  name: string
  summary: string
  /** What a loss must have. */
  lossNeeds: { what: string; has(loss: Loss): boolean }
  start(pool: ThreadPool, problem: BinaryProblem, settings: SolverSettings): SolverRun
}

/** The one refusal of what does not go together. */
export function checkCompatible(solver: Solver, loss: Loss): void {
  if (!solver.lossNeeds.has(loss)) {
    throw new UsageError(
      `the ${loss.name} loss is not compatible with solver ${solver.name}: missing ${solver.lossNeeds.what}`,
    )
  }
}
