// Training over ranks: the optimum of one process, the same model on every rank, and the same numbers of classes, features and
// rows, however rows are dealt out.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { TrainOptions } from '../../src/train/options.ts'
import { train } from '../../src/train/train.ts'
import type { TrainResult } from '../../src/train/training-run.ts'
import { fastFolder } from '../out-of-core/fixture.ts'
import { exactScores } from '../train/exact-objective.ts'
import { unscaledRows } from '../train/unscaled-rows.ts'
import { trainOnParts, trainOverRanks } from './ranks.ts'
import { fiveGroups, isSlow, jsonOf, near, objective, sameAsAlone, textOf } from './sets.ts'

const folder = fastFolder()
const a9a = textOf('a9a', 8, 1)
const imdb = textOf('imdb', 40, 4)
const news = fiveGroups()

/** Trains over ranks, and compares the objective with that of one process that has all rows. */
async function sameOptimum(text: string, size: number, options: TrainOptions, most = 1e-6): Promise<TrainResult> {
  const alone = await train(folder.write('alone.svm', text), { threads: 1, ...options }).result
  const results = await trainOverRanks(folder, text, size, options)
  const [first] = results
  assert.equal(first.exitReason, 'converged')
  near(objective(text, first, options), objective(text, alone, options), most, `${size} ranks`)
  near(first.primal!, objective(text, first, options), 1e-9, 'what the certificate says')
  sameAsAlone(results, alone)
  return first
}

describe('newton and lbfgs over ranks', () => {
  for (const size of [2, 3, 4]) {
    for (const solver of ['newton', 'lbfgs']) {
      for (const loss of ['squared-hinge', 'logistic']) {
        it(`a9a, ${solver}, ${loss}, ${size} ranks`, async () => {
          await sameOptimum(a9a, size, { solver, loss, tolerance: 1e-7 })
        })
      }
    }
  }

  it('the hinge by second-order steps, with a bias and class weights', async () => {
    await sameOptimum(a9a, 3, { solver: 'newton', tolerance: 1e-6, bias: 1, classWeights: { '-1': 2 } }, 2e-6)
  })

  it('takes as many passes as one process does', async () => {
    const options: TrainOptions = { solver: 'newton', loss: 'logistic', tolerance: 1e-7 }
    const { passes } = await train(folder.write('passes.svm', a9a), options).result
    const [first] = await trainOverRanks(folder, a9a, 3, options)
    assert.equal(first.passes, passes)
  })

  it('many classes, each against the rest and all at once', async () => {
    await sameOptimum(news, 2, { solver: 'newton', loss: 'squared-hinge', normalize: 'unit', tolerance: 1e-7 })
    const text = news.split('\n').slice(0, 300).join('\n')
    const softmax = { multiclass: 'softmax', normalize: 'unit', tolerance: 1e-7 } as const
    const alone = await train(folder.write('softmax.svm', text), { ...softmax, solver: 'newton' }).result
    const [first] = await trainOverRanks(folder, text, 3, { ...softmax, solver: 'lbfgs' })
    near(first.primal!, alone.primal!, 1e-6, 'softmax')
  })
})

describe('dual over ranks', () => {
  for (const size of [2, 3, 4]) {
    for (const loss of ['hinge', 'squared-hinge', 'logistic']) {
      it(`imdb, ${loss}, ${size} ranks, one of which has rows of one class alone`, async () => {
        await sameOptimum(imdb, size, { solver: 'dual', loss, normalize: 'unit', tolerance: 1e-7 })
      })
    }
  }

  for (const loss of ['squared-hinge', 'logistic']) {
    it(`a9a, ${loss}, with a bias and class weights`, async () => {
      const options = { loss, solver: 'dual', bias: 1, classWeights: { '-1': 2 }, tolerance: 1e-7, maxPasses: 5000 }
      await sameOptimum(a9a, 3, options)
    })
  }

  it('many classes, one after the other', async () => {
    const text = news.split('\n').slice(0, 300).join('\n')
    await sameOptimum(text, 2, { solver: 'dual', normalize: 'unit', tolerance: 1e-7 })
  })

  it('all classes at once, by Crammer and Singer', async () => {
    const text = news.split('\n').slice(0, 60).join('\n')
    const options = { multiclass: 'crammer-singer', normalize: 'unit', tolerance: 1e-4, maxPasses: 5000 } as const
    const alone = await train(folder.write('together.svm', text), { threads: 1, ...options }).result
    for (const size of isSlow ? [2, 3] : [3]) {
      const results = await trainOverRanks(folder, text, size, options)
      const [first] = results
      assert.deepEqual([first.solver, first.exitReason], ['dual', 'converged'])
      near(first.primal!, alone.primal!, 2e-4, `${size} ranks`)
      assert.ok(first.dual! <= alone.primal! && first.gap! <= 1e-4, `dual ${first.dual}, gap ${first.gap}`)
      sameAsAlone(results, alone)
    }
  })

  it('auto takes it, or second-order steps where features are few', async () => {
    const [text] = await trainOverRanks(folder, imdb, 2, { normalize: 'unit' })
    assert.equal(text.solver, 'dual')
    const [few] = await trainOverRanks(folder, a9a, 2, { loss: 'squared-hinge', tolerance: 1e-6 })
    assert.equal(few.exitReason, 'converged')
    const [hinge] = await trainOverRanks(folder, a9a, 2, { tolerance: 1e-5 })
    assert.deepEqual([hinge.solver, hinge.exitReason], ['newton', 'converged'])
  })

  it('ends after as many passes as it may take, with the same model everywhere', async () => {
    const [first, second] = await trainOverRanks(folder, imdb, 2, { solver: 'dual', maxPasses: 3, tolerance: 1e-9 })
    assert.equal(first.exitReason, 'max-passes')
    assert.deepEqual(jsonOf(second.model).weights, jsonOf(first.model).weights)
  })
})

