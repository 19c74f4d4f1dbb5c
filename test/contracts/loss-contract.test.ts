// What every loss promises: its value, its dual and the numeric loops say the same.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { UsageError } from '../../src/errors.ts'
import { allLosses, findLoss } from '../../src/losses/all-losses.ts'
import type { Loss } from '../../src/losses/loss.ts'
import { Arena } from '../../src/numeric/arena.ts'
import { ROW_KIND_F64, SUMS_BYTES, SUMS_LOSS } from '../../src/numeric/layouts.ts'
import { BinaryObjective } from '../../src/optimise/objectives/binary.ts'
import { wholeGroup } from '../../src/optimise/sources/rows-in-memory.ts'
import { seed, writeRow } from '../numeric/reference.ts'
import { rowSetOf } from './small-problems.ts'

const margin = fc.double({ min: -50, max: 50, noNaN: true })
const cost = fc.constantFrom(1e-4, 0.1, 1, 7, 1000)
const near = (found: number, expected: number, precision: number, what: string): void =>
  assert.ok(
    Math.abs(found - expected) <= precision * Math.max(1e-10, Math.abs(expected)),
    `${what}: ${found}, expected ${expected}`,
  )

/** The largest value of a concave function on an interval, by golden sections. */
function largest(f: (x: number) => number, low: number, high: number): number {
  const ratio = (Math.sqrt(5) - 1) / 2
  for (let step = 0; step < 200; step++) {
    const a = high - ratio * (high - low)
    const b = low + ratio * (high - low)
    if (f(a) < f(b)) low = a
    else high = b
  }
  return Math.max(f(low), f(high))
}

for (const loss of allLosses.filter(({ truncates }) => truncates)) {
  const { loss: convex, limit } = loss.truncates!
  describe(`the ${loss.name} loss`, () => {
    const outlierMargin = fc.double({ min: 0, max: 10, noNaN: true })

    it('is found by its name, and follows a convex loss that is on the list', () => {
      assert.equal(findLoss(loss.name), loss)
      assert.equal(findLoss(convex.name), convex)
      assert.equal(convex.truncates, undefined)
      assert.equal(loss.box, undefined, 'it is not convex, and has no dual')
    })

    it('is the smaller of that loss and 1 + s, which it is from its limit on', () => {
      fc.assert(
        fc.property(margin, outlierMargin, (m, s) => {
          assert.equal(loss.value(m, s), Math.min(convex.value(m), 1 + s))
          near(convex.value(limit(s)), 1 + s, 1e-14, `the convex loss at the limit for ${s}`)
          if (m < limit(s) - 1e-9) assert.equal(loss.value(m, s), 1 + s)
          if (m > limit(s) + 1e-9) assert.equal(loss.value(m, s), convex.value(m))
        }),
        { seed, numRuns: 300 },
      )
      assert.equal(loss.value(-50), loss.value(-50, 1), 's is 1 unless another is said')
    })

    it('is what the numeric loops compute, and they find its outliers', () => {
      const arena = new Arena()
      const mark = arena.mark()
      const both = fc.tuple(fc.oneof(margin, fc.constantFrom(0, 1, -1, 700, -700)), fc.boolean())
      const factors = fc.constantFrom(1, 0, 0.5, 2)
      const margins = fc.array(both, { minLength: 1, maxLength: 5 })
      fc.assert(
        fc.property(margins, cost, cost, outlierMargin, factors, (rowsOf, c, d, s, factor) => {
          arena.release(mark)
          const { problem, rows } = problemOf(arena, convex, rowsOf, c, d)
          const [marks, sums] = [arena.allocate(8, 'marks'), arena.allocate(SUMS_BYTES, 'sums')]
          const at = problem.of(wholeGroup(arena, rows))
          arena.numeric.findOutliersF64(at, 0, rowsOf.length, limit(s), factor, marks, 0, sums, 0, 0)
          const expected = rowsOf.reduce((sum, [m, y]) => sum + (y ? c : d) * loss.value(factor * m, s), 0)
          near(arena.getF64(sums), expected, 1e-13, 'the sum of losses')
          const outliers = rowsOf.map(([m]) => (factor * m < limit(s) ? 1 : 0))
          assert.deepEqual([...arena.bytes(marks, rowsOf.length)], outliers)
          assert.equal(arena.getF64(sums + 8), outliers.filter(Boolean).length)
        }),
        { seed, numRuns: 300 },
      )
    })
  })
}

