// Logistic loss: log(1 + e^−m). Dual: 0 < α < C with α log α + (C − α) log(C − α) added. Yu, Huang, Lin, Machine
// Learning 85 (2011).
import type { Loss } from './loss.ts'

export const logistic: Loss = {
  name: 'logistic',
  summary: 'log(1 + e^−m), logistic regression',
  liblinearSolver: 7,
  value: margin => (margin > 0 ? Math.log1p(Math.exp(-margin)) : Math.log1p(Math.exp(margin)) - margin),
  entropicDual: true,
  probability: true,
  allClasses: 'softmax',
}
