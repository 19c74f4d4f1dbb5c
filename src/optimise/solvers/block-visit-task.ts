// Dual coordinate descent over the rows of one block, a given number of sweeps or until they agree; perhaps together with rows
// of a cache, which then chooses what it keeps. All rows are where they were loaded; only records of rows that stay are copied.
import type { Arena } from '../../numeric/arena.ts'
import { drawFrom } from '../../numeric/draw.ts'
import {
  PROBLEM_ALPHA,
  PROBLEM_COUNT,
  PROBLEM_MARGINS,
  PROBLEM_ROW_WEIGHTS,
  PROBLEM_ROWS,
} from '../../numeric/layouts.ts'
import { declareTask, type TaskContext } from '../../threads/task.ts'
import type { ProblemAt } from '../objectives/one-problem.ts'
import type { CarriedBlock } from './block-momentum.ts'
import { type CacheFill, type CacheMemory, refill, unite } from './row-cache.ts'
import { innerOf, Sweeps, startSweeps } from './sweeps.ts'

/** A cache of rows, and what else is kept for each row of its union with a block: addresses only. */
export interface CacheOfOne {
  cache: CacheMemory
  margins: number
  sums: number
}

export interface BlockVisitOptions {
  of: ProblemAt
  shrink: boolean
  /** Seed, pass and block: what the order of the rows is drawn from, so that a resumed run draws the same. */
  random: [number, number, number]
  /** Passes before this one. */
  pass: number
  innerPasses: number
  innerTolerance: number | undefined
  /** How rows are carried on before they are swept over, if they are. */
  carried?: CarriedBlock
  /** Rows that are worked on together with those of the block: how many there are. */
  among?: { memory: CacheOfOne; cached: number }
}

interface Met {
  loss: number
  gap: number
}

/** BLOCK-L-D ends after finitely many sweeps (Theorem 2 of the paper); a bound for the impatient. */
const MOST_SWEEPS = 200

export const blockVisitTask = declareTask(import.meta.url, 'block-visit', blockVisit)

/** What the block's rows owed as they were met, and what is in the cache now. */
function blockVisit({ arena }: TaskContext, options: BlockVisitOptions): Met & { parts: number; fill?: CacheFill } {
  const { of, carried, among } = options
  if (among) return { ...visitAmong(arena, options, among), parts: 0 }
  if (carried) carryOn(arena, of, carried)
  const met = sweepBlock(arena, options, of.group, outcome => outcome)
  return { ...met, parts: carried ? arena.numeric.dualParts(of.problem, of.group.rows) : 0 }
}

/** The rows of each block lie together among all rows. */
function carryOn(arena: Arena, { problem, group, alphaStride }: ProblemAt, { share, before }: CarriedBlock): void {
  let from = 0
  for (const { rows, firstRow } of group.parts) {
    arena.numeric.carryRows(problem, from, from + rows, before + firstRow * alphaStride, share)
    from += rows
  }
}

function visitAmong(
  arena: Arena,
  options: BlockVisitOptions,
  { memory, cached }: { memory: CacheOfOne; cached: number },
): Met & { fill: CacheFill } {
  const { problem, group: block, alpha, alphaStride: stride } = options.of
  const { cache, margins, sums } = memory
  const { numeric } = arena
  const count = unite(arena, cache, cached, block)
  const ownBytes = block.rows * stride
  const away = { numbers: cache.unionNumbers + block.rows * 4, count: count - block.rows }
  arena.bytes(cache.unionAlpha, ownBytes).set(arena.bytes(block.alpha, ownBytes))
  numeric.gatherListed(alpha, stride, away.numbers, cache.unionAlpha + ownBytes, stride, away.count)
  arena.setU32(problem + PROBLEM_ROWS, cache.unionTable)
  arena.setU32(problem + PROBLEM_COUNT, count)
  arena.setU32(problem + PROBLEM_ALPHA, cache.unionAlpha)
  arena.setU32(problem + PROBLEM_MARGINS, margins)
  arena.setU32(problem + PROBLEM_ROW_WEIGHTS, cache.unionWeights)
  // What the block's own rows owed before anything was done; the cached ones count with their own blocks.
  const met = sweepBlock(arena, options, { rows: count, order: cache.unionOrder }, () => {
    numeric.visitedSums(problem, block.rows, margins, block.alpha, sums)
    const [loss, gap] = arena.f64(sums, 2)
    return { loss, gap }
  })
  arena.bytes(block.alpha, ownBytes).set(arena.bytes(cache.unionAlpha, ownBytes))
  numeric.scatterListed(cache.unionAlpha + ownBytes, stride, away.numbers, alpha, stride, away.count)
  numeric.rowWorth(problem, count, cache.worth)
  arena.setU32(problem + PROBLEM_MARGINS, 0)
  return { ...met, fill: refill(arena, cache, block.rows, count) }
}

/** Sweeps as many times as the settings say; `seen` makes of the first sweep, which meets every row, what is told of it. */
function sweepBlock(
  arena: Arena,
  { of, shrink, random, pass, innerPasses, innerTolerance }: BlockVisitOptions,
  { rows, order }: { rows: number; order: number },
  seen: (outcome: Met) => Met,
): Met {
  const { sweep } = of.group
  // A block is met afresh in every pass: how finely its Newton steps go cannot be learnt from the sweeps before.
  startSweeps(arena, { sweep, order, rows, random: drawFrom(random), inner: innerOf(pass) })
  const { startEntropicF32, startEntropicF64 } = arena.numeric
  if (of.logistic) (of.narrow ? startEntropicF32 : startEntropicF64)(of.problem, order, rows)
  const sweeps = new Sweeps(arena, of.problem, sweep, { ...of, rows, shrink })
  const most = innerTolerance === undefined ? innerPasses : MOST_SWEEPS
  let met: Met = { loss: 0, gap: 0 }
  for (let count = 0; count < most; count++) {
    const { loss, gap, spread } = sweeps.advance(Number.POSITIVE_INFINITY)!
    if (count === 0) met = seen({ loss, gap })
    if (innerTolerance !== undefined && spread <= innerTolerance) break
  }
  return met
}
