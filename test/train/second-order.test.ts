// auto takes second-order steps where coordinate descent would not get there: at once with few features, later when it stalls.
// What it comes to is computed by an evaluator of its own.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { before, describe, it } from 'node:test'
import { ingest } from '../../src/block-store/ingest.ts'
import { crossValidate } from '../../src/train/cross-validate.ts'
import type { TrainOptions } from '../../src/train/options.ts'
import type { Progress, TrainProgress } from '../../src/train/progress.ts'
import { train } from '../../src/train/train.ts'
import type { TrainResult } from '../../src/train/training-run.ts'
import { tune } from '../../src/train/tune.ts'
import { type Row, rowsOfText } from '../data-sets/rows.ts'
import { fastFolder, memoryFor } from '../out-of-core/fixture.ts'
import { objectiveOfFile } from '../out-of-core/model-objective.ts'
import { unscaledRows } from './unscaled-rows.ts'

const folder = fastFolder()

interface Told {
  result: TrainResult
  /** What was said of the solver, in order. */
  plans: { solver: string; reason: string }[]
  /** What was told of the gap, and of which solver. */
  gaps: (Pick<TrainProgress, 'gap' | 'certified' | 'partial'> & { solver: string | undefined })[]
}

async function told(path: string, options: TrainOptions): Promise<Told> {
  const run = train(path, options)
  const plans: Told['plans'] = []
  const gaps: Told['gaps'] = []
  for await (const record of run) {
    if (record.stage === 'plan') plans.push(record)
    if (record.stage === 'train') gaps.push({ ...record, solver: plans.at(-1)?.solver })
  }
  return { result: await run.result, plans, gaps }
}

/** The certificate is true: the objective of the model's file, and a dual below it. */
async function assertTrue(result: TrainResult, rows: Row[], options: TrainOptions): Promise<void> {
  const mine = await objectiveOfFile(folder.path, result, rows, options)
  assert.ok(Math.abs(result.primal! - mine) <= 1e-8 * mine, `certified ${result.primal}, computed ${mine}`)
  assert.ok(result.dual! <= mine * (1 + 1e-12), `the dual ${result.dual} is above ${mine}`)
  assert.ok(result.gap! <= (options.tolerance ?? 1e-3), `the gap is ${result.gap}`)
}

/** Rows in which feature j is present with probability 0.6 · 2^(−j/15), as a whole number up to 255; few labels are wrong. */
function rareFeatures(rows: number, features: number): string {
  let state = 12_345
  const random = (): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
  const hidden = Array.from({ length: features }, () => random() - 0.5)
  const lines = Array.from({ length: rows }, () => {
    let [score, line] = [0, '']
    for (let j = 0; j < features; j++) {
      if (random() >= 0.6 * 0.5 ** (j / 15)) continue
      const value = 1 + Math.floor(random() * 255)
      score += hidden[j] * value
      line += ` ${j + 1}:${value}`
    }
    return `${score > 0 !== random() < 0.005 ? '+1' : '-1'}${line}`
  })
  return `${lines.join('\n')}\n`
}

describe('rows that come to count on the way of a step', () => {
  it('damp the next matrix: steps are long again', async () => {
    const text = rareFeatures(3000, 200)
    const path = folder.write('rare.svm', text)
    const options: TrainOptions = { solver: 'newton', loss: 'squared-hinge' }
    const { result } = await told(path, options)
    await assertTrue(result, rowsOfText(text), options)
    // Without damping it was 90.
    assert.ok(result.passes <= 40, `${result.passes} passes`)
  })
})

