// What the studio's server answers, as the page reads it.

export interface FolderFile {
  name: string
  bytes: number
  modified: string
  kind: 'data' | 'store' | 'model'
  format?: string
}

export interface Folder {
  folder: string
  files: FolderFile[]
  /** `usableBytes`: what the machine or its container has to give. */
  machine: { memoryBytes: number; usableBytes?: number; cores: number }
  version: string
  truncated?: boolean
}

export interface Choice {
  name: string
  summary?: string
}

export interface Choices {
  losses: Choice[]
  solvers: Choice[]
  kernels: Choice[]
  scales: (Choice | string)[]
  normalizes: (Choice | string)[]
  multiclass: (Choice | string)[]
  /** What stands where nothing is chosen. */
  defaults: TrainingOptions
}

export interface Summary {
  file: string
  bytes: number
  format?: string
  sampled: boolean
  rows: number
  features: number
  nonzeros: { mean: number; most: number; histogram: { from: number; to: number; rows: number }[] }
  values?: { least: number; most: number }
  labels: { label: string; rows: number }[]
  columns?: { name: string; became?: string }[]
  /** Whether somebody has to say which column is the label. */
  needsLabel?: boolean
  lines: string[]
}

export interface TrainingOptions {
  loss?: string
  cost?: number
  solver?: string
  kernel?: string
  memory?: number
  tolerance?: number
  bias?: number
  normalize?: string
  scale?: string
  multiclass?: string
  test?: string
  label?: string
  seed?: number
}

export interface Plan {
  solver: string
  reason: string
  memory?: { parts: { what: string; bytes: number }[]; allowed: number }
  blocks?: {
    count: number
    groups: number
    slots: number
    slotBytes: number
    cacheBytes: number
    residentBytes?: number
  }
  seconds: { read: number; pass: number; passes: number; all: number } | null
  refused?: string
}

export type RunState = 'queued' | 'running' | 'stopping' | 'stopped' | 'done' | 'failed'

export interface Run {
  id: string
  name: string
  data: string
  options: TrainingOptions
  command: string
  state: RunState
  queuedAt: string
  beganAt?: string
  endedAt?: string
  /** Why it failed, in a sentence, and what to do about it. */
  error?: string
  advice?: string
  result?: Record<string, unknown>
  last?: Record<string, unknown>
  resumable: boolean
  /** Whether it can go on from where it was; else it begins again. */
  hasCheckpoint?: boolean
}

export interface CellRows {
  rows: { line: number; truth: string; predicted: string; score: number; text: string }[]
  all: number
  /** Whether only the beginning of the data was scored. */
  sampled?: boolean
}

export interface Explained {
  label: string
  scores: { label: string; score: number }[]
  /** Those that add most; the bias has no index. */
  features: { index?: number; name?: string; value: number; weight: number; contribution: number }[]
  /** What all others add. */
  others?: number
  probability?: number
}

/** Whether a run is not over yet. */
export function isActive({ state }: Pick<Run, 'state'>): boolean {
  return state === 'queued' || state === 'running' || state === 'stopping'
}
