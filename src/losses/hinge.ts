// Hinge loss (L1 loss): max(0, 1 − m). Dual: 0 ≤ α ≤ C, no diagonal. Hsieh et al., ICML 2008.
import type { Loss } from './loss.ts'

export const hinge: Loss = {
  name: 'hinge',
  summary: 'max(0, 1 − m), the support vector machine',
  liblinearSolver: 3,
  value: margin => Math.max(0, 1 - margin),
  box: cost => ({ bound: cost, diagonal: 0 }),
  allClasses: 'crammer-singer',
}
