// `predict`: data and a model in, labels out, in the order of the input and in constant memory.

import type { Store } from '../block-store/reader.ts'
import { UsageError } from '../errors.ts'
import type { EvaluationCurves } from '../evaluation/curves.ts'
import { Evaluation, type EvaluationReport } from '../evaluation/evaluation.ts'
import { fitFor } from '../features/expansion-steps.ts'
import { askedInputFormat, findInputFormat, readsFiles, usualInputFormat } from '../input-formats/all-input-formats.ts'
import { csv } from '../input-formats/csv.ts'
import { isTable, tableFormatOf } from '../input-formats/data-beginning.ts'
import {
  type DataFor,
  formatForRows,
  isGivenRows,
  pathsOf,
  type RowToRead,
  sourceName,
} from '../input-formats/given-rows.ts'
import { compareLabels, labelKey } from '../input-formats/labels.ts'
import { nameLabels } from '../input-formats/named-labels.ts'
import { baseName, isQuery } from '../input-formats/stand-ins.ts'
import { usableMemory } from '../machine-memory.ts'
import { calibrationsOf, requireCalibrations } from '../model/calibration.ts'
import { loadModel } from '../model/files.ts'
import { placeOfLent } from '../model/lent-weights.ts'
import type { Model } from '../model/model.ts'
import { placeModel } from '../model/scorer.ts'
import { Arena } from '../numeric/arena.ts'
import { poolForText } from '../rows/pool-for-text.ts'
import { CHUNK_BYTES, RowReader, type RowsToRead } from '../rows/read-rows.ts'
import { spoolReadOnce } from '../rows/spool.ts'
import type { ByteCount } from '../sizes.ts'
import type { MatchedText } from '../tables/match-columns.ts'
import { ThreadPool } from '../threads/pool.ts'
import type { AnswerSettings, EvaluatedChunk, RowsAnswered } from './answers-of-rows.ts'
import { explainData } from './explain.ts'
import { predictChunkTask } from './predict-chunk-task.ts'
import { answersOfStore, checkStore, storeAt } from './predict-store.ts'

export interface PredictOptions {
  /** Format of the data, or `auto`; the model's own by default. */
  format?: string
  /** Number of the first feature; the model's own by default. */
  indexBase?: 0 | 1
  onBadRow?: 'fail' | 'skip'
  /** Of an array or a matrix: the file of its labels. */
  labels?: string
  threads?: number
  signal?: AbortSignal
  /** Called now and then. */
  progress?: (progress: PredictProgress) => void
  /** Receives the output's text piece by piece, in order. Of a store: and where the rows of its lines stand among all rows. */
  write?: (text: Uint8Array, positions?: Float64Array) => void | Promise<void>
  /** Scores after each label in the text. */
  scores?: boolean
  /** Instead of scores: the probabilities of all classes, in the order of the model's labels. */
  probability?: boolean
  /** Begin the text with a line that names its columns: `labels`, then the label that each score or probability is of. */
  header?: boolean
  /** Of a table: whether its first row names the columns. */
  tableHeader?: 'yes' | 'no' | 'auto'
  /** Compare with the labels of the data. Takes 8 to 16 bytes of memory a row when there are two classes. */
  evaluate?: boolean
  /** With `evaluate`: the points of the curves, too. */
  curves?: boolean
  /** Take little memory: small pieces of the data, and one thread besides this one if any. So it goes by itself in a small
   *  container. */
  sparing?: boolean
  /** Instead of labels alone: lines of each row's label, its score, and so many features that made it. */
  explain?: number
}

export interface PredictProgress {
  seconds: number
  bytesRead: number
  bytesTotal: number | undefined
  rows: number
  badRows: number
}

export interface PredictResult {
  rows: number
  /** What the rows weigh, where the data has weights of rows: what is right counts by them. */
  weight?: number
  /** Share of rows whose label in the input is the predicted one. */
  accuracy: number
  correct: number
  /** Of a table without the column of the labels: there is nothing to compare with. */
  unlabelled?: true
  badRows: number
  badRowMessages: string[]
  bytesRead: number
  seconds: number
  /** On request. */
  evaluation?: EvaluationReport
  curves?: EvaluationCurves
}

const SMALL_CHUNK_BYTES = 1 << 18
/** In a container of less, pieces of the usual size and their threads would push out the program's own pages. */
const LITTLE_MEMORY: ByteCount = 192 << 20

