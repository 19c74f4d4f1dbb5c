// The active set S of solver `indexed`: rows that the index gave, in memory with their dual variables. A row whose dual
// variable is not 0 is always here. Rows whose dual variable is 0 may leave: the index finds them again if they matter.
import type { Stretch } from '../../block-store/checkpoint.ts'
import { SpillwayError } from '../../errors.ts'
import { type Arena, formatBytes } from '../../numeric/arena.ts'
import { TREE_ENTRIES, TREE_ROW_BYTES, TREE_ROW_NUMBER, TREE_ROW_RECORD } from '../../numeric/metric-tree-layout.ts'
import type { FoundRows } from '../../sample-index/metric-forest.ts'
import type { Address, ByteCount } from '../../sizes.ts'
import type { BlockEngine } from '../sources/block-engine.ts'

/** Where the set is: addresses only, for it crosses to the trainer's thread. */
export interface ActiveMemory {
  /** Row records, one after the other. */
  records: { at: Address; bytes: ByteCount }
  capacity: number
  /** u32[capacity] of records and of the rows' numbers in the order of the store; f64[capacity]; u32[capacity] to list some. */
  table: Address
  numbers: Address
  alpha: Address
  order: Address
  /** Bitmaps over all rows: those in the set, those that were ever looked at, and, in the order of the leaves, those that rest. */
  taken: Address
  touched: Address
  resting: Address
  bitmapBytes: ByteCount
  /** Room for pages of the index. */
  pages: { at: Address; bytes: ByteCount }
}

/** How full it is. */
export interface ActiveFill {
  count: number
  used: ByteCount
}

const PER_ROW = 4 + 4 + 8 + 4
/** Share of the room that pages of the index get, and the least. */
const PAGES_SHARE = 0.25
const LEAST_PAGES: ByteCount = 256 << 10

export function newActiveMemory(engine: BlockEngine): ActiveMemory {
  const { plan, rows } = engine
  const room = (what: string, bytes: ByteCount, zeroed = false): Address =>
    engine.room(`the active set: ${what}`, bytes, zeroed)
  const all = rows * plan.recordBytes
  const pages = Math.floor(Math.max(LEAST_PAGES, Math.min(PAGES_SHARE * plan.cacheBytes, 2 * all)))
  const left = Math.max(0, plan.cacheBytes - pages)
  const capacity = Math.min(rows, Math.floor(left / (plan.recordBytes + PER_ROW)))
  const bytes = Math.floor(Math.min(left - capacity * PER_ROW, all * 1.2 + 4096))
  const bitmapBytes = Math.ceil(rows / 8)
  return {
    records: { at: room('records', bytes), bytes },
    capacity,
    table: room('table', capacity * 4),
    numbers: room('numbers', capacity * 4),
    alpha: room('dual variables', capacity * 8),
    order: room('order', capacity * 4),
    taken: room('taken', bitmapBytes, true),
    // Classes are trained one after the other: what the index was asked for is counted over all of them.
    touched: room('touched', bitmapBytes, engine.counts.index === undefined),
    resting: room('resting', bitmapBytes, true),
    bitmapBytes,
    pages: { at: room('pages', pages), bytes: pages },
  }
}

/** What a checkpoint holds of it. */
export function stretchesOf(memory: ActiveMemory, { count, used }: ActiveFill): Stretch[] {
  const { bitmapBytes: bytes } = memory
  return [
    { at: memory.table, bytes: count * 4 },
    { at: memory.numbers, bytes: count * 4 },
    { at: memory.alpha, bytes: count * 8 },
    { at: memory.records.at, bytes: used },
    ...[memory.taken, memory.touched, memory.resting].map(at => ({ at, bytes })),
  ]
}

export class ActiveSet {
  readonly fill: ActiveFill
  readonly #arena: Arena
  readonly #memory: ActiveMemory

  constructor(arena: Arena, memory: ActiveMemory, fill: ActiveFill) {
    this.#arena = arena
    this.#memory = memory
    this.fill = { ...fill }
  }

