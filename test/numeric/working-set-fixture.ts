// What the tests of the working set have in common: rows in blocks with a working set over them, and the rule on plain lists.
import assert from 'node:assert/strict'
import fc from 'fast-check'
import { findLoss } from '../../src/losses/all-losses.ts'
import type { Arena } from '../../src/numeric/arena.ts'
import {
  PROBLEM_BYTES,
  PROBLEM_COUNT,
  PROBLEM_GRADIENTS,
  PROBLEM_MARGINS,
  ROW_COUNT,
  ROW_ENTRIES,
  ROW_KIND_CONSTANT,
  ROW_KIND_DENSE,
  ROW_KIND_F32,
  ROW_KIND_F64,
  SUMS_BYTES,
  SWEEP_BYTES,
} from '../../src/numeric/layouts.ts'
import {
  WORKING_ALPHA,
  WORKING_CAPACITY,
  WORKING_EPSILON,
  WORKING_GRADIENTS,
  WORKING_RECORDS,
  WORKING_RESIDENT,
  WORKING_ROOM,
  WORKING_USED,
} from '../../src/numeric/working-set-layout.ts'
import { type ProblemSettings, writeProblem } from '../../src/optimise/objectives/problem.ts'
import { Sweeps, startListed } from '../../src/optimise/solvers/sweeps.ts'
import { WorkingSet } from '../../src/optimise/solvers/working-set.ts'
import { boxLoss, logisticLoss, type PlainRow } from './dual-reference.ts'
import { decodeRow, randomNumbers, writeRow } from './reference.ts'

const kinds = [ROW_KIND_F32, ROW_KIND_CONSTANT, ROW_KIND_DENSE, ROW_KIND_F64]
export const FEATURES = 20
const POSITIVE = 1
export const losses = ['hinge', 'squared-hinge', 'logistic']

export interface Case {
  loss: string
  rows: number
  blocks: number
  start: number
  bias: number
  cost: number
  weight: number
  /** Bytes for the set: of what all rows would take. */
  share: number
  /** How far w is from 0, which decides how many rows are far from mattering. */
  size: number
}

export const anyCase = (loss: string): fc.Arbitrary<Case> =>
  fc.record({
    loss: fc.constant(loss),
    rows: fc.integer({ min: 1, max: 80 }),
    blocks: fc.integer({ min: 1, max: 6 }),
    start: fc.integer(),
    bias: fc.constantFrom(0, 1, -0.7),
    cost: fc.constantFrom(0.01, 1, 30),
    weight: fc.constantFrom(1, 0.2, 7),
    share: fc.constantFrom(0, 0.05, 0.3, 0.6, 1.3),
    size: fc.constantFrom(0, 0.3, 3),
  })

const sizeOfKind = (kind: number, count: number): number => {
  const entries = kind === ROW_KIND_F64 ? 12 * count + 8 : kind === ROW_KIND_F32 ? 8 * count : 4 * count
  return Math.ceil((ROW_ENTRIES + entries) / 8) * 8
}

/** Rows in blocks, a working set, and plain copies of all of it. */
export class World {
  readonly arena: Arena
  readonly set: WorkingSet
  readonly rows: (PlainRow & { at: number; bytes: number; norm: number })[] = []
  readonly firstRows: number[] = []
  readonly settings: ProblemSettings
  readonly logistic: boolean
  readonly stride: number
  readonly alpha: number
  readonly weights: number
  readonly problem: number
  readonly sweep: number
  readonly order: number
  readonly numbers: number
  readonly gradients: number
  readonly blockAlpha: number
  readonly table: number
  readonly sums: number
  readonly random: () => number

