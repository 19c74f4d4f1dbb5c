// Solver indexed with losses that give outliers up: the objective of the batch solvers, by an evaluator of its own, rows beyond
// the limit that are not searched for, and the same bits however often a run is stopped.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, describe, it } from 'node:test'
import { addRows } from '../../src/block-store/add.ts'
import { buildIndex } from '../../src/sample-index/build-index.ts'
import type { TrainOptions } from '../../src/train/options.ts'
import { noisyRows } from '../contracts/small-problems.ts'
import { rowsOfSet } from '../data-sets/data-sets.ts'
import { writeData } from '../data-sets/rows.ts'
import { randomNumbers } from '../numeric/reference.ts'
import { storeOf } from '../sample-index/fixture.ts'
import { isSlow } from '../slow.ts'
import { rowsOf, type TruncatedTask, truncatedObjective } from '../train/truncated-objective.ts'
import { abortAfter, assertSameModel, copyStore, fastFolder, threeClasses, told } from './fixture.ts'

const folder = fastFolder()
let store = ''
let copies = 0
const fresh = (from = store): string => copyStore(from, join(folder.path, `copy-${++copies}.spill`))
const textOf = (name: string): string => readFileSync(join(folder.path, `${name}.svm`), 'utf8')
const near = (found: number, expected: number, precision: number): void =>
  assert.ok(Math.abs(found - expected) <= precision * Math.abs(expected), `${found}, expected ${expected}`)
/** The three methods of the paper. */
const methods: { loss: TruncatedTask['loss']; more: TrainOptions }[] = [
  { loss: 'ramp', more: {} },
  { loss: 'truncated-squared-hinge', more: {} },
  { loss: 'truncated-squared-hinge', more: { indexMethod: 'newton' } },
]
const nameOf = ({ loss, more }: (typeof methods)[number]): string => `${loss}, ${more.indexMethod ?? 'dual'}`

before(async () => {
  store = await storeOf(folder, 'noisy', noisyRows(14_000, 6, 7), { blocks: 14 })
  await buildIndex(store, { threads: 1, leafBytes: 1024, treeRows: 1000 })
})

