// A studio without a program behind it: the answers of the server's interface, runs that go by a script, and errors on demand.
// The page is tested against it; the server has tests of its own.

import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import type { RunLine } from '../../src/report/records.ts'
import type { Run, RunOptions } from '../../src/studio/page/api-types.ts'
import { STUDIO_HTML, studioBundle } from '../../src/studio/page-bundle.ts'
import { choices, explained, folder, planOf, rowsOfCell, summaryOf } from './fake-answers.ts'
import { allRecords, type FakeRun, firstRecords, lastRecords, stepRecord } from './fake-records.ts'

export const TOKEN = 'a-token-of-tests'
const root = fileURLToPath(new URL('../../', import.meta.url))
/** As strict as the server's own. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
const SCRIPT: FakeRun = { steps: 60, blocks: 24 }
const MILLISECONDS_A_STEP = 25

interface Entry {
  run: Run
  lines: RunLine[]
  script: FakeRun
  step: number
  timer?: NodeJS.Timeout
}

type Files = Record<'html' | 'js' | 'css', string>

/** The page, bundled once for all tests. */
async function bundlePage(): Promise<Files> {
  const { outputFiles } = await build({
    ...studioBundle,
    minify: false,
    absWorkingDir: root,
    outdir: root,
    write: false,
  })
  const textOf = (ending: string): string => outputFiles.find(({ path }) => path.endsWith(ending))!.text
  return { html: readFileSync(join(root, STUDIO_HTML), 'utf8'), js: textOf('.js'), css: textOf('.css') }
}
let bundled: Promise<Files> | undefined

export class FakeStudio {
  url = ''
  /** While it is true, runs wait in their middle: a busy machine does not miss them. */
  hold = false
  /** Requests that were refused for want of the token. */
  refused = 0
  readonly #entries = new Map<string, Entry>()
  readonly #listeners = new Set<(entry: Entry) => void>()
  #server: Server | undefined
  #files: Files | undefined
  #number = 0

