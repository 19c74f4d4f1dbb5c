// LIBLINEAR where it is installed, and an objective evaluator that shares nothing with the program.
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import type { Model } from '../../src/model/model.ts'
import { toDense } from '../../src/model/weights.ts'
import type { Row } from '../data-sets/rows.ts'

const missing = ['liblinear-train', 'liblinear-predict'].filter(program => spawnSync(program).error)
/** Why there is no comparison with LIBLINEAR; false where it is installed. */
export const noLiblinear =
  missing.length > 0 && `${missing.join(' and ')} not found: install liblinear-tools to compare with LIBLINEAR`

export type LossName = 'hinge' | 'squared-hinge' | 'logistic'

export interface Objective {
  loss: LossName
  cost: number
  bias: number
  /** Multipliers by label. */
  classWeights: Record<string, number>
}

/** ½‖w‖² + Σ C_i loss_i. w[j] belongs to index j as written; the bias weight stands apart. */
export function objectiveOf(
  rows: Row[],
  positive: number,
  w: (index: number) => number,
  biasWeight: number,
  size: number,
  o: Objective,
): number {
  let sum = 0.5 * (size + biasWeight * biasWeight)
  for (const { label, indices, values } of rows) {
    let score = o.bias * biasWeight
    for (let k = 0; k < indices.length; k++) score += w(indices[k]) * values[k]
    const m = label === positive ? score : -score
    const slack = Math.max(0, 1 - m)
    const loss =
      o.loss === 'hinge'
        ? slack
        : o.loss === 'squared-hinge'
          ? slack * slack
          : m > 0
            ? Math.log1p(Math.exp(-m))
            : Math.log1p(Math.exp(m)) - m
    sum += o.cost * (o.classWeights[String(label)] ?? 1) * loss
  }
  return sum
}

/** The objective of a model of ours, of two classes; rows as the weights have them, so scaled by hand where it scales. */
export function modelObjective({ weights, features, biasWeights, labels }: Model, rows: Row[], o: Objective): number {
  const w = toDense(weights, features, 1)
  const size = w.reduce((sum, x) => sum + x * x, 0)
  return objectiveOf(rows, labels[0].value!, index => w[index - 1], biasWeights[0] ?? 0, size, o)
}

/** Trains with LIBLINEAR and evaluates its model file. Primal Newton where the loss is smooth, the dual for the hinge. */
export function liblinearObjective(
  dataPath: string,
  modelPath: string,
  rows: Row[],
  o: Objective,
  epsilon: string,
): number {
  const solver = { hinge: '3', 'squared-hinge': '2', logistic: '0' }[o.loss]
  const weights = Object.entries(o.classWeights).flatMap(([label, weight]) => [`-w${label}`, String(weight)])
  const bias = o.bias !== 0 ? ['-B', String(o.bias)] : []
  const args = ['-q', '-s', solver, '-c', String(o.cost), '-e', epsilon, ...bias, ...weights, dataPath, modelPath]
  const { status, stderr } = spawnSync('liblinear-train', args, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`liblinear-train failed: ${stderr}`)
  const [head, body] = readFileSync(modelPath, 'utf8').split(/^w\s*\n/m)
  const labels = /^label (.*)$/m.exec(head)![1].trim().split(/\s+/).map(Number)
  const features = Number(/^nr_feature (\d+)$/m.exec(head)![1])
  const w = body.trim().split(/\s+/).map(Number)
  const biasWeight = o.bias !== 0 ? w[features] : 0
  const size = w.slice(0, features).reduce((sum, x) => sum + x * x, 0)
  return objectiveOf(rows, labels[0], index => w[index - 1], biasWeight, size, o)
}
