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

export interface SweptSlice {
  work: number
  ready: boolean
  all: boolean | undefined
  ended: number
  highest: number
  lowest: number
  gap: number
  loss: number
}

/** Gap and loss are of the last finished sweep, the largest and the smallest projected gradient of all sweeps; `all` says
 *  whether the last sweep that finished here met every row, `ended` how many finished. */
function dualSweeps({ arena }: TaskContext, options: DualSweepsOptions): SweptSlice {
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
    // The second of two trainers has to hear of a sweep before it begins. One thread in place of both does alike: when momentum
    // begins goes by the sweeps that callers have heard of.
    if (ready || sweeps.work >= options.budget || options.halves) {
      return { work: sweeps.work, ready, all, ended, highest, lowest, ...sweeps.last }
    }
  }
}

/** Begins a sweep, unless one is under way. */
export const beginSweepTask = declareTask(import.meta.url, 'begin-sweep', ({ arena }, options: DualSweepsOptions) =>
  new Sweeps(arena, options.problem, options.sweep, options).begin(),
)
