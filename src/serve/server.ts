// `serve`: a model behind HTTP. Requests are bound in size, rows, time and memory; every refusal is JSON with one sentence.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { SpillwayError } from '../errors.ts'
import { version } from '../version.ts'
import { type Access, checkHost, checkToken, isLoopback } from './access.ts'
import { BodyRoom } from './body.ts'
import { Metrics } from './metrics.ts'
import { ModelFile } from './model-file.ts'
import { openApi } from './openapi.ts'
import { answerPredict, type PredictLimits } from './predict-route.ts'
import { RequestError } from './request-error.ts'
import { LINGER_MILLISECONDS, MOST_HEADER_BYTES, refuse, refuseRaw, send, sendJson, urlOf } from './respond.ts'

export interface ServeOptions {
  host?: string | undefined
  /** 0 takes one that is free. */
  port?: number | undefined
  token?: string | undefined
  /** Of a body that is read whole, and of one line of a stream. */
  mostBytes?: number | undefined
  /** Of one body that is read whole. */
  mostRows?: number | undefined
  /** For a body to come, and for a connection to say something. */
  seconds?: number | undefined
  /** What the server's owner should know: a model that was read again, or could not be. */
  say?: ((text: string) => void) | undefined
}

export const serveDefaults = { host: '127.0.0.1', port: 8787, mostBytes: 16 << 20, mostRows: 100_000, seconds: 30 }

/** Bodies that are being read take so much together, or room for one. */
const ROOM_BYTES = 256 << 20
const MOST_CONNECTIONS = 4096
/** Requests that are under way when the server is to stop have so long. */
const STOP_MILLISECONDS = 10_000

type Route = (request: IncomingMessage, response: ServerResponse, url: URL) => void | Promise<void>

export class PredictionServer {
  readonly #file: ModelFile
  readonly #http: Server
  readonly #access: Access
  readonly #limits: PredictLimits
  readonly #metrics: Metrics
  #stopping = false

