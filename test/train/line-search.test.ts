// A run that ends short of its tolerance gives the best multiple of its weights: never worse than weights of 0, with a
// certificate that is true of the weights it gives, on every path.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { findLoss } from '../../src/losses/all-losses.ts'
import { type Model, scoreRow } from '../../src/model/model.ts'
import { LossesAlong, MULTIPLES } from '../../src/optimise/objectives/line-search.ts'
import type { TrainOptions } from '../../src/train/options.ts'
import { train } from '../../src/train/train.ts'
import type { TrainResult } from '../../src/train/training-run.ts'
import { tune } from '../../src/train/tune.ts'
import { asText, randomNumbers, type SomeRow } from '../cli/some-data.ts'
import { fastFolder } from '../folders.ts'

const folder = fastFolder()
const COST = 1000

/** Long rows whose labels nearly anything explains: dual sweeps overshoot on them for thousands of passes. */
function wildRows(rows: number, classes: number, size = 1000): SomeRow[] {
  const random = randomNumbers(7)
  return Array.from({ length: rows }, () => {
    const place = Math.floor(random() * classes)
    const label = classes === 2 ? [-1, 1][place] : place + 1
    const entries = Array.from({ length: 6 }, (_, j): [number, number] => {
      const value = (random() - 0.5) * size * ((j % 3) + 1) + place * 0.1
      return [j + 1, Math.fround(Number(value.toFixed(2)))]
    })
    return { label, entries }
  })
}

const two = wildRows(200, 2)
const four = wildRows(200, 4)
const twoPath = folder.write('two.svm', asText(two))
const fourPath = folder.write('four.svm', asText(four))

/** The objective of a model by its own scores, plainly; and that of weights of 0. */
function objectives(model: Model, rows: SomeRow[], cost = COST): { primal: number; atZero: number } {
  const all = [...model.weights.values, ...model.biasWeights]
  const length = all.reduce((sum, w) => sum + (model.regularizer === 'l1' ? Math.abs(w) : 0.5 * w * w), 0)
  const { value } = findLoss(model.loss)
  let [losses, atZero] = [0, 0]
  for (const { label, entries } of rows) {
    const indices = entries.map(([j]) => j - model.indexBase)
    const scores = scoreRow(
      model,
      indices,
      entries.map(([, x]) => x),
    )
    const y = model.labels.findIndex(other => other.value === label)
    if (model.multiclass === 'crammer-singer') {
      const others = scores.filter((_, k) => k !== y)
      losses += value(scores[y] - Math.max(...others))
      atZero += value(0)
      continue
    }
    for (let k = 0; k < model.vectors; k++) {
      losses += value(y === k ? scores[k] : -scores[k])
      atZero += value(0)
    }
  }
  return { primal: length + cost * losses, atZero: cost * atZero }
}

function assertHonest(result: TrainResult, rows: SomeRow[], what: string, relative = 1e-9): void {
  const { primal, atZero } = objectives(result.model, rows)
  assert.ok(result.primal! <= atZero * (1 + 1e-12), `${what}: ${result.primal} is worse than weights of 0, ${atZero}`)
  assert.ok(
    Math.abs(primal - result.primal!) <= relative * primal,
    `${what}: ${result.primal} is told, ${primal} is true`,
  )
  if (result.gap === null) return
  assert.ok(result.dual! <= result.primal!)
  assert.ok(Math.abs(result.gap - (result.primal! - result.dual!) / result.primal!) <= 1e-12)
}

let stores = 0
const store = (): string => join(folder.path, `${stores++}.spill`)

