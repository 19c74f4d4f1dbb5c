// Many models in one read: each is the one that is trained alone, in memory and over blocks, and folds are honest.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { ingest } from '../../src/block-store/ingest.ts'
import { removeRows } from '../../src/block-store/remove.ts'
import { loadModel, saveModel } from '../../src/model/files.ts'
import { predict } from '../../src/predict/predict.ts'
import { crossValidate } from '../../src/train/cross-validate.ts'
import type { TrainOptions } from '../../src/train/options.ts'
import { train } from '../../src/train/train.ts'
import { tune } from '../../src/train/tune.ts'
import { rowsOfSet } from '../data-sets/data-sets.ts'
import { type Row, writeData } from '../data-sets/rows.ts'
import { randomNumbers } from '../numeric/reference.ts'
import {
  abortAfter,
  assertSameModel,
  fastFolder,
  memoryWithRoom,
  noisyStore,
  padded,
  told,
} from '../out-of-core/fixture.ts'
import { isSlow, unlessSlow } from '../slow.ts'

const folder = fastFolder()
/** Rows of a likeness that stands for all rows of the set. */
const ROWS = { a9a: 32_000, 'dna.scale': 800, mnist: 40_000, news20bydate: 8000 }

interface Some {
  path: string
  rows: Row[]
  labels: number[]
}

/** A share of the rows of a set. */
function some(name: keyof typeof ROWS, share: number): Some {
  const random = randomNumbers(3)
  const rows = rowsOfSet(name, () => random() < share, Math.round(share * ROWS[name]))
  const path = folder.write(`${name}-some.svm`, writeData(rows))
  return { path, rows, labels: [...new Set(rows.map(({ label }) => label))].sort((a, b) => a - b) }
}

/** The least memory that a run over a store can work in, as it says itself; hardly any row stays there. */
async function leastMemory(store: string, options: TrainOptions): Promise<number> {
  const error = await train(store, { ...options, memory: 85 << 20 }).result.catch(error => error)
  return Number(/--memory (\d+)M/.exec(error.advice)?.[1]) << 20
}

/** The least memory in which some models are trained together. It is a MiB or two more than one model takes. */
async function memoryForSome(store: string, options: TrainOptions): Promise<number> {
  const least = await leastMemory(store, options)
  for (let memory = least; memory <= least + (8 << 20); memory += 1 << 20) {
    const stop = new AbortController()
    let found = false
    for await (const record of train(store, { ...options, memory, signal: stop.signal })) {
      if (record.stage !== 'plan') continue
      found ||= /\d+ models/.test(record.reason)
      if (/a pass/.test(record.reason)) stop.abort()
    }
    if (found) return memory
  }
  throw new Error(`${least} bytes and 8 MiB are too little for two models`)
}

