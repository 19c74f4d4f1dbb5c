// LIBLINEAR's model file, as its save_model writes it and its load_model reads it:
//
//   solver_type L2R_LR
//   nr_class 3
//   label 1 2 3
//   nr_feature 1355191
//   bias -1                     below 0: no bias; else the value of feature nr_feature + 1
//   w
//   0.1 -0.25 0                 one line per feature, the bias last: one number per vector, "%.17g", each followed by a space
//
// Two classes have one vector (MCSVM_CS: two); above 0 means the first label. Feature 1 there is our feature 0.
import { SpillwayError } from '../errors.ts'
import { multiclassKinds } from '../losses/formulations.ts'
import { CLASSIFICATION_TYPES, liblinearTypeOf, OTHER_TYPES } from './liblinear-types.ts'
import { type Model, makeModel, vectorCount } from './model.ts'
import { formatG17 } from './number-text.ts'
import { featureAt, listedFeatures, positionOf } from './weights.ts'

export interface LiblinearWriteOptions {
  /** Write although the reader has to bring rows to unit length itself. */
  force?: boolean
}

const CHUNK_TEXT = 1 << 16
const LARGEST_INT = 2 ** 31 - 1
const HEADER_KEYS = ['solver_type', 'nr_class', 'label', 'nr_feature', 'bias', 'rho', 'w']

// --- Writing

/** Refuses what LIBLINEAR's file cannot say. */
export function checkLiblinearWritable(model: Model, { force = false }: LiblinearWriteOptions = {}): void {
  if (multiclassKinds[model.multiclass].probability) {
    throw new SpillwayError(
      `LIBLINEAR has no problem of all classes with the ${model.loss} loss, multiclass ${model.multiclass}: its probabilities would differ`,
      'keep the Spillway model, convert to json, or train with --multiclass one-vs-rest',
    )
  }
  for (const { value, text } of model.labels) {
    if (value === null) {
      throw new SpillwayError(
        `LIBLINEAR's model file cannot hold the label "${text}": its labels are whole numbers`,
        'keep the Spillway model, or convert to json',
      )
    }
    if (value !== (value | 0)) {
      throw new SpillwayError(
        `LIBLINEAR's model file cannot hold the label "${text}" (${value}): its labels are whole numbers of 32 bits`,
        'rename the labels to whole numbers and train again, or convert to json',
      )
    }
  }
  if ((model.features + 1) * model.vectors > LARGEST_INT) {
    throw new SpillwayError(
      `LIBLINEAR cannot hold ${model.features} features × ${model.vectors} weight vectors: it counts weights in 31 bits`,
      'keep the Spillway model, which holds them',
    )
  }
  const { expand } = model.transforms
  if (expand) {
    throw new SpillwayError(
      `the model makes its features of each row by ${expand.steps}, and LIBLINEAR's model file cannot say so: its weights would meet other features`,
      'keep the Spillway model, or convert to json',
    )
  }
  if (model.transforms.normalize && !force) {
    throw new SpillwayError(
      'the model was trained on rows of unit length, and LIBLINEAR does not normalise rows: its predictions would differ',
      'add --force if you bring each row to unit length yourself before liblinear-predict',
    )
  }
}

/** What a user should know about a model that is written; empty when LIBLINEAR says all of it. */
export function liblinearWarnings(model: Model): string[] {
  const warnings: string[] = []
  const { name, exact } = liblinearTypeOf(model)
  if (!exact) warnings.push(`LIBLINEAR has no type for ${model.regularizer} ${model.loss}; it is written as ${name}`)
  if (model.transforms.normalize) {
    warnings.push('rows must be brought to unit length before liblinear-predict reads them')
  }
  if (model.calibrations) warnings.push('the calibration of its scores is left out: LIBLINEAR has no place for it')
  if (model.inputFormat !== undefined) {
    warnings.push(
      `the model was trained on text of the format ${model.inputFormat}; LIBLINEAR reads LABEL INDEX:VALUE …, so rows must be written so for it`,
    )
  }
  if (model.indexBase === 0) {
    warnings.push('the data counts features from 0 and LIBLINEAR from 1: feature j of the data is feature j + 1 there')
  }
  return warnings
}

/** The file's bytes, piece by piece. Scale factors are folded into the weights, a negative bias into its weight. */
export function* writeLiblinear(model: Model, options: LiblinearWriteOptions = {}): Generator<Uint8Array> {
  checkLiblinearWritable(model, options)
  const encoder = new TextEncoder()
  let text = ''
  for (const piece of liblinearText(model)) {
    text += piece
    if (text.length < CHUNK_TEXT) continue
    yield encoder.encode(text)
    text = ''
  }
  if (text !== '') yield encoder.encode(text)
}

