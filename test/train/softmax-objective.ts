// Multinomial logistic regression by code that shares nothing with the program: its objective, the dual of its gradient, and
// scikit-learn's solution where that is installed.
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import type { Model } from '../../src/model/model.ts'
import { toDense } from '../../src/model/weights.ts'
import type { Row } from '../data-sets/rows.ts'

export interface Problem {
  cost: number
  bias?: number
  classWeights?: Record<string, number>
}

export interface Weights {
  labels: number[]
  /** w[(index − 1)·K + k]. */
  w: ArrayLike<number>
  /** Of the bias. */
  b: ArrayLike<number>
}

/** Probabilities of all classes for a row. */
export function probabilitiesOf(
  { indices, values }: Omit<Row, 'label'>,
  { labels, w, b }: Weights,
  bias = 0,
): number[] {
  const K = labels.length
  const scores = labels.map((_, k) =>
    indices.reduce((sum, j, e) => sum + (w[(j - 1) * K + k] ?? 0) * values[e], bias * (b[k] ?? 0)),
  )
  const highest = Math.max(...scores)
  const powers = scores.map(score => Math.exp(score - highest))
  const sum = powers.reduce((total, power) => total + power, 0)
  return powers.map(power => power / sum)
}

/** P = ½ Σ_k ‖w_k‖² − Σ_i C_i log p_i,y_i, and D of the dual variables that the gradient stands for. */
export function objectives(rows: Row[], weights: Weights, o: Problem): { primal: number; dual: number } {
  const { labels, w, b } = weights
  const K = labels.length
  const v = new Float64Array(w.length)
  const vOfBias = new Float64Array(K)
  let [primal, dual] = [0, 0]
  for (const row of rows) {
    const cost = o.cost * (o.classWeights?.[String(row.label)] ?? 1)
    const p = probabilitiesOf(row, weights, o.bias)
    const y = labels.indexOf(row.label)
    primal -= cost * Math.log(p[y])
    for (let k = 0; k < K; k++) {
      if (p[k] > 0) dual -= cost * p[k] * Math.log(p[k])
      const alpha = cost * ((k === y ? 1 : 0) - p[k])
      for (let e = 0; e < row.indices.length; e++) v[(row.indices[e] - 1) * K + k] += alpha * row.values[e]
      vOfBias[k] += alpha * (o.bias ?? 0)
    }
  }
  for (const values of [w, b]) for (let k = 0; k < values.length; k++) primal += 0.5 * values[k] * values[k]
  for (const values of [v, vOfBias]) for (const value of values) dual -= 0.5 * value * value
  return { primal, dual }
}

export const weightsOf = (model: Model): Weights => ({
  labels: model.labels.map(label => label.value!),
  w: toDense(model.weights, model.features, model.vectors),
  b: model.biasWeights,
})

const pythons = ['python3', '/usr/bin/python3']
const python = pythons.find(program => spawnSync(program, ['-c', 'import sklearn, scipy']).status === 0)
/** Why there is no comparison with scikit-learn; false where it is installed. */
export const noSklearn =
  python === undefined && 'scikit-learn not found: install python3-sklearn to compare with its logistic regression'

/** Weights to a file, classes by features; and what the classes are. */
const SCRIPT = `
import sys, warnings
from sklearn.datasets import load_svmlight_file
from sklearn.linear_model import LogisticRegression
warnings.simplefilter('ignore')
path, out, cost, features = sys.argv[1], sys.argv[2], float(sys.argv[3]), int(sys.argv[4])
x, y = load_svmlight_file(path, n_features=features, zero_based=False)
# Up to version 1.4 two classes are multinomial only when that is said; from 1.7 on it cannot be said.
try:
    made = LogisticRegression(multi_class='multinomial', solver='lbfgs', tol=1e-10, C=cost, fit_intercept=False, max_iter=5000)
except TypeError:
    made = LogisticRegression(solver='lbfgs', tol=1e-10, C=cost, fit_intercept=False, max_iter=5000)
model = made.fit(x, y)
model.coef_.astype('<f8').tofile(out)
print(' '.join(str(int(label)) for label in model.classes_))
`

/** scikit-learn's weights for the same problem, without a bias. Rows are those of a file whose values are written in full. */
export function sklearnWeights(path: string, features: number, cost: number): Weights {
  const out = `${path}.sklearn`
  const { status, stdout, stderr } = spawnSync(python!, ['-c', SCRIPT, path, out, `${cost}`, `${features}`], {
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error(`scikit-learn failed: ${stderr}`)
  const labels = stdout.trim().split(' ').map(Number)
  const bytes = readFileSync(out)
  const byClass = new Float64Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength))
  const K = labels.length
  const w = Float64Array.from(byClass, (_, at) => byClass[(at % K) * features + Math.floor(at / K)])
  return { labels, w, b: [] }
}
