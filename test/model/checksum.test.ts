// Checksums by the compiled loop are those that plain JavaScript makes, however the bytes are cut.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Xxh64, xxh64Text } from '../../src/files/xxh64.ts'
import { newChecksum } from '../../src/model/checksum.ts'
import { randomNumbers, seed } from '../numeric/reference.ts'

describe('checksums of models', () => {
  it('are the same by the compiled loop', () => {
    const random = randomNumbers(seed)
    const bytes = Uint8Array.from({ length: 900_001 }, () => random() * 256)
    const cuts = [[], [1], [65_536], [65_567, 65_600], [31, 65_600, 400_000], [100, 200, 600_000, 899_999]]
    for (const length of [0, 31, 65_535, 65_536, 262_144, 262_176, bytes.length]) {
      const data = bytes.subarray(0, length)
      const expected = xxh64Text(new Xxh64().update(data).digest())
      for (const cut of cuts) {
        const hash = newChecksum()
        const ends = [...cut.filter(at => at < length), length]
        for (const [k, end] of ends.entries()) hash.update(data.subarray(k === 0 ? 0 : ends[k - 1], end))
        assert.equal(xxh64Text(hash.digest()), expected, `${length} bytes, cut at ${cut}`)
      }
    }
  })
})
