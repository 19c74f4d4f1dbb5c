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
// The hinge has no second derivative. Where features are few, it is trained by interior points (interior.ts). So is the squared hinge
// from where such steps begin to end short: second derivatives jump at its kinks, and a step meets too many of them. Over ranks, and on
// rows that an index finds, its kink is rounded instead, less and less as the gap asks for it, and each smooth problem starts
// where the last one ended.
import type { Stretch } from '../../block-store/checkpoint.ts'
import { isSmooth, type Loss } from '../../losses/loss.ts'
import { formatCount } from '../../sizes.ts'
import type { LoopCall, RowCall } from '../../threads/loop-task.ts'
import type { Certificate } from '../objectives/certificate.ts'
import type { OneProblem } from '../objectives/one-problem.ts'
import {
  type Bracket,
  type Ground,
  type PrimalPass,
  type Slope,
  VIEW_BYTES,
  viewBytes,
} from '../objectives/primal-view.ts'
import { type RowGroup, reads } from '../sources/row-source.ts'
import { tooManyFeatures } from './compatibility.ts'
import { DESCENT_BYTES, Descent, type WholePasses } from './descent.ts'
import { startDescents } from './descents-run.ts'
import { InteriorPoints, MORE_BYTES, piecesBytes, roomForRows, STATE_BYTES } from './interior.ts'
import { anyDual, type BlockSolver, type MemorySolver, type SolverSettings, type Steps } from './solver.ts'

/** Up to so many weights the matrix is summed: at every step while rows are short, for their squares count; else when the last
 *  one has become a poor preconditioner, which so many products tell. */
const MATRIX_WEIGHTS = 1024
const MATRIX_NONZEROS = 256
const POOR = 20
/** Conjugate gradients end when their residual is so small a share of the gradient, or when a step lowers the parabola by less
 *  than this share of what steps have lowered it on average (Nash and Sofer 1990), or after so many steps. Where features
 *  differ much in size, the residual alone would ask for hundreds. */
const FORCING = 0.1
const WORTHWHILE = 0.5
const MOST_INNER = 500
/** Of the hinge: over how much of the margin its kink is rounded at first, and how much less the next time, once the smooth
 *  problem is solved to such a share of the gap. */
const FIRST_SMOOTHING = 2
const SHARPER = 0.25
const SOLVED = 0.1
/** A gap that falls by less from stage to stage is taken to fall by so much, as a logarithm. */
const LEAST_FALL = 0.2
/** A full step is good when it lowers the objective by at least so much of what a parabola would. */
const GOOD = 0.5
/** A line is looked at closer, up to so often, while derivatives at both ends of the bracket that is left are more than this share of
 *  the one at its beginning: kinks may lie between. */
const MOST_LOOKS = 4
const FLAT = 0.1
/** A step that ends short of a full one had a matrix that said too little: rows that did not count came to count on the way. So the
 *  next matrix is damped, by a share of the largest second derivatives that were met (Marquardt 1963). The share grows with every step
 *  that ends short, and falls with the others, the more the further they went. Below the least one there is none. */
const FIRST_DAMPING = 1e-5
const MOST_DAMPING = 1e-3
const LEAST_DAMPING = 1e-10
const MORE = 3
const LESS = 2
/** Shares of a full step: one that ends short, and one that goes far enough. */
const SHORT = 0.25
const FAR = 0.5
/** Of the squared hinge: after so many steps that a look told, interior points take over. */
const MOST_TOLD = 4
/** The matrix of interior points has nearly all rows. Where these are long, and many, it takes more than 5e8 products, and steps on the
 *  primal may still be quicker, though looks tell them: interior points wait for so many passes. 60,000 digits as published, ten
 *  classes, C = 1: 34 s and some 160 passes without them, 65 s and 52 with them from the fourth such step on. */
