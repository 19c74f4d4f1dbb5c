// Solver newton with the hinge, and the squared hinge where steps on the primal end short: the optimum that coordinate descent finds, on rows of all kinds and for costs small and large; few
// passes where rows are nearly separable; the same from blocks, from any number of threads and after a stop.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { ingest } from '../../src/block-store/ingest.ts'
import { shortfallWords } from '../../src/model/shortfall.ts'
import type { TrainOptions } from '../../src/train/options.ts'
import { train } from '../../src/train/train.ts'
import { type Row, writeData } from '../data-sets/rows.ts'
import { randomNumbers } from '../numeric/reference.ts'
import { abortAfter, assertSameModel, copyStore, fastFolder, memoryFor, told } from '../out-of-core/fixture.ts'
import { modelObjective } from './liblinear.ts'

const folder = fastFolder()
const newton: TrainOptions = { solver: 'newton', loss: 'hinge', tolerance: 1e-7, maxPasses: 300 }

interface Wanted {
  rows: number
  features: number
  /** Share of the scores' spread that is noise. */
  noise: number
}

/** Rows about a plane, values about as often below 0 as above. */
function planeRows(seed: number, { rows, features, noise }: Wanted): Row[] {
  const random = randomNumbers(seed)
  const bell = (): number => random() + random() + random() + random() - 2
  const plane = Array.from({ length: features }, bell)
  const spread = Math.hypot(...plane) * 0.58
  return Array.from({ length: rows }, () => {
    const values = plane.map(() => Math.fround(bell()))
    const score = values.reduce((sum, x, j) => sum + x * plane[j], 0) + noise * spread * bell()
    return { label: score > 0 ? 1 : -1, indices: values.map((_, j) => j + 1), values }
  })
}

const kinds: Record<string, (rows: Row[]) => Row[]> = {
  'as they are': rows => rows,
  'each of them twice, and some five times': rows => [
    ...rows,
    ...rows,
    ...rows.slice(0, 9).flatMap(row => [row, row, row]),
  ],
  'a feature that is 1 everywhere, and one of a large constant': rows =>
    rows.map(({ label, indices, values }) => ({
      label,
      indices: [...indices, indices.length + 1, indices.length + 2],
      values: [...values, 1, 100],
    })),
  'some rows without an entry': rows => rows.map((row, i) => (i % 5 === 0 ? { ...row, indices: [], values: [] } : row)),
  'one row of a class': rows => rows.map((row, i) => ({ ...row, label: i === 0 ? 1 : -1 })),
  'labels by chance': rows => rows.map((row, i) => ({ ...row, label: (i * 7919) % 13 < 6 ? 1 : -1 })),
}

describe("coordinate descent's optimum", () => {
  for (const [kind, make] of Object.entries(kinds)) {
    for (const cost of [1e-6, 1e-2, 1, 100, 1e4, 1e6]) {
      it(`${kind}, C = ${cost}`, async () => {
        const rows = make(planeRows(cost * 1e6 + kind.length, { rows: 80, features: 6, noise: 0.5 }))
        const data = folder.write('rows.svm', writeData(rows))
        const found = await train(data, { ...newton, cost }).result
        assert.equal(found.exitReason, 'converged')
        const o = { loss: 'hinge', cost, bias: 0, classWeights: {} } as const
        const objective = modelObjective(found.model, rows, o)
        assert.ok(
          Math.abs(objective - found.primal!) <= 1e-9 * objective,
          `${found.primal} is told, it is ${objective}`,
        )
        const dual = await train(data, { ...newton, cost, solver: 'dual', maxPasses: 20_000 }).result
        const other = modelObjective(dual.model, rows, o)
        // Where coordinate descent is not done, the lower bound of newton says that nothing is better.
        assert.ok(objective <= other * (1 + 1e-6), `${objective}, dual ${other}`)
        assert.ok(dual.dual! <= objective * (1 + 1e-12), `the dual objective ${dual.dual} is above ${objective}`)
      })
    }
  }

  it('with a bias and class weights', async () => {
    const rows = planeRows(5, { rows: 120, features: 7, noise: 0.7 })
    const data = folder.write('weighted.svm', writeData(rows))
    const o = { loss: 'hinge', cost: 3, bias: 1, classWeights: { '1': 2, '-1': 0.5 } } as const
    const options: TrainOptions = { ...newton, cost: 3, bias: 1, classWeights: o.classWeights }
    const found = await train(data, options).result
    const dual = await train(data, { ...options, solver: 'dual', maxPasses: 20_000 }).result
    const [objective, other] = [found, dual].map(({ model }) => modelObjective(model, rows, o))
    assert.ok(Math.abs(objective - other) <= 1e-6 * other, `${objective}, dual ${other}`)
  })
})

