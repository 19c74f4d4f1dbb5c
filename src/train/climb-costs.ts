// Costs tried one after the other, over rows in memory: from one cost to the next is a shorter way than from nothing, the more so
// the larger the cost.
import { inBundles } from '../optimise/objectives/bundles.ts'
import type { MemorySolver } from '../optimise/solvers/solver.ts'
import { classesOf } from '../rows/folds.ts'
import type { FoldedProblem } from './class-problems.ts'
import { HeldOut } from './held-out.ts'
import { InMemory, type LoadedRows } from './in-memory.ts'
import type { ResolvedOptions } from './options.ts'
import { solveTogether } from './place.ts'
import {
  type CostResult,
  type CrossValidation,
  checkFolds,
  foldProblems,
  judgeCosts,
  validationOf,
} from './validation.ts'

/** Costs of the search that finds its own, at most. */
const MOST_COSTS = 40
/** It ends when the accuracy has not risen for so many costs. */
const PATIENCE = 3

/** Each cost, in rising order, from the dual variables of the last one, times the factor between the costs; without costs, as
 *  many as it takes. All models of a cost must fit at a time. */
export async function climbCosts(
  loaded: LoadedRows,
  solver: MemorySolver,
  options: ResolvedOptions,
  { folds, costs: given }: { folds: number; costs: number[] | undefined },
): Promise<CrossValidation> {
  const { arena, rows } = loaded
  checkFolds(folds, rows.rows)
  const first = given?.[0] ?? firstCost(loaded, options)
  const costs = given ?? Array.from({ length: MOST_COSTS }, (_, k) => first * 2 ** k)
  const problemsAt = (cost: number): FoldedProblem[] => foldProblems(rows.labels, options, [cost], folds)
  const problems = problemsAt(first)
  const held = new HeldOut(arena, classesOf(arena, rows), { problems, folds, seed: options.seed })
  const place = new InMemory(loaded, solver, options, { problems: [] })
  const together = place.bundles(inBundles(problems), held.folds)
  const all = given && given.length * problems.length
  const results: CostResult[] = []
  let models = 0
  let [sinceBest, best] = [0, -1]
  for (const [k, cost] of costs.entries()) {
    if (k > 0) {
      const next = inBundles(problemsAt(cost))
      for (const [b, { objective }] of together.entries()) objective.rescale(next[b], cost / costs[k - 1])
    }
    const solutions = (await solveTogether(place, together, held, { done: models, all })).flat()
    models += problems.length
    const [result] = judgeCosts([cost], held, solutions, { place, options })
    results.push(result)
    sinceBest = result.accuracy > best ? 0 : sinceBest + 1
    best = Math.max(best, result.accuracy)
    // Where the accuracy has stopped rising, larger costs only take longer; and where passes run out, they all will.
    const worn = solutions.some(({ exitReason }) => exitReason !== 'converged')
    if (given === undefined && (sinceBest >= PATIENCE || worn)) break
  }
  place.release()
  return validationOf(place, { folds, models, costs: results })
}

/** A cost at which every row is at its bound, or nearly: below it w is the same but for its length. */
function firstCost({ arena, rows }: LoadedRows, { bias }: ResolvedOptions): number {
  let longest = 0
  for (const record of arena.u32(rows.table, rows.rows)) longest = Math.max(longest, arena.numeric.squaredNorm(record))
  const cost = 1 / (Math.max(longest + bias ** 2, 1e-12) * Math.sqrt(Math.max(rows.rows, 1)))
  // Rows whose squares pass the largest number have no such cost; one of 0 is none.
  return 2 ** Math.max(Math.floor(Math.log2(cost)), -1000)
}
