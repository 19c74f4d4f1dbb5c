// A piece of the certificate: sums over some of the rows.
import { declareTask, type TaskContext } from '../../threads/task.ts'

export interface EvaluateRowsOptions {
  problem: number
  narrow: boolean
  from: number
  to: number
  /** Where the sums go. */
  sums: number
}

export const evaluateRowsTask = declareTask(import.meta.url, 'evaluate-rows', evaluateRows)

function evaluateRows({ arena }: TaskContext, options: EvaluateRowsOptions): void {
  const evaluate = options.narrow ? arena.numeric.evaluateF32 : arena.numeric.evaluateF64
  evaluate(options.problem, options.from, options.to, options.sums)
}
