// Coordinate descent over features, under the l1 regulariser for the most part: the optimum of small problems found by bisection, LIBLINEAR's
// objective on real and generated data, certificates recomputed on plain arrays, zeros that are zero, and what is refused.
import assert from 'node:assert/strict'
import { after, before, describe, it, type TestContext } from 'node:test'
import { findLoss } from '../../../src/losses/all-losses.ts'
import { loadModel, saveModel } from '../../../src/model/files.ts'
import { type Model, scoreRow } from '../../../src/model/model.ts'
import { toDense } from '../../../src/model/weights.ts'
import { Arena } from '../../../src/numeric/arena.ts'
import type { DriverSettings } from '../../../src/optimise/driver/driving.ts'
import type { PassProgress } from '../../../src/optimise/driver/progress.ts'
import { L1Objective } from '../../../src/optimise/objectives/l1.ts'
import type { Solution } from '../../../src/optimise/objectives/solution.ts'
import { findSolver } from '../../../src/optimise/solvers/all-solvers.ts'
import { checkCompatible } from '../../../src/optimise/solvers/compatibility.ts'
import type { MemorySolver } from '../../../src/optimise/solvers/solver.ts'
import { loadRows } from '../../../src/rows/load-rows.ts'
import type { RowSet } from '../../../src/rows/row-set.ts'
import { ThreadPool } from '../../../src/threads/pool.ts'
import type { TrainOptions } from '../../../src/train/options.ts'
import { train } from '../../../src/train/train.ts'
import type { TrainResult } from '../../../src/train/training-run.ts'
import { driven } from '../../contracts/driving.ts'
import { noisyRows } from '../../contracts/small-problems.ts'
import { rowsOfSet } from '../../data-sets/data-sets.ts'
import { type Row, unitLength, writeData } from '../../data-sets/rows.ts'
import { settings as readSettings, testFolder } from '../../input-formats/fixture.ts'
import { referenceParse } from '../../input-formats/reference-parser.ts'
import { bitsOf, randomNumbers } from '../../numeric/reference.ts'
import { threeClasses } from '../../out-of-core/fixture.ts'
import { isSlow } from '../../slow.ts'
import { noLiblinear } from '../../train/liblinear.ts'
import {
  dualL1,
  gradientOf,
  type L1Task,
  type LiblinearSettings,
  liblinearL1,
  marginsOf,
  objectiveL1,
  optimumL1,
  type SmoothLoss,
} from './l1-reference.ts'

const folder = testFolder()
const losses: SmoothLoss[] = ['squared-hinge', 'logistic']
const solver = findSolver('primal-coordinate') as MemorySolver

