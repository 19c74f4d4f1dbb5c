// predict(), predictRows() and ingest() as a program uses them.
import assert from 'node:assert/strict'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import {
  type IngestProgress,
  ingest,
  loadModel,
  openStore,
  predict,
  predictLabel,
  predictRows,
  scoreRow,
  train,
} from '../../src/index.ts'
import { newFolder } from '../cli/run.ts'
import { asText, someRows } from '../cli/some-data.ts'

const rows = someRows(500, 30)
const CHUNK = 2 ** 21
let folder = ''
let copies = 0
const at = (name: string): string => join(folder, name)
before(async () => {
  folder = newFolder()
  const text = asText(rows)
  writeFileSync(at('a.svm'), text)
  // Many more chunks than may be under way at a time.
  copies = Math.ceil((16 * CHUNK) / text.length)
  writeFileSync(at('long.svm'), text.repeat(copies))
  const model = await train(at('a.svm'), { threads: 1 }).model
  await model.save(at('a.model'))
})
after(() => rmSync(folder, { recursive: true, force: true }))

describe('predict()', () => {
  it('in little memory scores rows as in much, those of sparse and scaled models, too', async () => {
    // Few features are far apart: the model is sparse.
    const far = rows.map(({ label, entries }) => ({
      label,
      entries: entries.map(([j, value]): [number, number] => [j * 1000, value]),
    }))
    writeFileSync(at('far.svm'), asText(far))
    for (const scale of [undefined, 'standard'] as const) {
      const model = await train(at('far.svm'), { threads: 1, ...(scale && { scale }) }).model
      assert.equal(model.weights.layout, 'sparse')
      const [usual, sparing] = await Promise.all(
        [false, true].map(async sparing => {
          const texts: string[] = []
          const write = (text: Uint8Array): void => void texts.push(Buffer.from(text).toString())
          const { accuracy } = await predict(at('far.svm'), model, { sparing, scores: true, write })
          return { accuracy, text: texts.join('') }
        }),
      )
      assert.deepEqual(sparing, usual)
    }
  })

  it('counts, and takes a model or its file', async () => {
    const model = await loadModel(at('a.model'))
    const one = await predict(at('a.svm'), at('a.model'), { threads: 1 })
    const other = await predict(at('a.svm'), model, { threads: 1 })
    assert.deepEqual([other.rows, other.correct], [one.rows, one.correct])
    assert.equal(one.rows, 500)
    const right = rows.filter(({ label, entries }) => {
      const indices = entries.map(([j]) => j - 1)
      const values = entries.map(([, v]) => v)
      return predictLabel(model, scoreRow(model, indices, values)).value === label
    })
    assert.equal(one.correct, right.length)
    assert.equal(one.accuracy, right.length / 500)
    assert.equal(one.bytesRead, readFileSync(at('a.svm')).length)
  })

  it('writes one piece at a time, in order, and waits for each', async () => {
    let open = 0
    let most = 0
    const texts: string[] = []
    const { rows: count } = await predict([at('long.svm'), at('a.svm')], at('a.model'), {
      threads: 2,
      async write(text) {
        most = Math.max(most, ++open)
        await wait(5)
        texts.push(Buffer.from(text).toString())
        open--
      },
    })
    assert.equal(count, (copies + 1) * 500)
    assert.equal(most, 1)
    const labels = texts.join('').trimEnd().split('\n')
    assert.equal(labels.length, count)
    const once = labels.slice(0, 500).join()
    for (let k = 1; k <= copies; k++) assert.equal(labels.slice(k * 500, k * 500 + 500).join(), once)
  })

  it('hands on the failure of its writer', async () => {
    const write = (): void => {
      throw new Error('no more paper')
    }
    await assert.rejects(predict(at('long.svm'), at('a.model'), { write }), { message: 'no more paper' })
  })

  it('ends at an abort', async () => {
    const controller = new AbortController()
    const promise = predict(at('long.svm'), at('a.model'), {
      signal: controller.signal,
      progress: () => controller.abort(),
    })
    await assert.rejects(promise, { name: 'AbortError' })
  })
})

