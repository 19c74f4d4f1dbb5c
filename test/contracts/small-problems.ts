// Small problems and their optima, found slowly on plain arrays: what solvers are held against.
import type { Loss } from '../../src/losses/loss.ts'
import type { Arena } from '../../src/numeric/arena.ts'
import type { RowSet } from '../../src/rows/row-set.ts'
import { type PlainRow, sweepBox } from '../numeric/dual-reference.ts'
import { randomNumbers } from '../numeric/reference.ts'

/** A row set over records that are in the arena already. */
export function rowSetOf(arena: Arena, records: number[], features: number, nonzeros = records.length): RowSet {
  const table = arena.allocate(Math.max(records.length, 1) * 4, 'a test table')
  arena.u32(table, records.length).set(records)
  return {
    table,
    rows: records.length,
    nonzeros,
    features,
    weights: features,
    renumbered: undefined,
    labels: [
      { value: -1, text: '-1', rows: 1 },
      { value: 1, text: '+1', rows: 1 },
    ],
    format: 'libsvm',
    indexBase: 1,
    valueBits: 32,
    packedBytes: 0,
    fingerprint: '',
    sources: [],
  }
}

/** LIBSVM text of rows that a plane divides, but for noise. */
export function noisyRows(rows: number, features: number, start: number, noise = 0.15): string {
  const random = randomNumbers(start)
  const plane = Array.from({ length: features }, () => random() * 2 - 1)
  return Array.from({ length: rows }, (_, i) => {
    // Every ninth row has no entries; some have one value only, some are full.
    const keep = i % 9 === 8 ? 0 : i % 3 === 0 ? 1 : 0.4
    const entries: string[] = []
    let score = 0.1
    for (let j = 0; j < features; j++) {
      if (random() >= keep) continue
      const x = i % 4 === 1 ? 1 : Math.fround(random() * 2 - 1)
      score += plane[j] * x
      entries.push(`${j + 1}:${x}`)
    }
    const positive = score > 0 !== random() < noise
    return [positive ? '+1' : '-1', ...entries].join(' ')
  }).join('\n')
}

export interface PlainTask {
  rows: PlainRow[]
  features: number
  loss: Loss
  costPositive: number
  costNegative: number
  bias: number
}

const dot = (row: PlainRow, w: number[], bias: number): number =>
  row.indices.reduce((sum, index, k) => sum + w[index] * row.values[k], bias * w[w.length - 1])

/** ½‖w‖² + Σ C_i loss(y_i wᵀx_i), the bias weight last. */
export function primalOf(task: PlainTask, w: number[]): number {
  let sum = 0.5 * w.reduce((total, x) => total + x * x, 0)
  for (const row of task.rows) {
    const margin = (row.positive ? 1 : -1) * dot(row, w, task.bias)
    sum += (row.positive ? task.costPositive : task.costNegative) * task.loss.value(margin)
  }
  return sum
}

/** Σ of the dual's separable part − ½‖Σ α y x‖²; throws where α leaves its box. `rest` is C − α where it is kept. */
export function dualOf(task: PlainTask, alpha: number[], rest: number[]): number {
  const v = new Array<number>(task.features + 1).fill(0)
  let sum = 0
  task.rows.forEach((row, i) => {
    const cost = row.positive ? task.costPositive : task.costNegative
    const a = alpha[i]
    const step = row.positive ? a : -a
    for (const [k, index] of row.indices.entries()) v[index] += step * row.values[k]
    v[task.features] += step * task.bias
    if (task.loss.box) {
      const { bound, diagonal } = task.loss.box(cost)
      if (!(a >= 0 && a <= bound)) throw new Error(`α of row ${i} is ${a}, outside of 0 to ${bound}`)
      sum += a - 0.5 * diagonal * a * a
    } else {
      if (!(a > 0 && rest[i] > 0 && Math.abs(a + rest[i] - cost) <= 1e-12 * cost))
        throw new Error(`α of row ${i} is ${a}`)
      sum -= a * Math.log(a / cost) + rest[i] * Math.log(rest[i] / cost)
    }
  })
  return sum - 0.5 * v.reduce((total, x) => total + x * x, 0)
}

