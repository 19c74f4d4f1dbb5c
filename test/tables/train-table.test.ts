// Training on tables: the same model as of LIBSVM text with the same numbers, in memory and in blocks; models that know their
// columns; weights of rows; what became of the columns.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { addRows } from '../../src/block-store/add.ts'
import { ingest } from '../../src/block-store/ingest.ts'
import { openStore } from '../../src/block-store/reader.ts'
import { SpillwayError } from '../../src/errors.ts'
import { explainRow } from '../../src/model/explain-row.ts'
import { featureName } from '../../src/model/feature-names.ts'
import { loadModel, saveModel } from '../../src/model/files.ts'
import { denseScaleFactors, type Model } from '../../src/model/model.ts'
import { encodeModel } from '../../src/model/own-file.ts'
import { predict } from '../../src/predict/predict.ts'
import { crossValidate } from '../../src/train/cross-validate.ts'
import type { TrainOptions } from '../../src/train/options.ts'
import { train } from '../../src/train/train.ts'
import { testFolder } from '../input-formats/fixture.ts'

const folder = testFolder()
const ROWS = 400
/** A generator of numbers from 0 to 1. */
function random(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 1103515245 + 12345) % 2147483648
    return state / 2147483648
  }
}

const draw = random(7)
const numbers = Array.from({ length: ROWS }, () => {
  const x = Array.from({ length: 5 }, () => (draw() < 0.3 ? 0 : Number((draw() * 10 - 5).toFixed(3))))
  return { label: x[0] - x[2] + 2 * draw() - 1 > 0 ? 1 : -1, x }
})
const asCsv = folder.write(
  'n.csv',
  ['x1,x2,x3,x4,x5,label', ...numbers.map(({ label, x }) => [...x, label])].join('\n'),
)
const asSvm = folder.write(
  'n.svm',
  numbers.map(({ label, x }) => `${label}${x.map((v, k) => (v === 0 ? '' : ` ${k + 1}:${v}`)).join('')}`).join('\n'),
)

const towns = ['Bonn', 'Ulm', 'Köln']
const people = Array.from({ length: ROWS }, () => {
  const [age, town] = [Math.floor(20 + draw() * 50), towns[Math.floor(draw() * 3)]]
  const gain = draw() < 0.9 ? 0 : Math.floor(draw() * 99999)
  const yes = (age - 45) / 15 + (town === 'Ulm' ? 1 : -0.5) + gain / 40000 + draw() - 0.5 > 0
  return { age, town, gain, bought: yes ? 'yes' : 'no' }
})
const peopleCsv = folder.write(
  'people.csv',
  `age,town,gain,bought\n${people.map(({ age, town, gain, bought }) => `${age},${town},${gain},${bought}`).join('\n')}\n`,
)

async function trained(path: string | string[], options: TrainOptions = {}): Promise<Model> {
  const { model } = await train(path, { threads: 1, ...options }).result
  return model
}

const weightsOf = (model: Model): number[] => [...model.weights.values, ...model.biasWeights]
let stores = 0
const newStore = (): string => `${folder.path}/s${stores++}.spill`

describe('a table of numbers', () => {
  it('gives the bits of the model of LIBSVM text, in memory and in blocks', async () => {
    for (const options of [{}, { loss: 'logistic' }, { values: 'f64' }, { solver: 'block', blocks: 3 }] as const) {
      const store = 'solver' in options
      const of = (path: string) => trained(path, { ...options, scale: 'none', ...(store && { store: newStore() }) })
      assert.deepEqual(weightsOf(await of(asCsv)), weightsOf(await of(asSvm)))
    }
  })

  it('gives the bytes of the store of LIBSVM text', async () => {
    const [a, b] = [newStore(), newStore()]
    const { manifest } = await ingest(asCsv, a, { blocks: 3, compress: 'none' })
    const { manifest: other } = await ingest(asSvm, b, { blocks: 3, compress: 'none' })
    // Rows are drawn into blocks by their chunk and their place there, which are the same for a file of one chunk.
    assert.equal(manifest.fingerprint, other.fingerprint)
    assert.deepEqual(manifest.schema?.columns[5], { name: 'label', role: 'label' })
  })
})

