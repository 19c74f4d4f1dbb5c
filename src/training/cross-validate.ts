// `crossValidate` and `tune`: classes × folds × costs, trained together over rows that are read once. Each row is scored by
// the models that did not see it.
import { SpillwayError, UsageError } from '../errors.ts'
import { findLoss } from '../losses/all-losses.ts'
import { findSolver } from '../solvers/all-solvers.ts'
import { checkCompatible, type MemorySolver, underLimits } from '../solvers/solver.ts'
import type { BundledProblem } from './bundle.ts'
import { chooseSolver } from './choose-solver.ts'
import { classProblems } from './class-problems.ts'
import type { Solution } from './driver.ts'
import { classesOf, dealFolds, MOST_FOLDS } from './folds.ts'
import { type ResolvedOptions, resolveOptions, type TrainOptions } from './options.ts'
import type { Progress, ProgressListener } from './progress.ts'
import { asResult } from './train.ts'
import { type RowsInMemory, roomForModels, solveInMemory, withRowsInMemory } from './train-in-memory.ts'
import { type HeldOutScores, ManyModels } from './train-together.ts'
import type { TrainResult } from './training-run.ts'

export interface FoldResult {
  /** Rows that were held out, and the share of them that was told right. */
  rows: number
  accuracy: number
  /** Passes over the other rows, and the largest relative gap of its models. */
  passes: number
  gap: number
}

export interface CostResult {
  cost: number
  /** Share of all rows that were told right by models that did not see them. */
  accuracy: number
  /** Standard deviation between the folds, and standard error of their mean. */
  deviation: number
  standardError: number
  folds: FoldResult[]
}

export interface CrossValidation {
  rows: number
  features: number
  classes: number
  folds: number
  /** Models that were trained. */
  models: number
  costs: CostResult[]
  seconds: { total: number; read: number; compute: number }
  bytesRead: number
  badRows: number
  badRowMessages: string[]
}

export interface Tuning extends CrossValidation {
  /** The cost of the highest accuracy, the smallest of equals. */
  best: CostResult
  /** The smallest cost whose accuracy is within a standard error of the best. */
  simplest: CostResult
  /** The final model, trained on all rows at the best cost, unless none was asked for. */
  final?: TrainResult
}

export interface CrossValidateOptions extends Omit<TrainOptions, 'solver'> {
  /** How many folds (5). */
  folds?: number
  /** Called now and then. */
  progress?: (progress: Progress) => void
}

export interface TuneOptions extends Omit<CrossValidateOptions, 'cost'> {
  /** Costs to try; without them, from a small one upwards by factors of 2 until nothing more changes. */
  costs?: number[]
  /** Which cost the final model is trained with, or none. */
  final?: 'best' | 'simplest' | 'none'
}

/** Accuracy on rows that were not trained on, at one cost. */
export async function crossValidate(
  data: string | string[],
  options: CrossValidateOptions = {},
): Promise<CrossValidation> {
  const { folds, progress = () => {}, ...rest } = options
  const resolved = resolveOptions(rest)
  return withRows(data, resolved, progress, async loaded => {
    const validation = new Validation(loaded, resolved, folds, progress)
    return validation.result(await validation.at([resolved.cost]))
  })
}

/** Tries costs, and trains the model at the best. */
export async function tune(data: string | string[], options: TuneOptions = {}): Promise<Tuning> {
  const { folds, costs, final = 'best', progress = () => {}, ...rest } = options
  const resolved = resolveOptions(rest)
  if (costs) {
    if (costs.length === 0) throw new UsageError('no costs were named')
    for (const cost of costs) if (!(cost > 0) || !Number.isFinite(cost)) throw new UsageError(`a cost is ${cost}`)
  }
  return withRows(data, resolved, progress, async loaded => {
    const validation = new Validation(loaded, resolved, folds, progress)
    const sorted = costs && [...new Set(costs)].sort((a, b) => a - b)
    const results = sorted ? await validation.at(sorted) : await validation.climb()
    const best = results.reduce((a, b) => (b.accuracy > a.accuracy ? b : a))
    const simplest = results.find(({ accuracy }) => accuracy >= best.accuracy - best.standardError)!
    const tuning: Tuning = { ...validation.result(results), best, simplest }
    if (final === 'none' || resolved.signal?.aborted) return tuning
    const chosen = { ...resolved, cost: (final === 'best' ? best : simplest).cost }
    const outcome = await solveInMemory(loaded, findSolver('dual') as MemorySolver, chosen, progress)
    const seconds = loaded.seconds()
    return {
      ...tuning,
      seconds: { ...tuning.seconds, total: seconds, compute: seconds - loaded.readSeconds },
      final: asResult(outcome, chosen, seconds),
    }
  })
}

