// What training gives, however it was done: the parts of a model and the account of the run.

import type { LabelCount } from '../input-formats/label-numbers.ts'
import type { Calibration } from '../model/calibration.ts'
import type { WeightVectors } from '../model/weights.ts'
import type { Solution } from '../optimise/objectives/solution.ts'
import type { IndexCounts } from '../optimise/sources/row-source.ts'
import type { AllRows } from '../rows/agree-on-rows.ts'

/** Where a run began: from zero, from the dual variables of the last training, or from a checkpoint. */
export interface RunStart {
  start: 'cold' | 'warm' | 'resumed'
  /** The pass that a resumed run goes on with, counted from 1. */
  resumedAtPass?: number
}

export interface TrainingOutcome {
  data: {
    rows: number
    nonzeros: number
    features: number
    /** The input format. */
    format: string
    indexBase: number
    /** Of the values as they were read. */
    valueBits: 32 | 64
    fingerprint: string
    sources: { name: string }[]
    /** Of hashed features, when they are kept. */
    names?: Uint32Array
  }
  /** In the order of the model. */
  labels: LabelCount[]
  weights: Float64Array | WeightVectors
  biasWeights: Float64Array
  /** From scores to probabilities, for each weight vector, where they were asked for. */
  calibrations?: Calibration[]
  /** Scale factors; for an additive kernel its ranges. */
  factors: Float64Array | WeightVectors | undefined
  solver: string
  /** Why another solver than the one that was chosen at first. */
  solverReason?: string
  solutions: Solution[]
  readSeconds: number
  bytesRead: number
  badRows: number
  badRowMessages: string[]
  /** From zero, when not given. */
  start?: RunStart
  /** Of runs over blocks: how many there are, how many were read, where the time went, and the store. */
  blocks?: {
    count: number
    read: number
    /** Bytes that were not read because they cannot change anything. */
    bytesSkipped: number
    readSeconds: number
    decodeSeconds: number
    waitSeconds: number
    store: string
    /** Of a method that asks an index for rows. */
    index?: IndexCounts
  }
}

/** What a model says of the rows of all ranks. */
export function countsOf({
  rows,
  nonzeros,
  fingerprint,
  sources,
}: AllRows): Pick<AllRows, 'rows' | 'nonzeros' | 'fingerprint' | 'sources'> {
  return { rows, nonzeros, fingerprint, sources }
}
