// Sizes beyond what a signed 32-bit number holds: rounded, allocated, refused.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { Arena } from '../../src/numeric/arena.ts'
import { CACHE_LINE, roundDown, roundUp } from '../../src/numeric/rounding.ts'
import { seed } from './reference.ts'

describe('rounding of sizes', () => {
  it('stays beside the size, on the right side, up to and beyond 4 GiB', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 2 ** 40 }), fc.integer({ min: 0, max: 12 }), (size, power) => {
        const multiple = 2 ** power
        const [up, down] = [roundUp(size, multiple), roundDown(size, multiple)]
        assert.ok(up >= size && up < size + multiple && up % multiple === 0)
        assert.ok(down <= size && down > size - multiple && down % multiple === 0)
      }),
      { seed },
    )
  })

  it('is what it was below 2 GiB', () => {
    for (const size of [0, 1, 7, 8, 9, 2 ** 31 - 64]) {
      assert.equal(roundUp(size, 8), (size + 7) & ~7)
      assert.equal(roundDown(size, 8), size & ~7)
    }
    assert.equal(roundDown(2.95e9 + 0.7, 8), 2.95e9)
    assert.equal(roundUp(2 ** 31 + 1, 64), 2 ** 31 + 64)
  })
})

describe('room in an arena', () => {
  it('is as large as what was asked for, above 2 GiB and up to the end of the window', () => {
    const arena = new Arena()
    const first = arena.allocate(2 ** 31 + 0.5, 'the first')
    const second = arena.allocate(1, 'the second')
    assert.equal(second - first, 2 ** 31 + CACHE_LINE)
    const third = arena.allocate(2 ** 32 - 2 ** 16 - arena.mark(), 'the rest')
    const last = 2 ** 32 - 2 ** 16 - 8
    arena.setF64(last, 3.5)
    assert.equal(arena.getF64(last), 3.5)
    assert.equal(arena.f64(third, (last - third) / 8 + 1)[(last - third) / 8], 3.5)
    assert.throws(() => arena.allocate(1, 'one byte more'), /no room left for one byte more/)
  })

  it('is refused for sizes that no size can be', () => {
    const arena = new Arena()
    for (const bytes of [-8, -1344967296, Number.NaN, Number.NEGATIVE_INFINITY]) {
      assert.throws(() => arena.allocate(bytes, 'a slip'), { message: `${bytes} bytes were asked for: a slip` })
    }
    assert.throws(() => arena.allocate(2 ** 32, 'too much'), /no room left for too much \(4\.00 GiB\)/)
    assert.throws(() => arena.allocate(Number.POSITIVE_INFINITY, 'too much'), /no room left for too much/)
  })
})
