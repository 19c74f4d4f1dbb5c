// A model as PMML 4.4: a RegressionModel for classification with one table of coefficients a class. The class of the highest
// value wins; of two classes the second one's value is always 0, so that a score above 0 means the first.
//
// PMML turns the values of a RegressionModel into probabilities in one of a few ways, and takes the class by them. Its `softmax`
// keeps the order of the scores and is exact for logistic regression of two classes and for softmax. For every other model only
// the labels are Spillway's.
import { SpillwayError } from '../errors.ts'
import type { ModelWriteOptions } from './all-model-formats.ts'
import { calibrationsOf } from './calibration.ts'
import type { Model } from './model.ts'
import { escaped, fieldsOf, isXmlText, type PmmlFields } from './pmml-fields.ts'
import { featureAt, listedFeatures, positionOf } from './weights.ts'

const CHUNK_TEXT = 1 << 16
const ENCODING = '<?xml version="1.0" encoding="UTF-8"?>'

export function isPmmlFile(bytes: Uint8Array): boolean {
  return /^\s*<\?xml[^>]*>\s*<PMML\s/.test(String.fromCharCode(...bytes.subarray(0, 200)))
}

/** The file's bytes, piece by piece. */
export function* writePmml(model: Model, options: ModelWriteOptions = {}): Generator<Uint8Array> {
  checkPmmlWritable(model, options)
  const encoder = new TextEncoder()
  let text = ''
  for (const piece of pmmlText(model)) {
    text += piece
    if (text.length < CHUNK_TEXT) continue
    yield encoder.encode(text)
    text = ''
  }
  yield encoder.encode(text)
}

/** Refuses what a RegressionModel cannot say. */
function checkPmmlWritable(model: Model, { force = false }: ModelWriteOptions): void {
  const { expand, normalize } = model.transforms
  if (expand) {
    throw new SpillwayError(
      `the model makes its features of each row by ${expand.steps}, and a RegressionModel of PMML cannot say so`,
      'keep the Spillway model; an additive kernel can be converted to onnx',
    )
  }
  if (normalize && !force) {
    throw new SpillwayError(
      'the model was trained on rows of unit length, and a RegressionModel of PMML does not normalise rows: its predictions would differ',
      'convert to onnx, or add --force if you bring each row to unit length yourself',
    )
  }
  const unsayable = model.labels.find(({ text }) => !isXmlText(text))
  if (unsayable) {
    throw new SpillwayError(
      `XML cannot hold the label ${JSON.stringify(unsayable.text)}: it has a control character in it`,
    )
  }
}

export function pmmlWarnings(model: Model): string[] {
  const warnings: string[] = []
  const { normalize, scale } = model.transforms
  if (normalize) {
    warnings.push(
      scale
        ? 'rows must be scaled and brought to unit length before they are scored'
        : 'rows must be brought to unit length before they are scored',
    )
  }
  if (!hasExactProbabilities(model)) {
    warnings.push("the labels are the model's; what PMML calls their probabilities is not")
  }
  const hashed = model.schema?.columns.filter(column => 'bits' in column) ?? []
  if (hashed.length > 0) {
    const names = hashed.map(({ name }) => JSON.stringify(name)).join(', ')
    warnings.push(
      `PMML knows no hashes: the features of ${names} have fields of their own, which the reader has to fill`,
    )
  }
  return warnings
}

/** Whether the softmax of the values is what the model gives as probabilities. */
function hasExactProbabilities(model: Model): boolean {
  const calibrations = calibrationsOf(model)
  if (typeof calibrations === 'string') return model.labels.length > 2
  return calibrations !== undefined && !model.calibrations && model.labels.length === 2
}

function* pmmlText(model: Model): Generator<string> {
  const { labels } = model
  const fields = fieldsOf(model)
  const target = escaped(fields.target)
  yield `${ENCODING}\n<PMML xmlns="http://www.dmg.org/PMML-4_4" version="4.4">\n`
  yield `  <Header><Application name="spillway" version="${escaped(model.createdBy)}"/></Header>\n`
  yield `  <DataDictionary numberOfFields="${fields.count + 1}">\n`
  yield `    <DataField name="${target}" optype="categorical" dataType="string">\n`
  for (const { text } of labels) yield `      <Value value="${escaped(text)}"/>\n`
  yield '    </DataField>\n'
  yield* fields.declared()
  yield '  </DataDictionary>\n'
  yield '  <RegressionModel functionName="classification" normalizationMethod="softmax">\n'
  yield `    <MiningSchema>\n      <MiningField name="${target}" usageType="target"/>\n`
  yield* fields.mined()
  yield '    </MiningSchema>\n'
  let made = false
  for (const field of fields.derived()) {
    if (!made) yield '    <LocalTransformations>\n'
    made = true
    yield field
  }
  if (made) yield '    </LocalTransformations>\n'
  // A score of 0 means the second label. Its table comes first, for readers take the first of equal values.
  if (labels.length === 2) yield `    <RegressionTable intercept="0" targetCategory="${escaped(labels[1].text)}"/>\n`
  for (let k = 0; k < (labels.length === 2 ? 1 : labels.length); k++) yield* table(model, fields, k)
  yield '  </RegressionModel>\n</PMML>\n'
}

/** The coefficients of one vector. Those of whole fields come first, as PMML wants it. */
function* table(model: Model, fields: PmmlFields, k: number): Generator<string> {
  const { labels, bias, biasWeights } = model
  const intercept = (biasWeights[k] ?? 0) * bias
  yield `    <RegressionTable intercept="${intercept}" targetCategory="${escaped(labels[k].text)}">\n`
  for (const ofValues of [false, true]) {
    for (const [feature, coefficient] of coefficients(model, k)) {
      const { field, value } = fields.predictorOf(feature)
      if ((value !== undefined) !== ofValues) continue
      const name = escaped(field)
      yield value === undefined
        ? `      <NumericPredictor name="${name}" coefficient="${coefficient}"/>\n`
        : `      <CategoricalPredictor name="${name}" value="${escaped(value)}" coefficient="${coefficient}"/>\n`
    }
  }
  yield '    </RegressionTable>\n'
}

/** Features and what they are multiplied by; scale factors are folded in, unless unit length has to come between. */
function* coefficients({ weights, vectors, transforms }: Model, k: number): Generator<[number, number]> {
  const factors = transforms.normalize ? undefined : transforms.scale?.factors
  const listed = listedFeatures(weights, vectors)
  for (let place = 0; place < listed; place++) {
    const feature = featureAt(weights, place)
    const at = factors ? positionOf(factors, 1, feature) : -1
    const coefficient = weights.values[place * vectors + k] * (at < 0 ? 1 : factors!.values[at])
    if (!Number.isFinite(coefficient)) {
      throw new SpillwayError('a weight times its scale factor is beyond the largest number')
    }
    if (coefficient !== 0) yield [feature, coefficient]
  }
}
