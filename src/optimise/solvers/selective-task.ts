// One step of selective block minimisation on the trainer's thread: sweeps over block and cache together, then the choice
// of what the cache keeps. All rows are where they were loaded; only the records of rows that stay are copied.

import { drawFrom } from '../../numeric/draw.ts'
import { PROBLEM_ALPHA, PROBLEM_COUNT, PROBLEM_MARGINS, PROBLEM_ROWS } from '../../numeric/layouts.ts'
import { declareTask, type TaskContext } from '../../threads/task.ts'
import { sweepBlock } from './block-sweeps-task.ts'
import { refill, unite } from './row-cache.ts'
import type { SelectiveMemory } from './selective.ts'

export interface SelectiveVisitOptions {
  problem: number
  sweep: number
  block: { table: number; alpha: number; rows: number; parts: { rows: number; firstRow: number }[] }
  /** All dual variables, and the bytes from one to the next. */
  alpha: number
  stride: number
  memory: SelectiveMemory
  /** Rows in the cache. */
  cached: number
  logistic: boolean
  narrow: boolean
  shrink: boolean
  random: [number, number, number]
  pass: number
  innerPasses: number
  innerTolerance: number | undefined
}

export interface SelectiveVisitResult {
  cached: number
  used: number
  loss: number
  gap: number
}

export const selectiveVisitTask = declareTask(import.meta.url, 'selective-visit', selectiveVisit)

function selectiveVisit({ arena }: TaskContext, options: SelectiveVisitOptions): SelectiveVisitResult {
  const { problem, block, memory, stride } = options
  const { cache } = memory
  const count = unite(arena, cache, options.cached, block)
  const ownBytes = block.rows * stride
  const away = { numbers: cache.unionNumbers + block.rows * 4, count: count - block.rows }
  arena.bytes(cache.unionAlpha, ownBytes).set(arena.bytes(block.alpha, ownBytes))
  arena.numeric.gatherListed(options.alpha, stride, away.numbers, cache.unionAlpha + ownBytes, stride, away.count)
  arena.setU32(problem + PROBLEM_ROWS, cache.unionTable)
  arena.setU32(problem + PROBLEM_COUNT, count)
  arena.setU32(problem + PROBLEM_ALPHA, cache.unionAlpha)
  arena.setU32(problem + PROBLEM_MARGINS, memory.margins)
  let first: { loss: number; gap: number } | undefined
  sweepBlock(arena, { ...options, rows: count, order: cache.unionOrder }, drawFrom(options.random), () => {
    // What the block's own rows owed before anything was done; the cached ones count with their own blocks.
    if (first) return
    arena.numeric.visitedSums(problem, block.rows, memory.margins, block.alpha, memory.sums)
    const [loss, gap] = arena.f64(memory.sums, 2)
    first = { loss, gap }
  })
  arena.bytes(block.alpha, ownBytes).set(arena.bytes(cache.unionAlpha, ownBytes))
  arena.numeric.scatterListed(cache.unionAlpha + ownBytes, stride, away.numbers, options.alpha, stride, away.count)
  arena.numeric.rowWorth(problem, count, cache.worth)
  arena.setU32(problem + PROBLEM_MARGINS, 0)
  return { ...refill(arena, cache, block.rows, count), loss: first?.loss ?? 0, gap: first?.gap ?? 0 }
}
