// Ramp loss: min(max(0, 1 − m), 1 + s), the hinge truncated at the outlier margin s. A row of margin below −s is an outlier:
// it costs 1 + s wherever it is, and no weight depends on it. Yen, Chang, Lin, Lin, Lin, KDD 2013, formula (1).
import { hinge } from './hinge.ts'
import { type Loss, truncatedAt } from './loss.ts'

export const ramp: Loss = {
  name: 'ramp',
  summary: 'min(max(0, 1 − m), 1 + s), the hinge that gives outliers up',
  value: truncatedAt(hinge),
  truncates: { loss: hinge, limit: s => -s },
}
