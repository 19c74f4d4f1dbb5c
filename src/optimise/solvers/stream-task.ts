// What the trainer's thread does with a block that has been read, for solver `stream`.
import type { Arena } from '../../numeric/arena.ts'
import { drawFrom } from '../../numeric/draw.ts'
import { PROBLEM_COUNT, PROBLEM_GRADIENTS, PROBLEM_MARGINS } from '../../numeric/layouts.ts'
import { WORKING_COUNT, WORKING_EPSILON, WORKING_MOVED } from '../../numeric/working-set-layout.ts'
import { declareTask, type TaskContext } from '../../threads/task.ts'
import type { ProblemAt } from '../objectives/one-problem.ts'
import { innerOf, type SweepOutcome, Sweeps, startListed } from './sweeps.ts'
import type { StreamMemory } from './working-set.ts'

export interface StreamVisitOptions {
  memory: StreamMemory
  /** The block, or the chunk of text. */
  of: ProblemAt
  random: [number, number, number]
  pass: number
  /** Nonzeros to visit in the working set, and about how many rows have so many. */
  budget: number
  budgetRows: number
}

export interface StreamVisitResult {
  /** Losses and debts to the gap of the rows that were not in memory, as they were met. */
  loss: number
  gap: number
  /** How far w is from where it was after the last visit of new rows, and how far it may have been from where it is
   *  now while this block's were visited. */
  moved: number
  within: number
  /** The largest and the smallest projected gradient of all visits. */
  highest: number
  lowest: number
}

interface Extremes {
  highest: number
  lowest: number
}

/** Rows that are far from moving are left out of most rounds over the working set. */
const NEAR = 0.5
const ALL_EVERY = 4
/** Rows that are listed for each one that will be visited; where the working set has so many times as many, some are listed, in turn,
 *  and else all: to look at 300,000 rows for each chunk of text took as long as to train on it. */
const LISTED_FOR_A_VISIT = 2
const MANY_TIMES = 4
/** The working set has done its part when it owes so much of what the new rows owed. */
const ENOUGH = 0.05

/** Nonzeros that are visited in turn. */
const SLICE = 500

export const streamVisitTask = declareTask(import.meta.url, 'stream-visit', streamVisit)

function streamVisit({ arena }: TaskContext, options: StreamVisitOptions): StreamVisitResult {
  return visitNew(arena, options, listAbsent(arena, options))
}

export interface FirstVisitOptions extends StreamVisitOptions {
  /** Map from the chunk's class numbers to those of all, or 0. */
  labelMap: number
  /** Dictionary that numbers features as they are met, or 0 where they have their own numbers. */
  dictionary: number
}

export const firstVisitTask = declareTask(import.meta.url, 'first-visit', firstVisit)

/** The same for rows that were just parsed, none of which is known. How many could be trained on comes with it. */
function firstVisit({ arena }: TaskContext, options: FirstVisitOptions): StreamVisitResult & { rows: number } {
  const { memory, of, dictionary, labelMap } = options
  const { order, table, rows, alpha, parts } = of.group
  const { numeric } = arena
  if (labelMap) numeric.relabelRows(table, rows, labelMap)
  let count = rows
  if (dictionary) count = numeric.numberFeatures(dictionary, table, rows, order)
  else numeric.iota(order, rows)
  const numbers = arena.u32(memory.numbers, rows)
  for (let k = 0; k < rows; k++) numbers[k] = parts[0].firstRow + k
  arena.bytes(alpha, rows * of.alphaStride).fill(0)
  return { ...visitNew(arena, options, count), rows: count }
}

/** Visits the rows that the order lists, lets them in or dismisses them, and visits the working set. */
function visitNew(arena: Arena, options: StreamVisitOptions, count: number): StreamVisitResult {
  const { memory, of } = options
  const { problem, logistic, narrow } = of
  const { sweep, order, alpha } = of.group
  const { numeric } = arena
  // The first visit of each row that is new here.
  const inner = innerOf(options.pass)
  startListed(arena, { sweep, order, rows: count, random: drawFrom(options.random), inner })
  arena.setU32(problem + PROBLEM_GRADIENTS, memory.gradients)
  if (logistic) (narrow ? numeric.startEntropicF32 : numeric.startEntropicF64)(problem, order, count)
  const first = new Sweeps(arena, problem, sweep, { rows: count, logistic, narrow, shrink: false })
  const { loss, gap, highest, lowest } = logistic
    ? visitTogether(arena, options, first, inner)
    : first.advance(Number.POSITIVE_INFINITY)!
  const takeIn = narrow ? numeric.takeInF32 : numeric.takeInF64
  takeIn(memory.set, problem, order, count, memory.numbers, alpha, memory.gradients)
  const within = arena.getF64(memory.set + WORKING_MOVED)
  const moved = memory.followed ? Math.sqrt(numeric.followWeights(of.weights, memory.followed, of.weightCount)) : 0
  const again = visitWorkingSet(arena, options, inner, gap)
  return {
    ...{ loss, gap, moved, within },
    highest: Math.max(highest, again.highest),
    lowest: Math.min(lowest, again.lowest),
  }
}

