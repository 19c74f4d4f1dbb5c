// The primal side of one problem, for methods that look at all rows before they move: value, gradient and second
// derivatives at a point, by passes over the rows. A gradient is a certificate, too: see numeric/assembly/primal.ts.
import { ProblemFields } from '../../numeric/fields/problem.ts'
import { PROBLEM_BYTES, SUMS_BYTES } from '../../numeric/layouts.ts'
import { CACHE_LINE, roundUp } from '../../numeric/rounding.ts'
import type { Vector } from '../../ranks/records.ts'
import type { Address, ByteCount } from '../../sizes.ts'
import type { LoopCall, RowCall } from '../../threads/loop-task.ts'
import { type RowGroup, type RowSource, reads } from '../sources/row-source.ts'
import { addPieces, addSums, type Certificate, noSums, piecesOf } from './certificate.ts'
import type { OneProblem } from './one-problem.ts'

/** What a pass sums: gradient and diagonal, those and the whole matrix of second derivatives, its product with a vector, or
 *  derivatives at steps along a vector. */
export type PrimalPass = 'slope' | 'matrix' | 'product' | 'line'

/** Steps at which a line is looked at first. */
const STEPS = [1, 2, 4, 8, 12, 16, 24, 32, 40, 48, 56, 64, 80, 96, 128, 256].map(part => part / 64)

/** A part of a line on which the objective is lowest somewhere, and its derivatives at the ends. */
export interface Bracket {
  from: number
  to: number
  slopeFrom: number
  slopeTo: number
}

/** What a pass over all rows at a point showed. */
export interface Slope {
  /** ½‖w‖² + Σ loss, the hinge with its kink rounded: what is minimised. */
  primal: number
  /** ‖∇P‖², of which half is the duality gap of that. */
  squaredGradient: number
  /** Of the loss as it is. */
  certificate: Certificate
}

/** Sums over rows in memory are made in pieces, whose number depends on the problem alone: the bits are the same for any number
 *  of threads. Each piece has vectors of its own, which are to take no more than so much. */
const MOST_PIECES = 8
const MOST_BYTES = 64 << 20

/** Bytes that a view takes for each weight where rows come in blocks: its four vectors, and a piece's sum and diagonal. The
 *  matrix is not counted. */
export const VIEW_BYTES = 6 * 8

export const piecesWith = (stride: number): number =>
  Math.max(1, Math.min(MOST_PIECES, Math.floor(MOST_BYTES / stride)))

/** Bytes that views of so many weights take where rows are in memory. */
export function viewBytes(weights: number, withMatrix: boolean, models = 1): number {
  const stride = pieceBytes(weights, withMatrix)
  const pieces = piecesWith(stride) * stride
  const own = weights * 4 * 8 + (withMatrix ? weights ** 2 * 8 : 0)
  return models * own + Math.min(models, viewsAtATime(pieces)) * pieces
}

/** Of many models over rows in memory: how many have room for their pieces at the same time, which take so many bytes each. */
export function viewsAtATime(bytes: ByteCount): number {
  return Math.max(1, Math.floor(MOST_BYTES / bytes))
}

/** Of a piece: a sum, a diagonal, a matrix, and room for the entries of a row. */
function pieceBytes(weights: number, withMatrix: boolean): number {
  return weights * 16 + (withMatrix ? weights ** 2 * 8 + weights * 12 + 16 : 0)
}

/** What a view has of a source. */
export interface Ground extends Pick<RowSource, 'all' | 'blockBytes'> {
  room(name: string, bytes: ByteCount): Address
  spare?(name: string, bytes: ByteCount): Address | undefined
  /** Room that is free for others between two visits. */
  passing?(name: string, bytes: ByteCount): Address
}

export class PrimalView {
  readonly count: number
  /** Address of the structure that the loops read. */
  readonly problem: number
  /** Addresses: the point that passes look at, what they sum (v = Σ α y x, or a product), a diagonal, a direction. */
  readonly point: number
  readonly sum: number
  readonly diagonal: number
  readonly direction: number
  /** n × n, its lower triangle; 0 when nobody wants it. */
  readonly matrix: number
  /** Of the hinge: over how much of the margin its kink is rounded. */
  smoothing = 0
  /** The part of a line that is looked at; the whole line when there is none. */
  bracket: Bracket | null = null
  readonly #objective: OneProblem
  readonly #rows: number
  /** Addresses of what each piece sums. */
  readonly #pieces: number[]
  readonly #sumsRoom: number
  readonly #stride: number
  /** Steps along a line, then the derivatives there of each piece. */
  readonly #line: number
  #totals = noSums(1)

