// Solver `stream` over ranks: the optimum of one process, with room for all rows and for few, and certificates that hold though blocks were
// left out.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { ingest } from '../../src/block-store/ingest.ts'
import { ranksInOneProcess } from '../../src/ranks/in-one-process.ts'
import type { TrainOptions } from '../../src/train/options.ts'
import { train } from '../../src/train/train.ts'
import type { TrainResult } from '../../src/train/training-run.ts'
import { rowsOfText } from '../data-sets/rows.ts'
import { fastFolder } from '../out-of-core/fixture.ts'
import { losses, memoryForShare } from '../out-of-core/stream-fixture.ts'
import { liblinearObjective, noLiblinear } from '../train/liblinear.ts'
import { partsOf, trainInStores, trainOnParts } from './ranks.ts'
import { fiveGroups, isSlow, near, objective, sameAsAlone, textOf } from './sets.ts'

const folder = fastFolder()
const imdb = textOf('imdb', 60, 4)
const a9a = textOf('a9a', 32, 1)
let runs = 0

/** What a run with its rows in memory ends with. */
const inMemory = (text: string, options: TrainOptions): Promise<TrainResult> =>
  train(folder.write('alone.svm', text), { threads: 1, ...options, solver: 'dual' }).result

async function sameOptimum(text: string, size: number, given: TrainOptions, most = 1e-6): Promise<number> {
  const options = { ...given, solver: 'stream' }
  const alone = await inMemory(text, options)
  const name = `run${++runs}`
  const results = await trainInStores(folder, name, partsOf(folder, name, text, size), options)
  const [first] = results
  assert.deepEqual([first.solver, first.exitReason], ['stream', 'converged'])
  near(objective(text, first, options), objective(text, alone, options), most, `${size} ranks`)
  near(first.primal!, objective(text, first, options), 1e-9, 'what the certificate says')
  sameAsAlone(results, alone)
  return objective(text, first, options)
}

describe('stream over ranks', () => {
  for (const size of isSlow ? [2, 3, 4] : [3]) {
    for (const loss of isSlow ? losses : ['hinge']) {
      it(`imdb, ${loss}, ${size} ranks`, async () => {
        await sameOptimum(imdb, size, { loss, normalize: 'unit', tolerance: 1e-7 })
      })
    }
  }

  for (const loss of losses) {
    it(`a9a, ${loss}: the optimum, and that of LIBLINEAR`, { skip: noLiblinear }, async () => {
      const options: TrainOptions = { loss, tolerance: 1e-6, maxPasses: 20_000 }
      const mine = await sameOptimum(a9a, 2, options, 2e-6)
      const settings = { loss, cost: 1, bias: 0, classWeights: {} }
      const file = folder.write('a9a.svm', a9a)
      const peer = liblinearObjective(file, join(folder.path, 'peer'), rowsOfText(a9a), settings, '1e-6')
      // Its dual method ends at a limit of passes.
      assert.ok(mine <= peer * (1 + 1e-6), `${mine}, LIBLINEAR ${peer}`)
      if (loss !== 'hinge') near(mine, peer, 1e-6, loss)
    })
  }

  it('a bias and class weights, and ranks that have rows of one class', async () => {
    const options = { loss: 'squared-hinge', bias: 1, classWeights: { '-1': 2 }, normalize: 'unit', tolerance: 1e-6 }
    await sameOptimum(imdb, 2, options as TrainOptions, 2e-6)
  })

  it('many classes, one after the other', async () => {
    const text = fiveGroups().split('\n').slice(0, 80).join('\n')
    await sameOptimum(text, 2, { normalize: 'unit', tolerance: 1e-7 })
  })
})

describe('stream over ranks, in memories that have room for a fifth of the rows', () => {
  const few = textOf('a9a', 64)
  for (const loss of losses) {
    it(loss, async () => {
      const parts = partsOf(folder, 'fifth', few, 2)
      const stores = await Promise.all(
        parts.map(async (part, rank) => {
          const store = join(folder.path, `fifth-${loss}.${rank}.spill`)
          await ingest(part, store, { blocks: 20, threads: 1 })
          return store
        }),
      )
      const options = { solver: 'stream', loss, tolerance: 1e-6, maxPasses: 5000 } as const
      const memory = await memoryForShare(stores[0], 0.2, { ...options, ranks: ranksInOneProcess(2)[0] })
      let kept = 1
      const results = await trainOnParts(stores, { ...options, memory }, (_rank, record) => {
        if (record.stage === 'train' && record.rows) kept = record.rows.kept / (record.rows.kept + record.rows.left)
      })
      const alone = await inMemory(few, options)
      assert.equal(results[0].exitReason, 'converged')
      assert.ok(kept < 0.6, `${kept} of the rows stay`)
      near(objective(few, results[0]), alone.primal!, 2e-6, 'a fifth')
      // Blocks that were left out are counted by what they may owe.
      near(results[0].primal!, objective(few, results[0]), 1e-8, 'what the certificate says')
      sameAsAlone(results, alone)
    })
  }
})
