// `tune`: tries costs by folds, and trains the model at the best.

import { SpillwayError, UsageError } from '../errors.ts'
import type { DataFor, LabelledRow } from '../input-formats/given-rows.ts'
import { findLoss } from '../losses/all-losses.ts'
import { askedSolver } from '../optimise/solvers/all-solvers.ts'
import { block } from '../optimise/solvers/block.ts'
import type { MemorySolver } from '../optimise/solvers/solver.ts'
import { alone, type Communicator } from '../ranks/communicator.ts'
import { labelledRows } from '../rows/folds.ts'
import { tableOptionNames } from '../tables/table-options.ts'
import { collectGarbage } from '../threads/collect-garbage.ts'
import type { FoldedProblem } from './class-problems.ts'
import { type CrossValidateOptions, solverOfFolds, validateInMemory, validateOverBlocks } from './cross-validate.ts'
import { dataOfRun, withPaths } from './data-of-run.ts'
import { HeldOut } from './held-out.ts'
import { InMemory } from './in-memory.ts'
import { checkNames, giveNames } from './keep-names.ts'
import { type LoadedRows, withRowsInMemory } from './load-in-memory.ts'
import { collectModels, modelsOfRank, refuseOtherOrder } from './models-of-ranks.ts'
import { type ResolvedOptions, resolveOptions, type TrainOptions } from './options.ts'
import { solveTogether } from './place.ts'
import type { ProgressListener } from './progress.ts'
import { asResult, train, trainInMemory } from './train.ts'
import type { TrainResult } from './training-run.ts'
import {
  type CostResult,
  type CrossValidation,
  checkFolds,
  foldProblems,
  judgeCosts,
  refuseTester,
  validationOf,
} from './validation.ts'

export interface Tuning extends CrossValidation {
  /** The cost of the highest accuracy, the smallest of equals. */
  best: CostResult
  /** The smallest cost whose accuracy is within a standard error of the best. */
  simplest: CostResult
  /** The final model, trained on all rows at the best cost, unless none was asked for. Over ranks, the first one trains it. */
  final?: TrainResult
}

export interface TuneOptions extends Omit<CrossValidateOptions, 'cost'> {
  /** Costs to try; without them, from a small one upwards by factors of 2 until nothing more changes. */
  costs?: number[]
  /** Which cost the final model is trained with, or none. */
  final?: 'best' | 'simplest' | 'none'
}

/** Without costs, over blocks: together, for a read costs more there than some models in vain. And for truncated losses, whose
 *  models do not go on from one cost to the next. */
const WIDE_COSTS = Array.from({ length: 8 }, (_, k) => 2 ** (2 * k - 10))

/** Tries costs, and trains the model at the best. */
export async function tune(data: DataFor<LabelledRow>, options: TuneOptions = {}): Promise<Tuning> {
  const { folds = 5, costs, final: wanted = 'best', progress = () => {}, ranks = alone, ...rest } = options
  const resolved = resolveOptions(rest)
  const final = ranks.rank > 0 ? 'none' : wanted
  checkFolds(folds)
  refuseTester(resolved)
  if (costs) {
    if (costs.length === 0) throw new UsageError('no costs were named')
    for (const cost of costs) if (!(cost > 0) || !Number.isFinite(cost)) throw new UsageError(`a cost is ${cost}`)
  }
  const sorted = costs && [...new Set(costs)].sort((a, b) => a - b)
  return withPaths(dataOfRun(data, resolved), resolved, progress, async paths => {
    const solver = await solverOfFolds(paths, resolved, folds, progress)
    await checkNames(paths, resolved)
    if (solver.data === 'memory') {
      return tuneInMemory(paths, solver, resolved, { folds, ranks, costs: sorted, final, progress })
    }
    const work = { paths, solver, options: resolved, folds, ranks, tell: progress }
    const { validation, store } = await validateOverBlocks(work, sorted ?? WIDE_COSTS)
    const tuning = chosen(validation)
    if (final === 'none' || resolved.signal?.aborted) return tuning
    // The final model is trained in a memory of its own: that of the folds must not be there as well.
    if (resolved.memory !== undefined) collectGarbage()
    const trained = await trainStore(store, rest, resolved, tuning[final].cost, progress)
    if (trained.exitReason !== 'interrupted') await giveNames(paths, trained.model, resolved)
    return withSeconds(tuning, trained)
  })
}

/** The costs that are tried, and what is made of them. */
interface ToTune extends Required<Pick<TuneOptions, 'folds' | 'final' | 'progress'>> {
  ranks: Communicator
  /** In rising order. */
  costs: number[] | undefined
}