/** One feature a row, w = 1: the value is the score. */
function problemOf(arena: Arena, loss: Loss, margins: [number, boolean][], c: number, d: number) {
  const records = margins.map(([m, positive]) =>
    writeRow(arena, ROW_KIND_F64, { indices: [0], values: [positive ? m : -m] }, { classNumber: positive ? 1 : 0 }),
  )
  const rows = rowSetOf(arena, records, 1)
  const costs = { costPositive: c, costNegative: d }
  const problem = new BinaryObjective(arena, rows, { loss, ...costs, bias: 0, positive: 1, weightBits: 64 })
  arena.f64(problem.weights, 1)[0] = 1
  return { problem, rows }
}

for (const loss of allLosses.filter(({ truncates }) => !truncates)) {
  describe(`the ${loss.name} loss`, () => {
    it('is found by its name', () => {
      assert.equal(findLoss(loss.name), loss)
    })

    it('is convex, never negative, never rising, and punishes the wrong side', () => {
      fc.assert(
        fc.property(margin, margin, fc.double({ min: 0, max: 1, noNaN: true }), (a, b, t) => {
          const between = loss.value(t * a + (1 - t) * b)
          const chord = t * loss.value(a) + (1 - t) * loss.value(b)
          assert.ok(between <= chord * (1 + 1e-12) + 1e-12)
          assert.ok(loss.value(a) >= 0)
          assert.ok(loss.value(Math.min(a, b)) >= loss.value(Math.max(a, b)))
        }),
        { seed, numRuns: 500 },
      )
      assert.ok(loss.value(0) > 0)
      assert.ok(loss.value(-1) > loss.value(0))
      assert.ok(loss.value(50) < 1e-20)
      for (const far of [-1e6, 1e6]) assert.ok(Number.isFinite(loss.value(far)))
    })

    it('has exactly one kind of dual', () => {
      assert.notEqual(loss.box !== undefined, loss.entropicDual === true)
    })

    it('C·value is the largest value of its dual', () => {
      fc.assert(
        fc.property(margin, cost, (m, c) => {
          const slack = 1 - m
          const expected = c * loss.value(m)
          if (loss.box) {
            const { bound, diagonal } = loss.box(c)
            assert.ok(bound > 0 && diagonal >= 0)
            const most = Number.isFinite(bound) ? bound : 2 * Math.max(1, Math.abs(slack) / diagonal)
            assert.ok(Number.isFinite(most), 'without a bound there must be a diagonal')
            near(
              largest(a => a * slack - 0.5 * diagonal * a * a, 0, most),
              expected,
              1e-9,
              `C ${c}, margin ${m}`,
            )
          } else {
            const entropy = (a: number): number =>
              a <= 0 || a >= c ? 0 : a * Math.log(a / c) + (c - a) * Math.log1p(-a / c)
            const found = largest(a => -a * m - entropy(a), 0, c)
            assert.ok(Math.abs(found - expected) <= 1e-9 * Math.max(c, expected), `${found}, expected ${expected}`)
          }
        }),
        { seed, numRuns: 300 },
      )
    })

    it('is what the numeric loops compute', () => {
      const arena = new Arena()
      const mark = arena.mark()
      const both = fc.tuple(fc.oneof(margin, fc.constantFrom(0, 1, -1, 1 + 1e-9, 700, -700)), fc.boolean())
      fc.assert(
        fc.property(fc.array(both, { minLength: 1, maxLength: 5 }), cost, cost, (margins, c, d) => {
          arena.release(mark)
          const { problem, rows } = problemOf(arena, loss, margins, c, d)
          const sums = arena.allocate(SUMS_BYTES, 'sums')
          arena.numeric.evaluateF64(problem.of(wholeGroup(arena, rows)), 0, margins.length, sums)
          const expected = margins.reduce((sum, [m, positive]) => sum + (positive ? c : d) * loss.value(m), 0)
          near(arena.getF64(sums + SUMS_LOSS), expected, 1e-13, 'the sum of losses')
        }),
        { seed, numRuns: 300 },
      )
    })
  })
}

describe('findLoss', () => {
  it('refuses a name that no loss has, and says which there are', () => {
    assert.throws(
      () => findLoss('hinged'),
      error => {
        assert.ok(error instanceof UsageError)
        assert.equal(
          error.message,
          `there is no loss "hinged"; expected one of ${allLosses.map(loss => loss.name).join(', ')}`,
        )
        return true
      },
    )
  })
  it("LIBLINEAR's numbers tell losses apart", () => {
    const numbers = allLosses.flatMap(({ liblinearSolver }) => liblinearSolver ?? [])
    assert.equal(new Set(numbers).size, numbers.length)
  })
})
