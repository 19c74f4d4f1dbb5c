// Solver `newton`: second-order steps on the primal, for losses with a second derivative.
//
//   ∇²P(w) s = −∇P(w),   w ← w + t s
//
// The system is solved by conjugate gradients, preconditioned by its diagonal, as closely as it pays, with one pass over the
// rows for each product: Lin, Weng, Keerthi: Trust region Newton method for large-scale logistic regression (JMLR 9, 2008).
// Where features are few, the matrix is summed in the pass that sums the gradient, and the system is solved at once: a
// step is a pass. Where rows are long, too, that is done now and then, and what was factored preconditions the steps between.
// Where a full step does little, a pass looks along it for the best one.
//
// The hinge has no second derivative. Where features are few, its kink is rounded, less and less as the gap asks for it, and
// each smooth problem starts where the last one ended.
import { UsageError } from '../../errors.ts'
import type { OneProblem } from '../objectives/one-problem.ts'
import { type PrimalPass, PrimalView, type Slope, VIEW_BYTES, viewBytes } from '../objectives/primal-view.ts'
import type { RowGroup, RowSource } from '../sources/row-source.ts'
import {
  anyDual,
  type BlockSolver,
  type MemorySolver,
  type PassEnd,
  type Run,
  type Saved,
  type SolverSettings,
  type Start,
} from './solver.ts'

/** Up to so many weights the matrix is summed: at every step while rows are short, for their squares count; else when the last
 *  one has become a poor preconditioner, which so many products tell. */
const MATRIX_WEIGHTS = 1024
const MATRIX_NONZEROS = 256
const POOR = 20
/** Conjugate gradients end when their residual is so small a share of the gradient, or after so many steps. */
const FORCING = 0.1
const MOST_INNER = 500
/** Of the hinge: over how much of the margin its kink is rounded at first, and how much less the next time, once the smooth
 *  problem is solved to such a share of the gap. */
const FIRST_SMOOTHING = 2
const SHARPER = 0.25
const SOLVED = 0.1
/** A full step is good when it lowers the objective by at least so much of what a parabola would. */
const GOOD = 0.5
/** The objective is known to so many digits: a difference below them says nothing. */
const DIGITS = 1e-13

/** Where a run stands between two passes. */
interface Course {
  phase: 'slope' | 'product' | 'line'
  /** Whether the last full step was no good: the next line is looked at before a step is taken. */
  wary: boolean
  /** Whether the matrix that was factored last is to be replaced. */
  stale: boolean
  /** At the weights: the objective, known since the first pass; and what a full step promises. */
  known: Slope | null
  promise: number
  step: number
  inner: number
  /** Whether a look along the line told the step. */
  told: boolean
  /** Of conjugate gradients: rᵀz, now and at first. */
  residual: number
  firstResidual: number
  sums: number[]
  /** Of the hinge: how its kink is rounded at present, 0 for other losses; and whether that is new. */
  smoothing: number
  anew: boolean
}

/** Whether the matrix of second derivatives is small. */
export const isFew = (weights: number): boolean => weights <= MATRIX_WEIGHTS

function tooManyFeatures(): UsageError {
  return new UsageError(
    `solver newton trains the hinge loss with up to ${MATRIX_WEIGHTS - 1} features, without a kernel`,
    'take --solver auto, or --loss squared-hinge or logistic',
  )
}

