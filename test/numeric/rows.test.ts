// The row space: dot, axpy and norms of every kind of row record, against loops over plain arrays.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { Arena } from '../../src/numeric/arena.ts'
import {
  ROW_KIND_CODED,
  ROW_KIND_CONSTANT,
  ROW_KIND_DENSE,
  ROW_KIND_F32,
  ROW_KIND_F64,
  ROW_KIND_SCALED_DENSE,
  ROW_KIND_SCALED_F32,
} from '../../src/numeric/layouts.ts'
import { type Entries, seed, writeRow } from './reference.ts'

const FEATURES = 90
const indices = fc.uniqueArray(fc.nat(FEATURES - 1), { maxLength: 40 }).map(list => list.sort((a, b) => a - b))
const float = fc.float({ min: -1000, max: 1000, noNaN: true }).filter(x => x !== 0)
const double = fc.double({ min: -1000, max: 1000, noNaN: true }).filter(x => Math.abs(x) > 1e-6)
const entriesOf = (value: fc.Arbitrary<number>): fc.Arbitrary<Entries> =>
  indices.chain(list =>
    fc.array(value, { minLength: list.length, maxLength: list.length }).map(values => ({ indices: list, values })),
  )
const coded = fc
  .uniqueArray(float, { minLength: 1, maxLength: 5 })
  .chain(values => entriesOf(fc.constantFrom(...values)))

const kinds: { name: string; kind: number; shared?: boolean; entries: fc.Arbitrary<Entries> }[] = [
  { name: 'f32', kind: ROW_KIND_F32, entries: entriesOf(float) },
  { name: 'constant', kind: ROW_KIND_CONSTANT, entries: entriesOf(fc.constant(1)) },
  { name: 'coded, dictionary of its own', kind: ROW_KIND_CODED, entries: coded },
  { name: 'coded, shared dictionary', kind: ROW_KIND_CODED, shared: true, entries: coded },
  { name: 'dense', kind: ROW_KIND_DENSE, entries: entriesOf(float) },
  { name: 'f64', kind: ROW_KIND_F64, entries: entriesOf(double) },
  { name: 'f32 with factors', kind: ROW_KIND_SCALED_F32, entries: entriesOf(float) },
  { name: 'dense with factors', kind: ROW_KIND_SCALED_DENSE, entries: entriesOf(float) },
]
const scale = fc.oneof(
  fc.constant(1),
  fc.double({ min: -3, max: 3, noNaN: true }).filter(x => Math.abs(x) > 1e-6),
)
const weights = fc.array(fc.double({ min: -10, max: 10, noNaN: true }), { minLength: FEATURES, maxLength: FEATURES })
const CANARY = 12345.5

for (const { name, kind, shared, entries } of kinds) {
  describe(`a row of kind ${name}`, () => {
    const arena = new Arena()
    const { numeric } = arena
    const mark = arena.mark()
    /** Weights with a canary on both sides. */
    const place = (bytes: 4 | 8, w: number[]): Float32Array | Float64Array => {
      const at = arena.allocate((FEATURES + 2) * bytes, 'test weights')
      const view = bytes === 4 ? arena.f32(at, FEATURES + 2) : arena.f64(at, FEATURES + 2)
      view.set([CANARY, ...w, CANARY])
      return view
    }
    for (const bytes of [8, 4] as const) {
      const dot = bytes === 8 ? numeric.dotF64 : numeric.dotF32
      const axpy = bytes === 8 ? numeric.axpyF64 : numeric.axpyF32
      // The sums are taken in another order; a dense row with f32 weights also multiplies in f32.
      const precision = bytes === 8 ? 1e-14 : 1e-6
      it(`dot and axpy with f${bytes * 8} weights`, () => {
        fc.assert(
          fc.property(entries, scale, weights, fc.double({ min: -5, max: 5, noNaN: true }), (row, s, w, step) => {
            arena.release(mark)
            const dictionary = shared ? arena.allocate(64, 'a dictionary') : 0
            const at = writeRow(arena, kind, row, { scale: s, dictionary })
            const view = place(bytes, w)
            const stored = [...view]
            let expected = 0
            let size = 0
            row.indices.forEach((index, k) => {
              expected += stored[index + 1] * row.values[k]
              size += Math.abs(stored[index + 1] * row.values[k])
            })
            const found = dot(at, view.byteOffset + bytes)
            assert.ok(
              Math.abs(found - s * expected) <= precision * Math.abs(s) * size + 1e-40,
              `dot ${found}, expected ${s * expected}`,
            )
            assert.deepEqual([...view], stored, 'dot changes nothing')

            axpy(at, step, view.byteOffset + bytes)
            const after = [...stored]
            for (const [k, index] of row.indices.entries()) after[index + 1] += step * s * row.values[k]
            for (const [k, value] of view.entries()) {
              const limit = precision * (Math.abs(stored[k]) + Math.abs(after[k] - stored[k])) + 1e-40
              assert.ok(Math.abs(value - after[k]) <= limit, `weight ${k - 1} is ${value}, expected ${after[k]}`)
            }
            assert.deepEqual([view[0], view[FEATURES + 1]], [CANARY, CANARY], 'nothing is written beside the weights')
          }),
          { seed, numRuns: 300 },
        )
      })
    }
    it('squaredNorm', () => {
      fc.assert(
        fc.property(entries, scale, (row, s) => {
          arena.release(mark)
          const dictionary = shared ? arena.allocate(64, 'a dictionary') : 0
          const at = writeRow(arena, kind, row, { scale: s, dictionary })
          const expected = row.values.reduce((sum, x) => sum + (s * x) ** 2, 0)
          const found = numeric.squaredNorm(at)
          assert.ok(Math.abs(found - expected) <= 1e-13 * expected, `${found}, expected ${expected}`)
        }),
        { seed, numRuns: 200 },
      )
    })
  })
}

describe('recordBytes', () => {
  it('a row with factors takes what it takes without them', () => {
    const arena = new Arena()
    const row = { indices: [0, 2, 3], values: [1, 2, 3] }
    const bytes = (kind: number): number => arena.numeric.recordBytes(writeRow(arena, kind, row))
    assert.equal(bytes(ROW_KIND_SCALED_F32), bytes(ROW_KIND_F32))
    assert.equal(bytes(ROW_KIND_SCALED_DENSE), bytes(ROW_KIND_DENSE))
  })
})

describe('squaredLength', () => {
  const arena = new Arena()
  const mark = arena.mark()
  for (const bytes of [8, 4] as const) {
    it(`of f${bytes * 8} weights, any number of them`, () => {
      const length = bytes === 8 ? arena.numeric.squaredLengthF64 : arena.numeric.squaredLengthF32
      fc.assert(
        fc.property(fc.array(double, { maxLength: 50 }), w => {
          arena.release(mark)
          const at = arena.allocate(w.length * bytes + bytes, 'test weights')
          const view = bytes === 8 ? arena.f64(at, w.length + 1) : arena.f32(at, w.length + 1)
          view.set([...w, 1e6])
          const expected = [...view].slice(0, -1).reduce((sum, x) => sum + x * x, 0)
          const found = length(at, w.length)
          assert.ok(Math.abs(found - expected) <= 1e-13 * expected, `${found}, expected ${expected}`)
        }),
        { seed, numRuns: 200 },
      )
    })
  }
})
