// Who may ask: on the machine itself everybody who means this server, from elsewhere those who have the token.
import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { RequestError } from './request-error.ts'

const LOOPBACK_NAME = /^(localhost|127(\.\d{1,3}){3}|\[::1\]|::1)$/i

/** Whether a server of this host name hears this machine alone. */
export function isLoopback(host: string): boolean {
  return LOOPBACK_NAME.test(host)
}

export interface Access {
  /** Whether the server hears this machine alone. */
  loopback: boolean
  token: string | undefined
}

/** A page of the web may have the browser ask this machine under a name of its own (DNS rebinding): on the loopback only its own
 *  names are answered. */
export function checkHost(request: IncomingMessage, { loopback }: Access): void {
  if (!loopback) return
  const host = (request.headers.host ?? '').replace(/:\d+$/, '')
  if (!isLoopback(host)) throw new RequestError(403, 'this server answers requests to localhost alone')
}

export function checkToken(request: IncomingMessage, { token }: Access): void {
  if (token === undefined) return
  const [, given] = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '') ?? []
  if (given !== undefined && isToken(given, token)) return
  throw new RequestError(401, 'a token is needed: Authorization: Bearer TOKEN', { 'www-authenticate': 'Bearer' })
}

/** Compares digests, whose lengths are the same: the time tells nothing of the token. */
export function isToken(given: string, token: string): boolean {
  return timingSafeEqual(digest(given), digest(token))
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()
