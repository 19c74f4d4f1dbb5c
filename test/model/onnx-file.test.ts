// Models as ONNX, scored by ONNX's own runtime: the same labels, and scores and probabilities to the last digits.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { InferenceSession, Tensor } from 'onnxruntime-node'
import { calibrationsOf, classProbabilities } from '../../src/model/calibration.ts'
import { inputFeatures, type Model, type ModelParts, predictClass, scoreRow } from '../../src/model/model.ts'
import { isOnnxFile, onnxWarnings, writeOnnx } from '../../src/model/onnx-file.ts'
import { Message } from '../../src/model/protobuf.ts'
import { predictRows } from '../../src/predict/predict.ts'
import type { TrainOptions } from '../../src/train/options.ts'
import { train } from '../../src/train/train.ts'
import { seed } from '../numeric/reference.ts'
import { anyModel, plusMinus, smallModel } from './some-models.ts'

interface Answers {
  labels: (string | bigint)[]
  scores: number[][]
  probabilities: number[][] | undefined
}

const bytesOf = (model: Model): Buffer => Buffer.concat([...writeOnnx(model)])

async function runtime(model: Model, rows: number[][]): Promise<Answers> {
  const session = await InferenceSession.create(bytesOf(model), { logSeverityLevel: 3, intraOpNumThreads: 1 })
  const wide = model.values === 'f64'
  const data = wide ? Float64Array.from(rows.flat()) : Float32Array.from(rows.flat())
  const features = new Tensor(wide ? 'float64' : 'float32', data as Float32Array, [rows.length, inputFeatures(model)])
  const found = await session.run({ features })
  const table = (name: string): number[][] => {
    const { data, dims } = found[name]
    assert.equal(dims[0], rows.length)
    return rows.map((_, r) => [...(data as Float64Array).subarray(r * dims[1], (r + 1) * dims[1])])
  }
  return {
    labels: [...(found['label'].data as unknown as (string | bigint)[])],
    scores: table('scores'),
    probabilities: found['probabilities'] && table('probabilities'),
  }
}

function near(found: number[], expected: ArrayLike<number>, scale: number, what: string): void {
  assert.equal(found.length, expected.length, what)
  for (let k = 0; k < found.length; k++) {
    assert.ok(Math.abs(found[k] - expected[k]) <= 1e-12 * scale, `${what}: ${found[k]} and ${expected[k]}`)
  }
}

/** The runtime and Spillway say the same of rows. */
async function agree(model: Model, rows: number[][]): Promise<void> {
  const { labels, scores, probabilities } = await runtime(model, rows)
  const whole = model.labels.every(({ value }) => Number.isSafeInteger(value))
  const calibrations = calibrationsOf(model)
  assert.equal(probabilities !== undefined, calibrations !== undefined)
  rows.forEach((row, r) => {
    const read = model.values === 'f64' ? row : row.map(Math.fround)
    const expected = scoreRow(model, [...row.keys()], read)
    const magnitude = 1 + Math.max(...model.weights.values.map(Math.abs), 0) * Math.hypot(...row, 1) * 4
    near(scores[r], expected, magnitude, `scores of row ${r}`)
    const label = model.labels[predictClass(model, scores[r])]
    assert.equal(String(labels[r]), whole ? String(label.value! + 0) : label.text)
    if (!calibrations) return
    const shares = new Float64Array(model.labels.length)
    classProbabilities(calibrations, shares.length, scores[r], 0, shares)
    near(probabilities![r], shares, 10, `probabilities of row ${r}`)
  })
}

const someRows = (features: number, low = -2, high = 2): number[][] =>
  Array.from({ length: 40 }, (_, r) =>
    Array.from({ length: features }, (_, j) => {
      const share = Math.abs(Math.sin(r * 31.7 + j * 7.3))
      return r === 0 || (r * 7 + j) % 3 === 0 ? 0 : low + share * (high - low)
    }),
  )

