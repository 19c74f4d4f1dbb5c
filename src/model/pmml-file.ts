// A model as PMML 4.4: a RegressionModel for classification with one table of coefficients a class. The class of the highest
// value wins; of two classes the second one's value is always 0, so that a score above 0 means the first.
//
// PMML turns the values of a RegressionModel into probabilities in one of a few ways, and takes the class by them. Its `softmax`
// keeps the order of the scores and is exact for logistic regression of two classes and for softmax. For every other model only
// the labels are Spillway's.
import { SpillwayError } from '../errors.ts'
import type { ModelWriteOptions } from './all-model-formats.ts'
import { calibrationsOf } from './calibration.ts'
import { type Model, userFeature } from './model.ts'
import { featureAt, listedFeatures, positionOf } from './weights.ts'

const CHUNK_TEXT = 1 << 16
const TARGET = 'label'
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
  return warnings
}

/** Whether the softmax of the values is what the model gives as probabilities. */
function hasExactProbabilities(model: Model): boolean {
  const calibrations = calibrationsOf(model)
  if (typeof calibrations === 'string') return model.labels.length > 2
  return calibrations !== undefined && !model.calibrations && model.labels.length === 2
}

const fieldName = (model: Model, feature: number): string => `feature_${userFeature(model, feature)}`

function* pmmlText(model: Model): Generator<string> {
  const { labels, weights, vectors } = model
  const listed = listedFeatures(weights, vectors)
  yield `${ENCODING}\n<PMML xmlns="http://www.dmg.org/PMML-4_4" version="4.4">\n`
  yield `  <Header><Application name="spillway" version="${escaped(model.createdBy)}"/></Header>\n`
  yield `  <DataDictionary numberOfFields="${listed + 1}">\n`
  yield `    <DataField name="${TARGET}" optype="categorical" dataType="string">\n`
  for (const { text } of labels) yield `      <Value value="${escaped(text)}"/>\n`
  yield '    </DataField>\n'
  for (let place = 0; place < listed; place++) {
    yield `    <DataField name="${fieldName(model, featureAt(weights, place))}" optype="continuous" dataType="double"/>\n`
  }
  yield '  </DataDictionary>\n'
  yield '  <RegressionModel functionName="classification" normalizationMethod="softmax">\n'
  yield `    <MiningSchema>\n      <MiningField name="${TARGET}" usageType="target"/>\n`
  // A feature that a row does not name is 0, as in LIBSVM text.
  for (let place = 0; place < listed; place++) {
    yield `      <MiningField name="${fieldName(model, featureAt(weights, place))}" missingValueReplacement="0"/>\n`
  }
  yield '    </MiningSchema>\n'
  for (const [k, { text }] of labels.entries()) {
    if (labels.length === 2 && k === 1) {
      yield `    <RegressionTable intercept="0" targetCategory="${escaped(text)}"/>\n`
    } else yield* table(model, k, text)
  }
  yield '  </RegressionModel>\n</PMML>\n'
}

/** The coefficients of one vector; scale factors are folded in, unless unit length has to come between. */
function* table(model: Model, k: number, label: string): Generator<string> {
  const { weights, vectors, bias, biasWeights, transforms } = model
  const factors = transforms.normalize ? undefined : transforms.scale?.factors
  yield `    <RegressionTable intercept="${(biasWeights[k] ?? 0) * bias}" targetCategory="${escaped(label)}">\n`
  const listed = listedFeatures(weights, vectors)
  for (let place = 0; place < listed; place++) {
    const feature = featureAt(weights, place)
    const at = factors ? positionOf(factors, 1, feature) : -1
    const coefficient = weights.values[place * vectors + k] * (at < 0 ? 1 : factors!.values[at])
    if (!Number.isFinite(coefficient)) {
      throw new SpillwayError('a weight times its scale factor is beyond the largest number')
    }
    if (coefficient === 0) continue
    yield `      <NumericPredictor name="${fieldName(model, feature)}" coefficient="${coefficient}"/>\n`
  }
  yield '    </RegressionTable>\n'
}

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }

function escaped(text: string): string {
  return text.replace(/[&<>"]/g, character => ENTITIES[character])
}

/** Whether XML 1.0 has all of its characters. */
function isXmlText(text: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  return text.isWellFormed() && !/[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/.test(text)
}
