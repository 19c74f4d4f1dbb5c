// What the tests of solver `stream` have in common: memories in which it keeps about a given share of the rows, the optimum of
// the memory, and whether a certificate is honest.
import assert from 'node:assert/strict'
import { openStore } from '../../src/block-store/reader.ts'
import { findSolver } from '../../src/optimise/solvers/all-solvers.ts'
import type { BlockSolver } from '../../src/optimise/solvers/solver.ts'
import { resolveOptions, type TrainOptions } from '../../src/train/options.ts'
import { planFor } from '../../src/train/plan-for-blocks.ts'
import { train } from '../../src/train/train.ts'
import type { TrainResult } from '../../src/train/training-run.ts'
import type { Row } from '../data-sets/rows.ts'
import type { LossName } from '../train/liblinear.ts'
import { objectiveOfFile } from './model-objective.ts'

/** The least memory whose cache is such a share of the bytes of all records. */
export async function memoryForShare(store: string, share: number, options: TrainOptions = {}): Promise<number> {
  const opened = await openStore(store)
  const solver = findSolver('stream') as BlockSolver
  const enough = async (memory: number): Promise<boolean> => {
    try {
      const plan = await planFor(opened, solver, resolveOptions({ ...options, memory }))
      return plan.cacheBytes >= share * plan.costs.reduce((sum, cost) => sum + cost.bytes, 0)
    } catch {
      return false
    }
  }
  let [low, high] = [64 << 20, 2 ** 31]
  while (high - low > 1 << 12) {
    const middle = Math.floor((low + high) / 2)
    if (await enough(middle)) high = middle
    else low = middle
  }
  return high
}

export const BLOCKS = 40
export const losses: LossName[] = ['hinge', 'squared-hinge', 'logistic']
/** Of the bytes of all records: memory for few rows, for some, and for all of them. */
export const shares: [number, string][] = [
  [0.05, '5 %'],
  [0.2, '20 %'],
  [1.25, 'all'],
]

export interface Reference {
  primal: number
  dual: number
}

const references = new Map<string, Promise<Reference>>()
/** The optimum, by `dual` with all rows in memory, to a gap below the one that is asked of stream. */
export function inMemory(data: string, options: TrainOptions): Promise<Reference> {
  const key = JSON.stringify([data, options])
  const found = references.get(key)
  if (found) return found
  const made = train(data, { tolerance: 2e-7, maxPasses: 20_000, ...options, solver: 'dual' }).result.then(result => ({
    primal: result.primal!,
    dual: result.dual!,
  }))
  references.set(key, made)
  return made
}

/** What the evaluator says is what the certificate says. Blocks that are left out may owe a thousandth of the tolerance,
 *  which the certificate counts as if they did. */
export async function assertHonest(
  folder: string,
  result: TrainResult,
  rows: Row[],
  options: TrainOptions,
  best: Reference,
  exact = 1e-9,
): Promise<void> {
  const { primal, dual, gap } = result as { primal: number; dual: number; gap: number }
  const mine = await objectiveOfFile(folder, result, rows, options)
  const unread = 1e-3 * (options.tolerance ?? 1e-3)
  assert.ok(primal >= mine * (1 - exact), `${primal} is less than the objective, ${mine}`)
  assert.ok(primal <= mine * (1 + Math.max(exact, unread)), `${primal} is more than the objective, ${mine}`)
  assert.ok(Math.abs(gap - (primal - dual) / primal) <= 1e-12, `gap ${gap}`)
  // No dual value is above any primal one.
  assert.ok(dual <= best.primal * (1 + exact), `dual ${dual} is above the primal ${best.primal} of the memory`)
  assert.ok(primal >= best.dual * (1 - exact), `primal ${primal} is below the dual ${best.dual} of the memory`)
}

export const said = (result: TrainResult): string =>
  `gap ${result.gap?.toExponential(1)} after ${result.passes} passes, ${result.blocks?.read} blocks read`
