// Sweeps of one trainer among several: its most frequent weights are its own, and are merged with the shared ones as it goes.
import { declareTask, type TaskContext } from '../../threads/task.ts'
import { type SweepSettings, Sweeps } from './sweeps.ts'

/** Nonzeros visited for each weight that is merged. */
const MERGE_PERIOD = 16
/** Nonzeros that are worth sending a task for, and that are visited at once, at least. */
const LEAST_WORK = 1e6
const LEAST_STEP = 512

export interface Merging {
  /** The shared weights; the trainer's own, and those as they were when they were last merged. */
  weights: number
  own: number
  seen: number
  lock: number
  /** How many of its weights are merged at once, in rising order: the most frequent ones more often than all. */
  levels: number[]
}

export interface PartedSweepsOptions extends SweepSettings {
  problem: number
  sweep: number
  merging: Merging
  /** Sweeps end when enough nonzeros were visited, or the last one's rows owed no more than so much. */
  targetGap: number
}

export const partedSweepsTask = declareTask(import.meta.url, 'parted-sweeps', partedSweeps)

/** Nonzeros visited, and what the last sweep saw. */
function partedSweeps({ arena }: TaskContext, options: PartedSweepsOptions) {
  const { merging, narrow, targetGap } = options
  const { weights, own, seen, levels, lock } = merging
  const { numeric } = arena
  const merge = narrow ? numeric.mergeHotF32 : numeric.mergeHotF64
  const count = levels[levels.length - 1]
  const bytes = count * (narrow ? 4 : 8)
  arena.bytes(own, bytes).set(arena.bytes(weights, bytes))
  arena.bytes(seen, bytes).set(arena.bytes(own, bytes))
  const sweeps = new Sweeps(arena, options.problem, options.sweep, { ...options, parted: true })
  const mergedAt = levels.map(() => 0)
  for (;;) {
    const outcome = sweeps.advance(Math.max(levels[0] * MERGE_PERIOD, LEAST_STEP))
    const { work } = sweeps
    const level = levels.findLastIndex((size, k) => work - mergedAt[k] >= MERGE_PERIOD * size)
    if (level >= 0) {
      merge(weights, own, seen, levels[level], lock)
      mergedAt.fill(work, 0, level + 1)
    }
    if (outcome && (work >= LEAST_WORK || outcome.gap <= targetGap)) {
      merge(weights, own, seen, count, lock)
      const { gap, highest, lowest } = outcome
      return { work, gap, highest, lowest }
    }
  }
}
