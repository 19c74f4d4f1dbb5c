// Solver newton: LIBLINEAR's optimum on data sets, scaled and not; the same from blocks, from any number of threads and after
// a stop; kernels, expansions, row weights and classes; few passes; and steps that would go up are shortened.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { before, describe, it } from 'node:test'
import { ingest } from '../../src/block-store/ingest.ts'
import { generate } from '../../src/generate/generate.ts'
import { denseScaleFactors } from '../../src/model/model.ts'
import type { TrainOptions } from '../../src/train/options.ts'
import { train } from '../../src/train/train.ts'
import type { TrainResult } from '../../src/train/training-run.ts'
import { asLibsvm, makeHistograms } from '../additive-kernels/histograms.ts'
import { noisyRows } from '../contracts/small-problems.ts'
import { rowsOfSet } from '../data-sets/data-sets.ts'
import { type Row, rowsOfText, unitLength, writeData } from '../data-sets/rows.ts'
import {
  abortAfter,
  assertSameModel,
  copyStore,
  fastFolder,
  memoryFor,
  noisyStore,
  type Told,
  threeClasses,
  told,
} from '../out-of-core/fixture.ts'
import { isSlow } from '../slow.ts'
import {
  type LossName,
  liblinearObjective,
  modelObjective,
  noLiblinear,
  type Objective,
  objectiveOf,
} from './liblinear.ts'

const folder = fastFolder()
const losses = ['squared-hinge', 'logistic'] as const satisfies LossName[]
const newton: TrainOptions = { solver: 'newton', tolerance: 1e-8 }

/** Rows of so many features are so long that products take the place of the matrix of second derivatives. */
const LONG = 150

const near = (found: number, expected: number, most: number, what: string): void =>
  assert.ok(Math.abs(found - expected) <= most * Math.abs(expected), `${what}: ${found}, expected ${expected}`)

async function converged(data: string, options: TrainOptions): Promise<TrainResult & { primal: number }> {
  const result = await train(data, { ...newton, ...options }).result
  assert.equal(result.exitReason, 'converged')
  assert.ok(result.gap! <= (options.tolerance ?? newton.tolerance!), `the gap is ${result.gap}`)
  return result as TrainResult & { primal: number }
}

describe("LIBLINEAR's optimum", { skip: noLiblinear }, () => {
  interface Case {
    name: string
    /** Every so many rows; of slow runs all, unless LIBLINEAR takes too long for that. */
    every: number
    slowEvery?: number
    options?: TrainOptions
    /** What is done to rows before either program sees them. */
    change?: (row: Row) => Row
    rows: Parameters<typeof rowsOfSet>[0]
  }
  const cases: Case[] = [
    { name: 'a9a', rows: 'a9a', every: 4 },
    { name: 'w8a', rows: 'w8a', every: 4 },
    { name: 'imdb, unit length', rows: 'imdb', every: 10, change: unitLength },
    { name: 'covtype, as it is', rows: 'covtype.libsvm.binary', every: 100 },
    { name: 'covtype, minmax', rows: 'covtype.libsvm.binary', every: 100, options: { scale: 'minmax' } },
    {
      name: 'covtype, standard',
      rows: 'covtype.libsvm.binary',
      every: 100,
      slowEvery: 10,
      options: { scale: 'standard' },
    },
  ]
  const problems: Omit<Objective, 'loss'>[] = [
    { cost: 1, bias: 0, classWeights: {} },
    { cost: 0.1, bias: 1, classWeights: { '1': 3 } },
    ...(isSlow ? [{ cost: 100, bias: 1, classWeights: { '1': 0.5 } }] : []),
  ]
  for (const { name, rows: set, every, slowEvery = 1, options = {}, change = (row: Row) => row } of cases) {
    it(`${name}, ${isSlow && slowEvery === 1 ? 'all rows' : 'some rows'}, with and without bias and class weights, to 1e-6`, async () => {
      const raw = rowsOfSet(set, line => line % (isSlow ? slowEvery : every) === 0).map(change)
      const ours = folder.write('ours.svm', writeData(raw))
      for (const loss of losses) {
        for (const problem of problems) {
          const o = { ...problem, loss }
          const result = await converged(ours, { ...o, ...options, indexBase: 1, values: 'f64' })
          const factors = denseScaleFactors(result.model)
          const rows = factors ? raw.map(row => scaled(row, factors)) : raw
          const theirs = folder.write('theirs.svm', writeData(rows))
          const what = `${loss}, C = ${o.cost}, bias ${o.bias}`
          near(result.primal, modelObjective(result.model, rows, o), 1e-9, `${what}, our own objective`)
          const peer = liblinearObjective(theirs, join(folder.path, 'peer'), rows, o, '1e-10')
          // LIBLINEAR sometimes gives up above the optimum where features are scaled to very different ranges.
          if (options.scale === 'standard' && peer > result.primal) continue
          near(result.primal, peer, 1e-6, what)
        }
      }
    })
  }

  const scaled = (row: Row, factors: Float64Array): Row => ({
    ...row,
    values: row.values.map((value, k) => value * factors[row.indices[k] - 1]),
  })
})