describe('each of many models is the one trained alone', () => {
  for (const [name, share, losses] of [
    ['dna.scale', 1, ['hinge', 'squared-hinge', 'logistic']],
    ['mnist', 0.01, ['squared-hinge']],
    ['news20bydate', 0.1, ['hinge']],
  ] as const) {
    for (const loss of losses) {
      // Twenty classes take long; digits have ten.
      const long = name === 'news20bydate' && unlessSlow
      it(`${name}, ${loss}: objective to 1e-6, in memory and over blocks`, { skip: long }, async () => {
        const data = some(name, share)
        const unit: TrainOptions = { loss, cost: 0.5, normalize: 'unit', tolerance: 5e-7, maxPasses: 5000 }
        const store = join(folder.path, `${name}-${loss}.spill`)
        await ingest(data.path, store, { blocks: 6 })
        const memory = await train(data.path, { ...unit, solver: 'dual' }).result
        const results = [memory]
        // Every solver and every loss is always there.
        const solvers = ['block', 'selective', 'stream'] as const
        for (const solver of isSlow || name === 'mnist' ? solvers : [solvers[losses.indexOf(loss as never)]]) {
          // A cache in too little memory for all rows: what it holds has to be chosen.
          const memory = await memoryForSome(store, { ...unit, solver, cold: true })
          const { result, records } = await told(store, { ...unit, solver, cold: true, memory })
          assert.ok(records.some(record => record.stage === 'plan' && /\d+ models/.test(record.reason)))
          results.push(result)
        }
        const parts = results.map(({ model }) => model.classCertificates)
        assert.equal(parts[0].length, data.labels.length)
        for (const [k, label] of data.labels.slice(0, 5).entries()) {
          const relabelled = data.rows.map(row => ({ ...row, label: row.label === label ? 1 : -1 }))
          const alone = await train(folder.write('alone.svm', writeData(relabelled)), { ...unit, solver: 'dual' })
            .result
          for (const [where, certificates] of parts.entries()) {
            const difference = Math.abs(certificates[k].primal! - alone.primal!) / alone.primal!
            assert.ok(difference <= 1e-6, `${results[where].solver}, class ${label}: off by ${difference}`)
            assert.ok(certificates[k].gap! <= 5e-7)
          }
        }
      })
    }
  }

  for (const solver of ['block', 'selective', 'stream'] as const) {
    it(`${solver}: a run that is stopped and resumed gives the same models`, async () => {
      const data = some('dna.scale', 1)
      const options: TrainOptions = { solver, checkpointSeconds: 0, tolerance: 1e-4, cost: 0.1 }
      const [a, b] = [join(folder.path, `whole-${solver}.spill`), join(folder.path, `stopped-${solver}.spill`)]
      await ingest(data.path, a, { blocks: 6 })
      await ingest(data.path, b, { blocks: 6 })
      const whole = await told(a, options)
      const first = await abortAfter(b, options, 3)
      assert.equal(first.result.exitReason, 'interrupted')
      const rest = await told(b, { ...options, resume: true })
      assertSameModel(rest.result, whole.result)
    })
  }

  it('in many small pieces auto keeps rows beside them', async () => {
    const data = some('mnist', 0.05)
    const store = join(folder.path, 'pieces.spill')
    await ingest(data.path, store, { blocks: 40 })
    const options: TrainOptions = { cold: true, normalize: 'unit' }
    const memory = await leastMemory(store, { ...options, solver: 'selective' })
    const { result } = await told(store, { ...options, memory })
    assert.equal(result.solver, 'selective')
    assert.equal(result.exitReason, 'converged')
  })

  it('the data is read as often for ten models as for one', async () => {
    const data = some('mnist', 0.02)
    const ten = join(folder.path, 'ten.spill')
    const two = join(folder.path, 'two.spill')
    await ingest(data.path, ten, { blocks: 5 })
    const relabelled = data.rows.map(row => ({ ...row, label: row.label === 3 ? 1 : -1 }))
    await ingest(folder.write('binary.svm', writeData(relabelled)), two, { blocks: 5 })
    const options: TrainOptions = { solver: 'block', normalize: 'unit', maxPasses: 4, tolerance: 1e-9 }
    const one = await train(two, options).result
    const many = await train(ten, options).result
    assert.equal(many.blocks!.read, one.blocks!.read)
  })

  it('the same bits for any number of threads', async () => {
    const data = some('dna.scale', 0.5)
    const [one, three] = await Promise.all([1, 3].map(threads => train(data.path, { threads, tolerance: 1e-2 }).result))
    assert.deepEqual(three.model.weights, one.model.weights)
  })
})

describe('folds', () => {
  it('each row is scored by models that did not see it: labels that mean nothing are told right by chance', async () => {
    // Each row has a feature of its own: a model that saw it knows it by heart.
    const random = randomNumbers(8)
    const lines = Array.from({ length: 600 }, (_, k) => `${random() < 0.5 ? 1 : -1} ${1 + k}:1 ${1000 + (k % 7)}:0.1`)
    const path = folder.write('noise.svm', `${lines.join('\n')}\n`)
    const seen = await train(path, { cost: 10 }).result
    assert.ok(seen.trainingAccuracy! > 0.99)
    const { costs } = await crossValidate(path, { cost: 10, folds: 4 })
    assert.ok(Math.abs(costs[0].accuracy - 0.5) < 0.1, `accuracy ${costs[0].accuracy}`)
    assert.deepEqual(
      costs[0].folds.map(({ rows }) => rows),
      [150, 150, 150, 150],
    )
  })

  it('accuracy is that of training on the other folds, one by one', async () => {
    const data = some('dna.scale', 1)
    const options = { cost: 0.05, tolerance: 1e-6, folds: 3, seed: 5 }
    const { costs, models, rows } = await crossValidate(data.path, options)
    assert.equal(models, 9)
    assert.equal(rows, data.rows.length)
    const folds = costs[0].folds
    assert.equal(
      folds.reduce((sum, fold) => sum + fold.rows, 0),
      rows,
    )
    const mean = folds.reduce((sum, { accuracy }) => sum + accuracy, 0) / 3
    const deviation = Math.sqrt(folds.reduce((sum, { accuracy }) => sum + (accuracy - mean) ** 2, 0) / 2)
    assert.ok(Math.abs(costs[0].deviation - deviation) < 1e-12)
    // Other folds of the same size, by hand: the accuracies are alike.
    const third = (k: number) => data.rows.filter((_, i) => i % 3 === k)
    let right = 0
    for (let k = 0; k < 3; k++) {
      const others = folder.write('others.svm', writeData(data.rows.filter((_, i) => i % 3 !== k)))
      const held = folder.write('held.svm', writeData(third(k)))
      const { model } = await train(others, { cost: 0.05, tolerance: 1e-6 }).result
      right += (await predict(held, model)).correct
    }
    assert.ok(Math.abs(right / rows - costs[0].accuracy) < 0.02, `${right / rows} and ${costs[0].accuracy}`)
  })

  it('the same seed deals the same folds, for any number of threads', async () => {
    const data = some('dna.scale', 0.5)
    const [a, b, c] = await Promise.all([
      crossValidate(data.path, { tolerance: 0.01, threads: 1 }),
      crossValidate(data.path, { tolerance: 0.01, threads: 3 }),
      crossValidate(data.path, { tolerance: 0.01, seed: 2 }),
    ])
    assert.deepEqual(b.costs, a.costs)
    assert.notDeepEqual(c.costs, a.costs)
  })

  it('more folds than rows, and fewer than two, are refused', async () => {
    const path = folder.write('few.svm', '1 1:1\n-1 2:1\n1 1:2\n')
    await assert.rejects(crossValidate(path, { folds: 5 }), /3 rows, too few for 5 folds/)
    await assert.rejects(crossValidate(path, { folds: 1 }), /folds is 1/)
  })
})

