// Training with all rows in memory: read, renumber, scale, and solve every binary problem.
import { statSync } from 'node:fs'
import { widthOf } from '../additive-kernels/row-space.ts'
import { loadStore } from '../block-store/load-store.ts'
import { inputFormatOf } from '../block-store/manifest.ts'
import { openStore } from '../block-store/reader.ts'
import { SpillwayError, UsageError } from '../errors.ts'
import { checkExpandable } from '../features/expansion-steps.ts'
import { findInputFormat } from '../input-formats/all-input-formats.ts'
import { findLoss } from '../losses/all-losses.ts'
import { type Calibration, fitCalibration } from '../model/calibration.ts'
import { Arena } from '../numeric/arena.ts'
import { type Solution, solve } from '../optimise/driver/driver.ts'
import { shorten } from '../optimise/objectives/line-search.ts'
import { BinaryProblem, type ProblemSettings } from '../optimise/objectives/problem.ts'
import type { MemorySolver } from '../optimise/solvers/solver.ts'
import { NODE_BYTES } from '../optimise/sources/memory-plan.ts'
import { classesOf, dealFolds } from '../rows/folds.ts'
import { loadRows, type ReadReport } from '../rows/load-rows.ts'
import { binInMemory, placeSpace } from '../rows/place-space.ts'
import { byFeature, inSpace, renumberFeatures } from '../rows/renumber-features.ts'
import type { RowSet } from '../rows/row-set.ts'
import { scaleInMemory } from '../rows/scale.ts'
import { defaultThreads, ThreadPool } from '../threads/pool.ts'
import { allowedMemory, WINDOW_BYTES } from './choose-solver.ts'
import { classProblems, refuseUnlearnable } from './class-problems.ts'
import { expansionOf, type ResolvedOptions, refuseTextOptions } from './options.ts'
import type { TrainingOutcome } from './outcome.ts'
import type { ProgressListener } from './progress.ts'
import { trainCrammerSinger } from './train-crammer-singer.ts'
import { ManyModels } from './train-together.ts'

export async function trainInMemory(
  paths: string[],
  solver: MemorySolver,
  options: ResolvedOptions,
  tell: ProgressListener,
): Promise<TrainingOutcome> {
  return withRowsInMemory(paths, options, tell, rows => solveInMemory(rows, solver, options, tell))
}

/** Rows that are ready to be trained on, and what they can be trained with. */
export interface RowsInMemory {
  arena: Arena
  pool: ThreadPool
  rows: RowSet
  read: ReadReport
  factors: Float64Array | undefined
  /** Whether the run was interrupted while rows were read. */
  cutShort: boolean
  readSeconds: number
  /** Since the work began. */
  seconds(): number
}

/** Reads rows, has something done with them, and gives their memory back. */
export async function withRowsInMemory<T>(
  paths: string[],
  options: ResolvedOptions,
  tell: ProgressListener,
  work: (rows: RowsInMemory) => Promise<T>,
): Promise<T> {
  const started = performance.now()
  const seconds = (): number => (performance.now() - started) / 1000
  const arena = new Arena()
  const pool = new ThreadPool(arena.share, options.threads ?? defaultThreads())
  try {
    const throttled = throttle(tell, 50)
    if (options.space && !options.scale) placeSpace(arena, options.space, false)
    const { rows, read } = await load(arena, pool, paths, options, ({ bytesRead, bytesTotal, rows, badRows }) =>
      throttled({ stage: 'read', seconds: seconds(), bytesRead, bytesTotal, rows, badRows }),
    )
    // An abort while reading leaves part of the data: whatever comes of it, the run was interrupted.
    const cutShort = options.signal?.aborted === true
    checkRows(rows, paths, cutShort, read.badRows)
    await renumberFeatures(arena, pool, rows)
    const unit = options.normalize === 'unit'
    const { space, scale } = options
    const factors = !scale
      ? undefined
      : space
        ? binInMemory(arena, rows, space, unit)
        : scaleInMemory(arena, rows, scale, unit)
    if (space) rows.weights *= widthOf(space)
    return await work({ arena, pool, rows, read, factors, cutShort, readSeconds: seconds(), seconds })
  } finally {
    await pool.close()
  }
}

