// A model as JSON, for people and for programs that know neither binary files nor LIBLINEAR. It has everything the
// model says. Features have the user's own numbers; expanded ones are named by what they are made of. Weights that are
// 0 are left out. Nothing reads it back: the own file is for that.
import { rangeEnds } from '../features/additive-kernel.ts'
import { featureName, userFeature } from './feature-names.ts'
import type { Model } from './model.ts'
import { featureAt, listedFeatures, type WeightVectors } from './weights.ts'

export const JSON_FORMAT = 'spillway-model'
const CHUNK_TEXT = 1 << 16

/** The file's bytes, piece by piece. */
export function* writeJson(model: Model): Generator<Uint8Array> {
  const encoder = new TextEncoder()
  let text = ''
  for (const piece of jsonText(model)) {
    text += piece
    if (text.length < CHUNK_TEXT) continue
    yield encoder.encode(text)
    text = ''
  }
  yield encoder.encode(text)
}

/** Everything but the numbers per feature. */
export function modelSummary(model: Model): Record<string, unknown> {
  const { version, weights: _, biasWeights: __, transforms, ...rest } = model
  const { expand, scale, ranges, normalize } = transforms
  return {
    version,
    ...rest,
    transforms: {
      ...(expand && { expand: expand.steps }),
      ...(scale && { scale: scale.kind }),
      ...(ranges && { ranges: 'minmax' }),
      ...(normalize && { normalize }),
    },
  }
}

/** What a score above 0 from each vector speaks for. */
export function vectorLabels(model: Model): string[] {
  return model.labels.slice(0, model.vectors).map(label => label.text)
}

/** What is written of ranges: the factor, and where scaled values are cut off. */
const RANGE_PARTS = [
  { name: 'rangeFactors', k: 0, of: (factor: number): number => factor },
  { name: 'rangeLowest', k: 1, of: (mark: number): number => rangeEnds(mark).lowest },
  { name: 'rangeHighest', k: 1, of: (mark: number): number => rangeEnds(mark).highest },
]

function* jsonText(model: Model): Generator<string> {
  const summary = JSON.stringify({ format: JSON_FORMAT, ...modelSummary(model) }, null, 2)
  // The summary's closing brace makes room for the long parts.
  yield summary.slice(0, summary.lastIndexOf('\n'))
  const scale = model.transforms.scale
  if (scale) {
    yield ',\n  "scaleFactors": {'
    yield* pairs(model, scale.factors, 1, 0, 1)
    yield '}'
  }
  const { ranges } = model.transforms
  for (const { name, k, of } of ranges ? RANGE_PARTS : []) {
    yield `,\n  "${name}": {`
    yield* pairs(model, ranges!, 2, k, Number.NaN, feature => String(userFeature(model, feature)), of)
    yield '}'
  }
  yield ',\n  "weights": ['
  for (const [k, label] of vectorLabels(model).entries()) {
    const bias = model.biasWeights.length > 0 ? `"biasWeight": ${model.biasWeights[k]}, ` : ''
    yield `${k > 0 ? ',' : ''}\n    {"label": ${JSON.stringify(label)}, ${bias}"weights": {`
    yield* pairs(model, model.weights, model.vectors, k, 0)
    yield '}}'
  }
  yield '\n  ]\n}\n'
}

function* pairs(
  model: Model,
  vectors: WeightVectors,
  width: number,
  k: number,
  leftOut: number,
  nameOf = (feature: number): string => featureName(model, feature),
  of = (value: number): number => value,
): Generator<string> {
  const listed = listedFeatures(vectors, width)
  let separator = ''
  for (let place = 0; place < listed; place++) {
    const value = vectors.values[place * width + k]
    if (value === leftOut) continue
    // Names of columns and their values may have quotes and line feeds in them.
    yield `${separator}${JSON.stringify(nameOf(featureAt(vectors, place)))}: ${of(value)}`
    separator = ', '
  }
}

export function isJsonModel(bytes: Uint8Array): boolean {
  const start = String.fromCharCode(...bytes.subarray(0, 200))
  return /^\s*\{\s*"format"\s*:\s*"spillway-model"/.test(start)
}
