// Solver `dual` over ranks: in a pass, each rank sweeps over its rows in memory as long as that teaches it something, and then
// all of them put together what they have learnt: see over-ranks.ts. Now and then they take a step together: see free-rows.ts.
import { alone } from '../../ranks/communicator.ts'
import type { BinaryObjective } from '../objectives/binary.ts'
import type { RowGroup } from '../sources/row-source.ts'
import { FreeRows } from './free-rows.ts'
import { RanksTogether } from './over-ranks.ts'
import { rankSweepTask } from './rank-sweeps-task.ts'
import type { Start } from './solver.ts'
import { activateAll, startSweeps } from './sweeps.ts'

/** Nonzeros between two looks at the abort signal and the clock: some tens of milliseconds. */
const SLICE = 4e6
/** Rows that owe no more than such a share of what they owed in the first sweep of a pass wait for news from others. */
const LITTLE = 0.1
/** Passes after which a step is taken together. */
const APART = 4

export const dualOverRanks: Start<BinaryObjective> = (
  objective,
  source,
  { seed, shrinking: shrink, ranks = alone },
) => {
  const { arena, threads } = source
  const { numeric } = arena
  const together = new RanksTogether(objective, source, ranks)
  const free = new FreeRows(objective, source, ranks, together)
  let started: RowGroup | undefined
  let passes = 0
  return {
    async visit(group, { most, signal }) {
      const { sweep, order, rows, table } = group
      const { sweepKind } = objective
      together.begin()
      const problem = objective.of(group)
      if (!started) {
        startSweeps(arena, { sweep, order, rows, random: BigInt(seed) })
        if (sweepKind.logistic) numeric.startEntropicF64(problem, 0, rows)
        started = group
      }
      const passWork = Math.max(1, numeric.workOf(table, rows))
      let work = 0
      // Later sweeps see w as this rank alone would have it, and tell nothing of the others: the first one is what counts.
      let first: { gap: number; loss: number; all: boolean } | undefined
      for (;;) {
        const step = await threads.run(rankSweepTask, { ...sweepKind, problem, sweep, rows, shrink, budget: SLICE })
        work += step.work
        first ??= step.met
        const owesLittle = step.met !== undefined && step.met.gap <= LITTLE * first!.gap
        if (signal?.aborted || (step.met && (work >= most * passWork || owesLittle))) break
      }
      together.met(group)
      const { gap, loss, all } = first ?? { gap: Number.MAX_VALUE, loss: 0, all: false }
      // Whether the gap is small is judged by all ranks' rows together: the driver does it.
      return { work: work / passWork, losses: [loss], gaps: [gap], partial: !all }
    },
    async meet() {
      await together.meet()
      if (++passes % APART === 0) return free.step(started!)
      return 0
    },
    notYet() {
      activateAll(arena, started!.sweep, started!.rows)
    },
  }
}