const three = ['ham', 'spam', '1.50'].map((text, k) => ({ value: k === 2 ? 1.5 : null, text }))
const numbers = (count: number): Float64Array => Float64Array.from({ length: count }, (_, k) => Math.sin(k * 1.7 + 1))
const scale = { kind: 'standard' as const, factors: Float64Array.of(0.1, 3, 1, 0.7) }
const steps = { kind: 'isotonic' as const, scores: [-2, -0.5, 0, 1.25], probabilities: [0, 0.25, 0.25, 0.9] }
const kernel = { steps: 'additive-kernel:chi2:projection:2:chebyshev:100' }
const overKernel = { features: 12, weights: numbers(12), transforms: { expand: kernel } }

const cases: Record<string, Partial<ModelParts>> = {
  'two classes': {},
  'a bias': { bias: 2, biasWeights: Float64Array.of(-0.3) },
  'values of 64 bits': { values: 'f64', weights: numbers(4) },
  'scale factors': { transforms: { scale } },
  'rows of unit length': { transforms: { normalize: 'unit' }, bias: 1, biasWeights: Float64Array.of(0.1) },
  'scaled rows of unit length': { transforms: { scale, normalize: 'unit' } },
  'labels of text, three classes': { labels: three, weights: numbers(12) },
  'Crammer and Singer, two classes': { multiclass: 'crammer-singer', weights: numbers(8) },
  'one class': { labels: plusMinus.slice(0, 1) },
  'logistic regression': { loss: 'logistic' },
  'logistic regression, three classes': { loss: 'logistic', labels: three, weights: numbers(12) },
  softmax: { loss: 'logistic', multiclass: 'softmax', labels: three, weights: numbers(12) },
  'a sigmoid': { calibrations: [{ kind: 'sigmoid', slope: 2.5, offset: -0.4 }] },
  'isotonic steps': { calibrations: [steps] },
  'one isotonic step': { calibrations: [{ kind: 'isotonic', scores: [0.5], probabilities: [0.25] }] },
  'calibrations of three classes': {
    labels: three,
    weights: numbers(12),
    calibrations: [steps, { kind: 'sigmoid', slope: 1, offset: 0.1 }, { ...steps, probabilities: [0, 0, 0, 0] }],
  },
  'no probability at all': {
    labels: three,
    weights: numbers(12),
    calibrations: [steps, steps, steps].map(each => ({ ...each, probabilities: [0, 0, 0, 0] })),
  },
  'an additive kernel': overKernel,
  'an additive kernel with ranges, unit length': {
    ...overKernel,
    transforms: {
      expand: kernel,
      ranges: Float64Array.of(0.5, -1, 0.25, 0, 1, -0.3, 0.5, -1.4),
      normalize: 'unit',
    },
  },
  'sparse weights': {
    features: 1000,
    weights: { layout: 'sparse', indices: Uint32Array.of(3, 500, 999), values: Float64Array.of(1, -2, 0.5) },
  },
}

