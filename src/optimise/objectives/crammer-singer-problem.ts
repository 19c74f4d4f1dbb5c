// The problem of Crammer and Singer in memory: rows, a dual variable for every row and class, and the weights of all
// classes, those of a feature together. The formulas are at the head of solvers/crammer-singer.ts.
import type { Arena } from '../../numeric/arena.ts'
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
} from '../../numeric/crammer-singer-layout.ts'
import type { RowSet } from '../../rows/row-set.ts'

export interface CrammerSingerSettings {
  /** Class numbers of the rows, in the order of the model. */
  classes: number[]
  /** The cost of a row of each. */
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

/** What all problems on the same classes share: tables of the classes, and scratch memory. */
export interface PlacedClasses {
  count: number
  bias: number
  places: number
  costs: number
  scratch: number
}

/** `numbers`: how many class numbers there are, those without rows among them. */
export function placeClasses(
  arena: Arena,
  { classes, costs, bias }: CrammerSingerSettings,
  numbers: number,
): PlacedClasses {
  const places = arena.allocateZeroed(numbers * 4, 'the classes')
  for (const [place, number] of classes.entries()) arena.setU32(places + number * 4, place)
  const costsAt = arena.allocate(costs.length * 8, 'the costs')
  arena.f64(costsAt, costs.length).set(costs)
  const scratch = arena.allocate(even(classes.length) * TOGETHER_SCRATCH_CLASS, 'scratch')
  return { count: classes.length, bias, places, costs: costsAt, scratch }
}

export interface TogetherPlaces extends PlacedClasses {
  table: number
  weights: number
  /** Features, the bias not counted: its weights stand behind theirs. */
  features: number
  alpha: number
  shrunk: number
}

/** Fills a TOGETHER_ structure. */
export function writeTogether(arena: Arena, at: number, of: TogetherPlaces): void {
  const u32 = (offset: number, value: number): void => arena.setU32(at + offset, value)
  const stride = even(of.count) * 8
  u32(TOGETHER_ROWS, of.table)
  u32(TOGETHER_CLASSES, of.count)
  u32(TOGETHER_STRIDE, stride)
  u32(TOGETHER_WEIGHTS, of.weights)
  u32(TOGETHER_BIAS_WEIGHTS, of.weights + of.features * stride)
  u32(TOGETHER_ALPHA, of.alpha)
  u32(TOGETHER_PLACES, of.places)
  u32(TOGETHER_COSTS, of.costs)
  u32(TOGETHER_SHRUNK, of.shrunk)
  u32(TOGETHER_WORDS, Math.ceil(of.count / 64))
  u32(TOGETHER_SCRATCH, of.scratch)
  arena.setF64(at + TOGETHER_BIAS, of.bias)
}

/** Weights of K classes out of those of an even number, the bias apart. */
export function withoutPadding(
  all: Float64Array,
  features: number,
  K: number,
): { weights: Float64Array<ArrayBuffer>; biasWeights: Float64Array<ArrayBuffer> } {
  const stride = even(K)
  const weights = new Float64Array(features * K)
  for (let j = 0; j < features; j++) {
    for (let k = 0; k < K; k++) weights[j * K + k] = all[j * stride + k]
  }
  return { weights, biasWeights: new Float64Array(all.subarray(features * stride, features * stride + K)) }
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

  constructor(arena: Arena, rows: RowSet, settings: CrammerSingerSettings) {
    const K = settings.classes.length
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
    this.at = arena.allocateZeroed(TOGETHER_BYTES, 'the problem')
    writeTogether(arena, this.at, {
      ...placeClasses(arena, settings, rows.labels.length),
      table: rows.table,
      weights: this.weights,
      features: rows.weights,
      alpha: this.alpha,
      shrunk: this.#shrunk,
    })
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
  copyWeights(): ReturnType<typeof withoutPadding> {
    const all = this.arena.f64(this.weights, (this.rows.weights + 1) * this.#stride)
    return withoutPadding(all, this.rows.weights, this.classes)
  }
}
