// What solver indexed goes on with where its searches look at most rows: the method that looks at all of them. Sweeps go on as
// solver `stream`, second-order steps as solver `newton`. Weights and dual variables stay. The memory of the active set becomes
// that of the other method.
import type { Address, ByteCount } from '../../sizes.ts'
import type { BlockEngine } from '../sources/block-engine.ts'
import type { RowGroup } from '../sources/row-source.ts'
import type { ActiveMemory } from './active-set.ts'
import { FIXED, type SetOfRun } from './away-rows.ts'
import { DualCachedLoops } from './cached-loops.ts'
import type { DescentsRun } from './descents-run.ts'
import type { Run, Saved, Seen, Turn } from './solver.ts'
import { stream } from './stream.ts'
import type { Allocate } from './working-set.ts'

/** What rounding of addresses takes of a room, at most. */
const ROUNDING: ByteCount = 1024

/** A run over all rows. */
export interface OverAll extends Run {
  saved: Saved
}

/** Dual cached loops where the active set was. */
export function loopsOverAll({ objective, engine, settings, memory }: SetOfRun): OverAll {
  const followed = objective.narrow ? 0 : objective.weightCount * 8
  const bytes = memory.stretches[0].bytes - followed - ROUNDING
  const own = { ...settings, innerPasses: stream.defaultInnerPasses! }
  return new DualCachedLoops(engine, objective, own, { rooms: { room: roomIn(engine, memory), bytes } })
}

/** Hands out the rooms of an active set that is not needed any more; others where these are full. */
function roomIn(engine: BlockEngine, { stretches }: ActiveMemory): Allocate {
  const free = stretches.map(({ at, bytes }) => ({ at: Math.ceil(at / 8) * 8, end: at + bytes }))
  return (what, bytes, zeroed = true) => {
    const found = free.find(({ at, end }) => at + bytes <= end)
    if (!found) return engine.room(`the working set: ${what}`, bytes, zeroed)
    const { at } = found
    found.at += Math.ceil(bytes / 8) * 8
    if (zeroed) engine.arena.bytes(at, bytes).fill(0)
    return at
  }
}

/** Whether the active set has room for all rows of the store. */
export function holdsAll({ engine, memory }: SetOfRun): boolean {
  return memory.capacity >= engine.rows && memory.records.bytes >= engine.rows * engine.plan.recordBytes
}

/** Second-order steps on all rows, which stay in memory: they are read once. A pass is one visit, of a group without rows. */
export class StepsInMemory implements OverAll {
  readonly findsRows = true
  readonly saved: Saved
  readonly #of: SetOfRun
  readonly #steps: DescentsRun
  #loaded = false

  constructor(of: SetOfRun, steps: DescentsRun) {
    this.#of = of
    this.#steps = steps
    this.saved = steps
  }

  async visit(group: RowGroup, _turn: Turn): Promise<Seen> {
    const { engine, memory, objective } = this.#of
    const { rows } = engine
    await this.#load()
    const { table, allWeights } = memory
    const all: RowGroup = { ...group, rows, table, alpha: objective.alpha, whole: true }
    if (allWeights) all.rowWeights = allWeights
    return { ...(await this.#steps.visit(all)), work: 1 }
  }

  /** Rows in the order of the store. */
  async #load(): Promise<void> {
    if (this.#loaded) return
    const { engine, memory } = this.#of
    const { arena } = engine
    let [at, row]: [Address, number] = [memory.records.at, 0]
    for await (const group of engine.pass(engine.groups(-1, FIXED))) {
      at = arena.numeric.copyRecords(group.table, group.rows, at, memory.table + row * 4) >>> 0
      row += group.rows
    }
    this.#loaded = true
  }

  /** Rows stay for the next problem. */
  next(steps: DescentsRun): StepsInMemory {
    const next = new StepsInMemory(this.#of, steps)
    next.#loaded = this.#loaded
    return next
  }

  endPass(target: number): ReturnType<DescentsRun['endPass']> {
    return this.#steps.endPass(target)
  }

  certificates(): ReturnType<DescentsRun['certificates']> {
    return this.#steps.certificates()
  }

  steps(): ReturnType<DescentsRun['steps']> {
    return this.#steps.steps()
  }

  rowsKept(): number {
    return this.#of.engine.rows
  }
}
