// Sweeps of dual coordinate descent over the rows that a rank has in memory, in slices. How long they go on is the caller's matter,
// and so is what the weights are when they begin.
import type { OneProblem } from '../objectives/one-problem.ts'
import type { RowGroup, RowSource } from '../sources/row-source.ts'
import { rankSweepTask } from './rank-sweeps-task.ts'
import type { SolverSettings } from './solver.ts'
import { activateAll, type SweepOutcome, startSweeps } from './sweeps.ts'

/** Nonzeros between two looks at the abort signal and the clock: some tens of milliseconds. */
const SLICE = 4e6

/** What a sweep has met. */
export type Met = Pick<SweepOutcome, 'gap' | 'loss' | 'all'>

/** Rows that owe no more than such a share of what they owed in the first sweep wait for news from others. */
const LITTLE = 0.1

/** Whether rows wait for news. Later sweeps see w as this rank alone would have it, and tell nothing of the others: the first one is
 *  what counts. */
export const isLittle: SweepLimits['isEnough'] = (last, first) => last.gap <= LITTLE * first.gap

/** How long sweeps go on: so many passes over all rows, or until one has met little enough. */
export interface SweepLimits {
  most: number
  isEnough(last: Met, first: Met): boolean
  signal: AbortSignal | undefined
}

export class RankSweeps {
  readonly #objective: OneProblem
  readonly #source: RowSource
  readonly #settings: Pick<SolverSettings, 'seed' | 'shrinking'>
  #group: RowGroup | undefined

  constructor(objective: OneProblem, source: RowSource, settings: Pick<SolverSettings, 'seed' | 'shrinking'>) {
    this.#objective = objective
    this.#source = source
    this.#settings = settings
  }

  /** All rows of this rank, once they have been visited. */
  get group(): RowGroup | undefined {
    return this.#group
  }

  /** Whole sweeps, unless there is an abort: what the first and the last one have met, and the work in passes. */
  async sweep(
    group: RowGroup,
    { most, isEnough, signal }: SweepLimits,
  ): Promise<{ work: number; first: Met; last: Met }> {
    const { arena, threads } = this.#source
    const { sweepKind, visitWork } = this.#objective
    const { seed, shrinking: shrink } = this.#settings
    const { sweep, order, rows, table } = group
    const problem = this.#objective.of(group)
    if (!this.#group) {
      startSweeps(arena, { sweep, order, rows, random: BigInt(seed) })
      if (sweepKind.logistic) arena.numeric.startEntropicF64(problem, 0, rows)
      this.#group = group
    }
    const slice = Math.max(1, SLICE / visitWork)
    const passWork = Math.max(1, arena.numeric.workOf(table, rows))
    let [work, first]: [number, Met | undefined] = [0, undefined]
    for (;;) {
      const step = await threads.run(rankSweepTask, { ...sweepKind, problem, sweep, rows, shrink, budget: slice })
      work += step.work
      first ??= step.met
      const { met: last } = step
      if (first && last && (work >= most * passWork || isEnough(last, first) || signal?.aborted)) {
        return { work: work / passWork, first, last }
      }
      if (signal?.aborted) {
        const nothing = { gap: Number.MAX_VALUE, loss: 0, all: false }
        return { work: work / passWork, first: first ?? nothing, last: nothing }
      }
    }
  }

  /** Brings shrunk rows back. */
  wake(): void {
    if (!this.#group) return
    this.#objective.wake(this.#group.rows)
    activateAll(this.#source.arena, this.#group.sweep, this.#group.rows)
  }
}
