// The judge: the primal objective of any peer's model, computed from the data file itself,
//
//   P(w) = ½‖w‖² + C Σ_i min(loss(y_i w·x_i), most),      the bias weight counting in ‖w‖ as in LIBLINEAR,
//
// in f64 with compensated sums. No peer reports its own objective, and nothing here comes from src/. With more than two
// classes it is the sum over one-against-the-rest problems.
//
//   node bench/evaluator.ts DATA MODEL --loss hinge --cost 1 [--normalize unit]
import { freemem } from 'node:os'
import { parseArgs } from 'node:util'
import { type LinearModel, readLiblinearModel } from './liblinear-model.ts'
import { forEachRow, type TextRow } from './libsvm-text.ts'

export type LossName = 'hinge' | 'squared-hinge' | 'logistic'

export interface Objective {
  loss: LossName
  cost: number
  /** What a row costs at most, before C: the loss is cut off there. */
  most?: number
  /** `unit` scales every row to length 1 first, for models that were trained so; the added feature is not scaled. */
  normalize?: 'unit'
}

export interface Evaluation {
  primal: number
  /** ½‖w‖². */
  regularizer: number
  /** Σ loss, without C. */
  lossSum: number
  accuracy: number
  rows: number
  /** Values in the file other than 0. */
  nonzeros: number
  /** The largest index. */
  features: number
}

const losses: Record<LossName, (margin: number) => number> = {
  hinge: margin => Math.max(0, 1 - margin),
  'squared-hinge': margin => Math.max(0, 1 - margin) ** 2,
  // log(1 + exp(−m)) without overflow for either sign.
  logistic: margin => (margin > 0 ? Math.log1p(Math.exp(-margin)) : -margin + Math.log1p(Math.exp(margin))),
}

export const lossNames = Object.keys(losses) as LossName[]

/** A sum that carries what each addition rounds away (Neumaier). */
export class CompensatedSum {
  #sum = 0
  #lost = 0
  add(value: number): void {
    const next = this.#sum + value
    this.#lost += Math.abs(this.#sum) >= Math.abs(value) ? this.#sum - next + value : value - next + this.#sum
    this.#sum = next
  }
  get value(): number {
    return this.#sum + this.#lost
  }
}

/** All models of one call share one reading of the file; weights of more than this are judged in several readings. */
const WEIGHT_BYTES = Math.max(400e6, freemem() / 8)

/** Judges model files (LIBLINEAR text) on one data file; results come in the order of the models. */
export async function evaluateFiles(data: string, modelFiles: string[], objective: Objective): Promise<Evaluation[]> {
  const results: Evaluation[] = []
  let batch: LinearModel[] = []
  let bytes = 0
  const flush = async (): Promise<void> => {
    if (batch.length > 0) results.push(...(await evaluate(data, batch, objective)))
    batch = []
    bytes = 0
  }
  for (const file of modelFiles) {
    const model = await readLiblinearModel(file)
    if (bytes + model.weights.byteLength > WEIGHT_BYTES) await flush()
    batch.push(model)
    bytes += model.weights.byteLength
  }
  await flush()
  return results
}

export async function evaluate(data: string, models: LinearModel[], objective: Objective): Promise<Evaluation[]> {
  const convex = losses[objective.loss]
  const { most = Number.POSITIVE_INFINITY } = objective
  const loss = (margin: number): number => Math.min(convex(margin), most)
  if (!convex) throw new Error(`no loss "${objective.loss}"; expected one of ${Object.keys(losses).join(', ')}`)
  const sums = models.map(() => new CompensatedSum())
  const right = models.map(() => 0)
  const scores = new Float64Array(Math.max(1, ...models.map(model => model.count)))
  let rows = 0
  let nonzeros = 0
  let features = 0
  await forEachRow(data, row => {
    rows++
    let squares = 0
    for (let p = 0; p < row.length; p++) {
      if (row.values[p] !== 0) nonzeros++
      if (row.indices[p] > features) features = row.indices[p]
      squares += row.values[p] ** 2
    }
    const factor = objective.normalize === 'unit' && squares > 0 ? 1 / Math.sqrt(squares) : 1
    models.forEach((model, m) => {
      const actual = model.labels.indexOf(row.label)
      let best = 0
      for (let k = 0; k < model.count; k++) {
        scores[k] = score(model, k, row, factor)
        const positive = actual === k
        sums[m].add(loss(positive ? scores[k] : -scores[k]))
        if (scores[k] > scores[best]) best = k
      }
      // Two classes: LIBLINEAR's rule, the first label for a score above 0.
      if (model.count === 1 && model.labels.length === 2) best = scores[0] > 0 ? 0 : 1
      if (actual === best) right[m]++
    })
  })
  return models.map((model, m) => {
    const norm = new CompensatedSum()
    for (const weight of model.weights) norm.add(weight * weight)
    const regularizer = norm.value / 2
    const lossSum = sums[m].value
    const primal = regularizer + objective.cost * lossSum
    return { primal, regularizer, lossSum, accuracy: right[m] / rows, rows, nonzeros, features }
  })
}

/** w_k · x: CompensatedSum written out, for this is the one loop that runs once a nonzero. */
function score({ weights, features, count, bias }: LinearModel, k: number, row: TextRow, factor: number): number {
  const { indices, values, length } = row
  let sum = 0
  let lost = 0
  for (let p = 0; p < length; p++) {
    const index = indices[p]
    // A feature that the model has never seen has no weight.
    if (index > features || index < 1) continue
    const value = weights[(index - 1) * count + k] * values[p]
    const next = sum + value
    lost += Math.abs(sum) >= Math.abs(value) ? sum - next + value : value - next + sum
    sum = next
  }
  const added = bias > 0 ? bias * weights[features * count + k] : 0
  return (sum + lost) * factor + added
}

/** Rows, nonzeros and features of a file, counted without any model. */
export async function describe(data: string): Promise<{ rows: number; nonzeros: number; features: number }> {
  const empty: LinearModel = { labels: [1, -1], features: 0, bias: 0, count: 0, weights: new Float64Array(0) }
  const [{ rows, nonzeros, features }] = await evaluate(data, [empty], { loss: 'hinge', cost: 1 })
  return { rows, nonzeros, features }
}

if (import.meta.main) {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: {
      loss: { type: 'string', default: 'hinge' },
      cost: { type: 'string', default: '1' },
      normalize: { type: 'string' },
    },
  })
  const [data, ...models] = positionals
  if (!data || models.length === 0) {
    console.error(
      'node bench/evaluator.ts DATA MODEL… [--loss hinge|squared-hinge|logistic] [--cost 1] [--normalize unit]',
    )
    process.exit(2)
  }
  const objective = { loss: values.loss as LossName, cost: Number(values.cost), normalize: values.normalize as 'unit' }
  const results = await evaluateFiles(data, models, objective)
  for (const [m, model] of models.entries()) console.log(JSON.stringify({ model, ...results[m] }))
}
