// The run of a solver that sweeps over all rows in memory, for any problem that such sweeps can run over. It works in
// slices, and looks at the abort signal between two of them. It estimates the gap, so that it asks for the certificate
// when that is likely to hold.
import type { RowGroup, RowSource } from '../sources/row-source.ts'
import { dualSweepsTask } from './dual-sweeps-task.ts'
import type { Run, Seen, SolverSettings, Turn } from './solver.ts'
import { activateAll, type SweepSettings, startSweeps } from './sweeps.ts'

/** A problem to sweep over. */
interface SweptProblem {
  /** Makes a group of rows a problem; the address of the structure that the compiled sweeps read. */
  of(group: RowGroup): number
}

/** What differs between problems. */
interface SweepingSettings extends Pick<SweepSettings, 'logistic' | 'narrow' | 'together'> {
  /** Nonzeros between two looks at the abort signal and the clock. */
  slice: number
  /** Puts the first dual variables in place, before the first sweep. */
  begin?(problem: number, rows: number): void
  /** Brings back what was shrunk besides rows. */
  activate?(rows: number): void
}

export class SweepingRun implements Run {
  readonly #source: RowSource
  readonly #problem: SweptProblem
  readonly #settings: SolverSettings
  readonly #sweeping: SweepingSettings
  #started: { group: RowGroup; problem: number; passWork: number } | undefined

  constructor(source: RowSource, problem: SweptProblem, settings: SolverSettings, sweeping: SweepingSettings) {
    this.#source = source
    this.#problem = problem
    this.#settings = settings
    this.#sweeping = sweeping
  }

  #start(group: RowGroup): { problem: number; passWork: number } {
    if (this.#started) return this.#started
    const { arena } = this.#source
    const problem = this.#problem.of(group)
    this.#sweeping.begin?.(problem, group.rows)
    const passWork = arena.numeric.workOf(group.table, group.rows)
    startSweeps(arena, group.sweep, group.order, group.rows, BigInt(this.#settings.seed))
    this.#started = { group, problem, passWork }
    return this.#started
  }

  async visit(group: RowGroup, { most, primals, targets, signal }: Turn): Promise<Seen> {
    const { problem, passWork } = this.#start(group)
    const { slice, logistic, narrow, together = false } = this.#sweeping
    const limit = most * passWork
    let work = 0
    for (;;) {
      const step = await this.#source.threads.run(dualSweepsTask, {
        ...{ logistic, narrow, together, rows: group.rows, shrink: this.#settings.shrinking },
        ...{ problem, sweep: group.sweep },
        budget: Math.min(slice, Math.max(limit - work, 1)),
        targetGap: targets[0] * primals[0],
      })
      work += step.work
      if (step.ready || work >= limit || signal?.aborted) {
        return { work: work / passWork, losses: [step.loss], gaps: [step.gap], ready: step.ready }
      }
    }
  }

  notYet(): void {
    const { group } = this.#started!
    this.#sweeping.activate?.(group.rows)
    activateAll(this.#source.arena, group.sweep, group.rows)
  }
}
