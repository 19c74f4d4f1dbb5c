// Blocks that fit, and had better be smaller: of many models that are trained together by a method that keeps no rows.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { ingest } from '../../src/block-store/ingest.ts'
import type { Manifest } from '../../src/block-store/manifest.ts'
import { Store } from '../../src/block-store/reader.ts'
import { findSolver } from '../../src/optimise/solvers/all-solvers.ts'
import type { BlockSolver } from '../../src/optimise/solvers/solver.ts'
import { hasPairs } from '../../src/optimise/sources/finer-blocks.ts'
import { afterSplit, groupsOf } from '../../src/optimise/sources/memory-plan.ts'
import { resolveOptions, type TrainOptions } from '../../src/train/options.ts'
import { planRun } from '../../src/train/plan-run.ts'
import type { Progress } from '../../src/train/progress.ts'
import { rowsOfStore } from '../../src/train/rows-of-store.ts'
import { train } from '../../src/train/train.ts'
import { randomNumbers } from '../cli/some-data.ts'
import { assertSound, fastFolder, memoryWithRoom } from './fixture.ts'

const folder = fastFolder()
const [ROWS, PER_ROW, CLASSES] = [21_000, 290, 100]

/** 100 classes of histograms over 21,000 visual words, 6 million nonzeros, in so many blocks. */
function wordsIn(count: number): Store {
  const [rows, nonzeros] = [ROWS / count, (ROWS / count) * PER_ROW].map(Math.ceil)
  const block = { file: '', bytes: 1, rows, nonzeros, segments: 24, checksum: '' }
  const manifest: Manifest = {
    ...{ format: 'spillway block store', version: 1, createdBy: 'a test', rows: rows * count },
    ...{ nonzeros: nonzeros * count, features: 21_000, usedFeatures: 21_000, indexBase: 1, split: 'random', seed: 1 },
    ...{ valueBits: 32, compression: 'none', transforms: {}, fingerprint: '', sources: [] },
    labels: Array.from({ length: CLASSES }, (_, k) => ({ value: k, text: String(k), rows: 1 })),
    blocks: Array.from({ length: count }, () => block),
  }
  return new Store('', manifest)
}

async function planOf(store: Store, { solver = 'block', maySplit = false, memory = '176M' } = {}) {
  const options = resolveOptions({ memory, solver })
  const rows = await rowsOfStore(store, options)
  const run = { rows, models: CLASSES, maySplit }
  return planRun(store, findSolver(solver) as BlockSolver, options, run)
}

const sum = (counts: number[]): number => counts.reduce((total, count) => total + count, 0)

describe('blocks of many models', () => {
  for (const count of [6, 13]) {
    it(`meet in pairs once ${count} of them are split, and many models are trained at a time`, async () => {
      const store = wordsIn(count)
      const { finer } = await planOf(store, { maySplit: true })
      assert.ok(finer && sum(finer) > 20 && sum(finer) < 60, `${finer}`)
      const { plan, together, ...split } = await planOf(new Store('', afterSplit(store.manifest, finer)), {
        maySplit: true,
      })
      assert.equal(split.finer, undefined)
      assert.ok(together!.models >= 20, `${together!.models} models at a time`)
      const groups = groupsOf(plan, [...plan.costs.keys()])
      assert.ok(hasPairs(plan) && groups.slice(0, -1).every(group => group.length >= 2), JSON.stringify(groups))
    })
  }

  it('meet in pairs where fewer models at a time have room for that, and blocks stay', async () => {
    const { plan, together, finer } = await planOf(wordsIn(13))
    assert.equal(finer, undefined)
    assert.ok(hasPairs(plan))
    assert.ok(together!.models >= 7 && together!.models < 25, `${together!.models} models at a time`)
  })

  it('stay where rows are kept in memory, where all fit, and where they are small', async () => {
    assert.equal((await planOf(wordsIn(13), { solver: 'selective', maySplit: true })).finer, undefined)
    assert.equal((await planOf(wordsIn(6), { memory: '400M', maySplit: true })).finer, undefined)
    assert.equal((await planOf(wordsIn(60), { maySplit: true })).finer, undefined)
  })

  it('are split as a run begins, once, and models are certified', async () => {
    const random = randomNumbers(3)
    const entries = (): string =>
      Array.from({ length: 100 }, (_, k) => `${1 + k * 60 + Math.floor(random() * 60)}:1`).join(' ')
    const text = Array.from({ length: 8000 }, (_, row) => `${row % 12} ${entries()}\n`).join('')
    const path = join(folder.path, 'classes.spill')
    await ingest(folder.write('classes.svm', text), path, { blocks: 3 })
    const options: TrainOptions = { solver: 'block', memory: memoryWithRoom(14, 'store'), tolerance: 0.3, threads: 1 }
    const go = async () => {
      const work = train(path, options)
      const reasons: string[] = []
      for await (const record of work as AsyncIterable<Progress>)
        if (record.stage === 'plan') reasons.push(record.reason)
      return { result: await work.result, reasons }
    }
    const first = await go()
    assert.equal(first.reasons.filter(reason => reason.startsWith('splitting 3 blocks')).length, 1, `${first.reasons}`)
    assert.equal(first.result.exitReason, 'converged')
    assert.ok(first.result.blocks!.count >= 6)
    await assertSound(path)
    const again = await go()
    assert.ok(!again.reasons.some(reason => reason.startsWith('splitting')), `${again.reasons}`)
    assert.equal(again.result.primal, first.result.primal)
  })
})
