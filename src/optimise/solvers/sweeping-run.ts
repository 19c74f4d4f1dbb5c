// Sweeps of dual coordinate descent with all rows in memory, for any problem that they can run over: slices of work between
// two looks at the abort signal, and an estimate of the gap, so that the certificate is asked for when it is likely to hold.

import type { Arena } from '../../numeric/arena.ts'
import { SWEEP_BYTES } from '../../numeric/layouts.ts'
import type { RowSet } from '../../rows/row-set.ts'
import type { ThreadPool } from '../../threads/pool.ts'
import { dualSweepsTask } from './dual-sweeps-task.ts'
import type { PassOrder, PassReport, SolverRun, SolverSettings } from './solver.ts'
import { activateAll, type SweepSettings, startSweeps } from './sweeps.ts'

/** A problem to sweep over. */
interface SweptProblem {
  readonly arena: Arena
  readonly rows: RowSet
  /** Address of the structure that the compiled sweeps read. */
  readonly at: number
  squaredLength(): number
}

/** What differs between problems. */
interface SweepingSettings extends Pick<SweepSettings, 'logistic' | 'narrow' | 'together'> {
  /** Nonzeros between two looks at the abort signal and the clock. */
  slice: number
  /** Brings back what was shrunk besides rows. */
  activate?(): void
}

export class SweepingRun implements SolverRun {
  readonly #pool: ThreadPool
  readonly #problem: SweptProblem
  readonly #sweeps: SweepSettings
  readonly #slice: number
  readonly #activate: (() => void) | undefined
  readonly #sweep: number
  readonly #passWork: number
  /** Certified gap over estimated gap, learnt when a certificate was asked for in vain. */
  #optimism = 1

  constructor(pool: ThreadPool, problem: SweptProblem, settings: SolverSettings, sweeping: SweepingSettings) {
    const { arena, rows } = problem
    const { slice, activate, ...kind } = sweeping
    this.#pool = pool
    this.#problem = problem
    this.#sweeps = { ...kind, rows: rows.rows, shrink: settings.shrinking }
    this.#slice = slice
    this.#activate = activate
    this.#passWork = arena.numeric.workOf(rows.table, rows.rows)
    this.#sweep = arena.allocate(SWEEP_BYTES, 'the sweep')
    const order = arena.allocate(Math.max(rows.rows, 1) * 4, 'the order of the rows')
    startSweeps(arena, this.#sweep, order, rows.rows, BigInt(settings.seed))
  }

  async pass({ most, targetGap, signal }: PassOrder): Promise<PassReport> {
    const limit = most * this.#passWork
    let work = 0
    for (;;) {
      const step = await this.#pool.run(dualSweepsTask, {
        ...this.#sweeps,
        problem: this.#problem.at,
        sweep: this.#sweep,
        budget: Math.min(this.#slice, Math.max(limit - work, 1)),
        targetGap: targetGap * this.#optimism,
      })
      work += step.work
      if (step.ready || work >= limit || signal?.aborted) {
        const primal = 0.5 * this.#problem.squaredLength() + step.loss
        return { passes: work / this.#passWork, estimate: { primal, gap: step.gap }, ready: step.ready }
      }
    }
  }

  notYet(): void {
    this.#optimism *= 0.7
    this.#activate?.()
    activateAll(this.#problem.arena, this.#sweep, this.#problem.rows.rows)
  }
}
