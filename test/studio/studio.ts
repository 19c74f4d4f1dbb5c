// A studio on a free port over a folder of its own, and what tests ask of it.
import assert from 'node:assert/strict'
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadModel } from '../../src/model/files.ts'
import type { Run } from '../../src/studio/run-folder.ts'
import { type StudioOptions, StudioServer } from '../../src/studio/server.ts'
import { assertPlainWords, program } from '../cli/run.ts'
import { asText, someRows } from '../cli/some-data.ts'

export interface Answer {
  status: number
  headers: Record<string, string | string[] | undefined>
  text: string
}

/** A studio as tests see it. */
export interface Studio {
  url: string
  token: string
  folder: string
  write(name: string, content: string | Uint8Array): string
  get<T = Record<string, unknown>>(path: string): Promise<T>
  post<T = Record<string, unknown>>(path: string, body?: unknown): Promise<T>
  /** The status and the sentence of a request that is refused. */
  refused(method: string, path: string, body?: unknown): Promise<{ status: number; message: string }>
}

export function newFolder(): string {
  return realpathSync(mkdtempSync(join(tmpdir(), 'spillway-studio-')))
}

/** Two classes, and rows that differ in length. */
export const smallData = asText(someRows(300, 20))

/** A run over blocks that takes seconds, and ends where it always does. */
export const longRun = { solver: 'block', tolerance: 1e-15, maxPasses: 300 }
/** Runs that go on until they are stopped; a test that fails leaves none for longer than minutes. */
export const endless = { solver: 'dual', tolerance: 1e-300, maxPasses: 1e7 }
export const endlessInBlocks = { solver: 'block', tolerance: 1e-300, maxPasses: 1e5 }

/** Weights of a model, bit by bit. */
export async function weightsOf(path: string): Promise<unknown> {
  const { weights, biasWeights, labels } = await loadModel(path)
  return { weights, biasWeights, labels }
}

export async function inStudio(
  test: (studio: Studio, server: StudioServer) => Promise<void>,
  options: Partial<StudioOptions> = {},
  folder = newFolder(),
): Promise<void> {
  const server = await StudioServer.start(folder, { port: 0, program: [process.execPath, program], ...options })
  try {
    await test(studioAt(server.origin, server.token, folder), server)
  } finally {
    await server.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

export function studioAt(url: string, token: string, folder: string): Studio {
  const headers = { authorization: `Bearer ${token}` }
  const ask = (method: string, path: string, body?: unknown): Promise<Answer> =>
    raw(url, {
      ...{ method, path, headers: body === undefined ? headers : { ...headers, 'content-type': 'application/json' } },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
  const good = async <T>(answer: Promise<Answer>): Promise<T> => {
    const { status, text } = await answer
    assert.ok(status < 300, text)
    return JSON.parse(text) as T
  }
  return {
    ...{ url, token, folder },
    write(name, content) {
      writeFileSync(join(folder, name), content)
      return name
    },
    get: path => good(ask('GET', path)),
    post: (path, body) => good(ask('POST', path, body)),
    async refused(method, path, body) {
      const answer = await ask(method, path, body)
      return { status: answer.status, message: messageOf(answer) }
    },
  }
}

/** The one sentence of a refusal. */
export function messageOf({ status, headers, text }: Answer): string {
  assert.ok(status >= 400, text)
  assert.match(String(headers['content-type']), /^application\/json/)
  assertPlainWords(text)
  const { error, ...rest } = JSON.parse(text) as { error: { message: string } }
  assert.deepEqual(rest, {})
  assert.deepEqual(Object.keys(error), ['message'])
  return error.message
}

export interface RawRequest {
  method?: string
  path: string
  headers?: Record<string, string>
  body?: string
}

/** A request with any headers, those included that `fetch` sets itself. */
export function raw(url: string, { method = 'GET', path, headers = {}, body }: RawRequest): Promise<Answer> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve, reject) => {
    const sent = request({ hostname, port, method, path, headers }, response => {
      const pieces: Buffer[] = []
      response.on('data', piece => pieces.push(piece))
      response.on('end', () => {
        const text = Buffer.concat(pieces).toString()
        resolve({ status: response.statusCode!, headers: response.headers, text })
      })
      response.on('error', reject)
    })
    sent.on('error', reject)
    sent.end(body)
  })
}

/** Waits until a run is in one of these states. */
export async function until(studio: Studio, id: string, ...states: Run['state'][]): Promise<Run> {
  for (;;) {
    const run = await studio.get<Run>(`/api/runs/${id}`)
    if (states.includes(run.state)) return run
    assert.ok(!['done', 'failed', 'stopped'].includes(run.state), `the run is ${run.state}: ${run.error}`)
    await new Promise(resolve => setTimeout(resolve, 50))
  }
}

export interface Event {
  event: string
  id: number | undefined
  data: Record<string, unknown>
}

/** Events of a stream, until it ends or is left. */
export async function* events(studio: Studio, path: string, last?: number): AsyncGenerator<Event> {
  const leaving = new AbortController()
  const response = await fetch(`${studio.url}${path}`, {
    headers: { authorization: `Bearer ${studio.token}`, ...(last !== undefined && { 'last-event-id': String(last) }) },
    signal: leaving.signal,
  })
  assert.equal(response.status, 200)
  assert.match(response.headers.get('content-type')!, /^text\/event-stream/)
  let text = ''
  try {
    for await (const piece of response.body!.pipeThrough(new TextDecoderStream())) {
      text += piece
      for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
        const fields = new Map(
          text
            .slice(0, end)
            .split('\n')
            .map(line => line.split(/: (.*)/s).slice(0, 2) as [string, string]),
        )
        text = text.slice(end + 2)
        if (!fields.has('event')) continue
        const id = fields.get('id')
        yield {
          event: fields.get('event')!,
          id: id === undefined ? undefined : Number(id),
          data: JSON.parse(fields.get('data')!) as Event['data'],
        }
      }
    }
  } finally {
    leaving.abort()
  }
}
