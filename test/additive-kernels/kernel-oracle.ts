// A kernel machine that is solved the plain way, for a few hundred rows: the full kernel matrix, exact kernels, dual
// coordinate descent. Tests compare with it, so it shares nothing with src/.
//
//   primal  ½‖w‖² + C Σ loss(y_i f(x_i)),        f(x) = Σ_i α_i y_i K(x_i, x),   K(x, z) = Σ_j k(x_j, z_j), no bias
//   dual    Σ α_i − ½ αᵀ(Q + D)α, 0 ≤ α ≤ U,     Q_ij = y_i y_j K(x_i, x_j)
//   hinge   U = C, D = 0;   squared hinge   U = ∞, D = 1 / (2C)

export type ScalarKernel = (x: number, y: number) => number
export type OracleLoss = 'hinge' | 'squared-hinge'

const LOG2 = Math.log(2)
const zeroAtZero =
  (kernel: ScalarKernel): ScalarKernel =>
  (x, y) =>
    x === 0 || y === 0 ? 0 : kernel(x, y)

export const linear: ScalarKernel = (x, y) => x * y
export const chi2 = zeroAtZero((x, y) => (2 * x * y) / (x + y))
export const intersection = zeroAtZero((x, y) => Math.min(x, y))
/** x/2 log2((x + y) / x) + y/2 log2((x + y) / y). */
export const jensenShannon = zeroAtZero((x, y) => (x * Math.log1p(y / x) + y * Math.log1p(x / y)) / (2 * LOG2))

/** ((x^p + y^p) / 2)^(1/p), the geometric mean for p = 0 and the smaller one for p = −∞. One of the two is taken out of
 *  the root, the one that leaves a ratio of at most 1 to be raised to a positive power: nothing overflows. */
export function powerMean(p: number): ScalarKernel {
  if (p === -Infinity) return intersection
  if (p === 0) return zeroAtZero((x, y) => Math.sqrt(x) * Math.sqrt(y))
  return zeroAtZero((x, y) => {
    const small = Math.min(x, y)
    const large = Math.max(x, y)
    const taken = p < 0 ? small : large
    return taken * Math.exp((Math.log1p((small / large) ** Math.abs(p)) - LOG2) / p)
  })
}

export interface OracleTask {
  rows: Float64Array[]
  /** +1 or −1. */
  labels: number[]
  kernel: ScalarKernel
  cost: number
  loss: OracleLoss
  /** Relative duality gap to reach. */
  gap?: number
}

export interface OracleResult {
  alpha: Float64Array
  primal: number
  dual: number
  /** (primal − dual) / primal. */
  gap: number
  decision(row: Float64Array): number
}

export function sumOver(kernel: ScalarKernel, a: Float64Array, b: Float64Array): number {
  let sum = 0
  for (let j = 0; j < a.length; j++) sum += kernel(a[j], b[j])
  return sum
}

const MOST_SWEEPS = 200_000
/** Sweeps between two looks at the gap. */
const SWEEPS = 20

export function solveKernelMachine({ rows, labels, kernel, cost, loss, gap: aim = 1e-10 }: OracleTask): OracleResult {
  const n = rows.length
  const upper = loss === 'hinge' ? cost : Infinity
  const diagonal = loss === 'hinge' ? 0 : 1 / (2 * cost)
  // Q + D.
  const matrix = rows.map(() => new Float64Array(n))
  for (let i = 0; i < n; i++) {
    for (let k = 0; k <= i; k++) {
      matrix[i][k] = labels[i] * labels[k] * sumOver(kernel, rows[i], rows[k])
      matrix[k][i] = matrix[i][k]
    }
    matrix[i][i] += diagonal
  }
  const alpha = new Float64Array(n)
  const times = (vector: Float64Array): Float64Array =>
    Float64Array.from(matrix, row => row.reduce((sum, value, k) => sum + value * vector[k], 0))
  const objectives = (): { primal: number; dual: number; gap: number } => {
    const product = times(alpha)
    let norm = 0
    let sum = 0
    let losses = 0
    for (let i = 0; i < n; i++) {
      const margin = product[i] - diagonal * alpha[i]
      norm += alpha[i] * margin
      sum += alpha[i] - (diagonal * alpha[i] * alpha[i]) / 2
      const short = Math.max(0, 1 - margin)
      losses += loss === 'hinge' ? short : short * short
    }
    const primal = norm / 2 + cost * losses
    const dual = sum - norm / 2
    return { primal, dual, gap: (primal - dual) / primal }
  }

  let gradient = times(alpha).map(value => value - 1)
  const change = (i: number, to: number): void => {
    const step = to - alpha[i]
    if (step === 0) return
    alpha[i] = to
    const row = matrix[i]
    for (let k = 0; k < n; k++) gradient[k] += step * row[k]
  }
  let state = objectives()
  for (let sweep = 1; state.gap > aim; sweep++) {
    if (sweep > MOST_SWEEPS) throw new Error(`the oracle is stuck at a gap of ${state.gap}`)
    for (let i = 0; i < n; i++) {
      // A row of zeros has no bound of its own under the hinge loss: its variable goes to the top.
      const step = matrix[i][i] > 0 ? gradient[i] / matrix[i][i] : gradient[i] * Infinity
      change(i, Math.min(upper, Math.max(0, alpha[i] - step)))
    }
    if (sweep % SWEEPS !== 0) continue
    // Sweeps find which variables are free quickly, and their values slowly; those are the solution of linear equations.
    const free = [...alpha.keys()].filter(i => alpha[i] > 0 && alpha[i] < upper)
    const step = solve(matrix, free, gradient)
    if (step) {
      const room = (i: number, by: number): number => (by < 0 ? -alpha[i] / by : (upper - alpha[i]) / by)
      const length = Math.min(1, ...free.map((i, k) => (step[k] === 0 ? 1 : room(i, step[k]))))
      free.forEach((i, k) => {
        change(i, Math.min(upper, Math.max(0, alpha[i] + length * step[k])))
      })
    }
    // Anew, so that rounding does not pile up.
    gradient = times(alpha).map(value => value - 1)
    state = objectives()
  }
  const decision = (row: Float64Array): number =>
    rows.reduce((sum, each, i) => (alpha[i] === 0 ? sum : sum + alpha[i] * labels[i] * sumOver(kernel, each, row)), 0)
  return { alpha, ...state, decision }
}

/** The step d with M_FF d = −g_F by Cholesky's method; undefined when the matrix is singular. */
function solve(matrix: Float64Array[], free: number[], gradient: Float64Array): Float64Array | undefined {
  const n = free.length
  const lower = free.map(i => Float64Array.from(free, k => matrix[i][k]))
  for (let k = 0; k < n; k++) {
    for (let m = 0; m <= k; m++) {
      let sum = lower[k][m]
      for (let j = 0; j < m; j++) sum -= lower[k][j] * lower[m][j]
      if (k !== m) lower[k][m] = sum / lower[m][m]
      else if (sum <= 1e-12 * matrix[free[k]][free[k]]) return undefined
      else lower[k][k] = Math.sqrt(sum)
    }
  }
  const step = Float64Array.from(free, i => -gradient[i])
  for (let k = 0; k < n; k++) {
    for (let j = 0; j < k; j++) step[k] -= lower[k][j] * step[j]
    step[k] /= lower[k][k]
  }
  for (let k = n - 1; k >= 0; k--) {
    for (let j = k + 1; j < n; j++) step[k] -= lower[j][k] * step[j]
    step[k] /= lower[k][k]
  }
  return step
}
