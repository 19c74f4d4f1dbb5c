// Momentum for coordinate descent on the dual, with all rows in memory. Over blocks: block-momentum.ts.
//
// Before a sweep, all dual variables go a share further the way that the last sweep took them, as long as the dual objective does
// not fall (numeric/assembly/momentum.ts). Sweeps creep where rows have much in common: each moves the same way a little. The
// share grows with every sweep that it helps, as in Nesterov's methods, and shrinks when it does not. It costs a look at the
// weights and the dual variables, not at the rows. Runs of a few sweeps do without.
import type { Arena } from '../../numeric/arena.ts'
import type { BundleFields } from '../../numeric/fields/bundle.ts'
import type { SweepFields } from '../../numeric/fields/sweep.ts'
import type { Address, ByteCount } from '../../sizes.ts'
import type { Bundle, Lanes } from '../objectives/bundle.ts'
import type { OneProblem } from '../objectives/one-problem.ts'
import type { RowGroup, RowSource } from '../sources/row-source.ts'

/** Sweeps before the first that dual variables are carried on for. */
export const SWEEPS_BEFORE = 8
/** The share never exceeds this. */
const LARGEST_SHARE = 0.998

/** Where the dual variables and weights of before the last sweep are, and of how many rows and features. */
export interface Momentum {
  alpha: Address
  weights: Address
  rows: number
  weightCount: number
}

/** What carries dual variables on after so many sweeps; undefined where nothing does. */
export function momentumFor(
  objective: OneProblem,
  source: RowSource,
  { rows }: Pick<RowGroup, 'rows'>,
  sweeps: number,
): Momentum | undefined {
  const { narrow, together } = objective.sweepKind
  if (sweeps < SWEEPS_BEFORE || narrow || together) return undefined
  const { alphaStride, weightCount } = objective
  return inSpareRoom(source, { rows, weightCount }, { alpha: rows * alphaStride, weights: weightCount * 8 })
}

/** The same for the models of a bundle. */
export function momentumOfBundle(
  { alphaStride, lanes, weightCount }: Bundle,
  source: RowSource,
  { rows }: RowGroup,
  sweeps: number,
): Momentum | undefined {
  if (sweeps < SWEEPS_BEFORE) return undefined
  return inSpareRoom(source, { rows, weightCount }, { alpha: rows * alphaStride, weights: weightCount * lanes * 8 })
}

function inSpareRoom(
  source: RowSource,
  counts: Pick<Momentum, 'rows' | 'weightCount'>,
  bytes: { alpha: ByteCount; weights: ByteCount },
): Momentum | undefined {
  const alpha = source.spare?.('dual variables of before', bytes.alpha)
  const weights = alpha && source.spare?.('weights of before', bytes.weights)
  return weights ? { alpha, weights, ...counts } : undefined
}

/** Carries dual variables on before a sweep. */
export function carryOn(arena: Arena, problem: Address, fields: SweepFields, momentum: Momentum): void {
  const { rows, weightCount, alpha, weights } = momentum
  const { momentum: sweeps } = fields
  const isTaken = arena.numeric.carryOn(problem, rows, weightCount, alpha, weights, shareAfter(sweeps))
  fields.momentum = sweepsAfter(sweeps, isTaken)
}

/** The same for the models of a bundle: each has a share of its own, those that rest have none. */
export function carryBundleOn(arena: Arena, fields: BundleFields, lanes: Lanes, momentum: Momentum): void {
  const { rows, weightCount, alpha, weights } = momentum
  const { models, active, momentum: sweeps, shares } = fields
  for (let k = 0; k < models; k++) shares[k] = active & (1 << k) ? shareAfter(sweeps[k]) : 0
  const taken = arena.numeric[`carryOnBundle${lanes}`](fields.at, rows, weightCount, alpha, weights)
  for (let k = 0; k < models; k++) sweeps[k] = sweepsAfter(sweeps[k], (taken & (1 << k)) !== 0)
}

/** The first time nothing is known of before: a share of 0 remembers. */
export function shareAfter(sweeps: number): number {
  return Math.min(LARGEST_SHARE, sweeps / (sweeps + 3))
}

/** Sweeps that the next share goes by. */
export function sweepsAfter(sweeps: number, isTaken: boolean | number): number {
  return isTaken ? sweeps + 1 : Math.max(1, sweeps - 1)
}
