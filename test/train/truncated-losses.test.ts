// Truncated losses: a series of convex problems on the rows that are not outliers, rows in memory.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { UsageError } from '../../src/errors.ts'
import { crossValidate, type TrainOptions, type TrainResult, train, tune } from '../../src/index.ts'
import type { RelaxProgress } from '../../src/train/progress.ts'
import { noisyRows } from '../contracts/small-problems.ts'
import { randomNumbers } from '../numeric/reference.ts'
import { fastFolder, threeClasses } from '../out-of-core/fixture.ts'
import { isSlow } from '../slow.ts'
import { limitOf, marginsOf, rowsOf, type TruncatedTask, truncatedObjective } from './truncated-objective.ts'

const folder = fastFolder()
let files = 0
const fileOf = (text: string): string => folder.write(`rows-${++files}.svm`, `${text}\n`)

const convex = { ramp: 'hinge', 'truncated-squared-hinge': 'squared-hinge' } as const
const losses = ['ramp', 'truncated-squared-hinge'] as const
const text = noisyRows(400, 12, 3, 0.2)
const rows = rowsOf(text)
const path = fileOf(text)

interface Told {
  result: TrainResult
  looks: RelaxProgress[]
}

async function trained(data: string, options: TrainOptions): Promise<Told> {
  const run = train(data, { threads: 1, tolerance: 1e-6, ...options })
  const looks: RelaxProgress[] = []
  for await (const record of run) if (record.stage === 'relax') looks.push(record)
  return { result: await run.result, looks }
}

const near = (found: number, expected: number, precision: number, what = ''): void =>
  assert.ok(Math.abs(found - expected) <= precision * Math.abs(expected), `${what} ${found}, expected ${expected}`)

const ways: [string, TrainOptions][] = [
  ['dual', { solver: 'dual' }],
  ['newton', { solver: 'newton' }],
  ...(isSlow
    ? ([
        ['dual, without shrinking', { solver: 'dual', shrinking: false }],
        ['auto', {}],
      ] as [string, TrainOptions][])
    : []),
]

