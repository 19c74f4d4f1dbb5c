// From scores to probabilities: the same models are trained once more for each fold, without its rows, which they then score.

import { UsageError } from '../errors.ts'
import type { LabelCount } from '../input-formats/label-numbers.ts'
import { findLoss } from '../losses/all-losses.ts'
import { isSparse, trainsTogether } from '../losses/formulations.ts'
import { type Calibration, fitCalibration } from '../model/calibration.ts'
import { block } from '../optimise/solvers/block.ts'
import type { BlockSolver } from '../optimise/solvers/solver.ts'
import type { Communicator } from '../ranks/communicator.ts'
import { gatherBytes, onAnyRank } from '../ranks/records.ts'
import { classProblems, type FoldedProblem, heldOutProblems } from './class-problems.ts'
import { type FoldedModels, type HeldOut, heldOutOverBlocks } from './held-out.ts'
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

/** Models of folds, to be trained together with those that they calibrate. */
export function modelsToCalibrate(problems: FoldedProblem[]): FoldedModels {
  return { problems: heldOutProblems(problems, CALIBRATION_FOLDS), folds: CALIBRATION_FOLDS }
}

/** Fits calibrations on the held-out rows of all ranks: each deals its own rows into folds. */
export async function calibrationsOf(
  held: HeldOut,
  problems: FoldedProblem[],
  { calibrate, ranks }: ResolvedOptions,
): Promise<Calibration[]> {
  const calibrations: Calibration[] = []
  const columns = held.columns()
  const weights = await weightsOfRanks(held, ranks)
  for (const [k, { positive }] of problems.entries()) {
    const flags = await gatherBytes(
      ranks,
      Uint8Array.from(held.classes, number => (number === positive ? 1 : 0)),
    )
    const scores = await gatherBytes(ranks, new Uint8Array(columns[k].slice().buffer))
    calibrations.push(fitCalibration(calibrate!, Float64Array.from(new Float32Array(scores.buffer)), flags, weights))
  }
  return calibrations
}

/** Weights of the rows of all ranks, where any of them has some. */
async function weightsOfRanks({ classes, weights }: HeldOut, ranks: Communicator): Promise<Float64Array | undefined> {
  if (!(await onAnyRank(ranks, weights !== undefined))) return undefined
  const own = weights ? Float64Array.from(weights) : new Float64Array(classes.length).fill(1)
  return new Float64Array((await gatherBytes(ranks, new Uint8Array(own.buffer))).buffer)
}

/** The same from a store: models of folds are trained together, over its blocks. `asked`: the solver of the models. */
export function calibrateOverBlocks(
  store: string,
  asked: BlockSolver,
  options: ResolvedOptions,
  tell: ProgressListener,
): Promise<Calibration[]> {
  const problemsOf = (labels: LabelCount[]) => classProblems(labels, options).problems
  // What was said about text has been done.
  const said = { given: new Set<string>(), store: undefined, blocks: undefined, resume: false }
  return heldOutOverBlocks(
    {
      // Where there is an index, it serves these models, too.
      ...{ paths: [store], solver: asked.needsIndex ? asked : block, folds: CALIBRATION_FOLDS, tell },
      options: { ...options, ...said, innerPasses: DEFAULTS.innerPasses },
      problemsOf: labels => modelsToCalibrate(problemsOf(labels)).problems,
    },
    (held, _, place) => calibrationsOf(held, problemsOf(place.facts.labels), options),
  )
}
