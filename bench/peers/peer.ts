// What the harness asks of a program that trains: everything else about it stays in its own file.
import type { LossName } from '../evaluator.ts'
import type { Measured, MeasureOptions } from '../measure.ts'

export interface TrainRequest {
  loss: LossName
  cost: number
  /** Value of an added feature; 0 for none. */
  bias?: number
  /** The peer's own stopping number: LIBLINEAR's epsilon, Spillway's relative gap. Its default when left out. */
  stop?: number
  /** Where the model goes. */
  model: string
}

export interface TrainRun extends Measured {
  modelFile: string
  /** A lower bound of the optimum, if the peer prints its dual objective. */
  dual?: number
  /** What the peer says of itself, for the results; nothing is judged by it. */
  told?: Record<string, unknown>
}

export interface Peer {
  name: string
  /** Undefined when it is not installed. */
  version(): Promise<string | undefined>
  howToInstall: string
  train(data: string, request: TrainRequest, options?: MeasureOptions): Promise<TrainRun>
  predict(data: string, model: string, out: string, options?: MeasureOptions): Promise<Measured>
  /** The model as LIBLINEAR text, which the evaluator reads; the file itself when it is that already. */
  asLiblinear(model: string): Promise<string>
}
