// Solver `stream`: dual cached loops, which train on the rows in memory while others are read: see cached-loops.ts.
import { alone } from '../../ranks/communicator.ts'
import { blockBundleRun } from './block-bundle-run.ts'
import { DualCachedLoops } from './cached-loops.ts'
import { anyDual, type BlockSolver } from './solver.ts'
import { STREAM_BYTES_OVER_RANKS, streamOverRanks } from './stream-over-ranks.ts'

export const stream: BlockSolver = {
  name: 'stream',
  summary: 'dual cached loops: trains on the rows in memory while others are read',
  data: 'blocks',
  dual: true,
  rowWeights: true,
  leavesOut: true,
  cacheShare: 0.75,
  extra: { perWeight: 8, perRow: 1 / 8 },
  defaultInnerPasses: 1,
  firstPass: true,
  severalTrainers: true,
  options: ['innerPasses', 'blockOrder', 'shrinking', 'tolerance', 'gradientTolerance', 'trainers'],
  lossNeeds: anyDual,
  overRanks: true,
  extraOverRanks: STREAM_BYTES_OVER_RANKS,
  start: (objective, source, settings) =>
    (settings.ranks ?? alone).size > 1
      ? streamOverRanks(objective, source, settings)
      : new DualCachedLoops(source, objective, settings),
  startMany: (...start) => blockBundleRun(...start, 'in-turns'),
}
