// Blocks in memory, two at a time: while one is worked on, a reader thread reads, checks and decodes the next. Counts
// what it reads, and tells apart reading, decoding and waiting.
import type { Store } from '../block-store/reader.ts'
import type { Arena } from '../numeric/arena.ts'
import { PROBLEM_BYTES, SWEEP_BYTES } from '../numeric/layouts.ts'
import { ThreadPool } from '../threads/pool.ts'
import type { MemoryPlan } from './memory-plan.ts'

/** Room for one block and for what a solver needs with it. */
interface Slot {
  room: { at: number; bytes: number }
  table: number
  order: number
  problem: number
  sweep: number
}

export interface LoadedBlock {
  /** Number of the group of physical blocks that was loaded. */
  group: number
  rows: number
  nonzeros: number
  /** Number of its first row in the order of the store: where its dual variables are. */
  firstRow: number
  /** Addresses: u32[rows] of row records, u32[rows] for an order, and room for a PROBLEM_ and a SWEEP_ structure. */
  table: number
  order: number
  problem: number
  sweep: number
  packedBytes: number
}

export interface EngineCounts {
  blocksRead: number
  bytesRead: number
  readSeconds: number
  decodeSeconds: number
  /** Time that the solver waited for a block. */
  waitSeconds: number
}

/** How rows are changed on their way into memory. */
export interface RowTransforms {
  map: number
  factors: number
  unit: boolean
  plain: boolean
}

export class BlockEngine {
  readonly arena: Arena
  readonly store: Store
  readonly plan: MemoryPlan
  readonly trainer: ThreadPool
  readonly counts: EngineCounts = { blocksRead: 0, bytesRead: 0, readSeconds: 0, decodeSeconds: 0, waitSeconds: 0 }
  readonly #reader: ThreadPool
  readonly #slots: Slot[] = []
  readonly #firstRows: number[] = []
  #transforms: RowTransforms = { map: 0, factors: 0, unit: false, plain: false }

  constructor(arena: Arena, store: Store, plan: MemoryPlan, slots = 2) {
    this.arena = arena
    this.store = store
    this.plan = plan
    this.#reader = new ThreadPool(arena.share, 1)
    this.trainer = new ThreadPool(arena.share, 1)
    const rows = Math.max(plan.slotRows, 1)
    for (let k = 0; k < Math.min(slots, plan.groups.length); k++) {
      this.#slots.push({
        room: { at: arena.allocate(plan.slotBytes, 'a block'), bytes: plan.slotBytes },
        table: arena.allocate(rows * 4, 'a block'),
        order: arena.allocate(rows * 4, 'a block'),
        problem: arena.allocateZeroed(PROBLEM_BYTES, 'a block'),
        sweep: arena.allocateZeroed(SWEEP_BYTES, 'a block'),
      })
    }
    let first = 0
    for (const group of plan.groups) {
      this.#firstRows.push(first)
      for (const block of group) first += store.manifest.blocks[block].rows
    }
  }

  get groups(): number {
    return this.plan.groups.length
  }

  transformBy(transforms: RowTransforms): void {
    this.#transforms = transforms
  }

  /** The groups in this order, each loaded while the one before is worked on. */
  async *pass(order: number[]): AsyncGenerator<LoadedBlock> {
    let loading: Promise<LoadedBlock> | undefined
    try {
      for (let k = 0; k < order.length; k++) {
        loading ??= this.#load(order[k], k)
        const waited = performance.now()
        const block = await loading
        this.counts.waitSeconds += (performance.now() - waited) / 1000
        // With one slot the next block can be read only when this one is done with.
        loading = k + 1 < order.length && this.#slots.length > 1 ? this.#load(order[k + 1], k + 1) : undefined
        // A failure is met where the block is asked for; until then nobody else must hear of it.
        loading?.catch(() => {})
        yield block
      }
    } finally {
      // Whoever leaves early still waits for the reader: its slot must not be written into afterwards.
      await loading?.catch(() => {})
    }
  }

  async #load(group: number, turn: number): Promise<LoadedBlock> {
    const slot = this.#slots[turn % this.#slots.length]
    const { room, table, order, problem, sweep } = slot
    const loaded = await this.#reader.run('load-block', {
      folder: this.store.folder,
      fingerprint: this.store.manifest.fingerprint,
      blocks: this.plan.groups[group],
      room,
      table,
      tableRows: this.plan.slotRows,
      ...this.#transforms,
    })
    this.counts.blocksRead += this.plan.groups[group].length
    this.counts.bytesRead += loaded.bytesRead
    this.counts.readSeconds += loaded.readMilliseconds / 1000
    this.counts.decodeSeconds += loaded.decodeMilliseconds / 1000
    const { rows, nonzeros, packedBytes } = loaded
    return { group, rows, nonzeros, firstRow: this.#firstRows[group], table, order, problem, sweep, packedBytes }
  }

  async close(): Promise<void> {
    await Promise.all([this.#reader.close(), this.trainer.close()])
  }
}
