// A compiled loop as a task: its name and the numbers that it takes cross to a worker.
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
