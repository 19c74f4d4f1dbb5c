// The tour of a table: numbers of very different sizes, names and missing cells, nothing said but the label. The accuracy on
// other rows is that of scikit-learn 1.2.1 on the same files, by one-hot names and standard scaling.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { predict } from '../../src/predict/predict.ts'
import { train } from '../../src/train/train.ts'
import { testFolder } from '../input-formats/fixture.ts'
import { adultLike } from './adult-like.ts'

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
