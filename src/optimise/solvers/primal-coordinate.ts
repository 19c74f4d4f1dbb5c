// Solver `primal-coordinate`: coordinate descent over features, for weights most of which are zero. All rows in memory, and
// once more as columns.
//
//   min_w  ‖w‖₁ + Σ_i C_i loss(y_i wᵀx_i)          the bias is a feature like any other
//
// Squared hinge: Newton steps in one weight at a time with a line search. Chang, Hsieh, Lin: Coordinate descent method for
// large-scale L2-loss linear support vector machines (JMLR 9, 2008); Yuan, Chang, Hsieh, Lin: A comparison of optimization
// methods and software for large-scale L1-regularized linear classification (JMLR 11, 2010). Logistic: quadratic models, each
// solved by coordinate descent. Yuan, Ho, Lin: An improved GLMNET for L1-regularized logistic regression (JMLR 13, 2012). The
// loops are in numeric/assembly/l1.ts. Between sweeps come Newton steps for all weights that are not zero (l1-newton.ts). Weights
// of zero whose derivative lies well within ±1 are shrunk.

import type { Arena } from '../../numeric/arena.ts'
import {
  L1_ACTIVE,
  L1_BYTES,
  L1_CHANGE,
  L1_COSTS,
  L1_CURVE,
  L1_DAMPING,
  L1_ENTRIES,
  L1_FEATURES,
  L1_GAP,
  L1_GRADIENTS,
  L1_LIMIT,
  L1_LIST,
  L1_MARGINS,
  L1_MOST,
  L1_NEXT,
  L1_ORDER,
  L1_OUTER_LIMIT,
  L1_PRIMAL,
  L1_RANDOM,
  L1_ROWS,
  L1_SHARE,
  L1_STARTS,
  L1_STATE,
  L1_VALUES,
  L1_WAIT,
  L1_WEIGHTS,
} from '../../numeric/l1-layout.ts'
import type { ThreadPool } from '../../threads/pool.ts'
import type { BinaryProblem } from '../objectives/problem.ts'
import { primalCoordinateTask, wakeColumns } from './primal-coordinate-task.ts'
import type { MemorySolver, PassOrder, PassReport, SolverRun, SolverSettings } from './solver.ts'

/** Entries between two looks at the abort signal and the clock: some tens of milliseconds. */
const SLICE = 4e6
/** A Newton step is made in one piece: some tenths of a second. */
const NEWTON_SLICE = 1e8

class PrimalCoordinateRun implements SolverRun {
  readonly #pool: ThreadPool
  readonly #problem: BinaryProblem
  readonly #settings: SolverSettings
  readonly #logistic: boolean
  readonly #l1: number
  readonly #passWork: number
  /** Certified gap over estimated gap, learnt when a certificate was asked for in vain. */
  #optimism = 1

  constructor(pool: ThreadPool, problem: BinaryProblem, settings: SolverSettings) {
    this.#pool = pool
    this.#problem = problem
    this.#settings = settings
    this.#logistic = problem.settings.loss.entropicDual === true
    const { at, work } = makeColumns(problem, this.#logistic)
    this.#l1 = at
    this.#passWork = work
    problem.arena.u64(at + L1_RANDOM, 1)[0] = BigInt(settings.seed)
    this.#refresh()
  }

  async pass({ most, targetGap, left = 1, signal }: PassOrder): Promise<PassReport> {
    const limit = most * this.#passWork
    const last = left <= 1 + 1e-3
    let work = 0
    for (;;) {
      const spare = left * this.#passWork - work
      const step = await this.#step(Math.min(SLICE, Math.max(limit - work, 1)), spare, targetGap, false)
      work += step.work
      const ends = signal?.aborted === true || (last && work >= limit)
      // A step that is under way is made as far as it got, so that no work is lost.
      if (ends && !step.ready) work += (await this.#step(0, 0, targetGap, true)).work
      if (step.ready || ends || work >= limit) {
        const { primal, gap } = step
        return { passes: work / this.#passWork, estimate: { primal, gap }, ready: step.ready }
      }
    }
  }

  #step(
    budget: number,
    spare: number,
    targetGap: number,
    finish: boolean,
  ): Promise<{ work: number; ready: boolean; primal: number; gap: number }> {
    return this.#pool.run(primalCoordinateTask, {
      l1: this.#l1,
      logistic: this.#logistic,
      shrink: this.#settings.shrinking,
      budget,
      spare: Math.min(spare, NEWTON_SLICE),
      targetGap: targetGap * this.#optimism,
      finish,
    })
  }

  notYet(): void {
    this.#optimism *= 0.7
    this.#refresh()
  }

