import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { SpillwayError } from '../../src/errors.ts'
import {
  denseScaleFactors,
  denseWeights,
  makeModel,
  predictLabel,
  scoreRow,
  vectorCount,
} from '../../src/model/model.ts'
import { MOST_FEATURES } from '../../src/numeric/layouts.ts'
import { anyModel, plusMinus, smallModel } from './some-models.ts'

const three = ['a', 'b', 'c'].map((text, value) => ({ text, value }))

describe('makeModel', () => {
  it('keeps weights sparse only when that is smaller', () => {
    assert.equal(smallModel().weights.layout, 'dense')
    const sparse = smallModel({ features: 10, weights: new Float64Array(10).fill(3, 4, 5) })
    assert.deepEqual(sparse.weights, { layout: 'sparse', indices: Uint32Array.of(4), values: Float64Array.of(3) })
    const full = { layout: 'sparse' as const, indices: Uint32Array.of(0, 1), values: Float64Array.of(3, 4) }
    assert.deepEqual(smallModel({ features: 2, weights: full }).weights, {
      layout: 'dense',
      values: Float64Array.of(3, 4),
    })
  })

  it('holds as many features as a u32 can number, without room for all of them', () => {
    const weights = {
      layout: 'sparse' as const,
      indices: Uint32Array.of(7, MOST_FEATURES - 1),
      values: Float64Array.of(1, -2),
    }
    const model = smallModel({ features: MOST_FEATURES, weights })
    assert.deepEqual([...scoreRow(model, [7, MOST_FEATURES - 1], [10, 1])], [8])
    assert.throws(() => denseWeights(model), /do not fit in one array/)
  })

  it('says what is wrong', () => {
    const refused = (parts: Parameters<typeof smallModel>[0], words: RegExp): void => {
      assert.throws(
        () => smallModel(parts),
        (error: Error) => error instanceof SpillwayError && words.test(error.message),
      )
    }
    refused({ labels: [] }, /no labels/)
    refused({ labels: [plusMinus[0], plusMinus[0]] }, /label "\+1" \(1\) is listed twice/)
    refused({ features: 5 }, /hold 4 numbers; expected 5/)
    refused({ features: 2 ** 32 }, /4294967296 features; expected a whole number of at most 4294967294/)
    refused({ bias: 1 }, /0 bias weights; expected 1/)
    refused({ weights: Float64Array.of(1, 2, Number.NaN, 4) }, /NaN for feature 2; expected finite/)
    const unordered = { layout: 'sparse' as const, indices: Uint32Array.of(3, 1), values: Float64Array.of(1, 2) }
    refused({ weights: unordered }, /feature 1 after 3; expected increasing/)
    const beyond = { layout: 'sparse' as const, indices: Uint32Array.of(4), values: Float64Array.of(1) }
    refused({ weights: beyond }, /name feature 4; there are 4/)
  })

  it('gives two classes one vector, more classes one each', () => {
    assert.equal(vectorCount(2, 'one-vs-rest'), 1)
    assert.equal(vectorCount(2, 'crammer-singer'), 2)
    assert.equal(vectorCount(5, 'one-vs-rest'), 5)
    assert.equal(vectorCount(1, 'one-vs-rest'), 1)
  })
})

describe('scoring', () => {
  it('reads a score above 0 as the first label, and 0 as the second', () => {
    const model = smallModel()
    assert.equal(predictLabel(model, scoreRow(model, [0, 3], [1, 1])).text, '+1')
    assert.equal(predictLabel(model, scoreRow(model, [1], [1])).text, '-1')
    assert.equal(predictLabel(model, scoreRow(model, [], [])).text, '-1')
  })

  it('gives the first of equal scores for more classes', () => {
    const model = makeModel({
      labels: three,
      features: 1,
      weights: Float64Array.of(1, 2, 2),
      loss: 'hinge',
      solver: 'dual',
    })
    assert.deepEqual([...scoreRow(model, [0], [3])], [3, 6, 6])
    assert.equal(predictLabel(model, scoreRow(model, [0], [3])).text, 'b')
    assert.equal(predictLabel(model, scoreRow(model, [0], [0])).text, 'a')
  })

  it('adds the bias and passes over features it does not have', () => {
    const model = smallModel({ bias: 2, biasWeights: Float64Array.of(0.25) })
    assert.deepEqual([...scoreRow(model, [3, 9], [1, 100])], [2.5])
  })

  it('scales first, then brings the row to unit length', () => {
    const factors = Float64Array.of(6, 4, 1, 1)
    const scaled = smallModel({ transforms: { scale: { kind: 'minmax', factors } } })
    assert.deepEqual([...scoreRow(scaled, [0, 1], [0.5, 1])], [0.5 * 3 - 0.25 * 4])
    const both = smallModel({ transforms: { scale: { kind: 'minmax', factors }, normalize: 'unit' } })
    assert.deepEqual([...scoreRow(both, [0, 1], [0.5, 1])], [(0.5 * 3) / 5 - (0.25 * 4) / 5])
    assert.deepEqual([...scoreRow(both, [], [])], [0])
  })

  it('gives the same scores from sparse and from dense weights', () => {
    fc.assert(
      fc.property(anyModel(), fc.array(fc.nat(15)), (model, row) => {
        const indices = [...new Set(row)].sort((a, b) => a - b)
        const values = indices.map(index => (index % 3) - 1)
        const dense = { ...model, weights: { layout: 'dense' as const, values: denseWeights(model) } }
        const factors = denseScaleFactors(model)
        if (factors) {
          dense.transforms = {
            ...model.transforms,
            scale: { kind: 'minmax', factors: { layout: 'dense', values: factors } },
          }
        }
        // A feature left out adds nothing, one with weight 0 adds 0: at most the sign of a zero differs.
        const plus = (scores: Float64Array): number[] => [...scores].map(x => x + 0)
        assert.deepEqual(plus(scoreRow(model, indices, values)), plus(scoreRow(dense, indices, values)))
      }),
    )
  })
})

describe('the code that reads and scores models', () => {
  it('needs nothing of Node, so that it runs in a browser', () => {
    const folder = new URL('../../src/model/', import.meta.url)
    // A name is listed only when it has to touch the disk.
    const needsNode = ['files.ts']
    for (const name of ['all-model-formats.ts', 'json-file.ts', 'liblinear-file.ts', 'model.ts', 'own-file.ts']) {
      const seen = new Set<string>()
      const visit = (url: URL): void => {
        if (seen.has(url.href)) return
        seen.add(url.href)
        const text = readFileSync(url, 'utf8')
        assert.doesNotMatch(text, /from 'node:|\bBuffer\b|\bprocess\./, url.href)
        for (const [, path] of text.matchAll(/from '(\..*?)'/g)) visit(new URL(path, url))
      }
      visit(new URL(name, folder))
      assert.ok(needsNode.every(other => !seen.has(new URL(other, folder).href)))
    }
  })
})
