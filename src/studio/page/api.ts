// Asks the studio's server: every request carries the token, and every failure is one sentence.
import type { CellRows, Choices, ExplainedRow, Folder, Plan, Run, RunOptions, Summary } from './api-types.ts'
import type { ServerEvent } from './event-parser.ts'
import { readEvents } from './event-stream.ts'

/** `refused` means that the token is wrong, `gone` that no server answers. */
export class ApiError extends Error {
  readonly kind: 'refused' | 'gone' | 'failed'

  constructor(message: string, kind: ApiError['kind']) {
    super(message)
    this.kind = kind
  }
}

const KEY = 'spillway-studio-token'
const FIRST_WAIT = 400
const LONGEST_WAIT = 4000

/** The token of the address, which then leaves it; or that of this tab. */
export function takeToken(): string {
  const address = new URL(location.href)
  const given = address.searchParams.get('token')
  if (given !== null) {
    sessionStorage.setItem(KEY, given)
    address.searchParams.delete('token')
    history.replaceState(null, '', address)
  }
  return given ?? sessionStorage.getItem(KEY) ?? ''
}

export interface Following {
  /** The path of the events. */
  path: string
  signal: AbortSignal
  /** The id of the last event that is known already. */
  from?: string | undefined
  tell(event: ServerEvent): void
  /** Whether a stream that the server has ended is opened again; it is, when this is not said. */
  again?(): boolean
  /** Called each time that the server has answered. */
  opened?(): void
  /** Called when the server is not there, before the next try. */
  lost?(error: ApiError): void
}

export class Api {
  readonly #token: string

  constructor(token: string) {
    this.#token = token
  }

  /** An address for a link, which cannot send a header. */
  link(path: string): string {
    return `${path}${path.includes('?') ? '&' : '?'}token=${encodeURIComponent(this.#token)}`
  }

  folder = (): Promise<Folder> => this.#json('/api/folder')
  choices = (): Promise<Choices> => this.#json('/api/choices')
  summary = (file: string, label: string | undefined, signal: AbortSignal): Promise<Summary> =>
    this.#json(`/api/summary?${new URLSearchParams({ file, ...(label && { label }) })}`, { signal })
  plan = (data: string, options: RunOptions, signal: AbortSignal): Promise<Plan> =>
    this.#json('/api/plan', { body: { data, options }, signal })

  runs = async (): Promise<Run[]> => (await this.#json<{ runs: Run[] }>('/api/runs')).runs
  start = (data: string, options: RunOptions, name?: string): Promise<Run> =>
    this.#json('/api/runs', { body: { data, options, ...(name && { name }) } })
  stop = (id: string): Promise<Run> => this.#json(`${ofRun(id)}/stop`, { method: 'POST' })
  resume = (id: string): Promise<Run> => this.#json(`${ofRun(id)}/resume`, { method: 'POST' })
  remove = async (id: string): Promise<void> => void (await this.#ask(ofRun(id), { method: 'DELETE' }))
  /** The first rows of a cell, cut where they are long; or one of them, whole. */
  rows = (id: string, { truth, predicted, line }: AskedRows, signal: AbortSignal): Promise<CellRows> => {
    const which: Record<string, string> = line === undefined ? { most: '50' } : { line: String(line) }
    return this.#json(`${ofRun(id)}/rows?${new URLSearchParams({ truth, predicted, ...which })}`, { signal })
  }
  explain = (id: string, row: string): Promise<ExplainedRow> => this.#json(`${ofRun(id)}/explain`, { body: { row } })
  records = async (id: string, signal: AbortSignal): Promise<string> =>
    (await this.#ask(`${ofRun(id)}/records`, { signal })).text()

  /** Reads events until the signal says stop. A stream that ends is opened again after the last event that came. */
  async follow({ path, signal, from, tell, again = () => true, opened, lost }: Following): Promise<void> {
    let last = from
    let wait = FIRST_WAIT
    while (!signal.aborted) {
      try {
        const headers: Record<string, string> = last === undefined ? {} : { 'last-event-id': last }
        const response = await this.#ask(path, { signal, headers })
        wait = FIRST_WAIT
        opened?.()
        await readEvents(response.body!, event => {
          last = event.id ?? last
          if (!signal.aborted) tell(event)
        })
        if (!again()) return
      } catch (error) {
        if (signal.aborted) return
        const reason = error instanceof ApiError ? error : new ApiError('The server has gone.', 'gone')
        lost?.(reason)
        if (reason.kind === 'refused') return
      }
      await pause(wait, signal)
      wait = Math.min(LONGEST_WAIT, wait * 2)
    }
  }

  async #json<T>(path: string, request: Request = {}): Promise<T> {
    return (await this.#ask(path, request)).json() as Promise<T>
  }

  async #ask(path: string, { method, body, signal, headers = {} }: Request = {}): Promise<Response> {
    let response: Response
    try {
      response = await fetch(path, {
        method: method ?? (body === undefined ? 'GET' : 'POST'),
        headers: {
          ...headers,
          authorization: `Bearer ${this.#token}`,
          ...(body !== undefined && { 'content-type': 'application/json' }),
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
        ...(signal && { signal }),
      })
    } catch (error) {
      if (signal?.aborted) throw error
      throw new ApiError('The studio does not answer. Is `spillway studio` still running?', 'gone')
    }
    if (response.ok) return response
    const refused = response.status === 401 || response.status === 403
    throw new ApiError(await messageOf(response), refused ? 'refused' : 'failed')
  }
}

interface AskedRows {
  truth: string
  predicted: string
  line?: number
}

interface Request {
  method?: string
  body?: unknown
  signal?: AbortSignal
  headers?: Record<string, string>
}

const ofRun = (id: string): string => `/api/runs/${encodeURIComponent(id)}`

async function messageOf(response: Response): Promise<string> {
  try {
    const { error } = (await response.json()) as { error: { message: string } | string }
    return typeof error === 'string' ? error : error.message
  } catch {
    return `The studio answered with status ${response.status}.`
  }
}

/** Waits, or less when the signal says stop or the browser says that it is online again. */
function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const over = new AbortController()
  const timer = setTimeout(resolve, milliseconds)
  signal.addEventListener('abort', () => resolve(), { signal: over.signal })
  window.addEventListener('online', () => resolve(), { signal: over.signal })
  return promise.finally(() => {
    clearTimeout(timer)
    over.abort()
  })
}
