// A training run under way, and what comes of it.
import { saveModel } from '../model/files.ts'
import type { Model } from '../model/model.ts'
import { type Predicts, withPredict } from '../model/predict-row.ts'
import type { ExitReason } from '../optimise/objectives/solution.ts'
import type { RunStart, TrainingOutcome } from './outcome.ts'
import type { Progress, ProgressListener } from './progress.ts'

export interface TrainResult
  extends RunStart,
    Pick<TrainingOutcome, 'bytesRead' | 'badRows' | 'badRowMessages' | 'blocks'> {
  model: Model
  solver: string
  /** Why it was that one. */
  solverReason?: string
  loss: string
  cost: number
  rows: number
  features: number
  nonzeros: number
  classes: number
  passes: number
  /** Null when the run was interrupted before it could be certified; dual and gap also for methods without a dual. */
  primal: number | null
  dual: number | null
  gap: number | null
  supportVectors: number | null
  /** Of a truncated loss: s, the rows that it gave up, and the convex problems that were solved one after the other. The primal
   *  is that of the truncated problem, which has no dual, and the gap that of the last convex one. */
  outlierMargin?: number
  outliers?: number
  relaxations?: number
  /** `tests`: those of the model on its way, which are part of the total alone. */
  seconds: { total: number; read: number; compute: number; write: number; tests?: number }
  peakMemoryBytes: number
  exitReason: ExitReason
  trainingAccuracy: number | null
  /** When values themselves were trained on, of a store that has them rounded. */
  roundedToBins?: number
}

/** Progress records that wait until the reader asks for them. */
const MOST_RECORDS = 4096

/** A model fresh from training: it can put itself on disk. */
export type TrainedModel = Model & Predicts & { save(path: string): Promise<void> }

/** A run under way: iterate over it for progress; `model` and `result` come at its end. */
export class TrainingRun implements AsyncIterable<Progress> {
  readonly result: Promise<TrainResult>
  readonly model: Promise<TrainedModel>
  readonly #records: Progress[] = []
  /** Records that are forgotten: a long run tells more than there is memory for. */
  #forgotten = 0
  #ended = false
  #wake: (() => void)[] = []

  constructor(work: (tell: ProgressListener) => Promise<TrainResult>) {
    this.result = work(record => {
      this.#records.push(record)
      if (this.#records.length > MOST_RECORDS) this.#forgotten += this.#records.splice(0, MOST_RECORDS / 2).length
      this.#notify()
    }).finally(() => {
      this.#ended = true
      this.#notify()
    })
    this.model = this.result.then(({ model }) =>
      Object.assign(withPredict(model), { save: (path: string) => saveModel(path, model) }),
    )
    // A caller that awaits neither promise learns of a failure by iterating, and gets no unhandled rejection.
    this.result.catch(() => {})
    this.model.catch(() => {})
  }

  #notify(): void {
    for (const wake of this.#wake.splice(0)) wake()
  }

  async *[Symbol.asyncIterator](): AsyncIterator<Progress> {
    for (let k = 0; ; k++) {
      k = Math.max(k, this.#forgotten)
      while (k >= this.#forgotten + this.#records.length) {
        if (this.#ended) {
          await this.result
          return
        }
        await new Promise<void>(resolve => this.#wake.push(resolve))
      }
      yield this.#records[k - this.#forgotten]
    }
  }
}