describe('a truncated loss', () => {
  for (const loss of losses) {
    for (const [name, options] of ways) {
      for (const more of [{}, { bias: 1, classWeights: { '+1': 2 }, outlierMargin: 0.5, cost: 3 }]) {
        const task: TruncatedTask = { loss, outlierMargin: 1, cost: 1, ...more }
        it(`reports its own objective and its outliers: ${loss}, ${name}, ${JSON.stringify(more)}`, async () => {
          const { result, looks } = await trained(path, { ...options, ...task })
          const { objective, outliers } = truncatedObjective(result.model, rows, task)
          near(result.primal!, objective, 1e-12, 'the objective')
          assert.equal(result.outliers, outliers)
          assert.equal(result.outlierMargin, task.outlierMargin)
          assert.equal(result.exitReason, 'converged')
          assert.equal(result.dual, null, 'a problem that is not convex has no dual')
          assert.ok(result.gap! <= 1e-6)
          assert.equal(looks.at(-1)!.objective, result.primal)
          assert.equal(looks.at(-1)!.relaxation, result.relaxations)
          const { certificate } = result.model
          assert.deepEqual(
            [certificate!.primal, certificate!.outliers, certificate!.relaxations],
            [result.primal, result.outliers, result.relaxations],
          )
        })
      }

      it(`never rises from one convex problem to the next, and has none but outliers left out: ${loss}, ${name}`, async () => {
        const { looks } = await trained(path, { ...options, loss })
        assert.ok(looks.length > 2, 'several problems were solved')
        assert.ok(
          looks.every(({ gap }) => gap! <= 1e-6),
          'each of them to the tolerance',
        )
        for (const [k, { objective }] of looks.entries())
          if (k > 0)
            assert.ok(objective <= looks[k - 1].objective * (1 + 1e-8), `${looks[k - 1].objective} ${objective}`)
        assert.ok(looks.at(-1)!.objective < 0.99 * looks[0].objective, 'it falls')
      })

      it(`ends at the optimum of the rows that it does not give up: ${loss}, ${name}`, async () => {
        const task: TruncatedTask = { loss, outlierMargin: 1, cost: 0.5 }
        const { result } = await trained(path, { ...options, ...task, tolerance: 1e-8 })
        const margins = marginsOf(result.model, rows)
        const left = text.split('\n').filter((_, i) => margins[i] >= limitOf(task))
        const plain = await train(fileOf(left.join('\n')), {
          ...{ loss: convex[loss], cost: 0.5, solver: 'dual', threads: 1, tolerance: 1e-9 },
        }).result
        const given = (rows.length - left.length) * 0.5 * 2
        near(result.primal!, plain.primal! + given, 1e-6, 'with what outliers cost, the convex optimum')
        assert.equal(result.outliers, rows.length - left.length)
        assert.ok(left.length < rows.length)
      })
    }

    it(`with a margin that no row is beyond is the convex loss: ${loss}`, async () => {
      const options: TrainOptions = { solver: 'dual', tolerance: 1e-8 }
      const { result } = await trained(path, { ...options, loss, outlierMargin: 1e6 })
      const plain = await train(path, { ...options, loss: convex[loss], threads: 1 }).result
      assert.deepEqual(result.model.weights, plain.model.weights)
      near(result.primal!, plain.primal!, 1e-13)
      assert.deepEqual([result.outliers, result.relaxations], [0, 0])
    })

    it(`of several classes has outliers of each: ${loss}`, async () => {
      const three = threeClasses(400, 5)
      const task: TruncatedTask = { loss, outlierMargin: 1, cost: 1 }
      for (const solver of ['dual', 'newton']) {
        const { result } = await trained(fileOf(three), { ...task, solver })
        const each = [0, 1, 2].map(k => truncatedObjective(result.model, rowsOf(three), task, k))
        const { classCertificates } = result.model
        for (const [k, { objective, outliers }] of each.entries()) {
          near(classCertificates[k].primal!, objective, 1e-12)
          assert.equal(classCertificates[k].outliers, outliers)
        }
        near(
          result.primal!,
          each.reduce((sum, { objective }) => sum + objective, 0),
          1e-12,
        )
        assert.equal(
          result.outliers,
          each.reduce((sum, { outliers }) => sum + outliers, 0),
        )
        assert.equal(result.gap, Math.max(...classCertificates.map(({ gap }) => gap!)))
      }
    })

    it(`counts the weights of rows: ${loss}`, async () => {
      const counts = rows.map((_, i) => 1 + (i % 3))
      const repeated = text.split('\n').flatMap((line, i) => Array.from({ length: counts[i] }, () => line))
      const options: TrainOptions = { loss, solver: 'dual', tolerance: 1e-8, outlierStart: 'full' }
      const weighted = await trained(path, { ...options, rowWeights: counts })
      const plain = await trained(fileOf(repeated.join('\n')), options)
      near(weighted.result.primal!, plain.result.primal!, 1e-6)
    })

    it(`with f32 weights, and with several trainers: ${loss}`, async () => {
      const task: TruncatedTask = { loss, outlierMargin: 1, cost: 1 }
      for (const more of [
        { weights: 'f32' as const, tolerance: 1e-4 },
        { trainers: 2, tolerance: 1e-5 },
      ]) {
        const { result } = await trained(path, { ...task, ...more, solver: 'dual' })
        assert.equal(result.exitReason, 'converged')
        const { objective, outliers } = truncatedObjective(result.model, rows, task)
        near(result.primal!, objective, 1e-6)
        assert.equal(result.outliers, outliers)
      }
    })
  }

  it('finds the lowest of all weights, where few rows have the other label', async () => {
    // Two clouds, and two of twenty rows with the other label.
    const random = randomNumbers(9)
    const lines = Array.from({ length: 20 }, (_, i) => {
      const side = i % 2 === 0 ? 1 : -1
      const label = i < 2 ? -side : side
      const [x, y] = i < 2 ? [3 * side, 1] : [side * (0.5 + random()), random() - 0.5]
      return `${label > 0 ? '+1' : '-1'} 1:${x} 2:${y}`
    })
    const plain = rowsOf(lines.join('\n'))
    for (const loss of losses) {
      const task: TruncatedTask = { loss, outlierMargin: 1, cost: 2 }
      const { result } = await trained(fileOf(lines.join('\n')), { ...task, solver: 'dual', tolerance: 1e-8 })
      assert.equal(result.outliers, 2)
      const at = (w: [number, number]): number =>
        truncatedObjective({ ...result.model, weights: { layout: 'dense', values: Float64Array.from(w) } }, plain, task)
          .objective
      let lowest = Number.POSITIVE_INFINITY
      for (let a = -4; a <= 4; a += 0.05) for (let b = -4; b <= 4; b += 0.05) lowest = Math.min(lowest, at([a, b]))
      assert.ok(result.primal! <= lowest, `${result.primal} ${lowest}`)
      assert.ok(result.primal! >= 0.98 * lowest, 'the grid is fine enough to say so')
    }
  })

  it('gives the same bits for the same seed, and for any number of threads', async () => {
    const large = fileOf(noisyRows(12_000, 10, 4))
    for (const solver of ['dual', 'newton']) {
      const options: TrainOptions = { loss: 'truncated-squared-hinge', solver, tolerance: 1e-3 }
      const [one, two] = [await trained(large, options), await trained(large, { ...options, threads: 2 })]
      assert.deepEqual(one.result.model, two.result.model)
      assert.deepEqual(
        one.looks.map(({ seconds: _, ...look }) => look),
        two.looks.map(({ seconds: _, ...look }) => look),
      )
    }
  })

  it('starts from a sample of 10,000 rows, or from all of them', async () => {
    const data = fileOf(noisyRows(12_000, 10, 4))
    const options: TrainOptions = { loss: 'ramp', solver: 'dual', tolerance: 1e-3 }
    const sample = await trained(data, options)
    const full = await trained(data, { ...options, outlierStart: 'full' })
    // Rows beyond the sample were left out at first, and come in.
    assert.ok(sample.looks[0].changed >= 2000)
    assert.equal(full.looks[0].changed, full.looks[0].outliers)
    const plain = await train(data, { solver: 'dual', threads: 1, tolerance: 1e-3 }).result
    assert.ok(full.looks[0].objective < plain.primal!)
    near(sample.result.primal!, full.result.primal!, 0.01)
  })

  it('says when its passes ran out, with the objective of what it has', async () => {
    const task: TruncatedTask = { loss: 'ramp', outlierMargin: 1, cost: 1 }
    for (const maxPasses of [1, 3, 20]) {
      const { result } = await trained(path, { ...task, solver: 'dual', maxPasses, tolerance: 1e-8 })
      assert.equal(result.exitReason, 'max-passes')
      assert.ok(result.passes <= maxPasses)
      const { objective, outliers } = truncatedObjective(result.model, rows, task)
      near(result.primal!, objective, 1e-12)
      assert.equal(result.outliers, outliers)
    }
  })

  it('ends at an interrupt with a model that is evaluated', async () => {
    const stop = new AbortController()
    const run = train(path, { loss: 'ramp', solver: 'dual', threads: 1, tolerance: 1e-9, signal: stop.signal })
    for await (const record of run) if (record.stage === 'relax' && record.relaxation === 1) stop.abort()
    const result = await run.result
    assert.equal(result.exitReason, 'interrupted')
    near(
      result.primal!,
      truncatedObjective(result.model, rows, { loss: 'ramp', outlierMargin: 1, cost: 1 }).objective,
      1e-12,
    )
  })
})

