// `studio`: a page on this machine to look at data, to train and to watch. Only this machine is heard, and only those who have the
// token: whoever asks can read the folder and start runs.
import { randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { SpillwayError } from '../errors.ts'
import { takeLock } from '../files/lock-file.ts'
import { checkHost, isToken } from '../serve/access.ts'
import { BodyRoom } from '../serve/body.ts'
import { RequestError } from '../serve/request-error.ts'
import { MOST_HEADER_BYTES, refuse, refuseRaw, urlOf } from '../serve/respond.ts'
import { type AssetName, Assets } from './assets.ts'
import { EventStreams } from './event-stream.ts'
import { StudioFolder, WORK_FOLDER } from './folder.ts'
import { type Route, Routes } from './routes.ts'
import { Runs, type RunsOptions } from './runs.ts'

export interface StudioOptions extends RunsOptions {
  /** 0 takes one that is free. */
  port?: number | undefined
  /** One is made when it is not given. */
  token?: string | undefined
}

export const studioPort = 8788

const HOST = '127.0.0.1'
const MOST_BODY = 1 << 20
const ROOM_BYTES = 16 << 20
const MOST_CONNECTIONS = 256
const HEAD_MILLISECONDS = 10_000
const SILENCE_MILLISECONDS = 60_000

const ASSETS: Record<string, AssetName> = {
  '/': 'studio.html',
  '/studio.js': 'studio.js',
  '/studio.css': 'studio.css',
}

/** The page takes nothing from anywhere else, and nobody shows it inside another. */
const HEADERS: Record<string, string> = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'x-frame-options': 'DENY',
  'cross-origin-resource-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
}

/** As the page reads it. */
const errorBody = (message: string): string => `${JSON.stringify({ error: { message } })}\n`

export class StudioServer {
  readonly token: string
  readonly folder: StudioFolder
  readonly #http: Server
  readonly #runs: Runs
  readonly #routes: Routes
  readonly #streams = new EventStreams()
  readonly #assets = new Assets()
  readonly #unlock: () => Promise<void>
  #stopping = false

