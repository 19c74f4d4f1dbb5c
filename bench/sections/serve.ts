// A server under load: as many requests at a time as there are connections, each sent when the answer to the one before is there.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { Agent, request as httpRequest } from 'node:http'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { measure } from '../measure.ts'
import { spillway } from '../peers/spillway.ts'
import type { Section, SuiteContext, Table } from '../suite.ts'

/** Seconds of load for each kind of request. */
const SECONDS = { small: 2, full: 60 }
const ROWS = 5000
/** As many as a server has to survive. */
const MANY_CONNECTIONS = 1000

interface Load {
  name: string
  connections: number
  type: string
  rows: number
  /** The body of a request, by its number. */
  body: (k: number) => string
}

interface Outcome {
  seconds: number
  requests: number
  errors: number
  milliseconds: number[]
}

/** A model, and what is asked of it. */
interface Served {
  /** Words of `generate` and `train`. */
  like: string
  train: string[]
  ending: string
  loads(lines: string[]): Load[]
}

const SERVED: Served[] = [
  { like: 'yahoo-korea', train: [], ending: 'svm', loads: sparseLoads },
  {
    like: 'criteo',
    train: ['--header', 'no', '--label', '1', '--categorical', 'hash:15', '--max-passes', '3'],
    ending: 'tsv',
    loads: tableLoads,
  },
]

export async function serveSection(context: SuiteContext): Promise<Section> {
  const seconds = context.seconds ?? SECONDS[context.size]
  const table: Table = { columns, rows: [] }
  const details: unknown[] = []
  for (const served of SERVED) {
    const [data, model] = [served.ending, 'model'].map(end => join(context.workFolder, `serve-${served.like}.${end}`))
    await measure(spillway.command('generate', '--like', served.like, data, '--rows', String(ROWS), '-q'))
    await measure(spillway.command('train', data, model, '--loss', 'logistic', '-q', ...served.train))
    // A row may end with empty cells: tabs at its end belong to it.
    const lines = (await readFile(data, 'utf8')).split('\n').slice(0, -1)
    const { server, url } = await started(model)
    try {
      for (const load of served.loads(lines)) {
        const { row, counts } = await pressed(url, load, seconds)
        context.say(`${load.name}: ${row.rows} rows a second, ${row.errors} errors`)
        table.rows.push(row)
        details.push({ ...row, ...counts })
      }
    } finally {
      server.kill('SIGTERM')
      await once(server, 'close')
    }
  }
  return {
    name: 'serve',
    title: 'A model behind HTTP',
    goal: 'No error, and memory that stays as it is.',
    protocol: [
      `${ROWS} rows like yahoo-korea, and as many like criteo, a logistic model of each; ${seconds} s of load for each kind of request, after a tenth of that unmeasured.`,
      'The load comes from this process, on the same machine: it takes computing from the server.',
      'Memory is the resident memory of the server: before, after half the time, and at the end.',
    ],
    tables: [table],
    details,
    notes: [],
  }
}

async function pressed(url: string, load: Load, seconds: number) {
  // The first answers find nothing compiled.
  await press(url, load, seconds / 10)
  const before = await memoryOf(url)
  const halfway = sleep(seconds * 500).then(() => memoryOf(url))
  const { milliseconds, ...counts } = await press(url, load, seconds)
  const times = milliseconds.sort((a, b) => a - b)
  const at = (share: number): number => times[Math.floor(times.length * share)] / 1000
  const row = {
    name: load.name,
    connections: load.connections,
    requests: Math.round(counts.requests / counts.seconds),
    rows: Math.round((counts.requests * load.rows) / counts.seconds),
    half: at(0.5),
    p99: at(0.99),
    errors: counts.errors,
    before,
    halfway: await halfway,
    after: await memoryOf(url),
  }
  return { row, counts }
}

const JSON_TYPE = 'application/json'
/** Some of a list, others for each number, from its beginning again behind its end. */
const some = (list: string[], k: number, count: number): string[] =>
  Array.from({ length: count }, (_, i) => list[(k * count + i) % list.length])