function* liblinearText(model: Model): Generator<string> {
  const { labels, features, vectors, weights, biasWeights } = model
  const hasBias = biasWeights.length > 0
  yield `solver_type ${liblinearTypeOf(model).name}\nnr_class ${labels.length}\n`
  yield `label${labels.map(label => ` ${label.value! | 0}`).join('')}\nnr_feature ${features}\n`
  yield `bias ${hasBias ? formatG17(Math.abs(model.bias)) : '-1'}\nw\n`
  const factors = model.transforms.scale?.factors
  let next = 0
  const listed = listedFeatures(weights, vectors)
  for (let place = 0; place < listed; place++) {
    const feature = featureAt(weights, place)
    yield* zeroLines(feature - next, vectors)
    const at = factors ? positionOf(factors, 1, feature) : -1
    yield weightLine(weights.values, place * vectors, vectors, at >= 0 ? factors!.values[at] : 1)
    next = feature + 1
  }
  yield* zeroLines(features - next, vectors)
  if (hasBias) yield weightLine(biasWeights, 0, vectors, model.bias < 0 ? -1 : 1)
}

function weightLine(values: Float64Array | Float32Array, at: number, vectors: number, factor: number): string {
  let line = ''
  for (let k = 0; k < vectors; k++) {
    const value = values[at + k] * factor
    if (!Number.isFinite(value)) {
      throw new SpillwayError(
        `the weight ${values[at + k]} times its scale factor ${factor} is beyond the largest number`,
      )
    }
    line += `${formatG17(value)} `
  }
  return `${line}\n`
}

// A sparse model may skip millions of features: their lines come from one ready text.
function* zeroLines(count: number, vectors: number): Generator<string> {
  if (count === 0) return
  const line = `${'0 '.repeat(vectors)}\n`
  const perPiece = Math.max(1, Math.floor(CHUNK_TEXT / line.length))
  const piece = count >= perPiece ? line.repeat(perPiece) : ''
  let left = count
  for (; left >= perPiece; left -= perPiece) yield piece
  yield line.repeat(left)
}

// --- Reading

/** A line of the head that may be the first. A table whose first column is called `label` has a name or a tab behind it. */
const FIRST_LINE = /^\s*(solver_type +\S|(nr_class|label|nr_feature|bias|rho) +[-+.\d])/

/** The first line tells: LIBLINEAR writes solver_type first, and reads the lines in any order. */
export function isLiblinearFile(bytes: Uint8Array): boolean {
  return FIRST_LINE.test(String.fromCharCode(...bytes.subarray(0, 256)))
}

/** Reads a file's bytes; `file` is its name in complaints. */
export function readLiblinear(bytes: Uint8Array, file = 'the model'): Model {
  const words = new Words(bytes, file)
  const { solver, labels, features, bias } = readHeader(words)
  const { loss, regularizer, multiclass } = CLASSIFICATION_TYPES.get(solver)!
  const vectors = vectorCount(labels.length, multiclass)
  const rows = bias >= 0 ? features + 1 : features
  // A weight takes two bytes at least, except that the last may lack its space.
  if (rows * vectors * 2 - 1 > words.bytesLeft()) {
    throw words.error(
      `found ${words.bytesLeft()} bytes of weights`,
      `${rows * vectors} numbers (${features} features${bias >= 0 ? ' and the bias' : ''} × ${vectors})`,
      'the file is cut off: copy it again from where it was written',
    )
  }
  const weights = new Float64Array(features * vectors)
  for (let at = 0; at < weights.length; at++) weights[at] = words.weight(at, rows * vectors)
  const biasWeights = new Float64Array(bias >= 0 ? vectors : 0)
  for (let k = 0; k < biasWeights.length; k++) biasWeights[k] = words.weight(weights.length + k, rows * vectors)
  const extra = words.next()
  if (extra !== undefined) throw words.error(`found "${extra}"`, `the end, after ${rows * vectors} weights`)
  return makeModel({
    labels: labels.map(value => ({ value, text: String(value) })),
    multiclass,
    features,
    weights,
    bias: Math.max(0, bias),
    biasWeights,
    loss,
    regularizer,
    solver,
    // LIBLINEAR itself trains on 64-bit values and scores them.
    values: 'f64',
    createdBy: 'LIBLINEAR',
  })
}

interface LiblinearHeader {
  solver: string
  labels: number[]
  features: number
  bias: number
}

function readHeader(words: Words): LiblinearHeader {
  const header: Partial<LiblinearHeader> & { classes?: number } = {}
  const seen = new Set<string>()
  for (;;) {
    const key = words.next()
    if (key === undefined) throw words.error('found the end of the file', `"w" and the weights after it`)
    if (seen.has(key)) throw words.error(`found "${key}" a second time`, 'each line of the header once')
    seen.add(key)
    if (key === 'w') break
    if (key === 'solver_type') header.solver = readSolver(words)
    else if (key === 'nr_class') header.classes = words.integer('the number of classes', 1)
    else if (key === 'label') header.labels = readLabels(words, header.classes)
    else if (key === 'nr_feature') header.features = words.integer('the number of features', 0)
    else if (key === 'bias') header.bias = words.number('the bias')
    // Only one-class models use it, and those are refused; newer versions may write it anywhere.
    else if (key === 'rho') words.number('rho')
    else throw words.error(`found "${key}"`, `one of ${HEADER_KEYS.join(', ')}`)
  }
  const { solver, labels, features, bias } = header
  if (solver === undefined) throw words.error('found no line "solver_type"', 'one before the weights')
  if (labels === undefined) throw words.error('found no line "label"', 'one before the weights')
  if (features === undefined) throw words.error('found no line "nr_feature"', 'one before the weights')
  if (bias === undefined) throw words.error('found no line "bias"', 'one before the weights')
  return { solver, labels, features, bias }
}

