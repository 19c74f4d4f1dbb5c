// Solver `dual` over ranks: in a pass, each rank sweeps over its rows in memory as long as that teaches it something, and then
// all of them put together what they have learnt: see over-ranks.ts. Now and then they take a step together: see free-rows.ts.
//
// Solver `block` over ranks is the same, but for the sweeps: each rank reads its blocks one after the other, and minimises the dual over
// the variables of each.
import { alone } from '../../ranks/communicator.ts'
import { BinaryObjective } from '../objectives/binary.ts'
import type { OneProblem } from '../objectives/one-problem.ts'
import type { BlockEngine } from '../sources/block-engine.ts'
import type { RowSource } from '../sources/row-source.ts'
import { blockRun } from './block-run.ts'
import { FreeRows } from './free-rows.ts'
import { RanksTogether, type TogetherState } from './over-ranks.ts'
import { isLittle, RankSweeps } from './rank-sweeps.ts'
import type { Saved, SolverSettings, Start, Turn } from './solver.ts'

/** Passes after which a step is taken together. */
const APART = 4

/** What both have: ranks meet behind every pass. */
function meetings(objective: OneProblem, source: RowSource, settings: SolverSettings, sweepAlone: () => Promise<void>) {
  const { ranks = alone, seed } = settings
  const together = new RanksTogether(objective, source, ranks)
  const order = { seed, blockOrder: 'fixed' as const }
  // Crammer and Singer's problem has several dual variables for a row, and no such steps: ranks sweep one after the other.
  const free =
    objective instanceof BinaryObjective ? new FreeRows(objective, source, { ranks, order, together }) : undefined
  let passes = 0
  let signal: AbortSignal | undefined
  return {
    together,
    begin(turn: Turn): void {
      signal = turn.signal
      together.begin()
    },
    async meet(): Promise<number> {
      await together.meet()
      passes++
      if (free) return passes % APART === 0 ? free.step(() => signal?.aborted === true) : 0
      if (passes % APART > 0) return 0
      await together.inTurns(sweepAlone)
      return 1
    },
    saved: {
      state: (): MeetingState => ({ ...together.state(), passes, holding: free?.holding ?? 0 }),
      stretches: () => together.stretches(),
      isTorn: () => free?.isTorn === true,
      restore(state: unknown): void {
        const found = state as MeetingState
        together.restore(found)
        passes = found.passes
        if (free) free.holding = found.holding
      },
    } satisfies Saved,
  }
}

interface MeetingState extends TogetherState {
  passes: number
  holding: number
}

export const dualOverRanks: Start<OneProblem> = (objective, source, settings) => {
  const sweeps = new RankSweeps(objective, source, settings)
  const { together, begin, meet } = meetings(objective, source, settings, async () => {
    const { group } = sweeps
    // Others have moved w: rows and classes that were set aside by what this rank saw are looked at again.
    sweeps.wake()
    if (group) await sweeps.sweep(group, { most: 1, isEnough: isLittle, signal: undefined })
  })
  return {
    async visit(group, turn) {
      begin(turn)
      const { work, first } = await sweeps.sweep(group, { ...turn, isEnough: isLittle })
      together.met(group)
      // Whether the gap is small is judged by all ranks' rows together: the driver does it.
      return { work, losses: [first.loss], gaps: [first.gap], partial: !first.all }
    },
    meet,
    notYet: () => sweeps.wake(),
  }
}

export const blockOverRanks: Start<OneProblem, BlockEngine> = (objective, source, settings) => {
  const blocks = blockRun(objective, source, settings)
  let last: Turn | undefined
  const { together, begin, meet, saved } = meetings(objective, source, settings, async () => {
    if (!last) return
    const groups = source.groups(-1, { seed: settings.seed, blockOrder: 'fixed' })
    for await (const group of source.pass(groups)) await blocks.visit(group, last)
  })
  return {
    async visit(group, turn) {
      last = turn
      begin(turn)
      const seen = await blocks.visit(group, turn)
      together.met(group)
      return seen
    },
    meet,
    saved,
  }
}
