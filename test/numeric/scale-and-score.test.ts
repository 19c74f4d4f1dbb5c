// Feature statistics, scaling and scores, against loops over plain arrays.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { Arena } from '../../src/numeric/arena.ts'
import { ROW_KIND_DENSE, ROW_KIND_F32, ROW_KIND_F64 } from '../../src/numeric/layouts.ts'
import { decodeRow, type Entries, randomNumbers, seed, writeBatch, writeRow } from './reference.ts'

const FEATURES = 20

function someRows(count: number, start: number, features = FEATURES): Entries[] {
  const random = randomNumbers(start)
  return Array.from({ length: count }, () => {
    const keep = random() < 0.15 ? 0 : random()
    const indices = Array.from({ length: features }, (_, j) => j).filter(() => random() < keep)
    return { indices, values: indices.map(() => Math.fround(random() * 6 - 3)) }
  })
}

const near = (found: number, expected: number, precision: number, size: number, what: string): void =>
  assert.ok(
    Math.abs(found - expected) <= precision * Math.max(size, Math.abs(expected)),
    `${what}: ${found}, expected ${expected}`,
  )

describe('feature statistics and scaling', () => {
  const arena = new Arena()
  const mark = arena.mark()
  const kinds = [ROW_KIND_F32, ROW_KIND_DENSE, ROW_KIND_F64]
  const place = (rows: Entries[]): number => {
    const table = arena.allocate(rows.length * 4 + 4, 'a table')
    rows.forEach((row, k) => {
      arena.u32(table, rows.length)[k] = writeRow(arena, kinds[k % kinds.length], row)
    })
    return table
  }
  it('gathers extremes and moments over a stretch of rows', () => {
    fc.assert(
      fc.property(fc.nat(30), fc.integer(), fc.nat(30), (count, start, skip) => {
        arena.release(mark)
        const rows = someRows(count, start)
        const table = place(rows)
        const from = Math.min(skip, count)
        const [extremes, sums, squares] = [1, 2, 3].map(() => arena.allocateZeroed(FEATURES * 8, 'statistics'))
        arena.numeric.gatherStatistics(table, from, count, extremes, 0, 0)
        assert.ok(arena.f64(sums, FEATURES).every(x => x === 0))
        arena.numeric.gatherStatistics(table, from, count, 0, sums, squares)
        for (let j = 0; j < FEATURES; j++) {
          const column = rows.slice(from).flatMap(row => row.values.filter((_, k) => row.indices[k] === j))
          const sum = column.reduce((total, x) => total + x, 0)
          const square = column.reduce((total, x) => total + x * x, 0)
          assert.equal(arena.f64(extremes, FEATURES)[j], Math.max(0, ...column.map(Math.abs)))
          near(arena.f64(sums, FEATURES)[j], sum, 1e-13, 10, 'Σx')
          near(arena.f64(squares, FEATURES)[j], square, 1e-13, 10, 'Σx²')
        }
      }),
      { seed, numRuns: 150 },
    )
  })

  it('multiplies by the factors, rounds as the row is kept, and makes rows unit length when asked', () => {
    fc.assert(
      fc.property(fc.nat(20), fc.integer(), fc.boolean(), (count, start, unit) => {
        arena.release(mark)
        const rows = someRows(count, start)
        const table = place(rows)
        const random = randomNumbers(start + 1)
        const factors = Array.from({ length: FEATURES }, () => random() * 4 + 0.1)
        const at = arena.allocate(FEATURES * 8, 'factors')
        arena.f64(at, FEATURES).set(factors)
        arena.numeric.scaleRows(table, 0, count, at, unit)
        rows.forEach((row, r) => {
          const found = decodeRow(arena, arena.u32(table, count)[r])
          const round = found.kind === ROW_KIND_F64 ? (x: number): number => x : Math.fround
          const expected = row.values.map((x, k) => round(x * factors[row.indices[k]]))
          assert.deepEqual(found.indices, row.indices)
          assert.deepEqual(found.values, expected)
          const norm = expected.reduce((sum, x) => sum + x * x, 0)
          near(found.scale, unit && norm > 0 ? 1 / Math.sqrt(norm) : 1, 1e-14, 0, 'scale')
          near(found.norm, unit && norm > 0 ? 1 : norm, 1e-13, 0, 'norm')
        })
      }),
      { seed, numRuns: 150 },
    )
  })
})

describe('scoreBatch', () => {
  const arena = new Arena()
  const mark = arena.mark()
  const setting = fc.record({
    count: fc.nat(15),
    start: fc.integer(),
    models: fc.integer({ min: 1, max: 6 }),
    features: fc.integer({ min: 0, max: FEATURES + 3 }),
    scaled: fc.boolean(),
    unit: fc.boolean(),
    bytes: fc.constantFrom<4 | 8>(4, 8),
  })
  it('scores every row by every model; features that the model does not know count nothing', () => {
    fc.assert(
      fc.property(setting, ({ count, start, models, features, scaled, unit, bytes }) => {
        arena.release(mark)
        const rows = someRows(count, start)
        const batch = writeBatch(arena, rows, bytes)
        const random = randomNumbers(start + 7)
        const list = (length: number): number[] => Array.from({ length }, () => random() * 4 - 2)
        const put = (numbers: number[]): number => {
          const at = arena.allocate(numbers.length * 8 + 8, 'numbers')
          arena.f64(at, numbers.length).set(numbers)
          return at
        }
        const w = list(features * models)
        const bias = list(models)
        const factors = list(features)
        const scores = arena.allocate(count * models * 8 + 8, 'scores')
        arena.f64(scores, count * models + 1).fill(4711)
        arena.numeric.scoreBatch(batch, put(w), features, models, put(bias), scaled ? put(factors) : 0, unit, scores)
        const round = bytes === 4 ? Math.fround : (x: number): number => x
        rows.forEach((row, r) => {
          const values = row.values.map((x, k) => {
            const index = row.indices[k]
            return scaled && index < features ? round(x * factors[index]) : x
          })
          const length = unit ? Math.hypot(...values) : 1
          for (let m = 0; m < models; m++) {
            let sum = 0
            for (const [k, index] of row.indices.entries())
              if (index < features) sum += w[index * models + m] * values[k]
            const expected = sum / (length || 1) + bias[m]
            near(arena.f64(scores, count * models)[r * models + m], expected, 1e-13, 200, `row ${r}, model ${m}`)
          }
        })
        assert.equal(arena.f64(scores, count * models + 1)[count * models], 4711)
      }),
      { seed, numRuns: 300 },
    )
  })
})
