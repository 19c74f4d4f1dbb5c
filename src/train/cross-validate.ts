// `crossValidate`: classes × folds, trained together over rows that are read once. Each row is scored by the models that did
// not see it.

import { UsageError } from '../errors.ts'
import { findLoss } from '../losses/all-losses.ts'
import { beyondBinary } from '../losses/formulations.ts'
import { askedSolver } from '../optimise/solvers/all-solvers.ts'
import { block } from '../optimise/solvers/block.ts'
import { checkCompatible } from '../optimise/solvers/compatibility.ts'
import type { BlockSolver, Solver } from '../optimise/solvers/solver.ts'
import { chooseSolver } from './choose-solver.ts'
import { scoreFoldsOverBlocks } from './folds-over-blocks.ts'
import { withRowsInMemory } from './in-memory.ts'
import { type ResolvedOptions, resolveOptions, type TrainOptions } from './options.ts'
import type { Progress, ProgressListener } from './progress.ts'
import { heedBinsOfStore } from './store-for-training.ts'
import { type CrossValidation, checkFolds, foldProblems, judge } from './validation.ts'
import { ValidationInMemory } from './validation-in-memory.ts'

export interface CrossValidateOptions extends TrainOptions {
  /** How many folds (5). */
  folds?: number
  /** Called now and then. */
  progress?: (progress: Progress) => void
}

/** Accuracy on rows that were not trained on, at one cost. */
export async function crossValidate(
  data: string | string[],
  options: CrossValidateOptions = {},
): Promise<CrossValidation> {
  const { folds = 5, progress = () => {}, ...rest } = options
  const resolved = resolveOptions(rest)
  checkFolds(folds)
  const { paths, solver } = await whereToTrain(data, resolved, folds, progress)
  if (solver.data === 'blocks') return validateOverBlocks(paths, solver, resolved, folds, [resolved.cost], progress)
  return withRowsInMemory(paths, resolved, progress, async loaded => {
    const validation = new ValidationInMemory(loaded, solver, resolved, folds, progress)
    return validation.result(await validation.at([resolved.cost]))
  })
}

export async function whereToTrain(
  data: string | string[],
  options: ResolvedOptions,
  folds: number,
  tell: ProgressListener,
): Promise<{ paths: string[]; solver: Solver }> {
  const paths = typeof data === 'string' ? [data] : data
  if (paths.length === 0) throw new UsageError('no data was named')
  const stranger = beyondBinary(options) ?? (options.calibrate && 'calibrate')
  if (stranger) throw new UsageError(`${stranger} is not compatible with folds`)
  await heedBinsOfStore(paths, options, tell)
  const { solver, reason } = await chooseSolver(paths, options)
  const taken = solver.data === 'blocks' && !askedSolver(options.solver) ? block : solver
  checkCompatible(taken, findLoss(options.loss), { ...options, folds })
  if (!taken.startMany) {
    throw new UsageError(
      `solver ${taken.name} is not compatible with folds: it does not train many models together`,
      'take --solver dual, block, selective or stream, or leave the choice to auto',
    )
  }
  tell({ stage: 'plan', solver: taken.name, reason })
  return { paths, solver: taken }
}

/** The same over the blocks of a store. */
export async function validateOverBlocks(
  paths: string[],
  solver: BlockSolver,
  options: ResolvedOptions,
  folds: number,
  costs: number[],
  tell: ProgressListener,
): Promise<CrossValidation & { store: string }> {
  const started = performance.now()
  const result = await scoreFoldsOverBlocks(
    paths,
    solver,
    options,
    folds,
    (labels, rows) => {
      checkFolds(folds, rows)
      return foldProblems(labels, options, costs, folds)
    },
    tell,
  )
  const { labels, classes, scores, solutions, store } = result
  const each = scores.length / costs.length
  const total = (performance.now() - started) / 1000
  return {
    store,
    rows: result.rows,
    features: result.features,
    classes: labels.filter(({ rows }) => rows > 0).length,
    folds,
    models: solutions.length,
    costs: costs.map((cost, c) =>
      judge(cost, folds, options, {
        ...{ labels, classes, folds: result.folds },
        columns: scores.slice(c * each, (c + 1) * each),
        solutions: solutions.slice(c * folds * each, (c + 1) * folds * each),
      }),
    ),
    seconds: { total, read: result.readSeconds, compute: total - result.readSeconds },
    bytesRead: result.bytesRead,
    badRows: result.badRows,
    badRowMessages: result.badRowMessages,
  }
}
