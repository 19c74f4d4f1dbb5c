// The end of a pass over a rank's rows. What ranks have found is put together, so that all of them know the same, and decide the
// same. One process alone goes the same way.
import type { RunState } from '../../block-store/checkpoint.ts'
import { alone, type Communicator } from '../../ranks/communicator.ts'
import { onAnyRank, sumNumbers } from '../../ranks/records.ts'
import type { Run } from '../solvers/solver.ts'
import type { RowSource } from '../sources/row-source.ts'
import { type DriverSettings, isSpent } from './driving.ts'
import { type Progress, sum } from './progress.ts'
import type { RunCheckpoints } from './run-checkpoints.ts'

interface Ending {
  source: RowSource
  run: Run
  settings: DriverSettings
  progress: Progress
  checkpoints: RunCheckpoints
}

export class PassEnd {
  readonly #of: Ending
  readonly #ranks: Communicator
  /** Over ranks: whether one of them was interrupted, as all of them know. */
  #heard = false

  constructor(of: Ending) {
    this.#of = of
    this.#ranks = of.settings.ranks ?? alone
  }

  /** Whether the run is to end: ranks decide together. */
  get interrupted(): boolean {
    return this.#ranks.size > 1 ? this.#heard : this.#of.settings.signal?.aborted === true
  }

  /** Whether a checkpoint is written at the end of a pass. Ranks write theirs together. */
  async isCheckpointDue(): Promise<boolean> {
    const { source, checkpoints } = this.#of
    const isDue = this.interrupted || checkpoints.isDue(sum(source.blockBytes))
    if (this.#ranks.size === 1) return isDue
    return checkpoints.areKept && onAnyRank(this.#ranks, isDue)
  }

  /** Whether one of the ranks had to leave groups out. `before`: the work before this pass. */
  async meet(state: RunState, cutShort: boolean, before: number): Promise<boolean> {
    const { settings, run, source, progress, checkpoints } = this.#of
    const ranks = this.#ranks
    if (ranks.size === 1) {
      const last = cutShort || settings.signal?.aborted === true || isSpent(state, settings)
      state.work += (await run.meet?.(last)) ?? 0
      return cutShort
    }
    const { losses, gaps, ready } = state
    const share = source.rows / Math.max(source.all.rows, 1)
    const aborted = settings.signal?.aborted === true
    const flags = [cutShort, aborted, ready === false, progress.partial].map(Number)
    const sums = await sumNumbers(ranks, [...flags, (state.work - before) * share, ...losses, ...gaps])
    const [left, stopped, notReady, partial, work] = sums.splice(0, flags.length + 1)
    // A run that goes on finishes this pass first: what each rank has found in it so far is written before ranks put it together.
    if (left > 0) await checkpoints.writeLast(state)
    state.work = before + work
    state.losses = sums.splice(0, losses.length)
    state.gaps = sums
    if (ready !== undefined) state.ready = notReady === 0
    progress.partial = partial > 0
    this.#heard = stopped > 0
    state.work += (await run.meet?.(this.#heard || isSpent(state, settings))) ?? 0
    return left > 0
  }
}
