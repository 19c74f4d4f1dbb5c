// The objective of a model's file on rows as the text has them, by an evaluator that shares nothing with the program.
import { join } from 'node:path'
import { loadModel, saveModel } from '../../src/model/files.ts'
import { denseScaleFactors, denseWeights } from '../../src/model/model.ts'
import type { TrainOptions } from '../../src/train/options.ts'
import type { TrainResult } from '../../src/train/training-run.ts'
import { type Row, unitLength } from '../data-sets/rows.ts'
import { type LossName, objectiveOf } from '../train/liblinear.ts'

const units = new WeakMap<Row[], Row[]>()
function unitRows(rows: Row[]): Row[] {
  if (!units.has(rows)) units.set(rows, rows.map(unitLength))
  return units.get(rows)!
}

let files = 0

/** Summed over the weight vectors of the model, which is saved into the folder and read again. */
export async function objectiveOfFile(
  folder: string,
  result: TrainResult,
  rows: Row[],
  options: TrainOptions,
): Promise<number> {
  const path = join(folder, `some-${++files}.model`)
  await saveModel(path, result.model)
  const model = await loadModel(path)
  const w = denseWeights(model)
  const factors = denseScaleFactors(model)
  const factorOf = (index: number): number => factors?.[index - model.indexBase] ?? 1
  const scaled = factors
    ? rows.map(row => ({ ...row, values: row.values.map((x, k) => x * factorOf(row.indices[k])) }))
    : rows
  const seen = options.normalize ? unitRows(scaled) : scaled
  const K = model.vectors
  let sum = 0
  for (let k = 0; k < K; k++) {
    const size = w.reduce((total, x, at) => (at % K === k ? total + x * x : total), 0)
    const positive = model.labels[k].value!
    // Against the rest, only the class itself is weighted.
    const known = Object.entries(options.classWeights ?? {})
      .map(([label, weight]) => [Number(label), weight])
      .filter(([label]) => K === 1 || label === positive)
    sum += objectiveOf(seen, positive, index => w[(index - model.indexBase) * K + k], model.biasWeights[k] ?? 0, size, {
      loss: result.loss as LossName,
      cost: result.cost,
      bias: model.bias,
      classWeights: Object.fromEntries(known),
    })
  }
  return sum
}