describe('solver indexed with a truncated loss', () => {
  for (const [k, method] of methods.entries()) {
    const { loss, more } = method
    it(`reports the truncated problem, and ends near the batch solver: ${nameOf(method)}`, async () => {
      for (const others of [
        { cost: 0.1 },
        { cost: 0.1, bias: 1, classWeights: { '-1': 2 }, outlierStart: 'full' },
      ] as const) {
        const task = { loss, outlierMargin: 1, ...others }
        const { result, records } = await told(fresh(), { ...task, ...more, solver: 'indexed', tolerance: 1e-4 })
        assert.equal(result.exitReason, 'converged')
        assert.equal(result.dual, null)
        assert.ok(result.gap! <= 1e-4)
        const { objective, outliers } = truncatedObjective(result.model, rowsOf(textOf('noisy')), task)
        near(result.primal!, objective, 1e-12)
        assert.equal(result.outliers, outliers)
        assert.ok(outliers > 0)
        const looks = records.filter(record => record.stage === 'relax')
        assert.ok(looks.length > 2)
        // It may rise by what a convex problem has left to gain.
        for (const [k, look] of looks.entries())
          if (k > 0) assert.ok(look.objective <= looks[k - 1].objective * (1 + 1e-4), `${k}`)
        const batch = await told(store, { ...task, solver: 'dual', tolerance: 1e-4 })
        // The truncated problem has many minima, and the two end in different ones.
        near(result.primal!, batch.result.primal!, 0.02)
      }
    })

    it(`gives the same model when it is stopped and resumed: ${nameOf(method)}`, async () => {
      // Both starts are always there, all pairs with the methods with SPILLWAY_SLOW=1.
      for (const outlierStart of (['full', 'sample'] as const).filter((_, s) => isSlow || s === k % 2)) {
        const own: TrainOptions = { loss, ...more, cost: 0.1, outlierStart }
        const options: TrainOptions = { ...own, solver: 'indexed', tolerance: 1e-3, checkpointSeconds: 0 }
        const whole = await told(fresh(), options)
        const path = fresh()
        // What is learnt from a sample is not kept: the first stop comes after it.
        const first = Math.ceil(whole.train.length * 0.7)
        let stops = 0
        for (; stops < 20; stops++) {
          const records = stops === 0 ? first : 2 + stops
          const last = await abortAfter(path, { ...options, resume: true }, records)
          if (last.result.exitReason === 'interrupted') continue
          assertSameModel(last.result, whole.result)
          break
        }
        assert.ok(stops > 0 && stops < 20, `${stops} stops`)
      }
    })
  }

  it('knows f32 weights, rows of unit length, the whole index and the rule of rows left', async () => {
    for (const more of [
      { weights: 'f32', tolerance: 1e-3 },
      { normalize: 'unit' },
      { indexStop: 'exact', shrinking: false },
    ] as TrainOptions[]) {
      const own: TrainOptions = { loss: 'ramp', cost: 0.1, outlierStart: 'full', tolerance: 1e-4, ...more }
      const { result } = await told(fresh(), { ...own, solver: 'indexed' })
      const { indexStop: _, ...others } = own
      const batch = await told(store, { ...others, solver: 'dual' })
      assert.equal(result.exitReason, 'converged', JSON.stringify(more))
      // There are several minima, and each method ends in one that is near.
      near(result.primal!, batch.result.primal!, 0.02)
    }
    const { result } = await told(fresh(), { loss: 'ramp', cost: 0.1, solver: 'indexed', indexLeft: 50 })
    assert.equal(result.exitReason, 'converged')
    const task: TruncatedTask = { loss: 'ramp', outlierMargin: 1, cost: 0.1 }
    near(result.primal!, truncatedObjective(result.model, rowsOf(textOf('noisy')), task).objective, 1e-12)
  })

  it('goes on when less is tolerated, and with the rows that stayed when others are added', async () => {
    const path = fresh()
    const task: TruncatedTask = { loss: 'ramp', outlierMargin: 1, cost: 0.1 }
    const options: TrainOptions = { ...task, solver: 'indexed', tolerance: 0.01 }
    const rough = await told(path, options)
    const finer = await told(path, { ...options, tolerance: 1e-4, resume: true })
    assert.equal(finer.result.exitReason, 'converged')
    assert.ok(finer.result.gap! <= 1e-4)
    assert.ok(finer.result.primal! <= rough.result.primal!)
    const added = noisyRows(1000, 6, 8)
    await addRows(folder.write('added.svm', `${added}\n`), path, { threads: 1 })
    const warm = await told(path, { ...options, tolerance: 1e-3 })
    assert.equal(warm.result.start, 'warm')
    assert.equal(warm.result.exitReason, 'converged')
    const rows = rowsOf(`${textOf('noisy').trim()}\n${added}`)
    near(warm.result.primal!, truncatedObjective(warm.result.model, rows, task).objective, 1e-12)
  })

  it('does not look at rows that lie far beyond the limit', async () => {
    const random = randomNumbers(4)
    const text = Array.from({ length: 40_000 }, () => {
      const [side, isWrong, isNear] = [random() < 0.5 ? 1 : -1, random() < 0.3, random() < 0.03]
      const x = [side * (isNear ? random() * 0.3 : 2 + random()), ...Array.from({ length: 3 }, () => random() - 0.5)]
      return `${isWrong ? -side : side} ${x.map((value, j) => `${j + 1}:${Math.fround(value)}`).join(' ')}`
    }).join('\n')
    const path = await storeOf(folder, 'flipped', text, { blocks: 16 })
    await buildIndex(path, { threads: 1, leafBytes: 1024 })
    const task: TruncatedTask = { loss: 'ramp', outlierMargin: 0.5, cost: 1 }
    const { result } = await told(path, { ...task, solver: 'indexed', tolerance: 1e-3 })
    assert.equal(result.exitReason, 'converged')
    const { objective, outliers } = truncatedObjective(result.model, rowsOf(text), task)
    near(result.primal!, objective, 1e-12)
    assert.ok(outliers > 0.25 * result.rows)
    // A quarter of the rows is the sample. Of the others, outliers alone are more than a fifth of all.
    const { rowsTouched } = result.blocks!.index!
    assert.ok(rowsTouched < 0.35 * result.rows, `${rowsTouched} of ${result.rows} rows were looked at`)
  })

  it('of several classes trains one after the other, each with outliers of its own', async () => {
    const three = threeClasses(1500, 5)
    const path = await storeOf(folder, 'three', three, { blocks: 3 })
    const task: TruncatedTask = { loss: 'ramp', outlierMargin: 0.5, cost: 0.1 }
    const { result } = await told(path, { ...task, solver: 'indexed', tolerance: 1e-3 })
    for (const [k, certificate] of result.model.classCertificates.entries()) {
      const { objective, outliers } = truncatedObjective(result.model, rowsOf(three), task, k)
      near(certificate.primal!, objective, 1e-12)
      assert.equal(certificate.outliers, outliers)
    }
  })

  it('refuses second-order steps for the ramp', async () => {
    await assert.rejects(
      told(store, { loss: 'ramp', solver: 'indexed', indexMethod: 'newton' }),
      /the ramp loss is not compatible with indexMethod newton: missing a second derivative/,
    )
  })
})

