// `--scale idf` and `--scale log-odds`: factors against counts by hand, in memory, over blocks and over ranks, and in every model
// that is made of them.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { crossValidate, ingest, predict, scoreRow, train } from '../../src/index.ts'
import { writeJson } from '../../src/model/json-file.ts'
import { readLiblinear, writeLiblinear } from '../../src/model/liblinear-file.ts'
import { denseScaleFactors } from '../../src/model/model.ts'
import { decodeModel, encodeModel } from '../../src/model/own-file.ts'
import { logOddsFactor } from '../../src/rows/scale.ts'
import type { TrainOptions } from '../../src/train/options.ts'
import type { TrainResult } from '../../src/train/training-run.ts'
import { randomNumbers } from '../numeric/reference.ts'
import { fastFolder } from '../out-of-core/fixture.ts'
import { trainOverRanks } from '../ranks/ranks.ts'

const folder = fastFolder()
let files = 0

interface Row {
  label: number
  /** Features from 1 on, with their values. */
  words: Map<number, number>
}

/** Rows of words: some of them tell classes apart, others are everywhere, some entries are zeros. */
function wordRows(rows: number, features: number, classes: number, seed = 3): Row[] {
  const random = randomNumbers(seed)
  return Array.from({ length: rows }, (_, i) => {
    const label = i % classes
    const words = new Map<number, number>()
    for (let j = 1; j <= features; j++) {
      const likely = j % 3 === 0 ? 0.3 : j % classes === label ? 0.25 : 0.05
      if (random() < likely) words.set(j, random() < 0.05 ? 0 : Math.ceil(random() * 3))
    }
    words.set(features + 1, 1)
    return { label, words }
  })
}

const textOf = (rows: Row[]): string =>
  rows.map(({ label, words }) => `${label} ${[...words].map(([j, x]) => `${j}:${x}`).join(' ')}\n`).join('')

/** Rows that have a feature, by the classes of all rows. */
function factorsByHand(rows: Row[], kind: 'idf' | 'log-odds', features: number): number[] {
  const labels = [...new Set(rows.map(({ label }) => label))]
  const count = (some: Row[], j: number): number => some.filter(({ words }) => (words.get(j) ?? 0) !== 0).length
  return Array.from({ length: features }, (_, k) => {
    const having = count(rows, k + 1)
    if (having === 0) return 1
    if (kind === 'idf') return Math.log((1 + rows.length) / (1 + having)) + 1
    const ratios = labels.map(label => {
      const [own, others] = [rows.filter(row => row.label === label), rows.filter(row => row.label !== label)]
      const rate = (some: Row[]): number => (count(some, k + 1) + 1) / (some.length + 2)
      return Math.abs(Math.log(rate(own) / rate(others)))
    })
    return Math.max(...ratios)
  })
}

async function inMemory(text: string, options: TrainOptions): Promise<TrainResult> {
  return train(folder.write(`${++files}.svm`, text), { threads: 1, maxPasses: 30, solver: 'dual', ...options }).result
}

async function overBlocks(text: string, options: TrainOptions): Promise<TrainResult> {
  const path = folder.write(`${++files}.svm`, text)
  const store = join(folder.path, `${files}.spill`)
  await ingest(path, store, { blocks: 5, threads: 1 })
  return train(store, { threads: 1, maxPasses: 30, solver: 'block', ...options }).result
}

const factorsOf = ({ model }: TrainResult): number[] => [...denseScaleFactors(model)!]

function assertNear(found: readonly number[], expected: readonly number[], most = 1e-12): void {
  assert.equal(found.length, expected.length)
  for (const [j, factor] of expected.entries())
    assert.ok(Math.abs(found[j] - factor) <= most * (1 + factor), `feature ${j + 1}: ${found[j]}, expected ${factor}`)
}

const kinds = ['idf', 'log-odds'] as const
const ways = { 'in memory': inMemory, 'over blocks': overBlocks }

