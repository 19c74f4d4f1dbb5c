// Truncated losses over ranks: who is an outlier is decided by all ranks' rows together, and the series of convex problems ends where
// that of one process does.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { TrainOptions } from '../../src/train/options.ts'
import { train } from '../../src/train/train.ts'
import type { TrainResult } from '../../src/train/training-run.ts'
import { fastFolder } from '../out-of-core/fixture.ts'
import { partsOf, trainInStores, trainOnParts, trainOverRanks } from './ranks.ts'
import { isSlow, jsonOf, near, textOf } from './sets.ts'

const folder = fastFolder()
const imdb = textOf('imdb', 80)

/** Rows of which every tenth has the wrong label. */
const spoilt = imdb
  .trimEnd()
  .split('\n')
  .map((line, k) => (k % 10 === 0 ? line.replace(/^\S+/, label => (label.startsWith('-') ? '+1' : '-1')) : line))
  .map(line => `${line}\n`)
  .join('')

function sameSeries(results: TrainResult[], alone: TrainResult): void {
  const [first] = results
  assert.equal(first.exitReason, 'converged')
  assert.ok(first.outliers! > 0, 'there are outliers')
  assert.equal(first.outliers, alone.outliers)
  assert.equal(first.relaxations, alone.relaxations)
  near(first.primal!, alone.primal!, 2e-5, 'the truncated objective')
  for (const other of results) assert.deepEqual(jsonOf(other.model).weights, jsonOf(first.model).weights)
}

describe('truncated losses over ranks', () => {
  const full: TrainOptions = { normalize: 'unit', outlierMargin: 0, outlierStart: 'full', tolerance: 1e-5 }
  const cases: [TrainOptions, number][] = [
    [{ ...full, loss: 'ramp', solver: 'dual' }, 3],
    [{ ...full, loss: 'truncated-squared-hinge', solver: 'newton' }, 2],
    ...(isSlow ? ([[{ ...full, loss: 'ramp', solver: 'dual' }, 2]] as [TrainOptions, number][]) : []),
  ]
  for (const [options, size] of cases) {
    it(`${options.loss}, ${options.solver}, ${size} ranks`, async () => {
      const alone = await train(folder.write('alone.svm', spoilt), { threads: 1, ...options }).result
      sameSeries(await trainOverRanks(folder, spoilt, size, options), alone)
    })
  }

  for (const solver of isSlow ? ['block', 'stream', 'newton'] : ['stream']) {
    it(`rows in blocks, ${solver}`, async () => {
      const loss = solver === 'newton' ? 'truncated-squared-hinge' : 'ramp'
      const options = { ...full, loss, solver }
      const alone = await train(folder.write('alone.svm', spoilt), {
        ...{ threads: 1, ...options, solver: solver === 'newton' ? solver : 'dual' },
      }).result
      const { outlierStart: _, ...asUsual } = options
      const parts = partsOf(folder, 'spoilt', spoilt, 2)
      sameSeries(await trainInStores(folder, `spoilt-${solver}`, parts, asUsual), alone)
    })
  }

  it('begin with a sample of which each rank draws its share', async () => {
    // More rows than a sample has.
    const a9a = textOf('a9a', 3)
    const options: TrainOptions = { loss: 'truncated-squared-hinge', solver: 'newton', tolerance: 1e-3 }
    const alone = await train(folder.write('a9a.svm', a9a), { threads: 1, ...options }).result
    const [first, second] = await trainOnParts(partsOf(folder, 'a9a', a9a, 2), options)
    assert.equal(first.exitReason, 'converged')
    assert.ok(first.relaxations! > 1)
    // The problem is not convex, and samples differ.
    near(first.primal!, alone.primal!, 0.01, 'the truncated objective')
    assert.deepEqual(jsonOf(second.model).weights, jsonOf(first.model).weights)
  })

  it('an interrupt on one rank ends all of them', async () => {
    const stop = new AbortController()
    const heard = (rank: number, { stage }: { stage: string }): void => {
      if (rank === 1 && stage === 'relax') stop.abort()
    }
    const options = (rank: number): TrainOptions => ({
      ...{ ...full, loss: 'ramp', solver: 'dual', tolerance: 1e-9, maxPasses: 1e6 },
      ...(rank === 1 && { signal: stop.signal }),
    })
    const results = await trainOnParts(partsOf(folder, 'stopped', spoilt, 2), options, heard)
    assert.deepEqual(
      results.map(({ exitReason }) => exitReason),
      ['interrupted', 'interrupted'],
    )
  })

  it('a sample of rows in blocks is refused', async () => {
    const parts = partsOf(folder, 'spoilt', spoilt, 2)
    await assert.rejects(
      trainInStores(folder, 'sampled', parts, { loss: 'ramp', solver: 'block', outlierStart: 'sample' }),
      /outlierStart sample is not compatible with 2 ranks/,
    )
  })
})