/** The share of rows that a model is right about. */
function accuracy(text: string, { model }: TrainResult): number {
  const json = jsonOf(model)
  const lines = text.trim().split('\n')
  const right = exactScores(text, json, 'f32').filter(([score], i) => {
    const isFirst = Number.parseFloat(lines[i]) === Number(json.labels[0].text)
    return score > 0 === isFirst
  })
  return right.length / lines.length
}

describe('average and admm over ranks', () => {
  for (const loss of ['hinge', 'squared-hinge', 'logistic']) {
    it(`average, ${loss}: nearly as right as the optimum, with a gap that is told`, async () => {
      const options = { loss, normalize: 'unit', tolerance: 1e-4 } as const
      const alone = await train(folder.write('average.svm', imdb), { ...options, solver: 'dual' }).result
      const [first, second] = await trainOverRanks(folder, imdb, 2, { ...options, solver: 'average' })
      assert.ok(Math.abs(accuracy(imdb, first) - accuracy(imdb, alone)) < 0.05)
      near(first.primal!, objective(imdb, first), 1e-9, 'what the certificate says')
      // The dual bounds the optimum from below, and the primal from above.
      assert.ok(first.gap! > 1e-3 && first.dual! <= alone.primal! && first.primal! >= alone.primal! * (1 - 1e-4))
      assert.deepEqual(jsonOf(second.model).weights, jsonOf(first.model).weights)
    })
  }

  it('admm reaches the optimum', async () => {
    const options = { loss: 'logistic', normalize: 'unit', tolerance: 1e-4, solver: 'admm' } as const
    await sameOptimum(imdb, 3, options, 2e-4)
    const [first] = await trainOverRanks(folder, imdb, 2, { ...options, loss: 'hinge', tolerance: 1e-2 })
    near(first.primal!, objective(imdb, first), 1e-9, 'what the certificate says')
    assert.equal(first.exitReason, 'converged')
  })

  it('are solver dual on one rank', async () => {
    const data = folder.write('one.svm', a9a)
    const options = { tolerance: 1e-3, maxPasses: 20 }
    const dual = await train(data, { ...options, solver: 'dual' }).result
    for (const solver of ['average', 'admm']) {
      const result = await train(data, { ...options, solver }).result
      assert.deepEqual(jsonOf(result.model).weights, jsonOf(dual.model).weights)
    }
  })
})

