// Models of costs and folds, shared out among ranks: every rank has all rows, and trains some of the models. What they tell of rows
// that they did not see is put together.
import { UsageError } from '../errors.ts'
import type { Solution } from '../optimise/objectives/solution.ts'
import type { Solver } from '../optimise/solvers/solver.ts'
import type { Communicator } from '../ranks/communicator.ts'
import { gatherRecords } from '../ranks/records.ts'
import { dealt } from '../ranks/shares.ts'
import type { HeldOut } from './held-out.ts'

/** The models that a rank trains: they are dealt out one after the other. */
export function modelsOfRank<T>(models: readonly T[], ranks: Communicator): T[] {
  return dealt(models.length, ranks).map(k => models[k])
}

/** Puts the scores of all ranks' models together; how each of all the models ended. `own`: of those of this rank. */
export async function collectModels(held: HeldOut, own: Solution[], ranks: Communicator): Promise<Solution[]> {
  if (ranks.size === 1) return own
  // A row has a score by a rank that did not hold it out: those of other ranks are 0.
  for (const column of held.columns().keys()) {
    const scores = Float64Array.from(held.columns()[column])
    await ranks.sum(scores)
    held.columns()[column].set(scores)
  }
  const ends = await gatherRecords(ranks, own)
  const count = ends.reduce((sum, each) => sum + each.length, 0)
  return Array.from({ length: count }, (_, k) => ends[k % ranks.size][Math.floor(k / ranks.size)])
}

/** Refuses folds over ranks where rows are not in memory: ranks would read the same blocks, each for some of the models. */
export function refuseBlocksOverRanks(solver: Solver, { size }: Communicator): void {
  if (size === 1 || solver.data === 'memory') return
  throw new UsageError(
    `folds of rows in blocks are not compatible with ${size} ranks: every rank has all rows, and trains some of the models`,
    'give each rank as much --memory as all rows take, or take one rank',
  )
}
