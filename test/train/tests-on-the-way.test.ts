// Tests on the way: models keep their bits, records tell of the model of the moment, time and memory are kept to, and where there is
// no test it is said why.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ingest } from '../../src/block-store/ingest.ts'
import { SpillwayError } from '../../src/errors.ts'
import type { Model } from '../../src/model/model.ts'
import { predict } from '../../src/predict/predict.ts'
import { crossValidate } from '../../src/train/cross-validate.ts'
import type { TrainOptions } from '../../src/train/options.ts'
import type { Progress, TestProgress } from '../../src/train/progress.ts'
import type { Tester } from '../../src/train/tests-on-the-way.ts'
import { train } from '../../src/train/train.ts'
import type { TrainResult } from '../../src/train/training-run.ts'
import { tune } from '../../src/train/tune.ts'
import { asText, someRows } from '../cli/some-data.ts'
import { assertSameModel, fastFolder } from '../out-of-core/fixture.ts'

const folder = fastFolder()
const files = {
  two: folder.write('two.svm', asText(someRows(600, 30))),
  many: folder.write('many.svm', asText(someRows(500, 30, { classes: 9 }))),
  tests: folder.write('tests.svm', asText(someRows(200, 30, { seed: 5 }))),
  testsOfMany: folder.write('tests-of-many.svm', asText(someRows(200, 30, { seed: 5, classes: 9 }))),
}
const stores: Record<string, string> = {}
for (const name of ['two', 'many'] as const) {
  stores[name] = `${folder.path}/${name}.spill`
  await ingest(files[name], stores[name], { blocks: 4 })
}

interface Told {
  result: TrainResult
  records: Progress[]
  tests: TestProgress[]
  /** Reasons that there are no tests. */
  said: string[]
}

async function run(data: string, options: TrainOptions): Promise<Told> {
  const records: Progress[] = []
  const training = train(data, options)
  for await (const progress of training) records.push(progress)
  const tests = records.flatMap(record => (record.stage === 'test' ? [record] : []))
  const said = records.flatMap(record =>
    record.stage === 'plan' && record.reason.includes('not tested on the way') ? [record.reason] : [],
  )
  return { result: await training.result, records, tests, said }
}

const testerOn = (path: string): Tester => ({ test: (model, sparing) => predict(path, model, { sparing }) })

/** No tests: models are kept for a look at them. */
function keeping(): { models: Model[]; tester: Tester } {
  const models: Model[] = []
  const test = async (model: Model) => {
    models.push(model)
    return { rows: 1, accuracy: 1 }
  }
  return { models, tester: { test } }
}

/** No tests: each takes as long as nobody waits. */
const slow = (milliseconds: number): Tester => ({
  test: async () => {
    await new Promise(done => setTimeout(done, milliseconds))
    return { rows: 1, accuracy: 0.5 }
  },
})

describe('a model that is tested on its way', () => {
  const cases: [string, 'two' | 'many', 'memory' | 'blocks', TrainOptions][] = [
    ['dual', 'two', 'memory', { solver: 'dual', scale: 'standard', bias: 1 }],
    ['newton', 'two', 'memory', { solver: 'newton', loss: 'logistic' }],
    ['lbfgs', 'two', 'memory', { solver: 'lbfgs', loss: 'logistic' }],
    ['primal-coordinate', 'two', 'memory', { regularizer: 'l1', loss: 'logistic' }],
    ['a truncated loss', 'two', 'memory', { solver: 'dual', loss: 'ramp', outlierStart: 'full' }],
    ['folds for probabilities', 'two', 'memory', { solver: 'dual', calibrate: 'sigmoid' }],
    ['bundles', 'many', 'memory', { solver: 'dual', bias: 1 }],
    ['all classes at once', 'many', 'memory', { multiclass: 'crammer-singer' }],
    ['softmax', 'many', 'memory', { multiclass: 'softmax' }],
    ['stream', 'two', 'blocks', { solver: 'stream' }],
    ['block', 'two', 'blocks', { solver: 'block', weights: 'f32' }],
    ['pegasos', 'two', 'blocks', { solver: 'pegasos', tolerance: undefined }],
    ['newton', 'two', 'blocks', { solver: 'newton', loss: 'squared-hinge' }],
    ['expanded features, whose weights are not copied', 'two', 'blocks', { solver: 'block', expand: 'polynomial:2' }],
    ['bundles', 'many', 'blocks', { solver: 'selective' }],
  ]
  for (const [name, data, place, options] of cases) {
    it(`has the bits of one that is not: ${name} in ${place}`, async () => {
      const path = place === 'blocks' ? stores[data] : files[data]
      const settings = { tolerance: 1e-9, maxPasses: 10, threads: 1, ...(place === 'blocks' && { cold: true }) }
      const plain = await run(path, { ...settings, ...options })
      const tester = testerOn(data === 'two' ? files.tests : files.testsOfMany)
      const told = await run(path, { ...settings, ...options, tester })
      assertSameModel(told.result, plain.result)
      assert.deepEqual([told.said, plain.tests], [[], []])
      assert.ok(told.tests.length > 0, 'there are tests')
      const seconds = told.tests.map(test => test.seconds)
      assert.deepEqual(
        seconds,
        [...seconds].sort((a, b) => a - b),
      )
      for (const { rows, accuracy, took, pass } of told.tests)
        assert.ok(rows === 200 && accuracy >= 0 && accuracy <= 1 && took > 0 && pass > 0)
    })
  }
})

