// Solver `newton`: second-order steps on the primal, for losses with a second derivative.
//
//   ∇²P(w) s = −∇P(w),   w ← w + t s
//
// The system is solved by conjugate gradients, preconditioned by its diagonal, as closely as it pays, with one pass over the
// rows for each product: Lin, Weng, Keerthi: Trust region Newton method for large-scale logistic regression (JMLR 9, 2008).
// Where features are few, the matrix is summed in the pass that sums the gradient, and the system is solved at once: a
// step is a pass. A step that does not lower the objective is shortened (descent.ts).
import type { OneProblem } from '../objectives/one-problem.ts'
import { VIEW_BYTES } from '../objectives/primal-view.ts'
import type { RowSource } from '../sources/row-source.ts'
import { DESCENT_BYTES, Descent, secondDerivative } from './descent.ts'
import type { BlockSolver, MemorySolver, SolverSettings, Start } from './solver.ts'

/** Up to so many weights the matrix is summed, unless rows are so long that products cost less: their squares count. */
const MATRIX_WEIGHTS = 1024
const MATRIX_NONZEROS = 64
/** Conjugate gradients end when their residual is so small a share of the gradient, or after so many steps. */
const FORCING = 0.1
const MOST_INNER = 500

/** Conjugate gradients under way. */
interface Inner {
  phase: 'slope' | 'product'
  inner: number
  /** rᵀz, now and at first. */
  residual: number
  firstResidual: number
}

const isFew = (weights: number): boolean => weights <= MATRIX_WEIGHTS

class NewtonRun extends Descent<Inner> {
  /** Address of the residual. */
  readonly #residual: number

  constructor(objective: OneProblem, source: RowSource, { space }: SolverSettings) {
    const { weightCount } = objective
    // Binned rows have no entries to multiply.
    const direct = isFew(weightCount) && source.nonzeros <= MATRIX_NONZEROS * source.rows && !space
    super(objective, source, { phase: 'slope', inner: 0, residual: 0, firstResidual: 0 }, direct)
    this.#residual = source.room('the residual', weightCount * 8)
  }

  protected override get pass() {
    return this.course.phase === 'product' ? 'product' : this.view.matrix ? 'matrix' : 'slope'
  }

  protected override findStep(): void {
    const { numeric } = this.objective.arena
    const { course, step, gradient } = this
    const { count, matrix, direction, diagonal } = this.view
    if (matrix) {
      numeric.combine(step, -1, gradient, 0, gradient, count)
      numeric.factorCholesky(matrix, count)
      numeric.solveCholesky(matrix, count, step)
      this.take()
      return
    }
    numeric.combine(step, 0, step, 0, step, count)
    numeric.combine(this.#residual, -1, gradient, 0, gradient, count)
    numeric.precondition(direction, this.#residual, diagonal, count)
    course.residual = numeric.innerProduct(this.#residual, direction, count)
    course.firstResidual = course.residual
    course.inner = 0
    course.phase = 'product'
  }

  /** The product of the matrix with a direction is known: a step of conjugate gradients. */
  protected override followProduct(): void {
    const { numeric } = this.objective.arena
    const { course, step } = this
    const { count, sum, direction, diagonal } = this.view
    numeric.combine(sum, 1, sum, 1, direction, count)
    const length = course.residual / numeric.innerProduct(direction, sum, count)
    numeric.combine(step, 1, step, length, direction, count)
    numeric.combine(this.#residual, 1, this.#residual, -length, sum, count)
    numeric.precondition(sum, this.#residual, diagonal, count)
    const next = numeric.innerProduct(this.#residual, sum, count)
    course.inner++
    if (next <= FORCING ** 2 * course.firstResidual || course.inner >= MOST_INNER) {
      course.phase = 'slope'
      this.take()
      return
    }
    numeric.combine(direction, 1, sum, next / course.residual, direction, count)
    course.residual = next
  }

  override stretches() {
    return [...super.stretches(), { at: this.#residual, bytes: this.view.count * 8 }]
  }
}

const traits = {
  name: 'newton',
  summary: 'second-order steps on the primal: few features, or features of very different size',
  dual: false,
  wideWeights: true,
  rowWeights: true,
  options: ['blockOrder', 'tolerance'],
  lossNeeds: secondDerivative,
  start: (objective: OneProblem, source: RowSource, settings: SolverSettings) =>
    new NewtonRun(objective, source, settings),
} satisfies Partial<MemorySolver> & { start: Start<OneProblem> }

/** The same where rows come in blocks. */
const newtonInBlocks: BlockSolver = {
  ...traits,
  data: 'blocks',
  cacheShare: 0,
  // The residual; a matrix, a piece's own, and a row's entries beside it.
  extra: {
    perWeight: weights => VIEW_BYTES + DESCENT_BYTES + 8 + (isFew(weights) ? weights * 16 + 20 : 0),
    perRow: 0,
  },
}

export const newton: MemorySolver = { ...traits, data: 'memory', inBlocks: newtonInBlocks }
