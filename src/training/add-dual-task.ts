// w += Σ α y x over the rows of a block.
import type { TaskContext } from '../threads/task.ts'

export interface AddDualOptions {
  problem: number
  rows: number
  /** Bytes from one dual variable to the next. */
  stride: number
  narrow: boolean
}

export function addDualTask({ arena }: TaskContext, { problem, rows, stride, narrow }: AddDualOptions): void {
  const add = narrow ? arena.numeric.addDualF32 : arena.numeric.addDualF64
  add(problem, 0, rows, stride)
}
