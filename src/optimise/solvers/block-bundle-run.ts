// Many models over blocks: every group that is read is swept over by all bundles in turn, so that the data is read and decoded
// once, whatever the number of models. With `selective` and `stream` a cache of rows stays in memory, chosen by what a row is
// worth to all models together: it is swept over among the group's rows, or in turns with them.
import type { BundlesObjective } from '../objectives/bundles.ts'
import type { BlockEngine } from '../sources/block-engine.ts'
import type { RowGroup } from '../sources/row-source.ts'
import { bundleVisitTask } from './bundle-visit-task.ts'
import { RowCache } from './row-cache.ts'
import type { Run, SolverSettings } from './solver.ts'
import { innerOf } from './sweeps.ts'

/** Sweeps over the cache between two rounds of reading, at most. */
const SETTLE_SWEEPS = 4
/** Of what rows owed as they were met: how much those in memory may owe when they are left for others. */
const BESIDE_MET = 0.25

export function blockBundleRun(
  objective: BundlesObjective,
  engine: BlockEngine,
  { seed, shrinking, innerPasses }: SolverSettings,
  manner: 'alone' | 'among' | 'in-turns',
): Run {
  const bundles = objective.bundles.map(({ place }) => place)
  const stride = Math.max(...bundles.map(({ alphaStride }) => alphaStride))
  const kept = manner === 'alone' ? undefined : new RowCache(engine, stride, 8 + (objective.hasFolds ? 1 : 0))
  const union = kept?.union ?? engine.plan.slotRows
  const ownWorth = kept?.room('worth to a bundle', union * 8) ?? 0
  if (objective.hasFolds) objective.groupFolds = engine.room('folds of a group', union)
  const shrink = shrinking && !objective.logistic
  // Of each model: what rows owed as they were met, since the cache was last settled.
  let met: number[] = new Array(objective.models).fill(0)
  let settledTimes = 0

  const sweep = async (group: RowGroup, pass: number, sweeps: { count: number; enough?: number[] }) => {
    const cache = kept && { memory: kept.memory, inTurns: manner === 'in-turns', ownWorth, cached: kept.fill.cached }
    const result = await engine.threads.run(bundleVisitTask, {
      ...{ bundles, group: objective.groupOf(group), sweep: group.sweep, order: group.order, ...sweeps, shrink },
      ...{ random: [seed, pass, group.group], inner: innerOf(pass), ...(cache && { cache }) },
    })
    if (kept && result.fill) kept.fill = result.fill
    return result
  }

  /** Works on the rows in memory alone, until they owe little beside what the others owed. */
  const settle = async (target: number, most: number): Promise<number> => {
    const gaps = met
    met = met.map(() => 0)
    const { cached } = kept!.fill
    if (cached === 0 || most <= 0 || objective.allRest) return 0
    const count = Math.min(SETTLE_SWEEPS, Math.ceil((most * engine.rows) / cached))
    const enough = gaps.map(gap => Math.max(BESIDE_MET * gap, target / gaps.length))
    const { sweeps } = await sweep(engine.vacant(), settledTimes++, { count, enough })
    return (sweeps * cached) / engine.rows
  }

  return {
    async visit(group, { pass }) {
      const { losses, gaps } = await sweep(group, pass, { count: innerPasses })
      met = met.map((before, k) => before + gaps[k])
      return { losses, gaps }
    },
    ...(kept && { rowsKept: () => kept.fill.cached }),
    ...(manner === 'in-turns' && { settle }),
    saved: {
      state: () => ({ met, settledTimes, cache: kept?.state() }),
      stretches: () => kept?.stretches() ?? [],
      restore: state => {
        const from = state as { met: number[]; settledTimes: number; cache?: unknown }
        met = [...from.met]
        settledTimes = from.settledTimes
        if (from.cache) kept?.restore(from.cache)
      },
      restored: () => kept?.restored(),
    },
  }
}