describe('a truncated loss is refused', () => {
  const refused = (options: TrainOptions, words: RegExp): Promise<void> =>
    assert.rejects(
      async () => train(path, options).result,
      (error: UsageError) => {
        assert.ok(error instanceof UsageError, `${error}`)
        assert.match(`${error.message}\n${error.advice}`, words)
        return true
      },
    )

  for (const solver of ['pegasos', 'one-pass', 'lbfgs', 'primal-coordinate'])
    it(`by solver ${solver}, in words`, () =>
      refused(
        { loss: 'truncated-squared-hinge', solver },
        new RegExp(
          `^the truncated-squared-hinge loss is not compatible with solver ${solver}: missing a way to leave outliers out\\n` +
            'take --solver dual, block, selective, stream, newton or indexed, or --loss squared-hinge$',
        ),
      ))
  it('under l1', () =>
    refused({ loss: 'truncated-squared-hinge', regularizer: 'l1' }, /missing a way to leave outliers out/))
  it('with all classes at once', () =>
    refused({ loss: 'ramp', multiclass: 'crammer-singer' }, /the ramp loss is not compatible/))
  it('and its options by other losses', async () => {
    await refused(
      { loss: 'hinge', outlierMargin: 1 },
      /^the option outlierMargin is for losses that give outliers up, and the hinge loss does not: it would be ignored\ntake --loss ramp or --loss truncated-squared-hinge$/,
    )
    await refused({ outlierStart: 'full' }, /^the option outlierStart is for losses that give outliers up/)
    await refused({ loss: 'ramp', outlierMargin: -1 }, /^outlierMargin is -1; expected a number of at least 0/)
  })
})

