// A model as ONNX: a graph of plain operators (opset 17), which any runtime of ONNX scores rows with.
//
//   features [N, features]  ─► cast ─► kernel's table ─► factors, unit length ─► × weights + bias ─► scores [N, vectors]
//                                                                                   ├─► label [N]
//                                                                                   └─► probabilities [N, classes]
//
// A model of a table has an input for each column in place of `features`, unless columns are hashed: onnx-columns.ts.
//
// Rows are dense, their values as the model reads them: f32, or f64 where it was trained so. Everything after them is in f64, so
// that scores differ from Spillway's in their last digits only, by the order of the sum.
import { tableOf, widthOf } from '../additive-kernels/row-space.ts'
import { SpillwayError } from '../errors.ts'
import { rangeEnds, spaceOf } from '../features/additive-kernel.ts'
import { formatCount } from '../sizes.ts'
import { type Calibration, calibrationsOf } from './calibration.ts'
import { inputFeatures, type Model } from './model.ts'
import { addColumns, hasColumnInputs, inputNames } from './onnx-columns.ts'
import { elementTypes, IR_VERSION, ML_DOMAIN, ML_OPSET, OnnxGraph, OPSET } from './onnx-graph.ts'
import { Message } from './protobuf.ts'
import { featureAt, listedFeatures, positionOf, toDense } from './weights.ts'

const PRODUCER = 'spillway'
/** A message of Protocol Buffers is smaller than this. */
const MOST_BYTES = 2 ** 31 - 2 ** 20
/** Rows of more features are seldom dense. */
const MANY_FEATURES = 100_000
const CHUNK_NUMBERS = 1 << 15

/** By the version of the file and the producer behind it. */
export function isOnnxFile(bytes: Uint8Array): boolean {
  return bytes.length > 4 && bytes[0] === 0x08 && bytes[1] < 0x20 && bytes[2] === 0x12 && bytes[3] < 0x40
}

/** The file's bytes, piece by piece. */
export function* writeOnnx(model: Model): Generator<Uint8Array> {
  checkOnnxWritable(model)
  const byColumn = hasColumnInputs(model)
  const graph = new OnnxGraph(byColumn ? new Set(inputNames(model.schema!).values()) : undefined)
  const scores = addScores(graph, model)
  addLabels(graph, model, scores)
  addProbabilities(graph, model, scores)
  const message = new Message()
    .number(1, IR_VERSION)
    .text(2, PRODUCER)
    .text(3, model.createdBy)
    .message(7, graph.message('spillway'))
    .message(8, new Message().text(1, '').number(2, OPSET))
  if (byColumn) message.message(8, new Message().text(1, ML_DOMAIN).number(2, ML_OPSET))
  for (const [key, value] of Object.entries(metadata(model))) {
    message.message(14, new Message().text(1, key).text(2, value))
  }
  yield* message.chunks()
}

export function onnxWarnings(model: Model): string[] {
  const features = inputFeatures(model)
  return [
    ...(features > MANY_FEATURES ? [`rows are dense: ${formatCount(features)} numbers each`] : []),
    ...(model.transforms.normalize
      ? ['features that the model does not know count in the length of a row here, but have no place in its rows there']
      : []),
    ...(model.inputFormat === undefined || hasColumnInputs(model) ? [] : [featuresWarning(model, model.inputFormat)]),
  ]
}

function featuresWarning({ schema }: Model, format: string): string {
  return schema
    ? 'columns are hashed, so rows are features, not cells; the metadata of the file tells which are which: schema'
    : `rows are features, not text of the format ${format}`
}

/** Refuses what a graph of plain operators cannot say. */
function checkOnnxWritable(model: Model): void {
  const { expand } = model.transforms
  if (expand && !spaceOf(expand.steps)) {
    throw new SpillwayError(
      `the model makes its features of each row by ${expand.steps}, and ONNX has no operator for it`,
      'keep the Spillway model: spillway serve and spillway/predict score rows with it',
    )
  }
  const bytes = model.features * model.vectors * 8
  if (bytes > MOST_BYTES) {
    throw new SpillwayError(
      `ONNX cannot hold ${formatCount(model.features)} features × ${formatCount(model.vectors)} weight vectors: its weights are dense, and a file is smaller than 2 GiB`,
      'keep the Spillway model, which holds them',
    )
  }
  for (const calibration of model.calibrations ?? []) {
    if (calibration.kind === 'isotonic' && !widths(calibration.scores).every(Number.isFinite)) {
      throw new SpillwayError('two scores of the calibration are further apart than the largest number')
    }
  }
}

function metadata(model: Model): Record<string, string> {
  return {
    labels: JSON.stringify(model.labels.map(({ text }) => text)),
    loss: model.loss,
    multiclass: model.multiclass,
    firstFeature: String(model.indexBase),
    ...(model.schema && { schema: JSON.stringify(model.schema) }),
  }
}

