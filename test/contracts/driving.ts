// A driver over rows in memory, with everything that a test does not care about filled in.
import { Driver } from '../../src/optimise/driver/driver.ts'
import type { DriverSettings } from '../../src/optimise/driver/driving.ts'
import type { PassProgress } from '../../src/optimise/driver/progress.ts'
import type { Objective } from '../../src/optimise/objectives/objective.ts'
import type { Solution } from '../../src/optimise/objectives/solution.ts'
import type { Solver } from '../../src/optimise/solvers/solver.ts'
import { RowsInMemory } from '../../src/optimise/sources/rows-in-memory.ts'
import type { RowSet } from '../../src/rows/row-set.ts'
import type { ThreadPool } from '../../src/threads/pool.ts'

const defaults: DriverSettings = {
  ...{ tolerance: 1e-8, maxPasses: 100_000, seed: 1, shrinking: true, trainers: 1, innerPasses: 4 },
  ...{ batch: 'row', blockOrder: 'random', checkpointSeconds: 10 },
}

/** Trains one objective to its end. */
export async function driven(
  pool: ThreadPool,
  solver: Solver,
  objective: Objective,
  rows: RowSet,
  given: Partial<DriverSettings>,
  tell: (progress: PassProgress) => void = () => {},
): Promise<Solution> {
  const source = new RowsInMemory(objective.arena, pool, rows)
  const [solution] = await new Driver({ source, solver, objective, settings: { ...defaults, ...given }, tell }).solve()
  return solution
}
