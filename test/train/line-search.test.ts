// A run that ends short of its tolerance gives the best multiple of its weights: never worse than weights of 0, with a
// certificate that is true of the weights it gives, on every path.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { findLoss } from '../../src/losses/all-losses.ts'
import { type Model, scoreRow } from '../../src/model/model.ts'
import { Arena } from '../../src/numeric/arena.ts'
import { ROW_KIND_F32 } from '../../src/numeric/layouts.ts'
import { LastLook } from '../../src/optimise/driver/last-look.ts'
import { BinaryObjective } from '../../src/optimise/objectives/binary.ts'
import { LossesAlong, MULTIPLES } from '../../src/optimise/objectives/line-search.ts'
import type { Solution } from '../../src/optimise/objectives/solution.ts'
import { RowsInMemory, wholeGroup } from '../../src/optimise/sources/rows-in-memory.ts'
import { alone, type Communicator } from '../../src/ranks/communicator.ts'
import { ThreadPool } from '../../src/threads/pool.ts'
import type { TrainOptions } from '../../src/train/options.ts'
import { train } from '../../src/train/train.ts'
import type { TrainResult } from '../../src/train/training-run.ts'
import { tune } from '../../src/train/tune.ts'
import { asText, randomNumbers, type SomeRow } from '../cli/some-data.ts'
import { rowSetOf } from '../contracts/small-problems.ts'
import { fastFolder } from '../folders.ts'
import { writeRow } from '../numeric/reference.ts'

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
    const factor = (penalty: (t: number) => number, onlyIfWorse = false): number =>
      along.best({ lane: 0, penalty, onlyIfWorse }).factor
    // No losses at all: the shorter the better.
    assert.equal(
      factor(t => t),
      0,
    )
    assert.equal(
      factor(t => 1 - Math.min(t, 0.5), true),
      1,
    )
    assert.equal(
      factor(t => (t - 0.5) ** 2, true),
      1,
    )
    assert.equal(
      factor(t => (t - 0.25) ** 2, true),
      0.25,
    )
    assert.equal(
      factor(t => (t > 0.5 ? Number.NaN : 1 - t)),
      0.5,
    )
  })

  it('are few where these are certain to hold the best one of all', () => {
    const every = new LossesAlong()
    const best = MULTIPLES.indexOf(0.25)
    const model = { lane: 0, penalty: (t: number) => 1 + (t - 0.25) ** 2 }
    for (const [from, to] of [
      [best - 2, best + 2],
      [best - 1, best + 1],
      [1, best + 1],
      [best - 1, MULTIPLES.length - 1],
    ]) {
      const few = new LossesAlong(from, to)
      assert.ok(few.isCertain([model]), `${from} to ${to}`)
      assert.deepEqual(few.best(model), every.best(model))
    }
    // φ still falls at one end, or rises by less than rounding may do.
    for (const [from, to] of [
      [best + 1, best + 5],
      [best - 5, best - 1],
      [best, best + 3],
      [best - 3, best],
    ]) {
      assert.ok(!new LossesAlong(from, to).isCertain([model]), `${from} to ${to}`)
    }
    const flat = { lane: 0, penalty: (t: number) => 1e9 + (t - 0.25) ** 2 }
    assert.ok(!new LossesAlong(best - 2, best + 2).isCertain([flat]))
    assert.ok(!new LossesAlong(best - 2, best + 2).isCertain([model, { lane: 1, penalty: t => 1 + (t - 2) ** 2 }]))
    assert.ok(!new LossesAlong(best - 2, best + 2).isCertain([{ lane: 0, penalty: () => Number.NaN }]))
    assert.ok(every.isCertain([{ lane: 0, penalty: () => Number.NaN }]))
    // The next window stands around the best of this one.
    const next = new LossesAlong(best + 1, best + 5).around([model], 3)
    assert.deepEqual(next.best(model), every.best(model))
    assert.ok(next.isCertain([model]))
  })
})

