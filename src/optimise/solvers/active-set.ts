// The active set S of solver `indexed`: rows that the index gave, in memory with their dual variables. Rows whose dual variable
// is 0 may leave: the index finds them again if they matter. A row whose dual variable is not 0 is always of S. Where the memory
// has no room for all of those, some are away: their records stay in the blocks of the store, and are met there, block by block.
import type { Stretch } from '../../block-store/checkpoint.ts'
import type { Arena } from '../../numeric/arena.ts'
import { TREE_ENTRIES, TREE_ROW_BYTES, TREE_ROW_NUMBER, TREE_ROW_RECORD } from '../../numeric/metric-tree-layout.ts'
import { roundDown } from '../../numeric/rounding.ts'
import type { FoundRows } from '../../sample-index/metric-forest.ts'
import type { Address, ByteCount } from '../../sizes.ts'
import type { ProblemAt } from '../objectives/one-problem.ts'
import type { BlockEngine } from '../sources/block-engine.ts'
import type { Momentum } from './momentum.ts'

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
  /** Where rows have weights: f64 of the rows in the set, and of all rows in the order of the store; else 0. */
  rowWeights: Address
  allWeights: Address
  /** Dual variables and weights of before the last sweep; 0 where nobody remembers them. */
  before: Pick<Momentum, 'alpha' | 'weights'>
  /** Bitmaps over all rows: those in the set, those that were ever looked at, and, in the order of the leaves, those that rest. */
  taken: Address
  touched: Address
  resting: Address
  bitmapBytes: ByteCount
  /** Room for pages of the index. */
  pages: { at: Address; bytes: ByteCount }
  /** What all of it lies in, but for the rows that were looked at and the weights of all rows. */
  stretches: { at: Address; bytes: ByteCount }[]
}

/** How full it is: rows in memory and bytes of their records; and rows that are away, for there is no room for them. */
export interface ActiveFill {
  count: number
  used: ByteCount
  away: number
}

/** What a row takes besides its record: table, number, order, dual variable, and that of before. */
const PER_ROW = 4 + 4 + 4 + 8 + 8
/** And its weight, where rows have them. */
const PER_WEIGHT = 8
/** Share of the room that pages of the index get at least, and the least. */
const PAGES_SHARE = 0.25
const LEAST_PAGES: ByteCount = 256 << 10
/** Rows that must find room in memory, others away or not. */
const LEAST_ROWS = 250

/** The least that a set and pages of the index must have, of so many rows with records of so many bytes. */
export function leastActive(rows: number, recordBytes: ByteCount): ByteCount {
  const most = Math.min(rows, LEAST_ROWS)
  return Math.ceil(Math.max(LEAST_PAGES + most * (recordBytes + PER_ROW), LEAST_PAGES / PAGES_SHARE))
}

/** `remembered`: so many weights are remembered from before a sweep, and the dual variables with them. */
export function newActiveMemory(engine: BlockEngine, remembered: number): ActiveMemory {
  const { plan, rows } = engine
  const all = rows * plan.recordBytes
  const perRow = PER_ROW + (engine.weighted ? PER_WEIGHT : 0)
  const allRecords = all * 1.2 + 4096
  // What all rows would leave is for pages, too.
  const share = Math.max(PAGES_SHARE * plan.cacheBytes, plan.cacheBytes - allRecords - rows * perRow)
  const pages = Math.floor(Math.max(LEAST_PAGES, Math.min(share, 2 * all)))
  const left = Math.max(0, plan.cacheBytes - pages)
  const capacity = Math.min(rows, Math.floor(left / (plan.recordBytes + perRow)))
  const bytes = roundDown(Math.min(left - capacity * perRow, allRecords), 8)
  const bitmapBytes = Math.ceil(rows / 8)
  // Those of 8 bytes come first: all of them lie at multiples of their size.
  const parts = {
    ...{ records: bytes, alpha: capacity * 8, rowWeights: engine.weighted ? capacity * 8 : 0 },
    ...{ alphaBefore: remembered > 0 ? capacity * 8 : 0, weightsBefore: remembered * 8 },
    ...{ table: capacity * 4, numbers: capacity * 4, order: capacity * 4, pages },
  }
  const sum = Object.values(parts).reduce((total, each) => total + each, 0)
  const room = { at: engine.room('the active set', sum, false), bytes: sum }
  const places = divided(room.at, parts)
  const bitmaps = { at: engine.room('the active set: bitmaps', 2 * bitmapBytes), bytes: 2 * bitmapBytes }
  const { records, table, numbers, alpha, order, rowWeights, alphaBefore, weightsBefore } = places
  return {
    ...{ records: { at: records, bytes }, capacity, table, numbers, alpha, order, bitmapBytes },
    rowWeights: engine.weighted ? rowWeights : 0,
    allWeights: engine.weighted ? engine.room('the active set: weights of all rows', rows * 8, false) : 0,
    before: remembered > 0 ? { alpha: alphaBefore, weights: weightsBefore } : { alpha: 0, weights: 0 },
    taken: bitmaps.at,
    // Classes are trained one after the other: what the index was asked for is counted over all of them.
    touched: engine.room('the active set: touched', bitmapBytes, engine.counts.index === undefined),
    resting: bitmaps.at + bitmapBytes,
    pages: { at: places.pages, bytes: pages },
    stretches: [room, bitmaps],
  }
}

