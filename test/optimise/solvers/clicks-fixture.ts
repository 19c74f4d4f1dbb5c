// Rows like clicks, and solver `dual` on them with whatever settings a test wants.
import assert from 'node:assert/strict'
import { findLoss } from '../../../src/losses/all-losses.ts'
import { Arena } from '../../../src/numeric/arena.ts'
import type { DriverSettings } from '../../../src/optimise/driver/driving.ts'
import { BinaryObjective } from '../../../src/optimise/objectives/binary.ts'
import { findSolver } from '../../../src/optimise/solvers/all-solvers.ts'
import { loadRows } from '../../../src/rows/load-rows.ts'
import { ThreadPool } from '../../../src/threads/pool.ts'
import { driven } from '../../contracts/driving.ts'
import { settings as readSettings, testFolder } from '../../input-formats/fixture.ts'
import { bitsOf, randomNumbers } from '../../numeric/reference.ts'

const folder = testFolder()
const ROWS = 3000

/** Clicks: a few frequent features and many rare ones, all values 1, labels that no weights explain. Sorted by label, if asked. */
function clicks(sorted: boolean): string {
  const random = randomNumbers(11)
  const lines = Array.from({ length: ROWS }, () => {
    const features = new Set<number>()
    for (let k = 0; k < 8; k++) features.add(1 + Math.floor(random() ** 4 * 2000))
    const list = [...features].sort((a, b) => a - b)
    const score = list.reduce((sum, j) => sum + ((j * 7919) % 13) - 6, 0) + (random() - 0.5) * 30
    return `${score > 0 ? 1 : -1} ${list.map(j => `${j}:1`).join(' ')}`
  })
  return `${(sorted ? lines.sort() : lines).join('\n')}\n`
}

export interface Given {
  loss?: string
  cost?: number
  bias?: number
  threads?: number
  sorted?: boolean
  weightBits?: 32 | 64
  settings?: Partial<DriverSettings>
}

/** Trains to the optimum; f32 weights come near it. */
export async function solved(given: Given): Promise<{ primal: number; dual: number; passes: number; w: unknown }> {
  const { loss = 'hinge', cost = 1, bias = 0, threads = 2, sorted = false, weightBits = 64 } = given
  const arena = new Arena()
  const pool = new ThreadPool(arena.share, threads)
  try {
    const path = folder.write(`clicks-${sorted}.svm`, clicks(sorted))
    const { rows } = await loadRows(arena, pool, [path], readSettings, { unit: false, plain: false }, () => {})
    const objective = new BinaryObjective(arena, rows, {
      ...{ loss: findLoss(loss), costPositive: cost, costNegative: 0.5 * cost, bias, weightBits },
      positive: rows.labels.findIndex(label => label.value === 1),
    })
    const tolerance = weightBits === 32 ? 1e-4 : 1e-7
    const settings = { tolerance, ...given.settings }
    const { certificate, exitReason, passes } = await driven(pool, findSolver('dual'), objective, rows, settings)
    assert.equal(exitReason, 'converged')
    const { primal, dual } = certificate!
    return { primal, dual: dual!, passes, w: bitsOf([...objective.copyWeights()]) }
  } finally {
    await pool.close()
  }
}