class NewtonRun implements Run, Saved {
  readonly #objective: OneProblem
  readonly #view: PrimalView
  /** Whether the matrix is summed with every gradient. */
  readonly #always: boolean
  /** Addresses: gradient at the weights, step, residual. */
  readonly #gradient: number
  readonly #step: number
  readonly #residual: number
  #course: Course = {
    ...{
      phase: 'slope',
      stale: true,
      wary: false,
      known: null,
      promise: 0,
      step: 1,
      inner: 0,
      told: false,
      residual: 0,
      firstResidual: 0,
      sums: [],
    },
    ...{ smoothing: 0, anew: false },
  }
  #begun = false
  readonly saved: Saved = this

  constructor(objective: OneProblem, source: RowSource, { space }: SolverSettings) {
    this.#objective = objective
    const { weightCount } = objective
    // Binned rows have no entries to multiply.
    const few = isFew(weightCount) && objective.primalLoops!.matrix && !space
    this.#always = source.nonzeros <= MATRIX_NONZEROS * source.rows
    if (!few && !objective.isSmooth) throw tooManyFeatures()
    this.#view = new PrimalView(objective, source, few)
    if (!objective.isSmooth) this.#course.smoothing = this.#view.smoothing = FIRST_SMOOTHING
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
    const loss = await this.#view.visit(group, this.#pass)
    // Where the point is new, the losses are not those of the weights.
    return { losses: [this.#course.known === null ? loss : 0], gaps: [0] }
  }

  get #pass(): PrimalPass {
    if (this.#course.phase !== 'slope') return this.#course.phase
    return this.#view.matrix && (this.#always || this.#course.stale) ? 'matrix' : 'slope'
  }

  async endPass(target: number): Promise<PassEnd> {
    const pass = this.#pass
    this.#view.end(pass)
    this.#begun = false
    if (pass === 'line') this.#walk()
    else if (pass === 'product') this.#follow()
    else this.#look(pass === 'matrix')
    const { primal, dual } = this.#course.known!.certificate
    const gap = primal - dual!
    return { primals: [primal], gaps: [gap], ready: gap <= target * primal }
  }

  certificates() {
    return this.#course.known ? [this.#course.known.certificate] : undefined
  }

  /** The gradient at the point is known, and perhaps the matrix. */
  #look(factor: boolean): void {
    const { numeric } = this.#objective.arena
    const course = this.#course
    const { count, point, direction } = this.#view
    // The gradient goes where no direction is any more.
    const seen = this.#view.slope(direction)
    if (course.anew) course.known = null
    const promised = GOOD * course.step * (1 - 0.5 * course.step) * course.promise
    const isPoor = course.known !== null && seen.primal > course.known.primal + promised + this.#rounding
    // A step that the line told is the best that there is, up to rounding.
    if (isPoor && !course.told && this.#view.seesLines) {
      course.wary = true
      this.#lookAlong()
      return
    }
    if (!isPoor && !course.told) course.wary = false
    if (course.known && seen.primal > course.known.primal + this.#rounding) {
      // Nobody looked along the line, or it was not straight between the steps that were looked at.
      this.#try(0.5 * course.step)
      return
    }
    course.known = seen
    course.anew = false
    this.#copy(this.#objective.weights, point)
    this.#copy(this.#gradient, direction)
    if (this.#sharpen(seen)) return
    if (factor) {
      numeric.combine(this.#step, -1, this.#gradient, 0, this.#gradient, count)
      numeric.factorCholesky(this.#view.matrix, count)
      numeric.solveCholesky(this.#view.matrix, count, this.#step)
      course.stale = false
      this.#take()
      return
    }
    numeric.combine(this.#step, 0, this.#step, 0, this.#step, count)
    numeric.combine(this.#residual, -1, this.#gradient, 0, this.#gradient, count)
    this.#precondition(direction)
    course.residual = numeric.innerProduct(this.#residual, direction, count)
    course.firstResidual = course.residual
    course.inner = 0
    course.phase = 'product'
  }

  /** Rounds the kink of the hinge less, once that is most of the gap; the objective is another one then, and is looked at anew. */
  #sharpen({ squaredGradient, certificate: { primal, dual } }: Slope): boolean {
    if (this.#view.smoothing === 0 || squaredGradient > 2 * SOLVED * (primal - dual!)) return false
    this.#course.smoothing *= SHARPER
    this.#course.anew = true
    this.#course.wary = false
    this.#view.smoothing = this.#course.smoothing
    this.#course.phase = 'slope'
    return true
  }

  /** The product of the matrix with a direction is known: a step of conjugate gradients. */
  #follow(): void {
    const { numeric } = this.#objective.arena
    const course = this.#course
    const { count, sum, direction } = this.#view
    numeric.combine(sum, 1, sum, 1, direction, count)
    const length = course.residual / numeric.innerProduct(direction, sum, count)
    numeric.combine(this.#step, 1, this.#step, length, direction, count)
    numeric.combine(this.#residual, 1, this.#residual, -length, sum, count)
    this.#precondition(sum)
    const next = numeric.innerProduct(this.#residual, sum, count)
    course.inner++
    if (next <= FORCING ** 2 * course.firstResidual || course.inner >= MOST_INNER) {
      course.stale = course.inner > POOR
      this.#take()
      return
    }
    numeric.combine(direction, 1, sum, next / course.residual, direction, count)
    course.residual = next
  }

  /** The residual, as the matrix that was factored last or the diagonal makes it. */
  #precondition(to: number): void {
    const { numeric } = this.#objective.arena
    const { count, diagonal, matrix } = this.#view
    if (!matrix) {
      numeric.precondition(to, this.#residual, diagonal, count)
      return
    }
    this.#copy(to, this.#residual)
    numeric.solveCholesky(matrix, count, to)
  }

  /** The whole step is tried. */
  #take(): void {
    const { numeric } = this.#objective.arena
    this.#course.promise = numeric.innerProduct(this.#gradient, this.#step, this.#view.count)
    this.#course.told = false
    if (this.#course.wary && this.#view.seesLines) this.#lookAlong()
    else this.#try(1)
  }

  /** The next pass looks along the step. */
  #lookAlong(): void {
    const { point, direction } = this.#view
    this.#copy(point, this.#objective.weights)
    this.#copy(direction, this.#step)
    this.#course.phase = 'line'
  }

  /** Goes where the objective is lowest along the step. */
  #walk(): void {
    const { weights, arena } = this.#objective
    const { count } = this.#view
    const atPoint = arena.numeric.innerProduct(weights, this.#step, count)
    const curvature = arena.numeric.innerProduct(this.#step, this.#step, count)
    this.#course.told = true
    this.#try(this.#view.lowest(this.#course.promise, atPoint, curvature))
    // A step that is nearly full needs no look the next time.
    if (this.#course.step > 0.7 && this.#course.step < 1.5) this.#course.wary = false
  }

  #try(step: number): void {
    const { arena, weights } = this.#objective
    this.#course.step = step
    this.#course.phase = 'slope'
    arena.numeric.combine(this.#view.point, 1, weights, step, this.#step, this.#view.count)
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
    this.#view.smoothing = course.smoothing
  }

  stretches() {
    const { count, point, direction, diagonal, matrix, rooms, lineRoom } = this.#view
    const vectors = [point, direction, diagonal, this.#gradient, this.#step, this.#residual]
    const factored = matrix ? [{ at: matrix, bytes: count ** 2 * 8 }] : []
    return [...vectors.map(at => ({ at, bytes: count * 8 })), ...factored, rooms, lineRoom]
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
  lossNeeds: anyDual,
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
  extraBytes: weights => viewBytes(weights, isFew(weights)) + 3 * 8 * weights,
}
