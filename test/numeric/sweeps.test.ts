// Sweeps and certificate sums against the same formulas on plain arrays.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { Arena } from '../../src/numeric/arena.ts'
import {
  PROBLEM_ALPHA,
  PROBLEM_WEIGHTS,
  ROW_KIND_CODED,
  ROW_KIND_CONSTANT,
  ROW_KIND_F64,
  SUMS_BYTES,
  SWEEP_ACTIVE,
  SWEEP_BYTES,
  SWEEP_CURSOR,
  SWEEP_GAP,
  SWEEP_GRADIENT_MAX,
  SWEEP_GRADIENT_MIN,
  SWEEP_LOSS,
  SWEEP_ORDER,
  SWEEP_VISITED,
} from '../../src/numeric/layouts.ts'
import {
  boxLoss,
  logisticLoss,
  type PlainProblem,
  type PlainSweep,
  score,
  sweepBox,
  sweepLogistic,
  writeProblem,
  writeSweep,
} from './dual-reference.ts'
import { allRowKinds, randomNumbers, seed, writeRow } from './reference.ts'

const POSITIVE = 2

type LossName = 'hinge' | 'squared hinge' | 'smoothed hinge' | 'logistic'
const losses: LossName[] = ['hinge', 'squared hinge', 'smoothed hinge', 'logistic']

interface Case {
  loss: LossName
  rows: number
  start: number
  bias: number
  cost: number
  weight: number
  shrink: boolean
  damping?: number
}

const anyCase = (loss: LossName): fc.Arbitrary<Case> =>
  fc.record({
    loss: fc.constant(loss),
    rows: fc.nat(60),
    start: fc.integer(),
    bias: fc.constantFrom(0, 1, -0.7, 3),
    cost: fc.constantFrom(0.01, 1, 10, 300),
    weight: fc.constantFrom(1, 0.2, 7),
    shrink: fc.boolean(),
    damping: fc.constantFrom(1, 1, 4, 0.3),
  })

/** Random rows of every kind, among them empty ones, in the arena and as plain arrays; α somewhere, w = Σ α y x. */
function make(arena: Arena, { loss, rows, start, bias, cost, weight, shrink, damping = 1 }: Case) {
  const random = randomNumbers(start)
  const features = 25
  const logistic = loss === 'logistic'
  const costs = [cost * weight, cost]
  const bound = costs.map(c => (loss === 'squared hinge' ? Number.POSITIVE_INFINITY : c))
  const diagonal = costs.map(c => (loss === 'squared hinge' ? 1 / (2 * c) : loss === 'smoothed hinge' ? 0.3 / c : 0))
  const problem: PlainProblem = {
    rows: [],
    features,
    bias,
    boundPositive: bound[0],
    boundNegative: bound[1],
    diagonalPositive: diagonal[0],
    diagonalNegative: diagonal[1],
    logistic,
    damping,
    alpha: [],
    rest: [],
    w: new Array(features + 1).fill(0),
  }
  const table = arena.allocate(rows * 4 + 4, 'test table')
  for (let i = 0; i < rows; i++) {
    const kind = allRowKinds[Math.floor(random() * allRowKinds.length)]
    const keep = random() < 0.1 ? 0 : 0.35
    const indices = Array.from({ length: features }, (_, k) => k).filter(() => random() < keep)
    const palette = [0.5, -1.25, 2].map(Math.fround)
    const values = indices.map(() => {
      if (kind === ROW_KIND_CONSTANT) return 1
      if (kind === ROW_KIND_CODED) return palette[Math.floor(random() * 3)]
      return kind === ROW_KIND_F64 ? random() * 4 - 2 : Math.fround(random() * 4 - 2)
    })
    const scale = random() < 0.5 ? 1 : random() + 0.1
    const classNumber = Math.floor(random() * 4)
    arena.u32(table, rows)[i] = writeRow(arena, kind, { indices, values }, { scale, classNumber })
    const positive = classNumber === POSITIVE
    problem.rows.push({ indices, values: values.map(x => x * scale), positive })
    const most = positive ? bound[0] : bound[1]
    const finite = Number.isFinite(most) ? most : 2 * cost
    const where = random()
    const a = logistic
      ? finite * (0.001 + 0.998 * random())
      : where < 0.3
        ? 0
        : where < 0.6
          ? finite
          : finite * random()
    problem.alpha.push(a)
    problem.rest.push(finite - a)
  }
  problem.rows.forEach((row, i) => {
    const step = row.positive ? problem.alpha[i] : -problem.alpha[i]
    for (const [k, index] of row.indices.entries()) problem.w[index] += step * row.values[k]
    problem.w[features] += step * bias
  })
  // Some way off, so that the sums of the certificate cannot lean on w = Σ α y x.
  problem.w = problem.w.map(x => x * 0.1 + 0.05 * random())
  const order = Array.from({ length: rows }, (_, k) => k).sort(() => random() - 0.5)
  const sweep: PlainSweep = {
    order,
    active: rows - Math.floor(random() * Math.min(rows, 4)),
    shrink,
    upper: random(),
    lower: -random(),
    gradientMax: logistic ? 0 : Number.NEGATIVE_INFINITY,
    gradientMin: Number.POSITIVE_INFINITY,
    loss: 0,
    gap: 0,
    inner: 1e-6,
  }
  return { problem, sweep, table }
}

