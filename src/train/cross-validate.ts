// `crossValidate` and `tune`: classes × folds × costs, trained together over rows that are read once. Each row is scored by
// the models that did not see it.
import { SpillwayError, UsageError } from '../errors.ts'
import type { LabelCount } from '../input-formats/label-numbers.ts'
import { findLoss } from '../losses/all-losses.ts'
import type { Solution } from '../optimise/driver/driver.ts'
import type { BundledProblem } from '../optimise/objectives/bundle.ts'
import { findSolver } from '../optimise/solvers/all-solvers.ts'
import { type BlockSolver, checkCompatible, type MemorySolver, trainsManyModels } from '../optimise/solvers/solver.ts'
import { classesOf, dealFolds, MOST_FOLDS } from '../rows/folds.ts'
import { chooseSolver } from './choose-solver.ts'
import { classProblems } from './class-problems.ts'
import { trainFoldsOverBlocks } from './folds-over-blocks.ts'
import { type ResolvedOptions, resolveOptions, type TrainOptions } from './options.ts'
import type { Progress, ProgressListener } from './progress.ts'
import { heedBinsOfStore } from './store-for-training.ts'
import { asResult, train } from './train.ts'
import { type RowsInMemory, roomForModels, solveInMemory, withRowsInMemory } from './train-in-memory.ts'
import { ManyModels } from './train-together.ts'
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

export interface CrossValidateOptions extends TrainOptions {
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
  const { folds = 5, progress = () => {}, ...rest } = options
  const resolved = resolveOptions(rest)
  checkFolds(folds)
  const { paths, over } = await whereToTrain(data, resolved, progress)
  if (over) return overBlocks(paths, over, resolved, folds, [resolved.cost], progress)
  return withRowsInMemory(paths, resolved, progress, async loaded => {
    const validation = new ValidationInMemory(loaded, resolved, folds, progress)
    return validation.result(await validation.at([resolved.cost]))
  })
}

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
  const { paths, over } = await whereToTrain(data, resolved, progress)
  if (over) {
    const { store, ...validation } = await overBlocks(paths, over, resolved, folds, sorted ?? WIDE_COSTS, progress)
    const tuning = chosen(validation)
    if (final === 'none' || resolved.signal?.aborted) return tuning
    const started = performance.now()
    // The text is in the store by now, and so are all that reading it was told.
    const { format: _, indexBase: __, onBadRow: ___, values: ____, store: _____, blocks: ______, ...others } = rest
    const trainWith = async (solver: string): Promise<TrainResult> => {
      const run = train(store, { ...others, solver, cost: tuning[final].cost })
      for await (const record of run) progress(record)
      return run.result
    }
    // What the folds were trained with fits in any case: they are not lost for a solver that wants more.
    const model = await trainWith(resolved.solver).catch(error => {
      if (resolved.solver !== 'auto' || !(error instanceof SpillwayError) || error instanceof UsageError) throw error
      return trainWith('block')
    })
    const seconds = (performance.now() - started) / 1000
    return {
      ...tuning,
      seconds: {
        ...tuning.seconds,
        total: tuning.seconds.total + seconds,
        compute: tuning.seconds.compute + seconds,
      },
      final: model,
    }
  }
  return withRowsInMemory(paths, resolved, progress, async loaded => {
    const validation = new ValidationInMemory(loaded, resolved, folds, progress)
    // From one cost to the next is a shorter way than from nothing, the more so the larger the cost.
    const tuning = chosen(validation.result(await validation.climb(sorted)))
    if (final === 'none' || resolved.signal?.aborted) return tuning
    const options = { ...resolved, cost: tuning[final].cost }
    const outcome = await solveInMemory(loaded, findSolver('dual') as MemorySolver, options, progress)
    const seconds = loaded.seconds()
    return {
      ...tuning,
      seconds: { ...tuning.seconds, total: seconds, compute: seconds - loaded.readSeconds },
      final: asResult(outcome, options, seconds),
    }
  })
}

/** Without costs, over blocks: together, for a read costs more there than some models in vain. */
const WIDE_COSTS = Array.from({ length: 8 }, (_, k) => 2 ** (2 * k - 10))
/** Costs of the search that finds its own, at most. */
const MOST_COSTS = 40
/** It ends when the accuracy has not risen for so many costs. */
const PATIENCE = 3

function checkFolds(folds: number, rows = Number.POSITIVE_INFINITY): void {
  if (!Number.isInteger(folds) || folds < 2 || folds > MOST_FOLDS)
    throw new UsageError(`the number of folds is ${folds}; expected 2 to ${MOST_FOLDS}`)
  if (folds > rows) throw new UsageError(`there are ${rows} rows, too few for ${folds} folds`)
}

