// One step of selective block minimisation on the trainer's thread: sweeps over block and cache together, then the choice
// of what the cache keeps. All rows are where they were loaded; only the records of rows that stay are copied.
import type { Arena } from '../numeric/arena.ts'
import {
  PROBLEM_ALPHA,
  PROBLEM_COUNT,
  PROBLEM_MARGINS,
  PROBLEM_ROWS,
  ROW_COUNT,
  ROW_ENTRIES,
  ROW_KIND,
  ROW_KIND_CONSTANT,
  ROW_KIND_DENSE,
  ROW_KIND_F64,
} from '../numeric/layouts.ts'
import type { TaskContext } from '../threads/task.ts'
import { drawFrom, sweepBlock } from './block-sweeps-task.ts'
import type { SelectiveMemory } from './selective.ts'

export interface SelectiveVisitOptions {
  problem: number
  sweep: number
  block: { table: number; alpha: number; rows: number; parts: { rows: number; firstRow: number }[] }
  /** All dual variables, and the bytes from one to the next. */
  alpha: number
  stride: number
  memory: SelectiveMemory
  /** Rows in the cache, and bytes of their records. */
  cached: number
  used: number
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

export function selectiveVisitTask({ arena }: TaskContext, options: SelectiveVisitOptions): SelectiveVisitResult {
  const { problem, block, memory, stride } = options
  const numbers = arena.u32(memory.rowNumbers, options.cached)
  const records = arena.u32(memory.table, options.cached)
  // A cached row whose block is here again is worked on in the block.
  const away: number[] = []
  for (let c = 0; c < options.cached; c++) {
    const number = numbers[c]
    if (!block.parts.some(({ rows, firstRow }) => number >= firstRow && number < firstRow + rows)) away.push(c)
  }
  const count = block.rows + away.length
  const table = arena.u32(memory.unionTable, count)
  table.set(arena.u32(block.table, block.rows))
  const alphas = arena.f64(memory.unionAlpha, (count * stride) / 8)
  alphas.set(arena.f64(block.alpha, (block.rows * stride) / 8))
  const width = stride / 8
  const globalAlpha = (number: number): Float64Array => arena.f64(options.alpha + number * stride, width)
  away.forEach((c, k) => {
    table[block.rows + k] = records[c]
    alphas.set(globalAlpha(numbers[c]), (block.rows + k) * width)
  })
  arena.setU32(problem + PROBLEM_ROWS, memory.unionTable)
  arena.setU32(problem + PROBLEM_COUNT, count)
  arena.setU32(problem + PROBLEM_ALPHA, memory.unionAlpha)
  arena.setU32(problem + PROBLEM_MARGINS, memory.margins)
  let first: { loss: number; gap: number } | undefined
  sweepBlock(arena, { ...options, rows: count, order: memory.unionOrder }, drawFrom(options.random), () => {
    // What the block's own rows owed before anything was done; the cached ones count with their own blocks.
    if (first) return
    arena.numeric.visitedSums(problem, block.rows, memory.margins, block.alpha, memory.sums)
    const [loss, gap] = arena.f64(memory.sums, 2)
    first = { loss, gap }
  })
  arena.f64(block.alpha, (block.rows * stride) / 8).set(alphas.subarray(0, (block.rows * stride) / 8))
  away.forEach((c, k) => {
    globalAlpha(numbers[c]).set(alphas.subarray((block.rows + k) * width, (block.rows + k + 1) * width))
  })
  arena.numeric.rowWorth(problem, count, memory.worth)
  arena.setU32(problem + PROBLEM_MARGINS, 0)
  return { ...refill(arena, options, away, count), loss: first?.loss ?? 0, gap: first?.gap ?? 0 }
}

/** Fills the cache with the worthiest rows of block and cache, as far as it goes. */
function refill(
  arena: Arena,
  { block, memory }: SelectiveVisitOptions,
  away: number[],
  count: number,
): { cached: number; used: number } {
  const worth = arena.f64(memory.worth, count)
  const table = arena.u32(memory.unionTable, count)
  const order = Uint32Array.from({ length: count }, (_, k) => k)
  // Ties go to the earlier row, so that the choice is the same on every machine.
  order.sort((a, b) => worth[b] - worth[a] || a - b)
  const sizes = new Float64Array(count)
  const kept: number[] = []
  let bytes = 0
  for (const k of order) {
    if (kept.length >= memory.capacity) break
    sizes[k] = recordBytes(arena, table[k])
    if (bytes + sizes[k] > memory.records.bytes) break
    bytes += sizes[k]
    kept.push(k)
  }
  const numbers = arena.u32(memory.rowNumbers, memory.capacity)
  const records = arena.u32(memory.table, memory.capacity)
  const numberOf = (k: number): number => {
    if (k >= block.rows) return numbers[away[k - block.rows]]
    let row = k
    for (const part of block.parts) {
      if (row < part.rows) return part.firstRow + row
      row -= part.rows
    }
    throw new Error('a row outside its block')
  }
  const entries = kept.map(k => ({ k, number: numberOf(k), from: table[k] }))
  // Rows that stay slide down in the order of their addresses, so none overwrites another; then the new ones come in.
  entries.sort((a, b) => Number(a.k < block.rows) - Number(b.k < block.rows) || a.from - b.from)
  let at = memory.records.at
  const placed = entries.map(({ k, number, from }) => {
    const size = sizes[k]
    if (from !== at) arena.bytes(0, Math.max(at, from) + size).copyWithin(at, from, from + size)
    at += size
    return { number, record: at - size }
  })
  // Kept in the order of the store: the same cache is the same list, however it came about.
  placed.sort((a, b) => a.number - b.number)
  placed.forEach(({ number, record }, c) => {
    numbers[c] = number
    records[c] = record
  })
  return { cached: placed.length, used: at - memory.records.at }
}

/** Bytes of a record, padding included. Rows of a block have no dictionaries, so a record is one piece. */
function recordBytes(arena: Arena, record: number): number {
  const count = arena.getU32(record + ROW_COUNT)
  const kind = arena.getU32(record + ROW_KIND)
  const per = kind === ROW_KIND_CONSTANT || kind === ROW_KIND_DENSE ? 4 : kind === ROW_KIND_F64 ? 12 : 8
  return (ROW_ENTRIES + count * per + (kind === ROW_KIND_F64 ? 8 : 0) + 7) & ~7
}
