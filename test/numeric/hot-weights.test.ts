// Weights that trainers have to themselves: merging loses nothing, and renumbering comes back.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { Arena } from '../../src/numeric/arena.ts'
import { ROW_KIND_CODED, ROW_KIND_DENSE, ROW_KIND_F32 } from '../../src/numeric/layouts.ts'
import { randomNumbers, seed, writeRow } from './reference.ts'

const arena = new Arena()
const { numeric } = arena

describe('weights of several trainers', () => {
  for (const [bits, merge] of [
    [64, numeric.mergeHotF64],
    [32, numeric.mergeHotF32],
  ] as const) {
    it(`${bits} bits: whatever is added, and whenever it is merged, the sum is everything`, () => {
      fc.assert(
        fc.property(
          fc.integer(),
          fc.integer({ min: 1, max: 40 }),
          fc.integer({ min: 1, max: 3 }),
          (start, count, trainers) => {
            const mark = arena.mark()
            const random = randomNumbers(start)
            const room = (): number => arena.allocateZeroed(count * 8, 'test')
            const view = (at: number): Float64Array | Float32Array =>
              bits === 64 ? arena.f64(at, count) : arena.f32(at, count)
            const lock = arena.allocateZeroed(64, 'test')
            const shared = room()
            const own = Array.from({ length: trainers }, room)
            const seen = Array.from({ length: trainers }, room)
            const expected = new Float64Array(count)
            for (let step = 0; step < 60; step++) {
              const k = Math.floor(random() * trainers)
              // Multiples of 1/8 are added without rounding, in either precision.
              const amount = Math.floor(random() * 64) / 8 - 4
              const j = Math.floor(random() * count)
              view(own[k])[j] += amount
              expected[j] += amount
              if (random() < 0.3) merge(shared, own[k], seen[k], 1 + Math.floor(random() * count), lock)
            }
            for (const [k, at] of own.entries()) merge(shared, at, seen[k], count, lock)
            assert.deepEqual([...view(shared)], [...expected])
            for (const [k, at] of own.entries()) merge(shared, at, seen[k], count, lock)
            for (const at of [...own, ...seen]) assert.deepEqual([...view(at)], [...expected])
            arena.release(mark)
          },
        ),
        { seed },
      )
    })
  }

  it('a lock that somebody else has is not waited for', () => {
    const mark = arena.mark()
    const lock = arena.allocateZeroed(64, 'test')
    const [shared, own, seen] = [0, 1, 2].map(() => arena.allocateZeroed(8, 'test'))
    arena.setF64(own, 3)
    arena.setU32(lock, 1)
    assert.equal(numeric.mergeHotF64(shared, own, seen, 1, lock), 0)
    assert.equal(arena.getF64(shared), 0)
    arena.setU32(lock, 0)
    assert.equal(numeric.mergeHotF64(shared, own, seen, 1, lock), 1)
    assert.equal(arena.getF64(shared), 3)
    arena.release(mark)
  })

  it('numbers by frequency lead to weights in that order, and back', () => {
    fc.assert(
      fc.property(fc.integer(), fc.integer({ min: 1, max: 50 }), (start, features) => {
        const mark = arena.mark()
        const random = randomNumbers(start)
        const dense = random() < 0.3 ? Math.floor(random() * features) : 0
        const counts = new Array(features).fill(0)
        const rows = Array.from({ length: 30 }, (_, r) => {
          const isDense = r % 3 === 0 && dense > 0
          const indices = Array.from({ length: features }, (_, k) => k).filter(k =>
            isDense ? k < dense : random() < 1 / (1 + k),
          )
          if (!isDense) for (const k of indices) counts[k]++
          const kind = isDense ? ROW_KIND_DENSE : r % 2 ? ROW_KIND_F32 : ROW_KIND_CODED
          return writeRow(arena, kind, { indices, values: indices.map(() => 0.5) }, { scale: 1, classNumber: 0 })
        })
        const table = arena.allocate(rows.length * 4, 'test')
        arena.u32(table, rows.length).set(rows)
        const numbers = arena.allocateZeroed(features * 4, 'test')
        const back = arena.allocateZeroed(features * 4, 'test')
        const scratch = arena.allocateZeroed(Math.max(33 * 4, features * 8), 'test')
        const fixed = numeric.countOccurrences(table, rows.length, 1, numbers)
        assert.equal(fixed, dense)
        assert.deepEqual([...arena.u32(numbers, features)], counts)
        numeric.orderByFrequency(numbers, features, fixed, scratch)
        numeric.invertNumbers(numbers, features, back)
        const order = [...arena.u32(back, features)]
        for (let k = fixed + 1; k < features; k++) {
          assert.ok(Math.clz32(counts[order[k - 1]]) <= Math.clz32(counts[order[k]]), 'a rarer feature comes first')
        }
        const w = arena.allocate(features * 8, 'test')
        const weights = Array.from({ length: features }, () => random())
        arena.f64(w, features).set(weights)
        const dots = rows.map(row => numeric.dotF64(row, w))
        numeric.renumberWeightsF64(numbers, features, w, scratch)
        numeric.renumberEntries(numbers, table, 0, rows.length)
        assert.deepEqual(
          [...arena.f64(w, features)],
          order.map(k => weights[k]),
        )
        // The same weights meet the same values, in the same order.
        assert.deepEqual(
          rows.map(row => numeric.dotF64(row, w)),
          dots,
        )
        numeric.renumberWeightsF64(back, features, w, scratch)
        numeric.renumberEntries(back, table, 0, rows.length)
        assert.deepEqual([...arena.f64(w, features)], weights)
        assert.deepEqual(
          rows.map(row => numeric.dotF64(row, w)),
          dots,
        )
        arena.release(mark)
      }),
      { seed },
    )
  })
})
