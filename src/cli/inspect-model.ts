// What `spillway inspect MODEL` shows: what the model is, how well it was solved, what it was trained on, and the features
// that weigh most.

import { spaceOf } from '../features/additive-kernel.ts'
import { allLosses } from '../losses/all-losses.ts'
import { trainsTogether } from '../losses/formulations.ts'
import type { Calibration } from '../model/calibration.ts'
import { featureName, namesBeforeHash, userFeature } from '../model/feature-names.ts'
import { modelSummary, vectorLabels } from '../model/json-file.ts'
import type { Certificate, Model } from '../model/model.ts'
import { shortfallJson, shortfallLines } from '../model/shortfall.ts'
import { countNonzeros, featureAt } from '../model/weights.ts'
import { schemaLines } from '../tables/describe-schema.ts'
import { formatCount } from './format.ts'
import { kernelText } from './train-summary.ts'

export interface TopWeight {
  /** The user's own number; expanded features count from 0. */
  feature: number
  /** What an expanded feature is made of. */
  name?: string
  weight: number
  /** Where it is known: the standard deviation of what the weight is multiplied by, and what a step of it adds to the score. */
  deviation?: number
  step?: number
  /** Features that were hashed to this one, if their names are kept. */
  names?: string[]
  /** The label that a positive value of the feature speaks for (K > 2: the label whose vector holds the weight). */
  label: string
}

/** The largest weights of one vector. */
export interface TopOfVector {
  /** The label that the vector's positive weights speak for. */
  label: string
  /** The one that its negative weights speak for; null when that is every other one. */
  against: string | null
  nonzeroWeights: number
  features: TopWeight[]
}

/** Features listed when nobody says how many. */
const FEW = 10

export interface ModelDescription {
  lines: string[]
  json: Record<string, unknown>
}

/** What is known of standard deviations: of each feature that the weights list, from data that was read; or 1 of all, where the
 *  model scales them so. */
interface Spread {
  from: 'data' | 'scaling'
  of(place: number): number
}

function spreadOf({ transforms }: Model, deviations: Float64Array | undefined): Spread | undefined {
  if (deviations) return { from: 'data', of: place => deviations[place] }
  const scaled = transforms.scale?.kind === 'standard' && !transforms.normalize
  return scaled ? { from: 'scaling', of: () => 1 } : undefined
}

export interface DescribeOptions {
  /** A user who says how many weights to show sees that many of each vector; else the largest of all are enough. */
  top?: number | undefined
  /** Standard deviations of the features that the weights list. Then those whose steps are largest are shown. */
  deviations?: Float64Array | undefined
}

export function describeModel(model: Model, path: string, { top, deviations }: DescribeOptions = {}): ModelDescription {
  const nonzeros = countNonzeros(model.weights.values)
  const spread = spreadOf(model, deviations)
  const weights = topWeights(model, top ?? FEW, spread)
  const vectors = topOfVectors(model, top ?? FEW, spread)
  const tables =
    top === undefined || model.vectors === 1
      ? table(model, deviations ? 'Largest steps' : 'Largest weights', weights)
      : vectors.flatMap(({ label, nonzeroWeights, features }) =>
          table(
            model,
            `Largest ${deviations ? 'steps ' : ''}of the ${count(nonzeroWeights)} nonzero weights of label ${label}`,
            features,
            true,
          ),
        )
  const note = top !== undefined && weights.length > 0 && !model.transforms.expand ? ['', ...noteOn(model, spread)] : []
  const shortfall = shortfallJson(model)
  return {
    lines: [...facts(model, path, nonzeros), ...certificateLines(model), ...shortLines(model), ...tables, ...note],
    json: {
      command: 'inspect',
      kind: 'model',
      path,
      ...modelSummary(model),
      ...(shortfall && { shortfall }),
      layout: model.weights.layout,
      nonzeroWeights: nonzeros,
      biasWeights: [...model.biasWeights],
      deviations: spread?.from ?? null,
      topWeights: weights,
      top: vectors,
    },
  }
}

