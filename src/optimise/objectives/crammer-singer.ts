// The problem of Crammer and Singer: the weights of all classes, those of a feature together, and a dual variable for every
// row and class. The formulas are at the head of optimise/solvers/crammer-singer.ts.
import type { Arena } from '../../numeric/arena.ts'
import { TOGETHER_SCRATCH_CLASS } from '../../numeric/crammer-singer-layout.ts'
import { TogetherFields } from '../../numeric/fields/together.ts'
import type { ThreadPool } from '../../threads/pool.ts'
import type { RowGroup } from '../sources/row-source.ts'
import { PIECES, roomForSums, sumInPieces } from './certificate.ts'
import { addDualTogetherTask, evaluateTogetherTask } from './evaluate-together-task.ts'
import { type LossesAlong, lookInPieces, penaltyOf, roomForLook } from './line-search.ts'
import { lookAlongTask } from './look-along-task.ts'
import { allocatePlaces, copyAlpha, type Objective } from './objective.ts'

export interface CrammerSingerSettings {
  /** Class numbers of the rows, in the order of the model. */
  classes: number[]
  /** How many class numbers there are, those without rows among them. */
  numbers: number
  /** The cost of a row of each class. */
  costs: number[]
  /** Value of the feature added to every row; 0 for none. */
  bias: number
}

/** Classes side by side are an even number, two to a vector. */
export const even = (classes: number): number => classes + (classes & 1)

/** What the problem takes besides the rows. */
export function crammerSingerBytes(rows: number, weights: number, classes: number): { alpha: number; weights: number } {
  return { alpha: rows * (classes + Math.ceil(classes / 64)) * 8, weights: (weights + 1) * even(classes) * 8 }
}

export class CrammerSingerObjective implements Objective {
  readonly arena: Arena
  readonly models = 1
  readonly classes: number
  readonly weights: number
  readonly weightCount: number
  readonly weightBytes = 8
  readonly alpha: number
  readonly alphaStride: number
  readonly #features: number
  readonly #settings: CrammerSingerSettings
  /** Tables of the classes, and scratch memory. */
  readonly #places: number
  readonly #costs: number
  readonly #scratch: number
  /** Bits of the classes that are shrunk, for the rows of a group. */
  readonly #shrunk: number
  readonly #words: number
  readonly #sums: number
  readonly #look: number
  readonly looks = [{ look: 0, lane: 0 }]
  /** Room for scores of all classes, for each piece of a certificate. */
  readonly #scores: number

  /** `groupRows`: of a group, at most. */
  constructor(
    arena: Arena,
    { rows, weights, groupRows }: { rows: number; weights: number; groupRows: number },
    settings: CrammerSingerSettings,
  ) {
    const K = settings.classes.length
    this.arena = arena
    this.classes = K
    this.#settings = settings
    this.#features = weights
    this.#words = Math.ceil(K / 64)
    this.weightCount = (weights + 1) * even(K)
    this.alphaStride = K * 8
    ;({ weights: this.weights, alpha: this.alpha } = allocatePlaces(arena, {
      ...{ weights: this.weightCount, weightBytes: 8, rows, alphaStride: this.alphaStride },
    }))
    this.#places = arena.allocateZeroed(settings.numbers * 4, 'the classes')
    for (const [place, number] of settings.classes.entries()) arena.setU32(this.#places + number * 4, place)
    this.#costs = arena.allocate(K * 8, 'the costs')
    arena.f64(this.#costs, K).set(settings.costs)
    this.#scratch = arena.allocate(even(K) * TOGETHER_SCRATCH_CLASS, 'scratch')
    this.#shrunk = arena.allocateZeroed(Math.max(groupRows, 1) * this.#words * 8, 'the classes in play')
    this.#sums = roomForSums(arena)
    this.#look = roomForLook(arena)
    this.#scores = arena.allocate(PIECES * this.#scoreBytes, 'scores')
  }

  get #scoreBytes(): number {
    return (even(this.classes) + 2) * 8
  }

  /** Makes a group of rows a problem of its own; the address of its TOGETHER_ structure. */
  of(group: RowGroup): number {
    const { arena } = this
    copyAlpha(this, group, true)
    // Rows that come in blocks are met afresh every time.
    if (!group.whole) this.activateClasses(group.rows)
    const at = group.problem
    const fields = new TogetherFields(arena, at)
    const stride = even(this.classes) * 8
    fields.rows = group.table
    fields.classes = this.classes
    fields.stride = stride
    fields.weights = this.weights
    fields.biasWeights = this.weights + this.#features * stride
    fields.alpha = group.whole ? this.alpha : group.alpha
    fields.places = this.#places
    fields.costs = this.#costs
    fields.shrunk = this.#shrunk
    fields.words = this.#words
    fields.scratch = this.#scratch
    fields.rowWeights = group.rowWeights ?? 0
    fields.bias = this.#settings.bias
    return at
  }

  keep(group: RowGroup): void {
    copyAlpha(this, group, false)
  }

  /** Every class is in play again for every row of a group. */
  activateClasses(rows: number): void {
    this.arena.bytes(this.#shrunk, rows * this.#words * 8).fill(0)
  }

  async evaluate(threads: ThreadPool, group: RowGroup): Promise<Float64Array[]> {
    const problem = this.of(group)
    return [
      await sumInPieces(this.arena, this.#sums, group, ({ piece, from, to, sums }) =>
        threads.run(evaluateTogetherTask, { problem, from, to, scores: this.#scores + piece * this.#scoreBytes, sums }),
      ),
    ]
  }

  async lookAlong(threads: ThreadPool, group: RowGroup, looks: LossesAlong[]): Promise<void> {
    const problem = this.of(group)
    await lookInPieces(this.arena, this.#look, group, looks, ({ piece, from, to, along }) => {
      const scores = this.#scores + piece * this.#scoreBytes
      return threads.run(lookAlongTask, { problem, kind: 'together', from, to, along, scores })
    })
  }

  penalties(): ((t: number) => number)[] {
    return this.squaredLengths().map(penaltyOf)
  }

  async addDual(threads: ThreadPool, group: RowGroup): Promise<void> {
    await threads.run(addDualTogetherTask, { problem: this.of(group), rows: group.rows })
  }

  /** Σ_k ‖w_k‖², the bias included. */
  squaredLengths(): number[] {
    return [this.arena.numeric.squaredLengthF64(this.weights, this.weightCount)]
  }

  /** A copy of the weights, w[j·K + k], and of those of the bias, without what makes the classes even. */
  copyAll(): { weights: Float64Array; biasWeights: Float64Array } {
    const K = this.classes
    const stride = even(K)
    const all = this.arena.f64(this.weights, this.weightCount)
    const weights = new Float64Array(this.#features * K)
    for (let j = 0; j < this.#features; j++) {
      for (let k = 0; k < K; k++) weights[j * K + k] = all[j * stride + k]
    }
    const biasAt = this.#features * stride
    return { weights, biasWeights: new Float64Array(all.subarray(biasAt, biasAt + K)) }
  }
}