describe('a table of numbers and names', () => {
  it('has its numbers scaled, and its names left as they are', async () => {
    const model = await trained(peopleCsv, { label: 'bought' })
    assert.equal(model.transforms.scale?.kind, 'numbers')
    const factors = [...denseScaleFactors(model)!]
    const names = factors.map((_, feature) => featureName(model, feature))
    assert.deepEqual(names, ['age', ...new Set(people.map(({ town }) => `town=${town}`)), 'gain'])
    assert.deepEqual(factors.slice(1, 4), [1, 1, 1])
    const mean = people.reduce((sum, { age }) => sum + age, 0) / ROWS
    const deviation = Math.sqrt(people.reduce((sum, { age }) => sum + (age - mean) ** 2, 0) / ROWS)
    assert.ok(Math.abs(factors[0] * deviation - 1) < 1e-9)
    const plain = await trained(peopleCsv, { label: 'bought', scale: 'none' })
    assert.equal(plain.transforms.scale, undefined)
  })

  it('trains the same model from a store, which knows its columns', async () => {
    const store = newStore()
    await ingest(peopleCsv, store, { label: 'bought' })
    const [text, blocks] = [
      await trained(peopleCsv, { label: 'bought', tolerance: 1e-8 }),
      await trained(store, { tolerance: 1e-8 }),
    ]
    assert.deepEqual(blocks.schema, text.schema)
    for (const [k, weight] of weightsOf(blocks).entries()) assert.ok(Math.abs(weight - weightsOf(text)[k]) < 1e-3)
    const other = await trained(store, { solver: 'block' })
    assert.equal(other.transforms.scale?.kind, 'numbers')
    await assert.rejects(trained(store, { label: 'bought' }), /the option label is for reading text/)
  })

  it('is added to a store in any order of its columns', async () => {
    const store = newStore()
    await ingest(peopleCsv, store, { label: 'bought' })
    const more = folder.write('more.csv', 'bought;gain;town;age\nyes;5;Ulm;33\nno;0;Rom;21\n')
    const { manifest } = await addRows(more, store)
    assert.equal(manifest.rows, ROWS + 2)
    assert.deepEqual(manifest.schema, (await openStore(store)).manifest.schema)
    await assert.rejects(
      addRows(folder.write('less.csv', 'bought,age\nyes,3\n'), store),
      /has no column "town", "gain"; its columns are "bought", "age"/,
    )
    await assert.rejects(addRows(folder.write('case.csv', 'bought,Age,Town,gain\nyes,3,Ulm,1\n'), store), {
      message: /has no column "age", "town"; its columns are "bought", "Age", "Town", "gain"/,
      advice: 'names count letter by letter: is "Age" the column "age"?',
    })
  })

  it('is predicted in any order of its columns, with and without labels', async () => {
    const path = `${folder.path}/people.model`
    await saveModel(path, await trained(peopleCsv, { label: 'bought' }))
    const model = await loadModel(path)
    const labels = async (data: string): Promise<string> => {
      const pieces: Uint8Array[] = []
      await predict(data, model, { threads: 1, write: piece => void pieces.push(piece) })
      return Buffer.concat(pieces).toString()
    }
    const expected = await labels(peopleCsv)
    const other = folder.write(
      'other.tsv',
      `note\tgain\ttown\tage\n${people.map(({ age, town, gain }) => `hm\t${gain}\t"${town}"\t${age}`).join('\n')}\n`,
    )
    const bare = folder.write(
      'bare.csv',
      `${people.map(({ age, town, gain }) => `${age},${town},${gain}`).join('\n')}\n`,
    )
    assert.equal(await labels(bare), expected)
    const result = await predict(other, model, { format: 'tsv', threads: 1 })
    assert.deepEqual([result.rows, result.correct, result.unlabelled], [ROWS, 0, true])
    // A model of CSV takes any table, as its beginning shows.
    assert.equal(await labels(other), expected)
    assert.equal((await predict(peopleCsv, model, { threads: 1 })).unlabelled, undefined)
    assert.deepEqual(encodeModel(model), encodeModel(await loadModel(path)))
  })

  it('is cross-validated', async () => {
    const { costs } = await crossValidate(peopleCsv, { label: 'bought', folds: 3, threads: 1 })
    assert.ok(costs[0].accuracy > 0.8, String(costs[0].accuracy))
  })

  it('has rows explained by the names of features', async () => {
    const model = await trained(peopleCsv, { label: 'bought', bias: 1 })
    const features = new Map(Array.from({ length: model.features }, (_, k) => [featureName(model, k), k]))
    const row = [features.get('age')!, features.get('town=Ulm')!].sort((a, b) => a - b)
    const { label, score, contributions, others } = explainRow(model, row, [60, 1], 2)
    assert.equal(label, 'yes')
    const sum = contributions.reduce((total, { adds }) => total + adds, others)
    assert.ok(Math.abs(sum - score) < 1e-9 && score > 0)
    assert.equal(contributions[0].name, 'age')
    assert.equal(contributions.length, 2)
    const pieces: Uint8Array[] = []
    await predict(peopleCsv, model, { explain: 1, write: piece => void pieces.push(piece) })
    const text = Buffer.concat(pieces).toString()
    assert.equal(text.split('\n').length, ROWS + 1)
    assert.match(text, /^(yes|no)\t\+[\d.]+\t[+-][\d.]+ (age|town=|gain|the bias)/)
    await assert.rejects(predict(peopleCsv, model, { explain: 1, scores: true }), /explain and scores cannot both/)
  })
})

