// w += Σ α y x over rows of a problem.
import { declareTask, type TaskContext } from '../../threads/task.ts'

export interface AddDualOptions {
  problem: number
  /** The first row, 0 when not given, and the end. */
  from?: number
  rows: number
  /** Bytes from one dual variable to the next. */
  stride: number
  narrow: boolean
  /** Filled with zeros before. */
  clear?: { at: number; bytes: number }
}

export const addDualTask = declareTask(import.meta.url, 'add-dual', addDual)

function addDual({ arena }: TaskContext, options: AddDualOptions): void {
  const { problem, from = 0, rows, stride, narrow, clear } = options
  if (clear) arena.bytes(clear.at, clear.bytes).fill(0)
  const add = narrow ? arena.numeric.addDualF32 : arena.numeric.addDualF64
  add(problem, from, rows, stride)
}
