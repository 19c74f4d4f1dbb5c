// ‖w‖₁ + Σ C loss on plain arrays: its value, its optimum found slowly, and LIBLINEAR's answer.
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

export type SmoothLoss = 'squared-hinge' | 'logistic'

export interface SparseRow {
  /** From 0. */
  indices: number[]
  values: number[]
  positive: boolean
}

export interface L1Task {
  rows: SparseRow[]
  features: number
  loss: SmoothLoss
  costPositive: number
  costNegative: number
  bias: number
}

const costOf = (task: L1Task, row: SparseRow): number => (row.positive ? task.costPositive : task.costNegative)

/** Margins; the bias weight stands last. */
export function marginsOf(task: L1Task, w: ArrayLike<number>): number[] {
  return task.rows.map(({ indices, values, positive }) => {
    let score = task.bias * w[task.features]
    for (let k = 0; k < indices.length; k++) score += w[indices[k]] * values[k]
    return positive ? score : -score
  })
}

export function lossOf(loss: SmoothLoss, m: number): number {
  if (loss === 'squared-hinge') return Math.max(0, 1 - m) ** 2
  return m > 0 ? Math.log1p(Math.exp(-m)) : Math.log1p(Math.exp(m)) - m
}

function slopeOf(loss: SmoothLoss, m: number): number {
  return loss === 'squared-hinge' ? -2 * Math.max(0, 1 - m) : -1 / (1 + Math.exp(m))
}

export function objectiveL1(task: L1Task, w: ArrayLike<number>): number {
  let sum = 0
  for (let j = 0; j <= task.features; j++) sum += Math.abs(w[j])
  marginsOf(task, w).forEach((m, i) => {
    sum += costOf(task, task.rows[i]) * lossOf(task.loss, m)
  })
  return sum
}

/** Derivatives of the losses' sum by each weight. */
export function gradientOf(task: L1Task, w: ArrayLike<number>): number[] {
  const gradient = new Array<number>(task.features + 1).fill(0)
  marginsOf(task, w).forEach((m, i) => {
    const row = task.rows[i]
    const slope = costOf(task, row) * slopeOf(task.loss, m) * (row.positive ? 1 : -1)
    row.indices.forEach((j, k) => {
      gradient[j] += slope * row.values[k]
    })
    gradient[task.features] += slope * task.bias
  })
  return gradient
}

/** The optimal weights, by bisection of the derivative in one weight at a time until no weight wants to move. */
export function optimumL1(task: L1Task): number[] {
  const w = new Array<number>(task.features + 1).fill(0)
  const margins = task.rows.map(() => 0)
  const columns = w.map((): [row: number, value: number, cost: number][] => [])
  task.rows.forEach((row, i) => {
    const y = row.positive ? 1 : -1
    const cost = costOf(task, row)
    row.indices.forEach((j, k) => {
      columns[j].push([i, y * row.values[k], cost])
    })
    if (task.bias !== 0) columns[task.features].push([i, y * task.bias, cost])
  })
  for (let sweep = 0; sweep < 20_000; sweep++) {
    let moved = 0
    columns.forEach((column, j) => {
      const before = w[j]
      const slope = (x: number): number =>
        column.reduce((sum, [i, v, cost]) => sum + cost * v * slopeOf(task.loss, margins[i] + (x - before) * v), 0)
      const atZero = slope(0)
      if (Math.abs(atZero) <= 1) w[j] = 0
      else {
        // On the side of zero to which the whole falls, its derivative rises with |x|.
        const sign = atZero > 0 ? -1 : 1
        let [low, high] = [0, 1]
        while (sign * slope(sign * high) + 1 < 0) high *= 2
        for (let k = 0; k < 60; k++) {
          const middle = (low + high) / 2
          if (sign * slope(sign * middle) + 1 < 0) low = middle
          else high = middle
        }
        w[j] = (sign * (low + high)) / 2
      }
      for (const [i, v] of column) margins[i] += (w[j] - before) * v
      moved = Math.max(moved, Math.abs(w[j] - before))
    })
    if (moved < 1e-11) return w
  }
  throw new Error('the reference did not converge')
}

/** The dual objective of α; throws where it is not feasible. */
export function dualL1(task: L1Task, alpha: ArrayLike<number>): number {
  const v = new Array<number>(task.features + 1).fill(0)
  let sum = 0
  task.rows.forEach((row, i) => {
    const a = alpha[i]
    const cost = costOf(task, row)
    if (!(a >= 0 && (task.loss === 'squared-hinge' || a <= cost))) throw new Error(`α of row ${i} is ${a}`)
    row.indices.forEach((j, k) => {
      v[j] += (row.positive ? a : -a) * row.values[k]
    })
    v[task.features] += (row.positive ? a : -a) * task.bias
    if (task.loss === 'squared-hinge') sum += a - (a * a) / (4 * cost)
    else for (const part of [a, cost - a]) sum -= part > 0 ? part * Math.log(part / cost) : 0
  })
  const most = Math.max(...v.map(Math.abs))
  if (most > 1 + 1e-9) throw new Error(`a feature has ${most}`)
  return sum
}

/** LIBLINEAR's weight vectors (-s 5 or 6), each with its bias last, and the labels in its order. */
export function liblinearL1(
  dataPath: string,
  modelPath: string,
  loss: SmoothLoss,
  { cost, bias = 0, classWeights = {}, epsilon }: LiblinearSettings,
): { labels: number[]; vectors: Float64Array[]; features: number } {
  const weights = Object.entries(classWeights).flatMap(([label, weight]) => [`-w${label}`, String(weight)])
  const words = ['-q', '-s', loss === 'logistic' ? '6' : '5', '-c', String(cost), '-e', epsilon]
  if (bias !== 0) words.push('-B', String(bias))
  const { status, stderr } = spawnSync('liblinear-train', [...words, ...weights, dataPath, modelPath], {
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error(`liblinear-train failed: ${stderr}`)
  const [head, body] = readFileSync(modelPath, 'utf8').split(/^w\s*\n/m)
  const labels = /^label (.*)$/m.exec(head)![1].trim().split(/\s+/).map(Number)
  const features = Number(/^nr_feature (\d+)$/m.exec(head)![1])
  const numbers = body.trim().split(/\s+/).map(Number)
  const K = labels.length === 2 ? 1 : labels.length
  const vectors = Array.from({ length: K }, (_, k) =>
    Float64Array.from({ length: features + 1 }, (__, j) => numbers[j * K + k] ?? 0),
  )
  return { labels, vectors, features }
}

export interface LiblinearSettings {
  cost: number
  bias?: number
  classWeights?: Record<string, number>
  epsilon: string
}
