// From scores to probabilities: the same models are trained once more for each fold, without its rows, which they then score.

import type { Store } from '../block-store/reader.ts'
import { UsageError } from '../errors.ts'
import type { LabelCount } from '../input-formats/label-numbers.ts'
import { findLoss } from '../losses/all-losses.ts'
import { isSparse, trainsTogether } from '../losses/formulations.ts'
import { type Calibration, fitCalibration } from '../model/calibration.ts'
import { underLimits } from '../optimise/solvers/compatibility.ts'
import type { BlockSolver } from '../optimise/solvers/solver.ts'
import { BlocksTooLarge, TooLittleMemory } from '../optimise/sources/memory-plan.ts'
import type { Communicator } from '../ranks/communicator.ts'
import { gatherBytes, onAnyRank } from '../ranks/records.ts'
import { CALIBRATION, CALIBRATION_FOLDS, solverOfCalibration } from './calibration-folds.ts'
import { classProblems, type FoldedProblem, heldOutProblems } from './class-problems.ts'
import { type FoldedModels, type HeldOut, heldOutOverBlocks } from './held-out.ts'
import { DEFAULTS, type ResolvedOptions } from './options.ts'
import { planRun, runOfFolds } from './plan-run.ts'
import type { ProgressListener } from './progress.ts'
import { rowsOfStore } from './rows-of-store.ts'

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
  // The same room for every class.
  const own = new Uint8Array(held.classes.length)
  let all = new Float64Array(0)
  for (const [k, { positive }] of problems.entries()) {
    for (let row = 0; row < own.length; row++) own[row] = held.classes[row] === positive ? 1 : 0
    const flags = await gatherBytes(ranks, own)
    const scores = ranks.size === 1 ? columns[k] : await gatherScores(ranks, columns[k])
    if (all.length !== scores.length) all = new Float64Array(scores.length)
    all.set(scores)
    calibrations.push(fitCalibration(calibrate!, all, flags, weights))
  }
  return calibrations
}

async function gatherScores(ranks: Communicator, own: Float32Array): Promise<Float32Array> {
  return new Float32Array((await gatherBytes(ranks, new Uint8Array(own.slice().buffer))).buffer)
}

/** Weights of the rows of all ranks, where any of them has some. */
async function weightsOfRanks({ classes, weights }: HeldOut, ranks: Communicator): Promise<Float64Array | undefined> {
  if (ranks.size === 1) return weights
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
  return heldOutOverBlocks(
    {
      ...{ paths: [store], solver: solverOfCalibration(asked), ...CALIBRATION, tell },
      options: optionsOfFolds(options),
      problemsOf: labels => modelsToCalibrate(problemsOf(labels)).problems,
    },
    (held, _, place) => calibrationsOf(held, problemsOf(place.facts.labels), options),
  )
}

/** What was said about text has been done. */
function optionsOfFolds(options: ResolvedOptions): ResolvedOptions {
  const said = { given: new Set<string>(), store: undefined, blocks: undefined, resume: false }
  return { ...options, ...said, innerPasses: DEFAULTS.innerPasses }
}

/** Refuses a memory in which the models of a store can be trained, but not those of folds: before any is trained. What an expansion
 *  makes of the rows is not known yet. */
export async function refuseTooLittleToCalibrate(
  store: Store,
  asked: BlockSolver,
  given: ResolvedOptions,
): Promise<void> {
  if (given.memory === undefined || given.expand !== undefined || given.ranks.size > 1) return
  const { firstPass: _, ...solver } = solverOfCalibration(asked)
  const options = underLimits(solver, optionsOfFolds(given))
  const { labels, rowWeights } = store.manifest
  const classes = labels.filter(label => label.rows > 0).length
  const run = runOfFolds(solver, classes > 2 ? classes : 1, CALIBRATION, options, rowWeights === true)
  try {
    await planRun(store, solver, options, { rows: await rowsOfStore(store, options), ...run })
  } catch (error) {
    // Blocks are split when their time comes.
    if (error instanceof BlocksTooLarge) return
    if (!(error instanceof TooLittleMemory)) throw error
    throw error.reworded(`for the models of folds that --calibrate trains, ${error.message}`)
  }
}
