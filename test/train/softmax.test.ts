// Multinomial logistic regression: scikit-learn's optimum, honest certificates, probabilities, and what does not go together.
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { describe, it, type TestContext } from 'node:test'
import { SpillwayError, UsageError } from '../../src/errors.ts'
import { crossValidate, predictRows, tune } from '../../src/index.ts'
import { loadModel, saveModel } from '../../src/model/files.ts'
import { writeLiblinear } from '../../src/model/liblinear-file.ts'
import { predictRow } from '../../src/model/predict-row.ts'
import { toDense } from '../../src/model/weights.ts'
import type { TrainOptions } from '../../src/train/options.ts'
import { train } from '../../src/train/train.ts'
import type { TrainResult } from '../../src/train/training-run.ts'
import { good } from '../cli/run.ts'
import { rowsOfSet } from '../data-sets/data-sets.ts'
import { type Row, unitLength, writeData } from '../data-sets/rows.ts'
import { testFolder } from '../input-formats/fixture.ts'
import { bitsOf, close, randomNumbers } from '../numeric/reference.ts'
import { isSlow, unlessSlow } from '../slow.ts'
import {
  noSklearn,
  objectives,
  type Problem,
  probabilitiesOf,
  sklearnWeights,
  type Weights,
  weightsOf,
} from './softmax-objective.ts'

const folder = testFolder()

type Certified = TrainResult & { primal: number; dual: number; gap: number }

async function trained(path: string, o: Problem, more: TrainOptions = {}): Promise<Certified> {
  return (await train(path, { ...o, multiclass: 'softmax', values: 'f64', ...more }).result) as Certified
}

/** Rows of as many classes, none of which a model tells apart fully; the same numbers every time. */
function someRows(count: number, classes: number, features: number): Row[] {
  const random = randomNumbers(classes * 1000 + count)
  return Array.from({ length: count }, (_, i) => {
    const label = (i % classes) + 1
    const all = Array.from({ length: features }, (_, j) => j + 1)
    const indices = all.filter(j => random() < (j % classes === label - 1 ? 0.7 : 0.3))
    return { label, indices, values: indices.map(() => Number((random() - 0.2).toFixed(3))) }
  })
}

/** The certificate again, from the weights alone. */
function assertCertified(rows: Row[], { model, primal, dual, gap }: Certified, o: Problem): void {
  const found = objectives(rows, weightsOf(model), o)
  close(found.primal, primal, 1e-10)
  assert.ok(Math.abs(found.dual - dual) <= 1e-10 * primal, `dual ${dual}, recomputed ${found.dual}`)
  assert.ok(Math.abs(gap - (primal - dual) / primal) <= 1e-15)
}

