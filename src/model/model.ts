// The model: what was learned, from what, how well, and how a row is scored with it. Nothing here needs Node, so a model
// also loads and scores in a browser.
//
//   score_k(x) = Σ_j w[j*K + k] · t(x)_j  +  B · b[k]        t = expansion, or scale factors, then unit length when asked for
//
// Two classes share one vector: a score above 0 means labels[0]. More classes have a vector each, and the highest score
// wins, the first of equals. These are LIBLINEAR's rules, and a row is summed in LIBLINEAR's order, so that the labels agree.

import { widthOf } from '../additive-kernels/row-space.ts'
import { SpillwayError } from '../errors.ts'
import { rangeEnds, spaceOf } from '../features/additive-kernel.ts'
import { parseExpansion } from '../features/expansion-steps.ts'
import type { ScaleKind } from '../features/scale-kinds.ts'
import { type Label, type LabelKey, textLabelComplaint } from '../input-formats/labels.ts'
import { type MulticlassKind, type Regularizer, trainsTogether } from '../losses/formulations.ts'
import { MOST_FEATURES } from '../numeric/layouts.ts'
import type { Schema } from '../tables/schema.ts'
import { type Calibration, calibrationsComplaint } from './calibration.ts'
import type { Shortfall } from './shortfall.ts'
import { positionOf, smallerLayout, toDense, vectorsComplaint, type WeightVectors } from './weights.ts'

/** The newest version of the model's own file that this code reads and writes. */
export const MODEL_VERSION = 1

/** A number with the text that the user wrote, e.g. "+1", or text alone: then the value is null. */
export type ModelLabel = Label

export interface Certificate {
  primal: number | null
  dual: number | null
  /** (primal − dual) / primal. */
  gap: number | null
  passes: number
  supportVectors: number | null
  /** Of a truncated loss, whose primal this is, and which has no dual: its outliers, and the convex problems that were solved
   *  one after the other. The gap is that of the last of them. */
  outliers?: number
  relaxations?: number
  /** converged, max-passes, interrupted. */
  exitReason: string
}

export interface DataSummary {
  /** Names the exact rows the model was trained on. */
  fingerprint: string
  rows: number
  nonzeros: number
  sources: string[]
  /** Of a solver that asks an index for rows: how many of them it looked at before the certificate. */
  rowsTouched?: number
}

export interface FeatureScale {
  kind: ScaleKind
  /** What each feature is multiplied by; a feature that a sparse list leaves out is multiplied by 1. */
  factors: WeightVectors
}

export interface FeatureExpansion {
  /** As --expand says it, e.g. `weighted-degree:8+hash:22`. */
  steps: string
  /** On request: the features that occurred before they were hashed, counted from 0, increasing. */
  names?: Uint32Array
}

/** Names of features that were hashed as the data was read, on request: of some of them, counted from 0, increasing. Names that
 *  fell on one feature have a bar between them. */
export interface HashedNames {
  features: number[]
  names: string[]
}

export interface ModelTransforms {
  /** Other features are made of a row's features, before anything else. */
  expand?: FeatureExpansion
  scale?: FeatureScale
  /** Of an additive kernel, whose expansion comes after it: for each feature of the data a factor, and a mark of where the scaled
   *  values of training ended (see rangeEnds). Values are cut off there; without ranges, at 0 and 1. */
  ranges?: WeightVectors
  /** After scaling, each row is divided by its length; the bias is added afterwards. */
  normalize?: 'unit'
}

