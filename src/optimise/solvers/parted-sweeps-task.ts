// Sweeps of one trainer among several: its most frequent weights are its own, and are merged with the shared ones as it goes.
import { declareTask, type TaskContext } from '../../threads/task.ts'
import { type SweepSettings, Sweeps } from './sweeps.ts'

export interface Merging {
  /** The shared weights; the trainer's own, and those as they were when they were last merged. */
  weights: number
  own: number
  seen: number
  lock: number
  /** How many of its weights are merged at once, in rising order: the most frequent ones more often than all. */
  levels: number[]
  /** Nonzeros visited for each weight that is merged. */
  period: number
}

/** Nonzeros that are visited at once, at least. */
const LEAST_STEP = 512

export interface PartedSweepsOptions extends SweepSettings {
  problem: number
  sweep: number
  merging: Merging
  /** Sweeps end when so many nonzeros were visited, or the last one's rows owed no more than so much. */
  leastWork: number
  targetGap: number
}

export const partedSweepsTask = declareTask(import.meta.url, 'parted-sweeps', partedSweeps)

/** Nonzeros visited, and what the last sweep saw. */
function partedSweeps({ arena }: TaskContext, options: PartedSweepsOptions) {
  const { merging, narrow, leastWork, targetGap } = options
  const { weights, own, seen, levels, lock, period } = merging
  const { numeric } = arena
  const merge = narrow ? numeric.mergeHotF32 : numeric.mergeHotF64
  const count = levels[levels.length - 1]
  const bytes = count * (narrow ? 4 : 8)
  arena.bytes(own, bytes).set(arena.bytes(weights, bytes))
  arena.bytes(seen, bytes).set(arena.bytes(own, bytes))
  const sweeps = new Sweeps(arena, options.problem, options.sweep, { ...options, parted: true })
  const mergedAt = levels.map(() => 0)
  for (;;) {
    const outcome = sweeps.advance(Math.max(levels[0] * period, LEAST_STEP))
    const { work } = sweeps
    const level = levels.findLastIndex((size, k) => work - mergedAt[k] >= period * size)
    if (level >= 0) {
      merge(weights, own, seen, levels[level], lock)
      mergedAt.fill(work, 0, level + 1)
    }
    if (outcome && (work >= leastWork || outcome.gap <= targetGap)) {
      merge(weights, own, seen, count, lock)
      const { gap, highest, lowest } = outcome
      return { work, gap, highest, lowest }
    }
  }
}