async function whereToTrain(
  data: string | string[],
  options: ResolvedOptions,
  tell: ProgressListener,
): Promise<{ paths: string[]; over: BlockSolver | undefined }> {
  const paths = typeof data === 'string' ? [data] : data
  if (paths.length === 0) throw new UsageError('no data was named')
  const { multiclass, regularizer, calibrate } = options
  const stranger =
    multiclass === 'crammer-singer'
      ? 'multiclass crammer-singer'
      : regularizer === 'l1'
        ? 'the l1 regularizer'
        : calibrate
  if (stranger) throw new UsageError(`${stranger === calibrate ? 'calibrate' : stranger} is not compatible with folds`)
  await heedBinsOfStore(paths, options, tell)
  const { solver, reason } = await chooseSolver(paths, options)
  const taken = solver.data === 'blocks' && options.solver === 'auto' ? findSolver('block') : solver
  checkCompatible(taken, findLoss(options.loss), { ...options })
  if (!trainsManyModels(taken)) {
    throw new UsageError(
      `solver ${taken.name} is not compatible with folds: it does not train many models together`,
      'take --solver dual, block, selective or stream, or leave the choice to auto',
    )
  }
  tell({ stage: 'plan', solver: taken.name, reason })
  return { paths, over: taken.data === 'blocks' ? taken : undefined }
}

/** The best cost, and the simplest that is about as good. */
function chosen(validation: CrossValidation): Tuning {
  const { costs } = validation
  const best = costs.reduce((a, b) => (b.accuracy > a.accuracy ? b : a))
  const simplest = costs.find(({ accuracy }) => accuracy >= best.accuracy - best.standardError)!
  return { ...validation, best, simplest }
}

/** The models of costs and folds: those of like costs take alike many passes, and stand together. */
function foldProblems(
  labels: LabelCount[],
  options: ResolvedOptions,
  costs: number[],
  folds: number,
): BundledProblem[] {
  return costs.flatMap((cost, c) => {
    const { problems } = classProblems(labels, findLoss(options.loss), { ...options, cost })
    return Array.from({ length: folds }, (_, heldOut) =>
      problems.map((problem, k) => ({ ...problem, heldOut, column: c * problems.length + k })),
    ).flat()
  })
}

/** What models of one cost told of rows that they did not see. */
interface Told {
  labels: LabelCount[]
  classes: Uint32Array
  folds: Uint8Array
  /** One for two classes, else one for each. */
  columns: Float32Array[]
  /** Fold by fold, all classes of each. */
  solutions: Solution[]
}

function judge(cost: number, count: number, options: ResolvedOptions, told: Told): CostResult {
  const { classes, folds, columns, solutions } = told
  const { labels } = classProblems(told.labels, findLoss(options.loss), options)
  const counts = Array.from({ length: count }, () => ({ rows: 0, right: 0 }))
  for (let i = 0; i < classes.length; i++) {
    let winner = 0
    if (columns.length === 1) winner = columns[0][i] > 0 ? 0 : 1
    else for (let k = 1; k < columns.length; k++) if (columns[k][i] > columns[winner][i]) winner = k
    const own = counts[folds[i]]
    own.rows++
    if (labels[winner].number === classes[i]) own.right++
  }
  const perFold = counts.map(({ rows, right }, fold) => {
    const own = solutions.slice(fold * columns.length, (fold + 1) * columns.length)
    return {
      rows,
      accuracy: rows > 0 ? right / rows : 0,
      passes: Math.max(...own.map(({ passes }) => passes)),
      gap: Math.max(...own.map(({ certificate }) => certificate?.gap ?? 1)),
    }
  })
  const mean = perFold.reduce((sum, { accuracy }) => sum + accuracy, 0) / count
  const variance = perFold.reduce((sum, { accuracy }) => sum + (accuracy - mean) ** 2, 0) / (count - 1)
  return {
    cost,
    accuracy: counts.reduce((sum, { right }) => sum + right, 0) / Math.max(classes.length, 1),
    deviation: Math.sqrt(variance),
    standardError: Math.sqrt(variance / count),
    folds: perFold,
  }
}