describe('small problems', () => {
  const FEATURES = 12
  const text = noisyRows(90, FEATURES, 11)
  const parsed = referenceParse(Buffer.from(text), 1, 32)
  const arena = new Arena()
  let pool: ThreadPool
  let rows: RowSet
  before(async () => {
    pool = new ThreadPool(arena.share, 2)
    const path = folder.write('small.svm', text)
    rows = (await loadRows(arena, pool, [path], readSettings, { unit: false, plain: false }, () => {})).rows
  })
  after(() => pool.close())

  const taskOf = (loss: SmoothLoss, costPositive: number, costNegative: number, bias: number): L1Task => ({
    rows: parsed.rows.map(({ label, indices, values }) => ({ indices, values, positive: label > 0 })),
    features: parsed.features,
    loss,
    costPositive,
    costNegative,
    bias,
  })
  async function run(
    task: L1Task,
    given: Partial<DriverSettings> = {},
  ): Promise<{ solution: Solution; progress: PassProgress[]; w: number[]; alpha: number[] }> {
    const problem = new L1Objective(arena, rows, {
      loss: findLoss(task.loss),
      costPositive: task.costPositive,
      costNegative: task.costNegative,
      bias: task.bias,
      positive: rows.labels.findIndex(label => label.value === 1),
      weightBits: 64,
      regularizer: 'l1',
    })
    const progress: PassProgress[] = []
    const solution = await driven(pool, solver, problem, rows, given, record => progress.push(record))
    const stride = problem.alphaStride / 8
    const alpha = [...arena.f64(problem.alpha, rows.rows * stride)].filter((_, k) => k % stride === 0)
    return { solution, progress, w: [...problem.copyWeights()], alpha }
  }
  /** What a certificate says, again from w and α alone. */
  const checkCertificate = (
    task: L1Task,
    { solution, w, alpha }: Awaited<ReturnType<typeof run>>,
    what: string,
  ): { primal: number; dual: number; gap: number } => {
    const { primal, dual, gap, trainingAccuracy } = solution.certificate!
    assert.ok(Math.abs(primal - objectiveL1(task, w)) <= 1e-12 * primal, `${what}: the primal is not ${primal}`)
    assert.ok(Math.abs(dual! - dualL1(task, alpha)) <= 1e-11 * primal, `${what}: the dual is not ${dual}`)
    assert.ok(Math.abs(gap! - (primal - dual!) / primal) <= 1e-15)
    const right = marginsOf(task, w).filter((m, i) => (task.rows[i].positive ? m > 0 : m >= 0))
    assert.equal(trainingAccuracy, right.length / task.rows.length)
    return { primal, dual: dual!, gap: gap! }
  }

  for (const loss of losses) {
    it(`${loss}: reaches the optimum, with a certificate that holds and zeros that are zero`, async () => {
      for (const bias of [0, 1, -2.5]) {
        for (const [costPositive, costNegative] of [
          [1, 1],
          [3, 0.5],
          [0.01, 0.01],
          [40, 10],
        ]) {
          const task = taskOf(loss, costPositive, costNegative, bias)
          const best = optimumL1(task)
          const optimum = objectiveL1(task, best)
          const gradient = gradientOf(task, best)
          for (const shrinking of [true, false]) {
            const what = `bias ${bias}, costs ${costPositive} and ${costNegative}, shrinking ${shrinking}`
            const found = await run(task, { shrinking })
            assert.equal(found.solution.exitReason, 'converged', what)
            const { primal, dual, gap } = checkCertificate(task, found, what)
            assert.ok(gap <= 1e-8, `${what}: the gap is ${gap}`)
            assert.ok(Math.abs(primal - optimum) <= 2e-8 * optimum, `${what}: ${primal}, the optimum is ${optimum}`)
            assert.ok(dual <= optimum * (1 + 1e-11), `${what}: the dual ${dual} is above the optimum ${optimum}`)
            found.w.forEach((x, j) => {
              if (Math.abs(gradient[j]) < 1 - 1e-3) assert.ok(Object.is(x, 0), `${what}: weight ${j} is ${x}`)
            })
          }
        }
      }
    })

    it(`${loss}: the same seed gives the same bits, another seed the same optimum`, async () => {
      const task = taskOf(loss, 1, 1, 1)
      const [one, again, other] = [await run(task), await run(task), await run(task, { seed: 12345 })]
      assert.deepEqual(bitsOf(again.w), bitsOf(one.w))
      assert.deepEqual(again.progress, one.progress)
      assert.notDeepEqual(bitsOf(other.w), bitsOf(one.w))
      const primal = one.solution.certificate!.primal
      assert.ok(Math.abs(other.solution.certificate!.primal - primal) <= 2e-8 * primal)
    })

    it(`${loss}: stops within its tolerance`, async () => {
      const task = taskOf(loss, 1, 1, 1)
      for (const tolerance of [0.5, 0.1, 1e-3, 1e-6]) {
        const { solution, progress } = await run(task, { tolerance })
        assert.equal(solution.exitReason, 'converged')
        assert.ok(solution.certificate!.gap! <= tolerance)
        assert.ok(progress.at(-1)!.certified)
      }
    })

    it(`${loss}: stops at maxPasses or when aborted, certified all the same, and no pass is in vain`, async () => {
      const task = taskOf(loss, 1, 1, 1)
      const atZero = objectiveL1(task, new Array(FEATURES + 1).fill(0))
      for (const maxPasses of [1, 2, 3, 7]) {
        const found = await run(task, { tolerance: 1e-13, maxPasses })
        assert.equal(found.solution.exitReason, 'max-passes')
        assert.equal(found.solution.passes, maxPasses)
        const { primal, gap } = checkCertificate(task, found, `${maxPasses} passes`)
        assert.ok(gap > 0)
        assert.ok(primal < atZero, `${maxPasses} passes: ${primal}, without any ${atZero}`)
      }
      const found = await run(task, { tolerance: 1e-14, signal: AbortSignal.abort() })
      assert.equal(found.solution.exitReason, 'interrupted')
      checkCertificate(task, found, 'aborted')
    })

    it(`${loss}: costs so small that no weight pays leave none`, async () => {
      const found = await run(taskOf(loss, 1e-6, 1e-6, 1))
      assert.equal(found.solution.exitReason, 'converged')
      assert.deepEqual(bitsOf(found.w), bitsOf(new Array(FEATURES + 1).fill(0)))
      assert.ok(found.solution.certificate!.gap! <= 1e-14)
    })
  }
})

