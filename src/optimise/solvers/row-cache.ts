// Rows that stay in memory while blocks come and go, the worthiest of those that were met; and the union of them with the
// block at hand. What a row is worth, the solver says.

import type { Stretch } from '../../block-store/checkpoint.ts'
import type { Arena } from '../../numeric/arena.ts'
import type { Address, ByteCount } from '../../sizes.ts'
import type { BlockEngine } from '../sources/block-engine.ts'
import type { Saved } from './solver.ts'

/** Where the cache and the union of block and cache are: addresses only, for it crosses to the trainer's thread. */
export interface CacheMemory {
  /** Row records of the cache. */
  records: { at: Address; bytes: ByteCount }
  /** u32[capacity]: the record of each cached row; u32[capacity]: its number in the order of the store. */
  table: Address
  rowNumbers: number
  /** f64[capacity], the weight of each cached row; 0 where rows have none. */
  rowWeights: Address
  capacity: number
  /** Of the union, room for every row of a block and of the cache: records, numbers, dual variables, an order, f64 worth. */
  unionTable: number
  unionNumbers: number
  unionAlpha: number
  unionOrder: number
  worth: number
  /** Weights of its rows, or 0. */
  unionWeights: Address
}

/** How full it is: rows, and bytes of their records. */
export interface CacheFill {
  cached: number
  used: number
}

/** What a row of the union takes besides its dual variables. */
const PER_UNION_ROW = 4 + 4 + 4 + 8
/** What a row of the cache takes besides its record. */
const PER_CACHED_ROW = 4 + 4
/** A weight of a row, where rows have them, in the union and in the cache alike. */
const PER_WEIGHT = 8

export class RowCache implements Saved {
  readonly memory: CacheMemory
  /** Rows that the union has room for. */
  readonly union: number
  fill: CacheFill = { cached: 0, used: 0 }
  readonly #engine: BlockEngine
  #moved = 0

  /** `alphaStride`: bytes of dual variables for each row of the union; `besides`: what else the solver keeps for it. */
  constructor(engine: BlockEngine, alphaStride: number, besides: number) {
    this.#engine = engine
    const { plan, store } = engine
    const { rows } = store.manifest
    const perWeight = engine.weighted ? PER_WEIGHT : 0
    const perUnionRow = PER_UNION_ROW + alphaStride + besides + perWeight
    const perCachedRow = PER_CACHED_ROW + perWeight
    const perRecord = plan.recordBytes
    const left = Math.max(0, plan.cacheBytes - plan.slotRows * perUnionRow)
    const capacity = Math.min(rows, Math.floor(left / (perRecord + perUnionRow + perCachedRow)))
    const most = left - capacity * (perUnionRow + perCachedRow)
    const bytes = Math.max(0, Math.floor(Math.min(most, rows * perRecord * 1.2)))
    this.union = plan.slotRows + capacity
    this.memory = {
      records: { at: this.room('records', bytes), bytes },
      table: this.room('table', capacity * 4),
      rowNumbers: this.room('rowNumbers', capacity * 4),
      rowWeights: perWeight ? this.room('rowWeights', capacity * perWeight) : 0,
      capacity,
      unionTable: this.room('unionTable', this.union * 4),
      unionNumbers: this.room('unionNumbers', this.union * 4),
      unionAlpha: this.room('unionAlpha', this.union * alphaStride),
      unionOrder: this.room('unionOrder', this.union * 4),
      worth: this.room('worth', this.union * 8),
      unionWeights: perWeight ? this.room('unionWeights', this.union * perWeight) : 0,
    }
  }

  room(what: string, bytes: ByteCount): Address {
    return this.#engine.room(`the cache of rows: ${what}`, bytes)
  }

  /** For a checkpoint: what it is, and what it holds. */
  state(): CacheFill & { base: number } {
    return { ...this.fill, base: this.memory.records.at }
  }

