// Models of tables as ONNX and PMML: inputs and fields are called by the columns, and rows of cells get the scores of `predict`.
import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { InferenceSession, Tensor } from 'onnxruntime-node'
import type { Model } from '../../src/model/model.ts'
import { onnxWarnings, writeOnnx } from '../../src/model/onnx-file.ts'
import { pmmlWarnings, writePmml } from '../../src/model/pmml-file.ts'
import { predictRow } from '../../src/model/predict-row.ts'
import type { TrainOptions } from '../../src/train/options.ts'
import { train } from '../../src/train/train.ts'
import { testFolder } from '../input-formats/fixture.ts'
import { csvOf, type Person, somePeople } from '../tables/some-people.ts'
import { scored } from './pmml-reader.ts'

const folder = testFolder()
const people = somePeople(200)
/** A column that is called as an output of the graph, and one as a tensor within it. */
const renamed = people.map(({ gain, zip, ...row }) => ({ ...row, scores: gain, weights: zip }))
const options: Record<string, TrainOptions> = {
  'as it is': { label: 'bought' },
  'values of 64 bits, unit length': { label: 'bought', values: 'f64', normalize: 'unit' },
  'an additive kernel': { label: 'bought', kernel: 'chi2', scale: 'minmax' },
}
const models = new Map<string, Model>()
const trained = (rows: object[], given: TrainOptions): Promise<Model> =>
  train(folder.write(`${models.size}.csv`, csvOf(rows as Person[])), {
    loss: 'logistic',
    bias: 1,
    threads: 1,
    ...given,
  }).model

before(async () => {
  for (const [name, given] of Object.entries(options)) models.set(name, await trained(people, given))
})

/** Rows that no training has seen: other names, and all that may be missing. */
const odd: Person[] = [
  { ...people[0], 'job, if any': 'smith', note: 'nothing' },
  { ...people[0], age: null, 'job, if any': null },
  { ...people[0], 'job, if any': 'NA' },
]

async function run(model: Model, rows: Record<string, unknown>[], inputs: Record<string, string>) {
  const session = await InferenceSession.create(Buffer.concat([...writeOnnx(model)]), { logSeverityLevel: 3 })
  assert.deepEqual([...session.inputNames].sort(), Object.keys(inputs).sort())
  const feeds = Object.fromEntries(
    Object.entries(inputs).map(([input, column]) => {
      const cells = rows.map(row => row[column])
      const isText = cells.some(cell => typeof cell === 'string')
      const numbers = cells.map(cell => (cell === null ? Number.NaN : Number(cell)))
      const wide = model.values === 'f64'
      const tensor = isText
        ? new Tensor(
            'string',
            cells.map(cell => (cell ?? '') as string),
            [rows.length, 1],
          )
        : wide
          ? new Tensor('float64', Float64Array.from(numbers), [rows.length, 1])
          : new Tensor('float32', Float32Array.from(numbers), [rows.length, 1])
      return [input, tensor]
    }),
  )
  const found = await session.run(feeds)
  return { labels: found['label'].data as unknown as string[], scores: found['scores'].data as Float64Array }
}

describe('a model of a table as ONNX', () => {
  for (const name of Object.keys(options)) {
    it(`has an input for each column, and the scores of Spillway: ${name}`, async () => {
      const model = models.get(name)!
      const rows = [...people, ...odd]
      const columns = ['age', 'job, if any', 'gain', 'zip', 'note']
      const { labels, scores } = await run(model, rows, Object.fromEntries(columns.map(each => [each, each])))
      for (const [r, row] of rows.entries()) {
        const expected = predictRow(model, row)
        assert.equal(labels[r], expected.label)
        const near = 1e-9 * (1 + Math.abs(expected.scores[0]))
        assert.ok(Math.abs(scores[r] - expected.scores[0]) < near, `row ${r}: ${scores[r]}, ${expected.scores[0]}`)
      }
      assert.deepEqual(
        onnxWarnings(model).filter(text => !text.includes('length')),
        [],
      )
    })
  }

  it('takes columns of any name', async () => {
    const model = await trained(renamed, { label: 'bought' })
    const inputs = { age: 'age', 'job, if any': 'job, if any', scores_: 'scores', weights: 'weights', note: 'note' }
    const { scores } = await run(model, renamed, inputs)
    for (const [r, row] of renamed.entries()) {
      assert.ok(Math.abs(scores[r] - predictRow(model, row).scores[0]) < 1e-9)
    }
  })

  it('has features for inputs where columns are hashed, and says so', async () => {
    const model = await trained(people, { label: 'bought', categorical: ['hash:4'] })
    const session = await InferenceSession.create(Buffer.concat([...writeOnnx(model)]), { logSeverityLevel: 3 })
    assert.deepEqual([...session.inputNames], ['features'])
    assert.deepEqual(onnxWarnings(model), [
      'columns are hashed, so rows are features, not cells; the metadata of the file tells which are which: schema',
    ])
  })
})

describe('a model of a table as PMML', () => {
  /** Cells that are not missing, numbers as Spillway reads them. */
  const cellsOf = (row: Record<string, unknown>): Map<string, string | number> =>
    new Map(
      Object.entries(row)
        .filter((entry): entry is [string, string | number] => entry[1] !== null)
        .map(([name, cell]) => [name, typeof cell === 'number' ? Math.fround(cell) : cell]),
    )
  const textOf = (model: Model): string => Buffer.concat([...writePmml(model)]).toString()

  it('has a field for each column, and the labels and probabilities of Spillway', () => {
    const model = models.get('as it is')!
    const xml = textOf(model)
    for (const row of [...people.slice(0, 60), ...odd]) {
      const { label, probabilities, target } = scored(xml, cellsOf(row))
      assert.equal(target, 'bought')
      const expected = predictRow(model, row)
      assert.equal(label, expected.label)
      model.labels.forEach(({ text }, k) => {
        assert.ok(Math.abs(probabilities.get(text)! - expected.probabilities![k]) < 1e-9)
      })
    }
    assert.match(xml, /<Value value="judge &quot;Dredd&quot;"\/>/)
    assert.match(xml, /<CategoricalPredictor name="job, if any" value="a&#10;b" /)
  })

  it('has a field for each feature of a hashed column, and says so', async () => {
    const model = await trained(people, { label: 'bought', categorical: ['hash:4'], ignore: ['note'] })
    assert.match(textOf(model), /<DataField name="job, if any by hash \d+" optype="continuous"/)
    assert.match(
      pmmlWarnings(model)[0],
      /^PMML knows no hashes: the features of "job, if any" have fields of their own/,
    )
  })

  it('is refused for a value that XML cannot hold', async () => {
    const rows = people.map(row => ({ ...row, note: `${row.note}\u0001` }))
    const model = await trained(rows, { label: 'bought' })
    assert.throws(() => textOf(model), /XML cannot hold ".*" in column "note": it has a control character in it/)
  })
})