  /** `sizes`: of the set, others than by the share. */
  constructor(
    arena: Arena,
    { loss, rows, blocks, start, bias, cost, weight, share, size }: Case,
    sizes?: { bytes: number; mostBytes: number },
  ) {
    this.arena = arena
    this.random = randomNumbers(start)
    const random = this.random
    this.settings = {
      loss: findLoss(loss),
      costPositive: cost * weight,
      costNegative: cost,
      bias,
      positive: POSITIVE,
      weightBits: 64,
    }
    this.logistic = loss === 'logistic'
    this.stride = this.logistic ? 16 : 8
    const room = (bytes: number): number => arena.allocateZeroed(bytes + 64, 'test')
    for (let i = 0; i < rows; i++) {
      const kind = kinds[Math.floor(random() * kinds.length)]
      const keep = random() < 0.1 ? 0 : 0.35
      const indices = Array.from({ length: FEATURES }, (_, k) => k).filter(() => random() < keep)
      const values = indices.map(() => (kind === ROW_KIND_CONSTANT ? 1 : Math.fround(random() * 4 - 2)))
      const scale = random() < 0.5 ? 1 : random() + 0.1
      const positive = random() < 0.5
      const at = writeRow(arena, kind, { indices, values }, { scale, classNumber: positive ? POSITIVE : 0 })
      const scaled = values.map(x => x * scale)
      const norm = scaled.reduce((sum, x) => sum + x * x, bias * bias)
      const bytes = sizeOfKind(kind, arena.getU32(at + ROW_COUNT))
      this.rows.push({ at, indices, values: scaled, positive, bytes, norm })
    }
    // Blocks of different sizes, some without rows.
    const cuts = Array.from({ length: blocks - 1 }, () => Math.floor(random() * (rows + 1))).sort((a, b) => a - b)
    this.firstRows.push(0, ...cuts)
    this.alpha = room(rows * this.stride)
    this.weights = room((FEATURES + 1) * 8)
    arena.f64(this.weights, FEATURES + 1).set(Array.from({ length: FEATURES + 1 }, () => size * (random() * 2 - 1)))
    const all = this.rows.reduce((sum, row) => sum + row.bytes, 0)
    this.set = new WorkingSet(arena, (_, bytes, zeroed = true) => (zeroed ? room(bytes) : this.#dirty(bytes)), {
      bytes: sizes?.bytes ?? Math.floor(share * (all + rows * 40)),
      mostBytes: sizes?.mostBytes ?? all,
      rows,
      recordBytes: all / Math.max(rows, 1),
      firstRows: this.firstRows,
      alpha: this.alpha,
      alphaStride: this.stride,
      weights: this.weights,
      biasFeature: FEATURES,
      problem: this.settings,
      seed: 3,
      followed: true,
      weighted: false,
    })
    this.set.radius = 2 ** -6
    this.problem = room(PROBLEM_BYTES)
    this.sweep = room(SWEEP_BYTES)
    this.order = room(rows * 4)
    this.numbers = room(rows * 4)
    this.gradients = room(rows * 8)
    this.blockAlpha = room(rows * 16)
    this.table = room(rows * 4)
    this.sums = room(SUMS_BYTES)
  }