function readSolver(words: Words): string {
  const name = words.next() ?? ''
  if (CLASSIFICATION_TYPES.has(name)) return name
  const other = OTHER_TYPES.get(name)
  if (other) {
    throw words.error(
      `found the solver type ${name}, a ${other} model`,
      'a classifier',
      `Spillway predicts labels; use liblinear-predict for ${other} models`,
    )
  }
  throw words.error(`found the solver type "${name}"`, `one of ${[...CLASSIFICATION_TYPES.keys()].join(', ')}`)
}

function readLabels(words: Words, classes: number | undefined): number[] {
  if (classes === undefined) throw words.error('found "label"', '"nr_class" before it')
  if (classes * 2 > words.bytesLeft()) {
    throw words.error(`found ${words.bytesLeft()} more bytes`, `${classes} labels, as nr_class says`)
  }
  const labels: number[] = []
  const seen = new Set<number>()
  for (let k = 0; k < classes; k++) {
    const label = words.integer(`label ${k + 1} of ${classes}`, -LARGEST_INT - 1)
    if (seen.has(label)) throw words.error(`found the label ${label} twice`, 'different labels')
    seen.add(label)
    labels.push(label)
  }
  return labels
}

const LONGEST_WORD = 400
const WINDOW = 1 << 15
// One character for each byte, whatever it is.
const decoder = new TextDecoder('latin1')
const NEWLINE = 10
const SPACE = 32

/** The file as words between white space, as C's fscanf sees it. */
class Words {
  readonly #bytes: Uint8Array
  readonly #file: string
  #at = 0
  #line = 1
  // Bytes become text a window at a time: one call for each word took three times as long.
  #text = ''
  #textStart = 0
  #textEnd = 0

  constructor(bytes: Uint8Array, file: string) {
    this.#bytes = bytes
    this.#file = file
  }

  bytesLeft(): number {
    return this.#bytes.length - this.#at
  }

  next(): string | undefined {
    const bytes = this.#bytes
    let at = this.#at
    for (; at < bytes.length && bytes[at] <= SPACE; at++) if (bytes[at] === NEWLINE) this.#line++
    const start = at
    while (at < bytes.length && bytes[at] > SPACE) at++
    this.#at = at
    if (at === start) return undefined
    // A word of many megabytes is not built up just to be refused.
    const end = Math.min(at, start + LONGEST_WORD)
    if (end > this.#textEnd) {
      this.#text = decoder.decode(bytes.subarray(start, start + WINDOW))
      this.#textStart = start
      this.#textEnd = Math.min(start + WINDOW, bytes.length)
    }
    return this.#text.slice(start - this.#textStart, end - this.#textStart)
  }

  number(what: string): number {
    return this.#parse(this.next(), what)
  }

  weight(at: number, count: number): number {
    const word = this.next()
    if (word === '0') return 0
    // Words for the complaint are put together only when there is one: this runs for millions of weights.
    const value = word !== undefined && isDecimal(word) ? Number(word) : Number.NaN
    return Number.isFinite(value) ? value : this.#parse(word, `weight ${at + 1} of ${count}`)
  }

  integer(what: string, least: number): number {
    const value = this.#parse(this.next(), what)
    if (!Number.isInteger(value) || value < least || value > LARGEST_INT) {
      throw this.error(`found ${value}`, `${what}, a whole number from ${least} to ${LARGEST_INT}`)
    }
    return value
  }

  #parse(word: string | undefined, what: string): number {
    if (word === undefined) {
      throw this.error(
        'found the end of the file',
        what,
        'the file is cut off: copy it again from where it was written',
      )
    }
    const value = isDecimal(word) ? Number(word) : Number.NaN
    if (!Number.isFinite(value)) throw this.error(`found "${word.slice(0, 60)}"`, `${what}, a finite number`)
    return value
  }

  error(found: string, expected: string, advice?: string): SpillwayError {
    const shown = found.length > 120 ? `${found.slice(0, 120)}…` : found
    return new SpillwayError(`${this.#file}, line ${this.#line}: ${shown}; expected ${expected}`, advice)
  }
}

// Number() also takes hexadecimal and "Infinity"; with these characters only, it takes decimal numbers only.
function isDecimal(word: string): boolean {
  for (let k = 0; k < word.length; k++) {
    const code = word.charCodeAt(k)
    const fits = (code >= 48 && code <= 57) || code === 45 || code === 46 || code === 43 || code === 101 || code === 69
    if (!fits) return false
  }
  return true
}
