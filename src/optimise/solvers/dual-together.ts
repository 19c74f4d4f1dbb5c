// Solver `dual` with several trainers: the sweeps of parallel-sweeps.ts over all rows in memory. Features have other numbers
// as long as trainers are at work, so w is put in order whenever somebody may look at it.
import { SWEEP_RANDOM } from '../../numeric/layouts.ts'
import type { Address } from '../../sizes.ts'
import type { BinaryObjective } from '../objectives/binary.ts'
import type { RowGroup } from '../sources/row-source.ts'
import { roomForMarks } from './many-rows.ts'
import { momentumFor } from './momentum.ts'
import { ParallelSweeps } from './parallel-sweeps.ts'
import type { Run, Start } from './solver.ts'
import { startSweeps } from './sweeps.ts'

const FIRST_INNER = 1e-2

/** `alone` goes on where one trainer is better than several. */
export const dualTogether =
  (alone: Start<BinaryObjective>): Start<BinaryObjective> =>
  (objective, source, settings) => {
    const { arena, threads } = source
    const { seed, shrinking: shrink, trainers } = settings
    let one: Run | undefined
    let started: { sweeps: ParallelSweeps; marks: Address | undefined; passWork: number } | undefined
    let atWork = false
    let swept = 0
    const start = (group: RowGroup) => {
      const { numeric } = arena
      const { rows, table, sweep, order } = group
      const problem = objective.of(group)
      const { sweepKind, narrow, logistic, weights, weightCount, alphaStride: stride } = objective
      if (logistic) (narrow ? numeric.startEntropicF32 : numeric.startEntropicF64)(problem, 0, rows)
      startSweeps(arena, { sweep, order, rows, random: BigInt(seed) })
      numeric.shuffle(order, rows, sweep + SWEEP_RANDOM)
      const shared = { ...sweepKind, problem, weights, weightCount, stride, shrink }
      const room = (what: string, bytes: number) => arena.allocateZeroed(bytes, what)
      const sweeps = new ParallelSweeps(arena, threads, trainers, shared, room)
      const marks = roomForMarks(objective, source, group, settings)
      return { sweeps, marks, passWork: numeric.workOf(table, rows) }
    }
    return {
      async visit(group, turn) {
        if (one) return one.visit(group, turn)
        const { most, left, pass, primals, targets, signal } = turn
        started ??= start(group)
        const { sweeps, marks, passWork } = started
        const { order, rows } = group
        const dealt = { order, rows, others: false, seed: BigInt(seed + pass), inner: FIRST_INNER, marks }
        if (!atWork) await sweeps.start(dealt)
        atWork = true
        const target = targets[0] * primals[0]
        let [work, ready] = [0, false]
        while (work < most * passWork && !ready && !signal?.aborted && !sweeps.isAlone) {
          work += await sweeps.sweep(target, momentumFor(objective, source, group, swept++))
          ready = sweeps.gap <= target
        }
        if (ready || left <= 1 || signal?.aborted || sweeps.isAlone) {
          await sweeps.finish(ready)
          atWork = false
        }
        if (sweeps.isAlone) one = alone(objective, source, settings)
        if (one && work === 0) return one.visit(group, turn)
        return { work: work / passWork, losses: [sweeps.loss], gaps: [sweeps.gap], ready }
      },
      notYet(done) {
        one?.notYet?.(done)
      },
    }
  }
