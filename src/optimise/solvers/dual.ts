// Solver `dual`: dual coordinate descent with all rows in memory.
//
//   min_α  ½ αᵀ(Q + D)α − eᵀα,  0 ≤ α_i ≤ U_i     (hinge: U = C, D = 0; squared hinge: U = ∞, D = 1/(2C))
//   or, logistic:  min_α  ½ αᵀQα + Σ α_i log α_i + (C − α_i) log(C − α_i),  0 < α_i < C
//
// Under --multiclass crammer-singer it is the problem at the head of objectives/crammer-singer.ts.
//
// Hsieh, Chang, Lin, Keerthi, Sundararajan: A dual coordinate descent method for large-scale linear SVM (ICML 2008),
// Algorithm 3 with shrinking; Yu, Huang, Lin: Dual coordinate descent methods for logistic regression and maximum
// entropy models (Machine Learning 85, 2011), Algorithm 5. The loops are in numeric/assembly/dual.ts. The sum of what
// each row owes to the duality gap, P − D = Σ_i loss_i − dual part_i + α_i m_i, is kept as rows are met, so that the
// certificate is asked for when it is likely to hold.
import { alone } from '../../ranks/communicator.ts'
import type { OneProblem } from '../objectives/one-problem.ts'
import type { RowGroup, RowSource } from '../sources/row-source.ts'
import { bundleRun } from './bundle-run.ts'
import { type Halves, halveRows, pays } from './dual-halves.ts'
import { dualOverRanks } from './dual-over-ranks.ts'
import { dualSweepsTask } from './dual-sweeps-task.ts'
import { dualTogether } from './dual-together.ts'
import { markMany, roomForMarks } from './many-rows.ts'
import { momentumFor } from './momentum.ts'
import { RoughWeights, roughWeights } from './rough-weights.ts'
import { anyDual, type MemorySolver, type SolverSettings, type Start } from './solver.ts'
import { activateAll, startSweeps } from './sweeps.ts'

/** Nonzeros of a binary model between two looks at the abort signal and the clock: some tens of milliseconds. */
const SLICE = 4e6
/** The same of two trainers: each slice, they have to be brought together. */
const HALVES_SLICE = 16e6

/** What a run works with, once it has its rows: the work of a sweep, and halves or rough weights where they pay. */
interface Started {
  group: RowGroup
  passWork: number
  halves: Halves | undefined
  rough: RoughWeights | undefined
}

async function start(
  objective: OneProblem,
  source: RowSource,
  settings: SolverSettings,
  group: RowGroup,
): Promise<Started> {
  const { arena } = source
  const { numeric } = arena
  const { sweep, order, rows, table } = group
  const rough = roughWeights(objective, source, settings)
  const problem = objective.of(group, rough?.at)
  const { logistic, narrow } = objective.sweepKind
  if (logistic) (narrow || rough ? numeric.startEntropicF32 : numeric.startEntropicF64)(problem, 0, rows)
  startSweeps(arena, { sweep, order, rows, random: BigInt(settings.seed) })
  const halves = !rough && pays(objective, source, settings) ? await halveRows(objective, source, group) : undefined
  const marks = halves ? undefined : roomForMarks(objective, source, group, settings)
  if (marks) markMany(arena, sweep, marks, rows)
  return { group, passWork: numeric.workOf(table, rows), halves, rough }
}

/** Sweeps over all rows, in slices. It estimates the gap, so that it asks for the certificate when that is likely to hold. */
const sweepingRun: Start<OneProblem> = (objective, source, settings) => {
  const { shrinking: shrink } = settings
  const { arena, threads } = source
  const sliceOf = (halves?: Halves): number => Math.max(1, (halves ? HALVES_SLICE : SLICE) / objective.visitWork)
  let started: Started | undefined
  /** Whether the last finished sweep left rows out. */
  let partial = false
  let sweeps = 0
  return {
    async visit(group, { most, primals, targets, signal }) {
      started ??= await start(objective, source, settings, group)
      const { passWork, halves } = started
      let { rough } = started
      const limit = most * passWork
      // Whoever looked at the weights meanwhile had the exact ones in the problem.
      if (rough) objective.of(group, rough.at)
      let work = 0
      for (;;) {
        const options = {
          ...{ ...objective.sweepKind, problem: group.problem, sweep: group.sweep, rows: group.rows, shrink },
          ...(rough ? { narrow: true } : { momentum: momentumFor(objective, source, group, sweeps) }),
          budget: Math.min(sliceOf(halves), Math.max(limit - work, 1)),
          targetGap: targets[0] * primals[0],
        }
        const step = await (halves?.run(options) ?? threads.run(dualSweepsTask, options))
        work += step.work
        sweeps += step.ended
        if (step.all !== undefined) partial = !step.all
        if (rough && step.ended > 0 && !step.ready && RoughWeights.areDone(sweeps, step.gap, primals[0])) {
          await rough.end(source, group)
          rough = started.rough = undefined
        }
        if (step.ready || work >= limit || signal?.aborted) {
          rough?.show()
          return { work: work / passWork, losses: [step.loss], gaps: [step.gap], ready: step.ready, partial }
        }
      }
    },
    notYet() {
      // Several trainers may have asked for the certificate, and left the rest to this run before it saw a row.
      if (!started) return
      const { sweep, rows } = started.group
      objective.wake(rows)
      activateAll(arena, sweep, rows)
    },
  }
}

const isOverRanks = ({ ranks = alone }: SolverSettings): boolean => ranks.size > 1

export const dual: MemorySolver = {
  name: 'dual',
  data: 'memory',
  dual: true,
  options: ['shrinking', 'tolerance', 'trainers'],
  rowWeights: true,
  leavesOut: true,
  summary: 'dual coordinate descent, all rows in memory',
  lossNeeds: anyDual,
  overRanks: true,
  start: (objective, source, settings) =>
    (isOverRanks(settings) ? dualOverRanks : settings.trainers > 1 ? dualTogether(sweepingRun) : sweepingRun)(
      objective,
      source,
      settings,
    ),
  startMany: bundleRun,
  startAllClasses: (objective, source, settings) =>
    (isOverRanks(settings) ? dualOverRanks : sweepingRun)(objective, source, settings),
}