// --- Scores

function addScores(graph: OnnxGraph, model: Model): string {
  const { vectors, bias, biasWeights } = model
  let rows = hasColumnInputs(model) ? addColumns(graph, model.schema!, valueType(model)) : addFeatures(graph, model)
  rows = addKernel(graph, model, rows)
  const unit = model.transforms.normalize === 'unit'
  if (unit) rows = addUnitLength(graph, model, rows)
  // Without unit length, factors are folded into the weights.
  const weights = graph.manyNumbers('weights', [model.features, vectors], () => denseRows(model, !unit))
  const added = Float64Array.from({ length: vectors }, (_, k) => (biasWeights[k] ?? 0) * bias)
  const sums = graph.node('MatMul', [rows, weights])
  graph.output('scores', 'double', ['N', vectors])
  return graph.node('Add', [sums, graph.numbers('bias', [vectors], added)], {}, 'scores')
}

const valueType = (model: Model): 'double' | 'float' => (model.values === 'f64' ? 'double' : 'float')

function addFeatures(graph: OnnxGraph, model: Model): string {
  const features = graph.input('features', valueType(model), ['N', inputFeatures(model)])
  return graph.node('Cast', [features], { to: elementTypes.double })
}

/** What an additive kernel makes of values: by their ranges to bins, and by the table to `width` numbers each. */
function addKernel(graph: OnnxGraph, model: Model, rows: string): string {
  const space = spaceOf(model.transforms.expand?.steps)
  if (!space) return rows
  const features = inputFeatures(model)
  const { bins } = space
  const width = widthOf(space)
  const fitted = addRanges(graph, model, rows)
  const scaled = graph.node('Mul', [graph.node('Abs', [fitted]), graph.numbers('bins', [], [bins])])
  const rounded = graph.node('Floor', [graph.node('Add', [scaled, graph.numbers('half', [], [0.5])])])
  const places = graph.node('Cast', [rounded], { to: elementTypes.int64 })
  const table = graph.numbers('table', [bins + 1, width], tableOf(space))
  const values = graph.node('Gather', [table, places], { axis: 0 })
  const axis = graph.integers('width_axis', [1], [2])
  const signs = graph.node('Unsqueeze', [graph.node('Sign', [fitted]), axis])
  const signed = graph.node('Mul', [values, signs])
  return graph.node('Reshape', [signed, graph.integers('expanded_shape', [2], [-1, features * width])])
}

/** Values times the factors that were learnt, cut off where those of training ended. */
function addRanges(graph: OnnxGraph, model: Model, rows: string): string {
  const features = inputFeatures(model)
  const { ranges } = model.transforms
  const [lowest, highest] = [new Float64Array(features), new Float64Array(features).fill(1)]
  const factors = new Float64Array(features).fill(1)
  for (let feature = 0; ranges && feature < features; feature++) {
    const at = positionOf(ranges, 2, feature)
    if (at < 0) continue
    factors[feature] = ranges.values[at]
    const ends = rangeEnds(ranges.values[at + 1])
    lowest[feature] = ends.lowest
    highest[feature] = ends.highest
  }
  const multiplied = ranges ? graph.node('Mul', [rows, graph.numbers('range_factors', [features], factors)]) : rows
  const above = graph.node('Max', [multiplied, graph.numbers('lowest', [features], lowest)])
  return graph.node('Min', [above, graph.numbers('highest', [features], highest)])
}

/** Rows divided by their lengths after scaling; a row of zeros stays one. */
function addUnitLength(graph: OnnxGraph, model: Model, rows: string): string {
  const { scale } = model.transforms
  const factors = scale && toDense(scale.factors, model.features, 1, 1)
  const scaled = factors ? graph.node('Mul', [rows, graph.numbers('factors', [model.features], factors)]) : rows
  const squares = graph.node('ReduceSumSquare', [scaled], { axes: [1], keepdims: 1 })
  const lengths = graph.node('Sqrt', [squares])
  const zero = graph.numbers('zero', [], [0])
  const safe = graph.node('Where', [graph.node('Greater', [lengths, zero]), lengths, graph.numbers('one', [], [1])])
  return graph.node('Div', [scaled, safe])
}

