// Crammer and Singer's objective by code that shares nothing with the program.
import type { Model } from '../../src/model/model.ts'
import { toDense } from '../../src/model/weights.ts'
import type { Row } from '../data-sets/rows.ts'

export interface Problem {
  cost: number
  bias?: number
  classWeights?: Record<string, number>
}

/** ½ Σ_k ‖w_k‖² + Σ_i C_i (max_k (s_ik + [k ≠ y_i]) − s_iy), for weights that stand w[(index − 1)·K + k]. */
export function objective(
  rows: Row[],
  labels: number[],
  w: ArrayLike<number>,
  b: ArrayLike<number>,
  o: Problem,
): number {
  const K = labels.length
  let sum = 0
  for (let k = 0; k < w.length; k++) sum += 0.5 * w[k] * w[k]
  for (let k = 0; k < b.length; k++) sum += 0.5 * b[k] * b[k]
  const scores = new Float64Array(K)
  for (const { label, indices, values } of rows) {
    for (let k = 0; k < K; k++) scores[k] = (o.bias ?? 0) * (b[k] ?? 0)
    for (let e = 0; e < indices.length; e++) {
      for (let k = 0; k < K; k++) scores[k] += w[(indices[e] - 1) * K + k] * values[e]
    }
    const y = labels.indexOf(label)
    let most = scores[y]
    for (let k = 0; k < K; k++) if (k !== y) most = Math.max(most, scores[k] + 1)
    sum += o.cost * (o.classWeights?.[String(label)] ?? 1) * (most - scores[y])
  }
  return sum
}

export const objectiveOfModel = (rows: Row[], model: Model, o: Problem): number =>
  objective(
    rows,
    model.labels.map(label => label.value!),
    toDense(model.weights, model.features, model.vectors),
    model.biasWeights,
    o,
  )