const LONG_ROWS = 64
const DEAR_PRODUCTS = 5e8
const PATIENT_PASSES = 300
/** What is under way besides. */
interface Inner {
  phase: 'slope' | 'product' | 'line'
  /** Whether the matrix that was factored last is to be replaced. */
  stale: boolean
  /** Whether the last full step was no good: the next line is looked at before a step is taken. */
  wary: boolean
  /** Whether a look along the line told the step. */
  told: boolean
  /** Steps that a look has told. */
  toldSteps: number
  /** Looks along the present line, and where the next one goes. */
  looks: number
  bracket: Bracket | null
  /** How much of the largest second derivatives the matrix is damped by, and what it was before the present step. */
  damping: number
  lastDamping: number
  /** Of conjugate gradients: steps so far, and rᵀz, now and at first. */
  inner: number
  residual: number
  firstResidual: number
  /** By how much they have lowered the parabola. */
  gained: number
  /** Of the hinge: how its kink is rounded at present, 0 for other losses; and whether that is new. */
  smoothing: number
  anew: boolean
  /** Relative gaps at which it was rounded less. */
  stageGaps: number[]
}

const START: Inner = {
  ...{
    phase: 'slope',
    stale: true,
    wary: false,
    told: false,
    toldSteps: 0,
    inner: 0,
    residual: 0,
    firstResidual: 0,
    gained: 0,
  },
  ...{ smoothing: 0, anew: false, stageGaps: [], looks: 0, bracket: null },
  ...{ damping: 0, lastDamping: 0 },
}

/** Whether the matrix of second derivatives is small. */
export const isFew = (weights: number): boolean => weights <= MATRIX_WEIGHTS

/** Features up to which a loss with a kink is trained: with the bias, they have a matrix. */
const mostFeatures = (loss: Loss): number => (isSmooth(loss) ? Number.POSITIVE_INFINITY : MATRIX_WEIGHTS - 1)

export class NewtonDescent extends Descent<Inner> {
  /** Address of the residual. */
  readonly #residual: number
  /** Address of the largest second derivatives that were met. */
  readonly #largest: number
  /** Whether the matrix is summed with every gradient. */
  readonly #always: boolean

  constructor(objective: OneProblem, source: Ground, { space }: SolverSettings, leastPieces = 0) {
    const { weightCount, isSmooth } = objective
    // Binned rows have no entries to multiply.
    const few = isFew(weightCount) && objective.primalLoops!.matrix && !space
    if (!few && !isSmooth) {
      const found = space ? 'there is a kernel' : `the data has ${formatCount(weightCount - 1)}`
      throw tooManyFeatures(traits, { name: 'hinge' }, MATRIX_WEIGHTS - 1, found)
    }
    const own = { ...START, smoothing: isSmooth ? 0 : FIRST_SMOOTHING, stageGaps: [] }
    super(objective, source, own, few, leastPieces)
    this.#always = source.all.nonzeros <= MATRIX_NONZEROS * source.all.rows
    this.#residual = source.room('the residual', weightCount * 8)
    this.#largest = few ? source.room('the largest second derivatives', weightCount * 8) : 0
    this.view.smoothing = this.course.smoothing
  }

