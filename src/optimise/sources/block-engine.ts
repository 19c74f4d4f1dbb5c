// Blocks in memory, two at a time: while one is worked on, a reader thread reads, checks and decodes the next. Counts
// what it reads, and tells apart reading, decoding and waiting.

import type { Stretch } from '../../block-store/checkpoint.ts'
import type { LoadedRows } from '../../block-store/load-block-task.ts'
import { loadBlockTask } from '../../block-store/load-block-task.ts'
import type { LabelEntry } from '../../block-store/manifest.ts'
import type { Store } from '../../block-store/reader.ts'
import { memoryLimit } from '../../machine-memory.ts'
import type { Arena } from '../../numeric/arena.ts'
import { drawFrom } from '../../numeric/draw.ts'
import { PROBLEM_BYTES, SWEEP_BYTES } from '../../numeric/layouts.ts'
import { CACHE_LINE, roundUp } from '../../numeric/rounding.ts'
import type { Binning } from '../../rows/place-space.ts'
import type { Address, ByteCount } from '../../sizes.ts'
import { ThreadPool } from '../../threads/pool.ts'
import { groupsOf, type MemoryPlan } from './memory-plan.ts'
import type { BlockOrder, RowCounts, RowGroup, RowSource, SourceCounts } from './row-source.ts'

/** Decoding costs more than solving: two threads share it, and the system shares the cores among all three. */
export const READERS = 2

/** Room for one block and for what a solver needs with it. */
interface Slot {
  room: { at: Address; bytes: ByteCount }
  table: Address
  /** Of the rows, where the store has them. */
  rowWeights: Address
  order: number
  problem: number
  sweep: number
  alpha: number
}

export interface EngineCounts extends SourceCounts {
  readSeconds: number
  decodeSeconds: number
  /** Time that the solver waited for a block. */
  waitSeconds: number
}

export interface EngineSettings {
  /** Bytes of the dual variables of a row; 0 for methods without. */
  alphaStride: number
  trainers?: number
  /** Threads of the arena that have nothing else to do; new ones when not given. */
  reader?: ThreadPool
  /** Rows and nonzeros of all ranks; those of the store when not given. */
  all?: RowCounts | undefined
  /** Numbers of classes, by those of the store, where they are others. */
  classNumbers?: readonly number[] | undefined
}

/** How rows are changed on their way into memory. */
export interface RowTransforms {
  expand?: string | undefined
  map: number
  factors: number
  unit: boolean
  plain: boolean
  binning?: Binning | undefined
}

export class BlockEngine implements RowSource {
  readonly arena: Arena
  readonly store: Store
  readonly plan: MemoryPlan
  readonly threads: ThreadPool
  readonly rows: number
  readonly nonzeros: number
  readonly all: RowCounts
  readonly blockBytes: readonly number[]
  readonly counts: EngineCounts = {
    ...{ blocksRead: 0, bytesRead: 0, bytesSkipped: 0 },
    ...{ readSeconds: 0, decodeSeconds: 0, waitSeconds: 0 },
  }
  readonly #reader: ThreadPool
  readonly #slots: Slot[] = []
  /** What the system has for pages of files: a control group counts its page cache. */
  readonly beside: ByteCount
  /** Where that is no room for the store, blocks would push the program's own pages out: they are read past the cache. */
  readonly #direct: boolean
  readonly #alphaStride: number
  #spare = { at: 0, end: 0 }
  /** What the plan has left for rooms that a method can do without. */
  #spareBytes: ByteCount
  readonly #rooms = new Map<string, { at: Address; bytes: ByteCount }>()
  /** Number of each block's first row in the order of the store. */
  readonly firstRows: number[] = []
  readonly #classNumbers: readonly number[] | undefined
  #transforms: RowTransforms = { map: 0, factors: 0, unit: false, plain: false }