describe('what ranks agree on', () => {
  const newton: TrainOptions = { solver: 'newton', loss: 'squared-hinge', tolerance: 1e-8 }

  it('classes that some ranks do not have, numbered in the order of ranks', async () => {
    const lines = ['a 1:1', 'a 1:2 2:1', 'b 2:3', 'a 1:1 2:1', 'c 3:2', 'b 2:1 3:1', 'c 3:1', 'c 1:1 3:3']
    await sameOptimum(`${lines.join('\n')}\n`, 4, newton)
  })

  it('features that only some ranks have, renumbered', async () => {
    const text = imdb.replaceAll(/(\d+):/g, (_, index) => `${Number(index) * 7}:`)
    const first = await sameOptimum(text, 3, { ...newton, normalize: 'unit', tolerance: 1e-7 })
    assert.ok(first.features > 131072, 'so many that they are renumbered')
  })

  it('how features are scaled', async () => {
    for (const scale of ['minmax', 'standard'] as const) {
      const text = a9a.replaceAll(/ (\d+):1/g, (_, index) => ` ${index}:${1 + (Number(index) % 7)}`)
      await sameOptimum(text, 3, { ...newton, scale, tolerance: 1e-7 })
    }
  })

  it('a rank may have no rows', async () => {
    const parts = [folder.write('some.svm', a9a), folder.write('none.svm', '')]
    const alone = await train(parts[0], newton).result
    const [first] = await trainOnParts(parts, newton)
    near(first.primal!, alone.primal!, 1e-9, 'with a rank that has no rows')
  })

  it('refuse features that are counted from different numbers', async () => {
    const parts = [folder.write('from-0.svm', '1 0:1\n-1 1:1\n'), folder.write('from-1.svm', '1 1:1\n-1 2:1\n')]
    await assert.rejects(trainOnParts(parts, newton), /rank 0 counts features from 0 and rank 1 from 1/)
  })

  it('few rows are handed over, too, before a step together goes past the last pass', async () => {
    const few = unscaledRows(200, 5, 2, 25)
    for (const loss of ['hinge', 'logistic']) {
      const [first] = await trainOverRanks(folder, few, 2, { loss, cost: 100 })
      assert.deepEqual([first.solver, first.exitReason], ['newton', 'converged'], loss)
    }
  })

  it('refuse the l1 regularizer by its name: no solver was asked for', async () => {
    const l1 = { regularizer: 'l1', loss: 'logistic' } as const
    await assert.rejects(trainOverRanks(folder, a9a, 2, l1), (error: { message: string; advice?: string }) => {
      assert.match(error.message, /^the l1 regularizer is not compatible with 2 ranks/)
      assert.equal(error.advice, 'take --regularizer l2, or one rank')
      return true
    })
  })

  it('rows that have weights of their own', async () => {
    const weights = a9a
      .trimEnd()
      .split('\n')
      .map((_, k) => 1 + (k % 3))
    const border = Math.floor(weights.length / 2)
    for (const solver of ['newton', 'dual']) {
      const options = { solver, loss: 'logistic', tolerance: 1e-7 }
      const alone = await train(folder.write('weighted.svm', a9a), { ...options, rowWeights: weights }).result
      const [first] = await trainOverRanks(folder, a9a, 2, rank => ({
        ...options,
        rowWeights: rank === 0 ? weights.slice(0, border) : weights.slice(border),
      }))
      near(first.primal!, alone.primal!, 1e-6, solver)
    }
  })

  for (const solver of ['lbfgs', 'dual', 'admm', 'average']) {
    it(`an interrupt on one rank ends all of them, solver ${solver}`, async () => {
      const stop = AbortSignal.timeout(400)
      const options = (rank: number): TrainOptions => ({
        ...{ solver, loss: 'logistic', cost: 1000, tolerance: 1e-15, maxPasses: 100_000 },
        ...(rank === 1 && { signal: stop }),
      })
      const [first, second] = await trainOverRanks(folder, a9a, 2, options)
      assert.deepEqual([first.exitReason, second.exitReason], ['interrupted', 'interrupted'])
      assert.deepEqual(jsonOf(second.model).weights, jsonOf(first.model).weights)
    })
  }
})

describe('calibrations over ranks', () => {
  it('are fitted on the held-out rows of all of them', async () => {
    const options: TrainOptions = { solver: 'newton', loss: 'squared-hinge', calibrate: 'sigmoid', tolerance: 1e-6 }
    const alone = await train(folder.write('calibrated.svm', a9a), { ...options, threads: 1 }).result
    const results = await trainOverRanks(folder, a9a, 2, options)
    const sigmoidOf = ({ model }: TrainResult): { slope: number; offset: number } => {
      const [calibration] = model.calibrations ?? []
      assert.ok(calibration?.kind === 'sigmoid')
      return calibration
    }
    const [first, second] = results.map(sigmoidOf)
    assert.deepEqual(second, first)
    // Rows are dealt into other folds.
    near(first.slope, sigmoidOf(alone).slope, 0.1, 'the slope')
    assert.ok(Math.abs(first.offset - sigmoidOf(alone).offset) < 0.2)
  })
})

describe('what several ranks cannot do', () => {
  const cases: [TrainOptions, RegExp][] = [
    [{ weights: 'f32' }, /weights f32 are not compatible with 2 ranks/],
    [{ trainers: 2 }, /the option trainers is not compatible with 2 ranks/],
    [{ solver: 'selective' }, /solver selective is not compatible with 2 ranks/],
    [{ solver: 'pegasos' }, /solver pegasos is not compatible with 2 ranks: missing a way to put together/],
    [{ loss: 'ramp', solver: 'admm' }, /the ramp loss is not compatible with solver admm: missing a way to leave/],
    [{ solver: 'dual', calibrate: 'sigmoid' }, /the option calibrate is not compatible with 2 ranks: solver dual/],
  ]
  for (const [options, message] of cases) {
    it(`${message.source}`, async () => {
      await assert.rejects(trainOverRanks(folder, a9a, 2, options), message)
    })
  }
})
