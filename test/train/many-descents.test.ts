// Solvers that look at all rows before they move, with many models: each is the one that is trained alone, and every pass over
// the rows serves all of them.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { before, describe, it } from 'node:test'
import { ingest } from '../../src/block-store/ingest.ts'
import { toDense } from '../../src/model/weights.ts'
import { allSolvers } from '../../src/optimise/solvers/all-solvers.ts'
import { crossValidate } from '../../src/train/cross-validate.ts'
import type { TrainOptions } from '../../src/train/options.ts'
import { train } from '../../src/train/train.ts'
import type { TrainResult } from '../../src/train/training-run.ts'
import { tune } from '../../src/train/tune.ts'
import { rowsOfSet } from '../data-sets/data-sets.ts'
import { type Row, unitLength, writeData } from '../data-sets/rows.ts'
import { randomNumbers } from '../numeric/reference.ts'
import {
  abortAfter,
  assertSameModel,
  copyStore,
  fastFolder,
  memoryFor,
  threeClasses,
  told,
} from '../out-of-core/fixture.ts'
import { isSlow, unlessSlow } from '../slow.ts'
import { type LossName, liblinearObjective, noLiblinear } from './liblinear.ts'

const folder = fastFolder()
const BLOCKS = 6
/** Rows of many features have no matrix of second derivatives. */
const sets = { 'dna.scale': some('dna.scale', 800, 1), news20bydate: some('news20bydate', 8000, isSlow ? 0.03 : 0.015) }
const three = folder.write('three.svm', `${threeClasses(900, 11)}\n`)
const stores: Record<string, string> = {}

function some(name: 'dna.scale' | 'news20bydate', likeness: number, share: number) {
  const random = randomNumbers(3)
  const rows = rowsOfSet(name, () => random() < share, Math.round(share * likeness)).map(unitLength)
  const path = folder.write(`${name}.svm`, writeData(rows))
  return { path, rows, labels: [...new Set(rows.map(({ label }) => label))].sort((a, b) => a - b) }
}

before(async () => {
  for (const [name, path] of [...Object.entries(sets).map(([name, { path }]) => [name, path]), ['three', three]]) {
    stores[name] = join(folder.path, `${name}.spill`)
    await ingest(path, stores[name], { blocks: BLOCKS })
  }
})

const against = (rows: Row[], label: number): Row[] =>
  rows.map(row => ({ ...row, label: row.label === label ? 1 : -1 }))

/** The weights of one class. */
function weightsOf({ model, features }: TrainResult, k: number): number[] {
  const all = toDense(model.weights, features, model.vectors)
  return Array.from({ length: features }, (_, j) => all[j * model.vectors + k])
}

const solvers = allSolvers.filter(solver => solver.startEach).map(({ name }) => name)
/** That a run is a cold one makes it one over blocks. */
const inBlocks: TrainOptions = { cold: true }

