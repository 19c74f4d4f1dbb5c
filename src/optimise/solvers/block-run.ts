// Visits of blocks, one after the other: the dual is minimised over the variables of each.
import type { OneProblem } from '../objectives/one-problem.ts'
import type { RowSource } from '../sources/row-source.ts'
import { blockVisitTask, type CacheOfOne } from './block-visit-task.ts'
import type { RowCache } from './row-cache.ts'
import type { Run, SolverSettings } from './solver.ts'

/** `kept`: rows that stay in memory; each block is worked on together with them. */
export function blockRun(
  objective: OneProblem,
  { threads }: RowSource,
  { seed, shrinking: shrink, innerPasses, innerTolerance }: SolverSettings,
  kept?: { rows: RowCache; memory: CacheOfOne },
): Run {
  return {
    async visit(group, { pass }) {
      const { loss, gap, fill } = await threads.run(blockVisitTask, {
        ...{ of: objective.at(group), shrink, random: [seed, pass, group.group], pass, innerPasses, innerTolerance },
        ...(kept && { among: { memory: kept.memory, cached: kept.rows.fill.cached } }),
      })
      if (kept && fill) kept.rows.fill = fill
      objective.keep(group)
      return { losses: [loss], gaps: [gap] }
    },
  }
}
