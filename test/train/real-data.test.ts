// Data sets, real or likenesses: LIBLINEAR's objective and certificates; of the real ones, known optima.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { TrainOptions } from '../../src/train/options.ts'
import { dataSet, rowsOfSet } from '../data-sets/data-sets.ts'
import { type Row, unitLength, writeData } from '../data-sets/rows.ts'
import { testFolder } from '../input-formats/fixture.ts'
import { isSlow } from '../slow.ts'
import { certified, compare } from './compare.ts'
import type { LossName } from './liblinear.ts'

const folder = testFolder()
const losses: LossName[] = ['hinge', 'squared-hinge', 'logistic']

describe('a9a', () => {
  const optima: Record<LossName, number> = { hinge: 11433.8077, 'squared-hinge': 13742.3973, logistic: 10529.5626 }
  const data = dataSet('a9a')
  let rows: Row[] | undefined
  for (const loss of losses) {
    it(`${loss}, C = 1: the known optimum`, async t => {
      if (data.why) return t.skip(data.why)
      rows ??= rowsOfSet('a9a')
      assert.equal(rows.length, 32_561)
      const result = await certified(data.path, rows, { loss, cost: 1, bias: 0, classWeights: {} })
      assert.ok(
        Math.abs(result.primal - optima[loss]) <= 1e-6 * optima[loss],
        `${result.primal}, known ${optima[loss]}`,
      )
      assert.equal(result.rows, 32_561)
      assert.equal(result.features, 123)
      assert.equal(result.nonzeros, 451_592)
    })
    it(`${loss}, bias and class weights: no worse than LIBLINEAR`, async t => {
      rows ??= rowsOfSet('a9a')
      const path = folder.write('a9a.svm', writeData(rows))
      const objective = { loss, cost: 0.05, bias: 1, classWeights: { '1': 3, '-1': 0.7 } }
      await compare(t, data.path, path, rows, objective)
    })
  }
})

describe('w8a', () => {
  const data = dataSet('w8a')
  let rows: Row[] | undefined
  for (const loss of losses) {
    for (const [cost, bias, classWeights] of [
      [0.1, 0, {}],
      [0.1, 1, { '1': 5 }],
    ] as const) {
      it(`${loss}, C = ${cost}, bias ${bias}: no worse than LIBLINEAR`, async t => {
        rows ??= rowsOfSet('w8a')
        const path = folder.write('w8a.svm', writeData(rows))
        await compare(t, data.path, path, rows, { loss, cost, bias, classWeights })
      })
    }
  }
})

describe('imdb, unit length', () => {
  it('every loss, a quarter of the rows: no worse than LIBLINEAR on values divided by hand', async t => {
    const raw = rowsOfSet('imdb', line => line % 4 === 0)
    const rows = raw.map(unitLength)
    const ours = folder.write('imdb.svm', writeData(raw))
    const theirs = folder.write('imdb-unit.svm', writeData(rows))
    for (const loss of losses) {
      await compare(
        t,
        ours,
        theirs,
        rows,
        { loss, cost: 1, bias: 0, classWeights: {} },
        { normalize: 'unit', indexBase: 1 },
      )
    }
    await compare(
      t,
      ours,
      theirs,
      rows,
      { loss: 'hinge', cost: 1, bias: 1, classWeights: { '1': 2 } },
      { normalize: 'unit', indexBase: 1 },
    )
  })
})

describe('news20bydate, one class against the rest', () => {
  it('no worse than LIBLINEAR, bias and class weights included', async t => {
    const raw = rowsOfSet('news20bydate', line => isSlow || line % 4 === 0)
    assert.equal(new Set(raw.map(row => row.label)).size, 20)
    const chosen = raw[0].label
    const relabelled = raw.map(row => ({ ...row, label: row.label === chosen ? 1 : -1 }))
    const rows = relabelled.map(unitLength)
    const ours = folder.write('news.svm', writeData(relabelled))
    const theirs = folder.write('news-unit.svm', writeData(rows))
    const more: TrainOptions = { normalize: 'unit', indexBase: 1 }
    for (const loss of ['hinge', 'logistic'] as const) {
      await compare(t, ours, theirs, rows, { loss, cost: 4, bias: 1, classWeights: { '1': 3 } }, more)
    }
    await compare(t, ours, theirs, rows, { loss: 'squared-hinge', cost: 4, bias: 0, classWeights: {} }, more)
  })
})
