// Models of text for other programs: factors of idf and log-odds, words of a table's texts, and calibrations, each trained here,
// written as ONNX, PMML and JSON, and scored by the rules of the format: the labels, scores and probabilities of Spillway.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { InferenceSession, Tensor } from 'onnxruntime-node'
import { calibrationsOf } from '../../src/model/calibration.ts'
import { featureName } from '../../src/model/feature-names.ts'
import { writeJson } from '../../src/model/json-file.ts'
import { inputFeatures, type Model } from '../../src/model/model.ts'
import { writeOnnx } from '../../src/model/onnx-file.ts'
import { pmmlWarnings, writePmml } from '../../src/model/pmml-file.ts'
import { predictRow, type RowPrediction } from '../../src/model/predict-row.ts'
import { NamedRows } from '../../src/tables/named-row.ts'
import { featureName as nameOfColumn } from '../../src/tables/schema.ts'
import type { TrainOptions } from '../../src/train/options.ts'
import { train } from '../../src/train/train.ts'
import { testFolder } from '../input-formats/fixture.ts'
import { csvOf, somePeople } from '../tables/some-people.ts'
import { scored } from './pmml-reader.ts'

const folder = testFolder()

/** A row as features, counted from 0, with what Spillway says of it. */
interface Scored {
  indices: number[]
  values: number[]
  expected: RowPrediction
}

const bytesOf = (pieces: Iterable<Uint8Array>): Buffer => Buffer.concat([...pieces])

function near(found: ArrayLike<number>, expected: ArrayLike<number>, what: string): void {
  assert.equal(found.length, expected.length, what)
  for (let k = 0; k < found.length; k++) {
    const size = 1 + Math.abs(expected[k])
    assert.ok(Math.abs(found[k] - expected[k]) <= 1e-9 * size, `${what}: ${found[k]} and ${expected[k]}`)
  }
}

async function agreesWithOnnx(model: Model, rows: Scored[]): Promise<void> {
  const session = await InferenceSession.create(bytesOf(writeOnnx(model)), { logSeverityLevel: 3 })
  assert.deepEqual(session.inputNames, ['features'])
  const width = inputFeatures(model)
  const data = new Float32Array(rows.length * width)
  for (const [r, { indices, values }] of rows.entries()) {
    for (const [k, index] of indices.entries()) data[r * width + index] = values[k]
  }
  const found = await session.run({ features: new Tensor('float32', data, [rows.length, width]) })
  const part = (name: string, r: number): Float64Array => {
    const { data, dims } = found[name]
    return (data as Float64Array).subarray(r * dims[1], (r + 1) * dims[1])
  }
  for (const [r, { expected }] of rows.entries()) {
    near(part('scores', r), expected.scores, `scores of row ${r} by ONNX`)
    assert.equal(String(found['label'].data[r]), expected.label)
    if (expected.probabilities)
      near(part('probabilities', r), expected.probabilities, `probabilities of row ${r} by ONNX`)
  }
}

/** By docs/model-json.md alone. */
function agreesWithJson(model: Model, rows: Scored[]): void {
  const json = JSON.parse(bytesOf(writeJson(model)).toString())
  for (const { indices, values, expected } of rows) {
    const scaled = indices.map((index, k): [string, number] => {
      const name = featureName(model, index)
      return [name, values[k] * (json.scaleFactors?.[name] ?? 1)]
    })
    const length = json.transforms.normalize === 'unit' ? Math.hypot(...scaled.map(([, x]) => x)) || 1 : 1
    const scores = json.weights.map(
      (vector: { weights: Record<string, number>; biasWeight?: number }) =>
        scaled.reduce((sum, [name, x]) => sum + ((vector.weights[name] ?? 0) * x) / length, 0) +
        (vector.biasWeight ?? 0) * json.bias,
    )
    near(scores, expected.scores, 'scores by JSON')
    if (!json.calibrations) continue
    const each = scores.map((score: number, k: number) => probabilityByJson(json.calibrations[k], score))
    const sum = each.reduce((total: number, p: number) => total + p, 0)
    const shares = json.labels.length === 2 ? [each[0], 1 - each[0]] : each.map((p: number) => p / sum)
    near(shares, expected.probabilities!, 'probabilities by JSON')
  }
}

type JsonCalibration =
  | { kind: 'sigmoid'; slope: number; offset: number }
  | { kind: 'isotonic'; scores: number[]; probabilities: number[] }

function probabilityByJson(calibration: JsonCalibration, score: number): number {
  if (calibration.kind === 'sigmoid') return 1 / (1 + Math.exp(-(calibration.slope * score + calibration.offset)))
  const { scores, probabilities } = calibration
  const k = scores.findIndex(point => point > score)
  if (k <= 0) return k === 0 ? probabilities[0] : probabilities[probabilities.length - 1]
  const along = (score - scores[k - 1]) / (scores[k] - scores[k - 1])
  return probabilities[k - 1] + along * (probabilities[k] - probabilities[k - 1])
}