describe('few features that are not scaled', () => {
  const text = unscaledRows(11_000, 3, 2, 4)
  let path = ''
  before(() => {
    path = folder.write('colours.svm', text)
  })
  const rows = rowsOfText(text)

  for (const loss of ['hinge', 'squared-hinge', 'logistic']) {
    for (const options of [{}, { bias: 1, classWeights: { '1': 3 } }, { cost: 100 }] as TrainOptions[]) {
      it(`${loss}, ${JSON.stringify(options)}: auto takes newton, and says why`, async () => {
        const { result, plans } = await told(path, { ...options, loss })
        assert.equal(result.solver, 'newton')
        assert.equal(result.exitReason, 'converged')
        assert.match(result.solverReason!, /few features/)
        assert.equal(plans.filter(({ solver }) => solver === 'newton').length, 1)
        await assertTrue(result, rows, { ...options, loss })
      })
    }
  }

  it('block by block it is the same optimum, in few passes over the disk', async () => {
    for (const loss of ['hinge', 'squared-hinge', 'logistic']) {
      const tolerance = loss === 'hinge' ? 1e-3 : 1e-6
      const settings = { loss, tolerance, solver: 'newton' }
      const store = join(folder.path, `${loss}.spill`)
      const { result } = await told(path, { ...settings, store, blocks: 7 })
      const inMemory = (await told(path, settings)).result
      assert.equal(result.blocks!.count, 7)
      assert.ok(Math.abs(result.primal! - inMemory.primal!) <= 2 * tolerance * inMemory.primal!)
      if (loss !== 'hinge') assert.ok(result.blocks!.read < 30 * 7, `${result.blocks!.read} blocks were read`)
      await assertTrue(result, rows, settings)
    }
  })

  it('is as exact as is asked for', async () => {
    for (const loss of ['hinge', 'squared-hinge', 'logistic']) {
      const { result } = await told(path, { loss, tolerance: 1e-6 })
      assert.equal(result.exitReason, 'converged')
      await assertTrue(result, rows, { loss, tolerance: 1e-6 })
    }
  })

  it('several classes are trained together', async () => {
    const three = unscaledRows(11_000, 3, 3, 9)
    const { result } = await told(folder.write('three.svm', three), { loss: 'logistic' })
    assert.equal(result.solver, 'newton')
    assert.equal(result.model.vectors, 3)
    await assertTrue(result, rowsOfText(three), { loss: 'logistic' })
  })

  it('folds and costs take newton, too, in memory and block by block', async () => {
    const folded = { loss: 'logistic', folds: 3, tolerance: 1e-5 }
    const names: string[] = []
    const progress = (record: Progress) => record.stage === 'plan' && names.push(record.solver)
    const [inMemory] = (await crossValidate(path, { ...folded, progress })).costs
    assert.equal(names.at(-1), 'newton')
    const dual = (await crossValidate(path, { ...folded, solver: 'dual', normalize: 'unit' })).costs[0]
    assert.ok(inMemory.folds.every(({ gap, passes }) => gap <= 1e-5 && passes < 30))
    assert.ok(inMemory.accuracy > dual.accuracy - 0.05, `${inMemory.accuracy}, ${dual.accuracy}`)
    const store = join(folder.path, 'folds.spill')
    await ingest(path, store, { blocks: 7 })
    const memory = (await memoryFor(store, 1, { solver: 'newton' })) + (1 << 20)
    const tuning = await tune(store, { ...folded, memory, costs: [0.01, 1], progress })
    assert.equal(names.at(-1), 'newton')
    assert.equal(tuning.final!.solver, 'newton')
    for (const { folds, accuracy } of tuning.costs) {
      assert.ok(folds.every(({ gap, passes }) => gap <= 1e-5 && passes < 30))
      assert.ok(Math.abs(accuracy - inMemory.accuracy) < 0.02)
    }
  })
})