  /** Room that was used before. */
  #dirty(bytes: number): number {
    const at = this.arena.allocate(bytes + 64, 'test')
    this.arena.bytes(at, Math.min(bytes, 2 ** 20)).fill(0xa5)
    return at
  }

  get blocks(): number {
    return this.firstRows.length
  }

  range(block: number): { from: number; to: number } {
    return { from: this.firstRows[block], to: this.firstRows[block + 1] ?? this.rows.length }
  }

  get(offset: number): number {
    return this.arena.getU32(this.set.at + offset)
  }

  get epsilon(): number {
    return this.arena.getF64(this.set.at + WORKING_EPSILON)
  }

  get resident(): Set<number> {
    const bits = this.arena.bytes(this.get(WORKING_RESIDENT), Math.ceil(this.rows.length / 8))
    return new Set(this.rows.map((_, k) => k).filter(k => bits[k >> 3] & (1 << (k & 7))))
  }

  /** The true dual variable of every row, α and C − α, wherever it is. */
  alphas(): [number, number][] {
    const pairOf = (at: number): [number, number] => {
      const [a, rest] = this.arena.f64(at, this.stride / 8)
      return [a, rest ?? 0]
    }
    const all = this.rows.map((_, k) => pairOf(this.alpha + k * this.stride))
    for (const [k, number] of this.set.numbers.entries()) {
      all[number] = pairOf(this.get(WORKING_ALPHA) + k * this.stride)
    }
    return all
  }

  bound(row: PlainRow): { bound: number; diagonal: number } {
    const cost = row.positive ? this.settings.costPositive : this.settings.costNegative
    return this.settings.loss.box?.(cost) ?? { bound: cost, diagonal: 0 }
  }

  margin(row: PlainRow, w: ArrayLike<number>): number {
    let sum = this.settings.bias * w[FEATURES]
    for (const [k, index] of row.indices.entries()) sum += w[index] * row.values[k]
    return row.positive ? sum : -sum
  }

  get w(): number[] {
    return [...this.arena.f64(this.weights, FEATURES + 1)]
  }

  dualPart(row: PlainRow, [a, rest]: [number, number]): number {
    const { bound, diagonal } = this.bound(row)
    if (!this.logistic) return a - 0.5 * diagonal * a * a
    return -(a > 0 ? a * Math.log(a / bound) : 0) - (rest > 0 ? rest * Math.log(rest / bound) : 0)
  }

  /** What a row owes to the gap at some weights. */
  owed(row: PlainRow, alpha: [number, number], w: ArrayLike<number>): number {
    const { bound, diagonal } = this.bound(row)
    const margin = this.margin(row, w)
    const loss = this.logistic ? bound * logisticLoss(margin) : boxLoss(1 - margin, bound, diagonal)
    return loss - this.dualPart(row, alpha) + alpha[0] * margin
  }

  absentOf(block: number): number[] {
    const { resident } = this
    const { from, to } = this.range(block)
    return Array.from({ length: to - from }, (_, k) => from + k).filter(k => !resident.has(k))
  }

  /** A block's rows as if they had just been read; those that are not in memory are listed. */
  load(block: number): number {
    const { arena } = this
    const { from, to } = this.range(block)
    const count = to - from
    arena.u32(this.table, count).set(this.rows.slice(from, to).map(row => row.at))
    const bytes = count * this.stride
    arena.bytes(this.blockAlpha, bytes).set(arena.bytes(this.alpha + from * this.stride, bytes))
    const places = {
      table: this.table,
      rows: count,
      alpha: this.blockAlpha,
      weights: this.weights,
      biasFeature: FEATURES,
    }
    writeProblem(arena, this.problem, this.settings, places)
    return arena.numeric.listAbsent(this.set.at, this.order, 0, this.numbers, 0, count, from)
  }

  /** Visits the rows of a block that are not here, once each, and lets them in; how they stood before they came in. */
  visit(block: number): Newcomer[] {
    const { arena } = this
    this.set.clearLedger(block)
    const count = this.load(block)
    const { from } = this.range(block)
    arena.setU32(this.problem + PROBLEM_GRADIENTS, this.gradients)
    if (this.logistic) arena.numeric.startEntropicF64(this.problem, 0, arena.getU32(this.problem + PROBLEM_COUNT))
    const random = BigInt(Math.floor(this.random() * 1e9))
    startListed(arena, { sweep: this.sweep, order: this.order, rows: count, random, inner: 1e-9 })
    const settings = { rows: count, logistic: this.logistic, narrow: false, shrink: false }
    new Sweeps(arena, this.problem, this.sweep, settings).advance(Number.POSITIVE_INFINITY)
    const newcomers = [...arena.u32(this.order, count)].map(i => {
      const [a, rest] = arena.f64(this.blockAlpha + i * this.stride, this.stride / 8)
      return { number: from + i, a, rest: rest ?? 0, gradient: arena.f64(this.gradients, i + 1)[i] }
    })
    arena.numeric.takeInF64(
      ...([this.set.at, this.problem, this.order, count, this.numbers, this.blockAlpha, this.gradients] as const),
    )
    return newcomers
  }

  /** Visits the rows that are here. */
  work(): void {
    const { arena, set } = this
    arena.setU32(set.problem + PROBLEM_COUNT, set.count)
    arena.numeric.iota(set.order, set.count)
    const random = BigInt(Math.floor(this.random() * 1e9))
    startListed(arena, { sweep: set.sweep, order: set.order, rows: set.count, random, inner: 1e-9 })
    const settings = { rows: set.count, logistic: this.logistic, narrow: false, shrink: false }
    if (set.count > 0) new Sweeps(arena, set.problem, set.sweep, settings).advance(Number.POSITIVE_INFINITY)
  }

  /** Enters the rows of a block that are not here at the w of now, as for the certificate. */
  evaluate(block: number): void {
    const { arena } = this
    const { numeric } = arena
    numeric.settleAlpha(this.set.at)
    this.set.clearLedger(block)
    const count = this.load(block)
    numeric.keepListed(this.order, count, this.table, this.blockAlpha, this.stride, 0)
    arena.setU32(this.problem + PROBLEM_MARGINS, this.gradients)
    numeric.evaluateF64(this.problem, 0, count, this.sums)
    const { at } = this.set
    numeric.enterEvaluated(at, this.problem, count, this.order, this.numbers, this.blockAlpha, this.gradients)
  }

  gradientsHere(): number[] {
    return [...this.arena.f64(this.get(WORKING_GRADIENTS), this.set.count)]
  }
}

