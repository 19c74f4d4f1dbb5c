// All classes in one problem: the weights of a feature for all classes stand together. What is minimised is said by the
// objectives that extend this one: crammer-singer.ts and softmax.ts.
import type { TogetherKind } from '../../losses/formulations.ts'
import type { Arena } from '../../numeric/arena.ts'
import {
  TOGETHER_BIAS,
  TOGETHER_BIAS_WEIGHTS,
  TOGETHER_CLASSES,
  TOGETHER_COSTS,
  TOGETHER_PLACES,
  TOGETHER_ROW_WEIGHTS,
  TOGETHER_ROWS,
  TOGETHER_STRIDE,
  TOGETHER_WEIGHTS,
} from '../../numeric/crammer-singer-layout.ts'
import type { RowGroup } from '../sources/row-source.ts'
import { PIECES } from './certificate.ts'
import { OneProblem } from './one-problem.ts'

export interface AllClassesSettings {
  /** What is minimised. */
  kind: TogetherKind
  /** Class numbers of the rows, in the order of the model. */
  classes: number[]
  /** How many class numbers there are, those without rows among them. */
  numbers: number
  /** The cost of a row of each class. */
  costs: number[]
  /** Value of the feature added to every row; 0 for none. */
  bias: number
}

export interface AllClassesSizes {
  rows: number
  /** The bias not counted. */
  weights: number
  /** Of a group, at most. */
  groupRows: number
}

/** Classes side by side are an even number, two to a vector. */
export const even = (classes: number): number => classes + (classes & 1)

/** How many weights there are in all, that of the bias among them. */
export const weightsTogether = (weights: number, classes: number): number => (weights + 1) * even(classes)

export abstract class AllClassesObjective extends OneProblem {
  readonly classes: number
  readonly #features: number
  readonly #bias: number
  /** Tables of the classes. */
  readonly #places: number
  readonly #costs: number
  /** Room for numbers of all classes, for each piece of the rows. */
  readonly #rooms: number
  readonly #roomBytes: number

  /** `dual`: whether there is a dual variable for every row and class. `perClass`: numbers of each class that loops over a
   *  piece of the rows need room for. */
  constructor(
    arena: Arena,
    { rows, weights, groupRows }: AllClassesSizes,
    settings: AllClassesSettings,
    { dual, perClass }: { dual: boolean; perClass: number },
  ) {
    const K = settings.classes.length
    const alphaStride = dual ? K * 8 : 0
    super(arena, { rows, weightCount: weightsTogether(weights, K), weightBytes: 8, alphaStride, dual })
    this.classes = K
    this.#features = weights
    this.#bias = settings.bias
    this.#places = arena.allocateZeroed(settings.numbers * 4, 'the classes')
    for (const [place, number] of settings.classes.entries()) arena.setU32(this.#places + number * 4, place)
    this.#costs = arena.allocate(K * 8, 'the costs')
    arena.f64(this.#costs, K).set(settings.costs)
    this.#roomBytes = (even(K) * perClass + 2) * 8
    // Rows that come in blocks are one piece.
    this.#rooms = arena.allocate((groupRows < rows ? 1 : PIECES) * this.#roomBytes, 'scores')
  }

  override roomsOf(piece: number): number[] {
    return [this.#rooms + piece * this.#roomBytes]
  }

  protected override write(group: RowGroup, _alpha: number, weights: number): void {
    const at = group.problem
    const u32 = (offset: number, value: number): void => this.arena.setU32(at + offset, value)
    const stride = even(this.classes) * 8
    u32(TOGETHER_ROWS, group.table)
    u32(TOGETHER_CLASSES, this.classes)
    u32(TOGETHER_STRIDE, stride)
    u32(TOGETHER_WEIGHTS, weights)
    u32(TOGETHER_BIAS_WEIGHTS, weights + this.#features * stride)
    u32(TOGETHER_PLACES, this.#places)
    u32(TOGETHER_COSTS, this.#costs)
    u32(TOGETHER_ROW_WEIGHTS, group.rowWeights ?? 0)
    this.arena.setF64(at + TOGETHER_BIAS, this.#bias)
  }

  /** Σ_k ‖w_k‖², the bias included. */
  override squaredLengths(): number[] {
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
