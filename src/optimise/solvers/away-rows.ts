// Rows of the active set that are away: the memory has no room for their records, so they stay in the blocks of the store. They
// are met block by block, together with the rows in memory. A row is away where its dual variable is not 0 and it is not in memory.
import { drawFrom, drawSome } from '../../numeric/draw.ts'
import type { Address } from '../../sizes.ts'
import type { BinaryObjective } from '../objectives/binary.ts'
import type { BlockEngine } from '../sources/block-engine.ts'
import type { RowGroup } from '../sources/row-source.ts'
import { type ActiveFill, type ActiveMemory, ActiveSet } from './active-set.ts'
import { indexedAwayTask, indexedEvaluateTask } from './indexed-task.ts'
import type { SolverSettings } from './solver.ts'

/** A round over rows that are away: plain data, for checkpoints. */
export interface AwayRound {
  /** Groups of blocks that are left to read. */
  left: number[][]
  /** Whether it is one over all rows that are away. */
  whole: boolean
  /** Rows that were away when it began, and those of them that were met, with what they lost and owed. */
  rows: number
  met: number
  loss: number
  gap: number
}

/** The active set and what it is for. */
export interface SetOfRun {
  objective: BinaryObjective
  engine: BlockEngine
  settings: SolverSettings
  memory: ActiveMemory
  /** Address of room for sums. */
  sums: Address
}

/** Blocks as they stand. */
export const FIXED = { seed: 0, blockOrder: 'fixed' } as const

export class AwayRows {
  readonly #of: SetOfRun

  constructor(of: SetOfRun) {
    this.#of = of
  }

  /** Groups of the blocks that have rows which are away, in an order that is drawn. */
  groups({ count }: ActiveFill, draw: number): number[][] {
    const { engine, objective, memory, settings } = this.#of
    const { arena, alpha } = objective
    const values = arena.f64(memory.alpha, count)
    const supporting = new Uint32Array(engine.firstRows.length)
    for (const [block, first] of engine.firstRows.entries()) {
      const rows = engine.store.manifest.blocks[block].rows
      for (const value of arena.f64(alpha + first * 8, rows)) if (value > 0) supporting[block]++
    }
    for (const [k, number] of arena.u32(memory.numbers, count).entries())
      if (values[k] > 0) supporting[blockOf(engine.firstRows, number)]--
    const blocks = [...supporting.keys()].filter(block => supporting[block] > 0)
    const seed = Number(drawFrom([settings.seed, draw]) % 2n ** 32n)
    const drawn = Array.from(drawSome(blocks.length, blocks.length, seed), k => blocks[k])
    return engine.groups(-1, FIXED, drawn)
  }

  /** A round over all rows that are away, or over about so many of them, those of whole groups of blocks. */
  newRound(fill: ActiveFill, step: number, most: number): AwayRound {
    const groups = this.groups(fill, step)
    const count = Math.max(1, Math.ceil((most / Math.max(1, fill.away)) * groups.length))
    const left = groups.slice(0, count)
    return { left, whole: left.length === groups.length, rows: fill.away, met: 0, loss: 0, gap: 0 }
  }

  /** Goes on with a round. An abort ends it between two groups. At its end, tells what S loses and owes: rows in memory as they
   *  are, those that are away as they were met. */
  async goOn(
    round: AwayRound,
    before: ActiveFill,
    step: number,
    signal: AbortSignal | undefined,
  ): Promise<{ fill: ActiveFill; visits: number; end?: { loss: number; gap: number } }> {
    const { engine, objective, memory, sums, settings } = this.#of
    let [fill, visits] = [before, 0]
    let owed = { loss: 0, gap: 0 }
    for await (const group of engine.pass(round.left)) {
      const on = { of: objective.at(group), memory, sums }
      const random = [settings.seed, step, round.left.length]
      const met = await engine.threads.run(indexedAwayTask, { ...on, fill, sweeps: settings.innerPasses, random })
      fill = met.fill
      round.left = round.left.slice(1)
      round.met += met.rows
      round.loss += met.loss
      round.gap += met.gap
      visits += met.visits
      if (round.left.length === 0) owed = await engine.threads.run(indexedEvaluateTask, { ...on, fill })
      else if (signal?.aborted) return { fill, visits }
    }
    // What a part shows stands for all.
    const scale = round.rows / Math.max(1, round.met)
    return { fill, visits, end: { loss: owed.loss + round.loss * scale, gap: owed.gap + round.gap * scale } }
  }

  /** Loads groups, and makes of each the rows that are away. */
  async *loaded(groups: number[][], fill: ActiveFill): AsyncGenerator<RowGroup> {
    const { engine, objective, memory } = this.#of
    const set = new ActiveSet(objective.arena, memory, fill)
    for await (const group of engine.pass(groups))
      yield { ...group, rows: set.awayIn(group, objective.alpha).length, parts: [] }
  }

  /** Gives rows that are away the dual variables that their margins tell. */
  async findDual(groups: number[][], before: ActiveFill): Promise<ActiveFill> {
    const { engine, objective, memory, sums } = this.#of
    let fill = before
    for await (const group of engine.pass(groups)) {
      const on = { of: objective.at(group), memory, fill, sums }
      fill = (await engine.threads.run(indexedAwayTask, { ...on, sweeps: 'by-margins', random: [] })).fill
    }
    return fill
  }
}

/** The block of a row, by the first rows of all blocks. */
function blockOf(firstRows: readonly number[], row: number): number {
  let [low, high] = [0, firstRows.length]
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    if (firstRows[middle] <= row) low = middle
    else high = middle
  }
  return low
}