const batch = (rows: string[], k: number): string => `[${some(rows, k, 100).join(',')}]`
const thousand = (lines: string[], k: number): string => `${some(lines, k, 1000).join('\n')}\n`

function sparseLoads(lines: string[]): Load[] {
  const rows = lines.map(line => {
    const entries = line.split(' ').slice(1)
    return `{${entries.map(entry => `"${entry.replace(':', '":')}`).join(',')}}`
  })
  const one = { type: JSON_TYPE, rows: 1, body: (k: number): string => rows[k % rows.length] }
  return [
    { name: 'one row', connections: 64, ...one },
    { name: 'one row, from many', connections: MANY_CONNECTIONS, ...one },
    { name: '100 rows', connections: 16, type: JSON_TYPE, rows: 100, body: k => batch(rows, k) },
    { name: '1,000 lines of text', connections: 8, type: 'text/plain', rows: 1000, body: k => thousand(lines, k) },
  ]
}

/** Columns without a header are called by their numbers; the first one is the label. */
function tableLoads(lines: string[]): Load[] {
  const rows = lines.map(line => {
    const [, ...cells] = line.split('\t')
    return JSON.stringify(Object.fromEntries(cells.map((cell, k) => [String(k + 2), cell === '' ? null : cell])))
  })
  const type = 'text/tab-separated-values'
  return [
    { name: '100 rows of a table, by name', connections: 16, type: JSON_TYPE, rows: 100, body: k => batch(rows, k) },
    { name: '1,000 lines of a table', connections: 8, type, rows: 1000, body: k => thousand(lines, k) },
  ]
}

async function started(model: string): Promise<{ server: ChildProcess; url: string }> {
  const [file, ...words] = spillway.command('serve', model, '--port', '0', '-q')
  const server = spawn(file, words, { stdio: ['ignore', 'pipe', 'inherit'] })
  const [piece] = (await once(server.stdout, 'data')) as [Buffer]
  return { server, url: piece.toString().trim() }
}

/** Resident memory of the server. */
async function memoryOf(url: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text()
  return Number(/^process_resident_memory_bytes (\d+)$/m.exec(text)?.[1])
}

async function press(url: string, load: Load, seconds: number): Promise<Outcome> {
  const agent = new Agent({ keepAlive: true, maxSockets: load.connections })
  // Made before the clock starts.
  const bodies = Array.from({ length: 64 }, (_, k) => Buffer.from(load.body(k)))
  const outcome: Outcome = { seconds, requests: 0, errors: 0, milliseconds: [] }
  const began = performance.now()
  let next = 0
  const connection = async (): Promise<void> => {
    while (performance.now() - began < seconds * 1000) {
      const sent = performance.now()
      const good = await answered(url, agent, load.type, bodies[next++ % bodies.length]).catch(() => false)
      if (!good) outcome.errors++
      outcome.requests++
      outcome.milliseconds.push(performance.now() - sent)
    }
  }
  await Promise.all(Array.from({ length: load.connections }, connection))
  outcome.seconds = (performance.now() - began) / 1000
  agent.destroy()
  return outcome
}

/** Whether a request was answered with what was asked for, to its end. */
function answered(url: string, agent: Agent, type: string, body: Buffer): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': type, 'content-length': body.length }
    const request = httpRequest(`${url}/predict`, { method: 'POST', agent, headers }, response => {
      let bytes = 0
      response.on('data', piece => {
        bytes += piece.length
      })
      response.on('error', reject)
      response.on('end', () => resolve(response.statusCode === 200 && bytes > 0 && response.complete))
    })
    request.on('error', reject)
    request.end(body)
  })
}

const columns: Table['columns'] = {
  name: { title: 'a request' },
  connections: { title: 'at a time', show: 'count' },
  requests: { title: 'requests a second', show: 'count' },
  rows: { title: 'rows a second', show: 'count' },
  half: { title: 'half within', show: 'seconds' },
  p99: { title: '99 % within', show: 'seconds' },
  errors: { title: 'errors', show: 'count' },
  before: { title: 'memory before', show: 'megabytes' },
  halfway: { title: 'halfway', show: 'megabytes' },
  after: { title: 'at the end', show: 'megabytes' },
}