describe('predictRows()', () => {
  it('gives labels and scores in the order of the input, and the account at the end', async () => {
    const model = await loadModel(at('a.model'))
    const iterator = predictRows(at('a.svm'), model, { threads: 2 })
    const labels: string[] = []
    const scores: number[] = []
    for (;;) {
      const { done, value } = await iterator.next()
      if (done) {
        assert.equal(value.rows, 500)
        break
      }
      labels.push(...value.labels)
      scores.push(...value.scores)
    }
    assert.equal(labels.length, 500)
    for (const [r, { entries }] of rows.entries()) {
      const [score] = scoreRow(
        model,
        entries.map(([j]) => j - 1),
        entries.map(([, v]) => Math.fround(v)),
      )
      assert.ok(Math.abs(scores[r] - score) < 1e-9)
      assert.equal(labels[r], score > 0 ? '1' : '-1')
    }
  })

  it('reads no further than a bounded number of chunks ahead of a slow reader', async () => {
    const threads = 2
    const size = readFileSync(at('long.svm')).length
    let read = 0
    let taken = 0
    let pieces = 0
    const options = { threads, progress: (progress: { bytesRead: number }) => (read = progress.bytesRead) }
    for await (const { labels } of predictRows(at('long.svm'), at('a.model'), options)) {
      pieces++
      taken += (labels.length / (copies * 500)) * size
      await wait(pieces < 4 ? 150 : 0)
      // Slots for threads + 3 chunks are all there is, and one is being filled.
      assert.ok(read - taken <= (threads + 4) * CHUNK, `${read} bytes were read when ${taken} had been taken`)
      if (pieces === 4) assert.ok(read < size, 'it waited')
    }
    assert.ok(pieces >= 16 && Math.abs(taken - size) < 1)
  })

  it('may be left early, and ends its threads', async () => {
    for await (const { labels } of predictRows(at('long.svm'), at('a.model'))) {
      assert.ok(labels.length > 0)
      break
    }
    const { workers } = process.report.getReport() as unknown as { workers: unknown[] }
    assert.equal(workers.length, 0, 'threads that still run')
  })

  it('fails where the data is bad, after the rows before', async () => {
    writeFileSync(at('bad.svm'), `${asText(rows).repeat(Math.ceil((3 * CHUNK) / asText(rows).length))}1 1:x\n`)
    let pieces = 0
    await assert.rejects(
      async () => {
        for await (const _ of predictRows(at('bad.svm'), at('a.model'))) pieces++
      },
      { name: 'SpillwayError', message: /bad\.svm, line \d+, column 3: found "1:x", expected a number as value$/ },
    )
    assert.ok(pieces >= 3)
  })
})

describe('ingest()', () => {
  it('tells how it goes, and what it made', async () => {
    const progress: IngestProgress[] = []
    const { manifest, bytesRead, badRows } = await ingest(at('long.svm'), at('long.spill'), {
      threads: 2,
      blocks: 3,
      progress: record => progress.push(record),
    })
    const size = readFileSync(at('long.svm')).length
    assert.deepEqual([bytesRead, badRows, manifest.rows, manifest.blocks.length], [size, 0, copies * 500, 3])
    assert.ok(progress.length >= 4)
    for (const [k, record] of progress.entries()) {
      assert.equal(record.bytesTotal, size)
      if (k > 0) assert.ok(record.rows > progress[k - 1].rows && record.bytesRead >= progress[k - 1].bytesRead)
    }
    assert.equal(progress[progress.length - 1].rows, copies * 500)
    assert.equal((await openStore(at('long.spill'))).manifest.fingerprint, manifest.fingerprint)
  })

  it('leaves nothing that opens after an abort or a bad row', async () => {
    const controller = new AbortController()
    const { signal } = controller
    const promise = ingest(at('long.svm'), at('cut.spill'), { signal, progress: () => controller.abort() })
    await assert.rejects(promise, { name: 'AbortError' })
    assert.equal(existsSync(at('cut.spill/manifest.json')), false)
    writeFileSync(at('wrong.svm'), '1 1:1\nx:\n')
    await assert.rejects(ingest(at('wrong.svm'), at('wrong.spill')), /line 2, column 1/)
    await assert.rejects(openStore(at('wrong.spill')), { name: 'SpillwayError' })
  })
})
