// Solver `dual`: dual coordinate descent with all rows in memory.
//
//   min_α  ½ αᵀ(Q + D)α − eᵀα,  0 ≤ α_i ≤ U_i     (hinge: U = C, D = 0; squared hinge: U = ∞, D = 1/(2C))
//   or, logistic:  min_α  ½ αᵀQα + Σ α_i log α_i + (C − α_i) log(C − α_i),  0 < α_i < C
//
// Hsieh, Chang, Lin, Keerthi, Sundararajan: A dual coordinate descent method for large-scale linear SVM (ICML 2008),
// Algorithm 3 with shrinking; Yu, Huang, Lin: Dual coordinate descent methods for logistic regression and maximum
// entropy models (Machine Learning 85, 2011), Algorithm 5. The loops are in numeric/assembly/dual.ts. The sum of what
// each row owes to the duality gap, P − D = Σ_i loss_i − dual part_i + α_i m_i, is kept as rows are met, so that the
// certificate is asked for when it is likely to hold.
import { BundleRun } from './bundle-run.ts'
import { startCrammerSinger } from './crammer-singer.ts'
import type { MemorySolver } from './solver.ts'
import { SweepingRun } from './sweeping-run.ts'

/** Nonzeros between two looks at the abort signal and the clock: some tens of milliseconds. */
const SLICE = 4e6

export const dual: MemorySolver = {
  name: 'dual',
  data: 'memory',
  dual: true,
  options: ['shrinking', 'tolerance'],
  rowWeights: true,
  summary: 'dual coordinate descent, all rows in memory',
  lossNeeds: {
    what: 'a dual (box or entropic)',
    has: loss => loss.box !== undefined || loss.entropicDual === true,
  },
  start: (objective, source, settings) => {
    const { logistic, narrow } = objective
    const { startEntropicF32, startEntropicF64 } = source.arena.numeric
    const begin = (problem: number, rows: number): void =>
      (narrow ? startEntropicF32 : startEntropicF64)(problem, 0, rows)
    return new SweepingRun(source, objective, settings, { logistic, narrow, slice: SLICE, ...(logistic && { begin }) })
  },
  startMany: (objective, source, settings) => new BundleRun(source, objective, settings),
  startAllClasses: startCrammerSinger,
}
