// Truncated squared hinge loss: min(max(0, 1 − m)², 1 + s). A row of margin below 1 − √(1 + s) is an outlier: it costs 1 + s
// wherever it is, and no weight depends on it. Yen, Chang, Lin, Lin, Lin, KDD 2013, formula (1).
import { type Loss, truncatedAt } from './loss.ts'
import { squaredHinge } from './squared-hinge.ts'

export const truncatedSquaredHinge: Loss = {
  name: 'truncated-squared-hinge',
  summary: 'min(max(0, 1 − m)², 1 + s), the squared hinge that gives outliers up',
  value: truncatedAt(squaredHinge),
  truncates: { loss: squaredHinge, limit: s => 1 - Math.sqrt(1 + s) },
}
