// A piece of the certificate of Crammer and Singer's problem: sums over some of the rows.
import { declareTask, type TaskContext } from '../../threads/task.ts'

export interface EvaluateTogetherOptions {
  problem: number
  from: number
  to: number
  /** Room for the scores of a row. */
  scores: number
  /** Where the sums go. */
  sums: number
}

export const addDualTogetherTask = declareTask(import.meta.url, 'add-dual-together', runAddDualTogether)

/** w_k += Σ α_k x over rows of a problem. */
function runAddDualTogether({ arena }: TaskContext, options: { problem: number; rows: number }): void {
  arena.numeric.addDualTogether(options.problem, 0, options.rows)
}

export const evaluateTogetherTask = declareTask(import.meta.url, 'evaluate-together', runEvaluateTogether)

function runEvaluateTogether({ arena }: TaskContext, options: EvaluateTogetherOptions): void {
  arena.numeric.evaluateTogether(options.problem, options.from, options.to, options.scores, options.sums)
}
