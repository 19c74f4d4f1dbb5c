// Sweeps over a bundle of models with all rows in memory. Models rest as they come close; those that a certificate did not
// confirm go on, over all rows again.
import { BundleFields } from '../../numeric/fields/bundle.ts'
import type { BundlesObjective } from '../objectives/bundles.ts'
import type { RowGroup } from '../sources/row-source.ts'
import { bundleSweepsTask } from './bundle-sweeps-task.ts'
import { momentumOfBundle } from './momentum.ts'
import type { Start } from './solver.ts'
import { startSweeps } from './sweeps.ts'

/** Nonzeros between two looks at the abort signal. */
const SLICE = 4e6

export const bundleRun: Start<BundlesObjective> = (objective, source, { seed, shrinking: shrink }) => {
  const { arena, threads } = source
  const { bundle } = objective.bundles[0]
  const { at, lanes, problems, weightCount } = bundle
  let started: { group: RowGroup; passWork: number } | undefined
  // Of each model: its primal objective by the last sweep that met every row, and its gap.
  let own = problems.map(() => 0)
  let gaps = problems.map(() => Number.POSITIVE_INFINITY)
  let partial = false
  let tries = 0n
  let sweeps = 0
  const start = (group: RowGroup) => {
    const { sweep, order, rows, table } = group
    bundle.see(group)
    new BundleFields(arena, at).momentum.fill(0)
    if (objective.logistic) arena.numeric[`startEntropicBundle${lanes}`](at, rows)
    startSweeps(arena, { sweep, order, rows, random: BigInt(seed) })
    return { group, passWork: Math.max(1, arena.numeric.workOf(table, rows)) }
  }
  return {
    async visit(group, { most, primals, targets, signal, tick }) {
      started ??= start(group)
      const { passWork } = started
      own = own.map((primal, k) => primals[k] || primal)
      const limit = most * passWork
      let work = 0
      for (;;) {
        const step = await threads.run(bundleSweepsTask, {
          ...{ bundle: at, lanes, weightCount, sweep: group.sweep, rows: group.rows, shrink },
          momentum: momentumOfBundle(bundle, source, group, sweeps),
          ...{ budget: Math.min(SLICE, Math.max(limit - work, 1)), targets: [...targets], primals: own },
        })
        work += step.work
        sweeps += step.ended
        own = step.primals
        gaps = step.gaps.map((gap, k) => (Number.isFinite(gap) ? gap : gaps[k]))
        if (step.all !== undefined) partial = !step.all
        // A model that rests has a gap at which it does; one that has not been swept over has none yet.
        tick(work / passWork, Math.max(...gaps.map((gap, k) => gap / own[k])), partial)
        if (step.ready || work >= limit * (1 - 1e-6) || signal?.aborted) {
          const finite = gaps.map(gap => Math.min(gap, Number.MAX_VALUE))
          const seen = { losses: finite.map(() => 0), gaps: finite, primals: own }
          return { ...seen, work: work / passWork, ready: step.ready, partial }
        }
      }
    },
    notYet(done) {
      const { sweep, order, rows } = started!.group
      objective.activate(done.map(is => !is))
      // What rows that moved owed says nothing of the others.
      gaps = gaps.map((gap, k) => (done[k] ? gap : Number.POSITIVE_INFINITY))
      startSweeps(arena, { sweep, order, rows, random: BigInt(seed) + (++tries << 32n), inner: 1e-6 })
    },
  }
}
