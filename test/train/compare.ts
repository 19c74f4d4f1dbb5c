// Models held against an evaluator that shares nothing with the program, and against LIBLINEAR's.
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import type { TrainOptions } from '../../src/train/options.ts'
import { train } from '../../src/train/train.ts'
import type { TrainResult } from '../../src/train/training-run.ts'
import type { Row } from '../data-sets/rows.ts'
import { testFolder } from '../input-formats/fixture.ts'
import { liblinearObjective, modelObjective, noLiblinear, type Objective } from './liblinear.ts'

const folder = testFolder()

/** Trains to a gap below 1e-6 and checks primal and certificate by the evaluator of the tests. */
export async function certified(
  path: string,
  rows: Row[],
  o: Objective,
  more: TrainOptions = {},
): Promise<TrainResult & { primal: number; dual: number }> {
  const result = await train(path, { ...o, solver: 'dual', tolerance: 9e-7, maxPasses: 5000, ...more }).result
  const { primal, dual, gap } = result as { primal: number; dual: number; gap: number }
  assert.equal(result.exitReason, 'converged')
  assert.ok(gap < 1e-6 && gap >= -1e-12, `gap ${gap}`)
  assert.ok(dual <= primal * (1 + 1e-12))
  const mine = modelObjective(result.model, rows, o)
  assert.ok(Math.abs(primal - mine) <= 1e-9 * mine, `${primal}, the tests' evaluator says ${mine}`)
  return { ...result, primal, dual }
}

/** Data as LIBLINEAR reads it, trained by both; ours is within 1e-6 of LIBLINEAR's objective, or below it. */
export async function compare(
  t: TestContext,
  ours: string,
  theirs: string,
  rows: Row[],
  o: Objective,
  more: TrainOptions = {},
): Promise<void> {
  const result = await certified(ours, rows, o, more)
  if (noLiblinear) return t.diagnostic(noLiblinear)
  const peer = liblinearObjective(theirs, `${folder.path}/peer.model`, rows, o, o.loss === 'hinge' ? '1e-3' : '1e-5')
  assert.ok(result.primal <= peer * (1 + 1e-6), `${result.primal}, LIBLINEAR reaches ${peer}`)
  assert.ok(result.dual <= peer * (1 + 1e-9), `the dual ${result.dual} is above what LIBLINEAR reaches, ${peer}`)
}
