// A server under load, its pages, its reloads and its end; and the command that starts one.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { renameSync, writeFileSync } from 'node:fs'
import { Agent, request as httpRequest, type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { saveModel } from '../../src/model/files.ts'
import type { Model } from '../../src/model/model.ts'
import { PredictionServer } from '../../src/serve/server.ts'
import { assertPlainWords, shows, start } from '../cli/run.ts'
import { plusMinus, smallModel } from '../model/some-models.ts'
import {
  data,
  folder,
  modelPath,
  names,
  type Prediction,
  post,
  predicted,
  rows,
  serving,
  trainServed,
} from './serving.ts'

before(trainServed)

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
