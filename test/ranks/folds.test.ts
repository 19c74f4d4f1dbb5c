// Folds over ranks: models are shared out, and what held-out rows tell is that of one rank.
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { ingest } from '../../src/block-store/ingest.ts'
import type { Communicator } from '../../src/ranks/communicator.ts'
import { ranksInOneProcess } from '../../src/ranks/in-one-process.ts'
import { crossValidate } from '../../src/train/cross-validate.ts'
import { tune } from '../../src/train/tune.ts'
import type { CrossValidation } from '../../src/train/validation.ts'
import { fastFolder, threeClasses } from '../out-of-core/fixture.ts'
import { fiveGroups, isSlow, jsonOf, textOf } from './sets.ts'

const folder = fastFolder()
const a9a = folder.write('a9a.svm', textOf('a9a', 32))
const three = folder.write('three.svm', `${threeClasses(300, 5)}\n`)
const news = folder.write('news.svm', fiveGroups().split('\n').slice(0, 300).join('\n'))

function overRanks<T>(size: number, work: (ranks: Communicator) => Promise<T>): Promise<T[]> {
  return Promise.all(
    ranksInOneProcess(size).map(ranks =>
      work(ranks).catch(error => {
        ranks.leave(error)
        throw error
      }),
    ),
  )
}

/** Accuracies are counts of rows; gaps and passes are those of the same models. */
function same(found: CrossValidation, expected: CrossValidation): void {
  assert.equal(found.models, expected.models)
  assert.deepEqual([found.rows, found.features, found.classes], [expected.rows, expected.features, expected.classes])
  assert.deepEqual(
    found.costs.map(({ cost }) => cost),
    expected.costs.map(({ cost }) => cost),
  )
  for (const [k, { accuracy, folds }] of found.costs.entries()) {
    assert.ok(Math.abs(accuracy - expected.costs[k].accuracy) <= 1e-6, `${accuracy} at cost ${k}`)
    assert.deepEqual(
      folds.map(fold => [fold.rows, fold.accuracy]),
      expected.costs[k].folds.map(fold => [fold.rows, fold.accuracy]),
    )
  }
}

describe('folds over ranks', () => {
  const cases = [
    { data: a9a, loss: 'squared-hinge' },
    { data: three, loss: 'logistic' },
    { data: news, loss: 'hinge', normalize: 'unit' as const },
    { data: a9a, loss: 'logistic', solver: 'newton' },
  ]
  for (const { data, ...options } of cases) {
    it(`cross-validate, ${options.loss}, three ranks`, async () => {
      const settings = { threads: 1, tolerance: 1e-8, folds: 4, ...options }
      const alone = await crossValidate(data, settings)
      for (const found of await overRanks(3, ranks => crossValidate(data, { ...settings, ranks }))) same(found, alone)
    })
  }

  it('more ranks than models', async () => {
    const settings = { threads: 1, tolerance: 1e-6, folds: 2 }
    const alone = await crossValidate(a9a, settings)
    for (const found of await overRanks(3, ranks => crossValidate(a9a, { ...settings, ranks }))) same(found, alone)
  })

  it('tune, with costs and without, and the first rank has the model', async () => {
    for (const costs of [[0.01, 0.1, 1], undefined]) {
      const settings = { threads: 1, tolerance: 1e-6, folds: 3, loss: 'squared-hinge', ...(costs && { costs }) }
      const alone = await tune(three, settings)
      const [first, second] = await overRanks(2, ranks => tune(three, { ...settings, ranks }))
      same(first, alone)
      same(second, alone)
      assert.equal(first.best.cost, alone.best.cost)
      assert.deepEqual(jsonOf(first.final!.model).weights, jsonOf(alone.final!.model).weights)
      assert.equal(second.final, undefined)
    }
  })

  it('a truncated loss', async () => {
    const settings = { threads: 1, folds: 3, loss: 'ramp', tolerance: 1e-4 }
    const alone = await crossValidate(three, settings)
    const [first] = await overRanks(2, ranks => crossValidate(three, { ...settings, ranks }))
    same(first, alone)
  })
})

describe('folds of rows in blocks over ranks', () => {
  const settings = { threads: 1, tolerance: 1e-6, folds: 3, blocks: 4, loss: 'squared-hinge' }
  const storeAt = (name: string): string => join(folder.path, `${name}.spill`)

  for (const { solver, loss, size } of [
    { solver: 'block', loss: 'squared-hinge', size: 2 },
    { solver: 'newton', loss: 'logistic', size: 3 },
    { solver: 'block', loss: 'ramp', size: 2 },
  ].filter((_, k) => isSlow || k === 0)) {
    it(`cross-validate, ${solver}, ${loss}, ${size} ranks, each with a store of its own`, async () => {
      const options = { ...settings, solver, loss }
      const name = `${solver}-${loss}`
      const alone = await crossValidate(three, { ...options, store: storeAt(`${name}-alone`) })
      const store = storeAt(name)
      for (const found of await overRanks(size, ranks => crossValidate(three, { ...options, store, ranks })))
        same(found, alone)
      assert.ok(existsSync(storeAt(`${name}.${size}-of-${size}`)))
    })
  }

  it('a store that is named is read by all ranks, and more ranks than models do', async () => {
    const store = storeAt('named')
    await ingest(a9a, store, { blocks: 4, threads: 1 })
    const options = { threads: 1, tolerance: 1e-6, folds: 2, solver: 'block' }
    const alone = await crossValidate(store, options)
    for (const found of await overRanks(3, ranks => crossValidate(store, { ...options, ranks }))) same(found, alone)
  })

  it('tune, and the first rank has the model', async () => {
    const options = { ...settings, solver: 'block', costs: [0.01, 0.1, 1] }
    const alone = await tune(three, { ...options, store: storeAt('tuned-alone') })
    const store = storeAt('tuned')
    const [first, second] = await overRanks(2, ranks => tune(three, { ...options, store, ranks }))
    same(first, alone)
    same(second, alone)
    assert.deepEqual(jsonOf(first.final!.model).weights, jsonOf(alone.final!.model).weights)
    assert.equal(second.final, undefined)
  })

  it('refuse stores that have rows in another order', async () => {
    const store = storeAt('other')
    await assert.rejects(
      overRanks(2, ranks =>
        crossValidate(three, { ...settings, solver: 'block', blocks: 4 + ranks.rank, store, ranks }),
      ),
      /rank 0 has all rows in 4 blocks, and rank 1 in 5 blocks, in another order/,
    )
  })
})
