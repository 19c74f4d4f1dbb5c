// Crammer and Singer's problem, all classes at once, with all rows in memory: what solver `dual` does under
// --multiclass crammer-singer, and LIBLINEAR under -s 4.
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
import type { CrammerSingerObjective } from '../objectives/crammer-singer.ts'
import type { RowSource } from '../sources/row-source.ts'
import type { Run, SolverSettings } from './solver.ts'
import { SweepingRun } from './sweeping-run.ts'

/** Nonzeros times pairs of classes between two looks at the abort signal: some tens of milliseconds. */
const SLICE = 8e6

export function startCrammerSinger(
  objective: CrammerSingerObjective,
  source: RowSource,
  settings: SolverSettings,
): Run {
  return new SweepingRun(source, objective, settings, {
    logistic: false,
    narrow: false,
    together: true,
    slice: Math.max(1, SLICE / objective.classes),
    activate: rows => objective.activateClasses(rows),
  })
}