  /** All columns awake, and margins anew from w: many small changes add up to rounding errors. */
  #refresh(): void {
    const { numeric } = this.#problem.arena
    if (this.#logistic) numeric.marginsOfColumns(this.#l1)
    else numeric.stateOfSquared(this.#l1)
    wakeColumns(this.#problem.arena, this.#l1)
  }
}

/** Turns the problem's rows into columns and makes room for the state around them. The address of the L1_ structure, and the
 *  work that a visit to every column is. */
export function makeColumns(problem: BinaryProblem, logistic: boolean): { at: number; work: number } {
  const { arena, rows, settings } = problem
  const { numeric } = arena
  const columns = rows.weights + (settings.bias === 0 ? 0 : 1)
  const starts = arena.allocateZeroed((columns + 1) * 4, 'the columns')
  let entries = numeric.countColumns(rows.table, rows.rows, starts)
  if (settings.bias !== 0) {
    arena.setU32(starts + rows.weights * 4, rows.rows)
    entries += rows.rows
  }
  const at = arena.allocateZeroed(L1_BYTES, 'the columns')
  const u32 = (offset: number, value: number): void => arena.setU32(at + offset, value)
  const f64s = (offset: number, count: number): number => {
    const place = arena.allocateZeroed(Math.max(count, 1) * 8, 'the state of the columns')
    u32(offset, place)
    return place
  }
  const order = arena.allocate(Math.max(columns, 1) * 4, 'the order of the columns')
  const entryRows = arena.allocate(Math.max(entries, 1) * 4, 'the columns')
  const values = arena.allocate(Math.max(entries, 1) * 8, 'the columns')
  u32(L1_ROWS, rows.rows)
  u32(L1_FEATURES, columns)
  u32(L1_STARTS, starts)
  u32(L1_ENTRIES, entryRows)
  u32(L1_VALUES, values)
  u32(L1_WEIGHTS, problem.weights)
  u32(L1_ORDER, order)
  f64s(L1_MOST, columns)
  const costs = f64s(L1_COSTS, rows.rows)
  f64s(L1_STATE, rows.rows * (logistic ? 2 : 1))
  f64s(L1_NEXT, columns)
  f64s(L1_CHANGE, rows.rows)
  f64s(L1_GRADIENTS, columns * 4)
  u32(L1_LIST, arena.allocate(Math.max(columns, 1) * 4, 'the state of the columns'))
  if (logistic) {
    f64s(L1_CURVE, columns)
    f64s(L1_MARGINS, rows.rows)
  }
  numeric.iota(order, columns)
  numeric.startColumns(starts, columns)
  const mark = arena.mark()
  const next = arena.allocate((columns + 1) * 4, 'the columns')
  arena.u32(next, columns + 1).set(arena.u32(starts, columns + 1))
  // Under the square a cost is its root.
  const { costPositive, costNegative } = settings
  const [positive, negative] = logistic ? [1, 1] : [Math.sqrt(costPositive), Math.sqrt(costNegative)]
  numeric.fillColumns(problem.at, rows.rows, next, entryRows, values, positive, -negative)
  numeric.rowCosts(problem.at, rows.rows, costs, logistic ? costPositive : positive, logistic ? costNegative : negative)
  arena.release(mark)
  numeric.columnBounds(at, logistic)
  startState(arena, at, arena.f64(costs, rows.rows), logistic)
  return { at, work: entries + 4 * columns }
}

function startState(arena: Arena, at: number, costs: Float64Array, logistic: boolean): void {
  // All weights are zero: every margin is.
  const primal = costs.reduce((sum, cost) => sum + (logistic ? cost * Math.LN2 : cost * cost), 0)
  arena.setF64(at + L1_PRIMAL, primal)
  arena.setF64(at + L1_GAP, primal)
  arena.setF64(at + L1_SHARE, 1)
  arena.setF64(at + L1_WAIT, 4)
  arena.setF64(at + L1_DAMPING, 1e-3)
  arena.setF64(at + L1_LIMIT, Number.NEGATIVE_INFINITY)
  arena.setF64(at + L1_OUTER_LIMIT, Number.NEGATIVE_INFINITY)
  arena.setU32(at + L1_ACTIVE, arena.getU32(at + L1_FEATURES))
}

export const primalCoordinate: MemorySolver = {
  name: 'primal-coordinate',
  data: 'memory',
  regularizer: 'l1',
  wideWeights: true,
  // Most passes are over few columns, and rounds of Newton steps count as passes, too.
  defaultPasses: 100_000,
  options: ['shrinking', 'tolerance'],
  summary: 'coordinate descent over features, for --regularizer l1, all rows in memory',
  lossNeeds: {
    what: 'a derivative that is continuous (squared-hinge and logistic have one)',
    has: loss => loss.entropicDual === true || (loss.box?.(1).diagonal ?? 0) > 0,
  },
  start: (pool, problem, settings) => new PrimalCoordinateRun(pool, problem, settings),
}
