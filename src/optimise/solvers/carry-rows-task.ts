// Carries the rows of one trainer among several on. What clamped rows take back goes into weights of the trainer's own.
import type { Address } from '../../sizes.ts'
import { declareTask, type TaskContext } from '../../threads/task.ts'

export interface CarriedPart {
  /** Its weights are the trainer's own. */
  problem: Address
  from: number
  to: number
  /** Where the dual variables of before of the first of these rows are. */
  before: Address
  share: number
  clear: { at: Address; bytes: number }
}

export const carryRowsTask = declareTask(import.meta.url, 'carry-rows', carryRows)

/** What the rows' own parts of the dual objective gain. */
function carryRows({ arena }: TaskContext, { problem, from, to, before, share, clear }: CarriedPart): number {
  arena.bytes(clear.at, clear.bytes).fill(0)
  return arena.numeric.carryRows(problem, from, to, before, share)
}
