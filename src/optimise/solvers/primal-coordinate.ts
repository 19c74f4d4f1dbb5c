// Solver `primal-coordinate`: coordinate descent over features. All rows in memory, and once more as columns.
//
//   min_w  ½‖w‖² + Σ_i C_i loss(y_i wᵀx_i)         the bias is a feature like any other
//   min_w   ‖w‖₁ + Σ_i C_i loss(y_i wᵀx_i)         most weights are zero
//
// Under ½‖w‖²: Newton steps in one weight at a time with a line search. Chang, Hsieh, Lin: Coordinate descent method for
// large-scale L2-loss linear support vector machines (JMLR 9, 2008). The loops are in numeric/assembly/l2-columns.ts.
//
// Under ‖w‖₁, squared hinge: the same steps. Yuan, Chang, Hsieh, Lin: A comparison of optimization methods and software for
// large-scale L1-regularized linear classification (JMLR 11, 2010). Logistic: quadratic models, each solved by coordinate descent.
// Yuan, Ho, Lin: An improved GLMNET for L1-regularized logistic regression (JMLR 13, 2012). The loops are in
// numeric/assembly/l1.ts. Between sweeps come Newton steps for all weights that are not zero (l1-newton.ts). Weights of zero
// whose derivative lies well within ±1 are shrunk.

import { isSparse } from '../../losses/formulations.ts'
import { L1Fields } from '../../numeric/fields/l1.ts'
import { L1_BYTES } from '../../numeric/l1-layout.ts'
import type { Address } from '../../sizes.ts'
import type { BinaryObjective } from '../objectives/binary.ts'
import { certifyWeights } from '../objectives/slopes.ts'
import type { RowGroup } from '../sources/row-source.ts'
import { primalCoordinateTask, wakeColumns } from './primal-coordinate-task.ts'
import type { MemorySolver, Start } from './solver.ts'

/** Entries between two looks at the abort signal and the clock: some tens of milliseconds. */
const SLICE = 4e6
/** A Newton step is made in one piece: some tenths of a second. Under ½‖w‖² all weights are in it, and where features are few, but
 *  hang together, it takes as many rounds over the entries: some seconds at most. */
const NEWTON_SLICE = 1e8
const NEWTON_PASSES = 150
const LONGEST_SLICE = 2e9

const newtonSlice = (passWork: number, sparse: boolean): number =>
  sparse ? NEWTON_SLICE : Math.max(NEWTON_SLICE, Math.min(NEWTON_PASSES * passWork, LONGEST_SLICE))

const primalCoordinateRun: Start<BinaryObjective> = (problem, source, { seed, shrinking: shrink }) => {
  const { arena, threads } = source
  const { logistic } = problem
  const { numeric } = arena
  const sparse = isSparse(problem.settings.regularizer ?? 'l2')
  /** All columns awake, and margins anew from w: many small changes add up to rounding errors. */
  const refresh = (l1: number): void => {
    if (logistic) numeric.marginsOfColumns(l1)
    else numeric.stateOfSquared(l1)
    if (logistic && !sparse) numeric.startL2Logistic(l1)
    wakeColumns(arena, l1)
  }
  /** Rows become columns when they are met for the first time. */
  const start = (group: RowGroup) => {
    const made = makeColumns(problem, group, logistic)
    new L1Fields(arena, made.at).random = BigInt(seed)
    refresh(made.at)
    return made
  }
  let columns: { at: number; work: number } | undefined
  return {
    async visit(group, { most, left, primals, targets, signal }) {
      columns ??= start(group)
      const { at: l1, work: passWork } = columns
      const limit = most * passWork
      const last = left <= 1 + 1e-3
      const targetGap = targets[0] * primals[0]
      const step = (budget: number, spare: number, finish: boolean) =>
        threads.run(primalCoordinateTask, { l1, logistic, sparse, shrink, budget, spare, targetGap, finish })
      let work = 0
      for (;;) {
        const spare = Math.min(left * passWork - work, newtonSlice(passWork, sparse))
        const { ready, primal, gap, ...done } = await step(Math.min(SLICE, Math.max(limit - work, 1)), spare, false)
        work += done.work
        const ends = signal?.aborted === true || (last && work >= limit)
        // A step that is under way is made as far as it got, so that no work is lost.
        if (ends && !ready) work += (await step(0, 0, true)).work
        if (ready || ends || work >= limit) {
          return { work: work / passWork, losses: [0], gaps: [gap], primals: [primal], ready }
        }
      }
    },
    notYet: () => refresh(columns!.at),
    // Under ‖w‖₁ the objective certifies.
    ...(!sparse && { certificates: () => certifyWeights(problem, source) }),
  }
}

