// Models as PMML, read back by a reader of its elements and scored by its rules: the same labels and, where they can be said, the
// same probabilities.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { calibrationsOf, classProbabilities } from '../../src/model/calibration.ts'
import { type Model, type ModelParts, predictLabel, scoreRow } from '../../src/model/model.ts'
import { isPmmlFile, pmmlWarnings, writePmml } from '../../src/model/pmml-file.ts'
import { seed } from '../numeric/reference.ts'
import { scored } from './pmml-reader.ts'
import { anyModel, plusMinus, smallModel } from './some-models.ts'

const textOf = (model: Model, force = false): string => Buffer.concat([...writePmml(model, { force })]).toString()

function agree(model: Model, exactProbabilities: boolean): void {
  const xml = textOf(model)
  assert.ok(isPmmlFile(Buffer.from(xml)))
  for (let r = 0; r < 20; r++) {
    const values = Array.from({ length: model.features }, (_, j) => ((r + j) % 3 === 0 ? 0 : Math.sin(r * 5.1 + j)))
    const row = new Map<string, number>()
    for (const [j, x] of values.entries()) if (x !== 0) row.set(`feature_${j + model.indexBase}`, x)
    const { label, probabilities } = scored(xml, row)
    const scores = scoreRow(model, [...values.keys()], values)
    // Where two are all but equal, the order of a sum may decide.
    const two = model.labels.length === 2 ? [scores[0], 0] : [...scores].sort((a, b) => b - a)
    const sizes = 1 + Math.max(...model.weights.values.map(Math.abs), ...model.biasWeights.map(Math.abs), 0)
    if (two.length > 1 && Math.abs(two[0] - two[1]) <= 1e-12 * sizes) continue
    assert.equal(label, predictLabel(model, scores).text)
    if (!exactProbabilities) continue
    const expected = new Float64Array(model.labels.length)
    classProbabilities(calibrationsOf(model)!, expected.length, scores, 0, expected)
    model.labels.forEach(({ text }, k) => {
      assert.ok(Math.abs(probabilities.get(text)! - expected[k]) < 1e-12)
    })
  }
}

const three = ['<ham>', 'a"&b', '1.50'].map((text, k) => ({ value: k === 2 ? 1.5 : null, text }))
const numbers = (count: number): Float64Array => Float64Array.from({ length: count }, (_, k) => Math.sin(k * 1.7 + 1))

const cases: { name: string; parts: Partial<ModelParts>; exact?: boolean }[] = [
  { name: 'two classes', parts: {} },
  { name: 'a bias, counted from 0', parts: { bias: 2, biasWeights: Float64Array.of(-0.3), indexBase: 0 } },
  {
    name: 'scale factors',
    parts: { transforms: { scale: { kind: 'standard', factors: Float64Array.of(0.1, 3, 1, 7) } } },
  },
  { name: 'three classes of text', parts: { labels: three, weights: numbers(12) } },
  { name: 'Crammer and Singer, two classes', parts: { multiclass: 'crammer-singer', weights: numbers(8) } },
  { name: 'one class', parts: { labels: plusMinus.slice(0, 1) } },
  { name: 'logistic regression', parts: { loss: 'logistic' }, exact: true },
  {
    name: 'softmax',
    parts: { loss: 'logistic', multiclass: 'softmax', labels: three, weights: numbers(12) },
    exact: true,
  },
  { name: 'logistic regression, three classes', parts: { loss: 'logistic', labels: three, weights: numbers(12) } },
  { name: 'a calibration', parts: { calibrations: [{ kind: 'sigmoid', slope: 2, offset: 1 }] } },
]

describe('a model as PMML', () => {
  for (const { name, parts, exact = false } of cases) {
    it(`has the labels of Spillway: ${name}`, () => {
      const model = smallModel(parts)
      agree(model, exact)
      const warned = pmmlWarnings(model).some(text => text.includes('probabilities'))
      assert.equal(warned, !exact)
    })
  }

  it('has the labels of Spillway, whatever the model is', () => {
    const sayable = anyModel({ wholeLabels: true }).filter(model =>
      [...model.weights.values, ...model.biasWeights].every(w => Math.abs(w) < 1e290),
    )
    fc.assert(
      fc.property(sayable, model => agree(model, false)),
      { seed, numRuns: 100 },
    )
  })

  it('is refused for what it cannot say, and for unit length unless that is forced', () => {
    const expanded = smallModel({
      features: 14,
      weights: numbers(14),
      transforms: { expand: { steps: 'polynomial:2' } },
    })
    assert.throws(() => textOf(expanded, true), /by polynomial:2, and a RegressionModel of PMML cannot say so/)
    const unit = smallModel({
      transforms: { normalize: 'unit', scale: { kind: 'minmax', factors: Float64Array.of(2, 2, 2, 2) } },
    })
    assert.throws(() => textOf(unit), { message: /rows of unit length/, advice: /^convert to onnx, or add --force/ })
    // The reader scales: the weights are those of scaled rows.
    assert.match(textOf(unit, true), /<NumericPredictor name="feature_1" coefficient="0.5"\/>/)
    assert.match(pmmlWarnings(unit)[0], /^rows must be scaled and brought to unit length/)
    const odd = smallModel({
      labels: [
        { value: 1, text: 'a\u0007' },
        { value: -1, text: '-1' },
      ],
    })
    assert.throws(() => textOf(odd), /XML cannot hold the label "a\\u0007"/)
  })
})