/** Predictions of some rows, in the order of the input. */
export interface PredictedRows {
  /** As the user wrote them in the training data. */
  labels: string[]
  /** One score a row for two classes (above 0 means the first label of the model), else one for each class. */
  scores: Float64Array
  /** On request: of every row the probabilities of all classes, in the order of the model's labels. */
  probabilities?: Float64Array
}

/** Predicts every row of one or more files, of a store, or of a program. Rows without a label count as wrong. */
export async function predict(
  data: DataFor<RowToRead>,
  model: Model | string,
  options: PredictOptions = {},
): Promise<PredictResult> {
  if (options.scores && options.probability) {
    throw new UsageError('scores and probabilities cannot both be written', 'leave out --scores or --probability')
  }
  const withLabels = options.probability ? 'labels-and-probabilities' : options.scores ? 'labels-and-scores' : 'labels'
  const answer = options.write ? withLabels : 'nothing'
  if (options.header && withLabels === 'labels') {
    throw new UsageError(
      'a header names the columns of scores or probabilities, and neither was asked for',
      'add --scores or --probability, or leave out --header',
    )
  }
  const loaded = await asModel(model)
  if (options.explain !== undefined) return explained(data, loaded, options, options.explain)
  let header = options.header && options.write ? headerOf(loaded, options) : undefined
  const write = async (text: Uint8Array, positions?: Float64Array): Promise<void> => {
    // It waits for the first rows: what cannot be read or scored leaves no line behind.
    const first = header
    header = undefined
    if (first) await options.write!(first)
    await options.write!(text, positions)
  }
  const result = await run(data, loaded, options, answer, async chunk => {
    if (chunk.text) await write(chunk.text, chunk.positions)
  })
  if (header) await options.write!(header)
  return result
}

/** Lines of what made the scores. */
async function explained(
  data: DataFor<RowToRead>,
  model: Model,
  options: PredictOptions,
  most: number,
): Promise<PredictResult> {
  const other = (['scores', 'probability', 'header', 'evaluate'] as const).find(name => options[name])
  if (other) throw new UsageError(`explain and ${other} cannot both be asked for`, `leave out --${other}`)
  using from = pathsOf(data, { indexBase: options.indexBase ?? model.indexBase, needsLabel: false })
  await using spooled = await spoolToPredict(from.paths, model, options)
  const reading = readingFor(model, { ...options, ...spooled.reading }, from.given)
  return await explainData({ paths: spooled.paths, model, reading, most }, options)
}

/** Has the rows of a query, and what is read at many places but comes from a pipe, put into a file in this folder. */
async function spoolToPredict(
  paths: string[],
  { inputFormat, schema }: Model,
  { format, threads, signal }: PredictOptions,
): Promise<AsyncDisposable & { paths: string[]; reading: Partial<PredictOptions> }> {
  // A table is one in any format: a model of CSV is for Parquet, too.
  const usual = schema || paths.some(isQuery) ? undefined : inputFormat
  const spooled = await spoolReadOnce(paths, {
    format: format ?? usual,
    store: baseName(paths[0] ?? ''),
    ...{ threads, signal, once: true },
  })
  const { header } = spooled.known
  const [path] = spooled.paths
  const asked = askedInputFormat(format)?.name
  const usualName = inputFormat ?? (schema ? csv.name : usualInputFormat.name)
  const mayShow = asked === undefined && path !== undefined && !isGivenRows(path) && readsFiles(usualName)
  const known = spooled.known.format
  const table = known ?? (mayShow ? await tableFormatOf(path, signal) : undefined)
  if (!schema) refuseTable(path, table ?? asked, usualName)
  const found = known ?? (schema && mayShow ? (table ?? usualName) : undefined)
  const reading = { ...(found !== undefined && { format: found }), ...(header && { tableHeader: header }) }
  return { paths: spooled.paths, reading, [Symbol.asyncDispose]: () => spooled[Symbol.asyncDispose]() }
}

/** Refuses a table for a model that knows no columns: each line would be a label without entries. */
function refuseTable(path: string | undefined, format: string | undefined, usual: string): void {
  if (path === undefined || format === undefined || format === usual) return
  if (!isTable(findInputFormat(format))) return
  const { title, row } = findInputFormat(usual)
  throw new UsageError(
    `${sourceName(path)} is a table, and the model was trained on ${title}`,
    `a row of that is ${row}; a model for tables is one that was trained on a table, with --label COLUMN`,
  )
}