  private constructor(folder: StudioFolder, runs: Runs, token: string, unlock: () => Promise<void>) {
    this.folder = folder
    this.token = token
    this.#runs = runs
    this.#unlock = unlock
    const limits = { mostBytes: MOST_BODY, room: new BodyRoom(ROOM_BYTES), metrics: { addBytes() {} } }
    this.#routes = new Routes({ folder, runs, streams: this.#streams, limits })
    this.#http = createServer(
      {
        ...{
          maxHeaderSize: MOST_HEADER_BYTES,
          headersTimeout: HEAD_MILLISECONDS,
          requestTimeout: SILENCE_MILLISECONDS,
        },
        ...{ connectionsCheckingInterval: 1000, keepAliveTimeout: HEAD_MILLISECONDS },
      },
      (request, response) => void this.#answer(request, response),
    )
    this.#http.maxConnections = MOST_CONNECTIONS
    this.#http.setTimeout(SILENCE_MILLISECONDS)
    this.#http.on('clientError', refuseRaw)
  }

  /** Reads the runs of the folder, and listens. */
  static async start(path: string, options: StudioOptions): Promise<StudioServer> {
    const folder = await StudioFolder.open(path)
    await folder.runsFolder()
    const unlock = await takeLock(join(folder.path, WORK_FOLDER, 'studio.lock'), owner => {
      return new SpillwayError(
        `a studio is at work in ${folder.path} already: process ${owner}`,
        'use the page that it opened, or end it first',
      )
    })
    try {
      const runs = await Runs.open(folder, options)
      const token = options.token ?? randomBytes(24).toString('base64url')
      const server = new StudioServer(folder, runs, token, unlock)
      await server.#listen(options.port ?? studioPort)
      return server
    } catch (error) {
      await unlock()
      throw error
    }
  }

  #listen(port: number): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#http.once('error', error => {
        reject(
          new SpillwayError(
            `cannot listen on port ${port}: ${error.message}`,
            'name another --port; 0 takes a free one',
          ),
        )
      })
      this.#http.listen({ host: HOST, port }, () => resolve())
    })
  }

  get origin(): string {
    return `http://${HOST}:${(this.#http.address() as AddressInfo).port}`
  }

  /** Where the page is, with the token. */
  get url(): string {
    return `${this.origin}/?token=${this.token}`
  }

  /** Ends the run at work with a checkpoint, and the server. */
  async stop(): Promise<void> {
    this.#stopping = true
    await this.#runs.close()
    this.#streams.closeAll()
    const closed = new Promise<void>(resolve => this.#http.close(() => resolve()))
    this.#http.closeAllConnections()
    await closed
    await this.#unlock()
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      for (const [name, value] of Object.entries(HEADERS)) response.setHeader(name, value)
      checkHost(request, { loopback: true, token: undefined })
      this.#checkPort(request)
      const url = urlOf(request)
      if (Object.hasOwn(ASSETS, url.pathname)) return await this.#asset(request, response, ASSETS[url.pathname])
      this.#checkOrigin(request)
      this.#checkToken(request, url)
      if (this.#stopping) throw new RequestError(503, 'the studio is about to end')
      const { route, id } = this.#find(request, url)
      await route.run({ request, response, url, id })
    } catch (error) {
      refuse(request, response, worded(error), errorBody)
    }
  }

  async #asset(request: IncomingMessage, response: ServerResponse, name: AssetName): Promise<void> {
    if (request.method !== 'GET' && request.method !== 'HEAD') throw wrongMethod('GET')
    const { type, bytes } = await this.#assets.get(name)
    response.writeHead(200, { 'content-type': type, 'content-length': bytes.length, 'cache-control': 'no-store' })
    response.end(request.method === 'HEAD' ? undefined : bytes)
  }

  /** A name with another port is that of another server: a page of that one may have had the browser ask. */
  #checkPort(request: IncomingMessage): void {
    const [, port = '80'] = /:(\d+)$/.exec(request.headers.host ?? '') ?? []
    if (Number(port) === (this.#http.address() as AddressInfo).port) return
    throw new RequestError(403, 'the request names another server than this one')
  }

  /** Browsers say which page has a request made: only the studio's own may. */
  #checkOrigin(request: IncomingMessage): void {
    const { origin, host } = request.headers
    if (origin !== undefined && origin !== `http://${host}`) {
      throw new RequestError(403, 'only the page of the studio itself may ask')
    }
    const site = request.headers['sec-fetch-site']
    if (site !== undefined && site !== 'same-origin' && site !== 'none') {
      throw new RequestError(403, 'only the page of the studio itself may ask')
    }
  }

  #checkToken(request: IncomingMessage, url: URL): void {
    const [, bearer] = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '') ?? []
    const given = bearer ?? url.searchParams.get('token') ?? ''
    if (isToken(given, this.token)) return
    throw new RequestError(401, 'the token is missing or wrong: open the address that spillway studio printed', {
      'www-authenticate': 'Bearer',
    })
  }

  #find({ method }: IncomingMessage, { pathname }: URL): { route: Route; id: string } {
    const [, id = '', rest = ''] = /^\/api\/runs\/([^/]+)(.*)$/.exec(pathname) ?? []
    const path = id === '' ? pathname : `/api/runs/ID${rest}`
    const routes = this.#routes.all.filter(route => route.path === path)
    if (routes.length === 0) throw new RequestError(404, 'there is nothing at this address')
    const route = routes.find(each => each.method === method)
    if (!route) throw wrongMethod(routes.map(each => each.method).join(', '))
    return { route, id }
  }
}

function wrongMethod(allowed: string): RequestError {
  return new RequestError(405, `this address takes ${allowed}`, { allow: allowed })
}

/** What the program refuses is one sentence, with what to do about it. */
function worded(error: unknown): unknown {
  if (!(error instanceof SpillwayError) || !error.advice) return error
  return new RequestError(400, `${error.message}; ${error.advice}`)
}
