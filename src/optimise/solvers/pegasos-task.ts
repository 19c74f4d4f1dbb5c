// Pegasos over the rows of one block: one update for each row, in a drawn order, or one with all of them.
import { drawFrom } from '../../numeric/draw.ts'
import { SWEEP_RANDOM } from '../../numeric/layouts.ts'
import { declareTask, type TaskContext } from '../../threads/task.ts'
import type { ProblemAt } from '../objectives/one-problem.ts'

export interface PegasosOptions {
  of: ProblemAt
  batch: 'block' | 'row'
  /** Seed, pass and block: what the order of the rows is drawn from, so that a resumed run draws the same. */
  random: [number, number, number]
  /** Updates before this block. */
  updates: number
  /** l: rows in all. */
  all: number
  /** S: the sum of all costs, the squared radius of the ball that w is kept in. */
  ball: number
}

export const pegasosTask = declareTask(import.meta.url, 'pegasos', pegasos)

function pegasos({ arena }: TaskContext, options: PegasosOptions): { loss: number; updates: number } {
  const { of, all, ball, updates } = options
  const { problem, narrow } = of
  const { sweep, order, rows } = of.group
  const { numeric } = arena
  if (options.batch === 'block') {
    const update = narrow ? numeric.pegasosBlockF32 : numeric.pegasosBlockF64
    return { loss: update(problem, order, updates, all, ball), updates: updates + (rows > 0 ? 1 : 0) }
  }
  numeric.iota(order, rows)
  arena.u64(sweep + SWEEP_RANDOM, 1)[0] = drawFrom(options.random)
  numeric.shuffle(order, rows, sweep + SWEEP_RANDOM)
  const update = narrow ? numeric.pegasosRowsF32 : numeric.pegasosRowsF64
  return { loss: update(problem, order, updates, all, ball), updates: updates + rows }
}