/** The optimal objective. Box duals: coordinate descent until the gap is nothing; else Newton's method on w. */
export function optimumOf(task: PlainTask): number {
  return task.loss.box ? boxOptimum(task) : newtonOptimum(task)
}

function boxOptimum(task: PlainTask): number {
  const positive = task.loss.box!(task.costPositive)
  const negative = task.loss.box!(task.costNegative)
  const problem = {
    rows: task.rows,
    features: task.features,
    bias: task.bias,
    boundPositive: positive.bound,
    boundNegative: negative.bound,
    diagonalPositive: positive.diagonal,
    diagonalNegative: negative.diagonal,
    logistic: false,
    alpha: task.rows.map(() => 0),
    rest: [],
    w: new Array<number>(task.features + 1).fill(0),
  }
  const random = randomNumbers(99)
  for (let pass = 0; pass < 200_000; pass++) {
    const order = task.rows.map((_, i) => ({ i, key: random() })).sort((a, b) => a.key - b.key)
    sweepBox(problem, {
      order: order.map(({ i }) => i),
      active: task.rows.length,
      shrink: false,
      upper: 0,
      lower: 0,
      gradientMax: 0,
      gradientMin: 0,
      loss: 0,
      gap: 0,
      inner: 0,
    })
    if (pass % 20 > 0) continue
    const primal = primalOf(task, problem.w)
    if (primal - dualOf(task, problem.alpha, []) <= 1e-10 * primal) return primal
  }
  throw new Error('the reference did not converge')
}

/** For smooth losses: derivatives by differences of the margin's loss would cost digits, so logistic's own are used. */
function newtonOptimum(task: PlainTask): number {
  const n = task.features + 1
  let w = new Array<number>(n).fill(0)
  for (let step = 0; step < 200; step++) {
    const gradient = w.slice()
    const hessian = w.map((_, j) => w.map((__, k) => (j === k ? 1 : 0)))
    for (const row of task.rows) {
      const cost = row.positive ? task.costPositive : task.costNegative
      const y = row.positive ? 1 : -1
      const p = 1 / (1 + Math.exp(y * dot(row, w, task.bias)))
      const x = new Array<number>(n).fill(0)
      for (const [k, index] of row.indices.entries()) x[index] = row.values[k]
      x[n - 1] = task.bias
      for (let j = 0; j < n; j++) {
        gradient[j] -= cost * p * y * x[j]
        for (let k = 0; k < n; k++) hessian[j][k] += cost * p * (1 - p) * x[j] * x[k]
      }
    }
    if (Math.hypot(...gradient) < 1e-11 * (1 + primalOf(task, w))) return primalOf(task, w)
    const direction = solveLinear(hessian, gradient)
    let t = 1
    const before = primalOf(task, w)
    while (
      t > 1e-6 &&
      primalOf(
        task,
        w.map((x, j) => x - t * direction[j]),
      ) > before
    )
      t /= 2
    w = w.map((x, j) => x - t * direction[j])
  }
  return primalOf(task, w)
}

function solveLinear(a: number[][], b: number[]): number[] {
  const n = b.length
  const rows = a.map((row, i) => [...row, b[i]])
  for (let i = 0; i < n; i++) {
    const pivot = rows.slice(i).reduce((best, row, k) => (Math.abs(row[i]) > Math.abs(rows[best][i]) ? k + i : best), i)
    ;[rows[i], rows[pivot]] = [rows[pivot], rows[i]]
    for (let k = i + 1; k < n; k++) {
      const factor = rows[k][i] / rows[i][i]
      for (let j = i; j <= n; j++) rows[k][j] -= factor * rows[i][j]
    }
  }
  const x = new Array<number>(n).fill(0)
  for (let i = n - 1; i >= 0; i--) {
    x[i] = rows[i].slice(i + 1, n).reduce((sum, value, k) => sum - value * x[i + 1 + k], rows[i][n]) / rows[i][i]
  }
  return x
}
