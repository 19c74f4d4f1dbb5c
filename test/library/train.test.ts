// train() as a program uses it: progress, promises, abort, seed, refusals.
import assert from 'node:assert/strict'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import {
  loadModel,
  type Progress,
  type ReadProgress,
  SpillwayError,
  type TrainOptions,
  type TrainProgress,
  train,
  UsageError,
} from '../../src/index.ts'
import { newFolder } from '../cli/run.ts'
import { asText, someRows } from '../cli/some-data.ts'

let folder = ''
const at = (name: string): string => join(folder, name)
before(() => {
  folder = newFolder()
  writeFileSync(at('a.svm'), asText(someRows(400, 30)))
  writeFileSync(at('three.svm'), asText(someRows(400, 30, { classes: 3 })))
  writeFileSync(at('one-class.svm'), '1 1:1\n1 2:1\n')
  writeFileSync(at('hard.svm'), asText(someRows(2000, 300)))
})
after(() => rmSync(folder, { recursive: true, force: true }))

async function records(run: AsyncIterable<Progress>): Promise<Progress[]> {
  const all: Progress[] = []
  for await (const record of run) all.push(record)
  return all
}

describe('train()', { concurrency: 2 }, () => {
  it('tells of reading, then of training, until the gap is certified', async () => {
    const run = train(at('a.svm'), { threads: 1, tolerance: 1e-6 })
    const all = (await records(run)).filter(({ stage }) => stage === 'read' || stage === 'train')
    const result = await run.result
    const firstTrain = all.findIndex(record => record.stage === 'train')
    assert.ok(firstTrain >= 1, 'reading is told before training')
    const read = all.slice(0, firstTrain) as ReadProgress[]
    const training = all.slice(firstTrain) as TrainProgress[]
    for (const { stage, bytesRead, bytesTotal, badRows } of read) {
      assert.deepEqual([stage, badRows, bytesTotal], ['read', 0, readFileSync(at('a.svm')).length])
      assert.ok(bytesRead > 0)
    }
    assert.ok(training.every(({ stage }) => stage === 'train'))
    const last = training[training.length - 1]
    assert.deepEqual(
      [last.certified, last.primal, last.gap, last.problem, last.problems],
      [true, result.primal, result.gap, 1, 1],
    )
    assert.ok(last.gap! <= 1e-6 && result.exitReason === 'converged')
    // Until the first pass is over there is no gap to tell.
    const gaps = training.map(({ gap }) => gap).filter(gap => gap) as number[]
    assert.ok(gaps.length > 10 && gaps[0] > 1e-2, 'it starts far from the optimum')
    assert.ok(gaps[gaps.length >> 1] < gaps[0] / 100, `the gap falls: ${gaps}`)
    for (const [k, { pass, seconds }] of training.entries()) {
      if (k > 0) assert.ok(pass >= training[k - 1].pass && seconds >= training[k - 1].seconds)
    }
  })

  it('tells how many classes are done, which are trained together, or of each in turn', async () => {
    const tellings = async (options: TrainOptions): Promise<TrainProgress[]> =>
      (await records(train(at('three.svm'), { threads: 1, ...options }))).filter(record => record.stage === 'train')
    const together = await tellings({})
    assert.ok(together.every(({ models }) => models?.all === 3))
    assert.equal(together.at(-1)!.models!.done, 3)
    const inTurn = await tellings({ weights: 'f32' })
    assert.deepEqual([...new Set(inTurn.map(({ problem }) => problem))], [1, 2, 3])
    assert.ok(inTurn.every(record => record.problems === 3))
  })

  it('gives every iteration all the records, also after the end', async () => {
    const run = train(at('a.svm'), { threads: 1 })
    const [one, other] = await Promise.all([records(run), records(run)])
    assert.deepEqual(other, one)
    assert.deepEqual(await records(run), one)
    assert.ok(one.length > 1)
  })

  it('gives a model that saves itself', async () => {
    const run = train(at('a.svm'), { threads: 1, cost: 0.5, bias: 1 })
    const model = await run.model
    await model.save(at('saved.model'))
    const loaded = await loadModel(at('saved.model'))
    assert.deepEqual(loaded.weights, model.weights)
    assert.deepEqual(loaded.labels, [
      { value: 1, text: '1' },
      { value: -1, text: '-1' },
    ])
    assert.deepEqual([loaded.cost, loaded.bias], [0.5, 1])
    assert.equal((await run.result).model.features, 30)
    await assert.rejects(model.save(at('no/such/folder.model')), { name: 'SpillwayError', message: /^cannot write / })
  })

  it('gives the same model for the same seed, and another for another', async () => {
    const weights = async (seed: number): Promise<unknown> =>
      (await train(at('a.svm'), { threads: 1, seed }).model).weights
    const [one, again, other] = await Promise.all([weights(7), weights(7), weights(8)])
    assert.deepEqual(again, one)
    assert.notDeepEqual(other, one)
  })

  it('ends at an abort with the model it has', async () => {
    const controller = new AbortController()
    const { signal } = controller
    const run = train(at('hard.svm'), { threads: 1, tolerance: 1e-300, maxPasses: 1e9, signal })
    let passes = 0
    for await (const record of run) {
      if (record.stage === 'train' && ++passes === 3) controller.abort()
    }
    const result = await run.result
    assert.equal(result.exitReason, 'interrupted')
    assert.ok(result.gap! > 0 && result.gap! < 1)
    assert.equal(result.model.certificate!.exitReason, 'interrupted')
  })

  it('ends at an abort from before it began', async () => {
    const run = train(at('a.svm'), { threads: 1, signal: AbortSignal.abort() })
    const outcome = await run.result.then(
      ({ exitReason }) => exitReason,
      (error: SpillwayError) => error.exitCode,
    )
    assert.ok(outcome === 'interrupted' || outcome === 130, String(outcome))
  })

  it('fails with words', async () => {
    await assert.rejects(train(at('nope.svm')).model, (error: Error) => {
      assert.ok(error instanceof SpillwayError && !(error instanceof UsageError))
      assert.equal(error.message, `cannot read ${at('nope.svm')}: there is no such file or folder`)
      return true
    })
    const run = train(at('one-class.svm'))
    await assert.rejects(records(run), /there is nothing to tell apart/)
    await assert.rejects(run.result, /there is nothing to tell apart/)
  })

  const wrong: [TrainOptions, RegExp][] = [
    [{ cost: 0 }, /^cost is 0; expected a number above 0$/],
    [{ cost: '1' as never }, /^cost is "1"; expected a number above 0$/],
    [{ cost: Number.NaN }, /^cost is null; expected|^cost is NaN; expected/],
    [{ tolerance: 1 }, /^tolerance is 1; expected a number above 0 and below 1$/],
    [{ maxPasses: 0.5 }, /^maxPasses is 0\.5; expected a whole number of at least 1$/],
    [{ seed: -1 }, /^seed is -1; expected/],
    [{ threads: 0 }, /^threads is 0; expected a whole number from 1 to 256$/],
    [{ bias: Number.POSITIVE_INFINITY }, /^bias is .*; expected a finite number$/],
    [{ loss: 'square' }, /square.*hinge/],
    [{ solver: 'magic' }, /magic/],
    [{ scale: 'log' as never }, /^scale is "log"; expected one of /],
    [{ normalize: true as never }, /^normalize is true; expected one of unit$/],
    [{ onBadRow: 'cry' as never }, /^onBadRow is "cry"; expected one of fail, skip$/],
    [{ indexBase: 2 as never }, /^indexBase is 2; expected one of 0, 1$/],
    [{ classWeights: { 1: -1 } }, /^the class weight of label 1 is -1; expected a number above 0$/],
    [{ costs: 1 } as never, /^there is no training option "costs"$/],
    [{ toString: 1 } as never, /^there is no training option "toString"$/],
  ]
  for (const [options, message] of wrong) {
    it(`refuses ${Object.keys(options)[0]} = ${JSON.stringify(Object.values(options)[0])} before anything is read`, () => {
      // The file is not there: whoever looks at it first says something else.
      assert.throws(
        () => train(at('nope.svm'), options),
        (error: Error) => {
          assert.ok(error instanceof UsageError, String(error))
          assert.match(error.message, message)
          return true
        },
      )
    })
  }

  it('refuses to train on nothing', () => {
    assert.throws(() => train([]), { name: 'UsageError', message: 'no data was named' })
  })

  it('refuses a class weight for a label that is not there', async () => {
    const run = train(at('a.svm'), { threads: 1, classWeights: { 7: 2 } })
    await assert.rejects(run.result, { name: 'UsageError', message: /the label 7, which the data does not have/ })
  })
})