function tuneInMemory(
  paths: string[],
  solver: MemorySolver,
  resolved: ResolvedOptions,
  { folds, ranks, costs, final, progress }: ToTune,
): Promise<Tuning> {
  const isTruncated = findLoss(resolved.loss).truncates !== undefined
  return withRowsInMemory(paths, resolved, progress, async loaded => {
    const tuning = chosen(
      isTruncated
        ? await validateInMemory(loaded, solver, resolved, { folds, ranks, costs: costs ?? WIDE_COSTS })
        : await climbCosts(loaded, solver, resolved, { folds, ranks, costs }),
    )
    if (final === 'none' || resolved.signal?.aborted) return tuning
    const options = { ...resolved, cost: tuning[final].cost }
    const outcome = await trainInMemory(loaded, solver, options)
    const seconds = loaded.seconds()
    const trained = asResult(outcome, options, seconds)
    if (trained.exitReason !== 'interrupted') await giveNames(paths, trained.model, options)
    return {
      ...tuning,
      seconds: { ...tuning.seconds, total: seconds, compute: seconds - loaded.readSeconds },
      final: trained,
    }
  })
}

/** The final model, from the store that the folds were trained on. */
async function trainStore(
  store: string,
  given: TrainOptions,
  { solver, expand }: ResolvedOptions,
  cost: number,
  progress: ProgressListener,
): Promise<TrainResult> {
  // The text is in the store by now, and so are all that reading it was told.
  const text: string[] = ['format', 'labels', 'indexBase', 'onBadRow', 'values', 'store', 'blocks', ...tableOptionNames]
  // Names are found in the text, unless an expansion makes them.
  if (expand === undefined) text.push('keepNames')
  const others = Object.fromEntries(Object.entries(given).filter(([name]) => !text.includes(name)))
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

/** Costs of the search that finds its own, at most. */
const MOST_COSTS = 40
/** It ends when the accuracy has not risen for so many costs. */
const PATIENCE = 3

/** Costs over rows in memory, one after the other: from one to the next is a shorter way than from nothing, the more so the larger
 *  the cost. Each, in rising order, starts from the dual variables of the last one, times the factor between the costs; without costs, as
 *  many as it takes. All models of a cost must fit at a time. */
async function climbCosts(
  loaded: LoadedRows,
  solver: MemorySolver,
  options: ResolvedOptions,
  { folds, ranks, costs: given }: { folds: number; ranks: Communicator; costs: number[] | undefined },
): Promise<CrossValidation> {
  const { arena, rows } = loaded
  checkFolds(folds, rows.rows)
  const first = given?.[0] ?? firstCost(loaded, options)
  const costs = given ?? Array.from({ length: MOST_COSTS }, (_, k) => first * 2 ** k)
  const problemsAt = (cost: number): FoldedProblem[] => foldProblems(rows.labels, options, [cost], folds)
  const ownAt = (cost: number): FoldedProblem[] => modelsOfRank(problemsAt(cost), ranks)
  const problems = problemsAt(first)
  const held = new HeldOut(arena, labelledRows(arena, rows), { problems, folds, seed: options.seed })
  const own = ownAt(first)
  const isIdle = own.length === 0
  const place = new InMemory(loaded, solver, options, { problems: isIdle ? problems : own, folds, atOnce: true })
  await refuseOtherOrder(place, ranks)
  const together = isIdle ? [] : place.bundles(place.asRound(own), held.folds)
  const all = given && { all: given.length * problems.length }
  const results: CostResult[] = []
  let models = 0
  let [sinceBest, best] = [0, -1]
  for (const [k, cost] of costs.entries()) {
    if (k > 0) {
      held.clear()
      const next = place.asRound(ownAt(cost))
      for (const [b, { objective }] of together.entries()) objective.rescale(next[b], cost / costs[k - 1])
    }
    // The first cost is the best so far, and others follow until there is no better one for a while.
    const least = models + problems.length * (k === 0 ? 1 + PATIENCE : PATIENCE - sinceBest)
    const ends = (await solveTogether(place, together, held, { done: models, ...(all ?? { least }) })).flat()
    const solutions = await collectModels(held, ends, ranks)
    models += problems.length
    const [result] = judgeCosts([cost], held, solutions, place)
    results.push(result)
    sinceBest = result.accuracy > best ? 0 : sinceBest + 1
    best = Math.max(best, result.accuracy)
    // Where the accuracy has stopped rising, larger costs only take longer; and where passes run out, they all will.
    const worn = solutions.some(({ exitReason }) => exitReason !== 'converged')
    if (given === undefined && (sinceBest >= PATIENCE || worn)) break
  }
  place.release()
  return validationOf(place, { folds, models, costs: results, held })
}

/** A cost at which every row is at its bound, or nearly: below it w is the same but for its length. */
function firstCost({ arena, rows }: LoadedRows, { bias }: ResolvedOptions): number {
  let longest = 0
  for (const record of arena.u32(rows.table, rows.rows)) longest = Math.max(longest, arena.numeric.squaredNorm(record))
  const cost = 1 / (Math.max(longest + bias ** 2, 1e-12) * Math.sqrt(Math.max(rows.rows, 1)))
  // Rows whose squares pass the largest number have no such cost; one of 0 is none.
  return 2 ** Math.max(Math.floor(Math.log2(cost)), -1000)
}
