// The working set of solver `stream` against plain lists: who is in memory, who leaves, what is known of those who left; and
// what the first pass moves to the places of the store.
import assert from 'node:assert/strict'
import { rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { SegmentDecoder } from '../../src/block-store/codecs.ts'
import { newFeatureMap } from '../../src/block-store/feature-set.ts'
import { ingest } from '../../src/block-store/ingest.ts'
import { openStore, ReadBuffer } from '../../src/block-store/reader.ts'
import { findLoss } from '../../src/losses/all-losses.ts'
import { Arena } from '../../src/numeric/arena.ts'
import {
  PROBLEM_ALPHA,
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
  SUMS_CORRECT,
  SWEEP_BYTES,
} from '../../src/numeric/layouts.ts'
import {
  DICTIONARY_BYTES,
  DICTIONARY_CAPACITY,
  DICTIONARY_COUNT,
  DICTIONARY_FEATURES,
  DICTIONARY_SLOTS,
  DICTIONARY_TABLE,
  LEDGER_CORRECT,
  LEDGER_DUAL,
  LEDGER_SUPPORT,
  WORKING_ALPHA,
  WORKING_CAPACITY,
  WORKING_DRAWN,
  WORKING_EPSILON,
  WORKING_GRADIENTS,
  WORKING_MOVED,
  WORKING_RECORDS,
  WORKING_RESIDENT,
  WORKING_ROOM,
  WORKING_USED,
} from '../../src/numeric/working-set-layout.ts'
import { Sweeps, startListed } from '../../src/solvers/sweeps.ts'
import { WorkingSet } from '../../src/solvers/working-set.ts'
import { type ProblemSettings, writeProblem } from '../../src/training/problem.ts'
import { makeBatch, readBatch } from '../block-store/batches.ts'
import { boxLoss, logisticLoss, type PlainRow } from './dual-reference.ts'
import { decodeRow, randomNumbers, seed, writeRow } from './reference.ts'

const kinds = [ROW_KIND_F32, ROW_KIND_CONSTANT, ROW_KIND_DENSE, ROW_KIND_F64]
const FEATURES = 20
const POSITIVE = 1
const losses = ['hinge', 'squared-hinge', 'logistic']

interface Case {
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

const anyCase = (loss: string): fc.Arbitrary<Case> =>
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
class World {
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

  constructor(arena: Arena, { loss, rows, blocks, start, bias, cost, weight, share, size }: Case) {
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
      bytes: Math.floor(share * (all + rows * 40)),
      mostBytes: all,
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
    this.arena.bytes(at, bytes).fill(0xa5)
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
    this.set.ledger(block).fill(0)
    const count = this.load(block)
    const { from } = this.range(block)
    arena.setU32(this.problem + PROBLEM_GRADIENTS, this.gradients)
    if (this.logistic) arena.numeric.startEntropicF64(this.problem, 0, arena.getU32(this.problem + PROBLEM_COUNT))
    startListed(arena, this.sweep, this.order, count, BigInt(Math.floor(this.random() * 1e9)), 1e-9)
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
    startListed(arena, set.sweep, set.order, set.count, BigInt(Math.floor(this.random() * 1e9)), 1e-9)
    const settings = { rows: set.count, logistic: this.logistic, narrow: false, shrink: false }
    if (set.count > 0) new Sweeps(arena, set.problem, set.sweep, settings).advance(Number.POSITIVE_INFINITY)
  }

  /** Enters the rows of a block that are not here at the w of now, as for the certificate. */
  evaluate(block: number): void {
    const { arena } = this
    const { numeric } = arena
    numeric.settleAlpha(this.set.at)
    this.set.ledger(block).fill(0)
    const count = this.load(block)
    numeric.keepListed(this.order, count, this.table, this.blockAlpha, this.stride)
    arena.setU32(this.problem + PROBLEM_MARGINS, this.gradients)
    numeric.evaluateF64(this.problem, 0, count, this.sums)
    const { at } = this.set
    numeric.enterEvaluated(at, this.problem, count, this.order, this.numbers, this.blockAlpha, this.gradients)
  }

  gradientsHere(): number[] {
    return [...this.arena.f64(this.get(WORKING_GRADIENTS), this.set.count)]
  }
}

interface Newcomer {
  number: number
  a: number
  rest: number
  gradient: number
}

/** The rule on plain lists: who stays, who leaves, and how ε goes. */
class PlainSet {
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

function assertInvariants(world: World): void {
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

function near(found: number, expected: number, size: number, what: string): void {
  const same = found === expected || Math.abs(found - expected) <= 1e-9 * Math.max(size, Math.abs(expected))
  assert.ok(same, `${what} is ${found}, expected ${expected}`)
}

/** Some rounds: blocks come in any order, and in between the rows that are here are worked on. */
const anyRounds = fc.array(fc.tuple(fc.nat(5), fc.boolean()), { minLength: 1, maxLength: 14 })

for (const loss of losses) {
  describe(`a working set with the ${loss} loss`, () => {
    const arena = new Arena()
    const mark = arena.mark()
    const worldOf = (item: Case): World => {
      arena.release(mark)
      return new World(arena, item)
    }

    it('takes rows in and sends them away by the rule, and loses none', () => {
      let [left, drawn] = [0, 0]
      fc.assert(
        fc.property(anyCase(loss), anyRounds, (item, rounds) => {
          const world = worldOf(item)
          const plain = new PlainSet(world)
          // α of every row, followed through its visits.
          const alphas = world.alphas()
          for (const [choice, work] of rounds) {
            const newcomers = world.visit(choice % world.blocks)
            for (const { number, a, rest } of newcomers) alphas[number] = [a, rest]
            const before = plain.members.length + newcomers.length
            plain.takeIn(newcomers)
            left += before - plain.members.length
            assertInvariants(world)
            assert.deepEqual(
              [...world.set.numbers],
              plain.members.map(({ number }) => number),
            )
            // Below 1e-9 it tells rows apart no more: how far it is below is nobody's business.
            assert.ok(world.epsilon === plain.epsilon || Math.max(world.epsilon, plain.epsilon) <= 1e-9)
            plain.epsilon = world.epsilon
            assert.deepEqual(
              world.gradientsHere(),
              plain.members.map(({ gradient }) => gradient),
            )
            assert.deepEqual(world.alphas(), alphas, 'a dual variable was lost')
            if (!work) continue
            world.work()
            // What the visits changed, the plain list takes over.
            const now = world.alphas()
            const gradients = world.gradientsHere()
            plain.members.forEach((row, k) => {
              ;[row.a, row.rest] = now[row.number]
              row.gradient = gradients[k]
              alphas[row.number] = now[row.number]
            })
          }
          assert.equal(world.get(WORKING_DRAWN), plain.drawn)
          drawn += plain.drawn
          if (plain.drawn > 0) assert.ok(world.epsilon <= 1e-9 / 0.9 ** rounds.length, 'drawn while ε could still help')
        }),
        { seed, numRuns: 150 },
      )
      // Of the logistic loss, only rows without entries are never beyond ε.
      assert.ok(left > 100 && drawn > (loss === 'logistic' ? 5 : 20), `${left} rows left, ${drawn} were drawn`)
    })

    it('w stays Σ α y x, wherever rows are', () => {
      fc.assert(
        fc.property(anyCase(loss), anyRounds, (item, rounds) => {
          const world = worldOf({ ...item, size: 0 })
          for (const [choice, work] of rounds) {
            world.visit(choice % world.blocks)
            if (work) world.work()
          }
          const expected = new Array<number>(FEATURES + 1).fill(0)
          const alphas = world.alphas()
          world.rows.forEach((row, i) => {
            const step = row.positive ? alphas[i][0] : -alphas[i][0]
            for (const [k, index] of row.indices.entries()) expected[index] += step * row.values[k]
            expected[FEATURES] += step * item.bias
          })
          const size = alphas.reduce((sum, [a]) => sum + a, 1) * 10
          for (const [k, value] of world.w.entries()) near(value, expected[k], size, `w[${k}]`)
        }),
        { seed, numRuns: 60 },
      )
    })

    it('settleAlpha puts what is here among all; listAbsent and lacks know who is not', () => {
      fc.assert(
        fc.property(anyCase(loss), anyRounds, (item, rounds) => {
          const world = worldOf(item)
          for (const [choice, work] of rounds) {
            world.visit(choice % world.blocks)
            if (work) world.work()
          }
          const alphas = world.alphas()
          arena.numeric.settleAlpha(world.set.at)
          const found = arena.f64(world.alpha, (world.rows.length * world.stride) / 8)
          alphas.forEach(([a, rest], k) => {
            assert.equal(found[(k * world.stride) / 8], a)
            if (world.logistic) assert.equal(found[2 * k + 1], rest)
          })
          for (let block = 0; block < world.blocks; block++) {
            const { from, to } = world.range(block)
            const absent = world.absentOf(block)
            assert.equal(world.set.lacks(block), absent.length > 0)
            const count = arena.numeric.listAbsent(world.set.at, world.order, 0, world.numbers, 0, to - from, from)
            assert.equal(count, absent.length)
            assert.deepEqual(
              [...arena.u32(world.order, count)].map(k => arena.u32(world.numbers, to - from)[k]),
              absent,
            )
            assert.deepEqual(
              [...arena.u32(world.numbers, to - from)],
              Array.from({ length: to - from }, (_, k) => from + k),
            )
          }
          // Blocks that are loaded together are listed one behind the other.
          let [listed, row] = [0, 0]
          for (let block = world.blocks - 1; block >= 0; block--) {
            const { from, to } = world.range(block)
            const args = [world.set.at, world.order, listed, world.numbers, row, to - from, from] as const
            listed = arena.numeric.listAbsent(...args)
            row += to - from
          }
          const together = [...arena.u32(world.order, listed)].map(k => arena.u32(world.numbers, row)[k])
          const expected = Array.from({ length: world.blocks }, (_, k) => world.absentOf(world.blocks - 1 - k)).flat()
          assert.deepEqual(together, expected)
        }),
        { seed, numRuns: 60 },
      )
    })

    it('listNear lists who may move at the next visit, or nearly', () => {
      fc.assert(
        fc.property(
          anyCase(loss),
          anyRounds,
          fc.constantFrom(0, 0.01, 0.5, Number.POSITIVE_INFINITY),
          (item, rounds, by) => {
            const world = worldOf({ ...item, share: Math.max(item.share, 0.6) })
            for (const [choice] of rounds) world.visit(choice % world.blocks)
            const { set } = world
            const plain = new PlainSet(world)
            const alphas = world.alphas()
            const gradients = world.gradientsHere()
            const expected = [...set.numbers.entries()]
              .filter(([k, number]) => {
                const [a, rest] = alphas[number]
                return world.logistic || plain.distance({ number, a, rest, gradient: gradients[k] }) <= by
              })
              .map(([k]) => k)
            const count = arena.numeric.listNear(set.at, set.problem, set.order, by)
            assert.deepEqual([...arena.u32(set.order, count)], expected)
          },
        ),
        { seed, numRuns: 60 },
      )
    })

    it('the ledger knows what absent rows owe: just that where w stands, and no less wherever it may have gone', () => {
      fc.assert(
        fc.property(anyCase(loss), anyRounds, (item, rounds) => {
          const world = worldOf(item)
          const { set } = world
          for (const [choice, work] of rounds) {
            world.visit(choice % world.blocks)
            if (work) world.work()
          }
          const alphas = world.alphas()
          for (let block = 0; block < world.blocks; block++) {
            world.evaluate(block)
            const absent = world.absentOf(block).map(k => ({ row: world.rows[k], alpha: alphas[k] }))
            const sum = (w: ArrayLike<number>): number =>
              absent.reduce((total, { row, alpha }) => total + world.owed(row, alpha, w), 0)
            const { w } = world
            const size = absent.reduce(
              (total, { row, alpha }) =>
                total + Math.abs(world.dualPart(row, alpha)) + Math.abs(alpha[0] * world.margin(row, w)),
              1e-9,
            )
            near(set.mostOwed(block, 0), sum(w), size, 'what is owed')
            const ledger = set.ledger(block)
            const dual = absent.reduce((total, { row, alpha }) => total + world.dualPart(row, alpha), 0)
            near(ledger[LEDGER_DUAL / 8], dual, size, 'the dual part')
            assert.equal(ledger[LEDGER_SUPPORT / 8], absent.filter(({ alpha }) => alpha[0] > 0).length)
            if (world.logistic) {
              assert.equal(set.mostOwed(block, 1e-9), absent.length > 0 ? Number.POSITIVE_INFINITY : 0)
              continue
            }
            let before = set.mostOwed(block, 0)
            for (let distance = set.radius / 7; distance < set.radius * 2 ** 17; distance *= 1.9) {
              const most = set.mostOwed(block, distance)
              assert.ok(most >= before - 1e-9 * size, `${most} at ${distance} is less than ${before}`)
              before = most
              if (distance > set.radius * 2 ** 14) {
                assert.equal(most, absent.length > 0 ? Number.POSITIVE_INFINITY : 0)
                continue
              }
              for (const direction of directions(world, absent, world.random)) {
                const there = w.map((x, k) => x + distance * direction[k])
                const owes = sum(there)
                assert.ok(owes <= most + 1e-9 * (size + Math.abs(most)), `${owes} at ${distance}, at most ${most}`)
              }
            }
          }
        }),
        { seed, numRuns: 60 },
      )
    })

    it('the ledger counts rows on the right side as the certificate does', () => {
      fc.assert(
        fc.property(anyCase(loss), anyRounds, (item, rounds) => {
          const world = worldOf(item)
          for (const [choice] of rounds) world.visit(choice % world.blocks)
          for (let block = 0; block < world.blocks; block++) {
            world.evaluate(block)
            // What the evaluating pass counted of the same rows.
            const counted = arena.getF64(world.sums + SUMS_CORRECT)
            assert.equal(world.set.ledger(block)[LEDGER_CORRECT / 8], counted)
          }
        }),
        { seed, numRuns: 60 },
      )
    })

    it('ε does not sink where it can tell no rows apart, and so comes back soon', () => {
      const world = worldOf({
        ...{ loss, rows: 80, blocks: 4, start: 5, bias: 0, cost: 1, weight: 1, share: 0.1, size: 0.3 },
      })
      for (let round = 0; round < 2000; round++) {
        world.visit(round % 4)
        world.work()
      }
      assert.ok(world.epsilon >= 0.9e-9, `ε is ${world.epsilon}`)
    })

    it('the ledger holds for rows as they were met or sent away, however far the visit itself went', () => {
      fc.assert(
        fc.property(anyCase(loss), anyRounds, (item, rounds) => {
          const world = worldOf(item)
          const { set } = world
          // Where each block was last met, along the path of w; rows that are sent away later are met later.
          const metAt = new Array<number | undefined>(world.blocks).fill(undefined)
          let path = 0
          const copy = arena.allocate((FEATURES + 1) * 8, 'test')
          arena.f64(copy, FEATURES + 1).set(world.w)
          for (const [choice, work] of rounds) {
            const block = choice % world.blocks
            world.visit(block)
            path += Math.sqrt(arena.numeric.followWeights(world.weights, copy, FEATURES + 1))
            metAt[block] = path - arena.getF64(set.at + WORKING_MOVED)
            if (work) world.work()
            const now = path + Math.sqrt(arena.numeric.followWeights(world.weights, copy, FEATURES + 1))
            path = now
            const alphas = world.alphas()
            metAt.forEach((met, b) => {
              if (met === undefined) return
              const absent = world.absentOf(b)
              const owes = absent.reduce((sum, k) => sum + world.owed(world.rows[k], alphas[k], world.w), 0)
              const most = set.mostOwed(b, path - met)
              assert.ok(owes <= most + 1e-9 * (1 + Math.abs(owes)), `${owes} is owed, the ledger says ${most} at most`)
            })
          }
        }),
        { seed, numRuns: 100 },
      )
    })
  })
}

/** Unit vectors: at random, along single rows, and the one in which all losses rise. */
function directions(world: World, absent: { row: PlainRow }[], random: () => number): number[][] {
  const unit = (x: number[]): number[] => {
    const length = Math.hypot(...x)
    return x.map(value => (length > 0 ? value / length : 0))
  }
  const along = (rows: PlainRow[]): number[] => {
    const x = new Array<number>(FEATURES + 1).fill(0)
    for (const row of rows) {
      const y = row.positive ? -1 : 1
      for (const [k, index] of row.indices.entries()) x[index] += y * row.values[k]
      x[FEATURES] += y * world.settings.bias
    }
    return unit(x)
  }
  const worst = along(absent.map(({ row }) => row))
  const single = absent.length > 0 ? along([absent[Math.floor(random() * absent.length)].row]) : worst
  const any = unit(Array.from({ length: FEATURES + 1 }, () => random() - 0.5))
  return [worst, worst.map(x => -x), single, single.map(x => -x), any]
}

describe('following weights', () => {
  it('gives the square of the way they went, after which the copy is where they are', () => {
    const arena = new Arena()
    const [w, copy] = [arena.allocate(8000, 'test'), arena.allocate(8000, 'test')]
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.double({ min: -1e3, max: 1e3, noNaN: true }), fc.boolean())), entries => {
        const n = entries.length
        arena.f64(w, n).set(entries.map(([x]) => x))
        arena.f64(copy, n).set(entries.map(([x, moved]) => (moved ? x / 2 : x)))
        const expected = entries.reduce((sum, [x, moved]) => sum + (moved ? x / 2 : 0) ** 2, 0)
        near(arena.numeric.followWeights(w, copy, n), expected, expected, 'the square')
        assert.deepEqual(arena.f64(copy, n), arena.f64(w, n))
        assert.equal(arena.numeric.followWeights(w, copy, n), 0)
      }),
      { seed, numRuns: 50 },
    )
  })
})

