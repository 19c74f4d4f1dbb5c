// Folds and costs over rows in memory.
import type { PassProgress } from '../optimise/driver/progress.ts'
import { inBundles } from '../optimise/objectives/bundles.ts'
import { shortenScores } from '../optimise/objectives/line-search.ts'
import type { Solution } from '../optimise/objectives/solution.ts'
import type { MemorySolver } from '../optimise/solvers/solver.ts'
import { classesOf, dealFolds } from '../rows/folds.ts'
import type { FoldedProblem } from './class-problems.ts'
import { InMemory, type LoadedRows } from './in-memory.ts'
import type { ResolvedOptions } from './options.ts'
import { trainModels, trainRecord } from './place.ts'
import type { ProgressListener } from './progress.ts'
import { type CostResult, type CrossValidation, checkFolds, foldProblems, judge } from './validation.ts'

/** Costs of the search that finds its own, at most. */
const MOST_COSTS = 40
/** It ends when the accuracy has not risen for so many costs. */
const PATIENCE = 3

export class ValidationInMemory {
  readonly #loaded: LoadedRows
  readonly #solver: MemorySolver
  readonly #options: ResolvedOptions
  readonly #folds: number
  readonly #foldsAt: number
  readonly #classes: Uint32Array
  readonly #tell: ProgressListener
  #models = 0

  constructor(
    loaded: LoadedRows,
    solver: MemorySolver,
    options: ResolvedOptions,
    folds: number,
    tell: ProgressListener,
  ) {
    checkFolds(folds, loaded.rows.rows)
    this.#loaded = loaded
    this.#solver = solver
    this.#options = options
    this.#folds = folds
    this.#tell = tell
    this.#classes = classesOf(loaded.arena, loaded.rows)
    this.#foldsAt = dealFolds(loaded.arena, this.#classes, folds, options.seed)
  }

  #columns(count: number): number {
    const { arena, rows } = this.#loaded
    return arena.allocateZeroed(count * Math.max(rows.rows, 1) * 4, 'scores of rows that were held out')
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
    const problems = foldProblems(this.#loaded.rows.labels, this.#options, costs, this.#folds)
    const classes = problems.length / costs.length / this.#folds
    const scores = this.#columns(costs.length * classes)
    const solutions: Solution[] = []
    const take = (model: number, solution: Solution): void => {
      solutions[model] = solution
    }
    const wanted = { problems, folds: this.#folds }
    const say = (reason: string): void => this.#tell({ stage: 'plan', solver: this.#solver.name, reason })
    const place = new InMemory(this.#loaded, this.#solver, this.#options, wanted, say)
    const held = { folds: this.#foldsAt, scores }
    await trainModels(place, wanted, { take }, this.#tell, this.#loaded.seconds, held)
    this.#models += problems.length
    const each = this.#folds * classes
    return costs.map((cost, c) =>
      this.#judge(cost, scores, c * classes, classes, solutions.slice(c * each, (c + 1) * each)),
    )
  }

  /** One cost after the other, in rising order, each from the dual variables of the last one, times the factor between the
   *  costs; without costs, as many as it takes. All models of a cost must fit at a time. */
  async climb(given?: number[]): Promise<CostResult[]> {
    const first = given?.[0] ?? this.#firstCost()
    const costs = given ?? Array.from({ length: MOST_COSTS }, (_, k) => first * 2 ** k)
    const problemsAt = (cost: number): FoldedProblem[] =>
      foldProblems(this.#loaded.rows.labels, this.#options, [cost], this.#folds)
    const problems = problemsAt(first)
    const classes = problems.length / this.#folds
    const scores = this.#columns(classes)
    const place = new InMemory(this.#loaded, this.#solver, this.#options, { problems: [] })
    const bundles = place.bundles(inBundles(problems), this.#foldsAt)
    const results: CostResult[] = []
    let [sinceBest, best] = [0, -1]
    for (const [k, cost] of costs.entries()) {
      if (k > 0) {
        const next = inBundles(problemsAt(cost))
        for (const [b, { objective }] of bundles.entries()) objective.rescale(next[b], cost / costs[k - 1])
      }
      const done = bundles.map(() => 0)
      const solutions = await Promise.all(
        bundles.map(async ({ objective }, b) => {
          const found = await place.solve(objective, problems, progress => {
            done[b] = progress.done
            this.#progress(progress, done, given && given.length * problems.length)
          })
          done[b] = found.length
          await place.score(objective, scores)
          const { rows } = this.#loaded.rows
          shortenScores(place.arena, objective.problems, found, { at: scores, rows, folds: this.#foldsAt })
          return found
        }),
      )
      this.#models += problems.length
      const result = this.#judge(cost, scores, 0, classes, solutions.flat())
      results.push(result)
      sinceBest = result.accuracy > best ? 0 : sinceBest + 1
      best = Math.max(best, result.accuracy)
      // Where the accuracy has stopped rising, larger costs only take longer; and where passes run out, they all will.
      const worn = solutions.flat().some(({ exitReason }) => exitReason !== 'converged')
      if (given === undefined && (sinceBest >= PATIENCE || worn)) break
    }
    place.release()
    return results
  }

  /** `all`: models of all costs, where it is known how many there will be. */
  #progress(progress: PassProgress, done: number[], all: number | undefined): void {
    const models = { done: done.reduce((sum, count) => sum + count, this.#models), ...(all !== undefined && { all }) }
    const { rows, seconds } = this.#loaded
    this.#tell({ ...trainRecord(progress, rows.rows, seconds()), certified: false, models })
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
