// `tune`: tries costs by folds, and trains the model at the best.

import { SpillwayError, UsageError } from '../errors.ts'
import { askedSolver } from '../optimise/solvers/all-solvers.ts'
import { block } from '../optimise/solvers/block.ts'
import { climbCosts } from './climb-costs.ts'
import { type CrossValidateOptions, validateOverBlocks, whereToTrain } from './cross-validate.ts'
import { withRowsInMemory } from './in-memory.ts'
import { type ResolvedOptions, resolveOptions, type TrainOptions } from './options.ts'
import type { ProgressListener } from './progress.ts'
import { asResult, train, trainInMemory } from './train.ts'
import type { TrainResult } from './training-run.ts'
import { type CostResult, type CrossValidation, checkFolds } from './validation.ts'

export interface Tuning extends CrossValidation {
  /** The cost of the highest accuracy, the smallest of equals. */
  best: CostResult
  /** The smallest cost whose accuracy is within a standard error of the best. */
  simplest: CostResult
  /** The final model, trained on all rows at the best cost, unless none was asked for. */
  final?: TrainResult
}

export interface TuneOptions extends Omit<CrossValidateOptions, 'cost'> {
  /** Costs to try; without them, from a small one upwards by factors of 2 until nothing more changes. */
  costs?: number[]
  /** Which cost the final model is trained with, or none. */
  final?: 'best' | 'simplest' | 'none'
}

/** Without costs, over blocks: together, for a read costs more there than some models in vain. */
const WIDE_COSTS = Array.from({ length: 8 }, (_, k) => 2 ** (2 * k - 10))

/** Tries costs, and trains the model at the best. */
export async function tune(data: string | string[], options: TuneOptions = {}): Promise<Tuning> {
  const { folds = 5, costs, final = 'best', progress = () => {}, ...rest } = options
  const resolved = resolveOptions(rest)
  checkFolds(folds)
  if (costs) {
    if (costs.length === 0) throw new UsageError('no costs were named')
    for (const cost of costs) if (!(cost > 0) || !Number.isFinite(cost)) throw new UsageError(`a cost is ${cost}`)
  }
  const sorted = costs && [...new Set(costs)].sort((a, b) => a - b)
  const { paths, solver } = await whereToTrain(data, resolved, folds, progress)
  if (solver.data === 'blocks') {
    const work = { paths, solver, options: resolved, folds, tell: progress }
    const { validation, store } = await validateOverBlocks(work, sorted ?? WIDE_COSTS)
    const tuning = chosen(validation)
    if (final === 'none' || resolved.signal?.aborted) return tuning
    return withSeconds(tuning, await trainStore(store, rest, resolved, tuning[final].cost, progress))
  }
  return withRowsInMemory(paths, resolved, progress, async loaded => {
    const tuning = chosen(await climbCosts(loaded, solver, resolved, { folds, costs: sorted }))
    if (final === 'none' || resolved.signal?.aborted) return tuning
    const options = { ...resolved, cost: tuning[final].cost }
    const outcome = await trainInMemory(loaded, solver, options)
    const seconds = loaded.seconds()
    return {
      ...tuning,
      seconds: { ...tuning.seconds, total: seconds, compute: seconds - loaded.readSeconds },
      final: asResult(outcome, options, seconds),
    }
  })
}

/** The final model, from the store that the folds were trained on. */
async function trainStore(
  store: string,
  given: TrainOptions,
  { solver }: ResolvedOptions,
  cost: number,
  progress: ProgressListener,
): Promise<TrainResult> {
  // The text is in the store by now, and so are all that reading it was told.
  const { format: _, indexBase: __, onBadRow: ___, values: ____, store: _____, blocks: ______, ...others } = given
  const trainWith = async (name: string): Promise<TrainResult> => {
    const run = train(store, { ...others, solver: name, cost })
    for await (const record of run) progress(record)
    return run.result
  }
  // What the folds were trained with fits in any case: they are not lost for a solver that wants more.
  return trainWith(solver).catch(error => {
    if (askedSolver(solver) || !(error instanceof SpillwayError) || error instanceof UsageError) throw error
    return trainWith(block.name)
  })
}

function withSeconds(tuning: Tuning, final: TrainResult): Tuning {
  const { total } = final.seconds
  const { seconds } = tuning
  return { ...tuning, seconds: { ...seconds, total: seconds.total + total, compute: seconds.compute + total }, final }
}

/** The best cost, and the simplest that is about as good. */
function chosen(validation: CrossValidation): Tuning {
  const { costs } = validation
  const best = costs.reduce((a, b) => (b.accuracy > a.accuracy ? b : a))
  const simplest = costs.find(({ accuracy }) => accuracy >= best.accuracy - best.standardError)!
  return { ...validation, best, simplest }
}
