// Values are read for scoring as they were read for training: 64-bit for LIBLINEAR's models and those of --values f64,
// 32-bit for the others.
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { ingest } from '../../src/block-store/ingest.ts'
import { loadModel, saveModel } from '../../src/model/files.ts'
import { makeModel } from '../../src/model/model.ts'
import { predict, predictRows } from '../../src/predict/predict.ts'
import { train } from '../../src/train/train.ts'
import { assertPlainWords, good, run } from '../cli/run.ts'
import { testFolder } from '../input-formats/fixture.ts'

const folder = testFolder()
const cwd = folder.path
const LIBLINEAR = 'solver_type L2R_L2LOSS_SVC_DUAL\nnr_class 2\nlabel 1 -1\nnr_feature 2\nbias -1\nw\n1 \n-1 \n'
/** 32 bits cannot tell the two values apart. */
const CLOSE = '1 1:16777217 2:16777216\n'

async function scoresOf(data: string, model: Parameters<typeof predictRows>[1]): Promise<number[]> {
  const scores: number[] = []
  for await (const piece of predictRows(data, model, { threads: 1 })) scores.push(...piece.scores)
  return scores
}

describe('values that are scored', () => {
  it('have 64 bits for a model of LIBLINEAR, which keeps them in our own file', async () => {
    const data = folder.write('close.svm', `${CLOSE}-1 1:16777216 2:16777217\n`)
    const model = folder.write('liblinear.model', LIBLINEAR)
    await good(['predict', data, model, 'labels.txt', '--scores', '--evaluate'], { cwd })
    assert.equal(readFileSync(join(cwd, 'labels.txt'), 'utf8'), '1 1\n-1 -1\n')
    await good(['convert', model, 'own.model', '--to', 'spillway'], { cwd })
    assert.deepEqual(await scoresOf(data, join(cwd, 'own.model')), [1, -1])
    // More digits than one division rounds correctly, and more than 32 bits hold.
    const long = folder.write('long.svm', '1 1:0.12345678901234567890 2:1e39\n1 1:1e39\n')
    assert.deepEqual(await scoresOf(long, model), [0.12345678901234568 - 1e39, 1e39])
  })

  it('have 64 bits for a model that was trained on such, from text or from a store', async () => {
    const lines = Array.from({ length: 40 }, (_, i) => {
      const sign = i % 2 === 0 ? 1 : -1
      return `${sign} 1:${16777216 + sign} 2:16777216 3:${sign}e39`
    })
    const data = folder.write('wide.svm', `${lines.join('\n')}\n`)
    const store = join(cwd, 'wide.spill')
    await ingest(data, store, { values: 'f64', blocks: 3, threads: 1 })
    for (const [from, more] of [
      [data, ['--values', 'f64']],
      [store, ['--solver', 'block']],
      [store, ['--solver', 'dual']],
    ] as [string, string[]][]) {
      const words = ['train', from, 'wide.model', '--scale', 'minmax', '--test', data, '--json', ...more]
      const { stdout } = await good(words, { cwd })
      assert.equal(JSON.parse(stdout).test.accuracy, 1)
      const path = join(cwd, 'wide.model')
      assert.equal((await loadModel(path)).values, 'f64')
      assert.equal((await predict(data, path, { threads: 1, evaluate: true })).evaluation!.accuracy, 1)
      assert.match((await good(['inspect', path], { cwd })).stdout, /^values +f64$/m)
    }
  })

  it('have 32 bits for any other model, whose file says nothing of them', async () => {
    const data = folder.write('narrow.svm', CLOSE)
    const own = makeModel({
      labels: [
        { value: 1, text: '1' },
        { value: -1, text: '-1' },
      ],
      features: 2,
      weights: Float64Array.of(1, -1),
      loss: 'hinge',
      solver: 'dual',
    })
    assert.deepEqual(await scoresOf(data, own), [0])
    const path = join(cwd, 'narrow.model')
    await saveModel(path, own)
    assert.ok(!('values' in (await loadModel(path))))
    const trained = await train(folder.write('two.svm', '1 1:1\n-1 2:1\n'), { threads: 1 }).result
    assert.ok(!('values' in trained.model))
    writeFileSync(join(cwd, 'huge.svm'), '1 1:1e39\n')
    const { status, stderr } = await run(['predict', 'huge.svm', path], { cwd })
    assert.equal(status, 1)
    assertPlainWords(stderr)
    // Not an option of predict: what it is an option of is said.
    assert.match(stderr, /keep 64-bit values: --values f64 for train and ingest/)
  })
})
