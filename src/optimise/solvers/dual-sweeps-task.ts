// Sweeps of the in-memory dual solver on one thread, until a budget of nonzeros is spent or the rows met in one whole
// sweep owe no more than the target gap. All state is in shared memory, so that any thread can go on.
import { declareTask, type TaskContext } from '../../threads/task.ts'
import { type SweepSettings, Sweeps } from './sweeps.ts'

export interface DualSweepsOptions extends SweepSettings {
  problem: number
  sweep: number
  budget: number
  targetGap: number
}

export const dualSweepsTask = declareTask(import.meta.url, 'dual-sweeps', dualSweeps)

/** Gap and loss are of the last finished sweep, the largest and the smallest projected gradient of all sweeps; `all` says
 *  whether the last sweep that finished here met every row, `ended` how many finished. */
function dualSweeps({ arena }: TaskContext, options: DualSweepsOptions) {
  const sweeps = new Sweeps(arena, options.problem, options.sweep, options)
  let [highest, lowest] = [0, 0]
  let all: boolean | undefined
  let ended = 0
  for (;;) {
    const outcome = sweeps.advance(options.budget - sweeps.work)
    const seen = outcome ?? sweeps.extremes
    all = outcome?.all ?? all
    if (outcome) ended++
    highest = Math.max(highest, seen.highest)
    lowest = Math.min(lowest, seen.lowest)
    const ready = outcome !== undefined && outcome.gap <= options.targetGap
    if (ready || sweeps.work >= options.budget) {
      return { work: sweeps.work, ready, all, ended, highest, lowest, ...sweeps.last }
    }
  }
}
