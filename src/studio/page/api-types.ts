// What the studio's server answers, as the page reads it.
import type { CellRows } from '../cell.ts'
import type { ExplainedRow } from '../explain.ts'
import type { ListedFile, Listing } from '../list-files.ts'
import type { Plan } from '../plan.ts'
import type { RunState, Run as ServedRun } from '../run-folder.ts'
import type { RunOptions } from '../run-options.ts'
import type { Summary } from '../summary.ts'

export type { CellRows, ExplainedRow, ListedFile, Plan, RunOptions, RunState, Summary }

/** JSON of any shape is looked through by the names of its fields. */
export interface Run extends Omit<ServedRun, 'result' | 'last'> {
  result?: Record<string, unknown>
  last?: Record<string, unknown>
}

export interface Folder extends Listing {
  folder: string
  /** `usableBytes`: what the machine or its container has to give. */
  machine: { memoryBytes: number; usableBytes?: number; cores: number }
  version: string
}

export interface Choice {
  name: string
  summary?: string
}

export interface Choices {
  /** `truncates`: whether rows far beyond the margin are given up. */
  losses: (Choice & { truncates?: true })[]
  solvers: Choice[]
  kernels: Choice[]
  scales: (Choice | string)[]
  normalizes: (Choice | string)[]
  multiclass: (Choice | string)[]
  /** What stands where nothing is chosen. */
  defaults: RunOptions
}

/** Whether a run is not over yet. */
export function isActive({ state }: Pick<Run, 'state'>): boolean {
  return state === 'queued' || state === 'running' || state === 'stopping'
}
