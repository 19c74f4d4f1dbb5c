// Rows that a program hands over in place of files: the same models and predictions as from a file of the same rows.
import assert from 'node:assert/strict'
import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import {
  type CrossValidation,
  type CsrRows,
  crossValidate,
  type DataFor,
  type LabelledRow,
  openStore,
  predict,
  predictRows,
  type RowToRead,
  type TrainOptions,
  type TrainProgress,
  train,
  tune,
} from '../../src/index.ts'
import { denseWeights } from '../../src/model/model.ts'
import { newFolder } from '../cli/run.ts'
import { asText, type SomeRow, someRows } from '../cli/some-data.ts'

const rows = someRows(3000, 40)
const ofThree = someRows(600, 20, { classes: 3 })
let folder = ''
const at = (name: string): string => join(folder, name)
before(() => {
  folder = newFolder()
  writeFileSync(at('a.svm'), asText(rows))
  writeFileSync(at('three.svm'), asText(ofThree))
})
after(() => rmSync(folder, { recursive: true, force: true }))

const sideBySide = ({ label, entries }: SomeRow): LabelledRow => ({
  label,
  indices: Uint32Array.from(entries, ([j]) => j),
  values: entries.map(([, v]) => v),
})
/** In the other direction. */
const unsorted = ({ label, entries }: SomeRow): LabelledRow => ({
  label: String(label),
  indices: entries.map(([j]) => j).reverse(),
  values: entries.map(([, v]) => v).reverse(),
})
const byNumber = ({ label, entries }: SomeRow): LabelledRow => ({ label, features: Object.fromEntries(entries) })

async function* later<T>(items: Iterable<T>): AsyncGenerator<T> {
  for (const item of items) {
    await undefined
    yield item
  }
}

async function trained(data: DataFor<LabelledRow>, options: TrainOptions = {}) {
  const { model, bytesRead } = await train(data, { threads: 2, ...options }).result
  return { weights: denseWeights(model), bias: model.biasWeights, labels: model.labels, data: model.data, bytesRead }
}

