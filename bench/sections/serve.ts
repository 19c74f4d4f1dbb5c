// A server under load: as many requests at a time as there are connections, each sent when the answer to the one before is there.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { Agent, request as httpRequest } from 'node:http'
import { join } from 'node:path'
import { measure } from '../measure.ts'
import { spillway } from '../peers/spillway.ts'
import type { Section, SuiteContext, Table } from '../suite.ts'

/** Seconds of load for each kind of request. */
const SECONDS = { small: 2, full: 60 }
const ROWS = 5000

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

export async function serveSection(context: SuiteContext): Promise<Section> {
  const seconds = SECONDS[context.size]
  const [data, model] = ['serve.svm', 'serve.model'].map(name => join(context.workFolder, name))
  const quiet = [
    ['generate', '--like', 'yahoo-korea', data, '--rows', String(ROWS), '-q'],
    ['train', data, model, '--loss', 'logistic', '-q'],
  ]
  for (const words of quiet) await measure(spillway.command(...words))
  const lines = (await readFile(data, 'utf8')).trimEnd().split('\n')
  const { server, url } = await started(model)
  const table: Table = { columns, rows: [] }
  const details: unknown[] = []
  try {
    for (const load of loadsOf(lines)) {
      // The first answers find nothing compiled.
      await press(url, load, seconds / 10)
      const before = await memoryOf(url)
      const found = await press(url, load, seconds)
      const after = await memoryOf(url)
      context.say(`${load.name}: ${Math.round((found.requests * load.rows) / found.seconds)} rows a second`)
      const { milliseconds, ...counts } = found
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
        after,
      }
      table.rows.push(row)
      details.push({ ...row, ...counts })
    }
  } finally {
    server.kill('SIGTERM')
    await once(server, 'close')
  }
  return {
    name: 'serve',
    title: 'A model behind HTTP',
    goal: 'No error, and memory that stays as it is.',
    protocol: [
      `Rows of ${ROWS} like yahoo-korea, a logistic model; ${seconds} s of load for each kind of request, after a tenth of that unmeasured.`,
      'The load comes from this process, on the same machine: it takes computing from the server.',
    ],
    tables: [table],
    details,
    notes: [],
  }
}

function loadsOf(lines: string[]): Load[] {
  const rows = lines.map(line => {
    const entries = line.split(' ').slice(1)
    return `{${entries.map(entry => `"${entry.replace(':', '":')}`).join(',')}}`
  })
  const some = (list: string[], k: number, count: number): string[] =>
    Array.from({ length: count }, (_, i) => list[(k * count + i) % list.length])
  const json = 'application/json'
  return [
    { name: 'one row', connections: 64, type: json, rows: 1, body: k => rows[k % rows.length] },
    { name: '100 rows', connections: 16, type: json, rows: 100, body: k => `[${some(rows, k, 100).join(',')}]` },
    {
      name: '1,000 lines of text',
      connections: 8,
      type: 'text/plain',
      rows: 1000,
      body: k => `${some(lines, k, 1000).join('\n')}\n`,
    },
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
  after: { title: 'memory after', show: 'megabytes' },
}
