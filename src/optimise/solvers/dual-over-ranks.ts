// Solver `dual` over ranks: in a pass, each rank sweeps over its rows in memory as long as that teaches it something, and then
// all of them put together what they have learnt: see over-ranks.ts. Now and then they take a step together: see free-rows.ts.
import { alone } from '../../ranks/communicator.ts'
import type { BinaryObjective } from '../objectives/binary.ts'
import { FreeRows } from './free-rows.ts'
import { RanksTogether } from './over-ranks.ts'
import { RankSweeps } from './rank-sweeps.ts'
import type { Start } from './solver.ts'

/** Rows that owe no more than such a share of what they owed in the first sweep of a pass wait for news from others. */
const LITTLE = 0.1
/** Passes after which a step is taken together. */
const APART = 4

export const dualOverRanks: Start<BinaryObjective> = (objective, source, settings) => {
  const { ranks = alone } = settings
  const together = new RanksTogether(objective, source, ranks)
  const free = new FreeRows(objective, source, ranks, together)
  const sweeps = new RankSweeps(objective, source, settings)
  let passes = 0
  return {
    async visit(group, { most, signal }) {
      together.begin()
      // Later sweeps see w as this rank alone would have it, and tell nothing of the others: the first one is what counts.
      const isEnough = (last: { gap: number }, first: { gap: number }): boolean => last.gap <= LITTLE * first.gap
      const { work, first } = await sweeps.sweep(group, { most, isEnough, signal })
      together.met(group)
      // Whether the gap is small is judged by all ranks' rows together: the driver does it.
      return { work, losses: [first.loss], gaps: [first.gap], partial: !first.all }
    },
    async meet() {
      await together.meet()
      return ++passes % APART === 0 ? free.step(sweeps.group!) : 0
    },
    notYet: () => sweeps.wake(),
  }
}
