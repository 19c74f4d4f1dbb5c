// Solver `average`: each rank trains on its own rows alone, and the model is the mean of theirs. Ranks speak once.
//
//   w_k = argmin ½‖w‖² + C (n / n_k) Σ_{i of rank k} loss_i          w = Σ_k (n_k / n) w_k
//
// n_k of the n rows are rank k's, and stand for all of them. McDonald, Hall, Mann: Distributed training strategies for the structured
// perceptron (NAACL 2010); Zinkevich, Weimer, Smola, Li: Parallelized stochastic gradient descent (NIPS 2010).
//
// With w_k = (n / n_k) A_k α_k the mean is w = Σ A_k α_k: dual variables of all ranks belong to it, and the duality gap over all
// rows tells how far it is from the optimum. It does not get closer. On one rank it is solver `dual`.
import { alone } from '../../ranks/communicator.ts'
import { onAnyRank, sumVectors } from '../../ranks/records.ts'
import type { BinaryObjective } from '../objectives/binary.ts'
import { betweenRanks } from './between-ranks.ts'
import { RankSweeps } from './rank-sweeps.ts'
import type { Start } from './solver.ts'

const averageRun: Start<BinaryObjective> = (objective, source, settings) => {
  const { ranks = alone } = settings
  const { arena, weights, weightCount } = objective
  const sweeps = new RankSweeps(objective, source, settings)
  const share = source.all.rows / Math.max(1, source.rows)
  let [isDone, hasMet] = [false, false]
  let met = { gap: 0, loss: 0 }
  return {
    async visit(group, { most, targets, signal }) {
      objective.damping = share
      // As the rank sees it: of its own problem.
      const isEnough = ({ gap, loss }: { gap: number; loss: number }): boolean =>
        share * gap <= targets[0] * (0.5 * objective.squaredLengths()[0] + share * loss)
      // It waits for the others.
      if (isDone) return { work: 0, losses: [met.loss], gaps: [met.gap], ready: true }
      const { work, last } = await sweeps.sweep(group, { most, isEnough, signal })
      // Rows that were left out are looked at before the rank says that it is done.
      const isClose = isEnough(last)
      if (isClose && !last.all) sweeps.wake()
      isDone = isClose && last.all
      met = last
      return { work, losses: [last.loss], gaps: [last.gap], ready: isDone, partial: !last.all }
    },
    async meet(last) {
      const isOpen = await onAnyRank(ranks, !isDone)
      if ((isOpen && !last) || hasMet) return 0
      hasMet = !isOpen
      arena.numeric.combine(weights, 1 / share, weights, 0, weights, weightCount)
      await sumVectors(ranks, arena, [{ at: weights, count: weightCount }])
      return 0
    },
    endsByItself: () => hasMet,
  }
}

export const average = betweenRanks(
  { name: 'average', summary: 'the mean of models that ranks trained on their own rows: near the optimum, not at it' },
  averageRun,
)
