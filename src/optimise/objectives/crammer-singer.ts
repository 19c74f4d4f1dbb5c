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
  TOGETHER_DAMPING,
  TOGETHER_SCRATCH,
  TOGETHER_SCRATCH_CLASS,
  TOGETHER_SHRUNK,
  TOGETHER_WORDS,
} from '../../numeric/crammer-singer-layout.ts'
import type { RowGroup } from '../sources/row-source.ts'
import { AllClassesObjective, type AllClassesSettings, type AllClassesSizes, even } from './all-classes.ts'

/** What dual variables and classes in play take besides the rows. */
export function crammerSingerBytes(rows: number, classes: number): number {
  return rows * (classes + Math.ceil(classes / 64)) * 8
}

export class CrammerSingerObjective extends AllClassesObjective {
  /** Scratch memory. */
  readonly #scratch: number
  /** Bits of the classes that are shrunk, for the rows of a group. */
  readonly #shrunk: number
  readonly #words: number
  override readonly sweepKind = { logistic: false, narrow: false, together: true }
  override readonly visitWork: number
  protected override readonly loops = {
    evaluate: 'evaluateTogether',
    along: 'alongTogether',
    addDual: 'addDualTogether',
  } as const

  constructor(arena: Arena, sizes: AllClassesSizes, settings: AllClassesSettings) {
    super(arena, sizes, settings, { dual: true, perClass: 1 })
    const K = this.classes
    this.visitWork = K / 2
    this.#words = Math.ceil(K / 64)
    this.#scratch = arena.allocate(even(K) * TOGETHER_SCRATCH_CLASS, 'scratch')
    this.#shrunk = arena.allocateZeroed(Math.max(sizes.groupRows, 1) * this.#words * 8, 'the classes in play')
  }

  protected override write(group: RowGroup, alpha: number, weights: number): void {
    // Rows that come in blocks are met afresh every time.
    if (!group.whole) this.wake(group.rows)
    super.write(group, alpha, weights)
    const u32 = (offset: number, value: number): void => this.arena.setU32(group.problem + offset, value)
    u32(TOGETHER_ALPHA, alpha)
    u32(TOGETHER_SHRUNK, this.#shrunk)
    u32(TOGETHER_WORDS, this.#words)
    u32(TOGETHER_SCRATCH, this.#scratch)
    this.arena.setF64(group.problem + TOGETHER_DAMPING, this.damping)
  }

  /** Every class is in play again for every row of a group. */
  override wake(rows: number): void {
    this.arena.bytes(this.#shrunk, rows * this.#words * 8).fill(0)
  }
}
