// Solver `block`: block minimisation of the dual. Rows are read block by block; each time, the dual is minimised over the
// variables of that block alone, the others fixed:
//
//   min_d  f(α + d)   subject to d_i = 0 outside the block, 0 ≤ α_i + d_i ≤ U_i        w ← w + Σ d_i y_i x_i
//
// Yu, Hsieh, Chang, Lin: Large linear classification when data cannot fit in memory (KDD 2010), Algorithm 2. BLOCK-L-N
// makes N sweeps of coordinate descent over the block (--inner-passes N); BLOCK-L-D sweeps until the projected gradients
// lie within --inner-tolerance of each other, LIBLINEAR's own rule.
import type { OneProblem } from '../objectives/one-problem.ts'
import type { RowSource } from '../sources/row-source.ts'
import { blockBundleRun } from './block-bundle-run.ts'
import { blockVisitTask, type CacheOfOne } from './block-visit-task.ts'
import type { RowCache } from './row-cache.ts'
import { anyDual, type BlockSolver, type Run, type SolverSettings } from './solver.ts'

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

export const block: BlockSolver = {
  name: 'block',
  summary: 'block minimisation of the dual, rows read block by block',
  data: 'blocks',
  dual: true,
  rowWeights: true,
  leavesOut: true,
  cacheShare: 0,
  options: ['innerPasses', 'innerTolerance', 'blockOrder', 'shrinking', 'tolerance'],
  lossNeeds: anyDual,
  start: blockRun,
  startMany: (...start) => blockBundleRun(...start, 'alone'),
  startAllClasses: blockRun,
}