describe('nearly separable rows of many features', () => {
  const wide = planeRows(1, { rows: 1000, features: 200, noise: 0.1 })
  const o = { loss: 'hinge', cost: 1e4, bias: 0, classWeights: {} } as const

  it('take few passes', async () => {
    const data = folder.write('wide.svm', writeData(wide))
    const found = await train(data, { ...newton, cost: 1e4, tolerance: 1e-3, maxPasses: 100 }).result
    assert.equal(found.exitReason, 'converged')
    const dual = await train(data, { ...newton, cost: 1e4, tolerance: 1e-3, solver: 'dual', maxPasses: 5000 }).result
    const objective = modelObjective(found.model, wide, o)
    assert.ok(objective <= modelObjective(dual.model, wide, o) * (1 + 1e-3))
    assert.ok(objective >= dual.dual! * (1 - 1e-12), `${objective} is below the dual objective ${dual.dual}`)
  })

  it('keep their best weights where no more digits are to be had', async () => {
    const data = folder.write('digits.svm', writeData(wide))
    const found = await train(data, { ...newton, cost: 1e4, tolerance: 1e-300, maxPasses: 150 }).result
    const objective = modelObjective(found.model, wide, o)
    assert.ok(found.gap! < 1e-6, `the gap is ${found.gap}`)
    assert.ok(Math.abs(objective - found.primal!) <= 1e-9 * objective, `${found.primal} is told, it is ${objective}`)
  })

  it('are told to be trained by coordinate descent, where steps on the primal creep; that reaches the gap', async () => {
    const data = folder.write('creeping.svm', writeData(wide))
    const options: TrainOptions = { loss: 'squared-hinge', cost: 1e4, maxPasses: 1000 }
    const short = await train(data, { ...options, solver: 'lbfgs' }).result
    assert.equal(short.exitReason, 'max-passes')
    const { advice } = shortfallWords(short.model)!
    assert.deepEqual(advice, ['--solver dual'])
    const followed = await train(data, { ...options, solver: advice[0].split(' ')[1] }).result
    assert.equal(followed.exitReason, 'converged')
    assert.ok(followed.gap! <= 1e-3)
  })

  it('from blocks: certified; stopped and resumed, and with any number of threads, the same bits', async () => {
    const rows = planeRows(2, { rows: 400, features: 60, noise: 0.1 })
    const store = join(folder.path, 'wide.spill')
    await ingest(folder.write('blocks.svm', writeData(rows)), store, { blocks: 4 })
    const options: TrainOptions = { ...newton, cost: 1e4, tolerance: 1e-5, threads: 1 }
    const memory = await memoryFor(store, 2, options)
    const whole = await told(copyStore(store, join(folder.path, 'whole.spill')), { ...options, memory })
    assert.equal(whole.result.exitReason, 'converged')
    const objective = modelObjective(whole.result.model, rows, o)
    assert.ok(Math.abs(objective - whole.result.primal!) <= 1e-9 * objective)
    const passes = whole.train.length
    for (const stop of [2, Math.floor(passes / 3), Math.floor(passes / 2)]) {
      const path = copyStore(store, join(folder.path, `stopped-${stop}.spill`))
      const first = await abortAfter(path, { ...options, memory }, stop)
      assert.equal(first.result.exitReason, 'interrupted')
      assertSameModel((await told(path, { ...options, memory, resume: true, threads: 2 })).result, whole.result)
    }
  })
})

describe('the squared hinge, where steps on the primal end short', () => {
  for (const [features, cost] of [
    [200, 1e2],
    [200, 1e4],
    [280, 1e4],
  ] as const) {
    it(`${features} features, C = ${cost}: few passes to LIBLINEAR's kind of optimum, with any number of threads`, async () => {
      const rows = planeRows(features, { rows: 1000, features, noise: 0.1 })
      const data = folder.write('squared.svm', writeData(rows))
      const options: TrainOptions = { solver: 'newton', loss: 'squared-hinge', cost, tolerance: 1e-6, threads: 1 }
      const found = await train(data, { ...options, maxPasses: 90 }).result
      assert.equal(found.exitReason, 'converged')
      const o = { loss: 'squared-hinge', cost, bias: 0, classWeights: {} } as const
      const objective = modelObjective(found.model, rows, o)
      assert.ok(Math.abs(objective - found.primal!) <= 1e-9 * objective, `${found.primal} is told, it is ${objective}`)
      const dual = await train(data, { ...options, solver: 'dual', tolerance: 1e-4, maxPasses: 20_000 }).result
      const other = modelObjective(dual.model, rows, o)
      assert.ok(objective <= other * (1 + 1e-6) && objective >= dual.dual! * (1 - 1e-9), `${objective}, dual ${other}`)
      assertSameModel(await train(data, { ...options, threads: 2 }).result, found)
    })
  }

  it('from blocks: stopped before and behind the change to interior points, and resumed, the same bits', async () => {
    const rows = planeRows(2, { rows: 400, features: 60, noise: 0.1 })
    const store = join(folder.path, 'squared.spill')
    await ingest(folder.write('squared-blocks.svm', writeData(rows)), store, { blocks: 4 })
    const options: TrainOptions = {
      ...{ solver: 'newton', loss: 'squared-hinge', cost: 1e4, tolerance: 1e-7, threads: 1 },
      maxPasses: 90,
    }
    const memory = await memoryFor(store, 2, options)
    const whole = await told(copyStore(store, join(folder.path, 'squared-whole.spill')), { ...options, memory })
    assert.equal(whole.result.exitReason, 'converged')
    const passes = whole.train.length
    for (const stop of [3, Math.floor(passes / 2), Math.floor(0.7 * passes)]) {
      const path = copyStore(store, join(folder.path, `squared-stopped-${stop}.spill`))
      const first = await abortAfter(path, { ...options, memory }, stop)
      assert.equal(first.result.exitReason, 'interrupted')
      assertSameModel((await told(path, { ...options, memory, resume: true, threads: 2 })).result, whole.result)
    }
  })
})
