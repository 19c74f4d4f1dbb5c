// The truncated problem of a model on the rows of a text, slowly, by code that shares nothing with the program.
import type { Model } from '../../src/model/model.ts'
import { toDense } from '../../src/model/weights.ts'

export interface TextRow {
  label: string
  entries: [index: number, value: number][]
}

export interface TruncatedTask {
  loss: 'ramp' | 'truncated-squared-hinge'
  /** s. */
  outlierMargin: number
  cost: number
  bias?: number
  classWeights?: Record<string, number>
}

export function rowsOf(text: string): TextRow[] {
  return text
    .trim()
    .split('\n')
    .map(line => {
      const [label, ...entries] = line.trim().split(' ')
      const pairs = entries.map(entry => entry.split(':').map(Number) as [number, number])
      return { label, entries: pairs.map(([index, value]) => [index, Math.fround(value)]) }
    })
}

/** y wᵀx of every row for a model's k-th vector, whose positive class is the k-th label. */
export function marginsOf(model: Model, rows: TextRow[], bias = 0, k = 0): number[] {
  const w = toDense(model.weights, model.features, model.vectors)
  return rows.map(({ label, entries }) => {
    let score = bias * (model.biasWeights[k] ?? 0)
    for (const [index, value] of entries) score += (w[(index - 1) * model.vectors + k] ?? 0) * value
    return label === model.labels[k].text ? score : -score
  })
}

/** The margin below which a row is an outlier. */
export const limitOf = ({ loss, outlierMargin: s }: TruncatedTask): number =>
  loss === 'ramp' ? -s : 1 - Math.sqrt(1 + s)

/** ½‖w‖² + Σ C_i min(loss(m_i), 1 + s), and how many rows are outliers; of a model's k-th vector. */
export function truncatedObjective(
  model: Model,
  rows: TextRow[],
  task: TruncatedTask,
  k = 0,
): { objective: number; outliers: number } {
  const { bias = 0, classWeights = {}, cost, loss, outlierMargin } = task
  const w = toDense(model.weights, model.features, model.vectors).filter((_, j) => j % model.vectors === k)
  let objective = 0.5 * (w.reduce((sum, x) => sum + x * x, 0) + (model.biasWeights[k] ?? 0) ** 2)
  let outliers = 0
  for (const [i, margin] of marginsOf(model, rows, bias, k).entries()) {
    const slack = Math.max(0, 1 - margin)
    const value = loss === 'ramp' ? slack : slack ** 2
    if (value > 1 + outlierMargin) outliers++
    const isOwn = model.vectors === 1 || rows[i].label === model.labels[k].text
    objective += cost * (isOwn ? (classWeights[rows[i].label] ?? 1) : 1) * Math.min(value, 1 + outlierMargin)
  }
  return { objective, outliers }
}
