// Solver `selective`: selective block minimisation. Like `block`, but half of the memory for rows holds a cache of
// informative rows, kept across blocks; each step minimises the dual over the block and the cache together, then the cache
// is filled anew: rows off their bounds (0 < α < U) first, then rows with a large projected gradient.
//
// Chang, Roth: Selective block minimization for faster convergence of limited memory large-scale linear models (KDD 2011).
import type { BinaryObjective } from '../objectives/binary.ts'
import type { BlockEngine } from '../sources/block-engine.ts'
import { blockBundleRun } from './block-bundle-run.ts'
import { blockRun } from './block-run.ts'
import { RowCache } from './row-cache.ts'
import { anyDual, type BlockSolver, type Run, type SolverSettings } from './solver.ts'

function selectiveRun(objective: BinaryObjective, engine: BlockEngine, settings: SolverSettings): Run {
  const rows = new RowCache(engine, objective.alphaStride, 8)
  const memory = { cache: rows.memory, margins: rows.room('margins', rows.union * 8), sums: rows.room('sums', 16) }
  return {
    ...blockRun(objective, engine, settings, { rows, memory }),
    saved: rows,
    rowsKept: () => rows.fill.cached,
  }
}

export const selective: BlockSolver = {
  name: 'selective',
  summary: 'block minimisation with a cache of informative rows',
  data: 'blocks',
  dual: true,
  rowWeights: true,
  leavesOut: true,
  cacheShare: 0.5,
  options: ['innerPasses', 'innerTolerance', 'blockOrder', 'shrinking', 'tolerance'],
  lossNeeds: anyDual,
  start: selectiveRun,
  startMany: (...start) => blockBundleRun(...start, 'among'),
}
