// One sweep of dual coordinate descent over the rows of a rank, or a slice of it.
import { declareTask, type TaskContext } from '../../threads/task.ts'
import { type SweepOutcome, type SweepSettings, Sweeps } from './sweeps.ts'

export const rankSweepTask = declareTask(import.meta.url, 'rank-sweep', rankSweep)

/** Nonzeros that were visited, and what the sweep has met if it ended. Rows that were shrunk are not met: the loss of a full sweep
 *  stands until the next one. */
function rankSweep(
  { arena }: TaskContext,
  options: SweepSettings & { problem: number; sweep: number; budget: number },
): { work: number; met?: Pick<SweepOutcome, 'gap' | 'loss' | 'all'> } {
  const sweeps = new Sweeps(arena, options.problem, options.sweep, options)
  const outcome = sweeps.advance(options.budget)
  if (!outcome) return { work: sweeps.work }
  return { work: sweeps.work, met: { gap: outcome.gap, loss: sweeps.last.loss, all: outcome.all } }
}
