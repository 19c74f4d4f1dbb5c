// Solver `newton`: second-order steps on the primal, for losses with a second derivative.
//
//   ∇²P(w) s = −∇P(w),   w ← w + t s
//
// The system is solved by conjugate gradients, preconditioned by its diagonal, as closely as it pays, with one pass over the
// rows for each product: Lin, Weng, Keerthi: Trust region Newton method for large-scale logistic regression (JMLR 9, 2008).
// Where features are few, the matrix is summed in the pass that sums the gradient, and the system is solved at once: a
// step is a pass. A step that does not lower the objective is shortened.
import type { OneProblem } from '../objectives/one-problem.ts'
import { PrimalView, type Slope, VIEW_BYTES, viewBytes } from '../objectives/primal-view.ts'
import type { RowGroup, RowSource } from '../sources/row-source.ts'
import type { BlockSolver, MemorySolver, PassEnd, Run, Saved, SolverSettings, Start } from './solver.ts'

/** Up to so many weights the matrix is summed, unless rows are so long that products cost less: their squares count. */
const MATRIX_WEIGHTS = 1024
const MATRIX_NONZEROS = 64
/** Conjugate gradients end when their residual is so small a share of the gradient, or after so many steps. */
const FORCING = 0.1
const MOST_INNER = 500
/** A step is taken that lowers the objective by at least so much of what its slope promises. */
const ARMIJO = 1e-4
/** The objective is known to so many digits: a difference below them says nothing. */
const DIGITS = 1e-13

/** Where a run stands between two passes. */
interface Course {
  phase: 'slope' | 'product'
  /** At the weights: the objective, known since the first pass; and what a full step promises. */
  known: Slope | null
  promise: number
  step: number
  inner: number
  /** Of conjugate gradients: rᵀz, now and at first. */
  residual: number
  firstResidual: number
  sums: number[]
}

const isFew = (weights: number): boolean => weights <= MATRIX_WEIGHTS

