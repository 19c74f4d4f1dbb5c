// Squared hinge loss (L2 loss): max(0, 1 − m)². Dual: α ≥ 0 without an upper bound, diagonal 1/(2C). Hsieh et al., ICML 2008.
import type { Loss } from './loss.ts'

export const squaredHinge: Loss = {
  name: 'squared-hinge',
  summary: 'max(0, 1 − m)², smoother than the hinge',
  liblinearSolver: 1,
  value: margin => Math.max(0, 1 - margin) ** 2,
  box: cost => ({ bound: Number.POSITIVE_INFINITY, diagonal: 1 / (2 * cost) }),
}