/** The first sweep over new rows, and one over those in memory, in turns of a few rows each. With the logistic loss no row
 *  comes to rest at a bound: whatever new rows add to w, old ones must give back, and as long as they do not, the next new
 *  rows find w where they want it and stay where they are. Old and new ones have to trade as they go. */
function visitTogether(arena: Arena, options: StreamVisitOptions, first: Sweeps, inner: number): SweepOutcome {
  const { sweeps: old, near } = overSet(arena, options, { nearness: Number.POSITIVE_INFINITY, turn: 2, inner })
  for (;;) {
    const outcome = first.advance(SLICE)
    if (near > 0) old.advance(SLICE)
    if (outcome) return outcome
  }
}

/** Sweeps over rows of the working set, those near enough to moving, in an order drawn for this turn. */
function overSet(
  arena: Arena,
  { memory, of, random, budgetRows }: StreamVisitOptions,
  { nearness, turn, inner }: { nearness: number; turn: number; inner: number },
): { sweeps: Sweeps; near: number } {
  const { set, problem, sweep, order } = memory
  const count = arena.getU32(set + WORKING_COUNT)
  arena.setU32(problem + PROBLEM_COUNT, count)
  const some = Math.ceil(LISTED_FOR_A_VISIT * budgetRows)
  const near = arena.numeric.listNear(set, problem, order, nearness, count > MANY_TIMES * some ? some : count)
  startListed(arena, { sweep, order, rows: near, random: drawFrom([...random, turn]), inner })
  const { logistic, narrow } = of
  return { sweeps: new Sweeps(arena, problem, sweep, { rows: near, logistic, narrow, shrink: false }), near }
}

/** Visits rows of the working set, in random order, as many as there is time for. */
function visitWorkingSet(arena: Arena, options: StreamVisitOptions, inner: number, newGap: number): Extremes {
  const { memory, random, budget } = options
  const all = random[2] % ALL_EVERY === 0
  const nearness = all ? Number.POSITIVE_INFINITY : NEAR * arena.getF64(memory.set + WORKING_EPSILON)
  const { sweeps, near } = overSet(arena, options, { nearness, turn: 1, inner })
  const seen = { highest: 0, lowest: 0 }
  while (near > 0 && sweeps.work < budget) {
    const outcome = sweeps.advance(budget - sweeps.work)
    const { highest, lowest } = outcome ?? sweeps.extremes
    seen.highest = Math.max(seen.highest, highest)
    seen.lowest = Math.min(seen.lowest, lowest)
    if (!outcome || outcome.gap <= ENOUGH * newGap) break
  }
  return seen
}

export const streamEvaluateTask = declareTask(import.meta.url, 'stream-evaluate', streamEvaluate)

/** Margins of a block's rows that are not in memory, into the ledger. The block is not needed any more afterwards. */
function streamEvaluate({ arena }: TaskContext, options: Pick<StreamVisitOptions, 'memory' | 'of'>): void {
  const { memory, of } = options
  const { problem, narrow, alphaStride } = of
  const { order, table, alpha, rowWeights = 0 } = of.group
  const { numeric } = arena
  const count = listAbsent(arena, options)
  numeric.keepListed(order, count, table, alpha, alphaStride, rowWeights)
  arena.setU32(problem + PROBLEM_MARGINS, memory.gradients)
  const evaluate = narrow ? numeric.evaluateF32 : numeric.evaluateF64
  evaluate(problem, 0, count, memory.sums)
  arena.setU32(problem + PROBLEM_MARGINS, 0)
  numeric.enterEvaluated(memory.set, problem, count, order, memory.numbers, alpha, memory.gradients)
}

/** Lists the rows of a block that are not in memory; how many. */
function listAbsent(arena: Arena, { memory, of }: Pick<StreamVisitOptions, 'memory' | 'of'>): number {
  const { order, parts } = of.group
  let [listed, row] = [0, 0]
  for (const { rows, firstRow } of parts) {
    listed = arena.numeric.listAbsent(memory.set, order, listed, memory.numbers, row, rows, firstRow)
    row += rows
  }
  return listed
}
