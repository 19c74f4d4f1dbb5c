// From scores to probabilities: the same models are trained once more for each fold, without its rows, which they then score.

import { UsageError } from '../errors.ts'
import { findLoss } from '../losses/all-losses.ts'
import { isSparse, trainsTogether } from '../losses/formulations.ts'
import { type Calibration, fitCalibration } from '../model/calibration.ts'
import { block } from '../optimise/solvers/block.ts'
import { classesOf, dealFolds } from '../rows/folds.ts'
import { classProblems, type FoldedProblem, heldOutProblems } from './class-problems.ts'
import { scoreFoldsOverBlocks } from './folds-over-blocks.ts'
import type { LoadedRows } from './in-memory.ts'
import { DEFAULTS, type ResolvedOptions } from './options.ts'
import type { ProgressListener } from './progress.ts'

/** Folds whose scores a calibration is fitted on. */
const CALIBRATION_FOLDS = 5

export function checkCalibration({ calibrate, loss, weights, multiclass, regularizer }: ResolvedOptions): void {
  if (calibrate === undefined) return
  if (trainsTogether(multiclass))
    throw new UsageError(`calibrate is for models of one class against the rest, not for multiclass ${multiclass}`)
  if (isSparse(regularizer)) throw new UsageError(`calibrate is not compatible with the ${regularizer} regularizer`)
  if (findLoss(loss).probability)
    throw new UsageError(`calibrate would be ignored: scores of the ${loss} loss are probabilities as they are`)
  if (weights === 'f32') throw new UsageError('calibrate needs weights in f64')
}

/** Models of folds that are trained together with those that they calibrate, rows in memory. */
export class HeldOutInMemory {
  readonly problems: FoldedProblem[]
  /** Addresses of each row's fold, and of the columns of scores. */
  readonly folds: number
  readonly scores: number
  readonly #loaded: LoadedRows
  readonly #positives: number[]
  readonly #classes: Uint32Array
  readonly #options: ResolvedOptions

  constructor(loaded: LoadedRows, problems: FoldedProblem[], options: ResolvedOptions) {
    const { arena, rows } = loaded
    this.#loaded = loaded
    this.#options = options
    this.#positives = problems.map(({ positive }) => positive)
    this.#classes = classesOf(arena, rows)
    this.folds = dealFolds(arena, this.#classes, CALIBRATION_FOLDS, options.seed)
    const bytes = problems.length * Math.max(rows.rows, 1) * 4
    this.scores = arena.allocateZeroed(bytes, 'scores of rows that were held out')
    this.problems = heldOutProblems(problems, CALIBRATION_FOLDS)
  }

  calibrations(): Calibration[] {
    const { arena, rows } = this.#loaded
    return this.#positives.map((positive, k) => {
      const scores = arena.f32(this.scores + k * rows.rows * 4, rows.rows)
      return calibrationOf(this.#options, scores, this.#classes, positive)
    })
  }
}

/** The same from a store: models of folds are trained together, over its blocks. */
export async function calibrateOverBlocks(
  store: string,
  options: ResolvedOptions,
  tell: ProgressListener,
): Promise<Calibration[]> {
  // What was said about text has been done.
  const said = { given: new Set<string>(), store: undefined, blocks: undefined, resume: false }
  const { labels, classes, scores } = await scoreFoldsOverBlocks(
    [store],
    block,
    { ...options, ...said, innerPasses: DEFAULTS.innerPasses },
    CALIBRATION_FOLDS,
    labels => heldOutProblems(classProblems(labels, findLoss(options.loss), options).problems, CALIBRATION_FOLDS),
    tell,
  )
  const { problems } = classProblems(labels, findLoss(options.loss), options)
  return problems.map(({ positive }, k) => calibrationOf(options, scores[k], classes, positive))
}

function calibrationOf(
  options: ResolvedOptions,
  scores: Float32Array,
  classes: Uint32Array,
  positive: number,
): Calibration {
  const flags = Uint8Array.from(classes, number => (number === positive ? 1 : 0))
  return fitCalibration(options.calibrate!, Float64Array.from(scores), flags)
}