class NewtonRun implements Run, Saved {
  readonly #objective: OneProblem
  readonly #view: PrimalView
  readonly #passes: { slope: 'slope' | 'matrix'; product: 'product' }
  /** Addresses: gradient at the weights, step, residual. */
  readonly #gradient: number
  readonly #step: number
  readonly #residual: number
  #course: Course = {
    ...{ phase: 'slope', known: null, promise: 0, step: 1, inner: 0, residual: 0, firstResidual: 0, sums: [] },
  }
  #begun = false
  readonly saved: Saved = this

  constructor(objective: OneProblem, source: RowSource, { space }: SolverSettings) {
    this.#objective = objective
    const { weightCount } = objective
    // Binned rows have no entries to multiply.
    const few = isFew(weightCount) && source.nonzeros <= MATRIX_NONZEROS * source.rows
    const direct = few && objective.primalLoops!.matrix && !space
    this.#passes = { slope: direct ? 'matrix' : 'slope', product: 'product' }
    this.#view = new PrimalView(objective, source, direct)
    const vector = (what: string): number => source.room(what, weightCount * 8)
    this.#gradient = vector('the gradient')
    this.#step = vector('the step')
    this.#residual = vector('the residual')
  }

  async visit(group: RowGroup) {
    if (!this.#begun) {
      if (this.#course.known === null) this.#copy(this.#view.point, this.#objective.weights)
      this.#view.begin()
      this.#begun = true
    }
    await this.#view.visit(group, this.#passes[this.#course.phase])
    return { losses: [0], gaps: [0] }
  }

  async endPass(target: number): Promise<PassEnd> {
    const pass = this.#passes[this.#course.phase]
    this.#view.end(pass)
    this.#begun = false
    if (pass === 'product') this.#follow()
    else this.#look()
    const { primal, certificate } = this.#course.known!
    const gap = certificate.gap! * primal
    return { primals: [primal], gaps: [gap], ready: gap <= target * primal }
  }

  certificates() {
    return this.#course.known ? [this.#course.known.certificate] : undefined
  }

  /** The gradient at the point is known. */
  #look(): void {
    const { numeric } = this.#objective.arena
    const course = this.#course
    const { count, point, direction } = this.#view
    // The gradient goes where no direction is any more.
    const seen = this.#view.slope(direction)
    if (course.known && seen.primal > course.known.primal + ARMIJO * course.step * course.promise + this.#rounding) {
      this.#shorten(seen)
      return
    }
    course.known = seen
    this.#copy(this.#objective.weights, point)
    this.#copy(this.#gradient, direction)
    if (this.#view.matrix) {
      numeric.combine(this.#step, -1, this.#gradient, 0, this.#gradient, count)
      numeric.factorCholesky(this.#view.matrix, count)
      numeric.solveCholesky(this.#view.matrix, count, this.#step)
      this.#take()
      return
    }
    numeric.combine(this.#step, 0, this.#step, 0, this.#step, count)
    numeric.combine(this.#residual, -1, this.#gradient, 0, this.#gradient, count)
    numeric.precondition(direction, this.#residual, this.#view.diagonal, count)
    course.residual = numeric.innerProduct(this.#residual, direction, count)
    course.firstResidual = course.residual
    course.inner = 0
    course.phase = 'product'
  }

  /** The product of the matrix with a direction is known: a step of conjugate gradients. */
  #follow(): void {
    const { numeric } = this.#objective.arena
    const course = this.#course
    const { count, sum, direction, diagonal } = this.#view
    numeric.combine(sum, 1, sum, 1, direction, count)
    const length = course.residual / numeric.innerProduct(direction, sum, count)
    numeric.combine(this.#step, 1, this.#step, length, direction, count)
    numeric.combine(this.#residual, 1, this.#residual, -length, sum, count)
    numeric.precondition(sum, this.#residual, diagonal, count)
    const next = numeric.innerProduct(this.#residual, sum, count)
    course.inner++
    if (next <= FORCING ** 2 * course.firstResidual || course.inner >= MOST_INNER) {
      this.#take()
      return
    }
    numeric.combine(direction, 1, sum, next / course.residual, direction, count)
    course.residual = next
  }

  /** The whole step is tried. */
  #take(): void {
    const { numeric } = this.#objective.arena
    this.#course.promise = numeric.innerProduct(this.#gradient, this.#step, this.#view.count)
    this.#try(1)
  }

  #try(step: number): void {
    const { arena, weights } = this.#objective
    this.#course.step = step
    this.#course.phase = 'slope'
    arena.numeric.combine(this.#view.point, 1, weights, step, this.#step, this.#view.count)
  }

  /** Takes the step to where the parabola through what is known is lowest. */
  #shorten({ primal }: Slope): void {
    const { step, promise, known } = this.#course
    const rise = primal - known!.primal - promise * step
    const lowest = (-promise * step * step) / (2 * rise)
    this.#try(Math.min(Math.max(lowest, 0.1 * step), 0.5 * step))
  }

  get #rounding(): number {
    return DIGITS * this.#course.known!.primal
  }

  #copy(to: number, from: number): void {
    const { arena } = this.#objective
    arena.bytes(to, this.#view.count * 8).set(arena.bytes(from, this.#view.count * 8))
  }

  state(): unknown {
    return { ...this.#course, sums: this.#view.totals, begun: this.#begun }
  }

  restore(state: unknown): void {
    const { begun, ...course } = structuredClone(state) as Course & { begun: boolean }
    this.#course = course
    this.#begun = begun
    this.#view.totals = course.sums
  }

  stretches() {
    const { count, point, direction, diagonal, rooms } = this.#view
    const vectors = [point, direction, diagonal, this.#gradient, this.#step, this.#residual]
    return [...vectors.map(at => ({ at, bytes: count * 8 })), rooms]
  }
}

function startNewton(objective: OneProblem, source: RowSource, settings: SolverSettings): Run {
  return new NewtonRun(objective, source, settings)
}

const traits = {
  name: 'newton',
  summary: 'second-order steps on the primal: few features, or features of very different size',
  dual: false,
  wideWeights: true,
  options: ['blockOrder', 'tolerance'],
  lossNeeds: {
    what: 'a second derivative (squared-hinge and logistic have one)',
    has: loss => loss.entropicDual === true || (loss.box?.(1).diagonal ?? 0) > 0,
  },
  start: startNewton,
  startAllClasses: startNewton,
} satisfies Partial<MemorySolver> & { start: Start<OneProblem> }

/** The same where rows come in blocks. */
const newtonInBlocks: BlockSolver = {
  ...traits,
  data: 'blocks',
  cacheShare: 0,
  extra: {
    // The matrix of all classes at once is never summed.
    perWeight: (weights, together) => VIEW_BYTES + 6 * 8 + (isFew(weights) && !together ? weights * 16 : 0),
    perRow: 0,
  },
}

export const newton: MemorySolver = {
  ...traits,
  ...{ data: 'memory', rowWeights: true, inBlocks: newtonInBlocks },
  extraBytes: weights => viewBytes(weights) + 3 * 8 * weights,
}
