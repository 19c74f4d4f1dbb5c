// The space that rows of an additive kernel live in: every value becomes a short vector, by a table, such that products of the
// vectors are about the kernel's values. Then rows are linear rows of more numbers, and everything that trains linear rows
// trains them.
//
// There are two ways, both by m + 1 nodes c, for a degree of m, and both kernels themselves, positive definite, with an
// objective and a duality gap of their own; M_ij = κ(c_i, c_j) = L Lᵀ:
//
//   polynomial   K̂(x, y) = ℓ(x)ᵀ M ℓ(y),        φ(x) = Lᵀ ℓ(x):    as in Wu's power mean SVM the kernel is interpolated by a
//                polynomial in t = ln(x + 0.05), ℓ_i being Lagrange's of the nodes; here in both arguments
//   projection   K̂(x, y) = κ(x, c) M⁻¹ κ(c, y),  φ(x) = L⁻¹ κ(c, x):  the kernel on the span of what it is at the nodes, which
//                is nearer to it, and 0 at 0 as it is. For χ² and degree 2 it is off by 0.006 at most on [0, 1]², where the
//                polynomial is off by 0.028.
//
// Three of Chebyshev's nodes are enough for a smooth kernel. One that bends at x = y is a curve of many short pieces on the
// span of its nodes: it needs more of them, at equal steps of ln(x + 0.01), which is how kernels that scale see distances.
//
// A table of φ at k / bins serves training and predicting. Yang, Wu: Practical large scale classification with additive
// kernels (ACML 2012).
import { SpillwayError, UsageError } from '../errors.ts'
import type { ScalarKernel } from './additive-kernel.ts'
import { findScalarKernel } from './all-additive-kernels.ts'

export const nodeKinds = ['chebyshev', 'even', 'ad-hoc'] as const
export type NodeKind = (typeof nodeKinds)[number]

/** Shift of the logarithm: t = ln(x + 0.05). */
const SHIFT = 0.05
/** The same for even nodes: they begin nearer to 0, where most values of histograms are. */
const EVEN_SHIFT = 0.01
/** Wu's nodes, for degree 2. */
const AD_HOC = [0.01, 0.06, 0.75]
/** Polynomials of a higher degree swing. A projection may have more nodes, as a kernel with a bend needs. */
export const MOST_DEGREE = { polynomial: 5, projection: 63 }
/** Up to this degree, nodes are Chebyshev's where nothing else is asked for, and even ones above it. */
const MOST_CHEBYSHEV_DEGREE = 5
/** Values in (0, 1] where a kernel and what stands for it are compared. */
const ERROR_GRID = 200
/** Bin numbers take two bytes, and where values have signs one bit is for those. */
export const MOST_BINS = 32767

export const approximations = ['projection', 'polynomial'] as const
export type Approximation = (typeof approximations)[number]

export interface RowSpace {
  /** What the kernel is called: `chi2`, `power-mean:-2`. */
  kernel: string
  approximation: Approximation
  degree: number
  nodes: NodeKind
  bins: number
}

/** The one form of a space in models, checkpoints and messages; see parseSpace. */
export function spaceText({ kernel, approximation, degree, nodes, bins }: RowSpace): string {
  return `additive-kernel:${kernel}:${approximation}:${degree}:${nodes}:${bins}`
}

/** The space that the words behind `additive-kernel:` name; refuses what cannot be. */
export function parseSpace(words: string[]): RowSpace {
  const [approximation, degree, nodes, bins] = words.slice(-4)
  return checkedSpace({
    kernel: words.slice(0, -4).join(':'),
    approximation: approximation as Approximation,
    degree: Number(degree),
    nodes: nodes as NodeKind,
    bins: Number(bins),
  })
}