describe('weights of rows in a table', () => {
  const weights = numbers.map((_, k) => 1 + (k % 5))
  const weighted = folder.write(
    'w.csv',
    [
      'x1,x2,w,x3,x4,x5,label',
      ...numbers.map(({ label, x: [a, b, ...rest] }, k) => [a, b, weights[k], ...rest, label]),
    ].join('\n'),
  )

  it('give the bits of the model of weights that a program hands over', async () => {
    for (const loss of ['hinge', 'logistic']) {
      const model = await trained(weighted, { weight: 'w', scale: 'none', loss })
      const given = await trained(asSvm, { rowWeights: weights, loss })
      assert.deepEqual(weightsOf(model), weightsOf(given))
      assert.notDeepEqual(weightsOf(model), weightsOf(await trained(asSvm, { loss })))
    }
  })

  it('are refused when there are two kinds of them', async () => {
    await assert.rejects(trained(weighted, { weight: 'w', rowWeights: weights }), /rowWeights is given, and a column/)
  })

  it('need not be there for predicting', async () => {
    const model = await trained(weighted, { weight: 'w' })
    const { accuracy } = await predict(asCsv, model, { threads: 1 })
    assert.ok(accuracy > 0.85)
  })
})

describe('options of tables', () => {
  it('are refused where there is none', async () => {
    await assert.rejects(trained(asSvm, { label: 'x1' }), (error: unknown) => {
      assert.ok(error instanceof SpillwayError)
      return /label is for tables, and the data is LIBSVM text/.test(error.message)
    })
    const rows = [{ label: 1, features: { 1: 1 } }]
    await assert.rejects(train(rows, { label: 'x1' }).result, /label is for tables, and the data is rows/)
  })
})

describe('a table of many values in little memory', () => {
  it('is refused while it is read, and the message names a column and the way out', async () => {
    const columns = Array.from({ length: 60 }, (_, k) => `c${k}`)
    const rows = Array.from(
      { length: 15_000 },
      (_, r) => `${columns.map((_, k) => `v${r * 7 + k}`).join(',')},${r % 2}`,
    )
    const path = folder.write('values.csv', `${columns.join(',')},label\n${rows.join('\n')}\n`)
    await assert.rejects(trained(path, { memory: '300M', store: `${folder.path}/values.spill` }), {
      name: 'SpillwayError',
      message:
        /values\.csv: the columns have more than [\d,]+ values, which do not fit in .*; column "c\d+" has the most/,
      advice: /^take --categorical hash:18, which makes no lists of values/,
    })
  })
})