describe('what the first pass moves', () => {
  it('placeRows: rows go where the store has them', async () => {
    const folder = join(tmpdir(), `spillway-places-${process.pid}`)
    const text = `${folder}.svm`
    const random = randomNumbers(4)
    // Each row says which it is. More than one chunk, and more than one batch in a chunk.
    const rows = 30_000
    writeFileSync(
      text,
      Array.from({ length: rows }, (_, k) => `${random() < 0.5 ? 1 : -1} ${k + 1}:1 ${k + 40_000}:0.5\n`).join(''),
    )
    try {
      for (const [blocks, draws] of [
        [1, 1],
        [7, 1],
        [40, 2 ** 40 + 3],
      ]) {
        const chunks: { chunk: number; rows: number }[] = []
        const follower = {
          room: async () => undefined,
          take: (piece: { chunk: number; rows: number }) => chunks.push({ chunk: piece.chunk, rows: piece.rows }),
        }
        // The least memory makes the smallest chunks.
        const options = { blocks, seed: draws, memory: 100 << 20, follower, overwrite: true, indexBase: 1 } as const
        await ingest(text, folder, options)
        assert.ok(chunks.length > 1, `${chunks.length} chunks`)
        const store = await openStore(folder)
        const arena = new Arena()
        const { manifest } = store
        const firsts = manifest.blocks.map((_, b) =>
          manifest.blocks.slice(0, b).reduce((sum, { rows }) => sum + rows, 0),
        )
        const next = arena.allocate(blocks * 4, 'test')
        arena.u32(next, blocks).set(firsts)
        const places = arena.allocate(rows * 4, 'test')
        let row = 0
        for (const { chunk, rows: count } of chunks) {
          arena.numeric.placeRows(BigInt(manifest.seed), chunk, count, blocks, next, places + row * 4)
          row += count
        }
        assert.equal(row, rows)
        const decoder = new SegmentDecoder(arena)
        const batch = decoder.newBatch()
        const buffer = new ReadBuffer(arena, 1 << 20)
        const found = arena.u32(places, rows)
        let place = 0
        for (let b = 0; b < blocks; b++) {
          for await (const { at, bytes, where } of store.blockSegments(b, buffer)) {
            decoder.decode(at, bytes, batch, where)
            for (const { row: read } of readBatch(arena, batch)) assert.equal(found[read.indices[0]], place++)
          }
        }
        assert.equal(place, rows)
      }
    } finally {
      rmSync(folder, { recursive: true, force: true })
      rmSync(text, { force: true })
    }
  })

  it('placeAlpha: dual variables follow their rows', () => {
    const arena = new Arena()
    const places = fc.uniqueArray(fc.nat(80), { maxLength: 40 })
    fc.assert(
      fc.property(places, fc.constantFrom(8, 16), (list, stride) => {
        const [from, to, at] = [1000, 2000, 400].map(bytes => arena.allocateZeroed(bytes, 'test'))
        const width = stride / 8
        arena.f64(from, list.length * width).set(Array.from({ length: list.length * width }, (_, k) => k + 1))
        arena.u32(at, list.length).set(list)
        arena.numeric.placeAlpha(from, at, list.length, to, stride)
        const expected = new Float64Array(81 * width)
        list.forEach((place, k) => {
          for (let j = 0; j < width; j++) expected[place * width + j] = k * width + j + 1
        })
        assert.deepEqual(arena.f64(to, 81 * width), expected)
      }),
      { seed, numRuns: 50 },
    )
  })

  /** A map of features, as a store has it. */
  function mapOf(arena: Arena, features: number[]): number {
    const top = newFeatureMap(arena, 100)
    const sorted = [...features].sort((a, b) => a - b)
    arena.numeric.enterBatch(top, makeBatch(arena, [{ label: 1, indices: sorted, values: sorted.map(() => 1) }]))
    arena.numeric.finishMap(top)
    return top
  }

  const anyFeatures = fc.uniqueArray(fc.oneof(fc.nat(50), fc.nat(5_000_000)), { minLength: 1, maxLength: 60 })

  it('placeWeights and placeFeatures: from the order of a dictionary or of the features, to that of the features in use', () => {
    const arena = new Arena()
    const mark = arena.mark()
    fc.assert(
      fc.property(anyFeatures, fc.boolean(), fc.boolean(), fc.boolean(), (met, dictionary, mapped, narrow) => {
        arena.release(mark)
        // Without a dictionary a feature is its own number.
        const listed = dictionary ? met : met.map(feature => feature % 200).filter((f, k, all) => all.indexOf(f) === k)
        const sorted = [...listed].sort((a, b) => a - b)
        const features = dictionary ? arena.allocate(listed.length * 4, 'test') : 0
        if (dictionary) arena.u32(features, listed.length).set(listed)
        const map = mapped ? mapOf(arena, listed) : 0
        const placeOf = (feature: number): number => (mapped ? sorted.indexOf(feature) : feature)
        const count = dictionary ? listed.length : 200
        const width = mapped ? listed.length : sorted[sorted.length - 1] + 1
        const bytes = narrow ? 4 : 8
        const from = arena.allocateZeroed(count * bytes, 'test')
        const to = arena.allocateZeroed((width + 1) * bytes, 'test')
        const view = (at: number, n: number): Float32Array | Float64Array =>
          narrow ? arena.f32(at, n) : arena.f64(at, n)
        const numberOf = (feature: number): number => (dictionary ? listed.indexOf(feature) : feature)
        for (const feature of listed) view(from, count)[numberOf(feature)] = (feature % 100) - 3
        const place = narrow ? arena.numeric.placeWeightsF32 : arena.numeric.placeWeightsF64
        place(features, count, map, from, to)
        for (const feature of listed) assert.equal(view(to, width)[placeOf(feature)], (feature % 100) - 3)
        const filled = view(to, width + 1).filter(x => x !== 0).length
        assert.equal(filled, listed.filter(feature => feature % 100 !== 3).length)

        for (const kind of [ROW_KIND_F32, ROW_KIND_CONSTANT, ROW_KIND_F64]) {
          const indices = listed.map(numberOf)
          const values = listed.map((_, k) => (kind === ROW_KIND_CONSTANT ? 1 : k / 2))
          const row = writeRow(arena, kind, { indices, values })
          arena.numeric.placeFeatures(features, map, row)
          const after = decodeRow(arena, row)
          assert.deepEqual(after.indices, listed.map(placeOf))
          assert.deepEqual(after.values, values)
        }
        const dense = writeRow(arena, ROW_KIND_DENSE, { indices: [0, 1, 2], values: [1, 2, 3] })
        arena.numeric.placeFeatures(features, map, dense)
        assert.deepEqual(decodeRow(arena, dense).values, [1, 2, 3])
      }),
      { seed, numRuns: 60 },
    )
  })

  it('numberFeatures: numbers in the order in which features are met; rows with features beyond the room are left out', () => {
    const arena = new Arena()
    const mark = arena.mark()
    const rising = fc.uniqueArray(fc.oneof(fc.nat(40), fc.nat(4_000_000_000)), { maxLength: 12 })
    fc.assert(
      fc.property(
        fc.array(fc.tuple(rising, fc.nat(9)), { maxLength: 25 }),
        fc.integer({ min: 1, max: 60 }),
        (lists, capacity) => {
          arena.release(mark)
          const slots = 2 ** Math.ceil(Math.log2(capacity * 1.5 + 1))
          const dictionary = arena.allocateZeroed(DICTIONARY_BYTES, 'test')
          arena.setU32(dictionary + DICTIONARY_CAPACITY, capacity)
          arena.setU32(dictionary + DICTIONARY_FEATURES, arena.allocateZeroed(capacity * 4, 'test'))
          arena.setU32(dictionary + DICTIONARY_SLOTS, slots)
          arena.setU32(dictionary + DICTIONARY_TABLE, arena.allocateZeroed(slots * 8, 'test'))
          const records = lists.map(([list, kind]) => {
            const indices = [...list].sort((a, b) => a - b)
            if (kind === 0) return writeRow(arena, ROW_KIND_DENSE, { indices: [0, 1], values: [1, 1] })
            return writeRow(arena, kind < 5 ? ROW_KIND_F32 : ROW_KIND_CONSTANT, {
              indices,
              values: indices.map(() => 1),
            })
          })
          const table = arena.allocate(records.length * 4 + 4, 'test')
          arena.u32(table, records.length).set(records)
          const order = arena.allocate(records.length * 4 + 4, 'test')
          // In two calls, as two chunks would come.
          const half = records.length >> 1
          const numbers: number[] = []
          const expected: number[] = []
          const entries: number[][] = []
          lists.forEach(([list, kind], k) => {
            if (kind === 0) return
            const own: number[] = []
            for (const feature of [...list].sort((a, b) => a - b)) {
              if (!numbers.includes(feature)) {
                if (numbers.length >= capacity) return
                numbers.push(feature)
              }
              own.push(numbers.indexOf(feature))
            }
            expected.push(k)
            entries.push(own)
          })
          const first = arena.numeric.numberFeatures(dictionary, table, half, order)
          const found = [...arena.u32(order, first)]
          const second = arena.numeric.numberFeatures(dictionary, table + half * 4, records.length - half, order)
          found.push(...[...arena.u32(order, second)].map(k => k + half))
          assert.deepEqual(found, expected)
          for (const [at, k] of found.entries()) assert.deepEqual(decodeRow(arena, records[k]).indices, entries[at])
          assert.equal(arena.getU32(dictionary + DICTIONARY_COUNT), numbers.length)
          assert.deepEqual([...arena.u32(arena.getU32(dictionary + DICTIONARY_FEATURES), numbers.length)], numbers)
        },
      ),
      { seed, numRuns: 100 },
    )
  })

  it('adoptRows: as many rows as there is room for, under their places and the features of the store', () => {
    const arena = new Arena()
    const mark = arena.mark()
    let partly = 0
    for (const loss of losses) {
      fc.assert(
        fc.property(
          anyCase(loss),
          anyRounds,
          fc.boolean(),
          fc.constantFrom(0.1, 0.5, 1.4),
          (item, rounds, mapped, share) => {
            arena.release(mark)
            const world = new World(arena, { ...item, share: 1.3 })
            for (const [choice, work] of rounds) {
              world.visit(choice % world.blocks)
              if (work) world.work()
            }
            const { rows, set, stride } = world
            const order = rows.map((_, k) => k).sort(() => world.random() - 0.5)
            const places = arena.allocate(rows.length * 4, 'test')
            arena.u32(places, rows.length).set(order)
            // Feature j is number j of a dictionary that has 3j + 1; the store has all of these in use.
            const features = arena.allocate(FEATURES * 4, 'test')
            arena.u32(features, FEATURES).set(Array.from({ length: FEATURES }, (_, j) => 3 * j + 1))
            const map = mapped
              ? mapOf(
                  arena,
                  Array.from({ length: FEATURES }, (_, j) => 3 * j + 1),
                )
              : 0
            const all = rows.reduce((sum, row) => sum + row.bytes, 0)
            const target = new WorkingSet(arena, (_, bytes) => arena.allocateZeroed(bytes + 64, 'test'), {
              bytes: Math.floor(share * (all + rows.length * 40)),
              mostBytes: all,
              rows: rows.length,
              recordBytes: all / Math.max(rows.length, 1),
              firstRows: [0],
              alpha: arena.allocateZeroed(rows.length * 16, 'test'),
              alphaStride: stride,
              weights: world.weights,
              biasFeature: FEATURES,
              problem: world.settings,
              seed: 1,
              followed: true,
            })
            target.adopt(set, places, features, map)
            const wanted = [...set.numbers.entries()].filter(
              ([, number]) => !mapped || decodeRow(arena, rows[number].at).kind !== ROW_KIND_DENSE,
            )
            const get = (offset: number): number => arena.getU32(target.at + offset)
            const kept = wanted.slice(0, target.count)
            if (kept.length < wanted.length) {
              partly++
              const next = rows[wanted[kept.length][1]].bytes
              const full = get(WORKING_USED) + next > 0.9 * get(WORKING_ROOM) || kept.length >= get(WORKING_CAPACITY)
              assert.ok(full, 'there was room for another row')
            }
            assert.deepEqual(
              [...target.numbers],
              kept.map(([, number]) => order[number]),
            )
            const alphas = world.alphas()
            let at = get(WORKING_RECORDS)
            kept.forEach(([, number], k) => {
              assert.equal(target.table[k], at)
              const { dictionary: _, end: __, indices, ...copy } = decodeRow(arena, at)
              const { dictionary: ___, end: ____, indices: before, ...original } = decodeRow(arena, rows[number].at)
              assert.deepEqual(copy, original)
              const moved = copy.kind === ROW_KIND_DENSE ? before : before.map(j => (mapped ? j : 3 * j + 1))
              assert.deepEqual(indices, moved)
              const [a, rest] = arena.f64(get(WORKING_ALPHA) + k * stride, stride / 8)
              assert.deepEqual([a, rest ?? 0], alphas[number])
              at += rows[number].bytes
            })
            assert.equal(get(WORKING_USED), at - get(WORKING_RECORDS))
            const bits = arena.bytes(get(WORKING_RESIDENT), Math.ceil(rows.length / 8))
            const here = rows.map((_, k) => k).filter(k => bits[k >> 3] & (1 << (k & 7)))
            assert.deepEqual(
              here,
              [...target.numbers].sort((a, b) => a - b),
            )
            // The problem of the adopting set has the adopted dual variables.
            assert.equal(arena.getU32(target.problem + PROBLEM_ALPHA), get(WORKING_ALPHA))
          },
        ),
        { seed, numRuns: 40 },
      )
    }
    assert.ok(partly > 10, `${partly} times there was not room for all`)
  })
})
