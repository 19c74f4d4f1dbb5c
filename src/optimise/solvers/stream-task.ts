// What the trainer's thread does with a block that has been read, for solver `stream`.
import type { Arena } from '../../numeric/arena.ts'
import { drawFrom } from '../../numeric/draw.ts'
import { PROBLEM_COUNT, PROBLEM_GRADIENTS, PROBLEM_MARGINS } from '../../numeric/layouts.ts'
import { WORKING_COUNT, WORKING_EPSILON, WORKING_MOVED } from '../../numeric/working-set-layout.ts'
import { declareTask, type TaskContext } from '../../threads/task.ts'
import type { StreamMemory } from './stream.ts'
import { type SweepOutcome, Sweeps, startListed } from './sweeps.ts'

interface Part {
  rows: number
  firstRow: number
}

export interface StreamVisitOptions {
  memory: StreamMemory
  /** Of the block: its problem, sweep, order and dual variables. */
  problem: number
  sweep: number
  order: number
  alpha: number
  parts: Part[]
  weights: number
  weightCount: number
  logistic: boolean
  narrow: boolean
  random: [number, number, number]
  pass: number
  /** Nonzeros to visit in the working set. */
  budget: number
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
/** The working set has done its part when it owes so much of what the new rows owed. */
const ENOUGH = 0.05

/** Nonzeros that are visited in turn. */
const SLICE = 500

export const streamVisitTask = declareTask(import.meta.url, 'stream-visit', streamVisit)

function streamVisit({ arena }: TaskContext, options: StreamVisitOptions): StreamVisitResult {
  const { memory, order, parts } = options
  return visitNew(arena, options, listAbsent(arena, memory.set, order, memory.numbers, parts))
}

export interface FirstVisitOptions extends Omit<StreamVisitOptions, 'parts'> {
  stride: number
  table: number
  rows: number
  /** Number of the first of them, in the order of the text. */
  firstRow: number
  /** Map from the chunk's class numbers to those of all, or 0. */
  labelMap: number
  /** Dictionary that numbers features as they are met, or 0 where they have their own numbers. */
  dictionary: number
}

export const firstVisitTask = declareTask(import.meta.url, 'first-visit', firstVisit)

/** The same for rows that were just parsed, none of which is known. How many could be trained on comes with it. */
function firstVisit({ arena }: TaskContext, options: FirstVisitOptions): StreamVisitResult & { rows: number } {
  const { memory, order, table, rows, firstRow, dictionary } = options
  const { numeric } = arena
  if (options.labelMap) numeric.relabelRows(table, rows, options.labelMap)
  let count = rows
  if (dictionary) count = numeric.numberFeatures(dictionary, table, rows, order)
  else numeric.iota(order, rows)
  const numbers = arena.u32(memory.numbers, rows)
  for (let k = 0; k < rows; k++) numbers[k] = firstRow + k
  arena.bytes(options.alpha, rows * options.stride).fill(0)
  return { ...visitNew(arena, options, count), rows: count }
}

/** Visits the rows that the order lists, lets them in or dismisses them, and visits the working set. */
function visitNew(arena: Arena, options: Omit<StreamVisitOptions, 'parts'>, count: number): StreamVisitResult {
  const { memory, problem, sweep, order, logistic, narrow } = options
  const { numeric } = arena
  // The first visit of each row that is new here.
  const inner = Math.max(1e-9, 10 ** (-2 - options.pass))
  startListed(arena, sweep, order, count, drawFrom(options.random), inner)
  arena.setU32(problem + PROBLEM_GRADIENTS, memory.gradients)
  if (logistic) (narrow ? numeric.startEntropicF32 : numeric.startEntropicF64)(problem, order, count)
  const first = new Sweeps(arena, problem, sweep, { rows: count, logistic, narrow, shrink: false })
  const { loss, gap, highest, lowest } = logistic
    ? visitTogether(arena, options, first, inner)
    : first.advance(Number.POSITIVE_INFINITY)!
  const takeIn = narrow ? numeric.takeInF32 : numeric.takeInF64
  takeIn(memory.set, problem, order, count, memory.numbers, options.alpha, memory.gradients)
  const within = arena.getF64(memory.set + WORKING_MOVED)
  const moved = memory.followed
    ? Math.sqrt(numeric.followWeights(options.weights, memory.followed, options.weightCount))
    : 0
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
function visitTogether(
  arena: Arena,
  options: Omit<StreamVisitOptions, 'parts'>,
  first: Sweeps,
  inner: number,
): SweepOutcome {
  const { memory, narrow, random } = options
  const { set, problem, sweep, order } = memory
  const rows = arena.getU32(set + WORKING_COUNT)
  arena.setU32(problem + PROBLEM_COUNT, rows)
  const near = arena.numeric.listNear(set, problem, order, Number.POSITIVE_INFINITY)
  startListed(arena, sweep, order, near, drawFrom([...random, 2]), inner)
  const old = new Sweeps(arena, problem, sweep, { rows: near, logistic: true, narrow, shrink: false })
  for (;;) {
    const outcome = first.advance(SLICE)
    if (near > 0) old.advance(SLICE)
    if (outcome) return outcome
  }
}

/** Visits rows of the working set, in random order, as many as there is time for. */
function visitWorkingSet(
  arena: Arena,
  options: Omit<StreamVisitOptions, 'parts'>,
  inner: number,
  newGap: number,
): Extremes {
  const { memory, logistic, narrow, random, budget } = options
  const { set, problem, sweep, order } = memory
  const rows = arena.getU32(set + WORKING_COUNT)
  arena.setU32(problem + PROBLEM_COUNT, rows)
  const all = random[2] % ALL_EVERY === 0
  const nearness = all ? Number.POSITIVE_INFINITY : NEAR * arena.getF64(set + WORKING_EPSILON)
  const near = arena.numeric.listNear(set, problem, order, nearness)
  startListed(arena, sweep, order, near, drawFrom([...random, 1]), inner)
  const sweeps = new Sweeps(arena, problem, sweep, { rows: near, logistic, narrow, shrink: false })
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

export interface StreamEvaluateOptions {
  memory: StreamMemory
  problem: number
  order: number
  table: number
  alpha: number
  stride: number
  parts: Part[]
  narrow: boolean
}

export const streamEvaluateTask = declareTask(import.meta.url, 'stream-evaluate', streamEvaluate)

/** Margins of a block's rows that are not in memory, into the ledger. The block is not needed any more afterwards. */
function streamEvaluate({ arena }: TaskContext, options: StreamEvaluateOptions): void {
  const { memory, problem, order, table, alpha, stride } = options
  const { numeric } = arena
  const count = listAbsent(arena, memory.set, order, memory.numbers, options.parts)
  numeric.keepListed(order, count, table, alpha, stride)
  arena.setU32(problem + PROBLEM_MARGINS, memory.gradients)
  const evaluate = options.narrow ? numeric.evaluateF32 : numeric.evaluateF64
  evaluate(problem, 0, count, memory.sums)
  arena.setU32(problem + PROBLEM_MARGINS, 0)
  numeric.enterEvaluated(memory.set, problem, count, order, memory.numbers, alpha, memory.gradients)
}

function listAbsent(arena: Arena, set: number, order: number, numbers: number, parts: Part[]): number {
  let [listed, row] = [0, 0]
  for (const { rows, firstRow } of parts) {
    listed = arena.numeric.listAbsent(set, order, listed, numbers, row, rows, firstRow)
    row += rows
  }
  return listed
}