/** The same with the kernel's one name; refuses what cannot be. */
export function checkedSpace(space: RowSpace): RowSpace {
  const { approximation, degree, nodes, bins } = space
  if (!approximations.includes(approximation)) {
    throw new UsageError(`approximation is ${approximation}; expected one of ${approximations.join(', ')}`)
  }
  const most = MOST_DEGREE[approximation]
  if (!Number.isInteger(degree) || degree < 2 || degree > most) {
    throw new UsageError(`degree is ${degree}; expected a whole number from 2 to ${most} for the ${approximation}`)
  }
  if (!nodeKinds.includes(nodes)) throw new UsageError(`nodes is ${nodes}; expected one of ${nodeKinds.join(', ')}`)
  if (nodes === 'ad-hoc' && degree !== 2) {
    throw new UsageError(`the ad hoc nodes are for degree 2, and the degree is ${degree}`, 'take --nodes chebyshev')
  }
  if (nodes === 'even' && approximation === 'polynomial') {
    throw new UsageError(
      'the even nodes are for the projection: polynomials swing between them',
      'take --nodes chebyshev',
    )
  }
  if (!Number.isInteger(bins) || bins < 2 || bins > MOST_BINS) {
    throw new UsageError(`bins is ${bins}; expected a whole number from 2 to ${MOST_BINS}`)
  }
  return { ...space, kernel: findScalarKernel(space.kernel).text }
}

/** The space that was asked for, with the kernel's own degree and the nodes that go with a degree where none are named. */
export function spaceWith(space: Omit<RowSpace, 'degree' | 'nodes'> & Partial<RowSpace>): RowSpace {
  const { kernel, approximation } = space
  const own = space.nodes === 'ad-hoc' || approximation === 'polynomial' ? 2 : findScalarKernel(kernel).degree
  const degree = space.degree ?? own ?? 2
  const nodes = space.nodes ?? (degree > MOST_CHEBYSHEV_DEGREE ? 'even' : 'chebyshev')
  return checkedSpace({ ...space, degree, nodes })
}

/** Numbers that a value becomes. */
export function widthOf({ degree }: Pick<RowSpace, 'degree'>): number {
  return degree + 1
}

/** The nodes, as values: Chebyshev's in t, Wu's, or even ones, at equal steps of the logarithm up to 1. */
export function nodesOf({ degree, nodes }: Pick<RowSpace, 'degree' | 'nodes'>): number[] {
  if (nodes === 'ad-hoc') return AD_HOC
  if (nodes === 'even') {
    const steps = degree + 1
    const ratio = (1 + EVEN_SHIFT) / EVEN_SHIFT
    return Array.from({ length: steps }, (_, k) => EVEN_SHIFT * ratio ** ((k + 1) / steps) - EVEN_SHIFT)
  }
  const [low, high] = [Math.log(SHIFT), Math.log(1 + SHIFT)]
  return Array.from({ length: degree + 1 }, (_, k) => {
    const t = 0.5 * (low + high) + 0.5 * (high - low) * Math.cos(((2 * k + 1) / (2 * (degree + 1))) * Math.PI)
    return Math.exp(t) - SHIFT
  })
}

/** Lagrange's polynomials of the nodes at a value: what interpolates κ(·, y) from its values at the nodes. */
export function lagrange(nodes: number[], x: number): number[] {
  const at = (value: number): number => Math.log(value + SHIFT)
  return nodes.map((node, i) =>
    nodes.reduce(
      (product, other, j) => (i === j ? product : (product * (at(x) - at(other))) / (at(node) - at(other))),
      1,
    ),
  )
}

/** φ(x), x above 0. */
export function mapOf(space: RowSpace): (x: number) => number[] {
  const { of } = findScalarKernel(space.kernel)
  // Models name their nodes and not the table: up to this degree the order is what it has always been.
  const nodes = space.degree > MOST_CHEBYSHEV_DEGREE ? byWorth(nodesOf(space), of) : nodesOf(space)
  const root = cholesky(nodes.map(x => nodes.map(y => of(x, y))))
  if (space.approximation === 'polynomial') {
    return x => {
      const basis = lagrange(nodes, x)
      return nodes.map((_, k) => basis.reduce((sum, value, i) => sum + root[i][k] * value, 0))
    }
  }
  return x => {
    const solved: number[] = []
    for (const [i, node] of nodes.entries()) {
      const rest = solved.reduce((left, value, k) => left - root[i][k] * value, of(node, x))
      solved.push(root[i][i] > 0 ? rest / root[i][i] : 0)
    }
    return solved
  }
}