for (const scale of kinds) {
  describe(`--scale ${scale}`, () => {
    for (const [way, learn] of Object.entries(ways)) {
      for (const classes of [2, 3]) {
        it(`has the factors that counts give, ${classes} classes, ${way}`, async () => {
          const rows = wordRows(240, 30, classes)
          assertNear(factorsOf(await learn(textOf(rows), { scale })), factorsByHand(rows, scale, 31))
        })
      }
    }

    it('finds the same factors where features are renumbered', async () => {
      const rows = wordRows(200, 40, 2).map(({ label, words }) => ({
        label,
        words: new Map([...words].map(([j, x]) => [j * 5000, x])),
      }))
      const expected = factorsByHand(rows, scale, 205_000)
      for (const learn of Object.values(ways)) assertNear(factorsOf(await learn(textOf(rows), { scale })), expected)
    })

    it('trains on the rows that a program would have scaled before', async () => {
      const rows = wordRows(240, 30, 2)
      const factors = factorsByHand(rows, scale, 31)
      const scaled = rows.map(({ label, words }) => ({
        label,
        words: new Map([...words].map(([j, x]) => [j, x * factors[j - 1]])),
      }))
      const options: TrainOptions = { tolerance: 1e-8, maxPasses: 5000, normalize: 'unit', values: 'f64' }
      const expected = await inMemory(textOf(scaled), options)
      const got = await inMemory(textOf(rows), { ...options, scale })
      assert.ok(Math.abs(got.primal! - expected.primal!) < 1e-6 * expected.primal!, `${got.primal} ${expected.primal}`)
      const blocks = await overBlocks(textOf(rows), { ...options, values: undefined, scale, solver: 'selective' })
      assert.ok(Math.abs(blocks.primal! - expected.primal!) < 1e-6 * expected.primal!, `${blocks.primal}`)
    })

    it('is part of the model: predictions, files, and scores of one row', async () => {
      const rows = wordRows(240, 30, 2)
      const text = textOf(rows)
      const { model, trainingAccuracy } = await inMemory(text, { scale, normalize: 'unit', tolerance: 1e-6 })
      const path = folder.write('predicted.svm', text)
      const { accuracy } = await predict(path, model, { threads: 1 })
      assert.ok(Math.abs(accuracy - trainingAccuracy!) < 1e-9)
      const read = decodeModel(encodeModel(model))
      assert.deepEqual(read.transforms, model.transforms)
      assert.equal(read.transforms.scale!.kind, scale)
      const json = JSON.parse(Buffer.concat([...writeJson(model)]).toString())
      assert.deepEqual(json.transforms, { scale, normalize: 'unit' })
      const plain = (await inMemory(text, { scale })).model
      const bytes = Buffer.concat([...writeLiblinear(plain)].map(piece => Buffer.from(piece)))
      const folded = readLiblinear(bytes)
      for (const { words } of rows.slice(0, 20)) {
        const [indices, values] = [[...words.keys()].map(j => j - 1), [...words.values()]]
        const difference = scoreRow(plain, indices, values)[0] - scoreRow(folded, indices, values)[0]
        assert.ok(Math.abs(difference) < 1e-9, `${difference}`)
      }
    })

    it('gathers the rows of all ranks', async () => {
      const rows = wordRows(240, 30, 3)
      const results = await trainOverRanks(folder, textOf(rows), 3, { scale, solver: 'newton', loss: 'logistic' })
      for (const result of results) assertNear(factorsOf(result), factorsByHand(rows, scale, 31))
    })

    it('leaves the scaling of numbers in a table to their deviations', async () => {
      const random = randomNumbers(11)
      const people = Array.from({ length: 300 }, (_, k) => ({
        age: Math.round(20 + 60 * random()),
        town: ['Ulm', 'Bonn', 'Kiel'][Math.floor(random() * 3)],
        says: k % 2 ? 'good and fine' : `bad and ${random() < 0.5 ? 'poor' : 'fine'}`,
        label: k % 2 ? 'yes' : 'no',
      }))
      const lines = people.map(({ age, town, says, label }) => `${age},${town},${says},${label}`)
      const path = folder.write('people.csv', `age,town,says,label\n${lines.join('\n')}\n`)
      const ages = people.map(({ age }) => age)
      const mean = ages.reduce((sum, age) => sum + age, 0) / ages.length
      const deviation = Math.sqrt(ages.reduce((sum, age) => sum + (age - mean) ** 2, 0) / ages.length)
      const towns = people.filter(({ town }) => town === people[0].town)
      const rates = ['yes', 'no'].map(label => {
        const own = people.filter(one => one.label === label)
        return (own.filter(({ town }) => town === people[0].town).length + 1) / (own.length + 2)
      })
      const expected =
        scale === 'idf' ? Math.log(301 / (1 + towns.length)) + 1 : Math.abs(Math.log(rates[0] / rates[1]))
      for (const solver of ['dual', 'block']) {
        const store = solver === 'block' ? { store: join(folder.path, `people-${scale}.spill`) } : {}
        const options: TrainOptions = { scale, text: ['says'], label: 'label', solver, ...store, threads: 1 }
        const factors = denseScaleFactors((await train(path, options).result).model)!
        assertNear([factors[0], factors[1]], [1 / deviation, expected])
      }
    })
  })
}

describe('scaling for text', () => {
  it('gives rows of unit length their length after the factors', async () => {
    const rows = wordRows(120, 10, 2)
    const { model } = await inMemory(textOf(rows), { scale: 'idf', normalize: 'unit', maxPasses: 200 })
    const factors = denseScaleFactors(model)!
    const [{ words }] = rows
    const x = [...words].map(([j, value]) => value * factors[j - 1])
    const length = Math.hypot(...x)
    const weights = [...words.keys()].map(j => {
      const own = scoreRow({ ...model, transforms: {} }, [j - 1], [1])[0]
      return own
    })
    const expected = weights.reduce((sum, w, k) => sum + (w * x[k]) / length, 0)
    const [found] = scoreRow(
      model,
      [...words.keys()].map(j => j - 1),
      [...words.values()],
    )
    assert.ok(Math.abs(found - expected) < 1e-9, `${found} ${expected}`)
  })

  it('gives a feature of all rows, and of both classes alike, next to nothing by its log odds', () => {
    assert.equal(logOddsFactor([50, 50], [50, 50]), 0)
    assert.equal(logOddsFactor([0, 0], [50, 50]), 1)
    assert.ok(Math.abs(logOddsFactor([9, 0], [98, 98]) - Math.log(10)) < 1e-12)
    assert.equal(logOddsFactor([3, 7, 1], [10, 10, 10]), logOddsFactor([1, 7, 3], [10, 10, 10]))
  })

  it('is refused with a kernel, and with an expansion, as other scales are', async () => {
    const text = textOf(wordRows(20, 5, 2))
    await assert.rejects(
      inMemory(text, { scale: 'idf', kernel: 'chi2' }),
      /values from 0 to 1, and scale idf makes others/,
    )
    await assert.rejects(inMemory(text, { scale: 'log-odds', expand: 'polynomial:2' }), /either scaled or expanded/)
  })

  it('is cross-validated', async () => {
    const path = folder.write('folds.svm', textOf(wordRows(240, 30, 2)))
    const { costs } = await crossValidate(path, { scale: 'log-odds', normalize: 'unit', folds: 3, threads: 1 })
    assert.ok(costs[0].accuracy > 0.7, String(costs[0].accuracy))
  })
})
