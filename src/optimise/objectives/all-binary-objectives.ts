// The objective of one binary model, by what is added to its losses.
import type { Regularizer } from '../../losses/formulations.ts'
import { BinaryObjective } from './binary.ts'
import { L1Objective } from './l1.ts'

export const allBinaryObjectives: Record<Regularizer, typeof BinaryObjective> = { l2: BinaryObjective, l1: L1Objective }