function facts(model: Model, path: string, nonzeros: number): string[] {
  const { data, transforms, classWeights } = model
  const total = model.features * model.vectors
  const share = total > 0 ? ` of ${count(total)} (${percent(nonzeros / total)})` : ''
  const expand = transforms.expand?.steps
  const space = spaceOf(expand)
  const prepared = [
    transforms.ranges && 'values by the ranges of their features',
    space ? kernelText(space) : expand && `features made by ${expand}`,
    transforms.scale && `${transforms.scale.kind} scaling`,
    transforms.normalize && 'rows of unit length',
  ].filter(Boolean)
  const rows: [string, string][] = [
    ['model', path],
    ['labels', labelList(model)],
    ['features', `${count(model.features)}${expand || model.schema ? '' : `, counted from ${model.indexBase}`}`],
    ['weights', `${count(nonzeros)} nonzero${share}, kept ${model.weights.layout}`],
    ['bias', model.bias === 0 ? 'none' : `${model.bias}, weight ${[...model.biasWeights].map(short).join(' ')}`],
    [
      'loss',
      `${model.loss}${model.outlierMargin === undefined ? '' : `, s = ${model.outlierMargin}`}, ${model.regularizer} regularised${model.cost === null ? '' : `, cost ${model.cost}`}`,
    ],
    ['solver', `${model.solver}${model.seed === null ? '' : `, seed ${model.seed}`}`],
    ['made by', model.createdBy],
  ]
  if (trainsTogether(model.multiclass)) rows.push(['classes', model.multiclass])
  if (classWeights.length > 0) {
    rows.push(['class costs', classWeights.map(({ label, weight }) => `${label} × ${weight}`).join(', ')])
  }
  if (model.calibrations) rows.push(['calibrated', calibrationText(model.calibrations)])
  if (model.inputFormat !== undefined) rows.push(['text', model.inputFormat])
  if (model.values === 'f64') rows.push(['values', 'f64'])
  if (prepared.length > 0) rows.push(['prepared', prepared.join(', then ')])
  if (transforms.expand?.names) rows.push(['names', `${count(transforms.expand.names.length)} features were hashed`])
  if (data) {
    rows.push(['data', `${count(data.rows)} rows, ${count(data.nonzeros)} nonzeros; ${data.sources.join(', ')}`])
    rows.push(['fingerprint', data.fingerprint])
    if (data.rowsTouched !== undefined)
      rows.push(['index', `${count(data.rowsTouched)} rows were looked at, ${percent(data.rowsTouched / data.rows)}`])
  }
  return [...rows.map(([name, value]) => `${name.padEnd(12)} ${value}`), ...columnLines(model)]
}

/** What became of the columns of a table. */
function columnLines({ schema }: Model): string[] {
  return schema ? ['columns', ...schemaLines(schema)] : []
}

/** Of one calibration its numbers, of several their kind. */
function calibrationText(calibrations: Calibration[]): string {
  const [{ kind }] = calibrations
  if (calibrations.length > 1) return `${kind}, one for each class`
  const [one] = calibrations
  if (one.kind === 'isotonic') return `isotonic, ${count(one.scores.length)} points`
  const sign = one.offset < 0 ? '−' : '+'
  return `sigmoid, 1 / (1 + e^−(${short(one.slope)} · score ${sign} ${short(Math.abs(one.offset))}))`
}

function labelList({ labels }: Model): string {
  const most = 20
  const texts = labels.slice(0, most).map(({ text }) => text)
  if (labels.length > most) texts.push(`… (${count(labels.length)} in all)`)
  return labels.length === 2 ? `${texts.join(', ')} (a score above 0 means ${texts[0]})` : texts.join(', ')
}

function certificateLines({ certificate, classCertificates, labels, loss }: Model): string[] {
  // Of a loss that is never zero every row is one.
  const telling = !allLosses.find(({ name }) => name === loss)?.entropicDual
  const line = (name: string, c: Certificate): string => {
    const parts = [
      c.primal !== null && `primal ${short(c.primal)}`,
      c.dual !== null && `dual ${short(c.dual)}`,
      c.gap !== null && `gap ${short(c.gap)}`,
      `${count(c.passes)} passes`,
      c.relaxations !== undefined && `${count(c.relaxations)} convex problems`,
      telling && c.supportVectors !== null && `${count(c.supportVectors)} support vectors`,
      c.outliers !== undefined && `${count(c.outliers)} outliers`,
      c.exitReason,
    ]
    return `${name.padEnd(12)} ${parts.filter(Boolean).join(', ')}`
  }
  const lines = certificate ? [line('certificate', certificate)] : ['certificate  none']
  classCertificates.forEach((c, k) => {
    lines.push(line(`  ${labels[k]?.text ?? k}`, c))
  })
  return lines
}

/** Lines about a model whose run ended short. */
function shortLines(model: Model): string[] {
  return shortfallLines(model).map((line, k) => `${(k === 0 ? 'short' : '').padEnd(12)} ${line}`)
}

/** The largest weights by size, ties in the order of the features. */
export function topWeights(model: Model, most: number, spread?: Spread): TopWeight[] {
  return described(model, [largest(model, { most, first: 0, step: 1, spread })], spread)[0]
}

/** The same for each vector. */
function topOfVectors(model: Model, most: number, spread?: Spread): TopOfVector[] {
  const { values } = model.weights
  const labels = vectorLabels(model)
  const lists = labels.map((_, vector) => largest(model, { most, first: vector, step: model.vectors, spread }))
  const features = described(model, lists, spread)
  return labels.map((label, vector) => {
    let nonzeroWeights = 0
    for (let at = vector; at < values.length; at += model.vectors) if (values[at] !== 0) nonzeroWeights++
    const against = model.vectors === 1 ? (model.labels[1]?.text ?? null) : null
    return { label, against, nonzeroWeights, features: features[vector] }
  })
}

