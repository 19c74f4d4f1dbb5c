// The answers of a model behind HTTP: those of `predict` to the last bit, whatever way rows come.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { before, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { saveModel } from '../../src/model/files.ts'
import { predict, predictRows } from '../../src/predict/predict.ts'
import { train } from '../../src/train/train.ts'
import { asText } from '../cli/some-data.ts'
import { smallModel } from '../model/some-models.ts'
import {
  complaint,
  data,
  folder,
  modelPath,
  type Prediction,
  post,
  predicted,
  rows,
  serving,
  trainServed,
} from './serving.ts'

before(trainServed)

describe('the answers of serve', () => {
  const features = (entries: [number, number][]): Record<string, number> => Object.fromEntries(entries)

  it('are those of predict, to the last bit, for rows of any shape', () =>
    serving(modelPath, async url => {
      const expected = await predicted(modelPath)
      const shapes = rows.map(({ entries }, r) => {
        if (r % 4 === 0) return features(entries)
        if (r % 4 === 1) return { features: features(entries) }
        const backwards = entries.toReversed()
        if (r % 4 === 2) return { indices: backwards.map(([j]) => j), values: backwards.map(([, x]) => x) }
        return Array.from({ length: 30 }, (_, j) => entries.find(([feature]) => feature === j + 1)?.[1] ?? 0)
      })
      for (const body of [shapes, { rows: shapes }]) {
        const { predictions } = (await (await post(url, body)).json()) as { predictions: Prediction[] }
        assert.deepEqual(predictions, expected)
      }
      for (const r of [0, 1, 2, 3]) assert.deepEqual(await (await post(url, shapes[r])).json(), expected[r])
      assert.deepEqual(await (await post(url, [])).json(), { predictions: [] })
      const byCurl = await post(url, shapes[0], { 'content-type': 'application/x-www-form-urlencoded' })
      assert.deepEqual(await byCurl.json(), expected[0])
      const lines = shapes.map(row => `${JSON.stringify(row)}\n`).join('\n')
      const response = await post(url, lines, { 'content-type': 'application/x-ndjson' })
      assert.equal(response.headers.get('content-type'), 'application/x-ndjson')
      const answers = (await response.text()).trimEnd().split('\n')
      assert.deepEqual(
        answers.map(line => JSON.parse(line)),
        expected,
      )
    }))

  it('are those of predict for lines of text, byte for byte', () =>
    serving(modelPath, async url => {
      for (const [query, options] of [
        ['', {}],
        ['?scores', { scores: true }],
        ['?probability', { probability: true }],
      ] as const) {
        let expected = ''
        const write = (text: Uint8Array): void => {
          expected += Buffer.from(text)
        }
        await predict(data, modelPath, { threads: 1, write, ...options })
        const body = asText(rows)
        const response = await fetch(`${url}/predict${query}`, {
          method: 'POST',
          headers: { 'content-type': 'text/plain' },
          body,
        })
        assert.equal(await response.text(), expected)
      }
      const both = await fetch(`${url}/predict?scores&probability`, { method: 'POST', body: '? 1:1\n' })
      assert.match((await complaint(both)).error, /cannot both be written/)
    }))

  it('come while rows are sent, and a stream is as long as it likes to be', () =>
    serving(
      modelPath,
      async url => {
        const line = '{"3":0.5,"17":1}\n'
        const many = 40_000
        const request = httpRequest(`${url}/predict`, {
          method: 'POST',
          headers: { 'content-type': 'application/x-ndjson' },
        })
        for (let k = 0; k < many / 2; k++) request.write(line)
        const [response] = (await once(request, 'response')) as [IncomingMessage]
        assert.equal(response.statusCode, 200, 'the answer begins before the request has ended')
        let text = ''
        response.on('data', piece => {
          text += piece
        })
        request.end(line.repeat(many / 2))
        await once(response, 'end')
        assert.equal(text.split('\n').length, many + 1)
        assert.equal(new Set(text.split('\n')).size, 2, 'one answer, and the end')
      },
      { mostBytes: 1 << 16, mostRows: 10 },
    ))

  it('come for each line to a client that waits for them', () =>
    serving(modelPath, async url => {
      for (const [type, line] of [
        ['application/x-ndjson', '{"3":0.5}\n'],
        ['text/plain', '? 3:0.5\n'],
      ]) {
        const request = httpRequest(`${url}/predict`, { method: 'POST', headers: { 'content-type': type } })
        request.write(line)
        const [response] = (await once(request, 'response')) as [IncomingMessage]
        const [first] = (await once(response, 'data')) as [Buffer]
        request.write(line)
        const [second] = (await once(response, 'data')) as [Buffer]
        assert.deepEqual(second, first)
        request.end()
        await once(response, 'end')
      }
    }))

  it('wait for a client that does not read', () =>
    serving(modelPath, async url => {
      const request = httpRequest(`${url}/predict`, {
        method: 'POST',
        headers: { 'content-type': 'application/x-ndjson' },
      })
      // Blanks make rows that are longer than their answers: what is on the way fills up sooner.
      const piece = `{"3":0.5,"17":1${' '.repeat(400)}}\n`.repeat(500)
      let sent = 0
      const send = async (): Promise<void> => {
        for (; sent < 200 && !request.destroyed; sent++) if (!request.write(piece)) await once(request, 'drain')
      }
      const sending = send().catch(() => {})
      const [response] = (await once(request, 'response')) as [IncomingMessage]
      // Once nothing is taken for a while, what is on the way is full.
      for (let before = -1; sent !== before && sent < 200; ) {
        before = sent
        await sleep(1000)
      }
      assert.ok(sent < 200, `${sent} pieces were taken from a client that reads nothing`)
      response.resume()
      await sending
      request.end()
      await once(response, 'end')
      assert.equal(sent, 200)
    }))

  it('have no probabilities where the model has none, and take letters where it was trained on such', async () => {
    const plain = join(folder.path, 'plain.model')
    await saveModel(plain, smallModel())
    await serving(plain, async url => {
      assert.deepEqual(await (await post(url, { 1: 1, 4: 0.25 })).json(), { label: '+1', scores: [1] })
      const refused = await fetch(`${url}/predict?probability`, {
        method: 'POST',
        headers: { 'content-type': 'text/plain' },
        body: '? 1:1\n',
      })
      assert.match((await complaint(refused)).error, /neither logistic nor calibrated/)
    })
    const letters = folder.write('dna.txt', '1 ACGTA\n-1 CCGTT\n1 ACGGA\n-1 CCTTT\n')
    const dna = join(folder.path, 'dna.model')
    const model = await train(letters, { format: 'label-string', expand: 'weighted-degree:2', threads: 1 }).model
    await model.save(dna)
    const expected: number[] = []
    for await (const { scores } of predictRows(letters, dna, { threads: 1 })) expected.push(...scores)
    await serving(dna, async url => {
      const { predictions } = (await (await post(url, ['ACGTA', 'CCGTT', 'ACGGA', 'CCTTT'])).json()) as {
        predictions: Prediction[]
      }
      assert.deepEqual(
        predictions.flatMap(({ scores }) => scores),
        expected,
      )
      assert.match(
        (await complaint(await post(url, { 1: 2 }))).error,
        /^row 1: found \{"1":2\}, expected a row of letters/,
      )
    })
  })
})