/** The rows as the evaluator takes them, one label against the others. */
function l1Task(rows: Row[], positive: number, features: number, loss: SmoothLoss, s: LiblinearSettings): L1Task {
  const weight = (label: number): number => s.classWeights?.[String(label)] ?? 1
  const others = rows.find(row => row.label !== positive)!.label
  const binary = new Set(rows.map(row => row.label)).size === 2
  return {
    rows: rows.map(({ label, indices, values }) => ({
      indices: indices.map(j => j - 1),
      values,
      positive: label === positive,
    })),
    features,
    loss,
    costPositive: s.cost * weight(positive),
    costNegative: s.cost * (binary ? weight(others) : 1),
    bias: s.bias ?? 0,
  }
}

/** The model's weights of one vector, the bias last. */
function vectorOf(model: Model, k: number): Float64Array {
  const all = toDense(model.weights, model.features, model.vectors)
  const w = Float64Array.from({ length: model.features + 1 }, (_, j) => all[j * model.vectors + k])
  w[model.features] = model.biasWeights[k] ?? 0
  return w
}

/** Trains to a relative gap of 1e-5 and compares every vector with LIBLINEAR's, by the evaluator of the tests. */
async function compare(
  t: TestContext,
  ours: string,
  theirs: string,
  rows: Row[],
  loss: SmoothLoss,
  s: LiblinearSettings,
  more: TrainOptions = {},
): Promise<TrainResult> {
  const { cost, bias = 0, classWeights = {} } = s
  const tolerance = 1e-5
  const options: TrainOptions = { regularizer: 'l1', loss, cost, bias, classWeights, tolerance, ...more }
  const result = await train(ours, options).result
  const { model } = result
  const what = `${loss}, C = ${cost}, bias ${bias}`
  assert.equal(result.solver, 'primal-coordinate')
  assert.equal(result.exitReason, 'converged', what)
  const tasks = model.labels.slice(0, model.vectors).map(label => l1Task(rows, label.value!, model.features, loss, s))
  const mine = tasks.map((task, k) => objectiveL1(task, vectorOf(model, k)))
  const sum = mine.reduce((total, x) => total + x, 0)
  assert.ok(Math.abs(result.primal! - sum) <= 1e-6 * sum, `${what}: ${result.primal} is told, ${sum} is true`)
  if (noLiblinear) t.diagnostic(noLiblinear)
  else {
    const peer = liblinearL1(theirs, `${folder.path}/peer.model`, loss, s)
    tasks.forEach((task, k) => {
      const at = peer.vectors.length === 1 ? 0 : peer.labels.indexOf(model.labels[k].value!)
      // Of two classes LIBLINEAR may take the other one for the positive one.
      const turned = peer.vectors.length === 1 && peer.labels[0] !== model.labels[0].value ? -1 : 1
      const w = new Float64Array(model.features + 1)
      peer.vectors[at].forEach((x, j) => {
        w[j === peer.features ? model.features : j] = turned * x
      })
      const theirObjective = objectiveL1(task, w)
      const line = `${what}, vector ${k}: ${mine[k]}, LIBLINEAR reaches ${theirObjective}`
      assert.ok(mine[k] <= theirObjective * (1 + 1e-4), line)
      t.diagnostic(`${line}: ${((mine[k] / theirObjective - 1) * 1e6).toFixed(2)} millionths apart`)
    })
  }
  return result
}

/** All rows of a9a, and an eighth of imdb; else a quarter and a twentieth. */

describe('data sets: no worse than LIBLINEAR', () => {
  for (const loss of losses) {
    it(`a9a, ${loss}`, async t => {
      const rows = rowsOfSet('a9a', line => isSlow || line % 4 === 0)
      const path = folder.write('a9a.svm', writeData(rows))
      for (const cost of [0.01, 1]) await compare(t, path, path, rows, loss, { cost, epsilon: '1e-4' })
      const weighted = { cost: 0.1, bias: 1, classWeights: { '1': 3, '-1': 0.5 }, epsilon: '1e-4' }
      await compare(t, path, path, rows, loss, weighted)
    })

    it(`imdb, unit length, some of the rows, ${loss}`, async t => {
      const raw = rowsOfSet('imdb', line => line % (isSlow ? 8 : 20) === 0)
      const rows = raw.map(unitLength)
      const ours = folder.write('imdb.svm', writeData(raw))
      const theirs = folder.write('imdb-unit.svm', writeData(rows))
      for (const cost of [1, 10]) {
        const more = { normalize: 'unit', indexBase: 1 } as const
        const { model } = await compare(t, ours, theirs, rows, loss, { cost, epsilon: '1e-5' }, more)
        assert.equal(model.weights.layout, 'sparse')
        const nonzero = model.weights.values.filter(x => x !== 0).length
        assert.equal(model.weights.values.length, nonzero, 'only weights that are not zero are kept')
        assert.ok(nonzero < 0.1 * model.features, `${nonzero} of ${model.features} weights are not zero`)
      }
    })
  }
})