/** The largest |κ(x, y) − φ(x)ᵀφ(y)| of x and y in (0, 1], by a grid; κ(1, 1) is 1. */
export function errorOf(space: RowSpace): number {
  const { of } = findScalarKernel(space.kernel)
  const grid = Array.from({ length: ERROR_GRID }, (_, k) => (k + 1) / ERROR_GRID)
  const vectors = grid.map(mapOf(space))
  let most = 0
  for (const [i, x] of grid.entries()) {
    for (let k = 0; k <= i; k++) {
      const product = vectors[i].reduce((sum, value, at) => sum + value * vectors[k][at], 0)
      most = Math.max(most, Math.abs(of(x, grid[k]) - product))
    }
  }
  return most
}

/** f64[bins + 1][width]: φ(k / bins), rounded as values in f32 are, so that rows that were expanded are the same; 0 for 0. */
export function tableOf(space: RowSpace): Float64Array {
  const { bins } = space
  const width = widthOf(space)
  const map = mapOf(space)
  const table = new Float64Array((bins + 1) * width)
  for (let bin = 1; bin <= bins; bin++) table.set(map(bin / bins).map(Math.fround), bin * width)
  // A byte has no number left for the last of 256 bins.
  if (bins === 256) table.copyWithin(256 * width, 255 * width, 256 * width)
  return table
}

/** The same for bins with a sign: bin k at 2k, and its negative behind it. */
export function signedTableOf(space: RowSpace): Float64Array {
  const width = widthOf(space)
  const plain = tableOf(space)
  const table = new Float64Array(2 * plain.length)
  for (let bin = 0; bin <= space.bins; bin++) {
    for (let k = 0; k < width; k++) {
      const value = plain[bin * width + k]
      table[2 * bin * width + k] = value
      table[(2 * bin + 1) * width + k] = -value
    }
  }
  return table
}

/** The nodes, each time the one that those before it tell least about. In another order the rounding of Cholesky's method
 *  grows with every node that its neighbours tell nearly all about. */
function byWorth(nodes: number[], of: ScalarKernel['of']): number[] {
  const left = nodes.map(node => of(node, node))
  const columns: number[][] = []
  const order: number[] = []
  while (order.length < nodes.length) {
    const rest = [...nodes.keys()].filter(k => !order.includes(k))
    const best = rest.reduce((a, b) => (left[b] > left[a] ? b : a))
    order.push(best)
    if (!(left[best] > 1e-10 * of(nodes[best], nodes[best]))) continue
    const pivot = Math.sqrt(left[best])
    const column = nodes.map(
      (node, i) => columns.reduce((sum, other) => sum - other[i] * other[best], of(node, nodes[best])) / pivot,
    )
    columns.push(column)
    for (const i of rest) left[i] -= column[i] ** 2
  }
  return order.map(k => nodes[k])
}

/** L of a positive matrix L Lᵀ. A pivot that is little more than rounding leaves a column of zeros: many nodes of
 *  a smooth kernel tell less than there are. */
function cholesky(matrix: number[][]): number[][] {
  const root = matrix.map(row => row.map(() => 0))
  for (let j = 0; j < matrix.length; j++) {
    const rest = (i: number): number => {
      let left = matrix[i][j]
      for (let k = 0; k < j; k++) left -= root[i][k] * root[j][k]
      return left
    }
    const pivot = rest(j)
    if (!(pivot > -1e-9 * matrix[j][j])) throw new SpillwayError('this kernel is not positive definite')
    if (pivot <= 1e-10 * matrix[j][j]) continue
    root[j][j] = Math.sqrt(pivot)
    for (let i = j + 1; i < matrix.length; i++) root[i][j] = rest(i) / root[j][j]
  }
  return root
}
