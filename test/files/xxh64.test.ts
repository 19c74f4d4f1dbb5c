import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { Xxh64, xxh64Text } from '../../src/files/xxh64.ts'

const hash = (...pieces: Uint8Array[]): string => {
  const state = new Xxh64()
  for (const piece of pieces) state.update(piece)
  return xxh64Text(state.digest())
}

describe('XXH64', () => {
  it('gives the published hashes', () => {
    const text = (s: string): string => hash(new TextEncoder().encode(s))
    assert.equal(text(''), 'ef46db3751d8e999')
    assert.equal(text('a'), 'd24ec4f1a98c6e5b')
    assert.equal(text('abc'), '44bc2cf5ad770999')
    assert.equal(text('Nobody inspects the spammish repetition'), 'fbcea83c8a378bf1')
  })

  it('gives the hashes of the xxHash sanity check', () => {
    // xxHash's own test bytes: the top byte of a generator that starts at 2654435761 and multiplies by a 64-bit prime.
    const bytes = new Uint8Array(222)
    let generator = 2654435761n
    for (let k = 0; k < bytes.length; k++) {
      bytes[k] = Number(generator >> 56n)
      generator = BigInt.asUintN(64, generator * 11400714785074694797n)
    }
    assert.equal(hash(bytes.subarray(0, 1)), 'e934a84adb052768')
    assert.equal(hash(bytes.subarray(0, 14)), '8282dcc4994e35c8')
    assert.equal(hash(bytes), 'b641ae8cb691c174')
  })

  it('does not depend on how the bytes are cut', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), fc.nat(200), fc.nat(200), (bytes, a, b) => {
        const [first, second] = [Math.min(a, b), Math.max(a, b)]
        const cut = [bytes.subarray(0, first), bytes.subarray(first, second), bytes.subarray(second)]
        assert.equal(hash(...cut), hash(bytes))
      }),
    )
  })
})