for (const solver of solvers)
  describe(`${solver}: each of many models is the one trained alone`, () => {
    for (const [name, loss] of [
      ['dna.scale', 'squared-hinge'],
      ['dna.scale', 'logistic'],
      ['news20bydate', 'squared-hinge'],
    ] as [keyof typeof sets, LossName][]) {
      const long = name === 'news20bydate' && unlessSlow
      it(`${name}, ${loss}: the same bits in memory, LIBLINEAR's optimum, and over blocks to 1e-6`, {
        skip: long,
      }, async t => {
        const { path, rows, labels } = sets[name]
        const options: TrainOptions = { solver, loss, cost: 2, tolerance: 5e-7 }
        const together = await train(path, options).result
        const over = await train(stores[name], { ...options, ...inBlocks }).result
        assert.equal(over.blocks!.read, BLOCKS * over.passes)
        assert.ok(Math.abs(over.primal! - together.primal!) <= 1e-6 * together.primal!)
        for (const k of [0, labels.length - 1]) {
          const own = against(rows, labels[k])
          const file = folder.write('alone.svm', writeData(own))
          const alone = await train(file, options).result
          assert.deepEqual(weightsOf(together, k), weightsOf(alone, 0))
          const { primal, dual, passes } = together.model.classCertificates[k]
          assert.equal(primal, alone.primal)
          assert.equal(passes, alone.passes)
          if (noLiblinear) {
            t.diagnostic(noLiblinear)
            continue
          }
          const o = { loss, cost: 2, bias: 0, classWeights: {} }
          const peer = liblinearObjective(file, join(folder.path, 'peer.model'), own, o, '1e-6')
          assert.ok(primal! <= peer * (1 + 1e-6), `class ${labels[k]}: ${primal}, LIBLINEAR reaches ${peer}`)
          assert.ok(dual! <= peer * (1 + 1e-9), `class ${labels[k]}: the dual ${dual} is above ${peer}`)
        }
      })
    }

    it('the same bits for any number of threads', async () => {
      const runs = [1, 3].map(
        threads => train(three, { solver, loss: 'logistic', threads, tolerance: 1e-6, bias: 1 }).result,
      )
      const [one, other] = await Promise.all(runs)
      assert.deepEqual(other.model.weights, one.model.weights)
      assert.deepEqual(other.model.biasWeights, one.model.biasWeights)
    })

    it('a run over blocks that is stopped and resumed gives the same models', async () => {
      const options: TrainOptions = { solver, loss: 'logistic', resume: true, checkpointSeconds: 0, tolerance: 1e-8 }
      let count = 0
      const another = (): string => copyStore(stores['three'], join(folder.path, `${solver}-${++count}.spill`))
      const whole = await told(another(), options)
      assert.equal(whole.result.exitReason, 'converged')
      for (const share of isSlow ? [0.1, 0.4, 0.7] : [0.4]) {
        const path = another()
        const first = await abortAfter(path, options, Math.ceil(share * whole.train.length))
        assert.equal(first.result.exitReason, 'interrupted')
        assertSameModel((await told(path, options)).result, whole.result)
      }
      // A smaller gap wakes models that were done.
      const closer = { ...options, tolerance: 1e-11 }
      const path = another()
      await told(path, options)
      const { result } = await told(path, closer)
      assert.equal(result.exitReason, 'converged')
      assert.ok(result.model.classCertificates.every(({ gap }) => gap! <= 1e-11))
    })

    it('models that do not fit together go in groups, over blocks and in memory, and are the same', async () => {
      const { path } = sets.news20bydate
      const options: TrainOptions = { solver, loss: 'squared-hinge', tolerance: 1e-2, blockOrder: 'fixed' }
      const store = stores['news20bydate']
      const all = await train(store, { ...options, ...inBlocks }).result
      const memory = (await memoryFor(store, 1, options)) + (8 << 20)
      const { result, records } = await told(store, { ...options, ...inBlocks, memory })
      const plans = records.flatMap(record => (record.stage === 'plan' ? [record.reason] : []))
      assert.match(plans.join('\n'), /for 20 models, \d+ at a time/)
      assert.ok(Math.abs(result.primal! - all.primal!) <= 2e-2 * all.primal!)
      assert.ok(result.blocks!.read < 20 * all.blocks!.read, 'each model has not read the data by itself')
      const said: string[] = []
      const folded = { solver, loss: 'squared-hinge', folds: 3, tolerance: 0.1 }
      const whole = await crossValidate(path, folded)
      const grouped = await crossValidate(path, {
        ...{ ...folded, memory: 148 << 20 },
        progress: progress => progress.stage === 'plan' && said.push(progress.reason),
      })
      assert.match(said.join('\n'), /60 models in \d+ groups of at most \d+: .* weights and gradients/)
      assert.deepEqual(grouped.costs, whole.costs)
    })
  })