describe('rows in memory', () => {
  const long = folder.write('long.svm', `${noisyRows(900, LONG, 3)}\n`)
  const short = folder.write('short.svm', `${noisyRows(900, 20, 3)}\n`)
  for (const loss of losses) {
    it(`${loss}: the same bits for 1, 2 and 3 threads, short rows and long`, async () => {
      for (const path of [long, short]) {
        const options: TrainOptions = { loss, bias: 1 }
        const alone = await converged(path, { ...options, threads: 1 })
        for (const threads of [2, 3]) assertSameModel(await converged(path, { ...options, threads }), alone)
      }
    })
  }

  it('several classes, one after the other: the optimum of solver dual for each', async () => {
    const path = folder.write('three.svm', `${threeClasses(600, 5)}\n`)
    for (const loss of losses) {
      const result = await converged(path, { loss, bias: 1, classWeights: { '2': 2 } })
      const dual = await converged(path, { loss, bias: 1, classWeights: { '2': 2 }, solver: 'dual', maxPasses: 1e5 })
      assert.equal(result.model.classCertificates.length, 3)
      result.model.classCertificates.forEach(({ primal, gap }, k) => {
        assert.ok(gap! <= 1e-8)
        near(primal!, dual.model.classCertificates[k].primal!, 1e-6, `${loss}, class ${k}`)
      })
    }
  })

  it('an additive kernel: the optimum of solver dual', async () => {
    const path = folder.write('histograms.svm', asLibsvm(makeHistograms({ rows: 240, features: 12, seed: 3 })))
    const options: TrainOptions = { loss: 'squared-hinge', kernel: 'chi2', cost: 2, bias: 1 }
    const dual = await converged(path, { ...options, solver: 'dual', maxPasses: 1e5 })
    near((await converged(path, options)).primal, dual.primal, 1e-6, 'chi2')
  })

  it('an expansion: the optimum of solver dual', async () => {
    for (const loss of losses) {
      const options: TrainOptions = { loss, expand: 'polynomial:2', cost: 0.1 }
      const dual = await converged(short, { ...options, solver: 'dual', maxPasses: 1e5 })
      near((await converged(short, options)).primal, dual.primal, 1e-6, loss)
    }
  })

  it('weights of rows stand for repeated rows', async () => {
    const lines = noisyRows(120, 10, 5).split('\n')
    const counts = lines.map((_, i) => [1, 2, 1, 3, 1][i % 5])
    const once = folder.write('once.svm', `${lines.join('\n')}\n`)
    const repeated = lines.flatMap((line, i) => Array.from({ length: counts[i] }, () => line))
    const often = folder.write('often.svm', `${repeated.join('\n')}\n`)
    for (const loss of losses) {
      const options: TrainOptions = { loss, cost: 0.3, bias: 1 }
      const expected = await converged(often, options)
      near((await converged(once, { ...options, rowWeights: counts })).primal, expected.primal, 1e-9, loss)
      const plain = await converged(once, options)
      assert.ok(Math.abs(plain.primal - expected.primal) > 0.01 * expected.primal, 'weights matter')
    }
  })
})

