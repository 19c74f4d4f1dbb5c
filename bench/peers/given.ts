// What the harness asks of a program that nobody packages, and that takes part where `--peer NAME=PATH` says where it is.
import { accessSync, constants, statSync } from 'node:fs'
import type { LossName } from '../evaluator.ts'
import type { LinearModel } from '../liblinear-model.ts'
import type { Measured, MeasureOptions } from '../measure.ts'

export interface GivenRequest {
  loss: LossName
  cost: number
  passes: number
  rows: number
  features: number
  /** Blocks that the data is split into, of programs that split it. */
  blocks: number
  /** A folder for whatever it writes. */
  folder: string
}

export interface GivenRun {
  /** What it did, in order, each measured: a split, say, and the passes. */
  steps: { what: string; run: Measured }[]
  model: LinearModel
}

export interface GivenPeer {
  name: string
  /** The problems that it has. */
  losses: LossName[]
  /** The data in the format that it reads: made once, and not timed, as it is text like ours. */
  prepare(data: string, folder: string): Promise<string>
  train(data: string, request: GivenRequest, options: MeasureOptions): Promise<GivenRun>
}

/** Throws in words where a program is not there, or is none. */
export function demandProgram(file: string, expected: string): void {
  try {
    if (!statSync(file).isFile()) throw new Error('is no file')
    accessSync(file, constants.X_OK)
  } catch {
    throw new Error(`there is no program ${file}; expected ${expected}`)
  }
}
