// The problem of Crammer and Singer in memory: rows, a dual variable for every row and class, and the weights of all
// classes, those of a feature together. The formulas are at the head of solvers/crammer-singer.ts.
import type { Arena } from '../numeric/arena.ts'
import {
  TOGETHER_ALPHA,
  TOGETHER_BIAS,
  TOGETHER_BIAS_WEIGHTS,
  TOGETHER_BYTES,
  TOGETHER_CLASSES,
  TOGETHER_COSTS,
  TOGETHER_PLACES,
  TOGETHER_ROWS,
  TOGETHER_SCRATCH,
  TOGETHER_SCRATCH_CLASS,
  TOGETHER_SHRUNK,
  TOGETHER_STRIDE,
  TOGETHER_WEIGHTS,
  TOGETHER_WORDS,
} from '../numeric/crammer-singer-layout.ts'
import type { RowSet } from './row-set.ts'

export interface CrammerSingerSettings {
  /** Class numbers of the rows, in the order of the model. */
  classes: number[]
  /** The cost of a row of each. */
  costs: number[]
  /** Value of the feature added to every row; 0 for none. */
  bias: number
}

/** Classes side by side are an even number, two to a vector. */
const even = (classes: number): number => classes + (classes & 1)

/** What the problem takes besides the rows. */
export function crammerSingerBytes(rows: number, weights: number, classes: number): { alpha: number; weights: number } {
  return { alpha: rows * (classes + Math.ceil(classes / 64)) * 8, weights: (weights + 1) * even(classes) * 8 }
}

export class CrammerSingerProblem {
  readonly arena: Arena
  readonly rows: RowSet
  readonly classes: number
  /** Address of the TOGETHER_ structure. */
  readonly at: number
  readonly alpha: number
  readonly weights: number
  readonly #shrunk: number
  readonly #words: number
  /** Numbers from one feature's weights to the next. */
  readonly #stride: number

  constructor(arena: Arena, rows: RowSet, { classes, costs, bias }: CrammerSingerSettings) {
    const K = classes.length
    const stride = even(K)
    const words = Math.ceil(K / 64)
    const count = Math.max(rows.rows, 1)
    this.arena = arena
    this.rows = rows
    this.classes = K
    this.#stride = stride
    this.#words = words
    this.weights = arena.allocateZeroed((rows.weights + 1) * stride * 8, `the weights of ${K} classes`)
    this.alpha = arena.allocateZeroed(count * K * 8, `the dual variables of ${rows.rows} rows and ${K} classes`)
    this.#shrunk = arena.allocateZeroed(count * words * 8, 'the classes in play')
    const places = arena.allocateZeroed(rows.labels.length * 4, 'the classes')
    classes.forEach((number, place) => arena.setU32(places + number * 4, place))
    const costsAt = arena.allocate(K * 8, 'the costs')
    arena.f64(costsAt, K).set(costs)
    this.at = arena.allocateZeroed(TOGETHER_BYTES, 'the problem')
    const u32 = (offset: number, value: number): void => arena.setU32(this.at + offset, value)
    u32(TOGETHER_ROWS, rows.table)
    u32(TOGETHER_CLASSES, K)
    u32(TOGETHER_STRIDE, stride * 8)
    u32(TOGETHER_WEIGHTS, this.weights)
    u32(TOGETHER_BIAS_WEIGHTS, this.weights + rows.weights * stride * 8)
    u32(TOGETHER_ALPHA, this.alpha)
    u32(TOGETHER_PLACES, places)
    u32(TOGETHER_COSTS, costsAt)
    u32(TOGETHER_SHRUNK, this.#shrunk)
    u32(TOGETHER_WORDS, words)
    u32(TOGETHER_SCRATCH, arena.allocate(stride * TOGETHER_SCRATCH_CLASS, 'scratch'))
    arena.setF64(this.at + TOGETHER_BIAS, bias)
  }

  /** Σ_k ‖w_k‖², the bias included. */
  squaredLength(): number {
    return this.arena.numeric.squaredLengthF64(this.weights, (this.rows.weights + 1) * this.#stride)
  }

  /** Every class is in play again for every row. */
  activateClasses(): void {
    this.arena.bytes(this.#shrunk, this.rows.rows * this.#words * 8).fill(0)
  }

  /** A copy of the weights, w[j·K + k], and of those of the bias. */
  copyWeights(): { weights: Float64Array<ArrayBuffer>; biasWeights: Float64Array<ArrayBuffer> } {
    const K = this.classes
    const all = this.arena.f64(this.weights, (this.rows.weights + 1) * this.#stride)
    const weights = new Float64Array(this.rows.weights * K)
    for (let j = 0; j < this.rows.weights; j++) {
      for (let k = 0; k < K; k++) weights[j * K + k] = all[j * this.#stride + k]
    }
    const last = this.rows.weights * this.#stride
    return { weights, biasWeights: new Float64Array(all.subarray(last, last + K)) }
  }
}