describe('generated data: no worse than LIBLINEAR', () => {
  /** Full rows of real numbers. */
  const denseRows = (count: number, features: number, classes: number[]): Row[] => {
    const random = randomNumbers(5)
    const planes = classes.map(() => Array.from({ length: features }, (_, j) => (j % 3 === 0 ? random() - 0.5 : 0)))
    return Array.from({ length: count }, () => {
      const values = Array.from({ length: features }, () => Math.fround(random() * 4 - 2))
      const scores = planes.map(plane => plane.reduce((sum, p, j) => sum + p * values[j], random() - 0.5))
      const best = scores.indexOf(Math.max(...scores))
      const label = classes[random() < 0.1 ? Math.floor(random() * classes.length) : best]
      return { label, indices: values.map((_, j) => j + 1), values }
    })
  }
  for (const loss of losses) {
    it(`dense rows, ${loss}`, async t => {
      const rows = denseRows(400, 40, [1, -1])
      const path = folder.write('dense.svm', writeData(rows))
      for (const cost of [0.05, 1, 20]) await compare(t, path, path, rows, loss, { cost, epsilon: '1e-6' })
      await compare(t, path, path, rows, loss, { cost: 1, bias: 2, classWeights: { '-1': 4 }, epsilon: '1e-6' })
    })
    it(`four classes, one against the rest, ${loss}`, async t => {
      const rows = denseRows(300, 20, [3, 1, 7, 2])
      const path = folder.write('classes.svm', writeData(rows))
      const s = { cost: 0.2, bias: 1, classWeights: { '7': 3 }, epsilon: '1e-6' }
      const result = await compare(t, path, path, rows, loss, s)
      assert.equal(result.model.vectors, 4)
      assert.equal(result.model.classCertificates.length, 4)
    })
  }
})

describe('a model under l1', () => {
  it('says so, survives its file, and predicts', async () => {
    const path = folder.write('m.svm', noisyRows(200, 30, 4))
    const { model, supportVectors, trainingAccuracy } = await train(path, {
      regularizer: 'l1',
      loss: 'logistic',
      cost: 0.3,
    }).result
    assert.equal(model.regularizer, 'l1')
    assert.equal(supportVectors, null)
    assert.ok(trainingAccuracy! > 0.6)
    assert.equal(model.weights.layout, 'sparse')
    assert.ok(model.weights.values.every(x => x !== 0))
    await saveModel(`${folder.path}/m.model`, model)
    const again = await loadModel(`${folder.path}/m.model`)
    assert.equal(again.regularizer, 'l1')
    const x = [0, 3, 7].map(() => 0.5)
    assert.deepEqual(scoreRow(again, [0, 3, 7], x), scoreRow(model, [0, 3, 7], x))
  })

  it('is the same bits for any number of threads, from text and with a seed', async () => {
    const path = folder.write('bits.svm', noisyRows(3000, 60, 9))
    for (const loss of losses) {
      const options = { regularizer: 'l1', loss, cost: 0.5, tolerance: 1e-6, seed: 7 } as const
      const one = (await train(path, { ...options, threads: 1 }).result).model
      const three = (await train(path, { ...options, threads: 3 }).result).model
      assert.deepEqual(bitsOf(toDense(three.weights, 60, 1)), bitsOf(toDense(one.weights, 60, 1)))
    }
  })
})

