// What a run tells while it goes on: plain records, for a terminal, a file or a program to make of them what they like.

export interface ReadProgress {
  stage: 'read'
  seconds: number
  bytesRead: number
  /** Undefined when the length of an input is not known. */
  bytesTotal: number | undefined
  rows: number
  badRows: number
}

/** What was chosen, before the work starts. */
export interface PlanProgress {
  stage: 'plan'
  solver: string
  /** Why, in a few words. */
  reason: string
  /** The memory plan, where there is one: lines of a table. */
  lines?: string[]
}

export interface TrainProgress {
  stage: 'train'
  seconds: number
  /** Passes over the data so far, of this binary problem. */
  pass: number
  /** Not told of many models that are trained together. */
  primal?: number
  /** Relative duality gap; null for methods without one; of many models, the largest of those that are still trained. */
  gap: number | null
  /** True when primal and gap come from a certificate, false when they are the solver's estimate. */
  certified: boolean
  /** Which binary problem, counted from 1, and how many there are. */
  problem?: number
  problems?: number
  /** Of many models that are trained together: how many are certified, and how many there will be, if that is known. */
  models?: { done: number; all?: number }
}

export type Progress = PlanProgress | ReadProgress | TrainProgress
export type ProgressListener = (progress: Progress) => void
