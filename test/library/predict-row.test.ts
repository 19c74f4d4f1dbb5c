// One row to a label by the library: the same as the same row of a file.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { loadModel, predictRow, predictRows, type TrainOptions, train, UsageError } from '../../src/index.ts'

const rows: { text: string; row: Record<number, number> }[] = [
  { text: 'cat 3:0.1 7:1', row: { 7: 1, 3: 0.1 } },
  { text: 'dog 1:2 3:-0.7', row: { 1: 2, 3: -0.7 } },
  { text: 'cat 2:0.3 7:0.9', row: { 2: 0.3, 7: 0.9 } },
  { text: 'dog 1:1.5', row: { 1: 1.5 } },
  { text: 'bird 9:1', row: { 9: 1 } },
  { text: 'bird 2:0.2 9:0.8', row: { 9: 0.8, 2: 0.2 } },
]
const text = (count = rows.length): string =>
  rows
    .slice(0, count)
    .map(each => `${each.text}\n`)
    .join('')

describe('model.predict', () => {
  let folder = ''
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'spillway-predict-row-'))
  })
  after(() => rmSync(folder, { recursive: true }))

  const settings: [string, TrainOptions, number][] = [
    ['two classes', { bias: 1 }, 4],
    ['several classes', {}, 6],
    ['a logistic model', { loss: 'logistic' }, 6],
    ['features counted from 0', { indexBase: 0 }, 4],
    ['scaled features', { scale: 'standard', normalize: 'unit' }, 6],
    ['exact values', { values: 'f64' }, 4],
    ['expanded features', { expand: 'polynomial:2' }, 4],
  ]
  for (const [name, options, count] of settings) {
    it(`says of rows what predict says of their text: ${name}`, async () => {
      const data = join(folder, 'a.svm')
      writeFileSync(data, text(count))
      const trained = await train(data, options).model
      await trained.save(join(folder, 'a.model'))
      const model = await loadModel(join(folder, 'a.model'))
      const expected = []
      for await (const { labels, scores } of predictRows(data, model)) {
        for (const [k, label] of labels.entries()) {
          expected.push({ label, scores: [...scores.slice(k * model.vectors, (k + 1) * model.vectors)] })
        }
      }
      assert.equal(expected.length, count)
      for (const [k, { row }] of rows.slice(0, count).entries()) {
        const { label, scores, probabilities } = model.predict(row)
        assert.equal(label, expected[k].label)
        // Sums of scaled features are rounded in another order, and products of values are f32 in files of rows.
        const rounding = options.expand ? 1e-6 : 1e-9
        for (const [c, score] of scores.entries()) assert.ok(Math.abs(score - expected[k].scores[c]) < rounding)
        assert.deepEqual(trained.predict(row).scores, scores)
        const [indices, values] = [Object.keys(row).map(Number).reverse(), Object.values(row).reverse()]
        assert.deepEqual(model.predict(indices, values), { label, scores, ...(probabilities && { probabilities }) })
        assert.deepEqual(predictRow(model, [indices, values]).label, label)
        assert.equal(probabilities !== undefined, options.loss === 'logistic')
        if (probabilities) assert.ok(Math.abs(probabilities.reduce((sum, p) => sum + p) - 1) < 1e-12)
      }
    })
  }

  it('refuses numbers and values that no row has', async () => {
    const data = join(folder, 'b.svm')
    writeFileSync(data, text(4))
    const model = await train(data).model
    const refused: [() => unknown, RegExp][] = [
      [() => model.predict({ 0: 1 }), /feature number "0"; expected a whole number from 1/],
      [() => model.predict({ 1.5: 1 }), /feature number "1\.5"/],
      [() => model.predict([1, 1], [1, 2]), /feature 1 occurs twice/],
      [() => model.predict([1, 2], [1]), /2 feature numbers and 1 values/],
      [() => model.predict({ 1: Number.NaN }), /the value of feature 1 is NaN; expected a finite number/],
    ]
    for (const [call, words] of refused) {
      assert.throws(call, (error: Error) => error instanceof UsageError && words.test(error.message))
    }
    // A feature that the model never met says nothing.
    assert.deepEqual(model.predict({ 1: 1, 4000000000: 5 }), model.predict({ 1: 1 }))
  })

  it('refuses what is no row, which would have the score of an empty one', async () => {
    const { model } = await train([
      { label: 'cat', features: { 1: 1 } },
      { label: 'dog', features: { 1: -1 } },
    ]).result
    const wrong: [row: unknown, found: string][] = [
      [[0.5, 0.2], '[0.5,0.2]'],
      [[0.5, 0.2, 0], '[0.5,0.2,0]'],
      [[[1], [1], [1]], '[[1],[1],[1]]'],
      [new Map([[1, 1]]), 'a collection'],
      [null, 'null'],
      [5, '5'],
      [undefined, 'undefined'],
    ]
    for (const [row, found] of wrong) {
      assert.throws(() => predictRow(model, row as Record<number, number>), {
        name: 'UsageError',
        message: `a row is ${found}; expected values by feature numbers, { 3: 0.5, 17: 1 }, or numbers and values side by side, [[3, 17], [0.5, 1]]`,
      })
    }
    assert.equal(predictRow(model, [[1], [2]]).label, 'cat')
    assert.equal(predictRow(model, [Uint32Array.of(1), Float32Array.of(-2)]).label, 'dog')
  })
})
