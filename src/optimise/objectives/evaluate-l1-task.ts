// A piece of the certificate of the l1 regulariser: dual variables of some of the rows, and sums over them.
import type { TaskContext } from '../../threads/task.ts'

export interface EvaluateL1Options {
  problem: number
  from: number
  to: number
  /** Where the sums go. */
  sums: number
}

export function evaluateL1Task({ arena }: TaskContext, { problem, from, to, sums }: EvaluateL1Options): void {
  arena.numeric.evaluateL1(problem, from, to, sums)
}
