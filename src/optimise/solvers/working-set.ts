// Rows that stay in memory while others come and go: room for them, and what is known of those that left. The loops are in
// numeric/assembly/working-set.ts.

import type { Stretch } from '../../block-store/checkpoint.ts'
import type { Arena } from '../../numeric/arena.ts'
import { LedgerFields } from '../../numeric/fields/ledger.ts'
import { WorkingSetFields } from '../../numeric/fields/working-set.ts'
import { PROBLEM_BYTES, PROBLEM_GRADIENTS, SWEEP_BYTES } from '../../numeric/layouts.ts'
import { roundDown } from '../../numeric/rounding.ts'
import { LEDGER_BYTES, LEDGER_RADII, WORKING_BYTES } from '../../numeric/working-set-layout.ts'
import type { Address, ByteCount } from '../../sizes.ts'
import { type ProblemSettings, writeProblem } from '../objectives/problem.ts'

/** As in the paper: rows leave first when their gradient is so far beyond the bound. */
const FIRST_EPSILON = 9
/** Records are smaller than their bound, most of them by so much: rows are fewer than the capacity when they are not. */
const RECORD_SHARE = 0.6

/** Room for something, zeroed or not. */
export type Allocate = (what: string, bytes: ByteCount, zeroed?: boolean) => Address

/** Addresses of what the trainer's thread works on, besides a block. */
export interface StreamMemory {
  set: number
  problem: number
  sweep: number
  order: number
  /** Of the block at hand: u32 numbers and f64 gradients of its rows. */
  numbers: number
  gradients: number
  /** Weights as they were after the last visit of new rows; 0 when nobody follows them. */
  followed: number
  sums: number
}

export interface WorkingSetSettings {
  /** Bytes to stay within. */
  bytes: ByteCount
  /** Bytes of records, were all rows here. */
  mostBytes: ByteCount
  /** All rows that there are or may be, and what one of them takes on average. */
  rows: number
  recordBytes: ByteCount
  /** Number of each block's first row. */
  firstRows: number[]
  /** Dual variables of all rows, and weights. */
  alpha: number
  alphaStride: number
  weights: number
  biasFeature: number
  problem: ProblemSettings
  seed: number
  /** Whether what absent rows owe is followed as w moves. */
  followed: boolean
  /** Whether rows have weights. */
  weighted: boolean
  /** Bytes that somebody else keeps for each row that is here. */
  besides?: ByteCount
}

export class WorkingSet {
  /** Address of the WORKING_ structure. */
  readonly at: Address
  /** Of the problem that the rows here are. */
  readonly problem: number
  readonly sweep: number
  /** u32[capacity]: an order of the rows. */
  readonly order: number
  readonly #arena: Arena
  readonly #fields: WorkingSetFields
  readonly #settings: WorkingSetSettings
  #moved = 0

  constructor(arena: Arena, allocate: Allocate, settings: WorkingSetSettings) {
    this.#arena = arena
    this.#settings = settings
    const { rows, recordBytes, alphaStride, firstRows } = settings
    // What a row takes besides its record: table, number, order, dual variable, gradient, and its weight if it has one.
    const perRow = 4 + 4 + 4 + alphaStride + 8 + (settings.weighted ? 8 : 0) + (settings.besides ?? 0)
    const capacity = Math.min(rows, Math.floor(Math.max(0, settings.bytes) / (recordBytes * RECORD_SHARE + perRow)))
    // Nine tenths full is full: where there is memory for all rows, there must be room for them.
    const bytes = roundDown(Math.max(0, Math.min(settings.bytes - capacity * perRow, settings.mostBytes / 0.89)), 8)
    this.at = allocate('itself', WORKING_BYTES)
    this.#fields = new WorkingSetFields(arena, this.at)
    this.#fields.records = allocate('records', bytes, false)
    this.#fields.room = bytes
    this.#fields.capacity = capacity
    this.#fields.table = allocate('table', capacity * 4, false)
    this.#fields.numbers = allocate('row numbers', capacity * 4, false)
    this.#fields.alpha = allocate('dual variables', capacity * alphaStride, false)
    this.#fields.stride = alphaStride
    this.#fields.gradients = allocate('gradients', capacity * 8, false)
    this.#fields.weights = settings.weighted ? allocate('weights of rows', capacity * 8, false) : 0
    this.#fields.resident = allocate('who is here', Math.ceil(rows / 8))
    this.#fields.allAlpha = settings.alpha
    this.#fields.ledger = allocate('ledger', firstRows.length * LEDGER_BYTES)
    const firsts = allocate('first rows', (firstRows.length + 1) * 4)
    arena.u32(firsts, firstRows.length + 1).set([...firstRows, rows])
    this.#fields.firstRows = firsts
    this.#fields.blocks = firstRows.length
    // Far rows of the logistic loss owe a little at any distance: there is nothing to gain by following them.
    this.#fields.radii = settings.followed && !settings.problem.loss.entropicDual ? LEDGER_RADII : 1
    this.#fields.epsilon = FIRST_EPSILON
    this.#fields.random = BigInt(settings.seed)
    this.problem = allocate('problem', PROBLEM_BYTES)
    this.sweep = allocate('sweep', SWEEP_BYTES)
    this.order = allocate('order', capacity * 4, false)
    this.writeProblem(settings.problem)
  }

