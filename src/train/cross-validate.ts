// `crossValidate`: classes × folds, trained together over rows that are read once. Each row is scored by the models that did
// not see it.

import { UsageError } from '../errors.ts'
import type { DataFor, LabelledRow } from '../input-formats/given-rows.ts'
import type { LabelCount } from '../input-formats/label-numbers.ts'
import { findLoss } from '../losses/all-losses.ts'
import { beyondBinary } from '../losses/formulations.ts'
import { allSolvers, askedSolver } from '../optimise/solvers/all-solvers.ts'
import { block } from '../optimise/solvers/block.ts'
import { checkCompatible } from '../optimise/solvers/compatibility.ts'
import { type MemorySolver, type Solver, trainsFolds } from '../optimise/solvers/solver.ts'
import { alone, type Communicator } from '../ranks/communicator.ts'
import { labelledRows } from '../rows/folds.ts'
import { chooseSolver } from './choose-solver.ts'
import type { FoldedProblem } from './class-problems.ts'
import { dataOfRun, withPaths } from './data-of-run.ts'
import { heedTable } from './heed-table.ts'
import { type FoldsOverBlocks, HeldOut, heldOutOverBlocks } from './held-out.ts'
import { InMemory } from './in-memory.ts'
import { type LoadedRows, withRowsInMemory } from './load-in-memory.ts'
import { collectModels, modelsOfRank, refuseOtherOrder } from './models-of-ranks.ts'
import { type ResolvedOptions, resolveOptions, type TrainOptions } from './options.ts'
import type { Progress, ProgressListener } from './progress.ts'
import { refuseManyFeatures } from './refuse-many-features.ts'
import { heedBinsOfStore } from './store-for-training.ts'
import { type CrossValidation, checkFolds, foldProblems, judgeCosts, refuseTester, validationOf } from './validation.ts'

export interface CrossValidateOptions extends Omit<TrainOptions, 'tester'> {
  /** How many folds (5). */
  folds?: number
  /** Called now and then. */
  progress?: (progress: Progress) => void
}

/** Accuracy on rows that were not trained on, at one cost. */
export async function crossValidate(
  data: DataFor<LabelledRow>,
  options: CrossValidateOptions = {},
): Promise<CrossValidation> {
  const { folds = 5, progress = () => {}, ...rest } = options
  const { ranks, ...settings } = resolveOptions(rest)
  // Models are shared out, and each is trained by one rank.
  const resolved = { ...settings, ranks: alone }
  checkFolds(folds)
  refuseTester(settings)
  const costs = [resolved.cost]
  return withPaths(dataOfRun(data, resolved), resolved, progress, async paths => {
    const solver = await solverOfFolds(paths, resolved, folds, progress)
    if (solver.data === 'memory') {
      return withRowsInMemory(paths, resolved, progress, loaded =>
        validateInMemory(loaded, solver, resolved, { folds, costs, ranks }),
      )
    }
    const work = { paths, solver, options: resolved, folds, ranks, tell: progress }
    return (await validateOverBlocks(work, costs)).validation
  })
}

/** The same at several costs over rows in memory. `ranks` share the models out. */
export async function validateInMemory(
  loaded: LoadedRows,
  solver: MemorySolver,
  options: ResolvedOptions,
  { folds, costs, ranks }: { folds: number; costs: number[]; ranks: Communicator },
): Promise<CrossValidation> {
  const { arena, rows } = loaded
  checkFolds(folds, rows.rows)
  const wanted = { problems: foldProblems(rows.labels, options, costs, folds), folds }
  const held = new HeldOut(arena, labelledRows(arena, rows), { ...wanted, seed: options.seed })
  const problems = modelsOfRank(wanted.problems, ranks)
  const isIdle = problems.length === 0
  // A rank may have one model: it is trained as several are, without the rows of its fold.
  const place = new InMemory(loaded, solver, options, isIdle ? wanted : { problems, folds, together: true })
  await refuseOtherOrder(place, ranks)
  const solutions = await collectModels(held, isIdle ? [] : await held.train(place), ranks)
  const costsJudged = judgeCosts(costs, held, solutions, place)
  return validationOf(place, { folds, models: solutions.length, costs: costsJudged, held })
}

/** The solver that trains the models of folds. What cannot be trained so is refused. */
export async function solverOfFolds(
  paths: string[],
  options: ResolvedOptions,
  folds: number,
  tell: ProgressListener,
): Promise<Solver> {
  const stranger = beyondBinary(options) ?? (options.calibrate && 'calibrate')
  if (stranger) throw new UsageError(`${stranger} is not compatible with folds`)
  await heedTable(paths, options, tell)
  await heedBinsOfStore(paths, options, tell)
  const { solver, reason } = await chooseSolver(paths, options)
  const isTruncated = findLoss(options.loss).truncates !== undefined
  // Blocks are left to `block`, unless there are few features. Models of a truncated loss are trained by their dual variables.
  const isOurs = solver.data === 'blocks' && !askedSolver(options.solver)
  const taken = isOurs && (!solver.startEach || isTruncated) ? block : solver
  checkCompatible(taken, findLoss(options.loss), { ...options, folds })
  await refuseManyFeatures(paths, taken, options)
  if (!trainsFolds(taken)) {
    throw new UsageError(
      `solver ${taken.name} is not compatible with folds: it does not train many models together`,
      `take --solver ${allSolvers
        .filter(trainsFolds)
        .map(({ name }) => name)
        .join(', ')}, or leave the choice to auto`,
    )
  }
  tell({ stage: 'plan', solver: taken.name, reason })
  if (options.scale === 'log-odds') {
    const warning =
      'factors of log-odds are learnt from the labels of all rows: accuracies of held-out rows are too good'
    tell({ stage: 'plan', solver: taken.name, reason: warning })
  }
  return taken
}

/** The same at several costs over the blocks of a store; which is told, too. */
export function validateOverBlocks(
  work: Omit<FoldsOverBlocks, 'problemsOf' | 'costs'>,
  costs: number[],
): Promise<{ validation: CrossValidation; store: string }> {
  const { folds, options } = work
  const problemsOf = (labels: LabelCount[], rows: number): FoldedProblem[] => {
    checkFolds(folds, rows)
    return foldProblems(labels, options, costs, folds)
  }
  return heldOutOverBlocks({ ...work, costs: costs.length, problemsOf }, (held, solutions, place) => {
    const results = judgeCosts(costs, held, solutions, place)
    const validation = validationOf(place, { folds, models: solutions.length, costs: results, held })
    return { validation, store: place.account().blocks.store }
  })
}
