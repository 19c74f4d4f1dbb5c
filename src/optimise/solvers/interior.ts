// The hinge with few features, by solver `newton`: an interior point method. The squared hinge goes on by it where steps on the
// primal end short: it has a diagonal instead of the bound, and α s = μ is all there is.
//
//   min ½‖w‖² + Σ U_i ξ_i     s_i = y_i wᵀx_i − 1 + ξ_i,   s, ξ ≥ 0        dual: 0 ≤ α_i ≤ U_i,  β = U − α
//
// Newton's steps go towards α s = β ξ = μ for all rows, with μ ever smaller. Ferris, Munson: Interior-point methods for massive
// support vector machines (SIAM J. Optim. 13, 2003). A pass over the rows sums a matrix and the vectors of the step.
//
// Steps are bold at first: w goes the whole way, and rows that would leave their bounds are held back, each for itself. A step
// is one pass then. Where some of them lead nowhere, steps are careful from then on: another pass tells how far the rows let them
// go, for some μ, and all go the same share of the way. The further they let a step to μ = 0 go, the smaller is the μ that is
// taken: Mehrotra: On the implementation of a primal-dual interior point method (SIAM J. Optim. 2, 1992). Bold steps to a gap are
// some ten to thirty, careful ones some more, whatever the cost is. See numeric/assembly/interior.ts.
//
// α is feasible all the way, so that every pass with a matrix is a certificate. The
// largest dual objective so far is what counts, and the weights of the least primal one.
import type { Stretch } from '../../block-store/checkpoint.ts'
import { PROBLEM_BYTES, SUMS_BYTES } from '../../numeric/layouts.ts'
import { CACHE_LINE, roundUp } from '../../numeric/rounding.ts'
import type { LoopCall, RowCall } from '../../threads/loop-task.ts'
import { addPieces, addSums, type Certificate, noSums, piecesOf } from '../objectives/certificate.ts'
import type { OneProblem } from '../objectives/one-problem.ts'
import { type Ground, piecesWith } from '../objectives/primal-view.ts'
import { type RowGroup, reads } from '../sources/row-source.ts'
import type { WholePasses } from './descent.ts'
import type { Steps } from './solver.ts'

/** Of the mean of α s and β ξ: what steps may aim at. */
const AIMS = [0, 0.001, 0.01, 0.03, 0.1, 0.3, 0.7]
/** A step that could go so far for μ = 0 aims at (1 − share)³. */
const CENTRING = 3
/** How near to the end of its way a step goes. */
const NEARLY = 0.995
/** A bold step is made whole: rows that it would take out keep so much of what they have. It aims at such a share of the mean.
 *  After so many of them in a row that did not lower what is owed to such a share of the least so far, steps are careful ones. */
const KEPT = 0.2
const BOLD_AIM = 0.3
/** Of the squared hinge. α has no upper bound there, and what w lacks may stay large while α s gets small: rows are at their ends
 *  then, and stay there. So a step aims at the mean itself when the last one did not bring that down to such a share. */
const KEPT_SQUARED = 0.05
const FALLS = 0.1
const MOST_STRIKES = 8
const WORTHWHILE = 0.9
/** Steps aim at no less than such a share of the gap to reach, or of what rounding leaves of it. */
const BEYOND = 0.01
const BEYOND_SQUARED = 0.3
const ROUNDING = 1e-13
/** What holds the matrix' diagonal up against rounding, as a share of it. */
const HOLD = 1e-15
/** Bytes of each row: see numeric/assembly/interior.ts. */
export const STATE_BYTES = 16

interface Course {
  phase: 'sum' | 'reach'
  /** Where the last step aimed, what share of it was made, and whether there was one. */
  aim: number
  share: number
  moved: boolean
  /** The mean of α s and β ξ. */
  mean: number
  /** Bold steps in a row that led nowhere, and the least that was owed. */
  strikes: number
  least: number | null
  /** Half the square of what w lacked at the last step. */
  lacks: number | null
  steps: number
  /** Of the best weights so far; and the largest dual objective so far. */
  certificate: Certificate | null
  dual: number
}

const START: Course = {
  ...{ phase: 'sum', aim: 0, share: 0, moved: false, mean: 0, strikes: 0, least: null, lacks: null },
  ...{ steps: 0, certificate: null },
  dual: Number.NEGATIVE_INFINITY,
}

