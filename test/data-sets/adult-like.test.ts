// The tour of a table: numbers of very different sizes, names and missing cells, nothing said but the label. The accuracy on
// other rows is that of scikit-learn 1.2.1 on the same files, by one-hot names and standard scaling.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { predict } from '../../src/predict/predict.ts'
import { train } from '../../src/train/train.ts'
import { good } from '../cli/run.ts'
import { testFolder } from '../input-formats/fixture.ts'
import { adultLike } from './adult-like.ts'
import { censusTable } from './census-table.ts'
import { dataSet } from './data-sets.ts'
import { readLines } from './rows.ts'

const folder = testFolder()

/** LinearSVC(loss="hinge", C=1) and LogisticRegression(): shares of right labels on the second file. */
const SCIKIT_LEARN = { hinge: 0.79175, logistic: 0.7885 }

describe('a table like that of the census', () => {
  const data = folder.write('adult.csv', adultLike(8000, 1))
  const test = folder.write('adult.test.csv', adultLike(4000, 2))

  for (const loss of ['hinge', 'logistic'] as const) {
    it(`is predicted as well as by scikit-learn, ${loss} loss`, async () => {
      const { model } = await train(data, { label: 'income', loss }).result
      const { accuracy, rows } = await predict(test, model)
      assert.equal(rows, 4000)
      assert.ok(accuracy > SCIKIT_LEARN[loss] - 0.002, `${accuracy}, expected ${SCIKIT_LEARN[loss]}`)
    })
  }
})

/** OneHotEncoder() and the same two models on the tables of the real set: shares of right labels on its test rows. */
const OF_REAL = { hinge: 0.8497, logistic: 0.8498 }

describe('the table of the census itself', () => {
  const [data, test] = (['a9a', 'a9a.t'] as const).map(name => {
    const { path, why } = dataSet(name)
    return { why, path: why ? '' : folder.write(`${name}.csv`, censusTable(readLines(path))) }
  })

  it('is predicted as well as by scikit-learn, by the command alone, which says what became of each column', {
    skip: data.why ?? false,
  }, async () => {
    for (const loss of ['hinge', 'logistic'] as const) {
      const words = ['train', data.path, `${loss}.model`, '--label', 'income', '--test', test.path, '--loss', loss]
      const { stdout } = await good(words, { cwd: folder.path })
      const [, share, rows] = /test accuracy ([\d.]+) % on ([\d,]+) rows/.exec(stdout)!
      assert.equal(rows, '16,281')
      assert.ok(Math.abs(Number(share) / 100 - OF_REAL[loss]) < 0.002, `${loss}: ${share} %, expected ${OF_REAL[loss]}`)
      assert.match(stdout, /workclass +names: 8 features, and one for missing cells/)
      assert.match(stdout, /education +names: 16 features\n/)
      assert.match(stdout, /income +the label/)
    }
  })
})