describe('rows in blocks', () => {
  let short = ''
  let long = ''
  let copies = 0
  const fresh = (from: string): string => copyStore(from, join(folder.path, `copy-${++copies}.spill`))
  const inSmall = async (store: string, options: TrainOptions): Promise<TrainOptions> => {
    const all = { ...newton, ...options }
    return { ...all, memory: await memoryFor(store, 1, all) }
  }

  before(async () => {
    short = await noisyStore(folder, 'short')
    long = await noisyStore(folder, 'long', { features: LONG })
  })

  for (const loss of losses) {
    it(`${loss}: the optimum of the memory, with and without bias and class weights`, async () => {
      for (const [store, text] of [
        [short, join(folder.path, 'short.svm')],
        [long, join(folder.path, 'long.svm')],
      ]) {
        for (const more of [{}, { bias: 1, classWeights: { '+1': 3 } }]) {
          const options: TrainOptions = { loss, cost: 0.5, ...more }
          const { result } = await told(fresh(store), await inSmall(store, options))
          assert.equal(result.exitReason, 'converged')
          assert.ok(result.blocks!.read >= 8 * result.passes, 'no block is kept')
          near(result.primal!, (await converged(text, options)).primal, 1e-6, `${loss}, ${JSON.stringify(more)}`)
        }
      }
    })

    it(`${loss}: aborted and resumed, the same bits`, async () => {
      for (const store of [short, long]) {
        const options = {
          ...(await inSmall(store, { loss, cost: 0.5, bias: 1, tolerance: 1e-4 })),
          checkpointSeconds: 0,
        }
        const whole = await told(fresh(store), options)
        assert.equal(whole.result.exitReason, 'converged')
        // In the middle of a pass, at its end, and in the middle of a later one.
        const records = whole.train.length
        const all = [[3], [Math.floor(records / 3), 4], [Math.floor(records / 2)]]
        for (const stops of isSlow ? all : [all[store === short ? 1 : 2]]) {
          const path = fresh(store)
          let last: Told | undefined
          for (const stop of stops) {
            last = await abortAfter(path, { ...options, resume: last !== undefined }, stop)
            assert.equal(last.result.exitReason, 'interrupted')
          }
          assertSameModel((await told(path, { ...options, resume: true })).result, whole.result)
        }
      }
    })
  }

  it('several classes', async () => {
    const text = folder.write('three.svm', `${threeClasses(900, 5)}\n`)
    const store = join(folder.path, 'three.spill')
    await ingest(text, store, { blocks: 5 })
    const options: TrainOptions = { loss: 'squared-hinge', bias: 1 }
    const { result } = await told(store, await inSmall(store, options))
    const expected = await converged(text, options)
    result.model.classCertificates.forEach(({ primal }, k) => {
      near(primal!, expected.model.classCertificates[k].primal!, 1e-6, `class ${k}`)
    })
  })

  it('few features, not scaled: below 30 passes over the disk to 1e-6', async () => {
    const text = join(folder.path, 'skin.svm')
    await generate(text, { like: 'skin', rows: 20_000 })
    const store = join(folder.path, 'skin.spill')
    await ingest(text, store, { blocks: 6 })
    for (const loss of losses) {
      for (const cost of isSlow ? [0.01, 1, 100] : [loss === 'logistic' ? 100 : 1]) {
        const options = await inSmall(store, { loss, cost, bias: 1, tolerance: 1e-6 })
        const { result } = await told(fresh(store), options)
        assert.equal(result.exitReason, 'converged')
        const passes = result.blocks!.read / 6
        assert.ok(passes < 30, `${loss}, C = ${cost}: ${passes} passes`)
      }
    }
  })
})

describe('a step that goes up', () => {
  // Found by a search: rows on which full steps go from an objective of 0.8 to 2554.
  const places = [
    [-13, 1],
    [-6, 2],
    [1, 1],
    [5, 2],
    [-13, -2],
    [15, 1],
    [13, -1],
    [-5, 2],
  ]
  const rows = places.map(([a, b], i): Row => ({ label: i === 5 || i === 6 ? 1 : -1, indices: [1, 2], values: [a, b] }))
  const o: Objective = { loss: 'squared-hinge', cost: 10, bias: 0, classWeights: {} }
  const valueAt = (w: number[]): number => objectiveOf(rows, 1, index => w[index - 1], 0, w[0] * w[0] + w[1] * w[1], o)

  /** A full step from a point, by hand. */
  function fullStep([u, v]: number[]): number[] {
    const gradient = [u, v]
    const matrix = [1, 0, 1]
    for (const { label, values } of rows) {
      const [a, b] = values
      const slack = 1 - label * (u * a + v * b)
      if (slack <= 0) continue
      gradient[0] -= 2 * o.cost * slack * label * a
      gradient[1] -= 2 * o.cost * slack * label * b
      matrix[0] += 2 * o.cost * a * a
      matrix[1] += 2 * o.cost * a * b
      matrix[2] += 2 * o.cost * b * b
    }
    const determinant = matrix[0] * matrix[2] - matrix[1] ** 2
    return [
      u - (matrix[2] * gradient[0] - matrix[1] * gradient[1]) / determinant,
      v - (matrix[0] * gradient[1] - matrix[1] * gradient[0]) / determinant,
    ]
  }

  it('is shortened: the objective never rises, and the optimum is reached', async () => {
    let [w, rises] = [[0, 0], 0]
    for (let k = 0; k < 5; k++) {
      const next = fullStep(w)
      rises = Math.max(rises, valueAt(next) / valueAt(w))
      w = next
    }
    assert.ok(rises > 100, 'this problem has such a step')

    const path = folder.write('rising.svm', writeData(rows))
    const options: TrainOptions = { loss: 'squared-hinge', cost: o.cost }
    const { result, train: records } = await told(path, { ...newton, ...options })
    assert.equal(result.exitReason, 'converged')
    // One record is told before the end of each pass, and one at its end.
    const primals = records.filter((_, k) => k % 2 === 1).map(record => record.primal)
    for (const [k, primal] of primals.entries()) {
      assert.ok(k === 0 || primal <= primals[k - 1] * (1 + 1e-12), `${primals}`)
    }
    assert.ok(
      primals.slice(1).some((primal, k) => primal === primals[k]),
      'a point was tried and given up',
    )
    const dual = await converged(path, { ...options, solver: 'dual', maxPasses: 1e6 })
    near(result.primal!, dual.primal, 1e-7, 'the optimum')
    near(result.primal!, modelObjective(result.model, rowsOfText(writeData(rows)), o), 1e-9, 'its objective')
  })
})