/** All weights in the order of features, some at a time, as bytes; times the factors of their features if they are folded in. */
function* denseRows(model: Model, folded: boolean): Generator<Uint8Array> {
  const { features, vectors, weights, transforms } = model
  const factors = folded ? transforms.scale?.factors : undefined
  const listed = listedFeatures(weights, vectors)
  const perChunk = Math.max(1, Math.floor(CHUNK_NUMBERS / vectors))
  let place = 0
  for (let first = 0; first < features; first += perChunk) {
    const end = Math.min(features, first + perChunk)
    const view = new DataView(new ArrayBuffer((end - first) * vectors * 8))
    for (; place < listed && featureAt(weights, place) < end; place++) {
      const feature = featureAt(weights, place)
      const at = factors ? positionOf(factors, 1, feature) : -1
      const factor = at < 0 ? 1 : factors!.values[at]
      for (let k = 0; k < vectors; k++) {
        const value = weights.values[place * vectors + k] * factor
        if (!Number.isFinite(value)) {
          throw new SpillwayError(`a weight times its scale factor ${factor} is beyond the largest number`)
        }
        view.setFloat64(((feature - first) * vectors + k) * 8, value, true)
      }
    }
    yield new Uint8Array(view.buffer)
  }
}

// --- Labels and probabilities

/** The first column of the scores, [N, 1]. */
function firstColumn(graph: OnnxGraph, scores: string): string {
  return graph.node('Gather', [scores, graph.integers('first', [1], [0])], { axis: 1 })
}

/** Whole numbers where all labels are such; else texts. Of two classes the first score decides, else the highest. */
function addLabels(graph: OnnxGraph, model: Model, scores: string): void {
  const { labels } = model
  const whole = labels.every(({ value }) => value !== null && Number.isSafeInteger(value))
  const names = whole
    ? graph.integers(
        'labels',
        [labels.length],
        labels.map(({ value }) => value!),
      )
    : graph.texts(
        'labels',
        labels.map(({ text }) => text),
      )
  let places: string
  if (labels.length === 2) {
    const notFirst = graph.node('LessOrEqual', [firstColumn(graph, scores), graph.numbers('threshold', [], [0])])
    const columns = graph.node('Cast', [notFirst], { to: elementTypes.int64 })
    places = graph.node('Squeeze', [columns, graph.integers('column_axis', [1], [1])])
  } else places = graph.node('ArgMax', [scores], { axis: 1, keepdims: 0 })
  graph.node('Gather', [names, places], { axis: 0 }, 'label')
  graph.output('label', whole ? 'int64' : 'string', ['N'])
}

function addProbabilities(graph: OnnxGraph, model: Model, scores: string): void {
  const calibrations = calibrationsOf(model)
  if (!calibrations) return
  const classes = model.labels.length
  graph.output('probabilities', 'double', ['N', classes])
  if (typeof calibrations === 'string') {
    graph.node('Softmax', [scores], { axis: 1 }, 'probabilities')
    return
  }
  const one = graph.numbers('certain', [], [1])
  if (classes === 2) {
    const p = addCalibration(graph, calibrations[0], scores, 0)
    graph.node('Concat', [p, graph.node('Sub', [one, p])], { axis: 1 }, 'probabilities')
    return
  }
  const each = calibrations.map((calibration, k) => addCalibration(graph, calibration, scores, k))
  const all = graph.node('Concat', each, { axis: 1 })
  const sum = graph.node('ReduceSum', [all, graph.integers('class_axis', [1], [1])], { keepdims: 1 })
  const some = graph.node('Greater', [sum, graph.numbers('none', [], [0])])
  const shares = graph.node('Div', [all, graph.node('Where', [some, sum, one])])
  graph.node('Where', [some, shares, graph.numbers('equal', [], [1 / classes])], {}, 'probabilities')
}

/** The probability of one class before the others count, [N, 1]. */
function addCalibration(graph: OnnxGraph, calibration: Calibration, scores: string, k: number): string {
  const column = graph.node('Gather', [scores, graph.integers(`column_${k}`, [1], [k])], { axis: 1 })
  if (calibration.kind === 'sigmoid') {
    const sloped = graph.node('Mul', [column, graph.numbers(`slope_${k}`, [], [calibration.slope])])
    return graph.node('Sigmoid', [graph.node('Add', [sloped, graph.numbers(`offset_${k}`, [], [calibration.offset])])])
  }
  // Each piece of the line adds the share of its rise that the score has come along it, from 0 to 1.
  const { scores: points, probabilities } = calibration
  const lowest = graph.numbers(`lowest_probability_${k}`, [], [probabilities[0]])
  const pieces = points.length - 1
  const beyond = graph.node('Sub', [column, graph.numbers(`points_${k}`, [pieces], points.slice(0, pieces))])
  const along = graph.node('Div', [beyond, graph.numbers(`widths_${k}`, [pieces], widths(points))])
  const zero = graph.numbers(`begin_${k}`, [], [0])
  const share = graph.node('Min', [graph.node('Max', [along, zero]), graph.numbers(`end_${k}`, [], [1])])
  const rises = probabilities.slice(1).map((p, i) => p - probabilities[i])
  const risen = graph.node('MatMul', [share, graph.numbers(`rises_${k}`, [pieces, 1], rises)])
  return graph.node('Add', [risen, lowest])
}

const widths = (points: number[]): number[] => points.slice(1).map((point, i) => point - points[i])