describe('train() of rows', () => {
  for (const [name, given] of [
    ['an array', rows.map(sideBySide)],
    ['an iterable', new Set(rows.map(unsorted))],
    ['an async iterable', later(rows.map(byNumber))],
  ] as [string, DataFor<LabelledRow>][]) {
    it(`gives the model of their text: ${name}`, async () => {
      const { data, ...fromRows } = await trained(given, { bias: 1 })
      const { data: ofText, ...fromText } = await trained(at('a.svm'), { bias: 1 })
      assert.deepEqual(fromRows, fromText)
      assert.deepEqual(data, { ...ofText!, sources: ['rows of the program'] })
    })
  }

  it('gives the same model in blocks, with little memory, and a store that is trained on as that of the text', async () => {
    const options: TrainOptions = { solver: 'block', memory: '300M', blocks: 3, tolerance: 1e-2 }
    const fromRows = await trained(later(rows.map(byNumber)), { ...options, store: at('rows.spill') })
    const fromText = await trained(at('a.svm'), { ...options, store: at('text.spill') })
    assert.deepEqual(fromRows.weights, fromText.weights)
    const { manifest } = await openStore(at('rows.spill'))
    assert.deepEqual(
      manifest.sources.map(source => [source.name, source.rows]),
      [['rows of the program', rows.length]],
    )
    const [one, other] = [await trained(at('rows.spill')), await trained(at('text.spill'))]
    assert.deepEqual(one.weights, other.weights)
    // Rows may replace a store of rows.
    const again = await trained(rows.map(byNumber), { ...options, store: at('rows.spill') })
    assert.deepEqual(again.weights, fromText.weights)
  })

  it('trains while rows are read', async () => {
    const store = at('stream.spill')
    const run = train(later(rows.map(byNumber)), { solver: 'stream', memory: '300M', store, tolerance: 1e-3 })
    const { gap, rows: count, exitReason } = await run.result
    assert.deepEqual([count, exitReason], [rows.length, 'converged'])
    assert.ok(gap! <= 1e-3)
  })

  it('are dealt into folds, and costs are tried on them, as on their text', async () => {
    const options = { folds: 3, threads: 1 }
    const figures = ({ costs }: CrossValidation) =>
      costs.map(({ cost, accuracy, folds }) => ({ cost, accuracy, folds }))
    const [ofRows, ofText] = [
      await crossValidate(later(rows.map(byNumber)), options),
      await crossValidate(at('a.svm'), options),
    ]
    assert.deepEqual(figures(ofRows), figures(ofText))
    const costs = [0.1, 1]
    const tuned = await tune(rows.map(sideBySide), { ...options, costs })
    const expected = await tune(at('a.svm'), { ...options, costs })
    assert.deepEqual(figures(tuned), figures(expected))
    assert.deepEqual(denseWeights(tuned.final!.model), denseWeights(expected.final!.model))
    // Over blocks they need a folder, and are read once all the same.
    const blocks = { ...options, costs: [1], solver: 'block', memory: '300M', blocks: 3 }
    await assert.rejects(tune(rows.map(byNumber), blocks), /rows of the program that go into blocks need a folder/)
    const overRows = await tune(later(rows.map(byNumber)), { ...blocks, store: at('tuned-rows.spill') })
    const overText = await tune(at('a.svm'), { ...blocks, store: at('tuned-text.spill') })
    assert.deepEqual(figures(overRows), figures(overText))
  })

  it('asks for a folder where rows go into blocks', async () => {
    await assert.rejects(train(rows.map(byNumber), { memory: '300M' }).result, {
      name: 'UsageError',
      message: 'rows of the program that go into blocks need a folder',
      advice: /^name one: store: /,
    })
    assert.ok(!existsSync('rows.spill'))
  })

  it('names the row that is wrong, and what is wrong with it', async () => {
    const good: LabelledRow[] = [
      { label: 1, features: { 1: 1 } },
      { label: -1, features: {} },
    ]
    for (const [row, message] of [
      [{ features: { 1: 1 } }, 'found the label undefined, expected a finite number or text'],
      [{ label: 'two words', features: {} }, /found the label "two words": it has a blank/],
      [{ label: Number.NaN, features: {} }, 'found the label NaN, expected a finite number or text'],
      [{ label: 1, features: { 0: 1 } }, 'found the feature number 0, expected a whole number from 1 to 4294967294'],
      [{ label: 1, features: { red: 1 } }, 'found the feature number "red", expected a whole number'],
      [{ label: 1, indices: [1.5], values: [1] }, /found the feature number 1\.5, expected a whole number/],
      [
        { label: 1, indices: [3, 1, 3], values: [1, 1, 1] },
        'found feature 3 twice, expected each feature once in a row',
      ],
      [
        { label: 1, indices: [3], values: [] },
        'found 1 feature numbers and 0 values, expected as many values as numbers',
      ],
      [{ label: 1, features: { 4: Number.NaN } }, 'found the value NaN of feature 4, expected a finite number'],
      [{ label: 1, features: { 4: '1' } }, 'found the value "1" of feature 4, expected a finite number'],
      [{ label: 1, features: new Map([[4, 1]]) }, /found a collection of features, expected an object, \{ 3: 0\.5 \}/],
      [{ label: 1, 4: 1 }, /found neither indices and values nor features, expected a row/],
      ['1 1:1', /found "1 1:1", expected a row/],
    ] as [unknown, string | RegExp][]) {
      await assert.rejects(train([...good, row] as LabelledRow[], { threads: 1 }).result, error => {
        assert.match((error as Error).message, /^rows of the program, row 3: found /)
        if (typeof message !== 'string') assert.match((error as Error).message, message)
        else assert.equal((error as Error).message, `rows of the program, row 3: ${message}`)
        return true
      })
    }
  })

  it('counts features from 0 where that is said', async () => {
    const fromZero = rows.map(({ label, entries }) => byNumber({ label, entries: entries.map(([j, v]) => [j - 1, v]) }))
    const { weights } = await trained(fromZero, { indexBase: 0 })
    assert.deepEqual(weights, (await trained(at('a.svm'))).weights)
  })

  it('refuses what is neither files nor rows, and settings that are about text', async () => {
    assert.throws(
      () => train(3 as unknown as string),
      /the data is 3; expected names of files, \{ sql \}, or an iterable/,
    )
    assert.throws(() => train([]), /no data was named/)
    assert.throws(() => train([byNumber(rows[0])], { format: 'label-string' }), /which have no format/)
    assert.throws(() => train([byNumber(rows[0])], { onBadRow: 'skip' }), /onBadRow is skip/)
    await assert.rejects(train(new Set<LabelledRow>()).result, /rows of the program/)
  })

  it('hands on an error of the program, and ends its iterator when it stops early', async () => {
    const failing = (async function* () {
      yield byNumber(rows[0])
      throw new Error('the tap is dry')
    })()
    await assert.rejects(train(failing).result, { message: 'the tap is dry' })
    let ended = false
    const bad = (async function* (): AsyncGenerator<LabelledRow> {
      try {
        yield { label: Number.NaN, features: {} }
      } finally {
        ended = true
      }
    })()
    await assert.rejects(train(bad).result, /row 1/)
    assert.ok(ended)
  })

  it('ends by a signal while it waits for a row', async () => {
    const controller = new AbortController()
    const never = (async function* () {
      for (const row of rows) yield byNumber(row)
      controller.abort()
      await new Promise(() => {})
    })()
    await assert.rejects(train(never, { threads: 1, signal: controller.signal }).result, /interrupted/)
  })
})