/** Places of the largest weights, or of what a step does, among every step-th one, from a first one on. */
function largest(
  { weights: { values }, vectors }: Model,
  { most, first, step, spread }: { most: number; first: number; step: number; spread: Spread | undefined },
): number[] {
  const best: number[] = []
  const size = (at: number): number => Math.abs(values[at]) * (spread?.of(Math.floor(at / vectors)) ?? 1)
  // A short sorted list: nearly every weight fails the first comparison, so millions of features cost one look each.
  for (let at = first; at < values.length; at += step) {
    if (size(at) === 0 || (best.length >= most && (most === 0 || size(at) <= size(best[best.length - 1])))) continue
    let place = best.length
    while (place > 0 && size(best[place - 1]) < size(at)) place--
    best.splice(place, 0, at)
    if (best.length > most) best.pop()
  }
  return best
}

/** What stands at places of the weights. Kept names are gone through once for all lists. */
function described(model: Model, lists: number[][], spread: Spread | undefined): TopWeight[][] {
  const { values } = model.weights
  const labels = vectorLabels(model)
  const placeAt = (at: number): number => featureAt(model.weights, Math.floor(at / model.vectors))
  const hashed = namesBeforeHash(model, new Set(lists.flat().map(placeAt)))
  const describe = (at: number): TopWeight => {
    const vector = at % model.vectors
    const place = placeAt(at)
    const { expand } = model.transforms
    const names = hashed.get(place)
    const deviation = spread?.of(Math.floor(at / model.vectors))
    const oneVector = model.vectors === 1 && model.labels.length === 2
    const label = oneVector ? model.labels[values[at] > 0 ? 0 : 1].text : labels[vector]
    return {
      feature: expand ? place : userFeature(model, place),
      ...((expand || model.schema) && { name: featureName(model, place) }),
      weight: values[at],
      ...(deviation !== undefined && { deviation, step: values[at] * deviation }),
      label,
      ...(names && { names }),
    }
  }
  return lists.map(list => list.map(describe))
}

function table(model: Model, title: string, weights: TopWeight[], ofOne = false): string[] {
  if (weights.length === 0) return []
  const last = model.vectors === 1 ? 'speaks for' : ofOne ? 'speaks' : 'label'
  // Deviations that are all 1 say nothing.
  const spread = weights.some(({ deviation }) => deviation !== undefined && deviation !== 1)
  const named = weights.some(({ names }) => names !== undefined)
  const numbers = ['feature', 'weight', ...(spread ? ['deviation', 'step'] : [])]
  const rows = weights.map(({ feature, name, weight, deviation = 1, step = weight, label, names }) => [
    name ?? String(feature),
    short(weight),
    ...(spread ? [short(deviation), short(step)] : []),
    ofOne ? (weight > 0 ? 'for it' : 'against it') : label,
    ...(named ? [names ? someOf(names) : ''] : []),
  ])
  const all = [[...numbers, last, ...(named ? ['made of'] : [])], ...rows]
  const widths = all[0].map((_, column) => Math.max(...all.map(row => row[column].length)))
  const line = (row: string[]): string =>
    row.map((text, k) => (k < numbers.length ? text.padStart(widths[k]) : text.padEnd(widths[k]))).join('  ')
  return [
    '',
    `${title}${model.transforms.scale ? ' (of scaled features)' : ''}:`,
    ...all.map(row => `  ${line(row)}`.trimEnd()),
  ]
}

/** What can be compared with what. */
function noteOn({ transforms }: Model, spread: Spread | undefined): string[] {
  const scaled = transforms.scale ? 'scaled ' : ''
  if (!spread) {
    return [
      `A weight is what a step of 1 in its ${scaled}feature adds to the score. To compare features of different scales, add --data FILE:`,
      'it shows what a step of one standard deviation adds.',
    ]
  }
  if (spread.from === 'scaling') {
    return ['Features are scaled to a standard deviation of 1: weights of different features can be compared.']
  }
  const unit = transforms.normalize ? ', in rows of unit length,' : ''
  return [
    `A step is what one standard deviation more of its ${scaled}feature${unit} adds to the score. Steps of different features can be compared.`,
  ]
}

/** The first few of a list. */
function someOf(names: string[]): string {
  const most = 4
  return names.length <= most ? names.join(', ') : `${names.slice(0, most).join(', ')} and ${names.length - most} more`
}

const short = (x: number): string => String(Number(x.toPrecision(6)))
const count = (x: number): string => formatCount(x, 3)
const percent = (share: number): string => `${(share * 100).toPrecision(3)} %`