export interface Model {
  version: number
  labels: ModelLabel[]
  multiclass: MulticlassKind
  /** Features that weights belong to, after an expansion; the bias not counted. */
  features: number
  /** Weight vectors, K: see vectorCount. */
  vectors: number
  weights: WeightVectors
  /** The value B of the added feature; 0 means that there is none. */
  bias: number
  /** One weight for each vector, or empty without a bias. (LIBLINEAR's -B 0 makes a weight that never counts.) */
  biasWeights: Float64Array
  /** The format of the text that it was trained on; LIBSVM text when not given. */
  inputFormat?: string
  /** How exactly values were read for training, and are read for scoring; f32 when not given. */
  values?: 'f32' | 'f64'
  /** What the columns of a table became. */
  schema?: Schema
  hashedNames?: HashedNames
  /** The number of the first feature in the user's data; the model itself counts from 0. */
  indexBase: 0 | 1
  loss: string
  /** Of a truncated loss: s. */
  outlierMargin?: number
  cost: number | null
  solver: string
  seed: number | null
  regularizer: Regularizer
  /** What --class-weight said. */
  classWeights: { label: string; weight: number }[]
  transforms: ModelTransforms
  /** One for each weight vector, when scores can be turned into probabilities. A logistic model needs none. */
  calibrations?: Calibration[]
  certificate: Certificate | null
  /** One for each weight vector when there are several, else empty. */
  classCertificates: Certificate[]
  data: DataSummary | null
  /** Of a run that ended short of its tolerance. */
  shortfall?: Shortfall
  /** The program and version that trained it. */
  createdBy: string
}

export type ModelParts = Pick<Model, 'labels' | 'features' | 'loss' | 'solver'> &
  Partial<Omit<Model, 'weights' | 'transforms' | 'vectors' | 'version'>> & {
    /** Dense (interleaved by feature) or sparse; kept whichever way is smaller. An array that fits is kept, not copied. */
    weights: Float64Array | WeightVectors
    /** The weights are the model's to change: it then makes no copy of them. */
    ownsWeights?: boolean
    transforms?: {
      expand?: FeatureExpansion
      normalize?: 'unit'
      scale?: { kind: FeatureScale['kind']; factors: Float64Array | WeightVectors }
      ranges?: Float64Array | WeightVectors
    }
  }

/** Two classes need one vector, except where all classes are one problem, which has one for every class. */
export function vectorCount(classes: number, multiclass: Model['multiclass']): number {
  return classes === 2 && !trainsTogether(multiclass) ? 1 : classes
}

/** Puts a model together, fills in what was not said, and keeps the weights sparse when that is smaller. */
export function makeModel(parts: ModelParts): Model {
  const multiclass = parts.multiclass ?? 'one-vs-rest'
  const vectors = vectorCount(parts.labels.length, multiclass)
  const { scale, expand, ranges } = parts.transforms ?? {}
  const model: Model = {
    version: MODEL_VERSION,
    labels: parts.labels,
    multiclass,
    features: parts.features,
    vectors,
    weights: asVectors(parts.weights),
    bias: parts.bias ?? 0,
    biasWeights: parts.biasWeights ?? new Float64Array(0),
    ...(parts.inputFormat !== undefined && { inputFormat: parts.inputFormat }),
    ...(parts.values !== undefined && { values: parts.values }),
    ...(parts.schema && { schema: parts.schema }),
    ...(parts.hashedNames && { hashedNames: parts.hashedNames }),
    indexBase: parts.indexBase ?? 1,
    loss: parts.loss,
    ...(parts.outlierMargin !== undefined && { outlierMargin: parts.outlierMargin }),
    cost: parts.cost ?? null,
    solver: parts.solver,
    seed: parts.seed ?? null,
    regularizer: parts.regularizer ?? 'l2',
    classWeights: parts.classWeights ?? [],
    transforms: {
      ...(expand && { expand }),
      ...(scale && { scale: { kind: scale.kind, factors: asVectors(scale.factors) } }),
      ...(ranges && { ranges: asVectors(ranges) }),
      ...(parts.transforms?.normalize && { normalize: parts.transforms.normalize }),
    },
    ...(parts.calibrations && { calibrations: parts.calibrations }),
    certificate: parts.certificate ?? null,
    classCertificates: parts.classCertificates ?? [],
    data: parts.data ?? null,
    ...(parts.shortfall && { shortfall: parts.shortfall }),
    createdBy: parts.createdBy ?? 'spillway',
  }
  const complaint = modelComplaint(model)
  if (complaint) throw new SpillwayError(`this cannot be a model: ${complaint}`)
  model.weights = smallerLayout(model.features, vectors, model.weights, 0, parts.ownsWeights === true)
  const made = model.transforms.scale
  if (made) made.factors = smallerLayout(model.features, 1, made.factors, 1)
  return model
}

function asVectors(given: Float64Array | WeightVectors): WeightVectors {
  return given instanceof Float64Array ? { layout: 'dense', values: given } : given
}

