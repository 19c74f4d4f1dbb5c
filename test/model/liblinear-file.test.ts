import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { SpillwayError } from '../../src/errors.ts'
import { isLiblinearFile, liblinearWarnings, readLiblinear, writeLiblinear } from '../../src/model/liblinear-file.ts'
import { denseScaleFactors, denseWeights, type Model, scoreRow } from '../../src/model/model.ts'
import { anyModel, smallModel } from './some-models.ts'

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text)
const textOf = (model: Model, options = {}): string =>
  new TextDecoder().decode(Buffer.concat([...writeLiblinear(model, options)]))

const binary =
  'solver_type L2R_LR\nnr_class 2\nlabel 1 -1\nnr_feature 3\nbias 0.5\nw\n0.25 \n-0 \n1.0000000000000001e-05 \n4 \n'
const three =
  'solver_type MCSVM_CS\nnr_class 3\nlabel 7 -2 5\nnr_feature 2\nbias -1\nw\n0.10000000000000001 0 -1 \n0 0 2.5 \n'

describe("LIBLINEAR's model file", () => {
  it('is read for what it says', () => {
    const model = readLiblinear(bytesOf(three.replace('0.10000000000000001', '0.1')), 'm')
    assert.deepEqual(
      model.labels,
      [7, -2, 5].map(value => ({ value, text: String(value) })),
    )
    assert.deepEqual([...denseWeights(model)], [0.1, 0, -1, 0, 0, 2.5])
    assert.equal(model.multiclass, 'crammer-singer')
    assert.equal(model.bias, 0)
    const biased = readLiblinear(bytesOf(binary), 'm')
    assert.equal(biased.loss, 'logistic')
    assert.deepEqual([...scoreRow(biased, [0], [2])], [0.25 * 2 + 4 * 0.5])
  })

  it('is written back byte for byte', () => {
    for (const text of [binary, three, binary.replace('bias 0.5', 'bias 0')]) {
      assert.equal(textOf(readLiblinear(bytesOf(text), 'm')), text)
    }
  })

  it('takes the lines in any order, a rho line, and Windows line ends', () => {
    const text = 'nr_class 2\r\nlabel 1 -1\r\nrho 0.5\r\nbias -1\r\nnr_feature 1\r\nsolver_type L1R_LR\r\nw\r\n3 \r\n'
    const model = readLiblinear(bytesOf(text), 'm')
    assert.equal(model.regularizer, 'l1')
    assert.deepEqual([...denseWeights(model)], [3])
  })

  it('is told from a table whose first column is called as a line of its head is', () => {
    for (const text of [binary, three, 'label 1 -1\r\nsolver_type', '\nbias -1\nw\n', 'nr_class 2\n']) {
      assert.ok(isLiblinearFile(bytesOf(text)), text)
    }
    for (const text of [
      'label\tage\n1\t39\n',
      'label\t1\t2\n',
      'bias label\n1 2\n',
      'label\n1\n',
      'label,age\n',
      'w 1\n',
    ]) {
      assert.ok(!isLiblinearFile(bytesOf(text)), text)
    }
  })

  it('keeps every model: the weights, with the scale factors in them', () => {
    fc.assert(
      fc.property(anyModel({ wholeLabels: true }), model => {
        const factors = denseScaleFactors(model)
        const expected = denseWeights(model).map((w, at) => w * (factors?.[Math.floor(at / model.vectors)] ?? 1))
        fc.pre(expected.every(Number.isFinite))
        const back = readLiblinear(bytesOf(textOf(model)), 'm')
        assert.deepEqual([...denseWeights(back)], [...expected])
        assert.deepEqual(back.biasWeights, model.biasWeights)
        assert.deepEqual(
          back.labels.map(label => label.value),
          model.labels.map(label => label.value),
        )
        assert.deepEqual([back.bias, back.features, back.vectors], [model.bias, model.features, model.vectors])
      }),
      { numRuns: 300 },
    )
  })

  it('writes the type that fits the loss', () => {
    const type = (parts: Parameters<typeof smallModel>[0]): string => textOf(smallModel(parts)).split('\n')[0].slice(12)
    assert.equal(type({ loss: 'hinge' }), 'L2R_L1LOSS_SVC_DUAL')
    assert.equal(type({ loss: 'squared-hinge' }), 'L2R_L2LOSS_SVC_DUAL')
    assert.equal(type({ loss: 'logistic' }), 'L2R_LR_DUAL')
    assert.equal(type({ loss: 'logistic', regularizer: 'l1' }), 'L1R_LR')
    assert.equal(type({ loss: 'ramp' }), 'L2R_L1LOSS_SVC_DUAL')
    assert.match(liblinearWarnings(smallModel({ loss: 'ramp' }))[0], /has no type for l2 ramp/)
    assert.match(liblinearWarnings(smallModel({ indexBase: 0 }))[0], /counts features from 0/)
    assert.deepEqual(liblinearWarnings(smallModel()), [])
  })

  it('folds a negative bias into its weight: LIBLINEAR takes it for none', () => {
    const model = smallModel({ bias: -2, biasWeights: Float64Array.of(0.25) })
    const back = readLiblinear(bytesOf(textOf(model)), 'm')
    assert.equal(back.bias, 2)
    assert.deepEqual(scoreRow(back, [0], [1]), scoreRow(model, [0], [1]))
  })

  it('writes the zeros between the weights of a sparse model without holding them', () => {
    const weights = { layout: 'sparse' as const, indices: Uint32Array.of(5, 150_000), values: Float64Array.of(1, 2) }
    const model = smallModel({ features: 200_000, weights })
    for (const chunk of writeLiblinear(model)) assert.ok(chunk.length < 300_000)
    assert.deepEqual(readLiblinear(bytesOf(textOf(model)), 'm').weights, weights)
  })

  it('refuses to write what LIBLINEAR cannot say', () => {
    const refused = (parts: Parameters<typeof smallModel>[0], words: RegExp): void => {
      assert.throws(
        () => textOf(smallModel(parts)),
        (error: Error) => error instanceof SpillwayError && words.test(error.message),
      )
    }
    const label = (value: number | null, text: string): ReturnType<typeof smallModel>['labels'] => [
      { value, text },
      { value: 0, text: '0' },
    ]
    refused({ labels: label(1.5, '1.50') }, /cannot hold the label "1\.50" \(1\.5\): its labels are whole numbers/)
    refused({ labels: label(2 ** 31, 'big') }, /cannot hold the label "big"/)
    refused({ labels: label(null, 'cat') }, /cannot hold the label "cat": its labels are whole numbers/)
    const none = { layout: 'sparse' as const, indices: new Uint32Array(0), values: new Float64Array(0) }
    refused({ features: 3e9, weights: none }, /cannot hold 3000000000 features/)
    refused({ transforms: { normalize: 'unit' } }, /rows of unit length, and LIBLINEAR does not normalise/)
    assert.match(textOf(smallModel({ transforms: { normalize: 'unit' } }), { force: true }), /^solver_type/)
  })

  it('names file, line, what was found and what was expected', () => {
    const refused = (text: string, message: string): void => {
      assert.throws(
        () => readLiblinear(bytesOf(text), 'my.model'),
        (error: Error) => {
          assert.ok(error instanceof SpillwayError, String(error.stack))
          assert.equal(error.message.slice(0, message.length), message)
          return true
        },
      )
    }
    refused(binary.replace('L2R_LR', 'L3R'), 'my.model, line 1: found the solver type "L3R"; expected one of L2R_L1')
    refused(binary.replace('L2R_LR', 'ONECLASS_SVM'), 'my.model, line 1: found the solver type ONECLASS_SVM, a one-cl')
    refused(binary.replace('nr_class 2', 'nr_class two'), 'my.model, line 2: found "two"; expected the number of cla')
    refused(binary.replace('label 1 -1', 'label 1 1'), 'my.model, line 3: found the label 1 twice; expected different')
    refused(binary.replace('label 1 -1\n', ''), 'my.model, line 5: found no line "label"; expected one before')
    refused(binary.replace('nr_feature 3', 'nr_feature 2000000000'), 'my.model, line 6: found 38 bytes of weights; ex')
    refused(binary.replace('nr_feature 3', 'nr_feature 2'), 'my.model, line 10: found "4"; expected the end, after 3')
    refused(binary.replace('nr_class 2', 'nr_class 2000000000'), 'my.model, line 3: found 67 more bytes; expected 20')
    refused(binary.replace('-0', 'nan'), 'my.model, line 8: found "nan"; expected weight 2 of 4, a finite number')
    refused(binary.replace('-0', '0x1'), 'my.model, line 8: found "0x1"; expected weight 2 of 4')
    refused(binary.slice(0, -3), 'my.model, line 10: found the end of the file; expected weight 4 of 4')
    refused(binary.slice(0, 30), 'my.model, line 3: found the end of the file; expected "w" and the weights')
    refused(binary.replace('bias', 'nr_class 2\nbias'), 'my.model, line 5: found "nr_class" a second time; expected')
    refused(binary.replace('bias', 'offset'), 'my.model, line 5: found "offset"; expected one of solver_type')
  })
})
