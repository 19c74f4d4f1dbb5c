// Newton and the hinge: features that are too many are refused in one wording, before rows are read wherever they are known by then.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, describe, it } from 'node:test'
import { ingest } from '../../src/block-store/ingest.ts'
import { openStore } from '../../src/block-store/reader.ts'
import { UsageError } from '../../src/errors.ts'
import { crossValidate } from '../../src/train/cross-validate.ts'
import { foresee } from '../../src/train/foresee.ts'
import type { TrainOptions } from '../../src/train/options.ts'
import { train } from '../../src/train/train.ts'
import { fastFolder } from '../out-of-core/fixture.ts'

const folder = fastFolder()
const newton: TrainOptions = { solver: 'newton', maxPasses: 3 }

/** 300 rows over so many features, each `apart` from the next. */
function rowsOver(features: number, apart = 1): string {
  const row = (k: number): string => {
    const own = Array.from({ length: 20 }, (_, j) => (k * 20 + j) % features).sort((a, b) => a - b)
    return `${k % 2 ? 1 : -1} ${own.map(j => `${1 + j * apart}:1`).join(' ')}\n`
  }
  return Array.from({ length: 300 }, (_, k) => row(k)).join('')
}

const wide = folder.write('wide.svm', rowsOver(1500))
const spread = folder.write('spread.svm', rowsOver(400, 7))
const table = folder.write('table.csv', `y,a\n${Array.from({ length: 60 }, (_, k) => `${k % 2},v${k % 9}\n`).join('')}`)

/** A store whose blocks are damaged: whoever reads them has other things to say. */
async function damaged(path: string, name: string): Promise<string> {
  const store = join(folder.path, name)
  await ingest(path, store, { blocks: 3 })
  for (const { file } of (await openStore(store)).manifest.blocks) writeFileSync(join(store, file), 'no block')
  return store
}

/** The refusal, and whether anything had been read. */
async function refusal(path: string, options: TrainOptions): Promise<{ found: string; read: boolean }> {
  const run = train(path, { ...newton, ...options })
  let read = false
  const error = await (async () => {
    for await (const { stage } of run) read ||= stage === 'read' || stage === 'rows'
    return run.result
  })().then(
    () => assert.fail('it was not refused'),
    (error: unknown) => error,
  )
  assert.ok(error instanceof UsageError, String(error))
  const said = 'solver newton trains the hinge loss with up to 1,023 features, without a kernel, and '
  assert.ok(error.message.startsWith(said), error.message)
  assert.equal(error.advice, 'take --solver auto, or --loss squared-hinge or logistic')
  return { found: error.message.slice(said.length), read }
}

describe('newton and the hinge', () => {
  let wideStore = ''
  let spreadStore = ''
  before(async () => {
    wideStore = await damaged(wide, 'wide.spill')
    spreadStore = await damaged(spread, 'spread.spill')
  })

  const early: [string, () => string, TrainOptions, string][] = [
    ['a text whose samples have more features', () => wide, {}, 'the data has at least 1,500'],
    ['the same with the ramp loss', () => wide, { loss: 'ramp' }, 'the data has at least 1,500'],
    ['a store, in memory', () => wideStore, {}, 'the data has 1,500'],
    ['a store, block by block', () => wideStore, { cold: true }, 'the data has 1,500'],
    ['a store with numbers of features beyond', () => spreadStore, {}, 'the data has 2,794'],
    ['an expansion that fixes the width', () => spread, { expand: 'hash:11' }, 'the data has 2,048'],
    ['the same of a store', () => spreadStore, { expand: 'hash:11' }, 'the data has 2,048'],
    ['a table whose columns are hashed', () => table, { categorical: ['hash:11'] }, 'the data has 2,048'],
    ['a kernel', () => spread, { kernel: 'intersection' }, 'there is a kernel'],
  ]
  for (const [name, path, options, found] of early)
    it(`are refused before rows are read: ${name}`, async () => {
      assert.deepEqual(await refusal(path(), options), { found, read: false })
    })

  it('are refused in the same words once all was read, where nothing told it before', async () => {
    assert.deepEqual(await refusal(spread, {}), { found: 'the data has 2,794', read: true })
  })

  it('are refused in folds and foreseen', async () => {
    await assert.rejects(async () => crossValidate(wide, { ...newton, folds: 3 }), /the data has at least 1,500$/)
    await assert.rejects(async () => foresee(wide, newton), /the data has at least 1,500$/)
  })

  it('go together where features in use are few, and with other losses', async () => {
    const store = join(folder.path, 'whole.spill')
    await ingest(spread, store, { blocks: 3 })
    const inBlocks = await train(store, { ...newton, cold: true }).result
    assert.equal(inBlocks.solver, 'newton')
    assert.equal((await train(wide, { ...newton, loss: 'squared-hinge' }).result).solver, 'newton')
    assert.equal((await train(table, { ...newton, categorical: ['hash:18'] }).result).solver, 'newton')
  })
})