describe('the best multiple of rows in memory', () => {
  const ROWS = 20_000
  const FEATURES = 4
  const random = randomNumbers(5)
  const arena = new Arena()
  const pool = new ThreadPool(arena.share, 2)
  const records = Array.from({ length: ROWS }, () => {
    const values = Array.from({ length: FEATURES }, () => Math.fround(random() - 0.5))
    // The first features tell the class, but for some rows.
    const positive = values[0] + values[1] / 2 + (random() - 0.5) / 4 > 0
    return writeRow(arena, ROW_KIND_F32, { indices: [0, 1, 2, 3], values }, { classNumber: positive ? 0 : 1 })
  })
  const set = rowSetOf(arena, records, FEATURES)
  after(() => pool.close())

  /** How a run with these weights ends, by the few multiples around that of a sample or, like ranks, by all of them. */
  async function end(loss: string, weights: number[], few: boolean): Promise<{ solution: Solution; tried: number }> {
    const settings = { loss: findLoss(loss), costPositive: 1, costNegative: 1, bias: 0, positive: 0 }
    const objective = new BinaryObjective(arena, set, { ...settings, weightBits: 64 }, { dual: false })
    objective.weightsInPlace().set(weights)
    let tried = 0
    const { lookAlong } = objective
    objective.lookAlong = (threads, group, looks, most) => {
      tried += looks[0].places.length * Math.min(most * 16, ROWS)
      return lookAlong.call(objective, threads, group, looks, most)
    }
    const source = new RowsInMemory(arena, pool, set)
    // Where other ranks have rows, all multiples are tried.
    const ranks: Communicator = few ? alone : { ...alone, size: 2 }
    const look = new LastLook(objective, source, { ranks, seed: 1, blockOrder: 'fixed' })
    look.begin()
    for await (const group of source.pass(source.groups())) await look.at(group)
    const how = { exitReason: 'max-passes' as const, passes: 1, tolerance: 0, dual: true }
    return { solution: look.solutions([null], undefined, how)[0], tried: tried / ROWS }
  }

  it('is the same whether few multiples are tried or all of them', async () => {
    const factors = new Set<number>()
    for (const loss of ['hinge', 'squared-hinge', 'logistic']) {
      for (const size of [1e-9, 0.01, 0.3, 1, 20, 1e6]) {
        const weights = [2 * size, size, 0.1 * size, -0.1 * size, 0]
        const [few, all] = [await end(loss, weights, true), await end(loss, weights, false)]
        assert.deepEqual(few.solution, all.solution, `${loss}, weights of about ${size}`)
        assert.equal(all.tried, MULTIPLES.length)
        factors.add(few.solution.short!.factor)
        if (size > 0.01 && size < 1e6) assert.ok(few.tried < 30, `${loss}, ${size}: ${few.tried} multiples a row`)
      }
    }
    assert.ok(factors.size > 5, `only ${[...factors]} were best`)
  })

  it('comes with the sums of the certificate, both as they are alone', async () => {
    for (const loss of ['hinge', 'squared-hinge', 'logistic']) {
      for (const weightBits of [64, 32] as const) {
        const settings = { loss: findLoss(loss), costPositive: 1, costNegative: 2, bias: 1, positive: 0, weightBits }
        const objective = new BinaryObjective(arena, set, settings)
        objective.weightsInPlace().set([2, 1, 0.1, -0.1, 0.3])
        arena.f64(objective.alpha, (ROWS * objective.alphaStride) / 8).fill(0.25)
        const group = wholeGroup(arena, set)
        const [apart, together] = [new LossesAlong(70, 80), new LossesAlong(70, 80)]
        const sums = await objective.evaluate(pool, group)
        await objective.lookAlong(pool, group, [apart], ROWS)
        assert.deepEqual(await objective.evaluateAlong(pool, group, [together]), sums, loss)
        const model = { lane: 0, penalty: () => 0 }
        assert.deepEqual(together.best(model), apart.best(model), loss)
        assert.ok(sums[0].some(sum => sum !== 0))
      }
    }
  })

  it('is 0 where the weights are on the wrong side', async () => {
    for (const loss of ['hinge', 'logistic']) {
      const [few, all] = [await end(loss, [-2, -1, 0, 0, 0], true), await end(loss, [-2, -1, 0, 0, 0], false)]
      assert.equal(all.solution.short!.factor, 0)
      assert.deepEqual(few.solution, all.solution)
    }
  })
})