function agreesWithPmml(model: Model, rows: Scored[], cellsOf: (row: Scored) => Map<string, number | string>): void {
  if (model.transforms.normalize) {
    assert.throws(() => bytesOf(writePmml(model)), /a RegressionModel of PMML does not normalise rows/)
    return
  }
  const xml = bytesOf(writePmml(model)).toString()
  const isExact = !pmmlWarnings(model).some(text => text.includes('probabilities is not'))
  assert.equal(isExact, calibrationsOf(model) !== undefined && !model.calibrations && model.labels.length === 2)
  for (const row of rows) {
    const { label, probabilities } = scored(xml, cellsOf(row))
    assert.equal(label, row.expected.label, `scores ${row.expected.scores}, values ${[...probabilities]}`)
    if (!isExact) continue
    near(
      model.labels.map(({ text }) => probabilities.get(text)!),
      row.expected.probabilities!,
      'probabilities by PMML',
    )
  }
}

const ways: TrainOptions[] = [
  { scale: 'idf' },
  { scale: 'log-odds', loss: 'logistic', bias: 1 },
  { scale: 'idf', normalize: 'unit', calibrate: 'sigmoid' },
  { scale: 'log-odds', calibrate: 'isotonic' },
]

describe('a model of counted words for other programs', () => {
  const WORDS = 30
  const rows = Array.from({ length: 240 }, (_, r) => {
    const indices = Array.from({ length: WORDS }, (_, j) => j).filter(j => (r * 7 + j * j * 3) % (j + 2) < 2)
    return { indices, values: indices.map(j => 1 + ((r + j) % 3)) }
  })
  const weigh = ({ indices, values }: (typeof rows)[number], r: number): number =>
    indices.reduce((sum, j, k) => sum + Math.sin(j * 2.3) * values[k], 0) + Math.sin(r * 12.9)

  for (const classes of [
    ['spam', 'ham'],
    ['a', 'b', '<c>'],
  ]) {
    for (const options of ways) {
      it(`has the answers of Spillway: ${classes.length} classes, ${JSON.stringify(options)}`, async () => {
        const given = rows.map((row, r) => ({
          label: classes[((Math.floor(weigh(row, r)) % classes.length) + classes.length) % classes.length],
          indices: row.indices.map(j => j + 1),
          values: row.values,
        }))
        const model = await train(given, { threads: 1, ...options }).model
        assert.equal(model.transforms.scale?.kind, options.scale)
        const tried = rows
          .slice(0, 50)
          .map(row => ({ ...row, expected: predictRow(model, [row.indices.map(j => j + 1), row.values]) }))
        await agreesWithOnnx(model, tried)
        agreesWithJson(model, tried)
        agreesWithPmml(
          model,
          tried,
          ({ indices, values }) => new Map(indices.map((j, k) => [`feature_${j + 1}`, values[k]])),
        )
      })
    }
  }
})

describe('a model of a table with texts for other programs', () => {
  const people = somePeople(240)
  const path = folder.write('people.csv', csvOf(people))
  for (const options of ways) {
    it(`has the answers of Spillway: ${JSON.stringify(options)}`, async () => {
      const table: TrainOptions = { label: 'bought', text: ['note'], categorical: ['zip', 'hash:6'], keepNames: true }
      const model = await train(path, { threads: 1, ...table, ...options }).model
      const schema = model.schema!
      const cells = new NamedRows(schema, 32)
      const refuse = (found: string, expected: string): never => assert.fail(`${found}, ${expected}`)
      const tried = people
        .slice(0, 50)
        .map(row => ({ ...cells.entries(row, refuse), row, expected: predictRow(model, row) }))
      const rows = tried.map(({ indices, values, expected }) => ({
        indices: [...indices],
        values: [...values],
        expected,
      }))
      await agreesWithOnnx(model, rows)
      agreesWithJson(model, rows)
      // Cells of columns that are not hashed, and the features of those that are.
      agreesWithPmml(model, rows, ({ indices, values }) => {
        const { row } = tried[rows.findIndex(each => each.indices === indices)]
        const named = Object.entries(row).filter(([, cell]) => cell !== null) as [string, string | number][]
        const hashed = indices.flatMap((index, k): [string, number][] => {
          const name = nameOfColumn(schema, index)!
          return / by hash \d+$/.test(name) ? [[name, values[k]]] : []
        })
        const numbers = named.map(([name, cell]): [string, string | number] => [
          name,
          typeof cell === 'number' ? Math.fround(cell) : cell,
        ])
        return new Map([...numbers, ...hashed])
      })
    })
  }
})
