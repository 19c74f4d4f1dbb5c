import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { SpillwayError } from '../../src/errors.ts'
import { Xxh64 } from '../../src/files/xxh64.ts'
import { decodeModel, encodeModel } from '../../src/model/own-file.ts'
import { MOST_FEATURES } from '../../src/numeric/layouts.ts'
import { anyModel, goldenModel, smallModel } from './some-models.ts'

/** Puts the right checksum under changed bytes, so that what lies behind the checksum is tested too. */
function sealed(bytes: Uint8Array): Uint8Array {
  const end = bytes.length - 8
  const { high, low } = new Xxh64().update(bytes.subarray(0, end)).digest()
  const view = new DataView(bytes.buffer)
  view.setUint32(end, low, true)
  view.setUint32(end + 4, high, true)
  return bytes
}

function withHeader(change: (header: Record<string, unknown>) => void): Uint8Array {
  const bytes = encodeModel(smallModel())
  const length = new DataView(bytes.buffer).getUint32(16, true)
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(32, 32 + length)))
  change(header)
  const text = new TextEncoder().encode(JSON.stringify(header))
  const room = Math.ceil(text.length / 8) * 8
  const changed = new Uint8Array(bytes.length - length + room)
  changed.set(bytes.subarray(0, 32))
  changed.fill(0x20, 32, 32 + room)
  changed.set(text, 32)
  changed.set(bytes.subarray(32 + length), 32 + room)
  const view = new DataView(changed.buffer)
  view.setUint32(16, room, true)
  view.setUint32(24, changed.length, true)
  return sealed(changed)
}

function refused(bytes: Uint8Array, words: RegExp): void {
  assert.throws(
    () => decodeModel(bytes, 'my.model'),
    (error: Error) => {
      assert.ok(error instanceof SpillwayError, String(error))
      assert.match(error.message, /my\.model/)
      assert.match(error.message, words)
      return true
    },
  )
}

describe("the model's own file", () => {
  it('gives back every model as it was', () => {
    fc.assert(
      fc.property(anyModel(), model => {
        assert.deepEqual(decodeModel(encodeModel(model)), model)
      }),
      { numRuns: 300 },
    )
  })

  it('holds the largest feature numbers in a few bytes', () => {
    const weights = {
      layout: 'sparse' as const,
      indices: Uint32Array.of(MOST_FEATURES - 1),
      values: Float64Array.of(2),
    }
    const model = smallModel({ features: MOST_FEATURES, weights })
    const bytes = encodeModel(model)
    assert.ok(bytes.length < 1000)
    assert.deepEqual(decodeModel(bytes), model)
  })

  it('writes many numbers in several pieces and reads them back', () => {
    const weights = Float64Array.from({ length: 100_001 }, (_, j) => Math.sin(j))
    const dense = smallModel({ features: weights.length, weights })
    assert.deepEqual(decodeModel(encodeModel(dense)), dense)
    const indices = Uint32Array.from(weights, (_, j) => j * 10)
    const sparse = smallModel({ features: 2_000_000, weights: { layout: 'sparse', indices, values: weights } })
    assert.deepEqual(decodeModel(encodeModel(sparse)), sparse)
  })

  it('still reads version 1 as it was first written', () => {
    const bytes = readFileSync(new URL('fixtures/version-1.model', import.meta.url))
    const model = decodeModel(bytes)
    assert.deepEqual(model, goldenModel())
    assert.deepEqual(Buffer.from(encodeModel(model)), bytes)
  })

  it('refuses a newer version and says what it reads', () => {
    const bytes = encodeModel(smallModel())
    new DataView(bytes.buffer).setUint32(8, 2, true)
    refused(bytes, /is a model of version 2; this Spillway reads version 1/)
  })

  it('says that a file is cut off, at any length', () => {
    const bytes = encodeModel(smallModel())
    for (let length = 8; length < bytes.length; length++) refused(bytes.subarray(0, length), /is cut off/)
    for (let length = 0; length < 8; length++) refused(bytes.subarray(0, length), /is not a Spillway model/)
  })

  it('notices every changed byte', () => {
    const bytes = encodeModel(smallModel())
    for (let at = 0; at < bytes.length; at++) {
      const changed = bytes.slice()
      changed[at] ^= 0x10
      refused(changed, /damaged|version|cut off|not a Spillway model/)
    }
  })

  it('names byte order, lengths and header fields that cannot be', () => {
    const change = (at: number, value: number): Uint8Array => {
      const bytes = encodeModel(smallModel())
      new DataView(bytes.buffer).setUint32(at, value, true)
      return sealed(bytes)
    }
    refused(change(12, 0x04030201), /big-endian byte order; expected little-endian/)
    refused(change(16, 0xfffffff8), /header claims 4294967288 bytes; expected a multiple of 8/)
    refused(change(32, 0x20202020), /header is not JSON/)
    refused(
      withHeader(h => delete h['loss']),
      /header field "loss" is missing; expected a text/,
    )
    refused(
      withHeader(h => Object.assign(h, { indexBase: 2 })),
      /"indexBase" is 2; expected one of 0, 1/,
    )
    refused(
      withHeader(h =>
        Object.assign(h, { features: 4_000_000_000, weights: { layout: 'dense', count: 4_000_000_000 } }),
      ),
      /weights take 32 bytes; expected 32000000000/,
    )
    refused(
      withHeader(h => Object.assign(h, { features: 1e300 })),
      /"features" is 1e\+300; expected a whole number below 2\^32/,
    )
    refused(
      withHeader(h => Object.assign(h, { transforms: { wavelet: 3 } })),
      /transforms"?\.wavelet, which this version of Spillway does not know/,
    )
    refused(
      withHeader(h => Object.assign(h, { labels: [{ value: '1', text: 'x' }] })),
      /labels"?\[0\]\.value is "1"; expected a number/,
    )
  })
})
