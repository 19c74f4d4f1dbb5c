// Visits of blocks, one after the other: the dual is minimised over the variables of each.
import type { OneProblem } from '../objectives/one-problem.ts'
import type { RowSource } from '../sources/row-source.ts'
import { BlockMomentum } from './block-momentum.ts'
import { blockVisitTask, type CacheOfOne } from './block-visit-task.ts'
import type { RowCache } from './row-cache.ts'
import type { Run, SolverSettings } from './solver.ts'

/** `kept`: rows that stay in memory; each block is worked on together with them. */
export function blockRun(
  objective: OneProblem,
  source: RowSource,
  { ranks, seed, shrinking: shrink, innerPasses, innerTolerance }: SolverSettings,
  kept?: { rows: RowCache; memory: CacheOfOne },
): Run {
  // Rows that stay in memory would be met more often than others.
  const momentum = kept || (ranks?.size ?? 1) > 1 ? undefined : new BlockMomentum(objective, source)
  return {
    async visit(group, { pass }) {
      const carried = momentum?.visit(group, pass)
      const { loss, gap, parts, fill } = await source.threads.run(blockVisitTask, {
        ...{ of: objective.at(group), shrink, random: [seed, pass, group.group], pass, innerPasses, innerTolerance },
        ...(carried && { carried }),
        ...(kept && { among: { memory: kept.memory, cached: kept.rows.fill.cached } }),
      })
      if (kept && fill) kept.rows.fill = fill
      objective.keep(group)
      momentum?.visited(parts)
      return { losses: [loss], gaps: [gap] }
    },
    ...(momentum && { saved: momentum, isInProportion: () => momentum.isUnderWay }),
  }
}
