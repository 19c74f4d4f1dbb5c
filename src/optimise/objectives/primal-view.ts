// The primal side of one problem, for methods that look at all rows before they move: value, gradient and second
// derivatives at a point, by passes over the rows. A gradient is a certificate, too: see numeric/assembly/primal.ts.
import { SUMS_BYTES } from '../../numeric/layouts.ts'
import { type LoopName, loopTask } from '../../threads/loop-task.ts'
import type { RowGroup, RowSource } from '../sources/row-source.ts'
import { addSums, type Certificate, noSums, piecesOf, sumInPieces } from './certificate.ts'
import type { OneProblem } from './one-problem.ts'

/** What a pass sums: gradient and diagonal, those and the whole matrix of second derivatives, or its product with a vector. */
export type PrimalPass = 'slope' | 'matrix' | 'product'

/** What a pass over all rows at a point showed. */
export interface Slope {
  /** ½‖w‖² + Σ loss. */
  primal: number
  /** ‖∇P‖², of which half is the duality gap. */
  squaredGradient: number
  certificate: Certificate
}

/** Sums over rows in memory are made in pieces, whose number depends on the problem alone: the bits are the same for any number
 *  of threads. Each piece has vectors of its own, which are to take no more than so much. */
const MOST_PIECES = 8
const MOST_BYTES = 64 << 20

/** Bytes that a view takes for each weight where rows come in blocks: its four vectors, and a piece's sum and diagonal. The
 *  matrix is not counted. */
export const VIEW_BYTES = 6 * 8

export class PrimalView {
  readonly count: number
  /** Addresses: the point that passes look at, what they sum (v = Σ α y x, or a product), a diagonal, a direction. */
  readonly point: number
  readonly sum: number
  readonly diagonal: number
  readonly direction: number
  /** n × n, its lower triangle; 0 when nobody wants it. */
  readonly matrix: number
  readonly #objective: OneProblem
  readonly #source: RowSource
  readonly #pieces: { at: number; sums: number }[]
  readonly #sumsRoom: number
  readonly #stride: number
  #totals = noSums(1)

  constructor(objective: OneProblem, source: RowSource, withMatrix: boolean) {
    this.#objective = objective
    this.#source = source
    this.count = objective.weightCount
    const vector = (what: string): number => source.room(what, this.count * 8)
    this.point = vector('a point')
    this.sum = vector('a gradient')
    this.diagonal = vector('the diagonal of second derivatives')
    this.direction = vector('a direction')
    this.matrix = withMatrix ? source.room('second derivatives', this.count ** 2 * 8) : 0
    // Of a piece: a sum, a diagonal, a matrix, and room for the entries of a row.
    const ofMatrix = withMatrix ? this.count ** 2 * 8 + this.count * 12 + 8 : 0
    this.#stride = this.count * 16 + ofMatrix
    const blocks = source.blockBytes.some(bytes => bytes > 0)
    const pieces = blocks ? 1 : Math.max(1, Math.min(MOST_PIECES, Math.floor(MOST_BYTES / this.#stride)))
    this.#sumsRoom = source.room('sums of a certificate', pieces * SUMS_BYTES)
    const rooms = source.room('sums of rows', pieces * this.#stride)
    this.#pieces = Array.from({ length: pieces }, (_, k) => ({ at: rooms + k * this.#stride, sums: k }))
  }

  /** Before a pass: nothing is summed yet. */
  begin(): void {
    const { arena } = this.#objective
    arena.bytes(this.#pieces[0].at, this.#pieces.length * this.#stride).fill(0)
    this.#totals = noSums(1)
  }

  /** Adds the rows of a group. */
  async visit(group: RowGroup, pass: PrimalPass): Promise<void> {
    const { arena } = this.#objective
    const { threads } = this.#source
    const problem = this.#objective.of(group, this.point)
    const { slope, product } = this.#objective.primalLoops!
    const pieces = piecesOf(group, this.#pieces.length)
    const run = (loop: LoopName, numbers: number[]): Promise<void> =>
      threads.run(loopTask, { loop, numbers: [problem, ...numbers] })
    if (pass === 'product') {
      await Promise.all(
        pieces.map(({ piece, from, to }) => run(product, [from, to, this.direction, this.#pieces[piece].at])),
      )
      return
    }
    const sums = await sumInPieces(arena, this.#sumsRoom, pieces, ({ piece, from, to, sums: room }) => {
      const { at } = this.#pieces[piece]
      const matrix = pass === 'matrix' ? at + this.count * 16 : 0
      const scratch = at + this.count * 16 + this.count ** 2 * 8
      return run(slope, [from, to, at, at + this.count * 8, matrix, this.count, scratch, room])
    })
    addSums(this.#totals, [sums])
  }

  /** After a pass: what the pieces summed, in one. */
  end(pass: PrimalPass): void {
    const { numeric } = this.#objective.arena
    const gather = (to: number, offset: number, count: number): void => {
      for (const [k, { at }] of this.#pieces.entries()) numeric.combine(to, k === 0 ? 0 : 1, to, 1, at + offset, count)
    }
    gather(this.sum, 0, this.count)
    if (pass !== 'product') gather(this.diagonal, this.count * 8, this.count)
    if (pass === 'matrix') gather(this.matrix, this.count * 16, this.count ** 2)
  }

  /** After a pass for the gradient, which is put at an address. */
  slope(gradient: number): Slope {
    const { numeric } = this.#objective.arena
    const { count, point, sum } = this
    const [loss, dualPart, , correct, support] = this.#totals[0]
    const primal = 0.5 * numeric.innerProduct(point, point, count) + loss
    const dual = dualPart - 0.5 * numeric.innerProduct(sum, sum, count)
    numeric.combine(gradient, 1, point, -1, sum, count)
    const squaredGradient = numeric.innerProduct(gradient, gradient, count)
    const { rows } = this.#source
    const certificate: Certificate = {
      ...{ primal, dual, gap: primal > 0 ? Math.max(0, primal - dual) / primal : 0, supportVectors: support },
      trainingAccuracy: rows > 0 ? correct / rows : 1,
    }
    return { primal, squaredGradient, certificate }
  }

  get totals(): number[] {
    return [...this.#totals[0]]
  }

  set totals(values: number[]) {
    this.#totals = [Float64Array.from(values)]
  }

  /** Where a pass that is under way has its sums, for a checkpoint. */
  get rooms(): { at: number; bytes: number } {
    return { at: this.#pieces[0].at, bytes: this.#pieces.length * this.#stride }
  }
}