  private constructor(
    file: ModelFile,
    metrics: Metrics,
    options: Required<Omit<ServeOptions, 'say' | 'token'>> & Access,
  ) {
    const { seconds, mostBytes, mostRows, loopback, token } = options
    this.#file = file
    this.#metrics = metrics
    this.#access = { loopback, token }
    const room = new BodyRoom(Math.max(ROOM_BYTES, 2 * mostBytes))
    this.#limits = { mostBytes, mostRows, milliseconds: seconds * 1000, room, metrics }
    this.#http = createServer(
      {
        maxHeaderSize: MOST_HEADER_BYTES,
        headersTimeout: Math.min(10, seconds) * 1000,
        // A stream may take as long as it goes on; what is read whole has a limit of its own.
        requestTimeout: 0,
        connectionsCheckingInterval: 1000,
        keepAliveTimeout: seconds * 1000,
        noDelay: true,
      },
      (request, response) => void this.#answer(request, response),
    )
    this.#http.maxConnections = MOST_CONNECTIONS
    // Later than what is read whole has to be there: that is answered.
    this.#http.setTimeout(seconds * 1000 + LINGER_MILLISECONDS)
    this.#http.on('clientError', refuseRaw)
  }

  /** Reads the model and listens. */
  static async start(path: string, options: ServeOptions = {}): Promise<PredictionServer> {
    const metrics = new Metrics()
    const host = options.host ?? serveDefaults.host
    const file = await ModelFile.open(path, {
      loaded: (_, again) => {
        metrics.loaded()
        if (again) options.say?.('the model has changed and was read again')
      },
      failed: error => {
        metrics.failedToLoad()
        options.say?.(`the model before stays: ${error.message}`)
      },
    })
    const server = new PredictionServer(file, metrics, {
      host,
      port: options.port ?? serveDefaults.port,
      mostBytes: options.mostBytes ?? serveDefaults.mostBytes,
      mostRows: options.mostRows ?? serveDefaults.mostRows,
      seconds: options.seconds ?? serveDefaults.seconds,
      loopback: isLoopback(host),
      token: options.token,
    })
    await server.#listen(host, options.port ?? serveDefaults.port).catch((error: Error) => {
      file.close()
      throw new SpillwayError(`cannot listen on ${host}: ${error.message}`, 'name another --port or --host')
    })
    return server
  }

  #listen(host: string, port: number): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#http.once('error', reject)
      this.#http.listen({ host: host.replace(/^\[|\]$/g, ''), port, backlog: 1024 }, () => {
        this.#http.off('error', reject)
        resolve()
      })
    })
  }

  get url(): string {
    const { address, family, port } = this.#http.address() as AddressInfo
    return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`
  }

  get model(): ModelFile['served']['model'] {
    return this.#file.served.model
  }

  /** Takes no more requests, and waits for those that are under way. */
  async stop(): Promise<void> {
    this.#stopping = true
    this.#file.close()
    const closed = new Promise<void>(resolve => this.#http.close(() => resolve()))
    this.#http.closeIdleConnections()
    const timer = setTimeout(() => this.#http.closeAllConnections(), STOP_MILLISECONDS)
    await closed
    clearTimeout(timer)
  }

  readonly #routes: Record<string, { method: string; open?: boolean; run: Route }> = {
    '/predict': { method: 'POST', run: (request, response, url) => this.#predict(request, response, url) },
    '/health': { method: 'GET', open: true, run: (_, response) => this.#health(response) },
    '/metrics': {
      method: 'GET',
      run: (_, response) => {
        send(response, 200, this.#metrics.text(this.#file.served.loadedAt), 'text/plain; version=0.0.4; charset=utf-8')
      },
    },
    '/openapi.json': {
      method: 'GET',
      run: (_, response) => {
        sendJson(response, 200, openApi(this.#file.served, this.#access.token !== undefined))
      },
    },
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const started = performance.now()
    const metrics = this.#metrics
    metrics.inFlight++
    let path = 'other'
    response.once('close', () => {
      metrics.inFlight--
      metrics.answered(path, response.statusCode, (performance.now() - started) / 1000)
      // A connection that waits for its next request would hold up the end.
      if (this.#stopping) setImmediate(() => this.#http.closeIdleConnections())
    })
    try {
      if (this.#stopping) response.setHeader('connection', 'close')
      checkHost(request, this.#access)
      const url = urlOf(request)
      const route = Object.hasOwn(this.#routes, url.pathname) ? this.#routes[url.pathname] : undefined
      if (!route) {
        throw new RequestError(404, `there is no such place; there are ${Object.keys(this.#routes).join(', ')}`)
      }
      path = url.pathname
      if (!route.open) checkToken(request, this.#access)
      if (request.method !== route.method && !(request.method === 'HEAD' && route.method === 'GET')) {
        throw new RequestError(405, `${path} takes ${route.method} requests`, { allow: route.method })
      }
      await route.run(request, response, url)
    } catch (error) {
      refuse(request, response, error)
    }
  }

  async #predict(request: IncomingMessage, response: ServerResponse, url: URL): Promise<void> {
    using model = this.#file.use()
    await answerPredict({ request, response, url, served: model.served, limits: this.#limits })
  }

  #health(response: ServerResponse): void {
    const { model, loadedAt } = this.#file.served
    const { trouble } = this.#file
    sendJson(response, this.#stopping ? 503 : 200, {
      status: this.#stopping ? 'stopping' : 'ok',
      version,
      model: {
        labels: model.labels.map(({ text }) => text),
        features: model.features,
        loss: model.loss,
        createdBy: model.createdBy,
        loadedAt: loadedAt.toISOString(),
      },
      // What went wrong may name a path: the owner of the server is told on its standard error.
      ...(trouble !== undefined && { warning: 'the file of the model has changed and could not be read' }),
    })
  }
}
