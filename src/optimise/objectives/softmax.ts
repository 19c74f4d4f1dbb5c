// Multinomial logistic regression, all classes at once: --multiclass softmax. With s_ik = w_kᵀx_i and p_ik = e^s_ik / Σ_c e^s_ic:
//
//   min_w  P(w) = ½ Σ_k ‖w_k‖² + Σ_i C_i (log Σ_k e^s_ik − s_i,y_i)                        C_i = C · weight of class y_i
//
//   max_b  D(b) = −Σ_i Σ_k b_ik log(b_ik / C_i) − ½ Σ_k ‖Σ_i α_ik x_i‖²      b_ik ≥ 0,  Σ_k b_ik = C_i,
//                                                                           α_ik = C_i [k = y_i] − b_ik
//
// Nobody keeps dual variables: those of a gradient, b_ik = C_i p_ik, are feasible, and with them ∇_k P = w_k − Σ_i α_ik x_i. A
// row's loss is its entropy C_i (−Σ_k p_ik log p_ik) less Σ_k α_ik s_ik, so that P − D = ½‖∇P‖²: a gradient is a certificate.
// For a direction d with z_ik = d_kᵀx_i the second derivatives are
//
//   (∇²P d)_k = d_k + Σ_i C_i p_ik (z_ik − Σ_c p_ic z_ic) x_i             their diagonal: 1 + Σ_i C_i p_ik (1 − p_ik) x_ij²
//
// Σ_k ∇_k P = Σ_k w_k, so the weights of all classes sum to 0 at the optimum; of two classes, w_1 = −w_2. The loops are in
// numeric/assembly/softmax.ts.
import type { TogetherKind } from '../../losses/formulations.ts'
import type { Arena } from '../../numeric/arena.ts'
import { AllClassesObjective, type AllClassesSettings, type AllClassesSizes } from './all-classes.ts'
import { CrammerSingerObjective } from './crammer-singer.ts'

export class SoftmaxObjective extends AllClassesObjective {
  override readonly sweepKind = { logistic: true, narrow: false, together: true }
  override readonly primalLoops = { slope: 'slopeSoftmax', product: 'curvatureSoftmax', matrix: false } as const
  protected override readonly loops = { evaluate: 'evaluateSoftmax', along: 'alongSoftmax' } as const

  constructor(arena: Arena, sizes: AllClassesSizes, settings: AllClassesSettings) {
    // Scores, shares and steps.
    super(arena, sizes, settings, { dual: false, perClass: 3 })
  }
}

/** The objective of all classes, by what is minimised. */
const objectives = { 'crammer-singer': CrammerSingerObjective, softmax: SoftmaxObjective } satisfies Record<
  TogetherKind,
  unknown
>

export function newAllClasses(arena: Arena, sizes: AllClassesSizes, settings: AllClassesSettings): AllClassesObjective {
  return new objectives[settings.kind](arena, sizes, settings)
}