async function overBlocks(
  paths: string[],
  solver: BlockSolver,
  options: ResolvedOptions,
  folds: number,
  costs: number[],
  tell: ProgressListener,
): Promise<CrossValidation & { store: string }> {
  const started = performance.now()
  const result = await trainFoldsOverBlocks(
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

class ValidationInMemory {
  readonly #loaded: RowsInMemory
  readonly #options: ResolvedOptions
  readonly #folds: number
  readonly #foldsAt: number
  readonly #classes: Uint32Array
  readonly #tell: ProgressListener
  readonly #many: ManyModels
  #models = 0

  constructor(loaded: RowsInMemory, options: ResolvedOptions, folds: number, tell: ProgressListener) {
    const { arena, pool, rows } = loaded
    checkFolds(folds, rows.rows)
    this.#loaded = loaded
    this.#options = options
    this.#folds = folds
    this.#tell = tell
    this.#classes = classesOf(arena, rows)
    this.#foldsAt = dealFolds(arena, this.#classes, folds, options.seed)
    const settings = {
      ...options,
      room: roomForModels(arena, options),
      say: (reason: string) => tell({ stage: 'plan', solver: 'dual', reason }),
    }
    this.#many = new ManyModels(arena, pool, rows, settings, this.#foldsAt)
  }

  /** `all`: models of all costs, where it is known how many there will be. */
  #progress(all: number | undefined): (progress: { done: number; pass: number; gap: number }) => void {
    return ({ done, pass, gap }) => {
      const models = { done: this.#models + done, ...(all !== undefined && { all }) }
      this.#tell({ stage: 'train', seconds: this.#loaded.seconds(), pass, gap, certified: false, models })
    }
  }

  #judge(cost: number, scores: number, column: number, classes: number, solutions: Solution[]): CostResult {
    const { arena, rows } = this.#loaded
    return judge(cost, this.#folds, this.#options, {
      labels: rows.labels,
      classes: this.#classes,
      folds: arena.bytes(this.#foldsAt, rows.rows),
      columns: Array.from({ length: classes }, (_, k) => arena.f32(scores + (column + k) * rows.rows * 4, rows.rows)),
      solutions,
    })
  }

  /** All costs together. */
  async at(costs: number[]): Promise<CostResult[]> {
    const { arena, rows } = this.#loaded
    const problems = foldProblems(rows.labels, this.#options, costs, this.#folds)
    const classes = problems.length / costs.length / this.#folds
    const columns = costs.length * classes
    const at = arena.allocateZeroed(columns * Math.max(rows.rows, 1) * 4, 'scores of rows that were held out')
    const solutions: Solution[] = []
    const keep = (k: number, { solution }: { solution: Solution }): void => {
      solutions[k] = solution
    }
    await this.#many.train(problems, keep, this.#progress(problems.length), at)
    this.#models += problems.length
    const each = this.#folds * classes
    return costs.map((cost, c) =>
      this.#judge(cost, at, c * classes, classes, solutions.slice(c * each, (c + 1) * each)),
    )
  }

  /** One cost after the other, each from where the last one ended; without costs, as many as it takes. */
  async climb(given?: number[]): Promise<CostResult[]> {
    const { arena, rows } = this.#loaded
    const first = given?.[0] ?? this.#firstCost()
    const costs = given ?? Array.from({ length: MOST_COSTS }, (_, k) => first * 2 ** k)
    const problems = (cost: number): BundledProblem[] => foldProblems(rows.labels, this.#options, [cost], this.#folds)
    const classes = problems(first).length / this.#folds
    const at = arena.allocateZeroed(classes * Math.max(rows.rows, 1) * 4, 'scores of rows that were held out')
    const results: CostResult[] = []
    let sinceBest = 0
    let best = -1
    const each = (solutions: Solution[]): boolean => {
      this.#models += solutions.length
      const result = this.#judge(costs[results.length], at, 0, classes, solutions)
      results.push(result)
      sinceBest = result.accuracy > best ? 0 : sinceBest + 1
      best = Math.max(best, result.accuracy)
      // Where the accuracy has stopped rising, larger costs only take longer; and where passes run out, they all will.
      const worn = solutions.some(({ exitReason }) => exitReason !== 'converged')
      return given !== undefined || (sinceBest < PATIENCE && !worn)
    }
    await this.#many.climb(costs, problems, each, this.#progress(given && given.length * classes * this.#folds), at)
    return results
  }

  /** A cost at which every row is at its bound, or nearly: below it w is the same but for its length. */
  #firstCost(): number {
    const { arena, rows } = this.#loaded
    let longest = 0
    for (const record of arena.u32(rows.table, rows.rows)) {
      longest = Math.max(longest, arena.numeric.squaredNorm(record))
    }
    const cost = 1 / (Math.max(longest + this.#options.bias ** 2, 1e-12) * Math.sqrt(Math.max(rows.rows, 1)))
    // Rows whose squares pass the largest number have no such cost; one of 0 is none.
    return 2 ** Math.max(Math.floor(Math.log2(cost)), -1000)
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