describe('a model as ONNX', () => {
  for (const [name, parts] of Object.entries(cases)) {
    it(`has the scores of Spillway: ${name}`, async () => {
      const model = smallModel(parts)
      await agree(model, someRows(inputFeatures(model)))
    })
  }

  it('has the scores of Spillway, whatever the model is', async () => {
    const small = anyModel().filter(
      model =>
        model.transforms.expand === undefined &&
        model.features > 0 &&
        [...model.weights.values, ...model.biasWeights].every(
          w => w === 0 || (Math.abs(w) < 1e9 && Math.abs(w) > 1e-9),
        ) &&
        (model.calibrations ?? []).every(
          each => each.kind === 'isotonic' || (Math.abs(each.slope) < 1e3 && Math.abs(each.offset) < 1e3),
        ),
    )
    await fc.assert(
      fc.asyncProperty(small, async model => {
        const { labels, scores } = await runtime(model, someRows(model.features))
        assert.equal(labels.length, 40)
        assert.equal(scores[0].length, model.vectors)
        await agree({ ...model, calibrations: undefined } as unknown as Model, someRows(model.features))
      }),
      { seed, numRuns: 15 },
    )
  })

  it('has the scores of predict for models that were trained: kernels, scaling, unit length, calibration', async () => {
    const rows = someRows(12, -1, 4)
    const given = rows.map((row, r) => ({
      label: ['ham', 'spam', 'eggs'][Math.floor(Math.abs(row[0] + row[1] * row[2]) + r) % 3],
      indices: [...row.keys()].map(j => j + 1),
      values: row,
    }))
    const trainings: TrainOptions[] = [
      { kernel: 'chi2', scale: 'minmax', calibrate: 'isotonic' },
      { kernel: 'intersection', scale: 'minmax', normalize: 'unit' },
      { scale: 'standard', normalize: 'unit', loss: 'logistic', bias: 1 },
      { multiclass: 'softmax', loss: 'logistic' },
    ]
    for (const options of trainings) {
      const model = await train(given, { threads: 1, ...options }).model
      const probability = calibrationsOf(model) !== undefined
      const { labels, scores, probabilities } = await runtime(model, rows)
      for await (const expected of predictRows(given, model, { threads: 1, probability })) {
        assert.deepEqual(labels, expected.labels)
        near(scores.flat(), expected.scores, 100, JSON.stringify(options))
        if (probability) near(probabilities!.flat(), expected.probabilities!, 100, 'probabilities')
      }
    }
  })

  it('is refused for what ONNX has no operators for, and for weights that no file of it holds', () => {
    const expanded = smallModel({
      features: 14,
      weights: numbers(14),
      transforms: { expand: { steps: 'polynomial:2' } },
    })
    assert.throws(() => bytesOf(expanded), {
      message: 'the model makes its features of each row by polynomial:2, and ONNX has no operator for it',
    })
    const huge = smallModel({
      features: 2 ** 29,
      weights: { layout: 'sparse', indices: Uint32Array.of(1), values: Float64Array.of(1) },
    })
    assert.throws(() => bytesOf(huge), /^SpillwayError: ONNX cannot hold 536,870,912 features × 1 weight vectors/)
    const far = { kind: 'isotonic' as const, scores: [-1e308, 1e308], probabilities: [0, 1] }
    assert.throws(() => bytesOf(smallModel({ calibrations: [far] })), /further apart than the largest number/)
    const large = smallModel({
      weights: Float64Array.of(1e308, 0, 0, 0),
      transforms: { scale: { kind: 'minmax', factors: Float64Array.of(100, 1, 1, 1) } },
    })
    assert.throws(() => bytesOf(large), /a weight times its scale factor 100 is beyond the largest number/)
  })

  it('says what its user should know', () => {
    assert.deepEqual(onnxWarnings(smallModel()), [])
    const many = smallModel({
      features: 200_000,
      weights: { layout: 'sparse', indices: Uint32Array.of(1), values: Float64Array.of(1) },
    })
    assert.deepEqual(onnxWarnings(many), ['rows are dense: 200,000 numbers each'])
    assert.equal(onnxWarnings(smallModel({ transforms: { normalize: 'unit' } })).length, 1)
    assert.ok(isOnnxFile(bytesOf(smallModel())))
  })
})

describe('messages of Protocol Buffers', () => {
  it('have the bytes of the examples in its documentation', () => {
    const bytes = (message: Message): number[] => [...Buffer.concat([...message.chunks()])]
    assert.deepEqual(bytes(new Message().number(1, 150)), [0x08, 0x96, 0x01])
    assert.deepEqual(bytes(new Message().text(2, 'testing')), [0x12, 0x07, 0x74, 0x65, 0x73, 0x74, 0x69, 0x6e, 0x67])
    const inner = new Message().number(1, 150)
    assert.deepEqual(bytes(new Message().message(3, inner)), [0x1a, 0x03, 0x08, 0x96, 0x01])
    const large = new Message().number(1, 2 ** 40)
    assert.deepEqual(bytes(large), [0x08, 0x80, 0x80, 0x80, 0x80, 0x80, 0x20])
    const later = new Message().later(9, 3, () => [Uint8Array.of(1), Uint8Array.of(2, 3)]).number(1, 1)
    assert.deepEqual(bytes(later), [0x4a, 0x03, 1, 2, 3, 0x08, 0x01])
    assert.equal(later.length, 7)
  })
})
