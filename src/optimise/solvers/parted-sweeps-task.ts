// Sweeps of one trainer among several: its most frequent weights are its own, and are merged with the shared ones as it goes.
import { declareTask, type TaskContext } from '../../threads/task.ts'
import { type SweepSettings, Sweeps } from './sweeps.ts'

/** Nonzeros that are worth sending a task for. */
const LEAST_WORK = 1e6
/** And that are visited at once. */
const LEAST_STEP = 128

export interface MergeLevel {
  /** How many of a trainer's own weights are merged at once, the most frequent ones. */
  weights: number
  /** After how many nonzeros. */
  period: number
}

export interface Merging {
  /** The shared weights; the trainer's own, and those as they were when they were last merged. */
  weights: number
  own: number
  seen: number
  lock: number
  /** In rising order: the most frequent weights are merged more often than all. */
  levels: MergeLevel[]
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
  const count = levels[levels.length - 1].weights
  const bytes = count * (narrow ? 4 : 8)
  arena.bytes(own, bytes).set(arena.bytes(weights, bytes))
  arena.bytes(seen, bytes).set(arena.bytes(own, bytes))
  const sweeps = new Sweeps(arena, options.problem, options.sweep, { ...options, parted: true })
  const mergedAt = levels.map(() => 0)
  for (;;) {
    const outcome = sweeps.advance(Math.max(levels[0].period, LEAST_STEP))
    const { work } = sweeps
    const level = levels.findLastIndex(({ period }, k) => work - mergedAt[k] >= period)
    if (level >= 0 && merge(weights, own, seen, levels[level].weights, lock)) {
      mergedAt.fill(work, 0, level + 1)
    }
    if (outcome && (work >= LEAST_WORK || outcome.gap <= targetGap)) {
      while (!merge(weights, own, seen, count, lock)) {}
      const { gap, highest, lowest } = outcome
      return { work, gap, loss: sweeps.last.loss, highest, lowest }
    }
  }
}