describe('tune', () => {
  it('costs together give what each gives alone; the model is that of the best', async () => {
    const data = some('a9a', 0.05)
    const costs = [0.001, 0.01, 0.1, 1]
    const tuning = await tune(data.path, { costs, tolerance: 1e-6, folds: 3 })
    assert.deepEqual(
      tuning.costs.map(({ cost }) => cost),
      costs,
    )
    for (const { cost, accuracy } of tuning.costs) {
      const alone = await crossValidate(data.path, { cost, tolerance: 1e-6, folds: 3 })
      // A row on the border may fall to either side of it.
      assert.ok(Math.abs(alone.costs[0].accuracy - accuracy) <= 2 / data.rows.length, `C = ${cost}`)
    }
    const highest = Math.max(...tuning.costs.map(({ accuracy }) => accuracy))
    assert.equal(tuning.best.accuracy, highest)
    assert.ok(tuning.simplest.cost <= tuning.best.cost)
    assert.ok(tuning.simplest.accuracy >= highest - tuning.best.standardError)
    const again = await train(data.path, { cost: tuning.best.cost, tolerance: 1e-6 }).result
    assert.ok(Math.abs(again.primal! - tuning.final!.primal!) <= 2e-6 * again.primal!)
    const path = join(folder.path, 'tuned.model')
    await saveModel(path, tuning.final!.model)
    assert.equal((await loadModel(path)).cost, tuning.best.cost)
  })

  it('finds a cost by itself, as good as any of a wide list', async () => {
    const data = some('a9a', 0.05)
    const found = await tune(data.path, { final: 'none', folds: 3 })
    assert.equal(found.final, undefined)
    assert.ok(found.costs.length >= 4)
    const list = await tune(data.path, { costs: [1e-4, 1e-3, 1e-2, 0.1, 1, 10], final: 'none', folds: 3 })
    assert.ok(
      found.best.accuracy >= list.best.accuracy - list.best.standardError,
      `${found.best.accuracy} at ${found.best.cost}, ${list.best.accuracy} at ${list.best.cost}`,
    )
  })

  it('models that do not fit together are trained in groups, and the plan says so', async () => {
    const data = some('news20bydate', 0.1)
    const plans: string[] = []
    const all = await crossValidate(data.path, { folds: 20, tolerance: 0.2 })
    const grouped = await crossValidate(data.path, {
      folds: 20,
      tolerance: 0.2,
      memory: 148 << 20,
      progress: progress => progress.stage === 'plan' && plans.push(progress.reason),
    })
    assert.match(plans.join('\n'), /400 models in \d+ groups/)
    assert.deepEqual(grouped.costs, all.costs)
  })
})

