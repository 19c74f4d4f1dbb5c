// An objective that is one problem of the compiled loops: those that sum over its rows are called in pieces, by all threads.
import type { Arena } from '../../numeric/arena.ts'
import { SUMS_BYTES } from '../../numeric/layouts.ts'
import { type LoopName, runLoop, runLoops } from '../../threads/loop-task.ts'
import type { ThreadPool } from '../../threads/pool.ts'
import type { RowGroup } from '../sources/row-source.ts'
import { addPieces, piecesOf, roomForSums, sumInPieces } from './certificate.ts'
import { type LossesAlong, lookInPieces, roomForLook } from './line-search.ts'
import { allocatePlaces, type Objective } from './objective.ts'

export interface ProblemSizes {
  rows: number
  /** Weights in all, the bias among them. */
  weightCount: number
  weightBytes: number
  /** Bytes from one row's dual variables to the next; and whether there are any. */
  alphaStride: number
  dual?: boolean
}

/** Addresses of weights, of dual variables if there are any, and of rooms for sums and looks, where they are not the problem's own. */
export interface ProblemRooms {
  weights: number
  alpha?: number
  sums: number
  look: number
}

/** Which of the compiled sweeps run over a problem. */
export interface SweepKind {
  logistic: boolean
  narrow: boolean
  /** Whether the problem is Crammer and Singer's, all classes at once. */
  together?: boolean
}

/** A problem over a group of rows, as tasks see it: which loops run over it, and addresses. */
export interface ProblemAt extends SweepKind {
  /** Of the structure that the loops read. */
  problem: number
  group: Pick<RowGroup, 'rows' | 'table' | 'rowWeights' | 'order' | 'sweep' | 'alpha'> & {
    parts: { rows: number; firstRow: number }[]
  }
  weights: number
  weightCount: number
  /** Of all rows, and bytes from one to the next. */
  alpha: number
  alphaStride: number
}

export abstract class OneProblem implements Objective {
  readonly arena: Arena
  readonly models = 1
  readonly weights: number
  readonly weightCount: number
  readonly weightBytes: number
  /** Address of all dual variables, in the order of the source's rows; 0 for methods without. */
  readonly alpha: number
  readonly alphaStride: number
  readonly looks = [{ look: 0, lane: 0 }]
  /** Over ranks: how much further sweeps move w than their rows ask for. */
  damping = 1
  readonly #sums: number
  readonly #look: number

  constructor(arena: Arena, { dual = true, ...sizes }: ProblemSizes, at?: ProblemRooms) {
    this.arena = arena
    this.weightCount = sizes.weightCount
    this.weightBytes = sizes.weightBytes
    this.alphaStride = sizes.alphaStride
    const places = { ...sizes, alphaStride: dual ? sizes.alphaStride : 0 }
    ;({ weights: this.weights, alpha: this.alpha } = at
      ? { weights: at.weights, alpha: at.alpha ?? 0 }
      : allocatePlaces(arena, places, sizes.rows))
    this.#sums = at?.sums ?? roomForSums(arena)
    this.#look = at?.look ?? roomForLook(arena)
  }

  abstract readonly sweepKind: SweepKind
  /** How often a visit of a row does the work of one binary model. */
  readonly visitWork: number = 1
  /** The loops of this problem; `both`, where one does what `evaluate` and `along` do. */
  protected abstract get loops(): { evaluate: LoopName; along: LoopName; both?: LoopName; addDual?: LoopName }
  /** Rooms that the loops over a piece of the rows need besides. */
  roomsOf(_piece: number): number[] {
    return []
  }
  /** Of a problem with second derivatives: the loops over rows that sum its gradient, products with its second derivatives, and
   *  derivatives along a line. They take what slopeRows, curvatureRows and lineRows in numeric/assembly/primal.ts take, and then
   *  the rooms of the piece. `matrix`: whether the first can sum the whole matrix of second derivatives. */
  readonly primalLoops: { slope: LoopName; product: LoopName; line?: LoopName; matrix: boolean } | undefined
  /** Whether its losses have second derivatives as they are; else the loops round their kinks. */
  get isSmooth(): boolean {
    return true
  }
  /** Fills the structure that the loops read, for the rows of a group: dual variables and weights are at these addresses. */
  protected abstract write(group: RowGroup, alpha: number, weights: number): void
  /** ‖w‖² of each model, the bias included. */
  abstract squaredLengths(): number[]

  /** Brings back what was shrunk besides rows. */
  wake(_rows: number): void {}

  /** Makes a group of rows a problem of its own, whose weights may stand elsewhere; the address of its structure. */
  of(group: RowGroup, weights = this.weights): number {
    this.#copyAlpha(group, true)
    this.write(group, group.whole ? this.alpha : group.alpha, weights)
    return group.problem
  }

  /** The same for a task. */
  at(group: RowGroup): ProblemAt {
    const { weights, weightCount, alpha, alphaStride } = this
    return { ...this.sweepKind, problem: this.of(group), group, weights, weightCount, alpha, alphaStride }
  }

  /** Takes the dual variables of a group back from their copy. */
  keep(group: RowGroup): void {
    this.#copyAlpha(group, false)
  }

  /** Copies the dual variables of a group's rows beside them, or back. Those of all rows are used where they lie. */
  #copyAlpha(group: RowGroup, into: boolean): void {
    if (this.alpha === 0 || group.whole) return
    let at = group.alpha
    for (const { rows, firstRow } of group.parts) {
      const bytes = rows * this.alphaStride
      const place = this.arena.bytes(this.alpha + firstRow * this.alphaStride, bytes)
      const copy = this.arena.bytes(at, bytes)
      if (into) copy.set(place)
      else place.set(copy)
      at += bytes
    }
  }

  async evaluate(threads: ThreadPool, group: RowGroup, loop = this.loops.evaluate): Promise<Float64Array[]> {
    const problem = this.of(group)
    const sums = await sumInPieces(this.arena, this.#sums, piecesOf(group), ({ piece, from, to, sums }) =>
      runLoop(threads, loop, problem, from, to, ...this.roomsOf(piece), sums),
    )
    return [sums]
  }

  async lookAlong(threads: ThreadPool, group: RowGroup, looks: LossesAlong[], most: number): Promise<void> {
    const problem = this.of(group)
    const room = { arena: this.arena, room: this.#look, most }
    await lookInPieces(room, group, looks, ({ piece, from, to, along }) =>
      runLoop(threads, this.loops.along, problem, from, to, ...this.roomsOf(piece), along),
    )
  }

  async evaluateAlong(threads: ThreadPool, group: RowGroup, looks: LossesAlong[]): Promise<Float64Array[] | undefined> {
    const { both } = this.loops
    if (!both) return undefined
    const problem = this.of(group)
    const pieces = piecesOf(group)
    const room = { arena: this.arena, room: this.#look, most: group.rows }
    await lookInPieces(room, group, looks, ({ from, to, along }) => {
      // A piece of a look is some of those that are summed apart: one after the other they add to it.
      const own = pieces.filter(piece => piece.from >= from && piece.to <= to)
      const calls = own.map(({ piece, from, to }) => {
        return { loop: both, numbers: [problem, from, to, this.#sums + piece * SUMS_BYTES, along] }
      })
      return runLoops(threads, calls)
    })
    return [addPieces(this.arena, this.#sums, pieces.length)]
  }

  async addDual(threads: ThreadPool, group: RowGroup): Promise<void> {
    await runLoop(threads, this.loops.addDual!, this.of(group), 0, group.rows, this.alphaStride)
  }
}