  /** `least`: bytes that the pieces' room has at least, for a method that goes on with it. */
  constructor(objective: OneProblem, source: Ground, withMatrix: boolean, least = 0) {
    this.#objective = objective
    this.#rows = source.all.rows
    this.count = objective.weightCount
    const vector = (what: string): number => source.room(what, this.count * 8)
    this.point = vector('a point')
    this.sum = vector('a gradient')
    this.diagonal = vector('the diagonal of second derivatives')
    this.direction = vector('a direction')
    this.matrix = withMatrix ? source.room('second derivatives', this.count ** 2 * 8) : 0
    this.#stride = roundUp(pieceBytes(this.count, withMatrix), CACHE_LINE)
    const blocks = reads(source)
    const pieces = blocks ? 1 : piecesWith(this.#stride)
    this.problem = source.room('a problem', PROBLEM_BYTES)
    this.#sumsRoom = source.room('sums of a certificate', pieces * SUMS_BYTES)
    this.#line = source.room('a line', (pieces + 1) * STEPS.length * 8)
    // What rows in memory sum is taken at the end of their one visit.
    const room = !blocks && source.passing ? source.passing : source.room.bind(source)
    const rooms = room('sums of rows', Math.max(least, pieces * this.#stride))
    this.#pieces = Array.from({ length: pieces }, (_, k) => rooms + k * this.#stride)
  }

  /** Whether a pass can look along a line. */
  get seesLines(): boolean {
    return this.#objective.primalLoops!.line !== undefined
  }

  /** Before a pass: nothing is summed yet. Pieces are empty since the last one. */
  begin(): void {
    const { arena } = this.#objective
    arena
      .f64(this.#line, (this.#pieces.length + 1) * STEPS.length)
      .fill(0)
      .set(this.#steps())
    this.#totals = noSums(1)
  }

  /** What is to be called over the rows of a group. */
  calls(group: RowGroup, pass: PrimalPass): RowCall[] {
    const { arena, primalLoops } = this.#objective
    const problem = this.#objective.of({ ...group, problem: this.problem }, this.point)
    if (this.smoothing > 0) new ProblemFields(arena, problem).smoothing = this.smoothing
    const { slope, product, line } = primalLoops!
    if (pass === 'slope' || pass === 'matrix') arena.bytes(this.#sumsRoom, this.#pieces.length * SUMS_BYTES).fill(0)
    return piecesOf(group, this.#pieces.length).map(({ piece, from, to }) => {
      const at = this.#pieces[piece]
      const rooms = this.#objective.roomsOf(piece)
      const over = { problem, from, to }
      if (pass === 'line') {
        const slopes = this.#line + (piece + 1) * STEPS.length * 8
        return { ...over, loop: line!, numbers: [this.direction, this.#line, STEPS.length, slopes] }
      }
      if (pass === 'product') return { ...over, loop: product, numbers: [this.direction, at, ...rooms] }
      const matrix = pass === 'matrix' ? at + this.count * 16 : 0
      const scratch = at + this.count * 16 + this.count ** 2 * 8
      const sums = this.#sumsRoom + piece * SUMS_BYTES
      return { ...over, loop: slope, numbers: [at, at + this.count * 8, matrix, this.count, scratch, sums, ...rooms] }
    })
  }

  /** The calls have been made: losses of the rows at the point, where they are summed. */
  met(pass: PrimalPass): number {
    if (pass === 'line' || pass === 'product') return 0
    const sums = addPieces(this.#objective.arena, this.#sumsRoom, this.#pieces.length)
    addSums(this.#totals, [sums])
    return sums[0]
  }

  /** What is to be called after a pass: what the pieces summed is put into one, and they are empty again. */
  closing(pass: PrimalPass): LoopCall[] {
    const { count } = this
    const gather = (to: number, offset: number, length: number): LoopCall => {
      const numbers = [to, this.#pieces[0] + offset, this.#pieces.length, this.#stride, length]
      return { loop: 'gatherPieces', numbers }
    }
    if (pass === 'line') return []
    const sum = gather(this.sum, 0, count)
    if (pass === 'product') return [sum]
    const slope = [sum, gather(this.diagonal, count * 8, count)]
    if (pass === 'slope') return slope
    const fold: LoopCall = { loop: 'foldTriangles', numbers: [this.matrix, count] }
    return [...slope, gather(this.matrix, count * 16, count ** 2), fold]
  }

  /** What is to be summed over ranks once a pass is closed. */
  shared(pass: PrimalPass): { vectors: Vector[]; numbers: Float64Array[] } {
    const { count } = this
    if (pass === 'line') {
      const own = { at: this.#line + STEPS.length * 8, count: this.#pieces.length * STEPS.length }
      return { vectors: [own], numbers: [] }
    }
    const sum = { at: this.sum, count }
    if (pass === 'product') return { vectors: [sum], numbers: [] }
    const slope = { vectors: [sum, { at: this.diagonal, count }], numbers: this.#totals }
    if (pass === 'slope') return slope
    return { ...slope, vectors: [...slope.vectors, { at: this.matrix, count: count ** 2 }] }
  }

  /** After a pass for the gradient, which is put at an address. */
  slope(gradient: number): Slope {
    const { numeric } = this.#objective.arena
    const { count, point, sum } = this
    const [loss, dualPart, smoothLoss, correct, support] = this.#totals[0]
    const penalty = 0.5 * numeric.innerProduct(point, point, count)
    const primal = penalty + loss
    // Rounding must not put the dual above the primal.
    const dual = Math.min(primal, dualPart - 0.5 * numeric.innerProduct(sum, sum, count))
    numeric.combine(gradient, 1, point, -1, sum, count)
    const squaredGradient = numeric.innerProduct(gradient, gradient, count)
    const rows = this.#rows
    const certificate: Certificate = {
      ...{ primal, dual, gap: primal > 0 ? (primal - dual) / primal : 0, supportVectors: support },
      trainingAccuracy: rows > 0 ? correct / rows : 1,
    }
    return { primal: this.smoothing > 0 ? penalty + smoothLoss : primal, squaredGradient, certificate }
  }

  #steps(): number[] {
    const { bracket } = this
    if (!bracket) return STEPS
    return STEPS.map((_, k) => bracket.from + ((bracket.to - bracket.from) * (k + 1)) / STEPS.length)
  }

  /** After a pass along the direction: the bracket in which the objective is lowest. `at0` is the derivative of the whole
   *  objective at step 0, `atPoint` and `curvature` are the first and second one of its regulariser. Where it still falls at the
   *  last step, the bracket is that step alone. */
  lowest(at0: number, atPoint: number, curvature: number): Bracket {
    const all = this.#objective.arena.f64(this.#line, (this.#pieces.length + 1) * STEPS.length)
    let [from, slopeFrom] = this.bracket ? [this.bracket.from, this.bracket.slopeFrom] : [0, at0]
    for (const [k, to] of this.#steps().entries()) {
      let slopeTo = atPoint + to * curvature
      for (let p = 1; p <= this.#pieces.length; p++) slopeTo += all[p * STEPS.length + k]
      if (slopeTo >= 0) return { from, to, slopeFrom, slopeTo }
      ;[from, slopeFrom] = [to, slopeTo]
    }
    return { from, to: from, slopeFrom, slopeTo: slopeFrom }
  }

  get totals(): number[] {
    return [...this.#totals[0]]
  }

  set totals(values: number[]) {
    this.#totals = [Float64Array.from(values)]
  }

  /** Where a pass that is under way has its sums, for a checkpoint. */
  get rooms(): { at: number; bytes: number } {
    return { at: this.#pieces[0], bytes: this.#pieces.length * this.#stride }
  }

  get lineRoom(): { at: number; bytes: number } {
    return { at: this.#line, bytes: (this.#pieces.length + 1) * STEPS.length * 8 }
  }
}