async function withRows<T>(
  data: string | string[],
  options: ResolvedOptions,
  tell: ProgressListener,
  work: (rows: RowsInMemory) => Promise<T>,
): Promise<T> {
  const paths = typeof data === 'string' ? [data] : data
  if (paths.length === 0) throw new UsageError('no data was named')
  const { solver, reason } = await chooseSolver(paths, { ...options, solver: 'auto' })
  if (solver.name !== 'dual') {
    throw new SpillwayError(
      `folds are trained with all rows in memory, and they do not fit: ${reason}`,
      'more --memory, or a sample of the rows',
    )
  }
  checkCompatible(solver, findLoss(options.loss), { ...options })
  tell({ stage: 'plan', solver: solver.name, reason })
  return withRowsInMemory(paths, underLimits(solver, options), tell, work)
}

/** Costs of the search that finds its own, at most. */
const MOST_COSTS = 40
/** It ends when the accuracy has not risen for so many costs, and models hardly change. */
const PATIENCE = 3

class Validation {
  readonly #loaded: RowsInMemory
  readonly #options: ResolvedOptions
  readonly #folds: number
  readonly #foldsAt: number
  readonly #tell: ProgressListener
  readonly #many: ManyModels
  #models = 0

  constructor(loaded: RowsInMemory, options: ResolvedOptions, folds = 5, tell: ProgressListener) {
    const { arena, pool, rows } = loaded
    if (!Number.isInteger(folds) || folds < 2 || folds > MOST_FOLDS)
      throw new UsageError(`the number of folds is ${folds}; expected 2 to ${MOST_FOLDS}`)
    if (folds > rows.rows) throw new UsageError(`there are ${rows.rows} rows, too few for ${folds} folds`)
    this.#loaded = loaded
    this.#options = options
    this.#folds = folds
    this.#tell = tell
    this.#foldsAt = dealFolds(arena, rows, folds, options.seed)
    this.#many = new ManyModels(
      arena,
      pool,
      rows,
      {
        ...options,
        room: roomForModels(arena, options),
        say: reason => tell({ stage: 'plan', solver: 'dual', reason }),
      },
      this.#foldsAt,
    )
  }

  #problems(costs: number[]): BundledProblem[] {
    const { rows } = this.#loaded
    // Models of like costs take alike many passes: they stand together.
    return costs.flatMap((cost, c) => {
      const { problems } = classProblems(rows.labels, findLoss(this.#options.loss), { ...this.#options, cost })
      return Array.from({ length: this.#folds }, (_, heldOut) =>
        problems.map((problem, k) => ({ ...problem, heldOut, column: c * problems.length + k })),
      ).flat()
    })
  }

  #progress = (progress: { done: number; models: number; pass: number; gap: number }): void => {
    const { done, models, pass, gap } = progress
    const seconds = this.#loaded.seconds()
    this.#tell({ stage: 'train', seconds, pass, gap, certified: false, models: { done, all: models } })
  }

  /** All costs together. */
  async at(costs: number[]): Promise<CostResult[]> {
    const { arena, rows } = this.#loaded
    const problems = this.#problems(costs)
    const classes = problems.length / costs.length / this.#folds
    const columns = costs.length * classes
    const scores = {
      at: arena.allocateZeroed(columns * Math.max(rows.rows, 1) * 4, 'scores of rows that were held out'),
      columns,
    }
    const solutions: Solution[] = []
    await this.#many.train(
      problems,
      (k, { solution }) => {
        solutions[k] = solution
      },
      this.#progress,
      scores,
    )
    this.#models += problems.length
    const each = this.#folds * classes
    return costs.map((cost, c) =>
      this.#judge(cost, scores, c * classes, classes, solutions.slice(c * each, (c + 1) * each)),
    )
  }

  /** One cost after the other, each from where the last one ended. */
  async climb(): Promise<CostResult[]> {
    const { arena, rows } = this.#loaded
    const first = this.#firstCost()
    const costs = Array.from({ length: MOST_COSTS }, (_, k) => first * 2 ** k)
    const classes = this.#problems([first]).length / this.#folds
    const scores = {
      at: arena.allocateZeroed(classes * Math.max(rows.rows, 1) * 4, 'scores of rows that were held out'),
      columns: classes,
    }
    const results: CostResult[] = []
    let sinceBest = 0
    let best = -1
    const each = (solutions: Solution[]): boolean => {
      this.#models += solutions.length
      const result = this.#judge(costs[results.length], scores, 0, classes, solutions)
      results.push(result)
      sinceBest = result.accuracy > best ? 0 : sinceBest + 1
      best = Math.max(best, result.accuracy)
      // Where the accuracy has stopped rising, larger costs only take longer; and where passes run out, they all will.
      const worn = solutions.some(({ exitReason }) => exitReason !== 'converged')
      return sinceBest < PATIENCE && !worn && results.length < MOST_COSTS
    }
    const problems = this.#problems.bind(this)
    await this.#many.climb(
      (function* () {
        for (const cost of costs) yield problems([cost])
      })(),
      2,
      each,
      this.#progress,
      scores,
    )
    return results
  }

  /** A cost at which every row is at its bound, or nearly: w is the same but for its length below it. */
  #firstCost(): number {
    const { arena, rows } = this.#loaded
    let longest = 0
    for (const record of arena.u32(rows.table, rows.rows)) {
      longest = Math.max(longest, arena.numeric.squaredNorm(record))
    }
    const cost = 1 / (Math.max(longest + this.#options.bias ** 2, 1e-12) * Math.sqrt(Math.max(rows.rows, 1)))
    return 2 ** Math.floor(Math.log2(cost))
  }

  #judge(cost: number, scores: HeldOutScores, column: number, classes: number, solutions: Solution[]): CostResult {
    const { arena, rows } = this.#loaded
    const n = rows.rows
    const { labels } = classProblems(rows.labels, findLoss(this.#options.loss), this.#options)
    const numbers = labels.map(label => rows.labels.findIndex(({ text }) => text === label.text))
    const truth = classesOf(arena, rows)
    const folds = arena.bytes(this.#foldsAt, n)
    const columns = Array.from({ length: classes }, (_, k) => arena.f32(scores.at + (column + k) * n * 4, n))
    const counts = Array.from({ length: this.#folds }, () => ({ rows: 0, right: 0 }))
    for (let i = 0; i < n; i++) {
      let winner = 0
      if (classes === 1) winner = columns[0][i] > 0 ? 0 : 1
      else for (let k = 1; k < classes; k++) if (columns[k][i] > columns[winner][i]) winner = k
      const count = counts[folds[i]]
      count.rows++
      if (numbers[winner] === truth[i]) count.right++
    }
    const perFold = counts.map(({ rows, right }, fold) => {
      const own = solutions.slice(fold * classes, (fold + 1) * classes)
      return {
        rows,
        accuracy: rows > 0 ? right / rows : 0,
        passes: Math.max(...own.map(({ passes }) => passes)),
        gap: Math.max(...own.map(({ certificate }) => certificate?.gap ?? 1)),
      }
    })
    const mean = perFold.reduce((sum, { accuracy }) => sum + accuracy, 0) / perFold.length
    const variance = perFold.reduce((sum, { accuracy }) => sum + (accuracy - mean) ** 2, 0) / (perFold.length - 1)
    return {
      cost,
      accuracy: counts.reduce((sum, { right }) => sum + right, 0) / n,
      deviation: Math.sqrt(variance),
      standardError: Math.sqrt(variance / perFold.length),
      folds: perFold,
    }
  }

  result(costs: CostResult[]): CrossValidation {
    const { rows, read, readSeconds } = this.#loaded
    const total = this.#loaded.seconds()
    return {
      rows: rows.rows,
      features: rows.features,
      classes: rows.labels.length,
      folds: this.#folds,
      models: this.#models,
      costs,
      seconds: { total, read: readSeconds, compute: total - readSeconds },
      bytesRead: read.bytesRead,
      badRows: read.badRows,
      badRowMessages: read.badRowMessages,
    }
  }
}
