// A piece of the certificate of the l1 regulariser: dual variables of some of the rows, and sums over them.
import { declareTask, type TaskContext } from '../../threads/task.ts'

export interface EvaluateL1Options {
  problem: number
  from: number
  to: number
  /** Where the sums go. */
  sums: number
}

export const evaluateL1Task = declareTask(import.meta.url, 'evaluate-l1', runEvaluateL1)

function runEvaluateL1({ arena }: TaskContext, { problem, from, to, sums }: EvaluateL1Options): void {
  arena.numeric.evaluateL1(problem, from, to, sums)
}