export interface Newcomer {
  number: number
  a: number
  rest: number
  gradient: number
}

/** The rule on plain lists: who stays, who leaves, and how ε goes. */
export class PlainSet {
  members: Newcomer[] = []
  epsilon = 9
  drawn = 0
  #state: bigint
  readonly #world: World

  constructor(world: World) {
    this.#world = world
    this.#state = 3n
  }

  get used(): number {
    return this.members.reduce((sum, { number }) => sum + this.#world.rows[number].bytes, 0)
  }

  #next(): number {
    const wrap = (value: bigint): bigint => BigInt.asUintN(64, value)
    this.#state = wrap(this.#state + 0x9e3779b97f4a7c15n)
    let z = this.#state
    z = wrap((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n)
    z = wrap((z ^ (z >> 27n)) * 0x94d049bb133111ebn)
    return Number((z ^ (z >> 31n)) >> 11n) * 2 ** -53
  }

  distance({ number, a, gradient }: Newcomer): number {
    const { bound } = this.#world.bound(this.#world.rows[number])
    if (this.#world.logistic) return Math.abs(gradient)
    if (a === 0) return Math.max(gradient, 0)
    return a === bound ? Math.max(-gradient, 0) : 0
  }

  takeIn(newcomers: Newcomer[]): void {
    const world = this.#world
    const [room, capacity] = [world.get(WORKING_ROOM), world.get(WORKING_CAPACITY)]
    for (const row of newcomers) {
      const size = world.rows[row.number].bytes
      let stays = this.distance(row) <= this.epsilon
      if (stays && (this.used + size > 0.9 * room || this.members.length >= capacity)) {
        this.#makeRoom(room, capacity)
        stays = this.distance(row) <= this.epsilon && this.used + size <= room && this.members.length < capacity
      }
      if (stays) this.members.push({ ...row })
    }
    if (this.used < 0.6 * room && this.members.length < capacity >>> 1 && this.epsilon < 9)
      this.epsilon = Math.min(9, this.epsilon / 0.9)
  }

  #makeRoom(room: number, capacity: number): void {
    let within: Newcomer[]
    let bytes: number
    do {
      this.epsilon *= 0.9
      within = this.members.filter(row => this.distance(row) <= this.epsilon)
      bytes = within.reduce((sum, { number }) => sum + this.#world.rows[number].bytes, 0)
    } while ((bytes > 0.8 * room || within.length > 0.8 * capacity) && this.epsilon > 1e-9)
    const byBytes = bytes > 0 ? (0.8 * room) / bytes : 1
    const byRows = within.length > 0 ? (0.8 * capacity) / within.length : 1
    const share = Math.min(1, byBytes, byRows)
    this.members = within.filter(() => {
      const unlucky = share < 1 && this.#next() >= share
      if (unlucky) this.drawn++
      return !unlucky
    })
  }
}

export function assertInvariants(world: World): void {
  const { arena, set, rows, resident } = world
  const numbers = [...set.numbers]
  assert.deepEqual(new Set(numbers), resident)
  assert.equal(resident.size, numbers.length, 'a row is here twice')
  assert.ok(set.count <= world.get(WORKING_CAPACITY))
  let at = world.get(WORKING_RECORDS)
  for (const [k, record] of set.table.entries()) {
    assert.equal(record, at, 'records lie one behind the other, in the order of the table')
    const { dictionary: _, end: __, ...copy } = decodeRow(arena, record)
    const { dictionary: ___, end: ____, ...original } = decodeRow(arena, rows[numbers[k]].at)
    assert.deepEqual(copy, original)
    at += rows[numbers[k]].bytes
  }
  const used = world.get(WORKING_USED)
  assert.equal(used, at - world.get(WORKING_RECORDS))
  assert.ok(used <= world.get(WORKING_ROOM), 'more is used than there is')
}

export function near(found: number, expected: number, size: number, what: string): void {
  const same = found === expected || Math.abs(found - expected) <= 1e-9 * Math.max(size, Math.abs(expected))
  assert.ok(same, `${what} is ${found}, expected ${expected}`)
}

/** Some rounds: blocks come in any order, and in between the rows that are here are worked on. */
export const anyRounds = fc.array(fc.tuple(fc.nat(5), fc.boolean()), { minLength: 1, maxLength: 14 })