/** What is wrong with a model, in words, or undefined. Readers of files ask this too. */
export function modelComplaint(model: Model): string | undefined {
  const { labels, features, vectors, bias, biasWeights } = model
  if (labels.length === 0) return 'it has no labels'
  const seen = new Set<LabelKey>()
  for (const { value, text } of labels) {
    const complaint = value === null ? textLabelComplaint(text) : undefined
    if (complaint) return `${JSON.stringify(text)} cannot be a label of text: ${complaint}`
    if (value !== null && !Number.isFinite(value)) {
      return `label "${text}" has the value ${value}; expected a finite number`
    }
    const key = value ?? text
    if (seen.has(key)) return `label "${text}"${value === null ? '' : ` (${value})`} is listed twice`
    seen.add(key)
  }
  if (!Number.isInteger(features) || features < 0 || features > MOST_FEATURES) {
    return `it has ${features} features; expected a whole number of at most ${MOST_FEATURES}`
  }
  if (vectors !== vectorCount(labels.length, model.multiclass)) {
    return `it has ${vectors} weight vectors for ${labels.length} labels (${model.multiclass})`
  }
  if (!Number.isFinite(bias)) return `its bias is ${bias}; expected a finite number`
  const expected = bias === 0 && biasWeights.length === 0 ? 0 : vectors
  if (biasWeights.length !== expected) {
    return `it has ${biasWeights.length} bias weights; expected ${expected}`
  }
  if (!biasWeights.every(Number.isFinite)) return 'a bias weight is not a finite number'
  for (const { label, weight } of model.classWeights) {
    if (!Number.isFinite(weight)) return `the class weight of "${label}" is ${weight}; expected a finite number`
  }
  const hashed = model.hashedNames && hashedNamesComplaint(model.hashedNames)
  if (hashed) return hashed
  const { scale, expand, ranges } = model.transforms
  if (ranges && !spaceOf(expand?.steps)) return 'it has ranges, and no additive kernel that they are for'
  if (scale && expand) return 'it both scales and expands its features'
  const names = expand?.names
  if (names && !names.every((name, k) => k === 0 || name > names[k - 1])) {
    return 'the names of its hashed features are not in increasing order'
  }
  return (
    (model.calibrations && calibrationsComplaint(model.calibrations, vectors)) ??
    vectorsComplaint('its weights', model.weights, features, vectors) ??
    (scale && vectorsComplaint('its scale factors', scale.factors, features, 1)) ??
    (ranges && vectorsComplaint('its ranges', ranges, inputFeatures(model), 2))
  )
}

/** Features of the data that the model was trained on, as far as it tells: of an additive kernel, before it made more of them. */
export function inputFeatures({
  features,
  transforms,
}: {
  features: number
  transforms: { expand?: { steps: string } }
}): number {
  const space = spaceOf(transforms.expand?.steps)
  return space ? features / widthOf(space) : features
}

/** Values as an additive kernel takes them: by the ranges that were learnt, and cut off where those end. */
export function fitRow(model: Model, indices: ArrayLike<number>, values: ArrayLike<number>): ArrayLike<number> {
  const { expand, ranges } = model.transforms
  if (!spaceOf(expand?.steps)) return values
  return Array.from(values, (value, i) => {
    const at = ranges ? positionOf(ranges, 2, indices[i]) : -1
    const [factor, mark] = at < 0 ? [1, 0] : [ranges!.values[at], ranges!.values[at + 1]]
    const { lowest, highest } = rangeEnds(mark)
    return Math.min(Math.max(value * factor, lowest), highest)
  })
}

/** A row as the model's expansion makes it; the given one when there is none. */
export function expandRow(
  model: Model,
  indices: ArrayLike<number>,
  values: ArrayLike<number>,
): { indices: ArrayLike<number>; values: ArrayLike<number> } {
  const { expand } = model.transforms
  if (!expand) return { indices, values }
  const row = { indices: Array.from(indices, BigInt), values: Array.from(values) }
  const expanded = parseExpansion(expand.steps).expandRow(row)
  return { indices: expanded.indices.map(Number), values: expanded.values }
}