  constructor(
    arena: Arena,
    store: Store,
    plan: MemoryPlan,
    { alphaStride, trainers = 1, reader, all, classNumbers }: EngineSettings,
  ) {
    this.arena = arena
    this.store = store
    this.plan = plan
    this.#spareBytes = plan.spareBytes
    this.#reader = reader ?? new ThreadPool(arena.share, READERS)
    this.threads = new ThreadPool(arena.share, trainers)
    this.rows = store.manifest.rows
    this.nonzeros = store.manifest.nonzeros
    this.all = all ?? this
    this.blockBytes = store.manifest.blocks.map(block => block.bytes)
    this.#alphaStride = alphaStride
    this.#classNumbers = classNumbers
    const bytes = this.blockBytes.reduce((sum, each) => sum + each, 0)
    this.beside = memoryLimit() - plan.memory
    this.#direct = this.beside < bytes
    let first = 0
    for (const { rows } of store.manifest.blocks) {
      this.firstRows.push(first)
      first += rows
    }
  }

  /** Room for a solver. Classes are solved one after the other: the same name is the same room. */
  room(name: string, bytes: ByteCount, zeroed = true): Address {
    const found = this.#rooms.get(name)
    const at = found?.bytes === bytes ? found.at : this.arena.allocate(bytes || 8, name)
    this.#rooms.set(name, { at, bytes })
    if (zeroed) this.arena.bytes(at, bytes).fill(0)
    return at
  }

  spare(name: string, bytes: ByteCount): Address | undefined {
    const known = this.#rooms.get(name)
    if (known?.bytes === bytes) return known.at
    if (bytes > this.#spareBytes) return undefined
    this.#spareBytes -= bytes
    return this.room(name, bytes)
  }

  /** Memory that was in use before: blocks go there first. */
  reuse(spare: Stretch): void {
    this.#spare = { at: roundUp(spare.at, CACHE_LINE), end: spare.at + spare.bytes }
  }

  #allocate(bytes: ByteCount): Address {
    const { at, end } = this.#spare
    if (at + bytes > end) return this.arena.allocate(bytes, 'a block')
    this.#spare.at = roundUp(at + bytes, CACHE_LINE)
    return at
  }

