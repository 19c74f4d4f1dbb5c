// Feature statistics, scaling and scores, against loops over plain arrays.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { Arena } from '../../src/numeric/arena.ts'
import {
  MOMENTS_BYTES,
  MOMENTS_COUNT,
  MOMENTS_EXPONENT,
  MOMENTS_MEAN,
  MOMENTS_SQUARES,
  ROW_KIND_DENSE,
  ROW_KIND_F32,
  ROW_KIND_F64,
  ROW_ONES,
  SPACE_FACTORS,
} from '../../src/numeric/layouts.ts'
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
  const moments = (rows: Entries[], table: number, from = 0): { mean: number; squares: number; count: number }[] => {
    const at = arena.allocateZeroed(FEATURES * MOMENTS_BYTES, 'statistics')
    arena.numeric.gatherMoments(table, from, rows.length, FEATURES, at)
    return Array.from({ length: FEATURES }, (_, j) => {
      const record = at + j * MOMENTS_BYTES
      const unit = 2 ** (arena.getU32(record + MOMENTS_EXPONENT) - 1023)
      const count = arena.getU32(record + MOMENTS_COUNT)
      return {
        mean: arena.getF64(record + MOMENTS_MEAN) * (count > 0 ? unit : 0),
        // Their root: the squares themselves may pass the largest number.
        squares: Math.sqrt(arena.getF64(record + MOMENTS_SQUARES)) * (count > 0 ? unit : 0),
        count,
      }
    })
  }
  it('gathers extremes and moments over a stretch of rows', () => {
    fc.assert(
      fc.property(fc.nat(30), fc.integer(), fc.nat(30), (count, start, skip) => {
        arena.release(mark)
        const rows = someRows(count, start)
        const table = place(rows)
        const from = Math.min(skip, count)
        const extremes = arena.allocateZeroed(FEATURES * 8, 'statistics')
        arena.numeric.gatherExtremes(table, from, count, extremes)
        for (const [j, found] of moments(rows, table, from).entries()) {
          const column = rows.slice(from).flatMap(row => row.values.filter((_, k) => row.indices[k] === j))
          const mean = column.reduce((total, x) => total + x, 0) / (column.length || 1)
          const squares = column.reduce((total, x) => total + (x - mean) ** 2, 0)
          assert.equal(arena.f64(extremes, FEATURES)[j], Math.max(0, ...column.map(Math.abs)))
          assert.equal(found.count, column.length)
          near(found.mean, mean, 1e-13, 10, 'the mean')
          near(found.squares, Math.sqrt(squares), 1e-7, 1e-6, 'the spread')
        }
      }),
      { seed, numRuns: 150 },
    )
  })

  it('finds a spread beside a large mean, and of numbers whose squares are none', () => {
    for (const [size, offset] of [
      [1, 1e6],
      [1, 1e12],
      [1e300, 0],
      [1e160, 1e165],
      [1e-170, 0],
      [1e-170, 1e-165],
      [1e-310, 0],
    ]) {
      arena.release(mark)
      const values = Array.from({ length: 300 }, (_, k) => offset + (k % 3) * size)
      const rows = values.map(x => ({ indices: [0], values: [x] }))
      const table = arena.allocate(rows.length * 4, 'a table')
      rows.forEach((row, k) => {
        arena.u32(table, rows.length)[k] = writeRow(arena, ROW_KIND_F64, row)
      })
      const [{ mean, squares, count }] = moments(rows, table)
      // Zeros are left out: whoever knows how many rows there are adds them.
      const present = values.filter(x => x !== 0).map(x => x / size)
      assert.equal(count, present.length)
      const expectedMean = present.reduce((sum, x) => sum + x, 0) / count
      const expected = Math.sqrt(present.reduce((sum, x) => sum + (x - expectedMean) ** 2, 0))
      near(mean / size, expectedMean, 1e-12, 0, `the mean at ${offset} + ${size}`)
      near(squares / size, expected, 1e-4, 0, `the spread at ${offset} + ${size}`)
    }
  })

  it('a small value before a very large one, and one that never changes', () => {
    arena.release(mark)
    const rows = [1e-300, 1e300, 3e300].map(x => ({ indices: [0, 1], values: [x, 0.1] }))
    const table = arena.allocate(rows.length * 4, 'a table')
    rows.forEach((row, k) => {
      arena.u32(table, rows.length)[k] = writeRow(arena, ROW_KIND_F64, row)
    })
    const [first, second] = moments(rows, table)
    near(first.mean, 4e300 / 3, 1e-14, 0, 'the mean')
    near(first.squares / 1e300, Math.sqrt(14 / 3), 1e-14, 0, 'the spread')
    assert.equal(second.squares, 0, 'no rounding is taken for a spread')
  })

  it('multiplies by the factors without rounding, and makes rows unit length when asked', () => {
    fc.assert(
      fc.property(fc.nat(20), fc.integer(), fc.boolean(), (count, start, unit) => {
        arena.release(mark)
        const rows = someRows(count, start)
        const table = place(rows)
        const random = randomNumbers(start + 1)
        const factors = Array.from({ length: FEATURES }, () => random() * 4 + 0.1)
        const at = arena.allocate(FEATURES * 8, 'factors')
        arena.f64(at, FEATURES).set(factors)
        arena.setU32(SPACE_FACTORS, at)
        arena.numeric.scaleRows(table, 0, count, at, unit)
        rows.forEach((row, r) => {
          const record = arena.u32(table, count)[r]
          const found = decodeRow(arena, record)
          const expected = row.values.map((x, k) => x * factors[row.indices[k]])
          assert.deepEqual(found.indices, row.indices)
          assert.deepEqual(found.values, expected)
          const norm = expected.reduce((sum, x) => sum + x * x, 0)
          near(found.scale, unit && norm > 0 ? 1 / Math.sqrt(norm) : 1, 1e-14, 0, 'scale')
          near(found.norm, unit && norm > 0 ? 1 : norm, 1e-13, 0, 'norm')
          near(arena.numeric.squaredNorm(record), found.norm, 1e-13, 0, 'norm once more')
        })
      }),
      { seed, numRuns: 150 },
    )
  })

  it('knows the ones at the end of a row, which change no bit', () => {
    fc.assert(
      fc.property(fc.nat(12), fc.nat(12), fc.integer(), fc.boolean(), (numbers, ones, start, unit) => {
        arena.release(mark)
        const random = randomNumbers(start)
        const indices = Array.from({ length: numbers + ones }, (_, k) => k * 3 + 1)
        const values = indices.map((_, k) => (k < numbers ? Math.fround(random() * 6 - 3) : 1))
        const record = writeRow(arena, ROW_KIND_F32, { indices, values })
        const table = arena.allocate(4, 'a table')
        arena.setU32(table, record)
        const features = 3 * (numbers + ones) + 2
        const factors = arena.allocate(features * 8, 'factors')
        arena.f64(factors, features).forEach((_, j, all) => {
          all[j] = j <= 3 * numbers ? random() + 0.1 : 1
        })
        arena.setU32(SPACE_FACTORS, factors)
        arena.numeric.scaleRows(table, 0, 1, factors, unit)
        assert.equal(arena.getU32(record + ROW_ONES), ones)
        const weights = arena.allocate(features * 8, 'weights')
        const looked = (): number[] => {
          const again = randomNumbers(start + 1)
          arena.f64(weights, features).forEach((_, j, all) => {
            all[j] = again() - 0.5
          })
          const dot = arena.numeric.dotF64(record, weights)
          arena.numeric.axpyF64(record, 0.3, weights)
          return [dot, arena.numeric.squaredNorm(record), ...arena.f64(weights, features)]
        }
        const known = looked()
        arena.setU32(record + ROW_ONES, 0)
        assert.deepEqual(known, looked())
      }),
      { seed, numRuns: 150 },
    )
  })

  it('gathers moments of the features below one alone', () => {
    arena.release(mark)
    const rows = someRows(30, 4)
    const table = place(rows)
    const all = arena.allocateZeroed(FEATURES * MOMENTS_BYTES, 'statistics')
    const some = arena.allocateZeroed(FEATURES * MOMENTS_BYTES, 'statistics')
    arena.numeric.gatherMoments(table, 0, rows.length, FEATURES, all)
    arena.numeric.gatherMoments(table, 0, rows.length, 7, some)
    assert.deepEqual(arena.bytes(some, 7 * MOMENTS_BYTES), arena.bytes(all, 7 * MOMENTS_BYTES))
    assert.ok(arena.bytes(some + 7 * MOMENTS_BYTES, (FEATURES - 7) * MOMENTS_BYTES).every(byte => byte === 0))
  })

  it('makes rows unit length whose squares are beyond numbers', () => {
    for (const size of [1e160, 1e308, 1e-170, 1e-320]) {
      arena.release(mark)
      const at = writeRow(arena, ROW_KIND_F64, { indices: [0, 1, 2], values: [size, 0, -size] })
      const table = arena.allocate(4, 'a table')
      arena.setU32(table, at)
      const factors = arena.allocate(3 * 8, 'factors')
      arena.f64(factors, 3).fill(1)
      arena.numeric.scaleRows(table, 0, 1, factors, true)
      const row = decodeRow(arena, at)
      assert.equal(row.norm, 1)
      const values = row.values.map(x => x * row.scale)
      for (const [k, sign] of [1, 0, -1].entries()) near(values[k], sign * Math.SQRT1_2, 1e-14, 0, `value ${k}`)
    }
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
        rows.forEach((row, r) => {
          const values = row.values.map((x, k) => {
            const index = row.indices[k]
            return scaled && index < features ? x * factors[index] : x
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

  it('divides by lengths whose squares are beyond numbers', () => {
    for (const size of [1e160, 1e308, 1e-170, 1e-320]) {
      for (const models of [1, 2]) {
        arena.release(mark)
        const batch = writeBatch(arena, [{ indices: [0, 1], values: [size, -size] }], 8)
        const put = (numbers: number[]): number => {
          const at = arena.allocate(numbers.length * 8, 'numbers')
          arena.f64(at, numbers.length).set(numbers)
          return at
        }
        const w = models === 1 ? [3, 1] : [3, 0, 1, 7]
        const scores = put([0, 0])
        arena.numeric.scoreBatch(batch, put(w), 2, models, put([0, 0]), 0, true, scores)
        const expected = [Math.SQRT2, -7 * Math.SQRT1_2].slice(0, models)
        for (const [k, score] of expected.entries()) near(arena.f64(scores, 2)[k], score, 1e-14, 0, `at ${size}`)
      }
    }
  })
})
