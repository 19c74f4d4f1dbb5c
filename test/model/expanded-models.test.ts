// Models that expand their rows: through files and back, in words, and refused where they cannot go; and weights that are
// lent by a training run.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { describeModel } from '../../src/cli/inspect-model.ts'
import type { SpillwayError } from '../../src/errors.ts'
import { namesBeforeHash } from '../../src/model/feature-names.ts'
import { writeJson } from '../../src/model/json-file.ts'
import { lendWeights } from '../../src/model/lent-weights.ts'
import { liblinearWarnings, writeLiblinear } from '../../src/model/liblinear-file.ts'
import { denseWeights, type Model, scoreRow } from '../../src/model/model.ts'
import { decodeModel, encodeModel } from '../../src/model/own-file.ts'
import { featureAt, positionOf } from '../../src/model/weights.ts'
import { Arena } from '../../src/numeric/arena.ts'
import { bitsOfMap, newFeatureMap } from '../../src/numeric/feature-map.ts'
import { seed } from '../numeric/reference.ts'
import { smallModel } from './some-models.ts'

const strings = (transforms: Model['transforms'], weights: Float64Array): Model =>
  smallModel({ features: weights.length, weights, inputFormat: 'label-string', transforms })

const jsonOf = (model: Model): Record<string, unknown> => JSON.parse(Buffer.concat([...writeJson(model)]).toString())

