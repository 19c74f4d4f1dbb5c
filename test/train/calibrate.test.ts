// Calibrations: fitted on rows that were held out, kept in the model, and better than scores taken for probabilities.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { saveModel } from '../../src/model/files.ts'
import { allSolvers } from '../../src/optimise/solvers/all-solvers.ts'
import { predict, predictRows } from '../../src/predict/predict.ts'
import type { TrainOptions } from '../../src/train/options.ts'
import { train } from '../../src/train/train.ts'
import { noisyRows } from '../contracts/small-problems.ts'
import { dataSet, rowsOfSet } from '../data-sets/data-sets.ts'
import { writeData } from '../data-sets/rows.ts'
import { randomNumbers } from '../numeric/reference.ts'
import { fastFolder, threeClasses } from '../out-of-core/fixture.ts'

const folder = fastFolder()

const logLossOf = (probabilities: number[]): number =>
  -probabilities.reduce((sum, p) => sum + Math.log(Math.max(1e-15, p)), 0) / probabilities.length

/** The log loss on rows with the labels of the test, by the probabilities that predict gives for the true class. */
async function logLoss(test: string, truth: number[], model: Parameters<typeof predict>[1]): Promise<number> {
  const own: number[] = []
  let row = 0
  const loaded = typeof model === 'string' ? undefined : model
  for await (const { probabilities, labels } of predictRows(test, model, { probability: true })) {
    const count = loaded!.labels.length
    for (let i = 0; i < labels.length; i++) {
      const k = loaded!.labels.findIndex(({ value }) => value === truth[row])
      const p = probabilities!.slice(i * count, (i + 1) * count)
      assert.ok(Math.abs(p.reduce((sum, x) => sum + x, 0) - 1) < 1e-9)
      own.push(p[k])
      row++
    }
  }
  return logLossOf(own)
}

const alive = (made: WeakRef<object>[]): number => made.filter(each => each.deref() !== undefined).length

describe('train --calibrate', () => {
  it('gives about the same calibration with every solver of rows in memory', async () => {
    for (const [name, text] of [
      ['two', noisyRows(600, 12, 6)],
      ['three', threeClasses(600, 4)],
    ]) {
      const path = folder.write(`${name}.svm`, `${text}\n`)
      const options: TrainOptions = { loss: 'squared-hinge', calibrate: 'sigmoid', tolerance: 1e-6 }
      const expected = await train(path, { ...options, solver: 'dual', maxPasses: 5000 }).result
      for (const { name: solver, data } of allSolvers) {
        if (data !== 'memory' || solver === 'dual') continue
        const { model, exitReason } = await train(path, { ...options, solver }).result
        assert.equal(exitReason, 'converged')
        model.calibrations!.forEach((calibration, k) => {
          const [mine, its] = [calibration, expected.model.calibrations![k]] as { slope: number; offset: number }[]
          assert.ok(Math.abs(its.slope) > 0.1)
          assert.ok(
            Math.abs(mine.slope - its.slope) <= 1e-3 * Math.abs(its.slope),
            `${solver}: ${mine.slope}, expected ${its.slope}`,
          )
          assert.ok(Math.abs(mine.offset - its.offset) <= 1e-3, `${solver}: ${mine.offset}, expected ${its.offset}`)
        })
      }
    }
  })

  for (const calibrate of ['sigmoid', 'isotonic'] as const) {
    it(`a9a, ${calibrate}: beats scores that are taken for log odds, in memory and over blocks`, async () => {
      const random = randomNumbers(2)
      const all = rowsOfSet('a9a')
      const isTest = all.map(() => random() < 0.3)
      const train_ = folder.write('c.svm', writeData(all.filter((_, i) => !isTest[i])))
      const held = all.filter((_, i) => isTest[i])
      const test = folder.write('c.t.svm', writeData(held))
      const truth = held.map(({ label }) => label)
      // At a small cost scores are small, and nothing like log odds.
      const options: TrainOptions = { cost: 0.001, tolerance: 1e-3 }
      const plain = await train(train_, options).result
      const raw: number[] = []
      for await (const { scores } of predictRows(test, plain.model)) raw.push(...scores)
      const first = plain.model.labels[0].value
      const asOdds = logLossOf(raw.map((score, i) => 1 / (1 + Math.exp(truth[i] === first ? -score : score))))
      const inMemory = await train(train_, { ...options, calibrate }).result
      const store = join(folder.path, `${calibrate}.spill`)
      const over = await train(train_, { ...options, calibrate, memory: '159M', store, solver: 'stream' }).result
      for (const [where, { model, primal }] of [
        ['memory', inMemory],
        ['blocks', over],
      ] as const) {
        const loss = await logLoss(test, truth, model)
        assert.ok(loss < asOdds - 0.02, `${where}: ${loss}, scores as log odds ${asOdds}`)
        // The model itself is what it is without.
        assert.ok(Math.abs(primal! - plain.primal!) <= 2e-3 * plain.primal!)
        const path = join(folder.path, `${calibrate}-${where}.model`)
        await saveModel(path, model)
        assert.equal((await predict(test, path)).rows, held.length)
      }
    })
  }

  it('over blocks has the memory of the models gone before those of folds are trained in one of their own', async () => {
    const path = folder.write('gone.svm', `${noisyRows(3000, 12, 6)}\n`)
    const web = Reflect.get(globalThis, 'WebAssembly') as { Memory: new (...words: unknown[]) => object }
    const { Memory } = web
    const made: WeakRef<object>[] = []
    web.Memory = new Proxy(Memory, {
      construct(target, words) {
        const memory = new target(...words)
        made.push(new WeakRef(memory))
        return memory
      },
    })
    try {
      const options: TrainOptions = { calibrate: 'sigmoid', memory: '160M', solver: 'stream', threads: 1 }
      const run = train(path, { ...options, store: join(folder.path, 'gone.spill') })
      assert.equal((await run.result).model.calibrations!.length, 1)
      assert.ok(made.length >= 2)
      assert.equal(alive(made.slice(0, -1)), 0, `${made.length} memories were made`)
    } finally {
      web.Memory = Memory
    }
  })

  it('dna.scale: each of three classes has its own', async () => {
    const { path } = dataSet('dna.scale')
    const { model } = await train(path, { cost: 0.05, calibrate: 'sigmoid' }).result
    assert.equal(model.calibrations!.length, 3)
    const truth = rowsOfSet('dna.scale').map(({ label }) => label)
    assert.ok((await logLoss(path, truth, model)) < 0.5)
  })

  it('is refused where it would be ignored', async () => {
    const path = folder.write('few.svm', '1 1:1\n-1 2:1\n1 1:2\n-1 2:2\n')
    await assert.rejects(train(path, { loss: 'logistic', calibrate: 'sigmoid' }).result, /probabilities as they are/)
    assert.throws(() => train(path, { calibrate: 'platt' as never }), /calibrate is "platt"/)
  })
})
