// Damaged files: each gives a SpillwayError or a model, never another error, and never much memory.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { SpillwayError } from '../../src/errors.ts'
import { Xxh64 } from '../../src/files/xxh64.ts'
import { allModelFormats, readableModelFormat } from '../../src/model/all-model-formats.ts'
import { writeLiblinear } from '../../src/model/liblinear-file.ts'
import { modelComplaint } from '../../src/model/model.ts'
import { decodeModel, encodeModel } from '../../src/model/own-file.ts'
import { goldenModel, smallModel } from './some-models.ts'

const ROUNDS = 4000
const MOST_EXTRA_BYTES = 64 * 2 ** 20

let state = 1
const random = (below: number): number => {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0
  return Math.floor((state / 2 ** 32) * below)
}

const words = [
  '4294967295',
  '99999999999',
  '-1',
  '1e308',
  'nan',
  'w',
  'label',
  ' ',
  '\n',
  '\0',
  '[]',
  'null',
  '{}',
  '""',
]

function mutated(original: Uint8Array): Uint8Array {
  let bytes = original.slice()
  for (let k = 1 + random(3); k > 0; k--) {
    const at = random(bytes.length)
    const kind = random(5)
    if (kind === 0) bytes[at] ^= 1 << random(8)
    else if (kind === 1) bytes = bytes.slice(0, at + 1)
    else if (kind === 2) bytes.fill(random(2) * 255, at, at + 4)
    else {
      const word = new TextEncoder().encode(words[random(words.length)])
      if (kind === 3) bytes.set(word.subarray(0, bytes.length - at), at)
      else bytes = new Uint8Array(Buffer.concat([bytes.subarray(0, at), word, bytes.subarray(at + random(8))]))
    }
  }
  return bytes
}

/** Makes length and checksum right again, so that the damage reaches the code behind them. */
function resealed(bytes: Uint8Array): Uint8Array {
  if (bytes.length < 40) return bytes
  const view = new DataView(bytes.buffer, bytes.byteOffset)
  view.setUint32(24, bytes.length, true)
  view.setUint32(28, 0, true)
  const { high, low } = new Xxh64().update(bytes.subarray(0, bytes.length - 8)).digest()
  view.setUint32(bytes.length - 8, low, true)
  view.setUint32(bytes.length - 4, high, true)
  return bytes
}

function survive(make: () => Uint8Array, read: (bytes: Uint8Array) => unknown): { refused: number; read: number } {
  const before = process.memoryUsage().arrayBuffers
  const counts = { refused: 0, read: 0 }
  for (let round = 0; round < ROUNDS; round++) {
    const bytes = make()
    try {
      const model = read(bytes)
      assert.equal(modelComplaint(model as Parameters<typeof modelComplaint>[0]), undefined)
      counts.read++
    } catch (error) {
      if (!(error instanceof SpillwayError)) throw new Error(`on ${JSON.stringify([...bytes])}`, { cause: error })
      assert.ok(error.message.length < 2000, `a complaint of ${error.message.length} letters`)
      counts.refused++
    }
    assert.ok(process.memoryUsage().arrayBuffers - before < MOST_EXTRA_BYTES)
  }
  return counts
}

describe('damaged model files', () => {
  it('own format', () => {
    const bytes = encodeModel(goldenModel())
    const { refused } = survive(
      () => mutated(bytes),
      damaged => decodeModel(damaged, 'm'),
    )
    assert.ok(refused > ROUNDS * 0.9)
  })

  it('own format with the checksum made right', () => {
    const bytes = encodeModel(goldenModel())
    const { refused, read } = survive(
      () => resealed(mutated(bytes)),
      damaged => decodeModel(damaged, 'm'),
    )
    assert.ok(refused > 100 && read > 100, `${refused} refused, ${read} read`)
  })

  it('own format with calibrations and the checksum made right', () => {
    const steps = Array.from({ length: 40 }, (_, k) => k / 40)
    const isotonic = { kind: 'isotonic' as const, scores: steps, probabilities: steps }
    const sigmoid = { kind: 'sigmoid' as const, slope: 2, offset: 0.5 }
    const bytes = encodeModel({ ...goldenModel(), calibrations: [isotonic, sigmoid, isotonic] })
    const { refused, read } = survive(
      () => resealed(mutated(bytes)),
      damaged => decodeModel(damaged, 'm'),
    )
    assert.ok(refused > 100 && read > 20, `${refused} refused, ${read} read`)
  })

  it("LIBLINEAR's format", () => {
    const model = smallModel({ features: 40, weights: new Float64Array(40).map((_, j) => Math.sin(j)) })
    const bytes = new Uint8Array(Buffer.concat([...writeLiblinear(model)]))
    const { refused, read } = survive(
      () => mutated(bytes),
      damaged => readableModelFormat(damaged, 'm').read(damaged, 'm'),
    )
    assert.ok(refused > 100 && read > 100, `${refused} refused, ${read} read`)
  })

  it('bytes of any kind', () => {
    survive(
      () => Uint8Array.from({ length: random(300) }, () => random(256)),
      bytes => readableModelFormat(bytes, 'm').read(bytes, 'm'),
    )
    for (const format of allModelFormats) assert.equal(format.detect(new Uint8Array(0)), false)
  })
})
