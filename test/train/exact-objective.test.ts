// A certificate is that of what `predict` computes, and of what anybody computes who has the model's numbers: the objective of
// the saved model on the text, in f64, is the primal value that training told.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { before, describe, it } from 'node:test'
import { tableOf } from '../../src/additive-kernels/row-space.ts'
import { spaceOf } from '../../src/features/additive-kernel.ts'
import { ingest, loadModel, predictRows, scoreRow, train } from '../../src/index.ts'
import { saveModel } from '../../src/model/files.ts'
import { writeJson } from '../../src/model/json-file.ts'
import { readLiblinear, writeLiblinear } from '../../src/model/liblinear-file.ts'
import type { Model } from '../../src/model/model.ts'
import type { TrainOptions } from '../../src/train/options.ts'
import { randomNumbers } from '../numeric/reference.ts'
import { fastFolder } from '../out-of-core/fixture.ts'
import { isSlow } from '../slow.ts'
import { type ExactProblem, type Expand, exactObjective, exactScores, type JsonModel } from './exact-objective.ts'

const folder = fastFolder()
const FEATURES = 24

/** Rows of features whose ranges lie far apart; some have most of them, some few. Values have more digits than f32. */
function someText(rows: number, classes: number, seed: number, least = -1): string {
  const random = randomNumbers(seed)
  const lines = Array.from({ length: rows }, (_, r) => {
    const keep = r === 0 ? 1 : r % 3 === 0 ? 0.9 : 0.25
    let sum = 0
    const entries: string[] = []
    for (let j = 0; j < FEATURES; j++) {
      if (random() > keep) continue
      const x = least + random() * (1 - least)
      sum += j % 2 === 0 ? x : -x
      // The last feature has whole numbers up to 200: half of them lie on the border of two of 100 bins.
      const value = j < FEATURES - 1 ? (x * 10 ** ((j % 7) - 3)).toPrecision(9) : r === 0 ? 200 : Math.round(x * 200)
      entries.push(`${j + 1}:${value}`)
    }
    const noisy = random() < 0.1 ? Math.floor(random() * classes) : sum > 0.5 ? classes - 1 : sum > 0 ? 1 : 0
    return [noisy === 0 ? -1 : noisy, ...entries].join(' ')
  })
  return `${lines.join('\n')}\n`
}

const texts = new Map<number, string>()
const paths = new Map<string, string>()
before(async () => {
  for (const classes of [2, 4]) {
    texts.set(classes, someText(150, classes, 11 + classes))
    const text = folder.write(`${classes}.svm`, texts.get(classes)!)
    paths.set(`${classes} text`, text)
    for (const values of ['f32', 'f64'] as const) {
      const store = join(folder.path, `${classes}-${values}.spill`)
      await ingest(text, store, { blocks: 4, threads: 1, values })
      paths.set(`${classes} ${values}`, store)
    }
  }
})

const jsonOf = (model: Model): JsonModel => JSON.parse(Buffer.concat([...writeJson(model)]).toString())

interface Case extends TrainOptions {
  classes?: 2 | 4
  /** In memory from text, or from a store. */
  way: 'memory' | 'block' | 'selective' | 'stream'
  values?: 'f32' | 'f64'
}

/** Trains, saves, reads again; the model's own numbers, as JSON, and the same by `predict`. */
async function check({ classes = 2, way, values = 'f32', ...options }: Case): Promise<void> {
  const text = texts.get(classes)!
  const data = paths.get(way === 'memory' ? `${classes} text` : `${classes} ${values}`)!
  const solver = way === 'memory' ? (options.regularizer === 'l1' ? 'primal-coordinate' : 'dual') : way
  const result = await train(data, {
    ...{ threads: 1, maxPasses: 30, tolerance: 1e-4, loss: 'hinge', cost: 1, ...options },
    ...(way === 'memory' && { values }),
    solver,
  }).result
  const path = join(folder.path, 'some.model')
  await saveModel(path, result.model)
  const model = await loadModel(path)
  const json = jsonOf(model)
  const problem: ExactProblem = {
    ...{ loss: result.loss, cost: result.cost, classWeights: options.classWeights ?? {}, values },
    multiclass: model.multiclass,
    regularizer: model.regularizer,
  }
  const space = spaceOf(json.transforms.expand)
  const expand = space && expandBy(space.bins, tableOf(space))
  const exact = exactObjective(text, json, problem, expand)
  const primal = result.primal!
  const what = JSON.stringify({ classes, way, values, ...options })
  // What `stream` did not read again it bounds, from above, within the gap it tells.
  const most = way === 'stream' ? result.gap! * primal : 0
  const above = primal - exact
  assert.ok(
    above >= -1e-9 * exact && above <= most + 1e-9 * exact,
    `${what}: ${primal} was certified, and the model has ${exact}: off by ${above / exact}`,
  )

  // Scores: of predict, of the reference, of whoever multiplies the weights by the factors.
  const scores = exactScores(text, json, values, expand)
  const size = Math.max(...scores.flat().map(Math.abs))
  const near = (found: number, expected: number, who: string): void =>
    assert.ok(Math.abs(found - expected) <= 1e-9 * size, `${what}, ${who}: the score ${found}, expected ${expected}`)
  if (values === 'f32') {
    const found: number[] = []
    for await (const piece of predictRows(paths.get(`${classes} text`)!, model, { threads: 1 }))
      found.push(...piece.scores)
    assert.equal(found.length, scores.flat().length)
    for (const [k, expected] of scores.flat().entries()) near(found[k], expected, 'predict')
  }
  const round = values === 'f32' ? Math.fround : (x: number): number => x
  const folded =
    space || model.transforms.normalize || model.multiclass !== 'one-vs-rest' || model.regularizer === 'l1'
      ? undefined
      : readLiblinear(Buffer.concat([...writeLiblinear(model)]), 'folded')
  text
    .trim()
    .split('\n')
    .forEach((line, row) => {
      const entries = line
        .split(' ')
        .slice(1)
        .map(entry => entry.split(':').map(Number))
      const indices = entries.map(([feature]) => feature - 1)
      const read = entries.map(([, value]) => round(value))
      for (const [k, score] of scoreRow(model, indices, read).entries()) near(score, scores[row][k], 'scoreRow')
      if (!folded) return
      for (const [k, score] of scoreRow(folded, indices, read).entries()) near(score, scores[row][k], 'LIBLINEAR')
    })
}