  /** Made when the first block is loaded: by then it is known what else there is. */
  #makeSlots(): void {
    const rows = Math.max(this.plan.slotRows, 1)
    const { slotBytes } = this.plan
    for (let k = 0; k < this.plan.slots; k++) {
      this.#slots.push({
        room: { at: this.#allocate(slotBytes), bytes: slotBytes },
        alpha: this.#alphaStride > 0 ? this.#allocate(rows * this.#alphaStride) : 0,
        table: this.#allocate(rows * 4),
        rowWeights: this.weighted ? this.#allocate(rows * 8) : 0,
        order: this.#allocate(rows * 4),
        problem: this.arena.allocateZeroed(PROBLEM_BYTES, 'a block'),
        sweep: this.arena.allocateZeroed(SWEEP_BYTES, 'a block'),
      })
    }
  }

  /** Whether rows have weights. */
  get weighted(): boolean {
    return this.store.manifest.rowWeights === true
  }

  /** Labels of the rows, by the numbers of their classes. */
  get labels(): readonly LabelEntry[] {
    return this.store.manifest.labels
  }

  transformBy(transforms: RowTransforms): void {
    this.#transforms = transforms
  }

  /** Every block's rows as they are in the store, but for the numbers of their features: what scaling is learnt from. */
  plainRows(map: number): AsyncGenerator<RowGroup> {
    this.transformBy({ map, factors: 0, unit: false, plain: true })
    return this.pass(this.store.manifest.blocks.map((_, k) => [k]))
  }

  /** Blocks that meet in a group are drawn from seed and pass, so that a resumed run draws the same. */
  groups(pass: number, { seed, blockOrder }: BlockOrder, wanted?: number[] | null): number[][] {
    if (wanted) return groupsOf(this.plan, wanted)
    const order = this.store.manifest.blocks.map((_, k) => k)
    if (pass < 0 || blockOrder === 'fixed') return groupsOf(this.plan, order)
    for (let k = order.length - 1; k > 0; k--) {
      const other = Number(drawFrom([seed, pass, k]) % BigInt(k + 1))
      ;[order[k], order[other]] = [order[other], order[k]]
    }
    return groupsOf(this.plan, order)
  }

  /** These groups of blocks from the `first`-th on. While one is worked on, the next is loaded; while that is waited for, the one
   *  behind it as well: the slot of the one before is free. */
  async *pass(groups: number[][], first = 0): AsyncGenerator<RowGroup> {
    if (this.#slots.length === 0) this.#makeSlots()
    let next: Promise<RowGroup> | undefined
    try {
      for (let k = first; k < groups.length; k++) {
        const loading = next ?? this.#load(groups[k], k)
        // With one slot the next block can be read only when this one is done with.
        next = k + 1 < groups.length && this.#slots.length > 1 ? this.#load(groups[k + 1], k + 1) : undefined
        // A failure is met where the block is asked for; until then nobody else must hear of it.
        next?.catch(() => {})
        const waited = performance.now()
        const block = await loading
        this.counts.waitSeconds += (performance.now() - waited) / 1000
        yield block
      }
    } finally {
      // An early exit also waits for the readers, which may still be writing into their slot.
      await next?.catch(() => {})
    }
  }

  /** A block without rows, for work on rows that stay in memory: nothing is being read meanwhile. */
  vacant(): RowGroup {
    if (this.#slots.length === 0) this.#makeSlots()
    const { room: _, ...places } = this.#slots[0]
    return { ...places, group: 0, rows: 0, nonzeros: 0, parts: [], whole: false, packedBytes: 0 }
  }

  async #load(blocks: number[], turn: number): Promise<RowGroup> {
    const { room, ...places } = this.#slots[turn % this.#slots.length]
    const { folder, manifest } = this.store
    this.counts.lastBlocks = blocks
    const loads: Promise<LoadedRows>[] = []
    let [at, table, weights] = [room.at, places.table, places.rowWeights]
    for (const share of shares(blocks)) {
      const bytes = share.reduce((sum, block) => sum + this.plan.costs[block].bytes, 0)
      const tableRows = share.reduce((sum, block) => sum + this.plan.costs[block].rows, 0)
      loads.push(
        this.#reader.run(loadBlockTask, {
          ...{
            folder,
            fingerprint: manifest.fingerprint,
            blocks: share,
            room: { at, bytes },
            table,
            tableRows,
            weights,
          },
          ...{ expand: undefined, binning: undefined, direct: this.#direct, ...this.#transforms },
          ...(this.#classNumbers && { classNumbers: this.#classNumbers }),
        }),
      )
      at += bytes
      table += tableRows * 4
      if (weights) weights += tableRows * 8
    }
    // All of them end before a failure is told: the room must not be written into afterwards.
    const outcomes = await Promise.allSettled(loads)
    let [rows, nonzeros, packedBytes] = [0, 0, 0]
    for (const outcome of outcomes) {
      if (outcome.status === 'rejected') throw outcome.reason
      const loaded = outcome.value
      rows += loaded.rows
      nonzeros += loaded.nonzeros
      packedBytes += loaded.packedBytes
      this.counts.bytesRead += loaded.bytesRead
      this.counts.readSeconds += loaded.readMilliseconds / 1000
      this.counts.decodeSeconds += loaded.decodeMilliseconds / 1000
    }
    this.counts.blocksRead += blocks.length
    const parts = blocks.map(block => {
      return { block, rows: manifest.blocks[block].rows, firstRow: this.firstRows[block] }
    })
    return { ...places, group: turn, rows, nonzeros, parts, whole: false, packedBytes }
  }

  async close(): Promise<void> {
    await Promise.all([this.#reader.close(), this.threads.close()])
  }
}

/** Blocks dealt out to the reading threads, in stretches, so that each reads its files one after the other. */
function shares(blocks: number[]): number[][] {
  const size = Math.ceil(blocks.length / READERS)
  const count = Math.ceil(blocks.length / Math.max(size, 1))
  return Array.from({ length: count }, (_, k) => blocks.slice(k * size, (k + 1) * size))
}