describe('tests on the way', () => {
  it('are of the model that a run has which ends there', async () => {
    const options: TrainOptions = { solver: 'block', cold: true, tolerance: 1e-12 }
    const { models, tester } = keeping()
    const { tests } = await run(stores['two'], { ...options, maxPasses: 12, tester })
    assert.ok(tests.length > 0)
    // The first, and one that is later where there is time for it.
    for (const k of new Set([0, Math.min(2, tests.length - 1)])) {
      const { model } = await train(stores['two'], { ...options, maxPasses: Math.round(tests[k].pass) }).result
      const [told, found] = [model, models[k]].map(one => predict(files.tests, one))
      assert.equal((await told).accuracy, (await found).accuracy)
    }
  })

  it('see rows as the last model does', async () => {
    const { models, tester } = keeping()
    const { result } = await run(files.many, {
      ...{ solver: 'dual', scale: 'minmax', bias: 1, tolerance: 1e-9, maxPasses: 10, tester },
    })
    const [first] = models
    const { labels, vectors, features, transforms } = result.model
    assert.deepEqual([first.labels, first.vectors, first.features], [labels, vectors, features])
    assert.deepEqual(first.transforms, transforms)
    assert.notDeepEqual(first.weights, result.model.weights)
  })

  it('take none of the clock, and about 5 % of the time', async () => {
    const settings: TrainOptions = { solver: 'block', cold: true, tolerance: 1e-12, maxPasses: 100 }
    const { result, records, tests } = await run(stores['two'], { ...settings, tester: slow(50) })
    const { total, tests: took, compute, read } = result.seconds
    const clock = total - took!
    assert.ok(tests.length > 0 && took! >= 0.045 * tests.length)
    // Each is made when those before it have cost no more than that.
    const allowed = 0.05 * clock + 0.2 + Math.max(...tests.map(test => test.took))
    assert.ok(took! <= allowed, `${took} of ${clock} seconds`)
    const last = records.findLast(record => record.stage === 'train')!
    assert.ok(last.seconds <= clock + 0.05, `${last.seconds} of ${clock}`)
    assert.ok(Math.abs(total - read - compute - took!) < 1e-6)
  })

  it('are not begun where the first would take too long', async () => {
    const tester = { ...slow(0), expectedSeconds: 1000 }
    const { tests } = await run(files.two, { solver: 'dual', tolerance: 1e-6, tester })
    assert.deepEqual(tests, [])
  })

  it('wait for memory, and say so', async () => {
    // A test of Node alone has more than that.
    const memory = 140 << 20
    const options = { solver: 'block', memory, cold: true, tolerance: 1e-9, maxPasses: 20 }
    const { tests, said } = await run(stores['two'], { ...options, tester: testerOn(files.tests) })
    assert.deepEqual(tests, [])
    assert.match(said[0], /a test takes about 12\.\d MiB, and .* of 140 MiB are taken/)
    assert.equal(said.length, 1)
  })

  it('are left out where classes are trained one after the other', async () => {
    const { tests, said } = await run(files.many, { solver: 'dual', weights: 'f32', tester: slow(0) })
    assert.deepEqual(tests, [])
    assert.match(said[0], /one after the other/)
  })

  it('are refused by tune and cross-validate, whose models are tested on folds', async () => {
    const options = { tester: slow(0) } as object
    for (const validate of [tune, crossValidate])
      await assert.rejects(() => validate(files.two, options), /the option tester is for train/)
  })

  it('end where data is bad, and the run goes on', async () => {
    const tester: Tester = {
      test: async () => {
        throw new SpillwayError('tests.svm, line 3: no number')
      },
    }
    const { result, tests, said } = await run(files.two, { solver: 'dual', tolerance: 1e-6, tester })
    assert.equal(result.exitReason, 'converged')
    assert.deepEqual(tests, [])
    assert.deepEqual(said, ['the model is not tested on the way: tests.svm, line 3: no number'])
  })

  it('are cut short by an interrupt', async () => {
    const stop = new AbortController()
    const tester: Tester = {
      test: async () => {
        stop.abort()
        throw stop.signal.reason
      },
    }
    const { result, tests, said } = await run(files.many, { solver: 'dual', tester, signal: stop.signal })
    assert.equal(result.exitReason, 'interrupted')
    assert.deepEqual([tests, said], [[], []])
  })
})