  /** Takes rows in that were found; their dual variables come from those of all rows. `unit` makes them unit length. Whether
   *  others had to leave for them. */
  add(
    { page, places, firstRow }: Pick<FoundRows, 'page' | 'places' | 'firstRow'>,
    unit: boolean,
    alpha: Address,
  ): boolean {
    let left = false
    const arena = this.#arena
    const { numeric } = arena
    const { records, table, numbers, taken } = this.#memory
    for (const place of places) {
      const entry = page + TREE_ENTRIES + place * TREE_ROW_BYTES
      const from = page + arena.getU32(entry + TREE_ROW_RECORD)
      const number = firstRow + arena.getU32(entry + TREE_ROW_NUMBER)
      const bytes = numeric.recordBytes(from) >>> 0
      if (this.#makeRoom(bytes)) left = true
      const { fill } = this
      const at = records.at + fill.used
      arena.bytes(at, bytes).set(arena.bytes(from, bytes))
      if (unit) numeric.finishRow(at, true)
      arena.setU32(table + fill.count * 4, at)
      arena.setU32(numbers + fill.count * 4, number)
      arena.setF64(this.#memory.alpha + fill.count * 8, arena.getF64(alpha + number * 8))
      setBit(arena.bytes(taken, this.#memory.bitmapBytes), number, true)
      fill.count++
      fill.used += bytes
    }
    return left
  }

  #isFull(bytes: ByteCount): boolean {
    const { records, capacity } = this.#memory
    return this.fill.count >= capacity || this.fill.used + bytes > records.bytes
  }

  /** Whether rows had to leave. */
  #makeRoom(bytes: ByteCount): boolean {
    if (!this.#isFull(bytes)) return false
    this.dismissIdle()
    if (!this.#isFull(bytes)) return true
    const { records, capacity } = this.#memory
    throw new SpillwayError(
      `the rows that matter outgrow the memory: ${this.fill.count} rows of ${formatBytes(this.fill.used)} are in the active set, which has room for ${capacity} rows and ${formatBytes(records.bytes)}`,
      'give more --memory, or take --solver stream, which needs no rows to stay',
    )
  }

  /** Rows whose dual variables are 0 leave. */
  dismissIdle(): void {
    this.#dismiss(value => value === 0)
  }

  /** Rows leave that are left out of the problem now, by the dual variables of all rows; whoever is left out is not wanted, and
   *  others are again. */
  leaveOut(allAlpha: Address, rows: number): void {
    const arena = this.#arena
    const { numbers, alpha, taken, bitmapBytes } = this.#memory
    const all = arena.f64(allAlpha, rows)
    const values = arena.f64(alpha, this.fill.count)
    for (const [k, number] of arena.u32(numbers, this.fill.count).entries()) values[k] = all[number]
    this.#dismiss(value => value < 0)
    const bits = arena.bytes(taken, bitmapBytes).fill(0)
    for (const [number, value] of all.entries()) if (value < 0) setBit(bits, number, true)
    for (const number of arena.u32(numbers, this.fill.count)) setBit(bits, number, true)
  }

  /** Rows leave by their dual variables. The others slide down in the order of their addresses. */
  #dismiss(leaves: (value: number) => boolean): void {
    const { table, numbers, alpha, taken, resting, records, bitmapBytes } = this.#memory
    const { numeric } = this.#arena
    const { count, used } = this.fill
    const [rows, names] = [this.#arena.u32(table, count), this.#arena.u32(numbers, count)]
    const values = this.#arena.f64(alpha, count)
    const bits = this.#arena.bytes(taken, bitmapBytes)
    const memory = this.#arena.bytes(records.at, used)
    let [kept, at] = [0, 0]
    for (let k = 0; k < count; k++) {
      if (leaves(values[k])) {
        setBit(bits, names[k], false)
        continue
      }
      const bytes = numeric.recordBytes(rows[k]) >>> 0
      const from = rows[k] - records.at
      if (from !== at) memory.copyWithin(at, from, from + bytes)
      rows[kept] = records.at + at
      names[kept] = names[k]
      values[kept++] = values[k]
      at += bytes
    }
    this.fill.count = kept
    this.fill.used = at
    // Rows that rest because they were in the set must be met again.
    this.#arena.bytes(resting, bitmapBytes).fill(0)
  }

  /** Rows whose dual variables are 0. */
  get idle(): number {
    let idle = 0
    for (const value of this.#arena.f64(this.#memory.alpha, this.fill.count)) if (value === 0) idle++
    return idle
  }
}

function setBit(bits: Uint8Array, place: number, on: boolean): void {
  const at = Math.floor(place / 8)
  const bit = 2 ** (place % 8)
  const has = Math.floor(bits[at] / bit) % 2 === 1
  if (on !== has) bits[at] += on ? bit : -bit
}
