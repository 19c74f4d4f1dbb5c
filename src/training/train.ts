// `train`: data in, model out. It reads, trains every binary problem, and tells how it goes; it never prints.
import { statSync } from 'node:fs'
import { openStore } from '../block-store/reader.ts'
import { SpillwayError, UsageError } from '../errors.ts'
import { scaleInMemory } from '../features/scale.ts'
import { findLoss } from '../losses/all-losses.ts'
import { saveModel } from '../model/files.ts'
import { type Model, type Certificate as ModelCertificate, makeModel } from '../model/model.ts'
import { Arena } from '../numeric/arena.ts'
import { findSolver } from '../solvers/all-solvers.ts'
import { checkCompatible } from '../solvers/solver.ts'
import { defaultThreads, ThreadPool } from '../threads/pool.ts'
import { version } from '../version.ts'
import { type ExitReason, type Solution, solve } from './driver.ts'
import type { LabelCount } from './label-numbers.ts'
import { loadRows, type ReadReport } from './load-rows.ts'
import { loadStore } from './load-store.ts'
import { type ResolvedOptions, resolveOptions, type TrainOptions } from './options.ts'
import { BinaryProblem } from './problem.ts'
import type { Progress, ProgressListener } from './progress.ts'
import { byFeature, renumberFeatures } from './renumber-features.ts'
import type { RowSet } from './row-set.ts'

export interface TrainResult {
  model: Model
  solver: string
  loss: string
  cost: number
  rows: number
  features: number
  nonzeros: number
  classes: number
  passes: number
  primal: number
  dual: number
  gap: number
  supportVectors: number
  seconds: { total: number; read: number; compute: number; write: number }
  bytesRead: number
  peakMemoryBytes: number
  exitReason: ExitReason
  trainingAccuracy: number
  badRows: number
  badRowMessages: string[]
}

/** A model fresh from training: it can put itself on disk. */
export type TrainedModel = Model & { save(path: string): Promise<void> }

/** A run under way: iterate over it for progress; `model` and `result` come at its end. */
export class TrainingRun implements AsyncIterable<Progress> {
  readonly result: Promise<TrainResult>
  readonly model: Promise<TrainedModel>
  readonly #records: Progress[] = []
  #ended = false
  #wake: (() => void)[] = []

  constructor(work: (tell: ProgressListener) => Promise<TrainResult>) {
    this.result = work(record => {
      this.#records.push(record)
      this.#notify()
    }).finally(() => {
      this.#ended = true
      this.#notify()
    })
    this.model = this.result.then(({ model }) => ({ ...model, save: path => saveModel(path, model) }))
    // Whoever awaits neither promise learns of a failure by iterating; nobody gets an unhandled rejection.
    this.result.catch(() => {})
    this.model.catch(() => {})
  }

  #notify(): void {
    for (const wake of this.#wake.splice(0)) wake()
  }