/** A value's bin, drawn from the product of value and factor as it is. */
function expandBy(bins: number, table: Float64Array): Expand {
  const width = table.length / (bins + 1)
  return value => {
    const bin = Math.min(Math.floor(Math.min(Math.abs(value), 1) * bins + 0.5), bins)
    return [...table.subarray(bin * width, (bin + 1) * width)].map(x => Math.sign(value) * x)
  }
}

const losses = ['hinge', 'squared-hinge', 'logistic'] as const
const scales = [{ scale: 'minmax' }, { scale: 'standard' }, {}] as const
const units = [{}, { normalize: 'unit' }] as const
const costs = [{ cost: 1000, bias: 1 }, { cost: 1 }] as const
const weights = [{ classWeights: { '-1': 20, '1': 0.5 } }, {}] as const
const ways = ['memory', 'block', 'selective', 'stream'] as const

function* product(): Generator<Case> {
  for (const way of ways)
    for (const loss of losses)
      for (const scale of scales)
        for (const unit of units)
          for (const cost of costs)
            for (const weight of weights)
              for (const classes of [2, 4] as const)
                for (const values of ['f32', 'f64'] as const)
                  yield { way, loss, classes, values, ...scale, ...unit, ...cost, ...weight }
}

describe('the certificate is that of what predict computes', () => {
  it('of every loss, scale, cost and way, some of all combinations', async () => {
    const all = [...product()]
    const every = isSlow ? 1 : 101
    for (let k = 0; k < all.length; k += every) await check(all[k])
  })

  it('with large costs and class weights, scaled, in memory and over blocks', async () => {
    for (const way of ['memory', 'block'] as const) {
      for (const scale of ['minmax', 'standard'] as const) {
        await check({
          way,
          scale,
          loss: 'squared-hinge',
          cost: 1000,
          bias: 1,
          classWeights: { '-1': 20 },
          maxPasses: 100,
        })
      }
    }
  })

  it('of several trainers, whose features have other numbers meanwhile', async () => {
    for (const scale of ['minmax', 'standard'] as const) {
      await check({ way: 'stream', scale, loss: 'hinge', threads: 2, cost: 10 })
    }
  })

  it('of all classes together, and under l1', async () => {
    for (const scale of ['minmax', 'standard'] as const) {
      const way = scale === 'minmax' ? 'memory' : 'block'
      await check({ way, scale, classes: 4, multiclass: 'crammer-singer', cost: 1000, bias: 1, maxPasses: 10 })
    }
    await check({ way: 'memory', scale: 'minmax', regularizer: 'l1', loss: 'squared-hinge', cost: 10, bias: 1 })
    await check({ way: 'memory', scale: 'standard', regularizer: 'l1', loss: 'logistic', normalize: 'unit' })
  })

  it('of kernels with learnt ranges', async () => {
    for (const way of ['memory', 'stream'] as const) {
      await check({ way, scale: 'minmax', kernel: 'chi2', bins: 100, cost: 100, bias: 1 })
    }
    await check({ way: 'block', values: 'f64', scale: 'minmax', kernel: 'chi2', cost: 100 })
    await check({ way: 'memory', scale: 'minmax', kernel: 'chi2', normalize: 'unit', cost: 100 })
  })
})
