import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { formatG17 } from '../../src/model/number-text.ts'

describe('%.17g', () => {
  it('writes what C writes', () => {
    const pairs: [number, string][] = [
      [0, '0'],
      [-0, '-0'],
      [1, '1'],
      [-1, '-1'],
      [0.1, '0.10000000000000001'],
      [-0.5, '-0.5'],
      [100, '100'],
      [1e16, '10000000000000000'],
      [1e17, '1e+17'],
      [1.5e300, '1.5000000000000001e+300'],
      [1e-4, '0.0001'],
      [1e-5, '1.0000000000000001e-05'],
      [5e-324, '4.9406564584124654e-324'],
      [123456.789, '123456.789'],
    ]
    for (const [value, text] of pairs) assert.equal(formatG17(value), text)
  })

  it('rounds ties to the even digit as C does, where JavaScript rounds up', () => {
    assert.equal((2 ** -25).toPrecision(17), '2.9802322387695313e-8')
    assert.equal(formatG17(2 ** -25), '2.9802322387695312e-08')
    assert.equal(formatG17(-(2 ** -25)), '-2.9802322387695312e-08')
    assert.equal(formatG17(3 * 2 ** -25), '8.9406967163085938e-08')
  })

  it('names the same double again', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), x => {
        assert.ok(Object.is(Number(formatG17(x)), x))
      }),
      { numRuns: 2000 },
    )
  })
})
