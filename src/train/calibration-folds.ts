// The models of folds that a calibration is fitted on, as far as memory is planned for them: who trains them, and what fitting
// takes for each row.
import { block } from '../optimise/solvers/block.ts'
import type { BlockSolver } from '../optimise/solvers/solver.ts'
import type { ByteCount } from '../sizes.ts'
import type { FoldsToPlan } from './plan-run.ts'

/** Folds whose scores a calibration is fitted on. */
export const CALIBRATION_FOLDS = 5

/** What is planned for them. The training before them leaves as much behind as reading text does: heaps of threads, and what its buffers
 *  took. 15 to 18 MB were measured under 176M. */
export const CALIBRATION: FoldsToPlan = {
  folds: CALIBRATION_FOLDS,
  costs: 1,
  besidesPerRow: bytesToFit,
  fromText: true,
}

/** Of all rows, in the heap: the class and the weight of each, whether it is positive, its score, and the scores in order, or those of
 *  a mean of 0. Rows with weights are sorted by an order. */
function bytesToFit(weighted: boolean): ByteCount {
  return 4 + 1 + 8 + 8 + (weighted ? 8 + 24 : 0)
}

/** Who trains them over blocks. Where there is an index, it serves these models, too. */
export function solverOfCalibration(asked: BlockSolver): BlockSolver {
  return asked.needsIndex ? asked : block
}