describe('coordinate descent that stalls', () => {
  // More features than second-order steps are taken for at once.
  const text = unscaledRows(3000, 140, 2, 21, 30)
  let path = ''
  before(() => {
    path = folder.write('stalls.svm', text)
  })
  const rows = rowsOfText(text)

  for (const loss of ['squared-hinge', 'logistic']) {
    it(`${loss}: hands its weights over, says so once, and gets there`, async () => {
      const { result, plans } = await told(path, { loss })
      assert.equal(result.solver, 'newton')
      assert.equal(result.exitReason, 'converged')
      assert.match(result.solverReason!, /coordinate descent would take many more passes/)
      assert.equal(plans.filter(({ solver }) => solver === 'newton').length, 1)
      assert.ok(result.passes > 20, 'the passes of both are counted')
      await assertTrue(result, rows, { loss })
    })
  }

  it('hinge: the same with fewer features, and the gap that is told does not rise then', async () => {
    const fewer = unscaledRows(3000, 20, 2, 23)
    const { result, gaps } = await told(folder.write('fewer.svm', fewer), {})
    assert.equal(result.solver, 'newton')
    assert.equal(result.exitReason, 'converged')
    const handedOver = gaps.findIndex(({ solver }) => solver === 'newton')
    const known = gaps.slice(0, handedOver).findLast(({ partial }) => !partial)!.gap!
    const later = gaps.slice(handedOver).filter(({ certified }) => !certified)
    assert.ok(later.length > 0)
    for (const { gap } of later) assert.ok(gap! <= known * 1.0001, `${gap} is told, and ${known} was known`)
    await assertTrue(result, rowsOfText(fewer), {})
  })

  for (const loss of ['hinge', 'squared-hinge', 'logistic']) {
    it(`${loss}: of few rows, too, once it has had its passes`, async () => {
      const few = unscaledRows(200, 5, 2, 25)
      const path = folder.write('few-rows.svm', few)
      const { result, plans } = await told(path, { loss, cost: 100 })
      assert.equal(result.solver, 'newton')
      assert.equal(result.exitReason, 'converged')
      assert.match(plans.at(-1)!.reason, /coordinate descent would take many more passes/)
      assert.ok(result.passes > 990, 'coordinate descent had nearly all of its passes')
      await assertTrue(result, rowsOfText(few), { loss, cost: 100 })
      // A limit that was named is one for all methods together.
      const limited = await told(path, { loss, cost: 100, maxPasses: 1000 })
      assert.deepEqual([limited.result.solver, limited.result.passes], ['dual', 1000])
    })
  }

  it('keeps the passes that matrices are worth, where there are as many features as rows', async () => {
    const wide = unscaledRows(1200, 900, 2, 31, 60)
    const path = folder.write('wide.svm', wide)
    for (const loss of ['squared-hinge', 'logistic']) {
      const { result } = await told(path, { loss })
      // It seems to stall for long. Second-order steps were not done after a thousand with the squared hinge.
      assert.deepEqual([result.solver, result.exitReason], ['dual', 'converged'], loss)
      await assertTrue(result, rowsOfText(wide), { loss })
    }
  })

  it('of several classes those that are not done go on', async () => {
    const three = unscaledRows(3000, 140, 3, 22, 30)
    const { result } = await told(folder.write('stalls3.svm', three), { loss: 'logistic' })
    assert.equal(result.solver, 'newton')
    assert.equal(result.exitReason, 'converged')
    await assertTrue(result, rowsOfText(three), { loss: 'logistic' })
  })

  it('models of folds are handed over, and those of larger costs go on from there', async () => {
    const plans: string[] = []
    const text = unscaledRows(1000, 140, 2, 21, 30)
    const path = folder.write('folded.svm', text)
    const tuning = await tune(path, {
      ...{ loss: 'logistic', folds: 3, costs: [1e-6, 0.1, 1] },
      progress: record => record.stage === 'plan' && record.solver === 'newton' && plans.push(record.reason),
    })
    // Once for the folds, and once for the final model.
    for (const reason of plans) assert.match(reason, /^coordinate descent would take many more passes/)
    assert.ok(plans.length <= 2)
    assert.equal(tuning.final!.solver, 'newton')
    for (const { cost, accuracy, folds } of tuning.costs) {
      assert.ok(folds.every(({ gap }) => gap <= 1e-3))
      const [alone] = (
        await crossValidate(path, { loss: 'logistic', folds: 3, cost, tolerance: 1e-6, solver: 'newton' })
      ).costs
      assert.ok(Math.abs(accuracy - alone.accuracy) <= 0.002, `C = ${cost}: ${accuracy}, ${alone.accuracy}`)
    }
  })

  it('models of few rows in folds are handed over, too', async () => {
    const path = folder.write('few-folded.svm', unscaledRows(200, 5, 2, 25))
    const { costs } = await crossValidate(path, { cost: 100, folds: 3 })
    for (const { gap } of costs[0].folds) assert.ok(gap <= 1e-3, `a gap of ${gap}`)
  })

  it('a model of long rows begins with lbfgs', async () => {
    const dense = unscaledRows(10_000, 140, 2, 24, 1000).replace(/:(\d+)/g, (_, value) => `:${Number(value) / 255}`)
    const { result, plans } = await told(folder.write('dense.svm', dense), { loss: 'squared-hinge' })
    assert.equal(plans.at(-1)!.reason, 'rows fill much of few features')
    assert.equal(result.solver, 'lbfgs')
    assert.equal(result.exitReason, 'converged')
    await assertTrue(result, rowsOfText(dense), { loss: 'squared-hinge' })
  })

  it('a solver that was asked for stays', async () => {
    const { result } = await told(path, { loss: 'logistic', solver: 'dual', maxPasses: 60 })
    assert.equal(result.solver, 'dual')
    assert.equal(result.passes, 60)
  })
})
