// What the studio answers, by method and path. Paths are those of docs/studio.md.
import type { FileHandle } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { totalmem } from 'node:os'
import { pipeline } from 'node:stream/promises'
import { usableCores, usableMemory } from '../machine-memory.ts'
import { loadModel } from '../model/files.ts'
import type { Model } from '../model/model.ts'
import { storeAt } from '../predict/predict-store.ts'
import { type BodyLimits, wholeBody } from '../serve/body.ts'
import { RequestError } from '../serve/request-error.ts'
import { sendJson } from '../serve/respond.ts'
import { version } from '../version.ts'
import type { Limits, Scored } from './cell.ts'
import { ScoredData } from './cell-rows.ts'
import { ScoredStore } from './cell-rows-of-store.ts'
import { choices } from './choices.ts'
import { streamRecords, streamRuns } from './event-routes.ts'
import type { EventStreams } from './event-stream.ts'
import { explainText } from './explain.ts'
import { openKept, type StudioFolder } from './folder.ts'
import { listFiles } from './list-files.ts'
import { Planner } from './plan.ts'
import type { runFiles } from './run-folder.ts'
import { checkedOptions } from './run-options.ts'
import { isActive, type Runs } from './runs.ts'
import { Samples } from './sample.ts'
import { summarise } from './summary.ts'

export interface Asked {
  request: IncomingMessage
  response: ServerResponse
  url: URL
  /** Of a run. */
  id: string
}

export interface Route {
  method: 'GET' | 'POST' | 'DELETE'
  /** `ID` stands for the name of a run. */
  path: string
  run(asked: Asked): void | Promise<void>
}

export interface RoutesOptions {
  folder: StudioFolder
  runs: Runs
  streams: EventStreams
  limits: BodyLimits
}

/** For a body to come. */
const BODY_MILLISECONDS = 20_000
const SCORING_MILLISECONDS = 600_000
const MOST_ROWS = 500
/** What is scored to show rows of a cell. Those who have no data to test on are shown a sample of the data they trained on. */
const MOST_OF_TEST: Limits = { rows: 4_000_000, bytes: Number.POSITIVE_INFINITY }
const MOST_OF_TRAINING: Limits = { rows: 4_000_000, bytes: 64 << 20 }
/** Models and scores that are kept in memory. */
const MOST_KEPT = 2
/** Reports draw themselves by scripts of their own, and reach nothing. */
const REPORT_POLICY =
  "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"

export class Routes {
  readonly #options: RoutesOptions
  readonly #samples = new Samples()
  readonly #planner = new Planner(this.#samples)
  readonly #models = new Map<string, Promise<Model>>()
  readonly #scored = new Map<string, Promise<Scored>>()

  constructor(options: RoutesOptions) {
    this.#options = options
    // A run that is begun again has another model, and one that is removed has none.
    options.runs.listen(event => {
      if (event.kind === 'removed' || (event.kind === 'run' && isActive(event.run))) {
        this.#forget(event.kind === 'removed' ? event.id : event.run.id)
      }
    })
  }

