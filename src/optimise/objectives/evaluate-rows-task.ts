// A piece of the certificate: sums over some of the rows.
import type { TaskContext } from '../../threads/task.ts'

export interface EvaluateRowsOptions {
  problem: number
  narrow: boolean
  from: number
  to: number
  /** Where the sums go. */
  sums: number
}

export function evaluateRowsTask({ arena }: TaskContext, options: EvaluateRowsOptions): void {
  const evaluate = options.narrow ? arena.numeric.evaluateF32 : arena.numeric.evaluateF64
  evaluate(options.problem, options.from, options.to, options.sums)
}
