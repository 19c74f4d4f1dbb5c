// Training with all rows in memory: read, renumber, scale, and solve every binary problem.
import { statSync } from 'node:fs'
import { inputFormatOf } from '../block-store/manifest.ts'
import { openStore } from '../block-store/reader.ts'
import { SpillwayError, UsageError } from '../errors.ts'
import { checkExpandable } from '../features/expansion-steps.ts'
import { scaleInMemory } from '../features/scale.ts'
import { findInputFormat } from '../input-formats/all-input-formats.ts'
import { findLoss } from '../losses/all-losses.ts'
import { Arena } from '../numeric/arena.ts'
import type { MemorySolver } from '../solvers/solver.ts'
import { defaultThreads, ThreadPool } from '../threads/pool.ts'
import { classProblems, refuseBareLabels } from './class-problems.ts'
import { type Solution, solve } from './driver.ts'
import { loadRows, type ReadReport } from './load-rows.ts'
import { loadStore } from './load-store.ts'
import { expansionOf, type ResolvedOptions, refuseTextOptions } from './options.ts'
import type { TrainingOutcome } from './outcome.ts'
import { BinaryProblem } from './problem.ts'
import type { ProgressListener } from './progress.ts'
import { byFeature, renumberFeatures } from './renumber-features.ts'
import type { RowSet } from './row-set.ts'

export async function trainInMemory(
  paths: string[],
  solver: MemorySolver,
  options: ResolvedOptions,
  tell: ProgressListener,
): Promise<TrainingOutcome> {
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
    checkRows(rows, paths, cutShort, read.badRows)
    await renumberFeatures(arena, pool, rows)
    const factors = options.scale && scaleInMemory(arena, rows, options.scale, options.normalize === 'unit')
    const readSeconds = seconds()
    const { labels, problems } = classProblems(rows.labels, findLoss(options.loss), options)
    const K = problems.length
    const weights = new Float64Array(rows.weights * K)
    const biasWeights = new Float64Array(K)
    const solutions: Solution[] = []
    for (const [k, settings] of problems.entries()) {
      const mark = arena.mark()
      const problem = new BinaryProblem(arena, rows, settings)
      const solution = await solve(pool, solver, problem, options, progress =>
        tell({ stage: 'train', seconds: seconds(), ...progress, problem: k + 1, problems: K }),
      )
      solutions.push(cutShort ? { ...solution, exitReason: 'interrupted' } : solution)
      const w = problem.copyWeights()
      for (let j = 0; j < rows.weights; j++) weights[j * K + k] = w[j]
      biasWeights[k] = w[rows.weights]
      arena.release(mark)
    }
    return {
      data: rows,
      labels,
      weights: byFeature(rows, K, weights),
      biasWeights,
      factors: factors && byFeature(rows, 1, factors),
      solver: solver.name,
      solutions,
      readSeconds,
      bytesRead: read.bytesRead,
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
  const make = {
    unit: options.normalize === 'unit' && !options.scale,
    plain: options.scale !== undefined,
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
  if (rows.rows === 0) throw new SpillwayError(`${where} has no rows`, `a row is ${findInputFormat(rows.format).row}`)
  if (rows.labels.length < 2) {
    throw new SpillwayError(
      `all ${rows.rows} rows of ${where} have the label ${rows.labels[0].text}: there is nothing to tell apart`,
      'training needs rows of at least two classes',
    )
  }
  refuseBareLabels(rows.labels, rows.nonzeros, where, rows.format)
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
