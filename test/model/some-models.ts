// Models for tests: one by hand, any number by chance.
import fc from 'fast-check'
import type { Calibration } from '../../src/model/calibration.ts'
import { type Certificate, type Model, type ModelParts, makeModel, vectorCount } from '../../src/model/model.ts'
import type { Shortfall } from '../../src/model/shortfall.ts'

export const plusMinus = [
  { value: 1, text: '+1' },
  { value: -1, text: '-1' },
]

export function smallModel(parts: Partial<ModelParts> = {}): Model {
  return makeModel({
    labels: plusMinus,
    features: 4,
    weights: Float64Array.of(0.5, -0.25, 0, 2),
    loss: 'hinge',
    cost: 1,
    solver: 'dual',
    seed: 1,
    createdBy: 'spillway 0.1.0',
    ...parts,
  })
}

/** What fixtures/version-1.model holds. */
export function goldenModel(): Model {
  return smallModel({
    labels: [
      { value: 3, text: '3' },
      { value: 1.5, text: '1.50' },
      { value: -2, text: 'zwei' },
    ],
    features: 100,
    weights: {
      layout: 'sparse',
      indices: Uint32Array.of(2, 40, 99),
      values: Float64Array.of(0.1, -0.2, 0, 1e-300, 5, 7, -1, 2, 0.3),
    },
    bias: 1,
    biasWeights: Float64Array.of(0.5, -0.5, 0.25),
    indexBase: 0,
    loss: 'squared-hinge',
    cost: 0.125,
    classWeights: [{ label: '3', weight: 2 }],
    transforms: {
      scale: { kind: 'standard', factors: new Float64Array(100).fill(1).fill(0.5, 40, 41) },
      normalize: 'unit',
    },
    certificate: { primal: 10, dual: 9.999, gap: 0.0001, passes: 12, supportVectors: 40, exitReason: 'converged' },
    classCertificates: [1, 2, 3].map(k => ({
      primal: k,
      dual: null,
      gap: null,
      passes: k,
      supportVectors: null,
      exitReason: 'max-passes',
    })),
    data: { fingerprint: '44bc2cf5ad770999', rows: 200, nonzeros: 1000, sources: ['heart.svm'] },
  })
}

// JSON has no −0.
const plain = fc.double({ noNaN: true, noDefaultInfinity: true }).map(x => x + 0)
const finite = fc.double({ noNaN: true, noDefaultInfinity: true })
const mostlyZero = fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, { weight: 2, arbitrary: finite })
const count = fc.nat({ max: 1e9 })

// Objects out of a file have the usual prototype.
const usual = { noNullPrototype: true as const }

const certificate: fc.Arbitrary<Certificate> = fc.record(
  {
    primal: fc.option(plain),
    dual: fc.option(plain),
    gap: fc.option(plain),
    passes: count,
    supportVectors: fc.option(count),
    exitReason: fc.constantFrom('converged', 'max-passes', 'interrupted'),
  },
  usual,
)

const pair = fc.option(fc.tuple(plain, plain))
const shortfall: fc.Arbitrary<Shortfall> = fc.record(
  {
    tolerance: fc.option(plain),
    atZero: fc.option(plain),
    factors: fc.array(plain, { maxLength: 4 }),
    values: pair,
    lengths: pair,
    resumable: fc.boolean(),
  },
  usual,
)

const anyExpansion = fc.oneof(
  fc.constantFrom('weighted-degree:3', 'polynomial:2', 'hash:7').map(steps => ({ steps })),
  fc
    .uniqueArray(fc.nat(0xfffffffd), { maxLength: 9 })
    .map(names => ({ steps: 'polynomial:2+hash:9', names: Uint32Array.from(names).sort() })),
)

/** Any calibration; the scores rise in steps of 1 at least. */
const anyCalibration: fc.Arbitrary<Calibration> = fc.oneof(
  fc.record({ kind: fc.constant('sigmoid' as const), slope: plain, offset: plain }, usual),
  fc
    .array(fc.record({ step: fc.integer({ min: 1, max: 1000 }), p: fc.double({ min: 0, max: 1, noNaN: true }) }), {
      minLength: 1,
      maxLength: 9,
    })
    .map(steps => ({
      kind: 'isotonic' as const,
      scores: steps.map((_, k) => steps.slice(0, k + 1).reduce((sum, { step }) => sum + step, -700.1)),
      probabilities: steps.map(({ p }) => p).sort((p, q) => p - q),
    })),
)

/** Any model; `wholeLabels` keeps to what LIBLINEAR can say. */
export function anyModel({ wholeLabels = false } = {}): fc.Arbitrary<Model> {
  const value = wholeLabels ? fc.integer() : plain
  const shape = fc.record({
    classes: fc.integer({ min: 1, max: 4 }),
    features: fc.integer({ min: 0, max: 12 }),
    multiclass: fc.constantFrom('one-vs-rest' as const, 'crammer-singer' as const),
    biased: fc.boolean(),
    scaled: fc.boolean(),
  })
  return shape.chain(({ classes, features, multiclass, biased, scaled }) => {
    const vectors = vectorCount(classes, multiclass)
    const array = (length: number, of = mostlyZero): fc.Arbitrary<Float64Array> =>
      fc.array(of, { minLength: length, maxLength: length }).map(values => Float64Array.from(values))
    return fc
      .record({
        values: fc.uniqueArray(value, { minLength: classes, maxLength: classes }),
        text: fc.string({ unit: 'grapheme' }),
        weights: array(features * vectors),
        biasWeights: array(biased ? vectors : 0),
        bias: biased ? fc.double({ min: 0.5, max: 100, noNaN: true }) : fc.constant(0),
        factors: array(features, fc.oneof(fc.constant(1), fc.double({ min: 0.25, max: 4, noNaN: true }))),
        kind: fc.constantFrom('minmax' as const, 'standard' as const),
        unit: fc.boolean(),
        indexBase: fc.constantFrom(0 as const, 1 as const),
        inputFormat: fc.constantFrom(undefined, 'label-string'),
        expand: fc.option(anyExpansion, { nil: undefined }),
        loss: fc.constantFrom('hinge', 'squared-hinge', 'logistic', 'ramp'),
        cost: fc.option(plain),
        seed: fc.option(count),
        regularizer: fc.constantFrom('l1' as const, 'l2' as const),
        classWeights: fc.array(fc.record({ label: fc.string(), weight: plain }, usual), { maxLength: 3 }),
        calibrations: fc.option(fc.array(anyCalibration, { minLength: vectors, maxLength: vectors }), {
          nil: undefined,
        }),
        certificate: fc.option(certificate),
        shortfall: fc.option(shortfall, { nil: undefined }),
        classCertificates: fc.array(certificate, { maxLength: 3 }),
        data: fc.option(
          fc.record({ fingerprint: fc.string(), rows: count, nonzeros: count, sources: fc.array(fc.string()) }, usual),
        ),
      })
      .map(({ values, text, factors, kind, unit, expand, inputFormat, calibrations, shortfall, ...rest }) =>
        makeModel({
          ...rest,
          labels: values.map(value => ({ value, text: wholeLabels ? String(value) : text + value })),
          multiclass,
          features,
          solver: 'dual',
          ...(inputFormat !== undefined && { inputFormat }),
          ...(shortfall && { shortfall }),
          ...(calibrations && !wholeLabels && { calibrations }),
          transforms: {
            ...(expand && !scaled && !wholeLabels && { expand }),
            ...(scaled && { scale: { kind, factors } }),
            ...(unit && !wholeLabels && { normalize: 'unit' as const }),
          },
        }),
      )
  })
}