/** Bytes of what a piece of the rows sums: three vectors, a matrix, and room for the entries of a row. */
const strideOf = (weights: number): number => roundUp(weights * 24 + weights ** 2 * 8 + weights * 12 + 16, CACHE_LINE)

/** Bytes of the pieces of all rows. */
export function piecesBytes(weights: number, blocks: boolean): number {
  const stride = strideOf(weights)
  return (blocks ? 1 : piecesWith(stride)) * stride
}

/** Where another method has got to, that goes on by interior points: what it knew of the weights, its room for pieces, which is
 *  empty and has piecesBytes(), and room for rows. */
export interface Begun {
  certificate: Certificate
  pieces: number
  rows: number
}

/** Room for rows; undefined where a method can do without it, and there is none. */
export function roomForRows(source: Ground, isSpare: boolean): number | undefined {
  const [what, bytes] = ['interior points of rows', source.all.rows * STATE_BYTES] as const
  return isSpare && source.spare ? source.spare(what, bytes) : source.room(what, bytes)
}

/** Bytes of each weight besides those that second-order steps of other losses take, in any case fewer. */
export const MORE_BYTES = 64

export class InteriorPoints implements WholePasses {
  readonly #objective: OneProblem
  readonly #count: number
  readonly #rows: number
  /** Addresses: w, v = Σ α y x, the step to μ = 0 and what μ adds to it, the whole change of w, a matrix, states of rows. */
  readonly #point: number
  readonly #v: number
  readonly #affine: number
  readonly #centring: number
  readonly #moved: number
  readonly #matrix: number
  readonly #state: number
  readonly #diagonal: number
  readonly #problem: number
  readonly #sums: number
  /** What steps may aim at, then the shares that each piece finds. */
  readonly #reach: number
  readonly #stride: number
  readonly #pieces: number[]
  /** Products that are to be 0 at the optimum, of a row. */
  readonly #products: number
  #course: Course = { ...START }
  #totals = noSums(1)
  #target = 0
  #begun = false