  stretches(): Stretch[] {
    const { rowNumbers, rowWeights, table, records } = this.memory
    const { cached, used } = this.fill
    return [
      { at: rowNumbers, bytes: cached * 4 },
      { at: table, bytes: cached * 4 },
      ...(rowWeights ? [{ at: rowWeights, bytes: cached * 8 }] : []),
      { at: records.at, bytes: used },
    ]
  }

  restore(state: unknown): void {
    const { cached, used, base } = state as CacheFill & { base: number }
    this.fill = { cached, used }
    this.#moved = this.memory.records.at - base
  }

  /** The records lie where this run has put its cache, not where the earlier one had it. */
  restored(): void {
    const table = this.#engine.arena.u32(this.memory.table, this.fill.cached)
    for (let c = 0; c < table.length; c++) table[c] += this.#moved
    this.#moved = 0
  }
}

export interface BlockRows {
  table: Address
  rowWeights?: Address | undefined
  rows: number
  parts: { rows: number; firstRow: number }[]
}

/** Lists the block's rows and, behind them, those of the cache: how many in all. A cached row whose block is here again is
 *  worked on in the block. */
export function unite(arena: Arena, memory: CacheMemory, cached: number, block: BlockRows): number {
  const numbers = arena.u32(memory.unionNumbers, block.rows + cached)
  const table = arena.u32(memory.unionTable, block.rows + cached)
  table.set(arena.u32(block.table, block.rows))
  const weights = memory.unionWeights ? arena.f64(memory.unionWeights, block.rows + cached) : undefined
  weights?.set(arena.f64(block.rowWeights!, block.rows))
  let count = 0
  for (const { rows, firstRow } of block.parts) for (let k = 0; k < rows; k++) numbers[count++] = firstRow + k
  const own = arena.u32(memory.rowNumbers, cached)
  const records = arena.u32(memory.table, cached)
  for (let c = 0; c < cached; c++) {
    const number = own[c]
    if (block.parts.some(({ rows, firstRow }) => number >= firstRow && number < firstRow + rows)) continue
    table[count] = records[c]
    if (weights) weights[count] = arena.getF64(memory.rowWeights + c * 8)
    numbers[count++] = number
  }
  return count
}

/** Fills the cache with the worthiest rows of the union, as far as it goes. The first `blockRows` of it are the block's. */
export function refill(arena: Arena, memory: CacheMemory, blockRows: number, count: number): CacheFill {
  const worth = arena.f64(memory.worth, count)
  const table = arena.u32(memory.unionTable, count)
  const order = Uint32Array.from({ length: count }, (_, k) => k)
  // Ties go to the earlier row, so that the choice is the same on every machine.
  order.sort((a, b) => worth[b] - worth[a] || a - b)
  const sizes = new Float64Array(count)
  const kept: number[] = []
  let bytes = 0
  for (const k of order) {
    if (kept.length >= memory.capacity) break
    sizes[k] = arena.numeric.recordBytes(table[k]) >>> 0
    if (bytes + sizes[k] > memory.records.bytes) break
    bytes += sizes[k]
    kept.push(k)
  }
  // Rows that stay slide down in the order of their addresses, so none overwrites another; then the new ones come in.
  kept.sort((a, b) => Number(a < blockRows) - Number(b < blockRows) || table[a] - table[b])
  const unionNumbers = arena.u32(memory.unionNumbers, count)
  let at = memory.records.at
  const placed = kept.map(k => {
    const [size, from] = [sizes[k], table[k]]
    if (from !== at) arena.bytes(0, Math.max(at, from) + size).copyWithin(at, from, from + size)
    at += size
    return { number: unionNumbers[k], record: at - size, union: k }
  })
  // Kept in the order of the store: the same cache is the same list, however it came about.
  placed.sort((a, b) => a.number - b.number)
  const numbers = arena.u32(memory.rowNumbers, memory.capacity)
  const records = arena.u32(memory.table, memory.capacity)
  placed.forEach(({ number, record, union }, c) => {
    numbers[c] = number
    records[c] = record
    if (memory.rowWeights) arena.setF64(memory.rowWeights + c * 8, arena.getF64(memory.unionWeights + union * 8))
  })
  return { cached: placed.length, used: at - memory.records.at }
}