describe('the optimum', () => {
  for (const [classes, o] of [
    [2, { cost: 1 }],
    [3, { cost: 0.5, bias: 1 }],
    [5, { cost: 2, bias: 0.5, classWeights: { '1': 3, '4': 0.2 } }],
    [40, { cost: 1, bias: 1 }],
  ] as [number, Problem][]) {
    it(`${classes} classes: certified, by a gap that holds at every tolerance`, async () => {
      const rows = someRows(60 + 3 * classes, classes, 8)
      // A row without entries has a loss whatever the weights are.
      rows.push({ label: 1, indices: [], values: [] })
      const path = folder.write(`small-${classes}.svm`, writeData(rows))
      const best = await trained(path, o, { tolerance: 1e-10 })
      assert.equal(best.exitReason, 'converged')
      assert.deepEqual(
        [best.solver, best.loss, best.model.multiclass, best.model.vectors, best.model.loss],
        ['newton', 'logistic', 'softmax', classes, 'logistic'],
      )
      assertCertified(rows, best, o)
      const passes: number[] = []
      for (const tolerance of [0.3, 0.03, 0.003, 1e-6]) {
        const result = await trained(path, o, { tolerance })
        assert.ok(result.gap <= tolerance)
        assert.ok(result.dual <= best.primal * (1 + 1e-12) && best.dual <= result.primal * (1 + 1e-12))
        assertCertified(rows, result, o)
        passes.push(result.passes)
      }
      assert.deepEqual(
        [...passes].sort((a, b) => a - b),
        passes,
      )
    })
  }

  it('of two classes is half that of the binary problem at twice the cost, with w_1 = −w_2', async () => {
    // ½‖w‖² + ½‖−w‖² + C Σ log(1 + e^(−2 y wᵀx)) is, in u = 2w, half of ½‖u‖² + 2C Σ log(1 + e^(−y uᵀx)).
    const rows = someRows(200, 2, 12)
    const path = folder.write('two.svm', writeData(rows))
    const both = await trained(path, { cost: 0.7, bias: 1 }, { tolerance: 1e-10 })
    const one = await train(path, {
      cost: 1.4,
      bias: 1,
      loss: 'logistic',
      solver: 'newton',
      tolerance: 1e-10,
      values: 'f64',
    }).result
    close(both.primal, one.primal! / 2, 1e-9)
    const { w, b } = weightsOf(both.model)
    const u = weightsOf(one.model).w
    for (let j = 0; j < 12; j++) {
      assert.ok(Math.abs(w[2 * j] + w[2 * j + 1]) <= 1e-12)
      assert.ok(Math.abs(2 * w[2 * j] - u[j]) <= 1e-4)
    }
    assert.ok(Math.abs(b[0] + b[1]) <= 1e-12)
    assert.equal(both.trainingAccuracy, one.trainingAccuracy)
  })

  it('a weight of a row counts as the row so many times', async () => {
    const rows = someRows(90, 3, 7)
    const counts = rows.map((_, i) => [1, 2, 1, 3][i % 4])
    const repeated = rows.flatMap((row, i) => Array.from({ length: counts[i] }, () => row))
    const o = { cost: 0.5, bias: 1 }
    const weighted = await trained(folder.write('weighted.svm', writeData(rows)), o, {
      rowWeights: counts,
      tolerance: 1e-9,
    })
    close(weighted.primal, objectives(repeated, weightsOf(weighted.model), o).primal, 1e-10)
    close(
      weighted.primal,
      (await trained(folder.write('repeated.svm', writeData(repeated)), o, { tolerance: 1e-9 })).primal,
      1e-8,
    )
  })

  it('rows are scaled and made unit length before', async () => {
    const rows = someRows(90, 3, 7)
    const path = folder.write('scaled.svm', writeData(rows))
    const o = { cost: 1 }
    const unit = await trained(path, o, { normalize: 'unit', tolerance: 1e-9 })
    assertCertified(rows.map(unitLength), unit, o)
    const scaled = await trained(path, o, { scale: 'standard', tolerance: 1e-9 })
    const { factors } = scaled.model.transforms.scale!
    const byFeature = toDense(factors, scaled.model.features, 1, 1)
    const made = rows.map(row => ({ ...row, values: row.values.map((x, e) => x * byFeature[row.indices[e] - 1]) }))
    assertCertified(made, scaled, o)
  })

  it('is the same to the bit for any number of threads', async () => {
    const path = folder.write('threads.svm', writeData(someRows(400, 7, 30)))
    const bits = async (more: TrainOptions): Promise<bigint[]> => {
      const { model } = await trained(path, { cost: 1, bias: 1 }, more)
      return bitsOf([...toDense(model.weights, model.features, model.vectors), ...model.biasWeights])
    }
    const first = await bits({ threads: 1 })
    assert.deepEqual(await bits({ threads: 3 }), first)
    assert.deepEqual(await bits({}), first)
  })

  it('a run that ends short is certified, and no worse than weights of 0', async () => {
    const rows = someRows(200, 4, 12)
    const path = folder.write('short.svm', writeData(rows))
    for (const maxPasses of [1, 2, 5]) {
      const result = await trained(path, { cost: 3 }, { maxPasses, tolerance: 1e-12 })
      assert.equal(result.exitReason, 'max-passes')
      close(objectives(rows, weightsOf(result.model), { cost: 3 }).primal, result.primal, 1e-10)
      assert.ok(result.primal <= 3 * rows.length * Math.log(4) * (1 + 1e-12))
    }
  })
})