const ROWS = isSlow ? 12_000 : 5000

/** Rows of a data set, each value divided by the largest of its feature, as a store with an index and as text. */
async function realStore(name: 'covtype.libsvm.binary' | 'mnist', every: number, labelOf: (label: number) => number) {
  const rows = rowsOfSet(name, line => line % every === 0, ROWS)
  const largest = new Map<number, number>()
  for (const { indices, values } of rows)
    for (const [k, index] of indices.entries())
      largest.set(index, Math.max(largest.get(index) ?? 0, Math.abs(values[k])))
  const scaled = rows.map(({ label, indices, values }) => ({
    ...{ label: labelOf(label), indices },
    values: values.map((value, k) => Math.fround(value / (largest.get(indices[k]) || 1))),
  }))
  const text = writeData(scaled)
  const path = await storeOf(folder, name, text.trim(), { blocks: 16 })
  await buildIndex(path, { threads: 1 })
  return { path, rows: rowsOf(text) }
}

describe('solver indexed with a truncated loss, data sets', () => {
  // T has several minima. On the digits the start decides which of them is found, so both start from all rows there.
  for (const [name, every, labelOf, starts, always] of [
    ['covtype.libsvm.binary', isSlow ? 40 : 100, (label: number) => label, ['sample', 'full'], [0, 2]],
    ['mnist', isSlow ? 5 : 12, (label: number) => (label === 1 ? 1 : -1), ['full'], [1]],
  ] as const) {
    it(`ends within 1 % of the batch solver: ${name}`, async () => {
      const { path, rows } = await realStore(name, every, labelOf)
      for (const outlierStart of isSlow ? starts : starts.slice(0, 1)) {
        for (const { loss, more } of isSlow ? methods : always.map(k => methods[k])) {
          const task = { loss, outlierMargin: 1, cost: 1 }
          const options: TrainOptions = { ...task, outlierStart, tolerance: 1e-3 }
          const { result } = await told(fresh(path), { ...options, ...more, solver: 'indexed' })
          assert.equal(result.exitReason, 'converged')
          const { objective, outliers } = truncatedObjective(result.model, rows, task)
          near(result.primal!, objective, 1e-9)
          assert.equal(result.outliers, outliers)
          const batch = await told(path, { ...options, solver: more.indexMethod ?? 'dual' })
          near(objective, truncatedObjective(batch.result.model, rows, task).objective, 0.01)
        }
      }
    })
  }
})
