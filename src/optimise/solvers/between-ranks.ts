// Solvers that stand for what ranks do between passes, over sweeps of dual coordinate descent. On one rank they are solver `dual`.
import { alone } from '../../ranks/communicator.ts'
import type { BinaryObjective } from '../objectives/binary.ts'
import { dual } from './dual.ts'
import { anyDual, type MemorySolver, type Start } from './solver.ts'

export function betweenRanks(
  named: Pick<MemorySolver, 'name' | 'summary'>,
  start: Start<BinaryObjective>,
): MemorySolver {
  return {
    ...named,
    data: 'memory',
    dual: true,
    options: ['shrinking', 'tolerance'],
    wideWeights: true,
    rowWeights: true,
    overRanks: true,
    lossNeeds: anyDual,
    start: (objective, source, settings) =>
      ((settings.ranks ?? alone).size > 1 ? start : dual.start)(objective, source, settings),
  }
}