  protected override get pass(): PrimalPass {
    if (this.course.phase !== 'slope') return this.course.phase
    return this.view.matrix && (this.#always || this.course.stale) ? 'matrix' : 'slope'
  }

  /** The matrix is factored where it was summed: of many models, by all threads. */
  override settling(): LoopCall[] {
    const { count, matrix, diagonal } = this.view
    if (this.pass !== 'matrix') return []
    return [{ loop: 'factorCholesky', numbers: [matrix, count, this.course.damping, diagonal, this.#largest] }]
  }

  /** A full step that does little is looked along. A step that a look told is the best that there is, up to rounding. */
  protected override isGood({ primal }: Slope): boolean {
    const { course } = this
    const { known, share, promise, told } = course
    if (known === null || course.anew) return true
    const isPoor = primal > known.primal + GOOD * share * (1 - 0.5 * share) * promise + this.rounding
    if (isPoor && !told && this.view.seesLines) return false
    if (!isPoor && !told) course.wary = false
    return primal <= known.primal + this.rounding
  }

  protected override refuse(): void {
    const { course } = this
    if (!course.told && this.view.seesLines) {
      course.wary = true
      this.#lookAlong()
      return
    }
    // Nobody looked along the line, or it was not straight between the steps that were looked at.
    this.try(0.5 * course.share)
  }

  protected override findStep(): void {
    const { numeric } = this.objective.arena
    const { course, step, gradient } = this
    const { count, matrix, direction } = this.view
    const factors = this.pass === 'matrix'
    course.anew = false
    if (this.#sharpen(course.known!)) return
    if (factors) {
      numeric.combine(step, -1, gradient, 0, gradient, count)
      numeric.solveCholesky(matrix, count, step)
      course.stale = false
      this.#go()
      return
    }
    numeric.combine(step, 0, step, 0, step, count)
    numeric.combine(this.#residual, -1, gradient, 0, gradient, count)
    this.#precondition(direction)
    course.residual = numeric.innerProduct(this.#residual, direction, count)
    course.firstResidual = course.residual
    course.inner = 0
    course.gained = 0
    course.phase = 'product'
  }

  /** Rounds the kink of the hinge less, once that is most of the gap; the objective is another one then, and is looked at anew. */
  #sharpen({ squaredGradient, certificate: { primal, dual } }: Slope): boolean {
    const { course, view } = this
    if (view.smoothing === 0 || squaredGradient > 2 * SOLVED * (primal - dual!)) return false
    course.smoothing *= SHARPER
    course.stageGaps.push((primal - dual!) / primal)
    course.anew = true
    course.wary = false
    view.smoothing = course.smoothing
    course.phase = 'slope'
    return true
  }

  /** The gap at the end of a stage is that of the rounding: it falls from one to the next as it has fallen, at first as the
   *  rounding does. */
  override steps(): Steps {
    const { smoothing, stageGaps } = this.course
    if (smoothing === 0) return super.steps()
    const stage = stageGaps.length + 1
    const [before, last] = stageGaps.slice(-2)
    if (before === undefined || this.target === 0) return { ...super.steps(), stage }
    const fall = Math.max(Math.log(before / (last ?? SHARPER * before)), LEAST_FALL)
    const left = Math.ceil(Math.log((last ?? before) / this.target) / fall)
    return { ...super.steps(), stage, stages: Math.max(stage, stage - 1 + left) }
  }

  /** The product of the matrix with a direction is known: a step of conjugate gradients. */
  protected override followProduct(): void {
    const { numeric } = this.objective.arena
    const { course, step } = this
    const { count, sum, direction } = this.view
    numeric.combine(sum, 1, sum, 1, direction, count)
    const length = course.residual / numeric.innerProduct(direction, sum, count)
    numeric.combine(step, 1, step, length, direction, count)
    numeric.combine(this.#residual, 1, this.#residual, -length, sum, count)
    this.#precondition(sum)
    const next = numeric.innerProduct(this.#residual, sum, count)
    course.inner++
    const gain = 0.5 * length * course.residual
    course.gained += gain
    const worthwhile = course.inner * gain > WORTHWHILE * course.gained
    if (!worthwhile || next <= FORCING ** 2 * course.firstResidual || course.inner >= MOST_INNER) {
      course.stale = course.inner > POOR
      this.#go()
      return
    }
    numeric.combine(direction, 1, sum, next / course.residual, direction, count)
    course.residual = next
  }

  /** The residual, as the matrix that was factored last or the diagonal makes it. */
  #precondition(to: number): void {
    const { numeric } = this.objective.arena
    const { count, diagonal, matrix } = this.view
    if (!matrix) {
      numeric.precondition(to, this.#residual, diagonal, count)
      return
    }
    this.copy(to, this.#residual)
    numeric.solveCholesky(matrix, count, to)
  }

  /** The whole step is tried, or the line looked at. */
  #go(): void {
    const { course } = this
    course.phase = 'slope'
    course.told = false
    course.lastDamping = course.damping
    this.#damp(1)
    this.take()
    if (course.wary && this.view.seesLines) this.#lookAlong()
  }

  /** How the next matrix is damped, after such a share of a step. */
  #damp(share: number): void {
    const { course } = this
    if (!this.view.matrix || !this.#always) return
    const { damping } = course
    if (share < SHORT) course.damping = Math.min(damping === 0 ? FIRST_DAMPING : damping * MORE, MOST_DAMPING)
    else if (share > FAR) course.damping = damping > LEAST_DAMPING ? damping / (LESS * Math.max(1, share) ** 2) : 0
  }

  /** The next pass looks along the step. */
  #lookAlong(): void {
    this.copy(this.view.point, this.objective.weights)
    this.copy(this.view.direction, this.step)
    this.course.phase = 'line'
    this.#look(null)
  }

  #look(bracket: Bracket | null): void {
    const { course } = this
    course.looks = bracket ? course.looks + 1 : 1
    course.bracket = bracket
    this.view.bracket = bracket
  }

  /** Whether looks have told steps again and again, or one that goes but a short way. */
  get meetsKinks(): boolean {
    const { told, share, toldSteps } = this.course
    return toldSteps >= MOST_TOLD || (told && share < SHORT)
  }

  /** Address of the room for what pieces of the rows sum. */
  get pieces(): number {
    return this.view.rooms.at
  }

  /** Goes where the objective is lowest along the step. */
  protected override followLine(): void {
    const { weights, arena } = this.objective
    const { course, step, view } = this
    const atPoint = arena.numeric.innerProduct(weights, step, view.count)
    const curvature = arena.numeric.innerProduct(step, step, view.count)
    const bracket = view.lowest(course.promise, atPoint, curvature)
    const { from, to, slopeFrom, slopeTo } = bracket
    const steepness = Math.min(-slopeFrom, slopeTo)
    if (steepness > -FLAT * course.promise && course.looks < MOST_LOOKS) {
      this.#look(bracket)
      return
    }
    course.told = true
    course.toldSteps++
    course.phase = 'slope'
    // Between two steps the derivative is taken for a straight line.
    this.try(slopeTo > slopeFrom ? from + ((to - from) * -slopeFrom) / (slopeTo - slopeFrom) : to)
    course.damping = course.lastDamping
    this.#damp(course.share)
    // A step that is nearly full needs no look the next time.
    if (course.share > 0.7 && course.share < 1.5) course.wary = false
  }

  override restore(state: unknown): void {
    super.restore(state)
    this.view.smoothing = this.course.smoothing
    this.view.bracket = this.course.bracket ?? null
  }

  override stretches() {
    const { count, matrix, lineRoom } = this.view
    const factored = matrix
      ? [
          { at: matrix, bytes: count ** 2 * 8 },
          { at: this.#largest, bytes: count * 8 },
        ]
      : []
    return [...super.stretches(), { at: this.#residual, bytes: count * 8 }, ...factored, lineRoom]
  }
}

/** The squared hinge: steps on the primal, and interior points from the weights where those begin to end short. Kinks are met at
 *  every step then, and a certificate by the gradient is far off the weights. */
class NewtonThenInterior implements WholePasses {
  readonly #objective: OneProblem
  readonly #source: Ground
  readonly #steps: NewtonDescent
  readonly #isSpare: boolean
  /** Passes so far, and those that come before interior points. */
  #passes = 0
  readonly #least: number
  #interior: InteriorPoints | undefined

  constructor(objective: OneProblem, source: Ground, settings: SolverSettings) {
    this.#objective = objective
    this.#source = source
    this.#isSpare = !settings.hasRoomForRows
    this.#least = isDearInside(source) ? PATIENT_PASSES : 0
    this.#steps = new NewtonDescent(objective, source, settings, piecesBytes(objective.weightCount, reads(source)))
  }

  get #now(): NewtonDescent | InteriorPoints {
    return this.#interior ?? this.#steps
  }

  /** Goes on by interior points, where there is room for them. */
  #goInside(): void {
    const rows = roomForRows(this.#source, this.#isSpare)
    if (rows === undefined) return
    const { certificate, pieces } = this.#steps
    this.#interior = new InteriorPoints(this.#objective, this.#source, { certificate: certificate!, pieces, rows })
  }

  calls(group: RowGroup): RowCall[] {
    return this.#now.calls(group)
  }

  met(): number {
    return this.#now.met()
  }

  closing(): LoopCall[] {
    return this.#now.closing()
  }

  shared() {
    return this.#now.shared()
  }

  settling(): LoopCall[] {
    return this.#now.settling()
  }

  endPass(target: number): void {
    this.#now.endPass(target)
    this.#passes++
    if (!this.#interior && this.#passes >= this.#least && this.#steps.meetsKinks) this.#goInside()
  }

  steps(): Steps {
    const before = this.#steps.steps()
    if (!this.#interior) return before
    const { outer, inner } = this.#interior.steps()
    return { outer: before.outer + outer, inner }
  }

  get certificate(): Certificate | undefined {
    return this.#now.certificate
  }

  state(): unknown {
    return { passes: this.#passes, steps: this.#steps.state(), interior: this.#interior?.state() }
  }

  restore(state: unknown): void {
    const { passes, steps, interior } = state as { passes: number; steps: unknown; interior?: unknown }
    this.#passes = passes
    this.#steps.restore(steps)
    if (interior === undefined) return
    this.#goInside()
    this.#interior!.restore(interior)
  }

  stretches(): Stretch[] {
    return this.#now.stretches()
  }
}

function isDearInside({ all: { rows, nonzeros } }: Ground): boolean {
  const length = nonzeros / Math.max(rows, 1)
  return length > LONG_ROWS && nonzeros * length > DEAR_PRODUCTS
}

/** Whether there may be interior points, so that every row has two numbers. Ranks have none. */
const hasInterior = (objective: OneProblem, { ranks, space }: SolverSettings): boolean =>
  isBox(objective) && (ranks?.size ?? 1) === 1 && !space && isFew(objective.weightCount)

/** Hinge or squared hinge, and each model for itself. */
const isBox = ({ primalLoops, sweepKind }: OneProblem): boolean => primalLoops!.matrix && !sweepKind.logistic

const start = startDescents((objective, source, settings) => {
  if (!hasInterior(objective, settings)) return new NewtonDescent(objective, source, settings)
  if (objective.isSmooth) return new NewtonThenInterior(objective, source, settings)
  return new InteriorPoints(objective, source)
})

const traits = {
  name: 'newton',
  summary: 'second-order steps on the primal: few features, or features of very different size',
  dual: false,
  wideWeights: true,
  leavesOut: true,
  rowWeights: true,
  options: ['blockOrder', 'tolerance'],
  lossNeeds: anyDual,
  mostFeatures,
  rowBytes: (loss: Loss, weights: number): number => (isSmooth(loss) || !isFew(weights) ? 0 : STATE_BYTES),
  spareRowBytes: (loss: Loss, weights: number): number =>
    loss.box && isSmooth(loss) && isFew(weights) ? STATE_BYTES : 0,
  ...start,
} satisfies Partial<MemorySolver>

/** The same where rows come in blocks. */
const newtonInBlocks: BlockSolver = {
  ...traits,
  data: 'blocks',
  overRanks: true,
  cacheShare: 0,
  extra: {
    // The matrix of all classes at once is never summed.
    perWeight: (weights, { together }) =>
      VIEW_BYTES + DESCENT_BYTES + 8 + (isFew(weights) && !together ? weights * 16 + 28 : 0),
    perRow: 0,
  },
}

export const newton: MemorySolver = {
  ...traits,
  ...{ data: 'memory', overRanks: true, inBlocks: newtonInBlocks },
  extraBytes: (weights, models = 1) =>
    viewBytes(weights, isFew(weights), models) +
    models * (DESCENT_BYTES + (isFew(weights) ? 16 + MORE_BYTES : 8)) * weights,
}
