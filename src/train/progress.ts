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
  /** The memory plan, where there is one: bytes of each part, and the bytes allowed. */
  memory?: { parts: { what: string; bytes: number }[]; allowed: number }
  /** Of a run over blocks: how many there are, in how many groups a pass reads them, how many groups are in memory at a time
   *  and the bytes of each, and the bytes of the cache of rows. */
  blocks?: { count: number; groups: number; slots: number; slotBytes: number; cacheBytes: number }
  /** Of many models: how many there are, and how many are trained at a time. */
  models?: { all: number; together: number }
}

/** What there is to train on, once it is known. */
export interface RowsProgress {
  stage: 'rows'
  seconds: number
  rows: number
  features: number
  /** How many labels there are, and the rows of each: the most frequent first, 50 at most. */
  classes: number
  labels: { label: string; rows: number }[]
  /** Of rows in a store: its blocks, in the order of their numbers. */
  blocks?: { rows: number; bytes: number }[]
}

export interface TrainProgress {
  stage: 'train'
  seconds: number
  /** Passes over the data so far, of this binary problem. */
  pass: number
  /** Of many models that are trained together: their sum. */
  primal: number
  /** Relative duality gap; null for methods without one, and while none is known; of many models, the largest of those that
   *  are still trained. */
  gap: number | null
  /** True when primal and gap come from a certificate, false when they are the solver's estimate. */
  certified: boolean
  /** True while rows that hardly move are left out: the gap is of the others, the primal of the last sweep over all rows. */
  partial?: boolean
  /** While the certificate is made: the share of its pass that is done. */
  certificate?: number
  /** Which binary problem, counted from 1, and how many there are. Of many that are trained together: as many as are done, and
   *  one more; not told where it is not known how many there will be. */
  problem?: number
  problems?: number
  /** Of many models that are trained together: how many are certified, how many are trained at present, and how
   *  many there will be, if that is known; or how many there will be at least. */
  models?: { done: number; training?: number; all?: number; least?: number }
  /** Of a run over blocks, so far: blocks and bytes that were read, and bytes that were left out because they cannot owe
   *  anything; and the numbers of the blocks that were read last, or are being read. */
  blocks?: { read: number; bytesRead: number; bytesSkipped: number; inMemory?: number[] }
  /** Of a run over blocks, so far: seconds that reader threads read and decoded, side by side with training, and seconds that
   *  training waited for them. */
  time?: { read: number; decode: number; wait: number }
  /** Of a method that keeps rows in memory: how many are there now, and how many are not; and, so far, how many have left. */
  rows?: { kept: number; left: number; evicted?: number }
  /** Of second-order methods: steps that were found so far; passes for the next one besides that of its gradient, such as products
   *  with second derivatives; and, where smoother problems are solved first, which of them this is, counted from 1, and how many
   *  there will be, as far as can be told. */
  steps?: { outer: number; inner: number; stage?: number; stages?: number }
  /** Resident memory of the process. */
  memoryBytes: number
}

/** Of a truncated loss: one of its convex problems has been solved, and all rows were looked at. */
export interface RelaxProgress {
  stage: 'relax'
  seconds: number
  /** Which one: 0 for the sample, or all rows, that it starts from. */
  relaxation: number
  /** Its relative gap. */
  gap: number | null
  /** The truncated objective; the outliers; and the rows that have become outliers, or are outliers no more. */
  objective: number
  outliers: number
  changed: number
}

/** The model of the moment was tested on rows that it is not trained on. */
export interface TestProgress {
  stage: 'test'
  /** When the model was as it was tested: tests take none of this time. */
  seconds: number
  /** Passes over the data so far. */
  pass: number
  rows: number
  accuracy: number
  /** Seconds that the test took. */
  took: number
}

export type Progress = PlanProgress | ReadProgress | RowsProgress | TrainProgress | RelaxProgress | TestProgress
export type ProgressListener = (progress: Progress) => void