/** Turns the problem's rows into columns and makes room for the state around them. The address of the L1_ structure, and the
 *  work that a visit to every column is. */
export function makeColumns(problem: BinaryObjective, rows: RowGroup, logistic: boolean): { at: number; work: number } {
  const { arena, settings } = problem
  const features = problem.weightCount - 1
  const problemAt = problem.of(rows)
  const { numeric } = arena
  const columns = features + (settings.bias === 0 ? 0 : 1)
  const starts = arena.allocateZeroed((columns + 1) * 4, 'the columns')
  let entries = numeric.countColumns(rows.table, rows.rows, starts)
  if (settings.bias !== 0) {
    arena.setU32(starts + features * 4, rows.rows)
    entries += rows.rows
  }
  const at = arena.allocateZeroed(L1_BYTES, 'the columns')
  const fields = new L1Fields(arena, at)
  const f64s = (count: number): Address => arena.allocateZeroed(Math.max(count, 1) * 8, 'the state of the columns')
  const order = arena.allocate(Math.max(columns, 1) * 4, 'the order of the columns')
  const entryRows = arena.allocate(Math.max(entries, 1) * 4, 'the columns')
  const values = arena.allocate(Math.max(entries, 1) * 8, 'the columns')
  fields.rows = rows.rows
  fields.features = columns
  fields.starts = starts
  fields.entries = entryRows
  fields.values = values
  fields.weights = problem.weights
  fields.order = order
  fields.most = f64s(columns)
  const costs = f64s(rows.rows)
  fields.costs = costs
  fields.state = f64s(rows.rows * (logistic ? 2 : 1))
  fields.next = f64s(columns)
  fields.change = f64s(rows.rows)
  fields.gradients = f64s(columns * 4)
  fields.list = arena.allocate(Math.max(columns, 1) * 4, 'the state of the columns')
  if (logistic) {
    fields.curve = f64s(columns)
    fields.margins = f64s(rows.rows)
  }
  numeric.iota(order, columns)
  numeric.startColumns(starts, columns)
  const mark = arena.mark()
  const next = arena.allocate((columns + 1) * 4, 'the columns')
  arena.u32(next, columns + 1).set(arena.u32(starts, columns + 1))
  // Under the square a cost is its root.
  const { costPositive, costNegative } = settings
  const [positive, negative] = logistic ? [1, 1] : [Math.sqrt(costPositive), Math.sqrt(costNegative)]
  numeric.fillColumns(problemAt, rows.rows, next, entryRows, values, positive, -negative)
  numeric.rowCosts(problemAt, rows.rows, costs, logistic ? costPositive : positive, logistic ? costNegative : negative)
  arena.release(mark)
  numeric.columnBounds(at, logistic)
  startState(fields, arena.f64(costs, rows.rows), logistic)
  return { at, work: entries + 4 * columns }
}

function startState(fields: L1Fields, costs: Float64Array, logistic: boolean): void {
  // All weights are zero: every margin is.
  const primal = costs.reduce((sum, cost) => sum + (logistic ? cost * Math.LN2 : cost * cost), 0)
  fields.primal = primal
  fields.gap = primal
  fields.share = 1
  fields.wait = 4
  fields.damping = 1e-3
  fields.limit = Number.NEGATIVE_INFINITY
  fields.outerLimit = Number.NEGATIVE_INFINITY
  fields.active = fields.features
}

export const primalCoordinate: MemorySolver = {
  name: 'primal-coordinate',
  data: 'memory',
  dual: true,
  regularizers: ['l1', 'l2'],
  columns: true,
  rowWeights: true,
  wideWeights: true,
  // Most passes are over few columns, and rounds of Newton steps count as passes, too.
  defaultPasses: 100_000,
  options: ['shrinking', 'tolerance'],
  summary: 'coordinate descent over features, for --regularizer l1 or l2, all rows in memory',
  lossNeeds: {
    what: 'a derivative that is continuous (squared-hinge and logistic have one)',
    has: loss => loss.entropicDual === true || (loss.box?.(1).diagonal ?? 0) > 0,
  },
  start: primalCoordinateRun,
}
