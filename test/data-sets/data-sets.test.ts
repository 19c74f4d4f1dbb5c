// The likenesses are shaped like the sets that they stand for, the same every time, and neither trivial nor hopeless.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { predict } from '../../src/predict/predict.ts'
import type { TrainOptions } from '../../src/train/options.ts'
import { train } from '../../src/train/train.ts'
import { testFolder } from '../input-formats/fixture.ts'
import { dataSet, rowsOfSet } from './data-sets.ts'
import { likenesses, linesOf, type SetName } from './likenesses.ts'
import { rowOf } from './rows.ts'

const folder = testFolder()

interface Shape {
  features: number
  /** Nonzeros of a row, on average. */
  nonzeros: number
  labels: number[]
  /** Share of the least frequent label. */
  fewest: number
  least: number
  most: number
  /** An accuracy that the training rows allow on others: above the larger class, below all. */
  accuracy: [number, number]
  options?: TrainOptions
}

const upTo = (count: number, from = 1): number[] => Array.from({ length: count }, (_, k) => k + from)
const unit: TrainOptions = { normalize: 'unit' }
const shapes: Record<Exclude<SetName, 'celegans-acceptor.txt'>, Shape> = {
  a9a: { features: 123, nonzeros: 13.9, labels: [-1, 1], fewest: 0.24, least: 1, most: 1, accuracy: [0.8, 0.98] },
  w8a: { features: 300, nonzeros: 11.7, labels: [-1, 1], fewest: 0.03, least: 1, most: 1, accuracy: [0.96, 0.999] },
  'dna.scale': {
    features: 180,
    nonzeros: 46.6,
    labels: upTo(3),
    fewest: 0.23,
    least: 1,
    most: 1,
    accuracy: [0.7, 0.98],
  },
  'covtype.libsvm.binary': {
    ...{ features: 54, nonzeros: 11.9, labels: [1, 2], fewest: 0.49, least: -173, most: 7173, accuracy: [0.6, 0.95] },
    options: { scale: 'minmax' },
  },
  mnist: {
    ...{ features: 780, nonzeros: 150, labels: upTo(10, 0), fewest: 0.1, least: 1, most: 255, accuracy: [0.7, 0.99] },
    options: unit,
  },
  imdb: {
    ...{ features: 44_764, nonzeros: 136, labels: [-1, 1], fewest: 0.5, least: 1, most: 1000, accuracy: [0.65, 0.97] },
    options: unit,
  },
  news20bydate: {
    ...{ features: 53_195, nonzeros: 138, labels: upTo(20), fewest: 0.04, least: 1, most: 11_151 },
    ...{ accuracy: [0.4, 0.97], options: unit },
  },
}

describe('likenesses', () => {
  for (const [name, shape] of Object.entries(shapes) as [SetName, Shape][]) {
    it(`${name}: features, nonzeros, values and classes of the real set`, async t => {
      const lines = linesOf(name)
      const rows = lines.map(rowOf)
      for (const { indices } of rows) assert.ok(indices.every((index, k) => index > (indices[k - 1] ?? 0)))
      const indices = rows.flatMap(row => row.indices)
      const values = rows.flatMap(row => row.values)
      const last = indices.reduce((most, index) => Math.max(most, index), 0)
      assert.ok(last <= shape.features && last > 0.99 * shape.features, `${last} features`)
      const nonzeros = indices.length / rows.length
      assert.ok(Math.abs(nonzeros - shape.nonzeros) < 0.06 * shape.nonzeros, `${nonzeros} nonzeros a row`)
      assert.ok(values.every(x => Number.isInteger(x) && x !== 0 && x >= shape.least && x <= shape.most))
      const labels = [...new Set(rows.map(({ label }) => label))].sort((a, b) => a - b)
      assert.deepEqual(labels, shape.labels)
      const shares = labels.map(own => rows.filter(({ label }) => label === own).length / rows.length)
      assert.ok(Math.abs(Math.min(...shares) - shape.fewest) < 0.02, `${shares}`)

      const [training, tests] = [lines, linesOf(name, 1000, 1)].map((part, k) =>
        folder.write(`${name}-${k}.svm`, `${part.join('\n')}\n`),
      )
      const { model } = await train(training, { cost: 0.1, tolerance: 0.01, ...shape.options }).result
      const { accuracy } = await predict(tests, model)
      t.diagnostic(`accuracy ${accuracy}`)
      assert.ok(accuracy > shape.accuracy[0] && accuracy < shape.accuracy[1], `accuracy ${accuracy}`)
    })
  }

  it('w8a has rows without entries, as the real set has', () => {
    const empty = linesOf('w8a').filter(line => !line.includes(':')).length
    assert.ok(empty > 200 && empty < 500, `${empty} of 4000`)
  })

  it('celegans-acceptor: strings of 398 letters around AG, few of them splice sites', () => {
    const lines = linesOf('celegans-acceptor.txt')
    for (const line of lines) assert.match(line, /^(1|-1) [ACGT]{198}AG[ACGT]{198}$/)
    const share = lines.filter(line => line.startsWith('1')).length / lines.length
    assert.ok(Math.abs(share - 0.033) < 0.01, `${share}`)
  })

  it('the same rows every time, the first of them however many are wanted, and others to test on', () => {
    for (const name of Object.keys(likenesses) as SetName[]) {
      const lines = linesOf(name, 50)
      assert.deepEqual(linesOf(name, 20), lines.slice(0, 20))
      const tests = new Set(linesOf(name, 50, 1))
      assert.ok(lines.filter(line => tests.has(line)).length < 10, name)
    }
  })
})

describe('a data set', () => {
  it('is the real one or its likeness, and the reason says which', () => {
    const { path, why } = dataSet('dna.scale.t', 70)
    const rows = rowsOfSet('dna.scale.t', () => true, 70)
    assert.match(path, /dna\.scale\.t\.zst$/)
    assert.equal(rows.length, why ? 70 : 1186)
    if (why) assert.match(why, /^skipped: .*(SPILLWAY_DATA|the data folder has no dna\.scale\.t\.zst)/)
  })
})
