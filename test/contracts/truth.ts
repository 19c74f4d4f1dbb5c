// The problem that a solver solves, slowly and on plain arrays: what its certificates are held against.

import type { Regularizer } from '../../src/losses/formulations.ts'
import type { BinaryObjective } from '../../src/optimise/objectives/binary.ts'
import { allBinaryObjectives } from '../../src/optimise/objectives/l1.ts'
import { dualL1, type L1Task, objectiveL1, optimumL1, type SmoothLoss } from '../optimise/solvers/l1-reference.ts'
import { dualOf, optimumOf, type PlainTask, primalOf } from './small-problems.ts'

interface Truth {
  Objective: typeof BinaryObjective
  /** The smallest primal objective there is. */
  optimumOf(task: PlainTask): number
  primalOf(task: PlainTask, w: number[]): number
  /** `rest` is C − α where a loss keeps both. */
  dualOf(task: PlainTask, alpha: number[], rest: number[]): number
}

const l2: Truth = { Objective: allBinaryObjectives.l2, optimumOf, primalOf, dualOf }

const underL1 = ({ loss, ...task }: PlainTask): L1Task => ({ ...task, loss: loss.name as SmoothLoss })
const l1: Truth = {
  Objective: allBinaryObjectives.l1,
  optimumOf: task => objectiveL1(underL1(task), optimumL1(underL1(task))),
  primalOf: (task, w) => objectiveL1(underL1(task), w),
  dualOf: (task, alpha) => dualL1(underL1(task), alpha),
}

/** By regularizer. */
const truths = { l2, l1 }

export function truthFor(regularizer: Regularizer): Truth {
  return truths[regularizer]
}