function near(found: number, expected: number, precision: number, size: number, what: string): void {
  const same = found === expected || Math.abs(found - expected) <= precision * Math.max(size, Math.abs(expected))
  assert.ok(same, `${what} is ${found}, expected ${expected}`)
}
const sizeOf = (list: number[]): number => list.reduce((most, x) => Math.max(most, Math.abs(x)), 1e-3)

for (const loss of losses) {
  const logistic = loss === 'logistic'
  describe(`one sweep with the ${loss} loss`, () => {
    const arena = new Arena()
    const { numeric } = arena
    const mark = arena.mark()
    let shrunk = 0
    it('does what the formulas say', () => {
      fc.assert(
        fc.property(anyCase(loss), item => {
          arena.release(mark)
          const { problem, sweep, table } = make(arena, item)
          const n = problem.rows.length
          const at = writeProblem(arena, problem, table, POSITIVE, 8)
          const state = writeSweep(arena, sweep)
          const visits = sweep.active
          const done = (logistic ? numeric.sweepLogisticF64 : numeric.sweepBoxF64)(at, state, Number.POSITIVE_INFINITY)
          assert.equal(Boolean(done), true)
          const met = sweep.order.slice(0, visits).reduce((sum, i) => {
            const row = arena.u32(table, n)[i]
            return sum + arena.getU32(row) + 4
          }, 0)
          if (logistic) sweepLogistic(problem, sweep)
          else sweepBox(problem, sweep)
          shrunk += visits - sweep.active
          assert.equal(arena.getU32(state + SWEEP_ACTIVE), sweep.active)
          assert.equal(arena.getU32(state + SWEEP_CURSOR), sweep.active)
          assert.deepEqual([...arena.u32(arena.getU32(state + SWEEP_ORDER), n)], sweep.order)
          assert.equal(arena.getF64(state + SWEEP_VISITED), met)
          const size = sizeOf(problem.w)
          const w = arena.f64(arena.getU32(at + PROBLEM_WEIGHTS), problem.features + 1)
          for (const [k, value] of w.entries()) near(value, problem.w[k], 1e-12, size, `w[${k}]`)
          const alphas = arena.f64(arena.getU32(at + PROBLEM_ALPHA), logistic ? 2 * n : n)
          problem.alpha.forEach((a, i) => {
            near(alphas[logistic ? 2 * i : i], a, 1e-12, sizeOf(problem.alpha), `alpha[${i}]`)
            if (logistic) near(alphas[2 * i + 1], problem.rest[i], 1e-12, sizeOf(problem.rest), `rest[${i}]`)
          })
          near(arena.getF64(state + SWEEP_GRADIENT_MAX), sweep.gradientMax, 1e-12, 50 * size, 'the largest gradient')
          if (!logistic) {
            near(arena.getF64(state + SWEEP_GRADIENT_MIN), sweep.gradientMin, 1e-12, 50 * size, 'the smallest gradient')
          }
          near(arena.getF64(state + SWEEP_LOSS), sweep.loss, 1e-11, 1e-3, 'the loss')
          near(arena.getF64(state + SWEEP_GAP), sweep.gap, 1e-11, Math.max(sweep.loss, 1e-3), 'the gap')
        }),
        { seed, numRuns: 300 },
      )
      if (loss === 'hinge') assert.ok(shrunk > 50, 'rows were shrunk')
      if (logistic) assert.equal(shrunk, 0)
    })

    it('gives the same bits in slices of any size', () => {
      fc.assert(
        fc.property(
          anyCase(loss),
          fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 1 }),
          fc.boolean(),
          (item, budgets, narrow) => {
            arena.release(mark)
            const { problem, sweep, table } = make(arena, item)
            const n = problem.rows.length
            const run = logistic
              ? narrow
                ? numeric.sweepLogisticF32
                : numeric.sweepLogisticF64
              : narrow
                ? numeric.sweepBoxF32
                : numeric.sweepBoxF64
            const bytes = narrow ? 4 : 8
            const results = [false, true].map(sliced => {
              const at = writeProblem(arena, problem, table, POSITIVE, bytes)
              const state = writeSweep(arena, sweep)
              if (sliced) for (let k = 0; !run(at, state, budgets[k % budgets.length]); k++) assert.ok(k < 100)
              else run(at, state, Number.POSITIVE_INFINITY)
              return [
                [...arena.bytes(arena.getU32(at + PROBLEM_WEIGHTS), (problem.features + 1) * bytes)],
                [...arena.bytes(arena.getU32(at + PROBLEM_ALPHA), n * (logistic ? 16 : 8))],
                [...arena.u32(arena.getU32(state + SWEEP_ORDER), n)],
                [...arena.bytes(state + 4, SWEEP_BYTES - 4)],
              ]
            })
            assert.deepEqual(results[1], results[0])
          },
        ),
        { seed, numRuns: 120 },
      )
    })

    it('a slice stops once its budget is spent', () => {
      const { problem, sweep, table } = make(arena, {
        loss,
        rows: 50,
        start: 4,
        bias: 1,
        cost: 1,
        weight: 1,
        shrink: false,
      })
      const at = writeProblem(arena, problem, table, POSITIVE, 8)
      const state = writeSweep(arena, { ...sweep, active: 50 })
      const run = logistic ? numeric.sweepLogisticF64 : numeric.sweepBoxF64
      assert.equal(Boolean(run(at, state, 1)), false)
      assert.equal(arena.getU32(state + SWEEP_CURSOR), 1)
      assert.equal(Boolean(run(at, state, 0)), false)
      assert.equal(arena.getU32(state + SWEEP_CURSOR), 1)
    })

    it('keeps close with f32 weights', () => {
      fc.assert(
        fc.property(anyCase(loss), item => {
          arena.release(mark)
          const { problem, sweep, table } = make(arena, { ...item, shrink: false, cost: Math.min(item.cost, 1) })
          problem.w = problem.w.map(Math.fround)
          const at = writeProblem(arena, problem, table, POSITIVE, 4)
          const state = writeSweep(arena, sweep)
          const run = logistic ? numeric.sweepLogisticF32 : numeric.sweepBoxF32
          run(at, state, Number.POSITIVE_INFINITY)
          if (logistic) sweepLogistic(problem, sweep)
          else sweepBox(problem, sweep)
          const w = arena.f32(arena.getU32(at + PROBLEM_WEIGHTS), problem.features + 1)
          for (const [k, value] of w.entries()) near(value, problem.w[k], 1e-4, sizeOf(problem.w), `w[${k}]`)
        }),
        { seed, numRuns: 100 },
      )
    })

    it('evaluate: the sums of the certificate over any stretch of rows', () => {
      fc.assert(
        fc.property(anyCase(loss), fc.nat(60), fc.nat(60), fc.boolean(), (item, one, other, narrow) => {
          arena.release(mark)
          const { problem, table } = make(arena, item)
          if (narrow) problem.w = problem.w.map(Math.fround)
          const n = problem.rows.length
          const [from, to] = [Math.min(one, other, n), Math.min(Math.max(one, other), n)]
          const at = writeProblem(arena, problem, table, POSITIVE, narrow ? 4 : 8)
          const sums = arena.allocate(SUMS_BYTES + 8, 'test sums')
          arena.f64(sums, 6).fill(777)
          const evaluate = narrow ? numeric.evaluateF32 : numeric.evaluateF64
          evaluate(at, from, to, sums)
          const expected = [0, 0, 0, 0, 0]
          let size = 1e-3
          for (let i = from; i < to; i++) {
            const row = problem.rows[i]
            const dot = score(problem, row)
            const margin = row.positive ? dot : -dot
            const a = problem.alpha[i]
            const bound = row.positive ? problem.boundPositive : problem.boundNegative
            const diagonal = row.positive ? problem.diagonalPositive : problem.diagonalNegative
            expected[0] += logistic ? bound * logisticLoss(margin) : boxLoss(1 - margin, bound, diagonal)
            const rest = problem.rest[i]
            expected[1] += logistic
              ? -(a * Math.log(a) + rest * Math.log(rest) - bound * Math.log(bound))
              : a - 0.5 * diagonal * a * a
            expected[2] += a * margin
            if (row.positive ? dot > 0 : dot <= 0) expected[3]++
            if (logistic || a > 0) expected[4]++
            size += Math.abs(a * margin) + bound0(bound) * (1 + Math.abs(margin)) + 0.5 * diagonal * a * a
          }
          const found = arena.f64(sums, 6)
          for (let k = 0; k < 3; k++) near(found[k], expected[k], narrow ? 1e-5 : 1e-12, size, `sum ${k}`)
          assert.deepEqual([...found.slice(3)], [expected[3], expected[4], 777])
        }),
        { seed, numRuns: 200 },
      )
    })

    it('addDual makes w = Σ α y x', () => {
      fc.assert(
        fc.property(anyCase(loss), item => {
          arena.release(mark)
          const { problem, table } = make(arena, item)
          const n = problem.rows.length
          const before = problem.w.slice()
          const at = writeProblem(arena, problem, table, POSITIVE, 8)
          const half = n >> 1
          numeric.addDualF64(at, 0, half, logistic ? 16 : 8)
          numeric.addDualF64(at, half, n, logistic ? 16 : 8)
          problem.rows.forEach((row, i) => {
            const step = row.positive ? problem.alpha[i] : -problem.alpha[i]
            for (const [k, index] of row.indices.entries()) before[index] += step * row.values[k]
            before[problem.features] += step * problem.bias
          })
          const w = arena.f64(arena.getU32(at + PROBLEM_WEIGHTS), problem.features + 1)
          const size = sizeOf(problem.alpha) * 60
          for (const [k, value] of w.entries()) near(value, before[k], 1e-13, size, `w[${k}]`)
        }),
        { seed, numRuns: 60 },
      )
    })
  })
}

