// Answers of a server of HTTP: texts, JSON, and refusals, each of which is one sentence.
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { SpillwayError } from '../errors.ts'
import { errorJson, RequestError } from './request-error.ts'

export const MOST_HEADER_BYTES = 16 << 10
/** What a refused request still sends is passed over for so long. */
export const LINGER_MILLISECONDS = 2000

/** The address is taken for a path of this server, whatever it looks like. */
export function urlOf(request: IncomingMessage): URL {
  const path = request.url ?? '/'
  const url = path.startsWith('/') ? URL.parse(`http://localhost${path}`) : null
  if (!url) throw new RequestError(400, 'the address of the request is not one')
  return url
}

export function send(response: ServerResponse, status: number, text: string, type: string): void {
  const bytes = Buffer.from(text)
  response.writeHead(status, { 'content-type': type, 'content-length': bytes.length, 'cache-control': 'no-store' })
  response.end(bytes)
}

export function sendJson(response: ServerResponse, status: number, value: object): void {
  send(response, status, `${JSON.stringify(value)}\n`, 'application/json')
}

/** Answers with what went wrong. `toJson` makes a body of a sentence. */
export function refuse(
  request: IncomingMessage,
  response: ServerResponse,
  error: unknown,
  toJson: (message: string) => string = errorJson,
): void {
  const known = error instanceof RequestError
  if (response.destroyed || request.socket.destroyed) return
  // Some of the answer is on its way: only a broken end tells that the rest is missing.
  if (response.headersSent) {
    response.destroy()
    return
  }
  const message = known
    ? error.message
    : error instanceof SpillwayError
      ? error.message
      : 'this should not have happened'
  for (const [name, value] of Object.entries(known ? error.headers : {})) response.setHeader(name, value)
  send(response, known ? error.status : error instanceof SpillwayError ? 400 : 500, toJson(message), 'application/json')
  if (request.complete) return
  // A connection that is closed while it still sends may lose the answer.
  request.resume()
  const timer = setTimeout(() => request.destroy(), LINGER_MILLISECONDS)
  request.once('close', () => clearTimeout(timer))
}

/** What is no request at all. */
export function refuseRaw(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const [status, message] =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? ['431 Request Header Fields Too Large', `the headers are longer than ${MOST_HEADER_BYTES} bytes`]
      : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? ['408 Request Timeout', 'the head of the request did not come in time']
        : ['400 Bad Request', 'this is not a request of HTTP/1.1']
  const body = errorJson(message)
  socket.end(
    `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  )
}