  readonly all: Route[] = [
    { method: 'GET', path: '/api/folder', run: ({ response }) => this.#folder(response) },
    { method: 'GET', path: '/api/choices', run: ({ response }) => sendJson(response, 200, choices()) },
    { method: 'GET', path: '/api/summary', run: asked => this.#summary(asked) },
    { method: 'POST', path: '/api/plan', run: asked => this.#plan(asked) },
    { method: 'GET', path: '/api/runs', run: ({ response }) => this.#list(response) },
    { method: 'POST', path: '/api/runs', run: asked => this.#add(asked) },
    { method: 'GET', path: '/api/runs/ID', run: ({ response, id }) => sendJson(response, 200, this.#runs.get(id)) },
    { method: 'DELETE', path: '/api/runs/ID', run: asked => this.#remove(asked) },
    { method: 'POST', path: '/api/runs/ID/stop', run: asked => this.#change(asked, id => this.#runs.stop(id)) },
    { method: 'POST', path: '/api/runs/ID/resume', run: asked => this.#change(asked, id => this.#runs.resume(id)) },
    { method: 'GET', path: '/api/events', run: ({ response }) => streamRuns(response, this.#streams, this.#runs) },
    { method: 'GET', path: '/api/runs/ID/events', run: asked => this.#events(asked) },
    { method: 'GET', path: '/api/runs/ID/records', run: asked => this.#file(asked, 'records', 'application/x-ndjson') },
    { method: 'GET', path: '/api/runs/ID/model', run: asked => this.#file(asked, 'model', 'application/octet-stream') },
    { method: 'GET', path: '/api/runs/ID/report', run: asked => this.#report(asked) },
    { method: 'GET', path: '/api/runs/ID/rows', run: asked => this.#rows(asked) },
    { method: 'POST', path: '/api/runs/ID/explain', run: asked => this.#explain(asked) },
  ]

  get #runs(): Runs {
    return this.#options.runs
  }

  get #streams(): EventStreams {
    return this.#options.streams
  }

  async #folder(response: ServerResponse): Promise<void> {
    const { folder } = this.#options
    const machine = { memoryBytes: totalmem(), usableBytes: usableMemory(), cores: usableCores() }
    sendJson(response, 200, { folder: folder.path, ...(await listFiles(folder)), machine, version })
  }

  async #summary({ response, url }: Asked): Promise<void> {
    const name = url.searchParams.get('file')
    const path = await this.#options.folder.resolve(name)
    const label = url.searchParams.get('label') || undefined
    sendJson(response, 200, await summarise({ name: name!, path, label }, this.#samples))
  }

  async #plan({ request, response }: Asked): Promise<void> {
    const { data, options } = await this.#body(request)
    const path = await this.#options.folder.resolve(data)
    // A slider asks faster than anybody can answer: those who left are passed over.
    const plan = await this.#planner.plan(path, checkedOptions(options), () => !response.destroyed)
    if (plan) sendJson(response, 200, plan)
  }

  #list(response: ServerResponse): void {
    sendJson(response, 200, { runs: this.#runs.list() })
  }

  async #add({ request, response }: Asked): Promise<void> {
    sendJson(response, 201, await this.#runs.add(await this.#body(request)))
  }

  async #change({ response, id }: Asked, change: (id: string) => Promise<object>): Promise<void> {
    sendJson(response, 200, await change(id))
  }

  async #remove({ response, id }: Asked): Promise<void> {
    await this.#runs.remove(id)
    sendJson(response, 200, { removed: id })
  }

  #events({ request, response, id }: Asked): Promise<void> {
    return streamRecords(request, response, this.#streams, { runs: this.#runs, id })
  }

  /** A body of JSON that is an object. */
  async #body(request: IncomingMessage): Promise<Record<string, unknown>> {
    const type = (request.headers['content-type'] ?? '').split(';', 1)[0].trim().toLowerCase()
    if (type !== 'application/json') throw new RequestError(415, 'the body has to be application/json')
    const bytes = await wholeBody(request, this.#options.limits, BODY_MILLISECONDS)
    let body: unknown
    try {
      body = JSON.parse(bytes.toString())
    } catch (error) {
      throw new RequestError(400, `the body is not JSON: ${(error as Error).message}`)
    }
    if (typeof body !== 'object' || body === null || Array.isArray(body)) {
      throw new RequestError(400, 'the body is no object of JSON')
    }
    return body as Record<string, unknown>
  }

  /** A file of a run, to be kept. */
  async #file({ response, id }: Asked, which: keyof typeof runFiles, type: string, inline = false): Promise<void> {
    const file = await openKept(this.#runs.folderOf(id).file(which))
    if (!file) throw new RequestError(404, `the run has no ${which} yet`)
    const ending = { records: '.records.jsonl', model: '.model', report: '.html', output: '', errors: '' }[which]
    const name = `${this.#runs.get(id).data.replace(/[^\w.-]+/g, '_')}${ending}`
    await sendFile(response, file, {
      'content-type': type,
      'content-disposition': inline ? 'inline' : `attachment; filename="${name}"`,
    })
  }

  async #report(asked: Asked): Promise<void> {
    const view = asked.url.searchParams.has('view')
    if (view) asked.response.setHeader('content-security-policy', REPORT_POLICY)
    await this.#file(asked, 'report', 'text/html; charset=utf-8', view)
  }

  async #rows({ request, response, url, id }: Asked): Promise<void> {
    const { searchParams } = url
    const [truth, predicted] = [searchParams.get('truth'), searchParams.get('predicted')]
    if (truth === null || predicted === null) throw new RequestError(400, 'truth and predicted say which cell is meant')
    const most = Math.min(MOST_ROWS, Math.max(1, Math.floor(Number(searchParams.get('most') ?? 50)) || 50))
    const line = Number(searchParams.get('line')) || undefined
    // Nothing is said while much data is scored.
    request.socket.setTimeout(SCORING_MILLISECONDS)
    const scored = await kept(this.#scored, id, () => this.#score(id))
    sendJson(response, 200, await scored.cell({ truth, predicted, most, line }))
  }

  async #score(id: string): Promise<Scored> {
    const { data, test } = await this.#runs.paths(this.#runs.get(id))
    const [path, model] = [test ?? data, await this.#model(id)]
    const limits = test === undefined ? MOST_OF_TRAINING : MOST_OF_TEST
    const store = await storeAt(path)
    return store ? ScoredStore.read(store, model, limits) : ScoredData.read(path, model, limits)
  }

  async #explain({ request, response, id }: Asked): Promise<void> {
    const { row } = await this.#body(request)
    if (typeof row !== 'string') throw new RequestError(400, 'row is the text of a row')
    sendJson(response, 200, explainText(await this.#model(id), row))
  }

  #model(id: string): Promise<Model> {
    return kept(this.#models, id, async () => {
      const path = this.#runs.folderOf(id).file('model')
      const file = await openKept(path)
      if (!file) throw new RequestError(409, 'the run has no model yet')
      await file.close()
      return loadModel(path)
    })
  }

  #forget(id: string): void {
    this.#models.delete(id)
    this.#scored.delete(id)
  }
}

/** Kept for those that are asked for most lately. What fails is tried again. */
function kept<T>(all: Map<string, Promise<T>>, id: string, make: () => Promise<T>): Promise<T> {
  const found = all.get(id) ?? make()
  all.delete(id)
  all.set(id, found)
  found.catch(() => all.delete(id))
  if (all.size > MOST_KEPT) all.delete(all.keys().next().value!)
  return found
}

async function sendFile(response: ServerResponse, file: FileHandle, headers: Record<string, string>): Promise<void> {
  const { size } = await file.stat()
  response.writeHead(200, { ...headers, 'content-length': size, 'cache-control': 'no-store' })
  if (size === 0) {
    response.end()
    return file.close()
  }
  // A run at work may append to its records meanwhile.
  const stream = file.createReadStream({ start: 0, end: size - 1 })
  await pipeline(stream, response).catch(() => response.destroy())
}
