// A model behind HTTP: the answers of `predict` to the last bit, whatever way rows come, and one clear sentence for requests that
// are malformed, too large, too slow or too many.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { renameSync, writeFileSync } from 'node:fs'
import { Agent, request as httpRequest, type IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { saveModel } from '../../src/model/files.ts'
import type { Model } from '../../src/model/model.ts'
import { predict, predictRows } from '../../src/predict/predict.ts'
import { PredictionServer, type ServeOptions } from '../../src/serve/server.ts'
import { train } from '../../src/train/train.ts'
import { assertPlainWords, shows, start } from '../cli/run.ts'
import { asText, someRows } from '../cli/some-data.ts'
import { testFolder } from '../input-formats/fixture.ts'
import { plusMinus, smallModel } from '../model/some-models.ts'

const folder = testFolder()
const rows = someRows(400, 30, { classes: 3 })
const data = folder.write('a.svm', asText(rows))
const modelPath = join(folder.path, 'a.model')

/** Starts a server on a free port, for as long as `use` takes. */
async function serving<T>(path: string, use: (url: string) => Promise<T>, options: ServeOptions = {}): Promise<T> {
  const server = await PredictionServer.start(path, { port: 0, ...options })
  try {
    return await use(server.url)
  } finally {
    await server.stop()
  }
}

const post = (url: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(`${url}/predict`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })

interface Prediction {
  label: string
  scores: number[]
  probabilities?: Record<string, number>
}

/** What the server says is wrong. */
async function complaint(response: Response): Promise<{ status: number; error: string }> {
  assert.match(response.headers.get('content-type') ?? '', /^application\/json/)
  const text = await response.text()
  assertPlainWords(text)
  const { error, ...rest } = JSON.parse(text) as { error: string }
  assert.deepEqual(rest, {})
  return { status: response.status, error }
}

async function predicted(model: Model | string): Promise<Prediction[]> {
  const found: Prediction[] = []
  for await (const { labels, scores, probabilities } of predictRows(data, model, { threads: 1, probability: true })) {
    const [width, classes] = [scores, probabilities!].map(each => each.length / labels.length)
    labels.forEach((label, r) => {
      const shares = [...probabilities!.subarray(r * classes, (r + 1) * classes)]
      found.push({
        label,
        scores: [...scores.subarray(r * width, (r + 1) * width)],
        probabilities: Object.fromEntries(shares.map((p, k) => [names[k], p])),
      })
    })
  }
  return found
}
let names: string[] = []

before(async () => {
  const model = await train(data, { loss: 'logistic', scale: 'standard', bias: 1, threads: 1 }).model
  names = model.labels.map(({ text }) => text)
  await model.save(modelPath)
})

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

describe('requests that serve refuses', () => {
  const cases: { name: string; body: string; type?: string; status: number; error: RegExp }[] = [
    { name: 'no JSON', body: '{"3":', status: 400, error: /^the body is not JSON: / },
    { name: 'nothing', body: '', status: 400, error: /^the body is not JSON: / },
    { name: 'a number', body: '7', status: 400, error: /^row 1: found 7, expected a row: \{"3": 0\.5\}/ },
    { name: 'null', body: 'null', status: 400, error: /^row 1: found null, expected a row/ },
    { name: 'a row of null', body: '[{"1":1},null]', status: 400, error: /^row 2: found null, expected a row/ },
    {
      name: 'a name',
      body: '{"age":3}',
      status: 400,
      error: /^row 1: found the feature "age", expected a whole number from 1$/,
    },
    { name: 'feature 0', body: '{"0":3}', status: 400, error: /found the feature "0", expected a whole number from 1/ },
    { name: '__proto__', body: '{"__proto__":{"1":1}}', status: 400, error: /found the feature "__proto__"/ },
    {
      name: 'a text as value',
      body: '{"1":"2"}',
      status: 400,
      error: /found the value "2" of feature 1, expected a finite/,
    },
    {
      name: 'null as value',
      body: '[0,null]',
      status: 400,
      error: /found the value null of feature 2, expected a finite/,
    },
    {
      name: 'a huge value',
      body: '{"1":1e39}',
      status: 400,
      error: /the value 1e\+39 of feature 1, expected a number that/,
    },
    {
      name: 'a feature twice',
      body: '{"indices":[3,3],"values":[1,2]}',
      status: 400,
      error: /feature 3 after feature 3/,
    },
    {
      name: 'a feature too high',
      body: '{"4294967296":1}',
      status: 400,
      error: /feature 4294967296, expected a whole number/,
    },
    {
      name: 'lengths that differ',
      body: '{"indices":[3],"values":[]}',
      status: 400,
      error: /1 feature numbers and 0 values/,
    },
    {
      name: 'too many rows',
      body: '[[1],[1],[1],[1],[1],[1]]',
      status: 413,
      error: /^the body has 6 rows; expected 5 at most/,
    },
    { name: 'a long body', body: ' '.repeat(70_000), status: 413, error: /^the body is longer than 64\.0 KiB/ },
    {
      name: 'a long line',
      body: '1'.repeat(200_000),
      type: 'application/x-ndjson',
      status: 413,
      error: /^a line is longer/,
    },
    {
      name: 'a bad line of JSON',
      body: '[1]\n{\n',
      type: 'application/x-ndjson',
      status: 400,
      error: /^row 2 is not JSON/,
    },
    {
      name: 'a bad line',
      body: '? 1:1\n# no row\n? 1:x\n',
      type: 'text/plain',
      status: 400,
      error: /^line 3, column 3: found "1:x", expected a number as value$/,
    },
    {
      name: 'another type',
      body: 'a=1',
      type: 'application/xml',
      status: 415,
      error: /^the content type is/,
    },
  ]
  for (const { name, body, type = 'application/json', status, error } of cases) {
    it(`with one sentence: ${name}`, () =>
      serving(
        modelPath,
        async url => {
          const found = await complaint(await post(url, body, { 'content-type': type }))
          assert.equal(found.status, status)
          assert.match(found.error, error)
          // The server goes on, also on the same connection.
          assert.equal((await post(url, { 1: 1 })).status, 200)
        },
        { mostBytes: 1 << 16, mostRows: 5 },
      ))
  }

  it('for other places and methods, and nothing outside of the model can be read', () =>
    serving(modelPath, async url => {
      for (const path of [
        '/',
        '/a.model',
        '/../a.model',
        '/..%2f..%2fetc/passwd',
        '//etc/passwd',
        '/predict/x',
        '/constructor',
      ]) {
        const { status, error } = await complaint(await fetch(url + path))
        assert.equal(status, 404, path)
        assert.equal(error, 'there is no such place; there are /predict, /health, /metrics, /openapi.json')
      }
      const wrong = await fetch(`${url}/predict`)
      assert.equal(wrong.headers.get('allow'), 'POST')
      assert.deepEqual(await complaint(wrong), { status: 405, error: '/predict takes POST requests' })
      assert.equal((await fetch(`${url}/health`, { method: 'DELETE' })).status, 405)
      const packed = await post(url, '{}', { 'content-encoding': 'gzip' })
      assert.match((await complaint(packed)).error, /^the body is gzip; expected one that is not compressed/)
    }))

  /** What the server says to bytes. */
  const raw = (url: string, text: string): Promise<string> =>
    new Promise((resolve, reject) => {
      const { port, hostname } = new URL(url)
      const socket = connect(Number(port), hostname)
      let answer = ''
      socket.on('data', piece => {
        answer += piece
      })
      socket.on('error', reject)
      socket.on('close', () => resolve(answer))
      socket.write(text)
    })

  it('that are no HTTP, have long headers, or come for another host', () =>
    serving(modelPath, async url => {
      assert.match(
        await raw(url, 'what is this\r\n\r\n'),
        /^HTTP\/1\.1 400 .*\{"error":"this is not a request of HTTP\/1\.1"\}\n$/s,
      )
      const long = `GET /health HTTP/1.1\r\nhost: localhost\r\nx: ${'y'.repeat(20_000)}\r\n\r\n`
      assert.match(await raw(url, long), /^HTTP\/1\.1 431 .*\{"error":"the headers are longer than 16384 bytes"\}\n$/s)
      for (const host of ['evil.example', 'evil.example:80', 'localhost.evil.example', '127.0.0.1.evil.example']) {
        const answer = await raw(url, `GET /health HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`)
        assert.match(answer, /^HTTP\/1\.1 403 .*this server answers requests to localhost alone/s, host)
      }
      for (const host of ['localhost:1', '127.0.0.1', '[::1]:80']) {
        const answer = await raw(url, `GET /health HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`)
        assert.match(answer, /^HTTP\/1\.1 200 /, host)
      }
      const absolute = 'GET http://localhost/health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n'
      assert.match(await raw(url, absolute), /^HTTP\/1\.1 400 .*the address of the request is not one/s)
    }))

  it('that are slow: a head, a body and a stream that stand still', () =>
    serving(
      modelPath,
      async url => {
        const started = performance.now()
        const head = 'POST /predict HTTP/1.1\r\nhost: localhost\r\n'
        const [slowHead, slowBody, slowStream] = await Promise.all([
          raw(url, head),
          raw(url, `${head}content-type: application/json\r\ncontent-length: 20\r\n\r\n{"1":`),
          raw(url, `${head}content-type: text/plain\r\ncontent-length: 20\r\n\r\n? 1:`),
        ])
        assert.match(slowHead, /^HTTP\/1\.1 408 .*the head of the request did not come in time/s)
        assert.match(slowBody, /^HTTP\/1\.1 408 .*\{"error":"the body did not come within 0\.5 s"\}\n$/s)
        assert.equal(slowStream, '')
        assert.ok(performance.now() - started < 15_000)
        assert.equal((await post(url, { 1: 1 })).status, 200)
      },
      { seconds: 0.5 },
    ))

  it('that lack the token, where there is one; health needs none', () =>
    serving(
      modelPath,
      async url => {
        for (const headers of [{}, { authorization: 'Bearer wrong-token' }, { authorization: 'Basic sesame-sesame' }]) {
          const { status, error } = await complaint(await post(url, { 1: 1 }, headers as Record<string, string>))
          assert.deepEqual([status, error], [401, 'a token is needed: Authorization: Bearer TOKEN'])
        }
        assert.equal((await post(url, { 1: 1 }, { authorization: 'Bearer sesame-sesame' })).status, 200)
        assert.equal((await fetch(`${url}/metrics`)).status, 401)
        assert.equal((await fetch(`${url}/health`)).status, 200)
      },
      { token: 'sesame-sesame' },
    ))
})

describe('serve', () => {
  it('answers 1,000 requests at a time, each with its own answer', () =>
    serving(modelPath, async url => {
      const expected = await predicted(modelPath)
      const agent = new Agent({ keepAlive: true, maxSockets: 1000 })
      after(() => agent.destroy())
      const ask = (r: number): Promise<Prediction> =>
        new Promise((resolve, reject) => {
          const request = httpRequest(`${url}/predict`, { method: 'POST', agent }, response => {
            let text = ''
            response.on('data', piece => {
              text += piece
            })
            response.on('end', () => resolve(JSON.parse(text)))
          })
          request.on('error', reject)
          request.end(JSON.stringify(features(rows[r % rows.length].entries)))
        })
      const features = (entries: [number, number][]): Record<string, number> => Object.fromEntries(entries)
      const answers = await Promise.all(Array.from({ length: 1000 }, (_, r) => ask(r)))
      answers.forEach((answer, r) => {
        assert.deepEqual(answer, expected[r % rows.length])
      })
    }))

  it('tells of itself: health, metrics, and a description of its requests', () =>
    serving(modelPath, async url => {
      await post(url, [[1], [2], [3]])
      await post(url, 'wrong')
      const health = (await (await fetch(`${url}/health`)).json()) as Record<string, unknown>
      assert.equal(health['status'], 'ok')
      assert.deepEqual((health['model'] as { labels: string[] }).labels, names)
      assert.doesNotMatch(JSON.stringify(health), /a\.model/, 'no path')
      const metrics = await (await fetch(`${url}/metrics`)).text()
      assert.match(metrics, /^spillway_requests_total\{path="\/predict",status="200"\} 1$/m)
      assert.match(metrics, /^spillway_requests_total\{path="\/predict",status="400"\} 1$/m)
      assert.match(metrics, /^spillway_rows_total 3$/m)
      assert.match(metrics, /^spillway_request_seconds_bucket\{le="\+Inf"\} 3$/m)
      assert.match(metrics, /^spillway_model_loads_total 1$/m)
      for (const line of metrics.trimEnd().split('\n')) {
        assert.match(line, /^(# (HELP|TYPE) [a-z_]+ .+|[a-z_]+(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? [\d.e+-]+)$/)
      }
      const api = (await (await fetch(`${url}/openapi.json`)).json()) as {
        openapi: string
        paths: object
        components: { schemas: { Prediction: { properties: { label: { enum: string[] } } } } }
      }
      assert.equal(api.openapi, '3.1.0')
      assert.deepEqual(Object.keys(api.paths), ['/predict', '/health', '/metrics', '/openapi.json'])
      assert.deepEqual(api.components.schemas.Prediction.properties.label.enum, names)
    }))

  it('reads a model again that has changed, and keeps the one before while it cannot be read', async () => {
    const path = join(folder.path, 'changing.model')
    const model = (weight: number): Model =>
      smallModel({ labels: plusMinus, features: 1, weights: Float64Array.of(weight) })
    await saveModel(path, model(1))
    const said: string[] = []
    await serving(
      path,
      async url => {
        const score = async (): Promise<number> => ((await (await post(url, { 1: 1 })).json()) as Prediction).scores[0]
        const until = async (wanted: () => Promise<boolean>): Promise<void> => {
          for (let k = 0; !(await wanted()); k++) {
            assert.ok(k < 100, 'it took too long')
            await sleep(100)
          }
        }
        assert.equal(await score(), 1)
        await saveModel(path, model(2))
        await until(async () => (await score()) === 2)
        writeFileSync(`${path}.new`, 'SPILLMDL and no more')
        renameSync(`${path}.new`, path)
        const warned = async (): Promise<boolean> =>
          'warning' in ((await (await fetch(`${url}/health`)).json()) as object)
        await until(warned)
        assert.equal(await score(), 2)
        await saveModel(path, model(3))
        await until(async () => (await score()) === 3)
        assert.ok(!(await warned()))
        assert.match(
          said.join('\n'),
          /read again\nthe model before stays: .*cut off.*\nthe model has changed and was read again$/,
        )
      },
      { say: text => said.push(text) },
    )
  })

  it('answers a stream to its end by the model that it began with, and models follow each other in the same memory', async () => {
    const path = join(folder.path, 'followed.model')
    const model = (weight: number): Model =>
      smallModel({ labels: plusMinus, features: 100_000, weights: new Float64Array(100_000).fill(weight) })
    await saveModel(path, model(1))
    let loads = 0
    await serving(
      path,
      async url => {
        const request = httpRequest(`${url}/predict?scores`, {
          method: 'POST',
          headers: { 'content-type': 'text/plain' },
        })
        const piece = '? 1:1\n'.repeat(30_000)
        request.write(piece)
        const [response] = (await once(request, 'response')) as [IncomingMessage]
        const lines = new Set<string>()
        let text = ''
        response.on('data', (part: Buffer) => {
          text += part
        })
        for (let weight = 2; weight < 8; weight++) {
          await saveModel(path, model(weight))
          while (loads < weight - 1) await sleep(50)
          const { scores } = (await (await post(url, { 1: 1 })).json()) as Prediction
          assert.deepEqual(scores, [weight])
        }
        request.end(piece)
        await once(response, 'end')
        for (const line of text.trimEnd().split('\n')) lines.add(line)
        assert.deepEqual([...lines], ['+1 1'])
      },
      { say: () => loads++ },
    )
  })

  it('ends when the requests under way are answered', async () => {
    const server = await PredictionServer.start(modelPath, { port: 0 })
    const { url } = server
    const request = httpRequest(`${url}/predict`, { method: 'POST', headers: { 'content-type': 'text/plain' } })
    request.write('? 1:1\n'.repeat(50_000))
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    const stopped = server.stop()
    let lines = 0
    response.on('data', (piece: Buffer) => {
      lines += piece.toString().split('\n').length - 1
    })
    request.end('? 1:1\n')
    await once(response, 'end')
    assert.equal(lines, 50_001)
    await stopped
    await assert.rejects(fetch(`${url}/health`))
  })
})

describe('spillway serve', () => {
  const cwd = folder.path

  it('prints its address, answers, and ends well when it is told to', async () => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      const { child, outcome } = start(['serve', modelPath, '--port', '0'], { cwd })
      let url = ''
      child.stdout.on('data', piece => {
        url += piece
      })
      await shows(child, /http:.*\n/)
      assert.match(url, /^http:\/\/127\.0\.0\.1:\d+\n$/)
      assert.equal((await post(url.trim(), { 1: 1 })).status, 200)
      child.kill(signal)
      const { status, stderr } = await outcome
      assert.equal(status, 0)
      assert.match(stderr, /a\.model: 3 labels, 30 features; Ctrl-C ends the server/)
    }
  })

  it('makes a token where others reach it, and prints it', async () => {
    const { child, outcome } = start(['serve', modelPath, '--port', '0', '--host', '0.0.0.0'], { cwd })
    let said = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', piece => {
        said += piece
      })
    }
    await shows(child, /http:.*\n/)
    const [, port] = /http:\/\/0\.0\.0\.0:(\d+)/.exec(said)!
    const [, token] = /^token: (\S{32})$/m.exec(said)!
    const url = `http://127.0.0.1:${port}`
    assert.equal((await post(url, { 1: 1 })).status, 401)
    assert.equal((await post(url, { 1: 1 }, { authorization: `Bearer ${token}` })).status, 200)
    child.kill('SIGTERM')
    assert.equal((await outcome).status, 0)
  })

  it('refuses in words what cannot be', async () => {
    const refusals: [string[], RegExp][] = [
      [['serve', 'nothing.model'], /cannot read the model nothing\.model: there is no such file/],
      [['serve', data], /a\.svm is not a model/],
      [
        ['serve', modelPath, '--port', '70000'],
        /--port is "70000"; expected a whole number of at least 0 and of at most 65535/,
      ],
      [['serve', modelPath, '--token', 'short'], /the token has blanks or fewer than 8 characters/],
      [['serve', modelPath, '--host', 'no.such.host.invalid'], /cannot listen on no\.such\.host\.invalid/],
    ]
    await Promise.all(
      refusals.map(async ([words, error]) => {
        const { child, outcome } = start(words, { cwd })
        child.stdin.end()
        const { status, stderr } = await outcome
        assert.notEqual(status, 0)
        assert.match(stderr, error)
        assertPlainWords(stderr)
      }),
    )
  })
})