/** A data set, trained by both. Values are those that both read: written in full. */
async function compare(t: TestContext, name: string, rows: Row[], cost: number, solver = 'newton'): Promise<void> {
  const path = folder.write(`${name}.svm`, writeData(rows))
  const result = await trained(path, { cost }, { tolerance: 2e-7, solver })
  assert.equal(result.exitReason, 'converged')
  assertCertified(rows, result, { cost })
  if (noSklearn) return t.diagnostic(noSklearn)
  const theirs = objectives(rows, sklearnWeights(path, result.features, cost), { cost })
  close(result.primal, theirs.primal, 1e-6)
  assert.ok(result.dual <= theirs.primal * (1 + 1e-9), 'the dual is above what scikit-learn reaches')
}

/** Pixels from 0 to 1. */
const brightness = (row: Row): Row => ({ ...row, values: row.values.map(x => x / 255) })

describe('data sets, against the multinomial logistic regression of scikit-learn', () => {
  it('dna.scale', t => compare(t, 'dna', rowsOfSet('dna.scale'), 1))
  const digits = isSlow ? 10_000 : 2000
  it(`mnist, ${digits} rows`, t => compare(t, 'mnist', rowsOfSet('mnist', k => k < digits).map(brightness), 0.02))
  const news = (): Row[] => rowsOfSet('news20bydate', k => isSlow || k % 8 === 0).map(unitLength)
  it('news20', t => compare(t, 'news20', news(), 0.1))
  it('dna.scale, by lbfgs', t => compare(t, 'dna', rowsOfSet('dna.scale'), 1, 'lbfgs'))
  it('news20, by lbfgs', { skip: unlessSlow }, t => compare(t, 'news20', news(), 0.1, 'lbfgs'))
})

describe('probabilities', () => {
  for (const classes of [2, 4]) {
    it(`${classes} classes: text, library and both kinds of file agree`, async () => {
      const cwd = folder.path
      const rows = someRows(80, classes, 9)
      const path = folder.write(`p-${classes}.svm`, writeData(rows))
      const args = ['--multiclass', 'softmax', '--bias', '1', '--values', 'f64', '-q']
      await good(['train', path, `p-${classes}.model`, ...args], { cwd })
      const model = await loadModel(`${cwd}/p-${classes}.model`)
      assert.deepEqual([model.multiclass, model.loss, model.vectors], ['softmax', 'logistic', classes])
      const weights: Weights = weightsOf(model)
      const wanted = rows.map(row => probabilitiesOf(row, weights, 1))
      const near = (found: ArrayLike<number>, k: number): void => {
        assert.equal(found.length, classes)
        for (const [c, p] of wanted[k].entries()) assert.ok(Math.abs(found[c] - p) <= 1e-13)
      }
      const { stdout } = await good(['predict', path, `p-${classes}.model`, '-', '--probability', '--header', '-q'], {
        cwd,
      })
      const [header, ...lines] = stdout.trim().split('\n')
      assert.equal(header, `labels ${model.labels.map(({ text }) => text).join(' ')}`)
      for (const [k, line] of lines.entries()) {
        const [label, ...numbers] = line.split(' ')
        near(numbers.map(Number), k)
        // The label is the likeliest.
        assert.equal(Number(label), weights.labels[wanted[k].indexOf(Math.max(...wanted[k]))])
      }
      assert.equal(lines.length, rows.length)
      await saveModel(`${cwd}/again.model`, model)
      for (const known of [model, await loadModel(`${cwd}/again.model`)]) {
        for (const [k, { indices, values }] of rows.entries())
          near(predictRow(known, [indices, values]).probabilities!, k)
        let before = 0
        for await (const { probabilities, labels } of predictRows(path, known, { probability: true })) {
          for (let r = 0; r < labels.length; r++)
            near(probabilities!.subarray(r * classes, (r + 1) * classes), before + r)
          before += labels.length
        }
        assert.equal(before, rows.length)
      }
      await good(['convert', `p-${classes}.model`, `p-${classes}.json`, '--to', 'json'], { cwd })
      const json = JSON.parse(readFileSync(`${cwd}/p-${classes}.json`, 'utf8'))
      assert.deepEqual([json.multiclass, json.vectors], ['softmax', classes])
      const report = await good(['predict', path, `p-${classes}.model`, `${cwd}/out`, '--evaluate', '--json', '-q'], {
        cwd,
      })
      const logLoss = rows.reduce((sum, row, k) => sum - Math.log(wanted[k][weights.labels.indexOf(row.label)]), 0)
      close(JSON.parse(report.stdout).evaluation.logLoss, logLoss / rows.length, 1e-12)
      const inspected = await good(['inspect', `p-${classes}.model`], { cwd })
      assert.match(inspected.stdout, /classes +softmax/)
    })
  }

  it('LIBLINEAR has no such model', async () => {
    const cwd = folder.path
    const path = folder.write('convert.svm', writeData(someRows(40, 3, 6)))
    await good(['train', path, 'convert.model', '--multiclass', 'softmax', '-q'], { cwd })
    const model = await loadModel(`${cwd}/convert.model`)
    assert.throws(
      () => [...writeLiblinear(model)],
      (error: Error) => {
        assert.ok(error instanceof SpillwayError)
        assert.match(
          error.message,
          /LIBLINEAR has no problem of all classes with the logistic loss, multiclass softmax/,
        )
        return true
      },
    )
    assert.ok(!existsSync(`${cwd}/convert.liblinear`))
  })
})