/** Addresses of parts that lie one after the other. */
function divided<Name extends string>(from: Address, parts: Record<Name, ByteCount>): Record<Name, Address> {
  let at = from
  const places = {} as Record<Name, Address>
  for (const name of Object.keys(parts) as Name[]) {
    places[name] = at
    at += parts[name]
  }
  return places
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

/** Whether a dual variable is as large as it can be, by the row's record and its number. */
export type AtBound = (value: number, record: Address, number: number) => boolean

export class ActiveSet {
  readonly fill: ActiveFill
  readonly #arena: Arena
  readonly #memory: ActiveMemory
  /** Rows that were here before, at the beginning of the table: those may leave for others. */
  #old: number

  readonly #atBound: AtBound

  /** `atBound`: whether a dual variable is as large as it can be. Such rows go away first: they move least. */
  constructor(arena: Arena, memory: ActiveMemory, fill: ActiveFill, atBound: AtBound = () => false) {
    this.#arena = arena
    this.#memory = memory
    this.#atBound = atBound
    this.fill = { ...fill }
    this.#old = fill.count
  }

  /** Takes rows in that were found; their dual variables come from those of all rows. `unit` makes them unit length. How many
   *  found room. */
  add(
    { page, places, firstRow }: Pick<FoundRows, 'page' | 'places' | 'firstRow'>,
    unit: boolean,
    alpha: Address,
  ): number {
    const arena = this.#arena
    const { numeric } = arena
    const { records, table, numbers, taken } = this.#memory
    const { fill } = this
    const before = fill.count - this.#old
    for (const place of places) {
      const entry = page + TREE_ENTRIES + place * TREE_ROW_BYTES
      const from = page + arena.getU32(entry + TREE_ROW_RECORD)
      const number = firstRow + arena.getU32(entry + TREE_ROW_NUMBER)
      const bytes = numeric.recordBytes(from) >>> 0
      const value = arena.getF64(alpha + number * 8)
      const fits = this.#makeRoom(bytes)
      // Without a dual variable it is not of S before it is in memory: the index finds it again.
      if (!fits && value === 0) continue
      setBit(arena.bytes(taken, this.#memory.bitmapBytes), number, true)
      if (!fits) {
        fill.away++
        continue
      }
      const at = records.at + fill.used
      arena.bytes(at, bytes).set(arena.bytes(from, bytes))
      if (unit) numeric.finishRow(at, true)
      arena.setU32(table + fill.count * 4, at)
      arena.setU32(numbers + fill.count * 4, number)
      arena.setF64(this.#memory.alpha + fill.count * 8, value)
      fill.count++
      fill.used += bytes
    }
    return fill.count - this.#old - before
  }

  #isFull(bytes: ByteCount): boolean {
    const { records, capacity } = this.#memory
    return this.fill.count >= capacity || this.fill.used + bytes > records.bytes
  }

  /** Whether there is room now. Of the rows that were here before, those leave that have no dual variable; then others go away, those
   *  that came first, half of them at a time. */
  #makeRoom(bytes: ByteCount): boolean {
    if (!this.#isFull(bytes)) return true
    const old = this.#old
    this.#dismiss((value, k) => k < old && value === 0)
    while (this.#isFull(bytes) && this.#old > 0) this.#sendAway()
    return !this.#isFull(bytes)
  }

  /** Of the rows that were here before, half go away: first those at their bounds, then those that came first. Their dual variables
   *  are not 0, and are known among those of all rows. */
  #sendAway(): void {
    const values = this.#arena.f64(this.#memory.alpha, this.fill.count)
    const records = this.#arena.u32(this.#memory.table, this.fill.count)
    const numbers = this.#arena.u32(this.#memory.numbers, this.fill.count)
    const isBound = (k: number): boolean => this.#atBound(values[k], records[k], numbers[k])
    const places = Array.from({ length: this.#old }, (_, k) => k)
    const bound = places.filter(isBound)
    const free = places.filter(k => !isBound(k))
    const going = new Set([...bound, ...free].slice(0, Math.ceil(this.#old / 2)))
    this.fill.away += going.size
    this.#slide((_, k) => going.has(k))
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
    // Rows of an earlier run, or of a sample, are not of S yet.
    const isEmpty = this.fill.count + this.fill.away === 0
    const all = arena.f64(allAlpha, rows)
    const values = arena.f64(alpha, this.fill.count)
    for (const [k, number] of arena.u32(numbers, this.fill.count).entries()) values[k] = all[number]
    this.#dismiss(value => value < 0)
    const bits = arena.bytes(taken, bitmapBytes).fill(0)
    // Rows with dual variables are of S, in memory or away.
    let supporting = 0
    for (const [number, value] of all.entries()) {
      if (isEmpty ? value < 0 : value !== 0) setBit(bits, number, true)
      if (value > 0 && !isEmpty) supporting++
    }
    for (const number of arena.u32(numbers, this.fill.count)) setBit(bits, number, true)
    this.fill.away = supporting - (this.fill.count - this.idle)
  }

  /** Rows leave S by their dual variables and places. */
  #dismiss(leaves: (value: number, place: number) => boolean): void {
    const { taken, resting, bitmapBytes } = this.#memory
    const bits = this.#arena.bytes(taken, bitmapBytes)
    this.#slide(leaves, number => setBit(bits, number, false))
    // Rows that rest because they were in the set must be met again.
    this.#arena.bytes(resting, bitmapBytes).fill(0)
  }

  /** Rows leave the memory. The others slide down in the order of their addresses. */
  #slide(leaves: (value: number, place: number) => boolean, left: (number: number) => void = () => {}): void {
    const { table, numbers, alpha, records } = this.#memory
    const { numeric } = this.#arena
    const { count, used } = this.fill
    const [rows, names] = [this.#arena.u32(table, count), this.#arena.u32(numbers, count)]
    const values = this.#arena.f64(alpha, count)
    const memory = this.#arena.bytes(records.at, used)
    let [kept, at, old] = [0, 0, this.#old]
    for (let k = 0; k < count; k++) {
      if (leaves(values[k], k)) {
        left(names[k])
        if (k < this.#old) old--
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
    this.#old = old
  }

  /** Makes of a loaded group the rows of it that are away: their records and dual variables stand at the beginning of the group's
   *  lists, and their weights if they have any. Their numbers in the order of the store. */
  awayIn(group: ProblemAt['group'], allAlpha: Address): Uint32Array {
    const arena = this.#arena
    const here = new Uint8Array(group.rows)
    const starts = startsOf(group.parts)
    for (const number of arena.u32(this.#memory.numbers, this.fill.count)) {
      const part = starts.find(({ firstRow, rows }) => number >= firstRow && number < firstRow + rows)
      if (part) here[part.place + number - part.firstRow] = 1
    }
    const [table, values] = [arena.u32(group.table, group.rows), arena.f64(group.alpha, group.rows)]
    const weights = group.rowWeights ? arena.f64(group.rowWeights, group.rows) : undefined
    const numbers: number[] = []
    for (const { place, firstRow, rows } of starts) {
      const all = arena.f64(allAlpha + firstRow * 8, rows)
      for (let k = 0; k < rows; k++) {
        if (!(all[k] > 0) || here[place + k]) continue
        table[numbers.length] = table[place + k]
        values[numbers.length] = all[k]
        if (weights) weights[numbers.length] = weights[place + k]
        numbers.push(firstRow + k)
      }
    }
    return Uint32Array.from(numbers)
  }

  /** Rows that are away have new dual variables. Those that have none any more leave S. */
  settleAway(numbers: Uint32Array, alpha: Address, allAlpha: Address): void {
    const arena = this.#arena
    const { taken, bitmapBytes } = this.#memory
    const bits = arena.bytes(taken, bitmapBytes)
    const values = arena.f64(alpha, numbers.length)
    for (const [k, number] of numbers.entries()) {
      arena.setF64(allAlpha + number * 8, values[k])
      if (values[k] !== 0) continue
      setBit(bits, number, false)
      this.fill.away--
    }
  }

  /** Rows whose dual variables are 0. */
  get idle(): number {
    let idle = 0
    for (const value of this.#arena.f64(this.#memory.alpha, this.fill.count)) if (value === 0) idle++
    return idle
  }
}

type Part = ProblemAt['group']['parts'][number]

/** The parts of a group, and the place of each one's first row in it. */
function startsOf(parts: Part[]): (Part & { place: number })[] {
  let place = 0
  return parts.map(part => {
    const start = { ...part, place }
    place += part.rows
    return start
  })
}

function setBit(bits: Uint8Array, place: number, on: boolean): void {
  const at = Math.floor(place / 8)
  const bit = 2 ** (place % 8)
  const has = Math.floor(bits[at] / bit) % 2 === 1
  if (on !== has) bits[at] += on ? bit : -bit
}