  /** The problem whose rows are those that are here. */
  writeProblem(problem: ProblemSettings): void {
    const { weights, biasFeature } = this.#settings
    const { table, alpha, weights: rowWeights } = this.#fields
    const places = { table, rows: 0, alpha, weights, biasFeature, rowWeights }
    writeProblem(this.#arena, this.problem, problem, places)
    this.#arena.setU32(this.problem + PROBLEM_GRADIENTS, this.#fields.gradients)
  }

  /** What the trainer's thread works on besides a block of at most so many rows. */
  memory(allocate: Allocate, rows: number, besides: { followed: number; sums: number }): StreamMemory {
    return {
      ...{ set: this.at, problem: this.problem, sweep: this.sweep, order: this.order, ...besides },
      numbers: allocate('numbers of a block', rows * 4, false),
      gradients: allocate('gradients of a block', rows * 8, false),
    }
  }

  get count(): number {
    return this.#fields.count
  }

  /** Rows that there is room for. */
  get capacity(): number {
    return this.#fields.capacity
  }

  /** Addresses of what is kept by row: records, dual variables, gradients, and weights if rows have any. */
  get places(): { table: Address; alpha: Address; gradients: Address; rowWeights: Address | undefined } {
    const { table, alpha, gradients, weights } = this.#fields
    return { table, alpha, gradients, rowWeights: weights || undefined }
  }

  /** Rows that were here and have left, so far. */
  get evicted(): number {
    return this.#fields.evicted + this.#fields.drawn
  }

  get table(): Uint32Array {
    return this.#arena.u32(this.#fields.table, this.count)
  }

  get numbers(): Uint32Array {
    return this.#arena.u32(this.#fields.numbers, this.count)
  }

  /** Takes over the rows of the set of a first pass. */
  adopt(other: WorkingSet, places: number, features: number, map: number): void {
    this.#arena.numeric.adoptRows(this.at, other.at, places, features, map)
  }

  /** Numbers that all rows of a block's ledger are within reach of: see LEDGER_ in the layout. */
  ledger(block: number): LedgerFields {
    return new LedgerFields(this.#arena, this.#fields.ledger + block * LEDGER_BYTES)
  }

  /** Forgets what is known of a block's absent rows. */
  clearLedger(block: number): void {
    this.#arena.bytes(this.ledger(block).at, LEDGER_BYTES).fill(0)
  }

  get radius(): number {
    return this.#fields.radius
  }

  set radius(radius: number) {
    this.#fields.radius = radius
  }

  /** Whether a block has rows that are not here. */
  lacks(block: number): boolean {
    const { firstRows, rows } = this.#settings
    const bits = this.#resident
    const end = firstRows[block + 1] ?? rows
    for (let row = firstRows[block]; row < end; row++) if (!(bits[row >>> 3] & (1 << (row & 7)))) return true
    return false
  }

  get #resident(): Uint8Array {
    return this.#arena.bytes(this.#fields.resident, Math.ceil(this.#settings.rows / 8))
  }

  /** The most that a block's absent rows can owe to the gap when w has moved by a distance since they were met. What they
   *  owe is convex in the distance, so between two radii of the ledger the straight line is above it. */
  mostOwed(block: number, distance: number): number {
    const { owed } = this.ledger(block)
    if (distance === 0) return owed[0]
    const radii = this.#fields.radii
    let [below, radius] = [0, this.radius]
    for (let k = 1; k < radii; k++) {
      if (distance <= radius) {
        return owed[k - 1] + ((owed[k] - owed[k - 1]) * (distance - below)) / (radius - below)
      }
      below = radius
      radius *= 2
    }
    return this.lacks(block) ? Number.POSITIVE_INFINITY : 0
  }

  /** Room that the records take, and bytes of them. */
  get records(): Stretch {
    return { at: this.#fields.records, bytes: this.#fields.used }
  }

  /** Writes the dual variables of the rows here to their places among all; takes them from there. */
  settleAlpha(): void {
    this.#arena.numeric.settleAlpha(this.at)
  }

  takeAlpha(): void {
    const { allAlpha, stride, numbers, alpha } = this.#fields
    this.#arena.numeric.gatherListed(allAlpha, stride, numbers, alpha, stride, this.count)
  }

  /** Small plain data that describes the set, for a checkpoint. Dual variables go to their places. */
  state(): Record<string, number | string> {
    this.settleAlpha()
    return {
      count: this.count,
      used: this.#fields.used,
      base: this.#fields.records,
      cursor: this.#fields.cursor,
      epsilon: this.#fields.epsilon,
      radius: this.radius,
      random: String(this.#fields.random),
    }
  }

  /** All that a checkpoint holds of it besides. */
  stretches(): Stretch[] {
    const { numbers, table, alpha, gradients, weights, ledger } = this.#fields
    const { count } = this
    return [
      { at: numbers, bytes: count * 4 },
      { at: table, bytes: count * 4 },
      { at: alpha, bytes: count * this.#settings.alphaStride },
      { at: gradients, bytes: count * 8 },
      ...(weights ? [{ at: weights, bytes: count * 8 }] : []),
      this.records,
      { at: ledger, bytes: this.#settings.firstRows.length * LEDGER_BYTES },
    ]
  }

  restore(state: Record<string, number | string>): void {
    this.#fields.count = Number(state['count'])
    this.#fields.used = Number(state['used'])
    this.#fields.cursor = Number(state['cursor'] ?? 0)
    this.#fields.epsilon = Number(state['epsilon'])
    this.radius = Number(state['radius'])
    this.#fields.random = BigInt(state['random'])
    this.#moved = this.#fields.records - Number(state['base'])
  }

  /** The stretches have been filled in. */
  restored(): void {
    const { table, numbers } = this
    // The records lie where this run has its rows, not where the earlier one had them.
    for (let k = 0; k < table.length; k++) table[k] += this.#moved
    const bits = this.#resident
    bits.fill(0)
    for (const number of numbers) bits[number >>> 3] |= 1 << (number & 7)
  }
}