describe('predictRows() of rows', () => {
  it('says what it says of their text, with and without labels', async () => {
    const model = await train(at('three.svm'), { threads: 2, bias: 1, scale: 'standard' }).model
    const all = async (data: DataFor<RowToRead>) => {
      const found: { labels: string[]; scores: number[] } = { labels: [], scores: [] }
      for await (const { labels, scores } of predictRows(data, model, { threads: 2 })) {
        found.labels.push(...labels)
        found.scores.push(...scores)
      }
      return found
    }
    const expected = await all(at('three.svm'))
    assert.equal(expected.labels.length, ofThree.length)
    assert.deepEqual(await all(later(ofThree.map(byNumber))), expected)
    assert.deepEqual(await all(ofThree.map(({ entries }) => Object.fromEntries(entries))), expected)
    const pairs = ofThree.map(({ entries }): [number[], number[]] => [
      entries.map(([j]) => j),
      entries.map(([, v]) => v),
    ])
    assert.deepEqual(await all(pairs), expected)
    const { correct } = await predict(at('three.svm'), model)
    assert.equal((await predict(ofThree.map(unsorted), model)).correct, correct)
    assert.equal((await predict(pairs, model)).correct, 0)
    await assert.rejects(
      all([{ 3: 1 }, { 3: Number.POSITIVE_INFINITY }]),
      /row 2: found the value Infinity of feature 3/,
    )
  })

  it('asks for rows as it goes, so that any number of them is predicted in the same memory', async () => {
    const model = await train(at('a.svm'), { threads: 2 }).model
    let asked = 0
    let ended = false
    const endless = (function* (): Generator<RowToRead> {
      try {
        for (;;) yield byNumber(rows[asked++ % rows.length])
      } finally {
        ended = true
      }
    })()
    let got = 0
    for await (const { labels } of predictRows(endless, model, { threads: 2 })) {
      got += labels.length
      if (got > 20_000) break
    }
    assert.ok(ended, 'the iterator was told to end')
    assert.ok(asked < got + 200_000, `${asked} rows were asked for, ${got} predicted`)
  })
})