  constructor(objective: OneProblem, source: Ground, begun?: Begun) {
    this.#objective = objective
    this.#products = objective.isSmooth ? 1 : 2
    // What is known of the weights stays true.
    if (begun) Object.assign(this.#course, { certificate: begun.certificate, dual: begun.certificate.dual })
    this.#count = objective.weightCount
    this.#rows = source.all.rows
    const vector = (what: string): number => source.room(what, this.#count * 8)
    this.#point = vector('a point')
    this.#v = vector('a gradient')
    this.#affine = vector('a direction')
    this.#centring = vector('the residual')
    this.#moved = vector('the step')
    this.#diagonal = vector('the diagonal of second derivatives')
    this.#matrix = source.room('second derivatives', this.#count ** 2 * 8)
    this.#state = begun?.rows ?? roomForRows(source, false)!
    // Zeros say that a row was not met yet; spare room may have been used before.
    objective.arena.bytes(this.#state, this.#rows * STATE_BYTES).fill(0)
    this.#stride = strideOf(this.#count)
    const blocks = reads(source)
    const pieces = blocks ? 1 : piecesWith(this.#stride)
    this.#problem = source.room('a problem', PROBLEM_BYTES)
    this.#sums = source.room('sums of a certificate', pieces * SUMS_BYTES)
    this.#reach = source.room('a reach', (pieces + 1) * AIMS.length * 8)
    const room = !blocks && source.passing ? source.passing : source.room.bind(source)
    const rooms = begun?.pieces ?? room('sums of rows', pieces * this.#stride)
    this.#pieces = Array.from({ length: pieces }, (_, k) => rooms + k * this.#stride)
  }

  calls(group: RowGroup): RowCall[] {
    const { arena } = this.#objective
    const { phase, mean } = this.#course
    if (!this.#begun) {
      if (!this.#course.moved) this.#copy(this.#point, this.#objective.weights)
      const reach = arena.f64(this.#reach, (this.#pieces.length + 1) * AIMS.length).fill(1 / NEARLY)
      reach.set(AIMS.map(aim => aim * mean))
      this.#totals = noSums(1)
      this.#begun = true
    }
    const problem = this.#objective.of({ ...group, problem: this.#problem }, this.#point)
    if (phase === 'sum') arena.bytes(this.#sums, this.#pieces.length * SUMS_BYTES).fill(0)
    let before = 0
    return group.parts.flatMap(({ rows, firstRow }) => {
      const start = before
      before += rows
      // The loops count rows from the first one of the group.
      const state = this.#state + (firstRow - start) * STATE_BYTES
      return piecesOf({ rows, whole: group.whole }, this.#pieces.length).map(({ piece, from, to }) => {
        const over = { problem, from: start + from, to: start + to }
        return phase === 'sum' ? this.#sum(over, state, piece) : this.#look(over, state, piece)
      })
    })
  }

  #sum(over: Omit<RowCall, 'loop' | 'numbers'>, state: number, piece: number): RowCall {
    const { aim, share, moved, strikes } = this.#course
    const at = this.#pieces[piece]
    const bytes = this.#count * 8
    const matrix = at + 3 * bytes
    const kept = this.#products === 1 ? KEPT_SQUARED : KEPT
    const keep = strikes < MOST_STRIKES ? kept : 0
    const numbers = [state, moved ? this.#moved : 0, share, keep, aim, at, at + bytes, at + 2 * bytes]
    const scratch = matrix + this.#count * bytes
    const sums = this.#sums + piece * SUMS_BYTES
    return { ...over, loop: 'interiorRows', numbers: [...numbers, matrix, this.#count, scratch, sums, this.#rows] }
  }

  #look(over: Omit<RowCall, 'loop' | 'numbers'>, state: number, piece: number): RowCall {
    const shares = this.#reach + (piece + 1) * AIMS.length * 8
    const numbers = [state, this.#affine, this.#centring, this.#reach, AIMS.length, shares]
    return { ...over, loop: 'reachRows', numbers }
  }

  met(): number {
    if (this.#course.phase === 'reach') return 0
    const sums = addPieces(this.#objective.arena, this.#sums, this.#pieces.length)
    addSums(this.#totals, [sums])
    // Where the point is new, the losses are not those of the weights.
    return this.#course.certificate === null ? sums[0] : 0
  }

  closing(): LoopCall[] {
    if (this.#course.phase === 'reach') return []
    const n = this.#count
    const gather = (to: number, offset: number, length: number): LoopCall => {
      const numbers = [to, this.#pieces[0] + offset, this.#pieces.length, this.#stride, length]
      return { loop: 'gatherPieces', numbers }
    }
    return [
      gather(this.#v, 0, n),
      gather(this.#affine, n * 8, n),
      gather(this.#centring, n * 16, n),
      gather(this.#matrix, n * 24, n ** 2),
      { loop: 'foldTriangles', numbers: [this.#matrix, n] },
    ]
  }

  /** One rank alone has interior points. */
  shared() {
    return { vectors: [], numbers: [] }
  }

  /** The matrix is factored, by the thread that takes this model. */
  settling(): LoopCall[] {
    if (this.#course.phase === 'reach') return []
    const n = this.#count
    const { arena } = this.#objective
    const matrix = arena.f64(this.#matrix, n ** 2)
    const diagonal = arena.f64(this.#diagonal, n)
    for (let j = 0; j < n; j++) diagonal[j] = matrix[j * (n + 1)]
    return [{ loop: 'factorCholesky', numbers: [this.#matrix, n, HOLD, this.#diagonal, this.#diagonal] }]
  }

  endPass(target: number): void {
    this.#begun = false
    this.#target = target
    if (this.#course.phase === 'reach') this.#move()
    else this.#findSteps()
  }

  /** All rows are where the step led: certificate, and vectors of the next step. */
  #findSteps(): void {
    const { numeric } = this.#objective.arena
    const n = this.#count
    const course = this.#course
    const [loss, linear, off, correct, support] = this.#totals[0]
    const primal = 0.5 * numeric.innerProduct(this.#point, this.#point, n) + loss
    course.dual = Math.max(course.dual, linear - 0.5 * numeric.innerProduct(this.#v, this.#v, n))
    const known = course.certificate
    if (known === null || primal < known.primal) {
      const trainingAccuracy = this.#rows > 0 ? correct / this.#rows : 1
      course.certificate = { primal, dual: 0, gap: 0, supportVectors: support, trainingAccuracy }
      this.#copy(this.#objective.weights, this.#point)
    }
    const best = course.certificate!.primal
    // Rounding must not put the dual above the primal.
    const dual = Math.min(best, course.dual)
    course.certificate = { ...course.certificate!, dual, gap: best > 0 ? (best - dual) / best : 0 }
    course.mean = off / (this.#products * Math.max(1, this.#rows))
    // v − w is what the dual variables lack.
    numeric.combine(this.#moved, 1, this.#v, -1, this.#point, n)
    const owed = off + 0.5 * numeric.innerProduct(this.#moved, this.#moved, n)
    numeric.combine(this.#affine, 1, this.#affine, 1, this.#moved, n)
    numeric.solveCholesky(this.#matrix, n, this.#affine)
    numeric.solveCholesky(this.#matrix, n, this.#centring)
    const isWorthwhile = course.least === null || owed < WORTHWHILE * course.least
    if (isWorthwhile) course.least = owed
    // Careful steps get there, so that they are kept to.
    if (course.strikes < MOST_STRIKES) course.strikes = isWorthwhile ? 0 : course.strikes + 1
    const lacks = owed - off
    const falls = this.#products === 2 || lacks < Math.max(off, FALLS * (course.lacks ?? Number.POSITIVE_INFINITY))
    course.lacks = lacks
    if (course.strikes < MOST_STRIKES) this.#go(falls ? BOLD_AIM : 1, 1)
    else course.phase = 'reach'
  }

  /** It is known how far the rows let steps go. */
  #move(): void {
    const { arena } = this.#objective
    const all = arena.f64(this.#reach, (this.#pieces.length + 1) * AIMS.length)
    const shares = AIMS.map((_, k) => Math.min(...this.#pieces.map((_, p) => all[(p + 1) * AIMS.length + k])))
    const wanted = (1 - Math.min(1, shares[0])) ** CENTRING
    const off = (aim: number): number => Math.abs(Math.log((aim + 1e-4) / (wanted + 1e-4)))
    const k = AIMS.reduce((best, aim, k) => (off(aim) < off(AIMS[best]) ? k : best), 0)
    this.#go(AIMS[k], NEARLY * shares[k])
  }

  #go(aim: number, share: number): void {
    const { numeric } = this.#objective.arena
    const course = this.#course
    course.share = Math.min(1, share)
    const least =
      ((this.#products === 1 ? BEYOND_SQUARED : BEYOND) *
        Math.max(this.#target, ROUNDING) *
        course.certificate!.primal) /
      (this.#products * Math.max(1, this.#rows))
    course.aim = Math.max(aim * course.mean, least)
    course.moved = true
    course.steps++
    course.phase = 'sum'
    numeric.combine(this.#moved, 1, this.#affine, course.aim, this.#centring, this.#count)
    // A matrix that rounding has spoilt gives no step.
    if (!Number.isFinite(numeric.innerProduct(this.#moved, this.#moved, this.#count))) {
      course.share = 0
      this.#clear(this.#moved)
    }
    numeric.combine(this.#point, 1, this.#point, course.share, this.#moved, this.#count)
  }

  steps(): Steps {
    return { outer: this.#course.steps, inner: this.#course.phase === 'reach' ? 1 : 0 }
  }

  get certificate(): Certificate | undefined {
    return this.#course.certificate ?? undefined
  }

  #clear(at: number): void {
    this.#objective.arena.bytes(at, this.#count * 8).fill(0)
  }

  #copy(to: number, from: number): void {
    const { arena } = this.#objective
    arena.bytes(to, this.#count * 8).set(arena.bytes(from, this.#count * 8))
  }

  state(): unknown {
    return { course: this.#course, sums: [...this.#totals[0]], begun: this.#begun }
  }

  restore(state: unknown): void {
    const { course, sums, begun } = structuredClone(state) as { course: Course; sums: number[]; begun: boolean }
    this.#course = { ...course, dual: course.dual ?? Number.NEGATIVE_INFINITY }
    this.#begun = begun
    this.#totals = [Float64Array.from(sums)]
  }

  stretches(): Stretch[] {
    const vectors = [this.#point, this.#v, this.#affine, this.#centring, this.#moved]
    return [
      ...vectors.map(at => ({ at, bytes: this.#count * 8 })),
      { at: this.#reach, bytes: (this.#pieces.length + 1) * AIMS.length * 8 },
      { at: this.#pieces[0], bytes: this.#pieces.length * this.#stride },
      { at: this.#state, bytes: this.#rows * STATE_BYTES },
    ]
  }
}
