// Memories in which solver `stream` keeps about a given share of the rows.
import { openStore } from '../../src/block-store/reader.ts'
import { findSolver } from '../../src/solvers/all-solvers.ts'
import type { BlockSolver } from '../../src/solvers/solver.ts'
import { resolveOptions, type TrainOptions } from '../../src/training/options.ts'
import { planFor } from '../../src/training/plan-for-blocks.ts'

/** The least memory whose cache is such a share of the bytes of all records. */
export async function memoryForShare(store: string, share: number, options: TrainOptions = {}): Promise<number> {
  const opened = await openStore(store)
  const solver = findSolver('stream') as BlockSolver
  const enough = async (memory: number): Promise<boolean> => {
    try {
      const plan = await planFor(opened, solver, resolveOptions({ ...options, memory }))
      return plan.cacheBytes >= share * plan.costs.reduce((sum, cost) => sum + cost.bytes, 0)
    } catch {
      return false
    }
  }
  let [low, high] = [64 << 20, 2 ** 31]
  while (high - low > 1 << 12) {
    const middle = Math.floor((low + high) / 2)
    if (await enough(middle)) high = middle
    else low = middle
  }
  return high
}
