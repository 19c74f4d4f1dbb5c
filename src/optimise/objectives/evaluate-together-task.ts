// A piece of the certificate of Crammer and Singer's problem: sums over some of the rows.
import type { TaskContext } from '../../threads/task.ts'

export interface EvaluateTogetherOptions {
  problem: number
  from: number
  to: number
  /** Room for the scores of a row. */
  scores: number
  /** Where the sums go. */
  sums: number
}

/** w_k += Σ α_k x over rows of a problem. */
export function addDualTogetherTask({ arena }: TaskContext, options: { problem: number; rows: number }): void {
  arena.numeric.addDualTogether(options.problem, 0, options.rows)
}

export function evaluateTogetherTask({ arena }: TaskContext, options: EvaluateTogetherOptions): void {
  arena.numeric.evaluateTogether(options.problem, options.from, options.to, options.scores, options.sums)
}