const bound0 = (bound: number): number => (Number.isFinite(bound) ? bound : 1000)

describe('the start of the entropic dual', () => {
  it('moves listed rows without a dual variable, and no others: those may have features that have no weight', () => {
    const arena = new Arena()
    const some: Case = { loss: 'logistic', rows: 20, start: 4, bias: 1, cost: 2, weight: 1, shrink: false }
    const { problem, table } = make(arena, some)
    const at = writeProblem(arena, problem, table, POSITIVE, 8)
    const alpha = arena.f64(arena.getU32(at + PROBLEM_ALPHA), 40)
    const weights = arena.f64(arena.getU32(at + PROBLEM_WEIGHTS), problem.w.length)
    alpha.fill(0)
    alpha.set([0.5, 1.5], 2 * 3)
    weights.fill(0)
    const order = arena.allocate(3 * 4, 'test order')
    arena.u32(order, 3).set([7, 3, 11])
    arena.numeric.startEntropicF64(at, order, 3)
    const expected = new Float64Array(problem.w.length)
    for (const i of [7, 11]) {
      const step = problem.rows[i].positive ? 1e-8 : -1e-8
      for (const [k, index] of problem.rows[i].indices.entries()) expected[index] += step * problem.rows[i].values[k]
      expected[problem.features] += step
    }
    for (const [j, w] of weights.entries()) near(w, expected[j], 1e-12, 1e-8, `weight ${j}`)
    for (let i = 0; i < 20; i++) {
      const wanted = i === 3 ? [0.5, 1.5] : i === 7 || i === 11 ? [1e-8, 2 - 1e-8] : [0, 0]
      assert.deepEqual([...alpha.subarray(2 * i, 2 * i + 2)], wanted, `row ${i}`)
    }
  })
})