/** As LIBLINEAR names the columns of probabilities: `labels 1 -1`. Of scores there is one for each weight vector. */
function headerOf({ labels, vectors }: Model, { probability }: PredictOptions): Uint8Array {
  const columns = probability ? labels : labels.slice(0, vectors)
  return Buffer.from(`${['labels', ...columns.map(({ text }) => text)].join(' ')}\n`)
}

/** Predicts every row, for a program to go through; reading waits while the program is busy. */
export async function* predictRows(
  data: DataFor<RowToRead>,
  model: Model | string,
  options: Omit<PredictOptions, 'write' | 'scores' | 'header'> = {},
): AsyncGenerator<PredictedRows, PredictResult> {
  const loaded = await asModel(model)
  const texts = loaded.labels.map(label => label.text)
  const answer = options.probability ? 'numbers-and-probabilities' : 'numbers'
  // Hand-over of one: the worker side waits until the piece before has been taken.
  let deliver: ((piece: RowsAnswered | undefined) => void) | undefined
  let taken: (() => void) | undefined
  const next = (): Promise<RowsAnswered | undefined> => new Promise(resolve => (deliver = resolve))
  let waiting = next()
  // A program that leaves the loop early ends the run with it.
  const left = new AbortController()
  const signal = options.signal ? AbortSignal.any([options.signal, left.signal]) : left.signal
  const finished = run(data, loaded, { ...options, signal }, answer, chunk => {
    if (left.signal.aborted) return
    deliver!(chunk)
    return new Promise<void>(resolve => (taken = resolve))
  }).finally(() => deliver!(undefined))
  finished.catch(() => {})
  try {
    for (;;) {
      const piece = await waiting
      if (!piece) return await finished
      const { classes, scores, probabilities } = piece
      yield { labels: Array.from(classes!, k => texts[k]), scores: scores!, ...(probabilities && { probabilities }) }
      waiting = next()
      taken!()
    }
  } finally {
    left.abort()
    taken?.()
    await finished.catch(() => {})
  }
}

async function asModel(model: Model | string): Promise<Model> {
  return typeof model === 'string' ? loadModel(model) : model
}

/** What is made of data, wherever its rows are. */
interface Prediction {
  model: Model
  options: PredictOptions
  settings: AnswerSettings
  /** Hears of every piece of answers, in order. */
  take(answered: RowsAnswered, rows: number, read: Omit<PredictProgress, 'seconds' | 'rows'>): Promise<void>
}

type Account = Pick<PredictResult, 'badRows' | 'badRowMessages' | 'bytesRead' | 'unlabelled'>

async function run(
  data: DataFor<RowToRead>,
  model: Model,
  options: PredictOptions,
  answer: AnswerSettings['answer'],
  deliver: (answered: RowsAnswered) => void | Promise<void>,
): Promise<PredictResult> {
  const { evaluate = false } = options
  const calibrations = options.probability ? requireCalibrations(model) : evaluate ? calibrationsOf(model) : undefined
  const evaluation = evaluate ? newEvaluation(model) : undefined
  const started = performance.now()
  const seconds = (): number => (performance.now() - started) / 1000
  let [rows, correct, weight, weighted] = [0, 0, 0, false]
  const prediction: Prediction = {
    model,
    options,
    settings: { labels: model.labels, answer, calibrations, evaluate },
    async take(answered, count, read) {
      rows += count
      correct += answered.correct
      weight += answered.weight ?? count
      weighted ||= answered.weight !== undefined
      if (answered.evaluated) addTo(evaluation!, answered.evaluated)
      await deliver(answered)
      options.progress?.({ seconds: seconds(), rows, ...read })
    },
  }
  const [path] = typeof data === 'string' ? [data] : Array.isArray(data) && data.length === 1 ? data : [undefined]
  const store = typeof path === 'string' && !isQuery(path) ? await storeAt(path) : undefined
  const account = store ? await runStore(store, prediction) : await runText(data, prediction)
  return {
    rows,
    ...(weighted && { weight }),
    accuracy: rows > 0 ? correct / weight : 0,
    correct,
    ...account,
    seconds: seconds(),
    ...(evaluation && { evaluation: evaluation.report() }),
    ...(evaluation && options.curves && { curves: evaluation.curves() }),
  }
}