describe('a truncated loss with folds', () => {
  const options: TrainOptions = { loss: 'ramp', solver: 'dual', threads: 1, tolerance: 1e-5 }

  it('holds rows out: a fold scores them as a model of the others does', async () => {
    const folds = 4
    const { costs, models } = await crossValidate(path, { ...options, folds })
    assert.equal(models, folds)
    assert.ok(costs[0].folds.every(({ gap }) => gap <= 1e-5))
    // The folds are told by nobody, so what they add up to is looked at: rows that were trained on would be told better.
    const { result } = await trained(path, options)
    assert.ok(costs[0].accuracy > 0.6 && costs[0].accuracy < result.trainingAccuracy! + 0.02)
    assert.equal(
      costs[0].folds.reduce((sum, { rows }) => sum + rows, 0),
      rows.length,
    )
  })

  it('tells what the convex loss tells, fold by fold, where no row is beyond the margin', async () => {
    for (const loss of losses) {
      // So close that no row is told otherwise.
      const close: TrainOptions = { ...options, tolerance: 1e-10, bias: 1 }
      const told = await crossValidate(path, { ...close, loss, outlierMargin: 1e6, folds: 3 })
      const plain = await crossValidate(path, { ...close, loss: convex[loss], folds: 3 })
      const accuracies = (of: typeof told): number[] => of.costs[0].folds.map(({ accuracy }) => accuracy)
      assert.deepEqual(accuracies(told), accuracies(plain))
    }
  })

  it('is tuned over costs, and calibrated', async () => {
    const { costs, best, final } = await tune(path, { ...options, costs: [0.01, 0.1, 1], folds: 3 })
    assert.deepEqual(
      costs.map(({ cost }) => cost),
      [0.01, 0.1, 1],
    )
    assert.equal(final!.cost, best.cost)
    assert.ok(final!.outliers! >= 0 && final!.relaxations! >= 0)
    const { result } = await trained(path, { ...options, calibrate: 'sigmoid' })
    assert.equal(result.model.calibrations!.length, 1)
    const plain = await trained(path, options)
    assert.deepEqual(result.model.weights, plain.result.model.weights)
  })

  it('is the same over blocks, by any solver that has dual variables', async () => {
    const store = join(folder.path, 'folds.spill')
    const own = { ...options, cost: 0.1, folds: 3, tolerance: 1e-4 }
    const one = await crossValidate(fileOf(noisyRows(4000, 6, 7)), { ...own, store, blocks: 4, solver: 'block' })
    for (const solver of ['selective', 'stream', 'indexed']) {
      const told = await crossValidate(store, { ...own, solver })
      for (const [k, fold] of told.costs[0].folds.entries()) {
        assert.equal(fold.rows, one.costs[0].folds[k].rows)
        assert.ok(Math.abs(fold.accuracy - one.costs[0].folds[k].accuracy) <= 0.01, `${solver}, ${k}`)
        assert.ok(fold.gap <= 1e-4)
      }
    }
  })

  it('is refused by newton, with what to do', async () => {
    await assert.rejects(
      () => crossValidate(path, { ...options, solver: 'newton' }),
      (error: UsageError) => {
        assert.match(
          `${error.message}\n${error.advice}`,
          /^the ramp loss is not compatible with folds by solver newton: missing dual variables, .*\ntake --solver dual, or block where rows do not fit in memory, or --loss hinge$/,
        )
        return true
      },
    )
  })
})
