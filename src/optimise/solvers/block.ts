// Solver `block`: block minimisation of the dual. Rows are read block by block; each time, the dual is minimised over the
// variables of that block alone, the others fixed:
//
//   min_d  f(α + d)   subject to d_i = 0 outside the block, 0 ≤ α_i + d_i ≤ U_i        w ← w + Σ d_i y_i x_i
//
// Yu, Hsieh, Chang, Lin: Large linear classification when data cannot fit in memory (KDD 2010), Algorithm 2. BLOCK-L-N
// makes N sweeps of coordinate descent over the block (--inner-passes N); BLOCK-L-D sweeps until the projected gradients
// lie within --inner-tolerance of each other, LIBLINEAR's own rule.
import { alone } from '../../ranks/communicator.ts'
import type { OneProblem } from '../objectives/one-problem.ts'
import type { BlockEngine } from '../sources/block-engine.ts'
import { blockBundleRun } from './block-bundle-run.ts'
import { blockRun } from './block-run.ts'
import { blockOverRanks } from './dual-over-ranks.ts'
import { BYTES_OVER_RANKS } from './free-rows.ts'
import { anyDual, type BlockSolver, type Start } from './solver.ts'

const blocksOfRank: Start<OneProblem, BlockEngine> = (objective, source, settings) =>
  ((settings.ranks ?? alone).size > 1 ? blockOverRanks : blockRun)(objective, source, settings)

export const block: BlockSolver = {
  name: 'block',
  summary: 'block minimisation of the dual, rows read block by block',
  data: 'blocks',
  dual: true,
  rowWeights: true,
  leavesOut: true,
  cacheShare: 0,
  options: ['innerPasses', 'innerTolerance', 'blockOrder', 'shrinking', 'tolerance'],
  lossNeeds: anyDual,
  overRanks: true,
  momentum: true,
  extraOverRanks: BYTES_OVER_RANKS,
  start: blocksOfRank,
  startMany: (...start) => blockBundleRun(...start, 'alone'),
  startAllClasses: blocksOfRank,
}
