// The same optimum in blocks as in memory, on data sets, judged by an evaluator of the tests' own from the model's file.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { ingest } from '../../src/block-store/ingest.ts'
import type { TrainOptions } from '../../src/train/options.ts'
import { train } from '../../src/train/train.ts'
import type { TrainResult } from '../../src/train/training-run.ts'
import { dataSet, type PartName, type PartOfSet, partOfSet, rowsOfSet } from '../data-sets/data-sets.ts'
import type { Row } from '../data-sets/rows.ts'
import { isSlow } from '../slow.ts'
import type { LossName } from '../train/liblinear.ts'
import { fastFolder, memoryFor } from './fixture.ts'
import { objectiveOfFile } from './model-objective.ts'

const folder = fastFolder()
const losses: LossName[] = ['hinge', 'squared-hinge', 'logistic']

/** Numbers of blocks: all of them with SPILLWAY_SLOW=1, else one for each loss, another one in each data set. */
function blockCounts(loss: LossName, set: number): number[] {
  const counts = [1, 5, 40]
  return isSlow ? counts : [counts[(losses.indexOf(loss) + set) % counts.length]]
}

/** Trains in memory to a gap below the one that is asked of blocks. */
async function inMemory(data: string, options: TrainOptions): Promise<{ primal: number; dual: number }> {
  const { innerPasses: _, innerTolerance: __, blockOrder: ___, shrinking: ____, ...others } = options
  const result = await train(data, { ...others, solver: 'dual', tolerance: 5e-7, maxPasses: 20_000 }).result
  assert.equal(result.exitReason, 'converged')
  return { primal: result.primal!, dual: result.dual! }
}

async function inBlocks(
  store: string,
  rows: Row[],
  best: { primal: number; dual: number },
  options: TrainOptions,
  exact = 1e-9,
): Promise<TrainResult> {
  const tolerance = options.tolerance ?? 1e-6
  const result = await train(store, { solver: 'block', maxPasses: 5000, ...options, tolerance }).result
  const { primal, dual, gap } = result as { primal: number; dual: number; gap: number }
  assert.equal(result.exitReason, 'converged')
  assert.equal(result.solver, 'block')
  assert.ok(gap <= tolerance, `gap ${gap}`)
  assert.ok(Math.abs(gap - (primal - dual) / primal) <= 1e-12)
  assert.ok(
    Math.abs(primal - best.primal) <= tolerance * best.primal * (1 + 1e-5),
    `${primal}, in memory ${best.primal}`,
  )
  // No dual value is above any primal one.
  assert.ok(best.dual <= primal * (1 + exact) && dual <= best.primal * (1 + exact), `dual ${dual}, ${best.primal}`)
  const mine = await objectiveOfFile(folder.path, result, rows, options)
  assert.ok(Math.abs(primal - mine) <= exact * mine, `${primal}, the tests' evaluator says ${mine}`)
  return result
}

const stores = new Map<string, Promise<string>>()
function storeOf(name: string, data: string, blocks: number): Promise<string> {
  const path = join(folder.path, `${name}-${blocks}.spill`)
  if (!stores.has(path))
    stores.set(
      path,
      ingest(data, path, { blocks }).then(() => path),
    )
  return stores.get(path)!
}

/** Every so many rows of a set; all of them with SPILLWAY_SLOW=1. */
const some = (name: PartName, every: number): PartOfSet => partOfSet(folder, name, isSlow ? 1 : every)

describe('a9a in blocks', () => {
  const a9a = (): PartOfSet => some('a9a', 4)
  for (const loss of losses) {
    it(`${loss}: the optimum of the memory, in blocks: ${blockCounts(loss, 0)}`, async () => {
      const { path, rows } = a9a()
      const best = await inMemory(path, { loss })
      for (const blocks of blockCounts(loss, 0)) {
        const store = await storeOf('a9a', path, blocks)
        const result = await inBlocks(store, rows, best, { loss, innerPasses: loss === 'hinge' ? 40 : 10 })
        assert.equal(result.blocks?.count, blocks)
      }
    })
  }

  const ways: [string, TrainOptions, number?][] = [
    ['sweeps until a block is solved', { loss: 'squared-hinge', innerTolerance: 0.01 }],
    ['a fixed order', { loss: 'logistic', cost: 0.01, blockOrder: 'fixed', tolerance: 1e-2 }],
    ['no shrinking', { loss: 'squared-hinge', shrinking: false, tolerance: 1e-5 }],
    ['f32 weights', { loss: 'squared-hinge', weights: 'f32', tolerance: 1e-4 }, 1e-6],
    ['a bias', { loss: 'logistic', bias: 1 }],
    ['class weights', { loss: 'logistic', classWeights: { '+1': 3, '-1': 0.5 } }],
    ['bias and class weights, hinge', { cost: 0.01, bias: 2, classWeights: { '1': 2 }, tolerance: 1e-4 }],
  ]
  for (const [name, options, exact] of ways) {
    it(`with ${name}`, async () => {
      const { path, rows } = a9a()
      const best = await inMemory(path, { ...options, weights: 'f64' })
      const store = await storeOf('a9a', path, 5)
      await inBlocks(store, rows, best, options, exact)
    })
  }

  it('with the memory of two blocks at a time of forty', async () => {
    const { path, rows } = a9a()
    const options: TrainOptions = { loss: 'logistic', cost: 0.1, tolerance: 1e-4 }
    const store = await storeOf('a9a', path, 40)
    const best = await inMemory(path, options)
    await inBlocks(store, rows, best, { ...options, memory: await memoryFor(store, 2, options) })
  })
})

describe('imdb in blocks, unit length', () => {
  for (const loss of losses) {
    it(`${loss}: the optimum of the memory, in blocks: ${blockCounts(loss, 1)}`, async () => {
      const { path, rows } = some('imdb', 5)
      const options: TrainOptions = { loss, normalize: 'unit' }
      const best = await inMemory(path, options)
      for (const blocks of blockCounts(loss, 1)) {
        await inBlocks(await storeOf('imdb', path, blocks), rows, best, options)
      }
    })
  }
})

describe('covtype in blocks, minmax', () => {
  for (const loss of losses) {
    it(`${loss}: the optimum of the memory, in blocks: ${blockCounts(loss, 2)}`, async () => {
      const { rows, path } = some('covtype.libsvm.binary', 50)
      const options: TrainOptions = { loss, scale: 'minmax', indexBase: 1 }
      const best = await inMemory(path, options)
      const { indexBase: _, ...others } = options
      for (const blocks of blockCounts(loss, 2)) {
        const inner = { innerPasses: loss === 'hinge' ? 40 : 20 }
        // Scaled values are kept in f32.
        await inBlocks(await storeOf('covtype', path, blocks), rows, best, { ...others, ...inner }, 1e-6)
      }
    })
  }
})

describe('dna.scale in blocks', () => {
  it('three classes: each against the rest, every loss', async () => {
    const data = dataSet('dna.scale')
    const rows = rowsOfSet('dna.scale')
    const store = await storeOf('dna', data.path, 5)
    for (const loss of losses) {
      const options: TrainOptions = {
        loss,
        cost: 0.05,
        tolerance: 1e-4,
        bias: 1,
        classWeights: { '2': 2 },
        innerPasses: 10,
      }
      const best = await inMemory(data.path, options)
      const result = await inBlocks(store, rows, best, options)
      assert.equal(result.model.vectors, 3)
      assert.equal(result.model.classCertificates.length, 3)
      for (const { gap } of result.model.classCertificates) assert.ok(gap! <= 1e-4)
    }
  })
})
