// What a driver is given: what is to be solved, how, where its state is kept, and who hears of it.
import type { Checkpoints, GapMet, RunState } from '../../block-store/checkpoint.ts'
import type { Objective } from '../objectives/objective.ts'
import type { Solver, SolverSettings } from '../solvers/solver.ts'
import type { RowSource } from '../sources/row-source.ts'
import type { Driver } from './driver.ts'
import type { PassProgress } from './progress.ts'

export interface DriverSettings extends SolverSettings {
  tolerance: number
  /** Stop when the projected gradients of a round lie so close together, whatever the gap. */
  gradientTolerance?: number | undefined
  maxPasses: number
  blockOrder: 'random' | 'fixed'
  /** Seconds between two checkpoints. */
  checkpointSeconds: number
  signal?: AbortSignal | undefined
  /** Is told of every end of a pass after which another one follows. The run waits for it; it must change nothing. */
  watcher?: { passEnd(objective: Objective): Promise<void> } | undefined
}

/** A run overshoots its budget by at most a row, which does not make a pass. */
const ALMOST = 1e-3

/** Whether all passes that a run may make are made. */
export function isSpent({ work }: RunState, { maxPasses }: DriverSettings): boolean {
  return work >= maxPasses - ALMOST
}

/** Passes so far. A run that leaves blocks out, or works on rows in memory, makes them in parts. */
export function passesOf({ work }: RunState, { maxPasses }: DriverSettings): number {
  return Math.min(maxPasses, Math.max(1, Math.ceil(work - ALMOST)))
}

/** Where the driver leaves what a run that is killed goes on from. */
export type StateKeeper = Pick<Checkpoints, 'touch' | 'save' | 'loadMemory'>

/** For runs that nobody goes on with. */
export const nowhere: StateKeeper = { touch: () => {}, save: async () => {}, loadMemory: async () => {} }

/** The state of a run that has not begun. */
export function freshState(models: number, settings: RunState['settings'] = {}, fingerprint = ''): RunState {
  const each = <T>(value: T): T[] => new Array<T>(models).fill(value)
  return {
    ...{ settings, fingerprint, pass: 0, position: 0, stockTaken: false, wanted: null, work: 0 },
    ...{ losses: each(0), gaps: each(0), primals: each(0), optimism: each(1), resting: each(false) },
    ...{ solutions: each(null), spread: Number.MAX_VALUE, bytesRead: 0, solver: undefined },
  }
}

/** What is solved: by whom, with which rows, and who hears of it. */
export interface Driving {
  source: RowSource
  solver: Solver
  objective: Objective
  settings: DriverSettings
  tell: (progress: PassProgress) => void
  keeper?: StateKeeper
  state?: RunState
  /** Of one of a series of convex problems: the driver of the one before, and whether the weights are known that said which rows
   *  are left out. */
  series?: { before?: Driver | undefined; anchored: boolean }
  /** Asked at the end of a pass, with the passes so far and the gaps that were met: whether the run should end there, for another
   *  method to go on. */
  stalls?: (work: number, trail: readonly GapMet[]) => boolean
}
