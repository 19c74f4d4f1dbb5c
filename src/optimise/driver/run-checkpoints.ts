// The checkpoints of one run: when one is due, and what is written with it.
import type { RunState, Stretch } from '../../block-store/checkpoint.ts'
import type { Objective } from '../objectives/objective.ts'
import type { Run } from '../solvers/solver.ts'
import type { RowGroup, RowSource } from '../sources/row-source.ts'
import { type DriverSettings, nowhere, type StateKeeper } from './driving.ts'
import { sum } from './progress.ts'

/** Weights and the rows that a method keeps are written with every checkpoint. While they are small beside a block, one after
 *  every block costs little. */
const CHEAP_SHARE = 0.1

interface Checkpointed {
  source: RowSource
  objective: Objective
  run: Run
  settings: DriverSettings
  keeper: StateKeeper
  /** Whether the method moves dual variables. */
  dual: boolean
}

export class RunCheckpoints {
  readonly #of: Checkpointed
  #last = performance.now()
  /** Whether ranks were interrupted within a pass: then the last checkpoint stands. */
  #torn = false

  constructor(of: Checkpointed) {
    this.#of = of
  }

  /** Whether anybody goes on with this run. */
  get areKept(): boolean {
    return this.#of.keeper !== nowhere
  }

  /** Whether the method has rows in memory that a checkpoint holds besides weights and dual variables. */
  get keepsRows(): boolean {
    return this.#stretches.length > 0
  }

  get #stretches(): Stretch[] {
    return this.#of.run.saved?.stretches?.() ?? []
  }

  /** A group has been visited: its dual variables have moved, if the method has any. Those of another method only say which rows are
   *  left out. */
  touch(group: RowGroup): void {
    if (!this.#of.dual || this.#of.run.leavesDual) return
    // Rows that stay in memory belong to any block.
    if (this.keepsRows) this.touchAll()
    else this.#of.keeper.touch(group.parts.map(part => part.block))
  }

  touchAll(): void {
    this.#of.keeper.touch([...this.#of.source.blockBytes.keys()])
  }

  /** Whether one is due after so many bytes of blocks. */
  isDue(blockBytes: number): boolean {
    const { objective, run, settings } = this.#of
    const { weightCount, weightBytes } = objective
    const kept = sum(this.#stretches.map(({ bytes }) => bytes))
    // A run that finds its rows makes short passes.
    if (!run.findsRows && weightCount * weightBytes + kept <= CHEAP_SHARE * blockBytes) return true
    return performance.now() - this.#last >= settings.checkpointSeconds * 1000
  }

  async write(state: RunState, finished = false): Promise<void> {
    const { source, run, keeper } = this.#of
    if (this.#torn || run.saved?.isTorn?.()) return
    const kept = this.#stretches
    const forgets = finished && kept.length > 0
    state.bytesRead = source.counts.bytesRead
    state.solver = forgets ? undefined : run.saved?.state()
    await keeper.save(state, forgets || kept.length === 0 ? undefined : kept)
    this.#last = performance.now()
  }

  /** Writes the last one, within a pass over ranks. */
  async writeLast(state: RunState): Promise<void> {
    await this.write(state)
    this.#torn = true
  }

  /** Fetches what a method had in memory when the last one was written. */
  async loadMemory(): Promise<void> {
    await this.#of.keeper.loadMemory(this.#stretches)
  }
}