/** An expanded row's values after the model's other transforms; the given array itself when there are none. */
export function transformRow(
  model: Model,
  indices: ArrayLike<number>,
  values: ArrayLike<number>,
): Float64Array | ArrayLike<number> {
  const { scale, normalize } = model.transforms
  if (!scale && !normalize) return values
  const result = Float64Array.from(values)
  if (scale) {
    for (let i = 0; i < result.length; i++) {
      const at = positionOf(scale.factors, 1, indices[i])
      if (at >= 0) result[i] *= scale.factors.values[at]
    }
  }
  if (normalize) makeUnitLength(result)
  return result
}

function makeUnitLength(row: Float64Array): void {
  const squaresOf = (): number => row.reduce((sum, value) => sum + value * value, 0)
  let squares = squaresOf()
  if (!(squares >= 1e-280 && squares <= 1e280)) {
    // Squares pass the largest number, or fall below the smallest: not those of values near 1.
    const largest = row.reduce((most, value) => Math.max(most, Math.abs(value)), 0)
    if (largest === 0) return
    const exponent = Math.max(-1022, Math.min(1022, Math.floor(Math.log2(largest))))
    for (let i = 0; i < row.length; i++) row[i] *= 2 ** -exponent
    squares = squaresOf()
  }
  const length = Math.sqrt(squares)
  for (let i = 0; i < row.length; i++) row[i] /= length
}

/**
 * The scores of one row, one for each weight vector. Features count from 0 (a letter's position, for strings), and those beyond the model's are passed over,
 * as LIBLINEAR does. Written to be read, not to be fast: the reference that faster code is tested against.
 */
export function scoreRow(
  model: Model,
  givenIndices: ArrayLike<number>,
  givenValues: ArrayLike<number>,
  scores: Float64Array = new Float64Array(model.vectors),
): Float64Array {
  const { weights, vectors, bias, biasWeights } = model
  const { indices, values } = expandRow(model, givenIndices, fitRow(model, givenIndices, givenValues))
  const x = transformRow(model, indices, values)
  scores.fill(0)
  for (let i = 0; i < indices.length; i++) {
    const at = positionOf(weights, vectors, indices[i])
    if (at < 0) continue
    for (let k = 0; k < vectors; k++) scores[k] += weights.values[at + k] * x[i]
  }
  if (bias !== 0) for (let k = 0; k < vectors; k++) scores[k] += biasWeights[k] * bias
  return scores
}

/** Which label the scores speak for, as a place in model.labels. */
export function predictClass(model: Model, scores: ArrayLike<number>): number {
  if (model.labels.length === 2) return scores[0] > 0 ? 0 : 1
  let best = 0
  for (let k = 1; k < model.labels.length; k++) if (scores[k] > scores[best]) best = k
  return best
}

export function predictLabel(model: Model, scores: ArrayLike<number>): ModelLabel {
  return model.labels[predictClass(model, scores)]
}

// 4 GiB of numbers: more than the solvers' window could take in.
const MOST_DENSE_NUMBERS = 2 ** 29

/** All weights as one flat array, w[j*K + k]; the model's own array when it is dense already. */
export function denseWeights(model: Model): Float64Array {
  refuseHugeDense(model.features * model.vectors)
  return toDense(model.weights, model.features, model.vectors)
}

/** All scale factors as one flat array, or undefined when the model does not scale. */
export function denseScaleFactors(model: Model): Float64Array | undefined {
  const scale = model.transforms.scale
  if (!scale) return undefined
  refuseHugeDense(model.features)
  return toDense(scale.factors, model.features, 1, 1)
}

function refuseHugeDense(numbers: number): void {
  if (numbers <= MOST_DENSE_NUMBERS) return
  throw new SpillwayError(
    `the model's ${numbers} numbers do not fit in one array of at most ${MOST_DENSE_NUMBERS}`,
    'use the sparse weights as they are',
  )
}

function hashedNamesComplaint({ features, names }: HashedNames): string | undefined {
  if (features.length !== names.length) return `it has ${names.length} names for ${features.length} hashed features`
  const rises = features.every(
    (feature, k) => Number.isInteger(feature) && (k === 0 ? feature >= 0 : feature > features[k - 1]),
  )
  return rises ? undefined : 'the hashed features that have names are not in increasing order'
}