describe('progress of many classes', () => {
  it('has every field that one class has', async () => {
    const last = async (data: string): Promise<TrainProgress> => {
      let found: TrainProgress | undefined
      for await (const record of train(data, { threads: 2 })) if (record.stage === 'train') found = record
      return found!
    }
    const [one, many] = [await last(at('a.svm')), await last(at('three.svm'))]
    const { models, ...fields } = many
    assert.deepEqual(Object.keys(fields).sort(), Object.keys(one).sort())
    assert.deepEqual(models, { done: 3, all: 3, training: 0 })
    assert.deepEqual([many.problem, many.problems, many.certified], [3, 3, true])
    const { primal } = await train(at('three.svm'), { threads: 2 }).result
    assert.ok(Math.abs(many.primal - primal!) <= 1e-9 * primal!, `${many.primal} and ${primal}`)
  })
})

/** Arrays for all rows together. */
const asCsr = (given: SomeRow[]): CsrRows => ({
  labels: Int8Array.from(given, ({ label }) => label),
  starts: Uint32Array.from([
    0,
    ...given.map((_, r) => given.slice(0, r + 1).reduce((n, { entries }) => n + entries.length, 0)),
  ]),
  indices: Uint32Array.from(given.flatMap(({ entries }) => entries.map(([j]) => j))),
  values: Float64Array.from(given.flatMap(({ entries }) => entries.map(([, v]) => v))),
})

describe('compressed sparse rows', () => {
  it('give the model of a file of these rows, and the same predictions', async () => {
    const csr = asCsr(ofThree)
    const [given, file] = [await trained(csr), await trained(at('three.svm'))]
    assert.deepEqual(given.weights, file.weights)
    const plain = { ...csr, starts: [...(csr.starts as Uint32Array)], indices: [...(csr.indices as Uint32Array)] }
    assert.deepEqual((await trained(plain)).weights, file.weights)
    const model = await train(at('three.svm'), { threads: 1 }).model
    const scores = async (data: DataFor<RowToRead>): Promise<number[]> => {
      const all: number[] = []
      for await (const piece of predictRows(data, model)) all.push(...piece.scores)
      return all
    }
    const { labels: _, ...unlabelled } = csr
    assert.deepEqual(await scores(unlabelled), await scores(at('three.svm')))
    assert.equal((await predict(csr, model)).accuracy, (await predict(at('three.svm'), model)).accuracy)
  })

  it('count features from 0 where that is said', async () => {
    const csr = asCsr(rows.slice(0, 200))
    const fromZero = { ...csr, indices: (csr.indices as Uint32Array).map(j => j - 1) }
    const { weights } = await trained(fromZero, { indexBase: 0 })
    assert.deepEqual(weights, (await trained(csr)).weights)
    await assert.rejects(train(fromZero, { threads: 1 }).result, /found the feature number 0, expected .* from 1/)
  })

  it('are refused in words when their arrays do not go together', () => {
    const csr = { labels: [1, -1], starts: [0, 1, 2], indices: [1, 2], values: [1, 1] }
    const cases: [Partial<CsrRows>, RegExp][] = [
      [{ labels: [1] }, /have 1 labels for 2 rows; expected one for each row/],
      [{ starts: [] }, /have no starts; expected one more than there are rows/],
      [{ starts: [0, 2, 1] }, /the start 1 after 2; expected starts that never fall/],
      [
        { starts: BigInt64Array.of(0n, 1n, 2n) as unknown as number[] },
        /starts of the type bigint; expected numbers: Uint32Array/,
      ],
      [{ starts: [1, 1, 2] }, /1 as first start; expected 0/],
      [{ starts: [0, 1, 3] }, /3 as last start; expected the number of entries, 2/],
      [{ values: [1] }, /2 feature numbers and 1 values; expected as many of both/],
      [{ starts: [0, Number.NaN, 2] }, /expected starts that never fall/],
    ]
    for (const [parts, error] of cases) assert.throws(() => train({ ...csr, ...parts }), error)
    const { labels: _, ...unlabelled } = csr
    return assert.rejects(train(unlabelled, { threads: 1 }).result, /row 1: found the label undefined, expected/)
  })
})