describe('what does not go together', () => {
  const path = folder.write('refused.svm', writeData(someRows(30, 3, 6)))
  const refused = async (more: TrainOptions, message: RegExp): Promise<void> => {
    await assert.rejects(trained(path, { cost: 1 }, more), (error: Error) => {
      assert.ok(error instanceof UsageError, String(error))
      assert.match(error.message, message)
      return true
    })
  }
  it('is refused before anything is read', async () => {
    const other = /loss is not compatible with multiclass softmax, which is a problem of the logistic loss/
    await refused({ loss: 'hinge' }, other)
    await refused({ loss: 'squared-hinge' }, other)
    for (const solver of ['dual', 'block']) {
      await refused({ solver }, /is not compatible with multiclass softmax: it moves dual variables/)
    }
    for (const solver of ['stream', 'selective']) {
      await refused({ solver }, /is not compatible with multiclass softmax: it trains one class after the other/)
    }
    await refused({ weights: 'f32' }, /weights f32 are not compatible with multiclass softmax/)
    await refused({ trainers: 2 }, /trainers is not compatible with multiclass softmax/)
    await refused({ calibrate: 'sigmoid' }, /not for multiclass softmax/)
    await refused({ regularizer: 'l1' }, /l1|softmax/)
    await refused(
      { multiclass: 'crammer-singer', solver: 'newton' },
      /solver newton is not compatible with multiclass crammer-singer: it follows a gradient/,
    )
    await refused({ kernel: 'chi2' }, /a kernel is not compatible with multiclass softmax/)
    const folds = { multiclass: 'softmax', folds: 3 } as const
    await assert.rejects(async () => crossValidate(path, folds), /multiclass softmax/)
    await assert.rejects(async () => tune(path, folds), /multiclass softmax/)
  })
  it('the logistic loss may be said, and newton', async () => {
    const [one, other] = [
      await trained(path, { cost: 1 }),
      await trained(path, { cost: 1 }, { loss: 'logistic', solver: 'newton' }),
    ]
    assert.deepEqual(other.model.weights, one.model.weights)
  })
  it('weights of all classes that do not fit', async () => {
    const many = Array.from({ length: 3000 }, (_, k) => `${k} ${k + 1}:1 ${(k % 7) + 3001}:1\n`).join('')
    await assert.rejects(
      trained(folder.write('wide.svm', many), { cost: 1 }, { memory: '300M' }),
      /3000 classes do not fit:[\s\S]*gradients and steps of solver newton/,
    )
  })
})