describe('a run that ends short of its tolerance', () => {
  it('is never worse than weights of 0, with all rows in memory', async () => {
    const paths: [string, TrainOptions, SomeRow[]][] = [
      ...['hinge', 'squared-hinge', 'logistic'].flatMap((loss): [string, TrainOptions, SomeRow[]][] => [
        [twoPath, { loss, ...(loss === 'hinge' && { bias: 1, weights: 'f32' }) }, two],
        [fourPath, { loss, bias: 1 }, four],
      ]),
      [twoPath, { loss: 'squared-hinge', regularizer: 'l1' }, two],
      [twoPath, { loss: 'logistic', regularizer: 'l1' }, two],
      [fourPath, { loss: 'hinge', multiclass: 'crammer-singer' }, four],
    ]
    let shortened = 0
    for (const [path, options, rows] of paths) {
      for (const maxPasses of [1, 20]) {
        const result = await train(path, { cost: COST, tolerance: 1e-6, maxPasses, threads: 1, ...options }).result
        assertHonest(result, rows, JSON.stringify({ ...options, maxPasses }))
        if (result.exitReason === 'converged') continue
        const { shortfall } = result.model
        assert.ok(shortfall, JSON.stringify(options))
        if (shortfall.factors.some(factor => factor !== 1)) shortened++
      }
    }
    assert.ok(shortened > 6, `only ${shortened} runs had to be shortened`)
  })

  it('is never worse than weights of 0, over blocks', async () => {
    const paths: [string, TrainOptions, SomeRow[]][] = [
      ...['block', 'selective', 'stream', 'pegasos'].map((solver): [string, TrainOptions, SomeRow[]] => [
        twoPath,
        { solver },
        two,
      ]),
      [twoPath, { solver: 'stream', loss: 'logistic', bias: 1 }, two],
      [twoPath, { solver: 'block', weights: 'f32' }, two],
      [twoPath, { solver: 'one-pass', loss: 'squared-hinge', maxPasses: 1 }, two],
      ...['block', 'selective', 'stream'].map((solver): [string, TrainOptions, SomeRow[]] => [
        fourPath,
        { solver, bias: 1 },
        four,
      ]),
      [fourPath, { solver: 'block', multiclass: 'crammer-singer' }, four],
    ]
    for (const [path, options, rows] of paths) {
      const settings = { cost: COST, maxPasses: 3, threads: 1, store: store(), blocks: 3, ...options }
      const result = await train(path, settings).result
      assertHonest(result, rows, JSON.stringify(options))
    }
  })

  it('tells the truth of kernels and of expanded features', async () => {
    const small = two.map(({ label, entries }) => ({
      label,
      entries: entries.map(([j, x]): [number, number] => [j, Math.fround(Math.abs(x) / 2000)]),
    }))
    const path = folder.write('small.svm', asText(small))
    for (const options of [
      { kernel: 'chi2', bins: 100 },
      { kernel: 'chi2', bins: 100, solver: 'block', store: store() },
      { expand: 'polynomial:2' },
      { expand: 'polynomial:2', solver: 'block', store: store() },
    ]) {
      const result = await train(path, { cost: COST, tolerance: 1e-9, maxPasses: 2, threads: 1, ...options }).result
      // Table vectors are kept as f32.
      assertHonest(result, small, JSON.stringify(options), 1e-4)
      assert.equal(result.exitReason, 'max-passes')
    }
  })

  it('goes on from the weights that it had, not from those that it gave', async () => {
    for (const solver of ['block', 'selective', 'stream']) {
      const data = twoPath
      const options = { cost: COST, solver, threads: 1, blocks: 3 }
      const [cut, whole] = [store(), store()]
      const first = await train(data, { ...options, maxPasses: 2, store: cut }).result
      assert.notDeepEqual(first.model.shortfall!.factors, [1], 'it had to be shortened')
      const rest = await train(cut, { ...options, blocks: undefined, maxPasses: 6, resume: true }).result
      assert.ok(rest.dual! >= first.dual!, `${solver}: the dual objective fell`)
      assertHonest(rest, two, solver)
      // What stream does between two rounds depends on the passes that are left.
      if (solver === 'stream') continue
      const once = await train(data, { ...options, maxPasses: 6, store: whole }).result
      assert.deepEqual(rest.model.weights, once.model.weights, solver)
      assert.equal(rest.primal, once.primal)
    }
  })

  it('is safe when it is interrupted between blocks, though nothing is certified then', async () => {
    for (const [path, rows] of [
      [twoPath, two],
      [fourPath, four],
    ] as const) {
      const stop = new AbortController()
      const settings = { cost: COST, solver: 'block', threads: 1, store: store(), blocks: 4, tolerance: 1e-6 }
      // Blocks are tiny: with a checkpoint after each of them there is a moment between two.
      const run = train(path, { ...settings, maxPasses: 100_000, signal: stop.signal })
      let seen = 0
      for await (const record of run) if (record.stage === 'train' && ++seen === 3) stop.abort()
      const result = await run.result
      assert.equal(result.exitReason, 'interrupted')
      const { primal, atZero } = objectives(result.model, rows)
      assert.ok(primal <= atZero * (1 + 1e-12), `${primal} is worse than ${atZero}`)
      assert.ok(result.model.shortfall)
    }
  })

  it('leaves the final model of a search for the cost honest as well', async () => {
    for (const over of [{}, { solver: 'block', store: store() }]) {
      const tuning = await tune(twoPath, { costs: [COST], folds: 2, maxPasses: 3, threads: 1, ...over })
      assertHonest(tuning.final!, two, JSON.stringify(over))
      for (const { accuracy } of tuning.costs[0].folds) assert.ok(accuracy >= 0 && accuracy <= 1)
    }
  })
})

describe('a run that reaches its tolerance', () => {
  it('gives its weights as they are, and says nothing', async () => {
    const path = folder.write('tame.svm', asText(wildRows(60, 2, 1)))
    for (const solver of ['dual', 'block', 'stream']) {
      const place = solver === 'dual' ? {} : { store: store() }
      const result = await train(path, { solver, threads: 1, ...place }).result
      assert.equal(result.exitReason, 'converged')
      assert.equal(result.model.shortfall, undefined)
    }
  })
})

describe('the multiples that are tried', () => {
  it('are 0, 1 and powers of √2', () => {
    assert.equal(MULTIPLES[0], 0)
    assert.equal(MULTIPLES[1], 2 ** -40)
    assert.ok(MULTIPLES.includes(1))
    assert.equal(MULTIPLES.at(-1), 2 ** 8)
  })

  it('are not looked at by a method that meant to end there, unless w = 0 is better', () => {
    const along = new LossesAlong()
    // No losses at all: the shorter the better.
    assert.equal(along.best(0, t => t).factor, 0)
    assert.equal(along.best(0, t => 1 - Math.min(t, 0.5), { onlyIfWorse: true }).factor, 1)
    assert.equal(along.best(0, t => (t - 0.5) ** 2, { onlyIfWorse: true }).factor, 1)
    assert.equal(along.best(0, t => (t - 0.25) ** 2, { onlyIfWorse: true }).factor, 0.25)
    assert.equal(along.best(0, t => (t > 0.5 ? Number.NaN : 1 - t)).factor, 0.5)
  })
})
