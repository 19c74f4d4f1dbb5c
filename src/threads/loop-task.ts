// A compiled loop as a task, or several over the same rows: names and the numbers that they take cross to a worker.
import type { NumericFunctions } from '../numeric/numeric.ts'
import type { ThreadPool } from './pool.ts'
import { declareTask, type TaskContext } from './task.ts'

export type LoopName = keyof NumericFunctions

export interface LoopOptions {
  loop: LoopName
  numbers: number[]
  /** Filled with zeros before. */
  clear?: { at: number; bytes: number } | undefined
}

export const loopTask = declareTask(import.meta.url, 'loop', callLoop)

function callLoop({ arena }: TaskContext, { loop, numbers, clear }: LoopOptions): void {
  if (clear) arena.bytes(clear.at, clear.bytes).fill(0)
  ;(arena.numeric[loop] as (...numbers: number[]) => unknown)(...numbers)
}

/** Has a loop called on the next free thread. What it finds is in memory afterwards. */
export function runLoop(threads: ThreadPool, loop: LoopName, ...numbers: number[]): Promise<void> {
  return threads.run(loopTask, { loop, numbers })
}

/** Loops that are called one after the other. */
export type LoopCall = Pick<LoopOptions, 'loop' | 'numbers'>

const loopsTask = declareTask(import.meta.url, 'loops', callLoops)

function callLoops(context: TaskContext, calls: LoopCall[]): void {
  for (const call of calls) callLoop(context, call)
}

/** Has loops called on the next free thread, in this order. */
export async function runLoops(threads: ThreadPool, calls: LoopCall[]): Promise<void> {
  if (calls.length > 0) await threads.run(loopsTask, calls)
}

/** A loop over rows from..to of a problem. */
export interface RowCall {
  loop: LoopName
  problem: number
  from: number
  to: number
  /** What it takes behind them. */
  numbers: number[]
}

interface RowCalls {
  calls: Omit<RowCall, 'from' | 'to'>[]
  from: number
  to: number
  /** Rows after which the next loop has its turn. */
  stretch: number
}

const rowCallsTask = declareTask(import.meta.url, 'row-calls', callOverRows)

/** Rows of a stretch are in the cache when the second loop comes. */
function callOverRows(context: TaskContext, { calls, from, to, stretch }: RowCalls): void {
  for (let row = from; row < to; row += stretch) {
    const end = Math.min(to, row + stretch)
    for (const { loop, problem, numbers } of calls)
      callLoop(context, { loop, numbers: [problem, row, end, ...numbers] })
  }
}

/** Bytes of rows that loops take turns over, about; an entry takes eight, and a row has a header. */
const STRETCH_BYTES = 256 << 10

/** Has loops called over the rows of a group. Those over the same rows share them, a stretch at a time. Each loop goes over its
 *  rows in order, whatever the number of threads. */
export async function runOverRows(
  threads: ThreadPool,
  { rows, nonzeros }: { rows: number; nonzeros: number },
  calls: RowCall[],
): Promise<void> {
  const ranges = new Map<string, RowCall[]>()
  for (const call of calls) {
    const range = `${call.from} ${call.to}`
    ranges.set(range, [...(ranges.get(range) ?? []), call])
  }
  const perRow = 32 + (8 * nonzeros) / Math.max(rows, 1)
  const stretch = Math.max(1, Math.floor(STRETCH_BYTES / perRow))
  const tasks = [...ranges.values()].flatMap(together => {
    const [{ from, to }] = together
    // Loops over all rows are dealt out to the threads; there are enough parts of rows for all of them otherwise.
    const share = Math.ceil(together.length / Math.ceil((threads.size * (to - from)) / Math.max(rows, 1) || 1))
    return Array.from({ length: Math.ceil(together.length / share) }, (_, k) => {
      const own = together.slice(k * share, (k + 1) * share)
      const alone = own.length === 1 ? to - from : stretch
      return { calls: own.map(({ loop, problem, numbers }) => ({ loop, problem, numbers })), from, to, stretch: alone }
    })
  })
  await Promise.all(tasks.map(task => threads.run(rowCallsTask, task)))
}