describe('a model that expands its rows', () => {
  const pairs = strings(
    { expand: { steps: 'weighted-degree:2' } },
    Float64Array.from({ length: 40 }, (_, k) => k / 8),
  )
  const named = smallModel({
    features: 8,
    weights: Float64Array.of(1, 2, 3, 4, 5, 6, 7, 8),
    transforms: { expand: { steps: 'polynomial:2+hash:3', names: Uint32Array.of(0, 1, 2, 3, 4, 5, 6, 7, 8) } },
  })

  it('comes back from its file with expansion, names and input format', () => {
    for (const model of [pairs, named]) assert.deepEqual(decodeModel(encodeModel(model)), model)
  })

  it('scores a row by what becomes of it', () => {
    // AC at positions 0 and 1: features 0 (A), 4 + 1 (AC), and 20 + 1 (C at 1).
    assert.deepEqual([...scoreRow(pairs, [0, 1], [65, 67])], [(0 + 5 + 21) / 8])
    const unit = { ...pairs, transforms: { ...pairs.transforms, normalize: 'unit' as const } }
    assert.ok(Math.abs(scoreRow(unit, [0, 1], [65, 67])[0] - 26 / 8 / Math.sqrt(3)) < 1e-15)
  })

  it('is told in words, its features by what they are made of', () => {
    const { lines, json } = describeModel(pairs, 'm', { top: 2 })
    const text = lines.join('\n')
    assert.match(text, /^features +40$/m)
    assert.match(text, /^text +label-string$/m)
    assert.match(text, /^prepared +features made by weighted-degree:2$/m)
    assert.match(text, /^ +2:TT +4\.875 +\+1$/m)
    assert.deepEqual((json['topWeights'] as object[])[0], { feature: 39, name: '2:TT', weight: 4.875, label: '+1' })
    const shown = describeModel(named, 'm', { top: 8 }).lines.join('\n')
    assert.match(shown, /^names +9 features were hashed$/m)
    assert.match(shown, /^ +feature +weight +speaks for +made of$/m)
    for (const name of ['1', '1*1', '2', '1*2', '2*2', '3', '1*3', '2*3', '3*3']) {
      assert.match(shown, new RegExp(`[ ,]${name.replace('*', '\\*')}(,|$)`, 'm'))
    }
    const all = namesBeforeHash(named, new Set([0, 1, 2, 3, 4, 5, 6, 7]))
    assert.equal([...all.values()].flat().length, 9)
  })

  it('is written as JSON, features by what they are made of', () => {
    const json = jsonOf(pairs)
    assert.deepEqual(json['transforms'], { expand: 'weighted-degree:2' })
    assert.equal(json['inputFormat'], 'label-string')
    const [{ weights }] = json['weights'] as { weights: Record<string, number> }[]
    assert.equal(weights['1:AC'], 5 / 8)
    assert.equal(weights['2:TT'], 39 / 8)
  })

  it("does not fit in LIBLINEAR's file, not even by force", () => {
    for (const force of [false, true]) {
      assert.throws(
        () => [...writeLiblinear(pairs, { force })],
        (error: SpillwayError) => {
          assert.match(
            error.message,
            /makes its features of each row by weighted-degree:2, and LIBLINEAR's model file cannot/,
          )
          assert.match(error.advice ?? '', /keep the Spillway model/)
          return true
        },
      )
    }
    const bytes = strings({}, Float64Array.of(1, 2))
    assert.match(liblinearWarnings(bytes).join(), /trained on text of the format label-string/)
  })

  it('that this version does not know is refused, like any transform', () => {
    const changed = (from: string, to: string): Uint8Array => {
      assert.equal(from.length, to.length)
      const text = Buffer.from(encodeModel(pairs))
      text.write(to, text.indexOf(from))
      return resealed(text)
    }
    assert.throws(
      () => decodeModel(changed('weighted-degree:2', 'waverlet-degree:2'), 'a.model'),
      (error: SpillwayError) => {
        assert.match(
          error.message,
          /a\.model expands its features by "waverlet-degree:2", which this version of Spillway does not know/,
        )
        assert.match(error.advice ?? '', /newer Spillway/)
        return true
      },
    )
    assert.throws(() => decodeModel(changed('"steps"', '"stops"'), 'a.model'), /expand"?\.stops, which this version/)
  })

  it('cannot scale its features as well', () => {
    const transforms = {
      expand: { steps: 'polynomial:2' },
      scale: { kind: 'minmax' as const, factors: new Float64Array(4) },
    }
    assert.throws(() => smallModel({ transforms }), /both scales and expands/)
    assert.throws(
      () => smallModel({ transforms: { expand: { steps: 'hash:2', names: Uint32Array.of(3, 3) } } }),
      /names of its hashed features are not in increasing order/,
    )
  })
})

/** The right checksum under changed bytes: of the whole file again, by reading it as it was written. */
function resealed(bytes: Buffer): Uint8Array {
  const end = bytes.length - 8
  const arena = new Arena()
  const at = arena.allocate(end, 'a test')
  arena.bytes(at, end).set(bytes.subarray(0, end))
  bytes.writeBigUInt64LE(BigInt.asUintN(64, arena.numeric.xxh64(at, end)), end)
  return bytes
}

describe('weights that are lent', () => {
  const some = fc.record({
    features: fc.uniqueArray(fc.oneof(fc.nat(300), fc.nat(400_000)), { minLength: 1, maxLength: 60 }),
    values: fc.array(fc.oneof(fc.constant(0), fc.float({ noNaN: true, noDefaultInfinity: true })), {
      minLength: 180,
      maxLength: 180,
    }),
    vectors: fc.constantFrom(1, 3),
    narrow: fc.boolean(),
  })
  const labels = [3, 2, 1].map(value => ({ value, text: String(value) }))

  it('behind a map, are written and read as if they were listed', () => {
    fc.assert(
      fc.property(some, ({ features: chosen, values, vectors, narrow }) => {
        const arena = new Arena()
        const list = Uint32Array.from(chosen).sort()
        const numbers = Float64Array.from({ length: list.length * vectors }, (_, k) => values[k])
        const map = newFeatureMap(arena, 0)
        const at = arena.allocate(list.length * 4, 'a test')
        arena.u32(at, list.length).set(list)
        assert.ok(arena.numeric.enterFeatures(map, at, list.length))
        arena.numeric.finishMap(map)
        const bits = bitsOfMap(arena, map)
        assert.equal(bits.size, list.length)
        const weights = arena.allocate(numbers.length * 8, 'a test')
        ;(narrow ? arena.f32(weights, numbers.length) : arena.f64(weights, numbers.length)).set(numbers)
        const lent = lendWeights({ arena, weights, narrow, map }, numbers.length, bits)
        const parts = { features: 400_001, ...(vectors === 3 && { labels }) }
        const fresh = smallModel({ ...parts, weights: lent })
        const plain = smallModel({ ...parts, weights: { layout: 'sparse', indices: list, values: numbers } })
        assert.equal(fresh.weights, lent, 'not copied')
        list.forEach((feature, place) => {
          assert.equal(featureAt(lent, place), feature)
          assert.equal(positionOf(lent, vectors, feature), place * vectors)
        })
        const missing = [0, 70_000, 399_999, 400_000].filter(feature => !list.includes(feature))
        for (const feature of missing) assert.equal(positionOf(lent, vectors, feature), -1)
        assert.deepEqual(denseWeights(fresh), denseWeights(plain))
        assert.ok(Buffer.from(encodeModel(fresh)).equals(encodeModel(plain)), 'the same file')
        assert.deepEqual(scoreRow(fresh, list, [...list].fill(1)), scoreRow(plain, list, [...list].fill(1)))
      }),
      { seed, numRuns: 150 },
    )
  })

  it('without a map, are written dense or sparse, whichever is smaller', () => {
    for (const used of [3, 5000]) {
      const arena = new Arena()
      const weights = arena.allocateZeroed(6000 * 4, 'a test')
      const numbers = arena.f32(weights, 6000)
      for (let k = 0; k < used; k++) numbers[k] = k + 0.5
      const fresh = smallModel({
        features: 6000,
        weights: lendWeights({ arena, weights, narrow: true, map: 0 }, 6000, undefined),
      })
      const plain = smallModel({ features: 6000, weights: Float64Array.from(numbers) })
      assert.ok(Buffer.from(encodeModel(fresh)).equals(encodeModel(plain)))
      assert.deepEqual(jsonOf(fresh)['weights'], jsonOf(plain)['weights'])
    }
  })
})
