// Several trainers on one weight vector: the optimum of one, whatever their number, the loss, and the share of rows that is
// in memory. Their bits differ from run to run, so it is the objective that must agree, computed by an evaluator of its own.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { ingest } from '../../src/block-store/ingest.ts'
import type { TrainOptions } from '../../src/train/options.ts'
import { train } from '../../src/train/train.ts'
import { noisyRows } from '../contracts/small-problems.ts'
import { type PartOfSet, partOfSet } from '../data-sets/data-sets.ts'
import { rowsOfText } from '../data-sets/rows.ts'
import { isSlow } from '../slow.ts'
import { fastFolder } from './fixture.ts'
import { objectiveOfFile } from './model-objective.ts'
import { memoryForShare } from './stream-fixture.ts'

const folder = fastFolder()

const a9a = (): PartOfSet => partOfSet(folder, 'a9a', isSlow ? 1 : 4)
const imdb = (): PartOfSet => partOfSet(folder, 'imdb', isSlow ? 1 : 5)

let runs = 0
async function sameOptimum(
  { path: data, rows }: PartOfSet,
  share: number | undefined,
  options: TrainOptions,
): Promise<void> {
  const store = `${data.replace(/.*\//, join(folder.path, '/'))}.spill`
  await ingest(data, store, { blocks: 8 }).catch(error => {
    if (!/already|exists/.test(String(error))) throw error
  })
  const best = await train(data, { ...options, tolerance: 1e-7, threads: 1, solver: 'dual' }).result
  // Both numbers are always there, in turn.
  for (const threads of isSlow ? [2, 3] : [2 + (runs++ % 2)]) {
    const memory = share && (await memoryForShare(store, share, { ...options, threads }))
    const several = { ...options, ...(memory && { memory }), tolerance: 1e-6, maxPasses: 3000 }
    const result = await train(store, { ...several, threads, solver: 'stream', cold: true }).result
    assert.equal(result.exitReason, 'converged')
    const mine = await objectiveOfFile(folder.path, result, rows, options)
    assert.ok(mine <= best.primal! * (1 + 2e-6), `${threads} trainers: ${mine}, alone ${best.primal}`)
    assert.ok(Math.abs(result.primal! - mine) <= 1e-8 * mine, `certified ${result.primal}, computed ${mine}`)
    assert.ok(result.dual! <= best.primal! * (1 + 1e-9), `dual ${result.dual} above ${best.primal}`)
  }
}

describe('two and three trainers come to the optimum of one', () => {
  for (const [loss, share] of [
    ['hinge', undefined],
    ['hinge', 0.2],
    ['squared-hinge', undefined],
    ['squared-hinge', 0.2],
    ['logistic', undefined],
  ] as const) {
    it(`a9a, ${loss}, memory for ${share ?? 'all'} of the rows`, async () => {
      await sameOptimum(a9a(), share, { loss, cost: 0.1 })
    })
  }

  it('imdb with a bias, memory for a fifth of the rows', async () => {
    await sameOptimum(imdb(), 0.2, { normalize: 'unit' })
    await sameOptimum(imdb(), undefined, { normalize: 'unit', cost: 0.3 })
  })

  it('a few dense features, which every row shares', async () => {
    const text = noisyRows(4000, 12, 5)
    await sameOptimum({ path: folder.write('dense.svm', text), rows: rowsOfText(text) }, undefined, {})
  })
})

describe('solver dual with several trainers', () => {
  const settings: TrainOptions[] = [
    { loss: 'hinge', bias: 1 },
    { loss: 'hinge', cost: 0.3, shrinking: false },
    { loss: 'squared-hinge', weights: 'f32', tolerance: 1e-5 },
    { loss: 'logistic', bias: 1, classWeights: { '-1': 0.3 } },
    { loss: 'hinge', scale: 'minmax', cost: 0.01 },
  ]
  for (const options of settings) {
    it(`imdb, ${JSON.stringify(options)}: the optimum of one`, async () => {
      const { path, rows } = imdb()
      const tolerance = options.tolerance ?? 1e-6
      const base = { normalize: 'unit' as const, ...options, tolerance, solver: 'dual' }
      const alone = await train(path, { ...base, weights: 'f64', tolerance: 1e-7 }).result
      for (const trainers of isSlow ? [2, 3] : [2]) {
        const result = await train(path, { ...base, threads: trainers, trainers }).result
        assert.equal(result.exitReason, 'converged')
        const mine = await objectiveOfFile(folder.path, result, rows, { normalize: 'unit', ...options })
        assert.ok(mine <= alone.primal! * (1 + 2 * tolerance), `${trainers} trainers: ${mine}, alone ${alone.primal}`)
        assert.ok(Math.abs(result.primal! - mine) <= 1e-7 * mine, `certified ${result.primal}, computed ${mine}`)
      }
    })
  }

  it('a weight for each row', async () => {
    const text = noisyRows(3000, 30, 8)
    const data = folder.write('weighted.svm', text)
    const rowWeights = Array.from({ length: 3000 }, (_, i) => 0.5 + (i % 7) / 4)
    const alone = await train(data, { rowWeights, tolerance: 1e-7 }).result
    const result = await train(data, { rowWeights, trainers: 2, tolerance: 1e-6 }).result
    assert.ok(result.primal! <= alone.primal! * (1 + 2e-6), `${result.primal}, alone ${alone.primal}`)
  })

  it('stops where it is told to, with weights that can be used', async () => {
    const { path, rows } = a9a()
    const result = await train(path, { trainers: 2, maxPasses: 3, tolerance: 1e-9 }).result
    assert.equal(result.exitReason, 'max-passes')
    const mine = await objectiveOfFile(folder.path, result, rows, {})
    assert.ok(Math.abs(result.primal! - mine) <= 1e-8 * mine, `certified ${result.primal}, computed ${mine}`)
  })

  it('what has no several trainers says so', async () => {
    const data = folder.write('few.svm', noisyRows(50, 5, 2))
    await assert.rejects(
      async () => train(data, { trainers: 2, kernel: 'chi2' }).result,
      /kernel is trained by one trainer/,
    )
    await assert.rejects(
      async () => train(data, { trainers: 2, solver: 'block' }).result,
      /trainers is not compatible with solver block/,
    )
    await assert.rejects(
      async () => train(data, { trainers: 2, multiclass: 'crammer-singer' }).result,
      /trainers is not compatible with multiclass crammer-singer/,
    )
  })
})