describe('folds and costs over blocks', () => {
  it('give what they give in memory, and read the data once for all models', async () => {
    const data = some('a9a', 0.2)
    const costs = [0.01, 0.1]
    const options = { costs, tolerance: 1e-5, folds: 4, final: 'best' as const }
    const store = join(folder.path, 'folds.spill')
    await ingest(data.path, store, { blocks: 8 })
    const inMemory = await tune(store, options)
    const memory = memoryWithRoom(8, 'store')
    const plans: string[] = []
    const progress = (p: { stage: string; reason?: string }) => p.stage === 'plan' && plans.push(p.reason ?? '')
    const over = await tune(store, { ...options, memory, progress })
    assert.match(plans.join('\n'), /8 blocks, for 8 models together/)
    assert.equal(over.models, 8)
    for (const [c, result] of over.costs.entries()) {
      // Other folds: rows stand in another order in the store's blocks than in memory.
      const spread = 3 * (result.standardError + inMemory.costs[c].standardError) + 0.002
      assert.ok(Math.abs(result.accuracy - inMemory.costs[c].accuracy) <= spread, `C = ${costs[c]}`)
      assert.ok(result.folds.every(({ gap }) => gap <= 1e-5))
    }
    assert.equal(over.final!.solver, 'stream')
    const one = await crossValidate(store, { cost: 0.01, folds: 2, memory, tolerance: 1e-5 })
    // Two models or eight: folds are dealt in one read, each pass and each certificate is one, scoring is one.
    const passes = (result: typeof one) =>
      Math.max(...result.costs.flatMap(cost => cost.folds.map(fold => fold.passes)))
    const perRead = one.bytesRead / (passes(one) + 3)
    assert.ok(over.bytesRead <= perRead * (passes(over) + 6), `${over.bytesRead} bytes, ${perRead} a read`)
  })

  it('the final model is trained by stream, on smaller blocks where that needs more memory than the folds', async () => {
    const store = await noisyStore(folder, 'one-block', {
      rows: 10000,
      features: 250,
      blocks: 1,
      memory: 101 << 20,
      isPlanned: true,
    })
    const reasons: string[] = []
    const found = await tune(store, {
      ...{ costs: [0.01, 0.1], memory: memoryWithRoom(33, 'store'), tolerance: 0.01 },
      progress: progress => progress.stage === 'plan' && reasons.push(progress.reason),
    })
    assert.match(reasons.join('\n'), /1 block, for 10 models together[\s\S]*splitting 1 block/)
    assert.equal(found.final!.solver, 'stream')
    assert.ok(found.final!.blocks!.count > 1)
    assert.equal(found.final!.cost, found.best.cost)
  })

  it('from text that does not fit: the store is made, and the final model comes from it', async () => {
    const data = some('a9a', 0.2)
    const store = join(folder.path, 'made.spill')
    const text = folder.write('long.svm', padded(writeData(data.rows), 16e6))
    const found = await tune(text, { costs: [0.01, 1], folds: 2, memory: '156M', store })
    assert.ok(found.final!.model.cost === found.best.cost)
    assert.ok(found.best.accuracy > 0.8)
  })

  it('rows of one class are refused, in the words of train', async () => {
    const text = folder.write('one-class.svm', '1 1:1\n1 2:1\n1 3:1\n1 1:2\n')
    const store = join(folder.path, 'one-class.spill')
    await ingest(text, store, { blocks: 2, threads: 1 })
    const words = /all 4 rows of .*one-class.spill have the label 1: there is nothing to tell apart/
    await assert.rejects(crossValidate(store, { solver: 'block', folds: 2 }), words)
    await assert.rejects(tune(store, { solver: 'selective', folds: 2 }), words)
    // A class whose rows were all removed is no class.
    const emptied = await noisyStore(folder, 'emptied', { rows: 40, blocks: 2 })
    await removeRows(emptied, { label: '-1' })
    await assert.rejects(crossValidate(emptied, { solver: 'block', folds: 2 }), /have the label \+1: there is nothing/)
  })

  it('end at an abort, whatever they are at', async () => {
    const store = await noisyStore(folder, 'aborted')
    for (const [name, stage] of [
      ['while models are trained', 'train'],
      ['before that', 'plan'],
    ]) {
      const stop = new AbortController()
      let after = 0
      const run = crossValidate(store, {
        ...{ solver: 'block', scale: 'minmax', tolerance: 1e-12, maxPasses: 1e9, threads: 1, signal: stop.signal },
        progress: record => {
          if (stop.signal.aborted && record.stage === 'train') after++
          if (record.stage === stage) stop.abort()
        },
      })
      await assert.rejects(run, { name: 'AbortError' }, name)
      assert.equal(after, 0, name)
    }
  })

  it('an abort while a calibration is made leaves the model without it', async () => {
    const store = await noisyStore(folder, 'uncalibrated')
    const stop = new AbortController()
    const run = train(store, { solver: 'block', calibrate: 'sigmoid', threads: 1, signal: stop.signal })
    for await (const record of run) if (record.stage === 'train' && record.models) stop.abort()
    const { model, exitReason, gap } = await run.result
    assert.equal(exitReason, 'interrupted')
    assert.ok(gap! <= 1e-3 && model.calibrations === undefined)
  })
})