  async open(port = 0): Promise<this> {
    bundled ??= bundlePage()
    this.#files = await bundled
    this.#server = createServer((request, response) => {
      this.#answer(request, response).catch(error => fail(response, 500, String(error)))
    })
    await new Promise<void>(done => this.#server!.listen(port, '127.0.0.1', done))
    this.url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
    return this
  }

  get address(): string {
    return `${this.url}/?token=${TOKEN}`
  }

  /** As a studio that is killed: runs are forgotten by nobody. */
  close(): Promise<void> {
    this.#server!.closeAllConnections()
    return new Promise(done => void this.#server!.close(() => done()))
  }

  /** Ends everything. */
  async end(): Promise<void> {
    for (const { timer } of this.#entries.values()) clearInterval(timer)
    await this.close()
  }

  /** A run that is over. */
  addDone(name: string, script: FakeRun, options: RunOptions = {}): string {
    const entry = this.#enter('news.svm', options, name)
    entry.script = script
    entry.lines = allRecords(script)
    entry.run = { ...entry.run, state: 'done', result: { ...entry.lines[entry.lines.length - 1] } }
    return entry.run.id
  }

  lines(id: string): RunLine[] {
    return this.#entries.get(id)!.lines
  }

  ids(): string[] {
    return [...this.#entries.keys()]
  }

  #enter(data: string, options: RunOptions, name?: string): Entry {
    const id = `run${++this.#number}`
    const run: Run = {
      ...{ id, name: name ?? `${data} ${this.#number}`, data, options, state: 'queued', resumable: false },
      hasCheckpoint: false,
      command: `spillway train ${data}${options.cost === undefined ? '' : ` --cost=${options.cost}`}`,
      queuedAt: new Date(Date.UTC(2026, 0, 1, 0, 0, this.#number)).toISOString(),
    }
    const entry: Entry = { run, lines: [], script: SCRIPT, step: 0 }
    this.#entries.set(id, entry)
    return entry
  }

  #change(entry: Entry, change: Partial<Run>): void {
    entry.run = { ...entry.run, ...change }
    for (const listener of this.#listeners) listener(entry)
  }

  #begin(entry: Entry): void {
    const resumed = entry.lines.length > 0
    const first = firstRecords(entry.script, entry.run.command)
    if (resumed) Object.assign(first[0], { resumes: true })
    entry.lines.push(...(resumed ? first.slice(0, 1) : first))
    this.#change(entry, { state: 'running', resumable: false, beganAt: new Date().toISOString() })
    entry.timer = setInterval(() => this.#go(entry), MILLISECONDS_A_STEP)
  }

  #go(entry: Entry): void {
    if (entry.run.data === 'broken.svm') {
      this.#over(entry, { state: 'failed', error: 'broken.svm, line 3: found "x" where a feature was expected' })
      return
    }
    if (this.hold && entry.step >= entry.script.steps / 2) return
    entry.step++
    entry.lines.push(stepRecord(entry.script, entry.step))
    if (entry.step < entry.script.steps) {
      this.#change(entry, { last: { ...entry.lines[entry.lines.length - 1] } })
      return
    }
    entry.lines.push(...lastRecords(entry.script))
    this.#over(entry, { state: 'done', result: { ...entry.lines[entry.lines.length - 1] } })
  }

  #over(entry: Entry, change: Partial<Run>): void {
    clearInterval(entry.timer)
    this.#change(entry, { ...change, endedAt: new Date().toISOString() })
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<unknown> {
    const url = new URL(request.url!, this.url)
    const { html, js, css } = this.#files!
    if (url.pathname === '/') return send(response, html, 'text/html')
    if (url.pathname === '/studio.js') return send(response, js, 'text/javascript')
    if (url.pathname === '/studio.css') return send(response, css, 'text/css')
    const given = request.headers.authorization?.replace('Bearer ', '') ?? url.searchParams.get('token')
    if (given !== TOKEN) {
      this.refused++
      return fail(response, 401, 'the token is missing or wrong')
    }
    const body = await bodyOf(request)
    const answer = this.#ofFolder(url, body)
    if (answer !== undefined) return send(response, JSON.stringify(answer), 'application/json')
    return this.#ofRuns(request, response, url, body)
  }

  #ofFolder(url: URL, body: Record<string, unknown>): object | undefined {
    if (url.pathname === '/api/folder') return folder
    if (url.pathname === '/api/choices') return choices
    if (url.pathname === '/api/summary') return summaryOf(url.searchParams.get('file')!, url.searchParams.get('label'))
    if (url.pathname === '/api/plan') return planOf(String(body['data']), body['options'] as RunOptions)
    return undefined
  }

  #ofRuns(request: IncomingMessage, response: ServerResponse, url: URL, body: Record<string, unknown>): unknown {
    if (url.pathname === '/api/events') return this.#streamRuns(response)
    const json = (value: object): void => send(response, JSON.stringify(value), 'application/json')
    if (url.pathname === '/api/runs') {
      if (request.method === 'GET') return json({ runs: [...this.#entries.values()].map(({ run }) => run) })
      const entry = this.#enter(String(body['data']), body['options'] as RunOptions, body['name'] as string | undefined)
      setTimeout(() => this.#begin(entry), 50)
      return json(entry.run)
    }
    const [, id, what] = /^\/api\/runs\/([^/]+)\/?(.*)$/.exec(url.pathname) ?? []
    const entry = this.#entries.get(id)
    if (!entry) return fail(response, 404, 'there is no such run')
    if (what === 'events') return this.#streamRecords(request, response, entry)
    if (what === 'records') return send(response, textOf(entry.lines), 'application/jsonl')
    if (what === 'rows') return json(this.#rows(url.searchParams))
    if (what === 'explain') {
      const found = explained(String(body['row']))
      return found ? json(found) : fail(response, 400, `the row "${body['row']}" has no feature:value`)
    }
    if (what === 'stop')
      this.#over(entry, {
        state: 'stopped',
        resumable: true,
        hasCheckpoint: true,
        result: { exitReason: 'interrupted' },
      })
    if (what === 'resume') this.#begin(entry)
    if (what === '' && request.method === 'DELETE') this.#entries.delete(id)
    return json(entry.run)
  }

  #rows(asked: URLSearchParams): object {
    return rowsOfCell(asked.get('truth')!, asked.get('predicted')!, Number(asked.get('line')) || undefined)
  }

  #streamRuns(response: ServerResponse): void {
    beginEvents(response)
    for (const { run } of this.#entries.values()) event(response, 'run', JSON.stringify(run))
    this.#listen(response, entry => event(response, 'run', JSON.stringify(entry.run)))
  }

  #streamRecords(request: IncomingMessage, response: ServerResponse, entry: Entry): void {
    beginEvents(response)
    let told = Number(request.headers['last-event-id'] ?? 0)
    const tell = (): void => {
      for (; told < entry.lines.length; told++) event(response, 'record', JSON.stringify(entry.lines[told]), told + 1)
      event(response, 'state', JSON.stringify(entry.run))
      if (entry.run.state !== 'running' && entry.run.state !== 'queued') response.end()
    }
    this.#listen(response, changed => changed === entry && tell())
    tell()
  }

  #listen(response: ServerResponse, listener: (entry: Entry) => void): void {
    this.#listeners.add(listener)
    response.on('close', () => this.#listeners.delete(listener))
  }
}

const textOf = (lines: RunLine[]): string => lines.map(line => `${JSON.stringify(line)}\n`).join('')

function send(response: ServerResponse, text: string, type: string): void {
  response
    .writeHead(200, {
      'content-type': `${type}; charset=utf-8`,
      'content-security-policy': POLICY,
      'cache-control': 'no-store',
    })
    .end(text)
}

function fail(response: ServerResponse, status: number, message: string): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify({ error: { message } }))
}

function beginEvents(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' })
  response.write(': events\n\n')
}

function event(response: ServerResponse, name: string, data: string, id?: number): void {
  if (!response.writableEnded)
    response.write(`${id === undefined ? '' : `id: ${id}\n`}event: ${name}\ndata: ${data}\n\n`)
}

async function bodyOf(request: IncomingMessage): Promise<Record<string, unknown>> {
  let text = ''
  for await (const piece of request) text += piece
  return text === '' ? {} : (JSON.parse(text) as Record<string, unknown>)
}