describe('what the l1 regulariser is not compatible with', () => {
  const path = folder.write('refused.svm', noisyRows(50, 9, 2))
  const refused = (options: TrainOptions, words: RegExp): Promise<void> =>
    assert.rejects(train(path, { regularizer: 'l1', loss: 'logistic', ...options }).result, error => {
      assert.match(`${(error as Error).name}: ${(error as Error).message}`, words)
      return true
    })
  it('is refused in words', async () => {
    await refused(
      { loss: 'hinge' },
      /^UsageError: the hinge loss is not compatible with the l1 regularizer: missing a d/,
    )
    for (const name of ['dual', 'stream', 'pegasos']) {
      const words = `^UsageError: the l1 regularizer is not compatible with solver ${name}, which is for l2`
      await refused({ solver: name }, new RegExp(words))
    }
    await refused({ weights: 'f32' }, /the option weights is not compatible with solver primal-coordinate/)
    await refused({ store: 'x.spill' }, /the option store is not compatible with solver primal-coordinate/)
    await refused({ resume: true }, /the option resume is not compatible with solver primal-coordinate/)
    await refused({ innerPasses: 3 }, /the option innerPasses is not compatible with solver primal-coordinate/)
    await refused(
      { memory: '100M' },
      /^UsageError: the l1 regularizer needs the data in memory twice, .*: about 1\d\d MiB, and there may be 100 MiB/,
    )
    assert.throws(() => train(path, { regularizer: 'l3' as 'l1' }), /regularizer is "l3"; expected one of l2, l1/)
    assert.throws(() => checkCompatible(solver, findLoss('hinge'), { given: new Set(), regularizer: 'l1' }))
  })
  it('is not shrinking, nor a memory that holds the data', async () => {
    for (const loss of losses) {
      const { exitReason } = await train(path, { regularizer: 'l1', loss, shrinking: false, memory: '1G' }).result
      assert.equal(exitReason, 'converged')
    }
  })
})

describe('under the l2 regulariser', () => {
  const path = folder.write('l2.svm', noisyRows(400, 20, 4))
  const options: TrainOptions = { solver: 'primal-coordinate', loss: 'logistic', bias: 1, tolerance: 1e-9 }

  it('needs no word of the regulariser, and gives the optimum of the dual solver', async () => {
    for (const loss of losses)
      for (const more of [{}, { scale: 'minmax' }, { normalize: 'unit', values: 'f64' }] as TrainOptions[]) {
        const { model, ...mine } = await train(path, { ...options, ...more, loss }).result
        const other = await train(path, { ...options, ...more, loss, solver: 'dual', maxPasses: 100_000 }).result
        assert.equal(mine.exitReason, 'converged')
        assert.equal(mine.solver, 'primal-coordinate')
        assert.equal(model.regularizer, 'l2')
        assert.ok(
          Math.abs(mine.primal! - other.primal!) <= 2e-9 * mine.primal!,
          `${mine.primal}, dual: ${other.primal}`,
        )
        assert.ok(mine.gap! <= 1e-9 && mine.gap! >= -1e-12)
      }
  })

  it('trains several classes, one against the rest', async () => {
    const three = folder.write('l2-three.svm', `${threeClasses(500, 3)}\n`)
    const mine = await train(three, { ...options, threads: 2 }).result
    const again = await train(three, { ...options, threads: 1 }).result
    const other = await train(three, { ...options, solver: 'dual', maxPasses: 100_000 }).result
    assert.equal(mine.exitReason, 'converged')
    assert.deepEqual(bitsOf(mine.model.weights.values), bitsOf(again.model.weights.values))
    assert.ok(Math.abs(mine.primal! - other.primal!) <= 1e-8 * mine.primal!)
  })

  it('takes work that ends short to a certificate that holds', async () => {
    const { primal, dual, exitReason } = await train(path, { ...options, tolerance: 1e-13, maxPasses: 2 }).result
    const { primal: best } = await train(path, options).result
    assert.equal(exitReason, 'max-passes')
    assert.ok(dual! <= best! * (1 + 1e-9) && primal! >= best! * (1 - 1e-12))
  })

  it('refuses in words what would be ignored or cannot be', async () => {
    const refused = (more: TrainOptions, words: RegExp): Promise<void> =>
      assert.rejects(async () => train(path, { ...options, loss: 'squared-hinge', ...more }).result, words)
    await refused({ shrinking: false }, /shrinking is not compatible with solver primal-coordinate under the l2 reg/)
    await refused({ loss: 'logistic', shrinking: false }, /shrinking is not compatible with the logistic loss/)
    await refused({ loss: 'hinge' }, /the hinge loss is not compatible with solver primal-coordinate: missing a d/)
    await refused({ kernel: 'chi2', scale: 'minmax' }, /a kernel is not compatible with solver primal-coordinate/)
    await refused({ store: 'x.spill' }, /the option store is not compatible with solver primal-coordinate/)
    await refused({ memory: '100M' }, /primal-coordinate keeps all rows in memory, by rows and by columns: about 1/)
  })
})