  async *[Symbol.asyncIterator](): AsyncIterator<Progress> {
    for (let k = 0; ; k++) {
      while (k >= this.#records.length) {
        if (this.#ended) {
          await this.result
          return
        }
        await new Promise<void>(resolve => this.#wake.push(resolve))
      }
      yield this.#records[k]
    }
  }
}

/** Trains on one or more files. Starts at once; options are checked before anything is read. */
export function train(data: string | string[], options: TrainOptions = {}): TrainingRun {
  const resolved = resolveOptions(options)
  const paths = typeof data === 'string' ? [data] : data
  if (paths.length === 0) throw new UsageError('no data was named')
  const solver = findSolver(resolved.solver === 'auto' ? 'dual' : resolved.solver)
  const loss = findLoss(resolved.loss)
  checkCompatible(solver, loss)
  return new TrainingRun(tell => runTraining(paths, resolved, tell))
}

async function runTraining(paths: string[], options: ResolvedOptions, tell: ProgressListener): Promise<TrainResult> {
  const started = performance.now()
  const seconds = (): number => (performance.now() - started) / 1000
  const arena = new Arena()
  const pool = new ThreadPool(arena.share, options.threads ?? defaultThreads())
  try {
    const throttled = throttle(tell, 50)
    const { rows, read } = await load(arena, pool, paths, options, ({ bytesRead, bytesTotal, rows, badRows }) =>
      throttled({ stage: 'read', seconds: seconds(), bytesRead, bytesTotal, rows, badRows }),
    )
    // An abort while reading leaves part of the data: whatever comes of it, the run was interrupted.
    const cutShort = options.signal?.aborted === true
    checkRows(rows, paths, cutShort)
    await renumberFeatures(arena, pool, rows)
    const factors = options.scale && scaleInMemory(arena, rows, options.scale, options.normalize === 'unit')
    const readSeconds = seconds()
    const trained = await trainClasses(arena, pool, rows, options, seconds, tell)
    if (cutShort) trained.certificate.exitReason = 'interrupted'
    const model = makeModel({
      labels: trained.labels.map(({ value, text }) => ({ value, text })),
      features: rows.features,
      weights: byFeature(rows, trained.vectors, trained.weights),
      bias: options.bias,
      biasWeights: options.bias === 0 ? new Float64Array(0) : trained.biasWeights,
      indexBase: rows.indexBase === 0 ? 0 : 1,
      loss: options.loss,
      cost: options.cost,
      solver: trained.solver,
      seed: options.seed,
      classWeights: Object.entries(options.classWeights).map(([label, weight]) => ({ label, weight })),
      transforms: {
        ...(options.normalize && { normalize: options.normalize }),
        ...(options.scale && factors && { scale: { kind: options.scale, factors: byFeature(rows, 1, factors) } }),
      },
      certificate: trained.certificate,
      classCertificates: trained.solutions.length > 1 ? trained.solutions.map(asModelCertificate) : [],
      data: {
        fingerprint: rows.fingerprint,
        rows: rows.rows,
        nonzeros: rows.nonzeros,
        sources: rows.sources.map(({ name }) => name),
      },
      createdBy: `spillway ${version}`,
    })
    const { passes, exitReason } = trained.certificate
    return {
      model,
      solver: trained.solver,
      loss: options.loss,
      cost: options.cost,
      rows: rows.rows,
      features: rows.features,
      nonzeros: rows.nonzeros,
      classes: rows.labels.length,
      passes,
      primal: trained.certificate.primal!,
      dual: trained.certificate.dual!,
      gap: trained.certificate.gap!,
      supportVectors: trained.certificate.supportVectors!,
      seconds: { total: seconds(), read: readSeconds, compute: seconds() - readSeconds, write: 0 },
      bytesRead: read.bytesRead,
      peakMemoryBytes: process.resourceUsage().maxRSS * 1024,
      exitReason: exitReason as ExitReason,
      trainingAccuracy: trained.trainingAccuracy,
      badRows: read.badRows,
      badRowMessages: read.badRowMessages,
    }
  } finally {
    await pool.close()
  }
}

/** Rows from text, or from a store when one folder is named. */
async function load(
  arena: Arena,
  pool: ThreadPool,
  paths: string[],
  options: ResolvedOptions,
  report: (progress: ReadReport) => void,
): Promise<{ rows: RowSet; read: ReadReport }> {
  // Scaling changes values, so rows are kept plain for it, and made unit length after it.
  const pack = { unit: options.normalize === 'unit' && !options.scale, plain: options.scale !== undefined }
  const folders = paths.filter(path => statSync(path, { throwIfNoEntry: false })?.isDirectory())
  if (folders.length > 0) {
    if (paths.length > 1) throw new UsageError(`${folders[0]} is a folder; a store is trained on alone`)
    return loadStore(arena, pool, await openStore(paths[0]), pack, report, options.signal)
  }
  const settings = {
    format: 'libsvm',
    indexBase: options.indexBase,
    onBadRow: options.onBadRow,
    valueBits: options.values === 'f64' ? (64 as const) : (32 as const),
  }
  return loadRows(arena, pool, paths, settings, pack, report, options.signal)
}

function checkRows(rows: RowSet, paths: string[], cutShort: boolean): void {
  const where = paths.map(path => (path === '-' ? 'standard input' : path)).join(', ')
  if (cutShort && rows.labels.length < 2) {
    const found = rows.rows === 0 ? 'no rows were' : `only rows of the label ${rows.labels[0].text} were`
    throw new SpillwayError(`interrupted when ${found} read from ${where} yet: there is no model`, undefined, 130)
  }
  if (rows.rows === 0) throw new SpillwayError(`${where} has no rows`, 'a row is LABEL INDEX:VALUE INDEX:VALUE …')
  if (rows.labels.length < 2) {
    throw new SpillwayError(
      `all ${rows.rows} rows of ${where} have the label ${rows.labels[0].text}: there is nothing to tell apart`,
      'training needs rows of at least two classes',
    )
  }
}

interface Trained {
  labels: LabelCount[]
  vectors: number
  /** By weight, the vectors' numbers together. */
  weights: Float64Array
  biasWeights: Float64Array
  solver: string
  solutions: Solution[]
  certificate: ModelCertificate
  trainingAccuracy: number
}

/** One binary problem for two classes (the larger label is positive), one against the rest for each of more. */
async function trainClasses(
  arena: Arena,
  pool: ThreadPool,
  rows: RowSet,
  options: ResolvedOptions,
  seconds: () => number,
  tell: ProgressListener,
): Promise<Trained> {
  const solver = findSolver(options.solver === 'auto' ? 'dual' : options.solver)
  const loss = findLoss(options.loss)
  const labels = rows.labels.map((label, number) => ({ ...label, number }))
  if (labels.length === 2) labels.sort((a, b) => b.value - a.value)
  else labels.sort((a, b) => a.value - b.value)
  const weightOf = classWeightLookup(labels, options.classWeights)
  const binary = labels.length === 2
  const problems = binary ? labels.slice(0, 1) : labels
  const K = problems.length
  const weights = new Float64Array(rows.weights * K)
  const biasWeights = new Float64Array(K)
  const solutions: Solution[] = []
  const { tolerance, maxPasses, seed, shrinking, signal } = options
  for (const [k, label] of problems.entries()) {
    const mark = arena.mark()
    const problem = new BinaryProblem(arena, rows, {
      loss,
      costPositive: options.cost * weightOf(label),
      // Against the rest, only the class itself is weighted, as LIBLINEAR does.
      costNegative: options.cost * (binary ? weightOf(labels[1]) : 1),
      bias: options.bias,
      positive: label.number,
      weightBits: options.weights === 'f32' ? 32 : 64,
    })
    const settings = { tolerance, maxPasses, seed, shrinking, signal }
    solutions.push(
      await solve(pool, solver, problem, settings, progress =>
        tell({ stage: 'train', seconds: seconds(), ...progress, problem: k + 1, problems: K }),
      ),
    )
    const w = problem.copyWeights()
    for (let j = 0; j < rows.weights; j++) weights[j * K + k] = w[j]
    biasWeights[k] = w[rows.weights]
    arena.release(mark)
  }
  return {
    labels,
    vectors: K,
    weights,
    biasWeights,
    solver: solver.name,
    solutions,
    certificate: sumOf(solutions),
    trainingAccuracy: binary ? solutions[0].certificate.trainingAccuracy : Number.NaN,
  }
}

function asModelCertificate({ certificate, passes, exitReason }: Solution): ModelCertificate {
  const { primal, dual, gap, supportVectors } = certificate
  return { primal, dual, gap, supportVectors, passes, exitReason }
}

/** Several problems together: objectives add up, and the run is as good as its worst part. */
function sumOf(solutions: Solution[]): ModelCertificate {
  const sum = (pick: (solution: Solution) => number): number => solutions.reduce((total, s) => total + pick(s), 0)
  const primal = sum(s => s.certificate.primal)
  const dual = sum(s => s.certificate.dual)
  const order: ExitReason[] = ['converged', 'max-passes', 'interrupted']
  return {
    primal,
    dual,
    gap: solutions.length === 1 ? solutions[0].certificate.gap : primal > 0 ? (primal - dual) / primal : 0,
    passes: Math.max(...solutions.map(s => s.passes)),
    supportVectors: sum(s => s.certificate.supportVectors),
    exitReason: order[Math.max(...solutions.map(s => order.indexOf(s.exitReason)))],
  }
}

/** Weights by label: "1" and "+1" name the same class. A label that the data does not have is refused. */
function classWeightLookup(labels: LabelCount[], given: Record<string, number>): (label: LabelCount) => number {
  const byValue = new Map<number, number>()
  for (const [text, weight] of Object.entries(given)) {
    const value = Number(text)
    if (!labels.some(label => label.value === value)) {
      const known = labels.map(label => label.text).join(', ')
      throw new UsageError(
        `a class weight names the label ${text}, which the data does not have; its labels are ${known}`,
      )
    }
    byValue.set(value, weight)
  }
  return label => byValue.get(label.value) ?? 1
}

/** Passes on at most one record in so many milliseconds. */
function throttle<T>(tell: (record: T) => void, milliseconds: number): (record: T) => void {
  let last = Number.NEGATIVE_INFINITY
  return record => {
    const now = performance.now()
    if (now - last < milliseconds) return
    last = now
    tell(record)
  }
}