/** Solves every binary problem over rows in memory. */
export async function solveInMemory(
  loaded: RowsInMemory,
  solver: MemorySolver,
  options: ResolvedOptions,
  tell: ProgressListener,
): Promise<TrainingOutcome> {
  const { arena, pool, rows, read, factors, cutShort, readSeconds, seconds } = loaded
  const classes = classProblems(rows.labels, findLoss(options.loss), options)
  const { labels, problems } = classes
  const joint = options.multiclass === 'crammer-singer'
  const K = joint ? labels.length : problems.length
  const width = options.space ? widthOf(options.space) : 1
  let weights: Float64Array = new Float64Array(joint ? 0 : rows.weights * K)
  let biasWeights: Float64Array = new Float64Array(K)
  const solutions: Solution[] = []
  const put = (k: number, solution: Solution, w: Float64Array): void => {
    solutions[k] = cutShort ? { ...solution, exitReason: 'interrupted' } : solution
    shorten(w, solution)
    for (let j = 0; j < rows.weights; j++) weights[j * K + k] = w[j]
    biasWeights[k] = w[rows.weights]
  }
  let calibrations: Calibration[] | undefined
  if (joint) {
    const all = await trainCrammerSinger(arena, pool, solver, rows, classes, options, progress =>
      tell({ stage: 'train', seconds: seconds(), ...progress, problem: 1, problems: 1 }),
    )
    ;({ weights, biasWeights } = all)
    solutions.push(cutShort ? { ...all.solution, exitReason: 'interrupted' } : all.solution)
    // Weights in f32 are trained one vector after the other.
  } else if ((K > 1 || options.calibrate) && solver.name === 'dual' && options.weights === 'f64') {
    const say = (reason: string): void => tell({ stage: 'plan', solver: solver.name, reason })
    const held = options.calibrate && heldOutOf(loaded, problems, options)
    const all = [...problems, ...(held?.problems ?? [])]
    const settings = { ...options, room: roomForModels(arena, options), say }
    const many = new ManyModels(arena, pool, rows, settings, held?.folds)
    await many.train(
      all,
      (k, { solution, weights: w }) => k < K && put(k, solution, w),
      ({ pass, gap, done }) => {
        const models = { done, all: all.length }
        tell({ stage: 'train', seconds: seconds(), pass, gap, certified: false, models })
      },
      held?.scores,
    )
    calibrations = held?.calibrations()
  } else {
    for (const [k, settings] of problems.entries()) {
      const mark = arena.mark()
      const problem = new BinaryProblem(arena, rows, settings)
      const solution = await solve(pool, solver, problem, options, progress =>
        tell({ stage: 'train', seconds: seconds(), ...progress, problem: k + 1, problems: K }),
      )
      put(k, solution, problem.copyWeights())
      arena.release(mark)
    }
  }
  return {
    data: rows,
    labels,
    weights: inSpace(byFeature(rows, K * width, weights), width),
    biasWeights,
    ...(calibrations && { calibrations }),
    factors: factors && byFeature(rows, options.space ? 2 : 1, factors),
    solver: solver.name,
    solutions,
    readSeconds,
    bytesRead: read.bytesRead,
    badRows: read.badRows,
    badRowMessages: read.badRowMessages,
  }
}

/** For calibrations: the same models once more for each fold, without its rows, which they then score. */
function heldOutOf(loaded: RowsInMemory, problems: ProblemSettings[], options: ResolvedOptions) {
  const { arena, rows } = loaded
  const classes = classesOf(arena, rows)
  const folds = dealFolds(arena, classes, CALIBRATION_FOLDS, options.seed)
  const at = arena.allocateZeroed(problems.length * Math.max(rows.rows, 1) * 4, 'scores of rows that were held out')
  return {
    folds,
    scores: at,
    problems: Array.from({ length: CALIBRATION_FOLDS }, (_, heldOut) =>
      problems.map((problem, column) => ({ ...problem, heldOut, column })),
    ).flat(),
    calibrations: (): Calibration[] =>
      problems.map(({ positive }, k) =>
        calibrationOf(options, arena.f32(at + k * rows.rows * 4, rows.rows), classes, positive),
      ),
  }
}

/** Folds whose scores a calibration is fitted on. */
export const CALIBRATION_FOLDS = 5

export function calibrationOf(
  options: ResolvedOptions,
  scores: Float32Array,
  classes: Uint32Array,
  positive: number,
): Calibration {
  const flags = Uint8Array.from(classes, number => (number === positive ? 1 : 0))
  return fitCalibration(options.calibrate!, Float64Array.from(scores), flags)
}

/** Bytes that models may take besides the rows: what is allowed, inside the window that WebAssembly can address. */
export function roomForModels(arena: Arena, options: ResolvedOptions): number {
  const taken = arena.mark()
  return Math.max(0, Math.min(WINDOW_BYTES, allowedMemory(options) - NODE_BYTES) - taken)
}

/** Rows from text, or from a store when one folder is named. */
export async function load(
  arena: Arena,
  pool: ThreadPool,
  paths: string[],
  options: ResolvedOptions,
  report: (progress: ReadReport) => void,
): Promise<{ rows: RowSet; read: ReadReport }> {
  // Scaling changes values, so rows are kept plain for it, and made unit length after it.
  const make = {
    unit: options.normalize === 'unit' && !options.scale,
    plain: options.scale !== undefined,
    bins: options.space && !options.scale ? options.space.bins : 0,
    expansion: expansionOf(options),
  }
  const folders = paths.filter(path => statSync(path, { throwIfNoEntry: false })?.isDirectory())
  if (folders.length > 0) {
    if (paths.length > 1) throw new UsageError(`${folders[0]} is a folder; a store is trained on alone`)
    refuseTextOptions(options)
    const store = await openStore(paths[0])
    if (options.expand) checkExpandable(options.expand, findInputFormat(inputFormatOf(store.manifest)))
    return loadStore(arena, pool, store, make, report, options.signal)
  }
  const settings = {
    format: options.format,
    indexBase: options.indexBase,
    onBadRow: options.onBadRow,
    valueBits: options.values === 'f64' ? (64 as const) : (32 as const),
  }
  return loadRows(arena, pool, paths, settings, make, report, options.signal)
}

function checkRows(rows: RowSet, paths: string[], cutShort: boolean, badRows: number): void {
  const where = paths.map(path => (path === '-' ? 'standard input' : path)).join(', ')
  if (cutShort && rows.labels.length < 2) {
    const found = rows.rows === 0 ? 'no rows were' : `only rows of the label ${rows.labels[0].text} were`
    throw new SpillwayError(`interrupted when ${found} read from ${where} yet: there is no model`, undefined, 130)
  }
  if (rows.rows === 0 && badRows > 0) throw new SpillwayError(`none of the ${badRows} rows of ${where} can be read`)
  refuseUnlearnable(rows, where)
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
