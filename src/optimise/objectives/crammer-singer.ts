// Crammer and Singer's problem, all classes at once: --multiclass crammer-singer, and LIBLINEAR's -s 4. The weights of a feature
// are together, and there is a dual variable for every row and class.
//
//   min_w  ½ Σ_k ‖w_k‖² + Σ_i C_i (max_k (w_kᵀx_i + [k ≠ y_i]) − w_{y_i}ᵀx_i)          C_i = C · weight of class y_i
//
//   max_α  Σ_i α_{i,y_i} − ½ Σ_k ‖Σ_i α_ik x_i‖²     α_ik ≤ C_i [k = y_i],  Σ_k α_ik = 0,      w_k = Σ_i α_ik x_i
//
// With b_ik = C_i [k = y_i] − α_ik, which is ≥ 0 and sums to C_i, and G_ik = w_kᵀx_i + [k ≠ y_i], what row i owes to the
// duality gap is C_i max_k G_ik − Σ_k b_ik G_ik, never below 0. It is summed as rows are met, so that the certificate is
// asked for when it is likely to hold. The certificate sums over all rows, in a pass of its own:
//
//   primal = ½ Σ_k ‖w_k‖² + Σ_i C_i (max_k G_ik − w_{y_i}ᵀx_i)
//   dual   = Σ_i α_{i,y_i} − (Σ_i Σ_k α_ik w_kᵀx_i − ½ Σ_k ‖w_k‖²)     which is the dual above where w is Σ α x
//
// Keerthi, Sundararajan, Chang, Hsieh, Lin: A sequential dual method for large scale multi-class linear SVMs (KDD 2008).
// A row is visited at a time, and its K variables are solved for exactly. The loops, and the rules by which classes of a
// row and whole rows are shrunk, are in numeric/assembly/crammer-singer.ts.
import type { Arena } from '../../numeric/arena.ts'
import {
  TOGETHER_ALPHA,
  TOGETHER_BIAS,
  TOGETHER_BIAS_WEIGHTS,
  TOGETHER_CLASSES,
  TOGETHER_COSTS,
  TOGETHER_PLACES,
  TOGETHER_ROW_WEIGHTS,
  TOGETHER_ROWS,
  TOGETHER_SCRATCH,
  TOGETHER_SCRATCH_CLASS,
  TOGETHER_SHRUNK,
  TOGETHER_STRIDE,
  TOGETHER_WEIGHTS,
  TOGETHER_WORDS,
} from '../../numeric/crammer-singer-layout.ts'
import type { RowGroup } from '../sources/row-source.ts'
import { PIECES } from './certificate.ts'
import { OneProblem } from './one-problem.ts'

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

export class CrammerSingerObjective extends OneProblem {
  readonly classes: number
  readonly #features: number
  readonly #settings: CrammerSingerSettings
  /** Tables of the classes, and scratch memory. */
  readonly #places: number
  readonly #costs: number
  readonly #scratch: number
  /** Bits of the classes that are shrunk, for the rows of a group. */
  readonly #shrunk: number
  readonly #words: number
  /** Room for scores of all classes, for each piece of a certificate. */
  readonly #scores: number
  readonly #scoreBytes: number
  override readonly sweepKind = { logistic: false, narrow: false, together: true }
  override readonly visitWork: number
  protected override readonly loops = {
    evaluate: 'evaluateTogether',
    along: 'alongTogether',
    addDual: 'addDualTogether',
  } as const

  /** `groupRows`: of a group, at most. */
  constructor(
    arena: Arena,
    { rows, weights, groupRows }: { rows: number; weights: number; groupRows: number },
    settings: CrammerSingerSettings,
  ) {
    const K = settings.classes.length
    super(arena, { rows, weightCount: (weights + 1) * even(K), weightBytes: 8, alphaStride: K * 8 })
    this.classes = K
    this.visitWork = K / 2
    this.#settings = settings
    this.#features = weights
    this.#words = Math.ceil(K / 64)
    this.#places = arena.allocateZeroed(settings.numbers * 4, 'the classes')
    for (const [place, number] of settings.classes.entries()) arena.setU32(this.#places + number * 4, place)
    this.#costs = arena.allocate(K * 8, 'the costs')
    arena.f64(this.#costs, K).set(settings.costs)
    this.#scratch = arena.allocate(even(K) * TOGETHER_SCRATCH_CLASS, 'scratch')
    this.#shrunk = arena.allocateZeroed(Math.max(groupRows, 1) * this.#words * 8, 'the classes in play')
    this.#scoreBytes = (even(K) + 2) * 8
    this.#scores = arena.allocate(PIECES * this.#scoreBytes, 'scores')
  }

  protected override roomsOf(piece: number): number[] {
    return [this.#scores + piece * this.#scoreBytes]
  }

  protected override write(group: RowGroup, alpha: number): void {
    // Rows that come in blocks are met afresh every time.
    if (!group.whole) this.wake(group.rows)
    const at = group.problem
    const u32 = (offset: number, value: number): void => this.arena.setU32(at + offset, value)
    const stride = even(this.classes) * 8
    u32(TOGETHER_ROWS, group.table)
    u32(TOGETHER_CLASSES, this.classes)
    u32(TOGETHER_STRIDE, stride)
    u32(TOGETHER_WEIGHTS, this.weights)
    u32(TOGETHER_BIAS_WEIGHTS, this.weights + this.#features * stride)
    u32(TOGETHER_ALPHA, alpha)
    u32(TOGETHER_PLACES, this.#places)
    u32(TOGETHER_COSTS, this.#costs)
    u32(TOGETHER_SHRUNK, this.#shrunk)
    u32(TOGETHER_WORDS, this.#words)
    u32(TOGETHER_SCRATCH, this.#scratch)
    u32(TOGETHER_ROW_WEIGHTS, group.rowWeights ?? 0)
    this.arena.setF64(at + TOGETHER_BIAS, this.#settings.bias)
  }

  /** Every class is in play again for every row of a group. */
  override wake(rows: number): void {
    this.arena.bytes(this.#shrunk, rows * this.#words * 8).fill(0)
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
