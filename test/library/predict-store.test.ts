// A store in place of text where rows are predicted: the same answers, in the order of the data.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { addRows } from '../../src/block-store/add.ts'
import { type IngestOptions, ingest } from '../../src/block-store/ingest.ts'
import { removeRows } from '../../src/block-store/remove.ts'
import { makeModel } from '../../src/model/model.ts'
import { type PredictOptions, predict, predictRows } from '../../src/predict/predict.ts'
import { train } from '../../src/train/train.ts'
import { good, run } from '../cli/run.ts'
import { asText, someRows } from '../cli/some-data.ts'
import { fastFolder } from '../folders.ts'

const folder = fastFolder()
const cwd = folder.path
const rows = someRows(3000, 40, { classes: 3 })
const data = folder.write('a.svm', asText(rows))

let stores = 0
async function storeOf(path: string, options: IngestOptions = {}): Promise<string> {
  const store = join(cwd, `${stores++}.spill`)
  await ingest(path, store, { threads: 2, ...options })
  return store
}

async function textOf(
  path: string,
  model: Parameters<typeof predict>[1],
  options: PredictOptions = {},
): Promise<string> {
  let text = ''
  const write = (piece: Uint8Array): void => {
    text += Buffer.from(piece)
  }
  await predict(path, model, { threads: 1, write, ...options })
  return text
}

describe('a store that is predicted', () => {
  it('has the labels, scores and probabilities of its text, in the order of the text', async () => {
    const model = await train(data, { loss: 'logistic', scale: 'standard', bias: 1, threads: 1 }).model
    for (const options of [{ blocks: 7 }, { blocks: 5, split: 'sequential' as const }, { blocks: 1 }]) {
      const store = await storeOf(data, options)
      for (const asked of [{}, { scores: true }, { probability: true, header: true }]) {
        assert.equal(await textOf(store, model, asked), await textOf(data, model, asked))
      }
      const numbers = async (path: string): Promise<unknown[]> => {
        const all: unknown[] = []
        for await (const { labels, scores, probabilities } of predictRows(path, model, {
          threads: 1,
          probability: true,
        })) {
          labels.forEach((label, r) => {
            all.push([label, scores.slice(r * 3, r * 3 + 3), probabilities!.slice(r * 3, r * 3 + 3)])
          })
        }
        return all
      }
      assert.deepEqual(await numbers(store), await numbers(data))
    }
  })

  it('has the evaluation of its text, classes that the model lacks included', async () => {
    const two = folder.write('two.svm', asText(rows.filter(({ label }) => label !== 3)))
    const model = await train(two, { calibrate: 'sigmoid', threads: 1 }).model
    const store = await storeOf(data, { blocks: 6 })
    for (const write of [undefined, () => {}]) {
      const [ofStore, ofText] = await Promise.all(
        [store, data].map(path => predict(path, model, { threads: 1, evaluate: true, ...(write && { write }) })),
      )
      // The order of a sum differs.
      const { logLoss, ...evaluation } = ofStore.evaluation!
      const { logLoss: expected, ...others } = ofText.evaluation!
      assert.deepEqual(evaluation, others)
      assert.ok(Math.abs(logLoss! - expected!) < 1e-12)
      assert.deepEqual([ofStore.rows, ofStore.correct, ofStore.badRows], [ofText.rows, ofText.correct, 0])
      assert.ok(ofStore.bytesRead > 0)
    }
  })

  it('keeps the order of what is left when rows were removed and others added', async () => {
    const lines = asText(rows).trimEnd().split('\n')
    const store = await storeOf(folder.write('first.svm', `${lines.slice(0, 2000).join('\n')}\n`), { blocks: 6 })
    await removeRows(store, { rows: Array.from({ length: 601 }, (_, k) => 100 + k) })
    await addRows(folder.write('more.svm', `${lines.slice(2000).join('\n')}\n`), store, { threads: 1 })
    const left = folder.write('left.svm', `${[...lines.slice(0, 99), ...lines.slice(700)].join('\n')}\n`)
    const model = await train(data, { threads: 1 }).model
    assert.equal(await textOf(store, model, { scores: true }), await textOf(left, model, { scores: true }))
  })

  it('may have labels of text and values of 64 bits, and is expanded as the model says', async () => {
    const named = asText(rows.slice(0, 500)).replace(/^\d/gm, digit => ['ham', 'spam', 'eggs'][Number(digit) - 1])
    const text = folder.write('named.svm', named)
    const store = await storeOf(text, { blocks: 4, values: 'f64' })
    for (const options of [
      { values: 'f64' as const },
      { expand: 'polynomial:2' },
      { kernel: 'chi2', scale: 'minmax' as const },
    ]) {
      const model = await train(text, { threads: 1, ...options }).model
      const [found, expected] = await Promise.all([store, text].map(path => predict(path, model, { threads: 1 })))
      assert.equal(found.correct, expected.correct)
      assert.ok(found.accuracy > 0.5)
    }
  })

  it('is taken by predict and by train --test on the command line', async () => {
    const store = await storeOf(data, { blocks: 4 })
    const { stdout } = await good(['train', data, 'a.model', '--test', store, '--json', '-q'], { cwd })
    const { accuracy } = JSON.parse(stdout).test
    const { stdout: line } = await good(['predict', store, 'a.model', 'labels.txt', '--json'], { cwd })
    assert.equal(JSON.parse(line).accuracy, accuracy)
    await good(['predict', data, 'a.model', 'of-text.txt'], { cwd })
    assert.equal(readFileSync(join(cwd, 'labels.txt'), 'utf8'), readFileSync(join(cwd, 'of-text.txt'), 'utf8'))
    for (const words of [
      ['--format', 'libsvm'],
      ['--index-base', '1'],
      ['--on-bad-row', 'skip'],
    ]) {
      const { status, stderr } = await run(['predict', store, 'a.model', ...words], { cwd })
      assert.equal(status, 2)
      assert.match(stderr, new RegExp(`${words[0]} is for text, and .* is a store`))
    }
  })

  it('is refused in words where the model counts features otherwise, or has too many blocks to keep an order', async () => {
    const store = await storeOf(data, { blocks: 2 })
    const model = makeModel({
      labels: [
        { value: 1, text: '1' },
        { value: 2, text: '2' },
      ],
      features: 40,
      weights: new Float64Array(40).fill(1),
      indexBase: 0,
      loss: 'hinge',
      solver: 'dual',
    })
    await assert.rejects(predict(store, model), {
      name: 'UsageError',
      message: /counts features from 1, and the model from 0/,
    })
    const letters = { ...model, indexBase: 1 as const, transforms: { expand: { steps: 'weighted-degree:2' } } }
    await assert.rejects(predict(store, letters), {
      name: 'UsageError',
      message: /makes features of letters, and the data is/,
    })
    const many = await storeOf(data, { blocks: 300 })
    const one = { ...model, indexBase: 1 as const }
    await assert.rejects(textOf(many, one), { name: 'UsageError', message: /has 300 blocks; labels come in the order/ })
    assert.equal((await predict(many, one)).rows, 3000)
  })

  it('ends when its reader leaves', async () => {
    const store = await storeOf(data, { blocks: 4 })
    const model = await train(data, { threads: 1 }).model
    for await (const { labels } of predictRows(store, model)) {
      assert.ok(labels.length > 0)
      break
    }
    await assert.rejects(predict(store, model, { signal: AbortSignal.abort() }), { name: 'AbortError' })
  })
})