describe('passes over the disk', () => {
  for (const solver of solvers) {
    it(`${solver}: three classes read as often as the one that takes longest`, async () => {
      const options: TrainOptions = { ...inBlocks, solver, loss: 'logistic', tolerance: 1e-6 }
      const { result, certificates } = await told(stores['three'], options)
      const passes = result.model.classCertificates.map(certificate => certificate.passes!)
      assert.equal(certificates, 1)
      assert.equal(result.passes, Math.max(...passes))
      assert.equal(result.blocks!.read, BLOCKS * Math.max(...passes))
      assert.ok(result.passes < 30, `${result.passes} passes`)
    })

    it(`${solver}: nine models of folds do, too`, async () => {
      const read: number[] = []
      const { costs, bytesRead, models } = await crossValidate(stores['three'], {
        ...{ ...inBlocks, solver, loss: 'logistic', tolerance: 1e-6, folds: 3 },
        progress: progress => progress.stage === 'train' && read.push(progress.blocks!.read),
      })
      const passes = Math.max(...costs[0].folds.map(fold => fold.passes))
      assert.equal(models, 9)
      // Folds are dealt in a read of their own.
      assert.equal(Math.max(...read), BLOCKS * (passes + 1))
      assert.ok(bytesRead > 0)
    })
  }
})

describe('folds and costs', () => {
  for (const loss of ['hinge', 'squared-hinge', 'logistic']) {
    for (const solver of loss === 'hinge' ? ['newton'] : solvers) {
      it(`${solver}, ${loss}: held-out rows are told as by coordinate descent, in memory and over blocks`, async () => {
        const options = { loss, folds: 3, tolerance: 1e-5, cost: 0.5, bias: 1 }
        for (const [data, peer, more] of [
          [three, 'dual', {}],
          [stores['three'], 'block', inBlocks],
        ] as [string, string, TrainOptions][]) {
          const [theirs] = (await crossValidate(data, { ...options, solver: peer, maxPasses: 3000 })).costs
          const [ours] = (await crossValidate(data, { ...options, ...more, solver })).costs
          for (const [k, fold] of ours.folds.entries()) {
            assert.equal(fold.rows, theirs.folds[k].rows)
            // A row on the border may fall to either side of it.
            assert.ok(Math.abs(fold.accuracy - theirs.folds[k].accuracy) <= 2 / fold.rows)
            assert.ok(fold.gap <= options.tolerance)
          }
        }
      })
    }
  }

  for (const solver of solvers) {
    it(`${solver}: costs of tune give what each gives alone, in memory and over blocks`, async () => {
      const options = { solver, loss: 'squared-hinge', folds: 3, tolerance: 1e-6 }
      for (const [data, more] of [
        [three, {}],
        [stores['three'], inBlocks],
      ] as [string, TrainOptions][]) {
        const tuning = await tune(data, { ...options, ...more, costs: [0.01, 0.1, 1] })
        assert.equal(tuning.final!.solver, solver)
        assert.equal(tuning.final!.exitReason, 'converged')
        for (const { cost, accuracy } of tuning.costs) {
          const alone = await crossValidate(data, { ...options, ...more, cost })
          assert.ok(Math.abs(alone.costs[0].accuracy - accuracy) <= 2 / 900, `C = ${cost}`)
        }
      }
      const found = await tune(three, { ...options, final: 'none' })
      assert.ok(found.costs.length >= 4 && found.best.accuracy > 0.75)
    })
  }

  it('a calibration has models of folds, trained with the others', async () => {
    const options: TrainOptions = { loss: 'squared-hinge', calibrate: 'sigmoid', tolerance: 1e-6 }
    const [ours, theirs] = [
      await train(three, { ...options, solver: 'newton' }).result,
      await train(three, { ...options, solver: 'dual' }).result,
    ]
    for (const [k, calibration] of ours.model.calibrations!.entries()) {
      const slopes = [calibration, theirs.model.calibrations![k]].map(each => 'slope' in each && each.slope)
      assert.ok(Math.abs(Number(slopes[0]) / Number(slopes[1]) - 1) <= 1e-2, `${slopes}`)
    }
  })
})
