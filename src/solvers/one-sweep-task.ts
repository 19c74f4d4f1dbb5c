// One sweep over some of a problem's rows, from beginning to end.
import type { TaskContext } from '../threads/task.ts'
import { type SweepSettings, Sweeps } from './sweeps.ts'

export interface OneSweepOptions extends SweepSettings {
  problem: number
  sweep: number
}

export interface OneSweepResult {
  /** Nonzeros visited. */
  work: number
  gap: number
  /** Of the last sweep that met every row. */
  loss: number
  highest: number
  lowest: number
}

export function oneSweepTask({ arena }: TaskContext, options: OneSweepOptions): OneSweepResult {
  const sweeps = new Sweeps(arena, options.problem, options.sweep, options)
  const { gap, highest, lowest } = sweeps.advance(Number.POSITIVE_INFINITY)!
  return { work: sweeps.work, gap, loss: sweeps.last.loss, highest, lowest }
}