async function runStore(store: Store, { model, options, settings, take }: Prediction): Promise<Account> {
  checkStore(store, model, options)
  const arena = placeOfLent(model.weights)?.arena ?? new Arena()
  const bytesTotal = store.manifest.blocks.reduce((sum, block) => sum + block.bytes, 0)
  let bytesRead = 0
  for await (const answered of answersOfStore({ arena, store, model, settings, signal: options.signal })) {
    bytesRead = answered.bytesRead
    await take(answered, answered.rows, { bytesRead, bytesTotal, badRows: 0 })
  }
  return { badRows: 0, badRowMessages: [], bytesRead }
}

async function runText(data: DataFor<RowToRead>, { model, options, settings, take }: Prediction): Promise<Account> {
  // Lent weights are scored with where they are, in little memory besides: there was no room for a copy of them. What is
  // allocated there stays, for other runs may be under way.
  const lent = placeOfLent(model.weights)
  const arena = lent?.arena ?? new Arena()
  const { indexBase = model.indexBase } = options
  using from = pathsOf(data, { indexBase, needsLabel: false })
  await using spooled = await spoolToPredict(from.paths, model, options)
  const { paths } = spooled
  using _labels = nameLabels(paths, options.labels)
  const reading = readingFor(model, { ...options, ...spooled.reading }, from.given)
  const sparing = options.sparing ?? usableMemory() < LITTLE_MEMORY
  const pool = sparing
    ? new ThreadPool(arena.share, 1, { inPlace: 'small' })
    : await poolForText(arena, paths, options.threads, lent === undefined)
  const expand = model.transforms.expand?.steps
  try {
    const scorer = placeModel(arena, model, sparing)
    const chunkBytes = lent || sparing ? SMALL_CHUNK_BYTES : CHUNK_BYTES
    const reader = new RowReader(arena, pool, { ...reading, chunkBytes })
    let labelled: boolean | undefined
    await reader.read(
      paths,
      (_, toParse) =>
        pool.run(predictChunkTask, {
          ...toParse,
          parse: { ...toParse.parse, indexBase },
          expand,
          scorer,
          ...settings,
        }),
      async ({ about }, predicted) => {
        const { bytesRead, bytesTotal, badRows } = reader
        labelled ||= hasLabels(model, about)
        await take(predicted, predicted.rows, { bytesRead, bytesTotal, badRows })
      },
    )
    const { badRows, badRowMessages, bytesRead } = reader
    return { badRows, badRowMessages, bytesRead, ...(labelled === false && { unlabelled: true }) }
  } finally {
    await pool.close()
  }
}

/** Whether a chunk of data has labels: a table may lack their column. */
function hasLabels({ schema }: Model, about: unknown): boolean {
  if (!schema) return true
  const place = schema.columns.findIndex(({ role }) => role === 'label')
  return (about as MatchedText).order.includes(place)
}

/** How data is read for a model, or lines of given rows. */
function readingFor(model: Model, options: PredictOptions, given: boolean): RowsToRead {
  const format = options.format ?? model.inputFormat ?? usualInputFormat.name
  return {
    format: given ? formatForRows({ ...options, format }) : format,
    indexBase: options.indexBase,
    table: { schema: model.schema, needsLabel: false, header: options.tableHeader },
    onBadRow: options.onBadRow ?? 'fail',
    // Rows are scored by what the weights were trained on: a value that is read otherwise is another value.
    valueBits: model.values === 'f64' ? 64 : 32,
    fit: fitFor(model.transforms.expand?.steps),
    signal: options.signal,
  }
}

/** Of two classes the areas are about the one of the larger label: 1 of 1 and −1, 1 of 0 and 1. */
function newEvaluation({ labels }: Model): Evaluation {
  const positive = labels.length === 2 && compareLabels(labels[1], labels[0]) > 0 ? 1 : 0
  return new Evaluation(
    labels.map(label => label.text),
    { positive },
  )
}

/** Classes that the model does not know get one number each for all chunks. */
function addTo(evaluation: Evaluation, { others, ...rows }: EvaluatedChunk): void {
  const numbers = others.map(label => evaluation.otherClass(labelKey(label), label.text))
  const { truth } = rows
  if (others.length > 0) for (let r = 0; r < truth.length; r++) if (truth[r] < 0) truth[r] = numbers[-1 - truth[r]]
  evaluation.add(rows)
}
