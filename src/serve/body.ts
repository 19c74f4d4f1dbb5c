// The body of a request: whole, or as whole lines while it comes in. Both are bound in memory, and all requests together are too.
import type { IncomingMessage } from 'node:http'
import { formatBytes } from '../numeric/arena.ts'
import type { ByteCount } from '../sizes.ts'
import type { Metrics } from './metrics.ts'
import { RequestError } from './request-error.ts'

const LINE_FEED = 10

/** Bytes that are kept for all requests together. */
export class BodyRoom {
  readonly #most: ByteCount
  #taken = 0

  constructor(most: ByteCount) {
    this.#most = most
  }

  take(bytes: ByteCount): void {
    if (this.#taken + bytes > this.#most) {
      throw new RequestError(503, 'the server has as many requests as its memory allows; try again', {
        'retry-after': '1',
      })
    }
    this.#taken += bytes
  }

  give(bytes: ByteCount): void {
    this.#taken -= bytes
  }
}

export interface BodyLimits {
  /** Of a whole body, or of one line. */
  mostBytes: ByteCount
  room: BodyRoom
  metrics: Pick<Metrics, 'addBytes'>
}

/** The whole body; refused when it is too long, or takes longer than `milliseconds`. By events: an iterator takes several times as
 *  long for a small body. */
export function wholeBody(request: IncomingMessage, limits: BodyLimits, milliseconds: number): Promise<Buffer> {
  const { mostBytes, room, metrics } = limits
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
  const chunks: Buffer[] = []
  let length = 0
  const take = (chunk: Buffer): void => {
    try {
      if (length + chunk.length > mostBytes) throw tooLarge('the body', mostBytes)
      room.take(chunk.length)
      length += chunk.length
      metrics.addBytes(chunk.length)
      chunks.push(chunk)
    } catch (error) {
      leave()
      reject(error)
    }
  }
  const end = (): void => {
    leave()
    resolve(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks, length))
  }
  const fail = (error: Error): void => {
    leave()
    reject(error)
  }
  const late = (): void =>
    fail(new RequestError(408, `the body did not come within ${milliseconds / 1000} s`, { connection: 'close' }))
  const timer = setTimeout(late, milliseconds)
  const leave = (): void => {
    clearTimeout(timer)
    request.off('data', take).off('end', end).off('error', fail)
    // A request that breaks off later says so to nobody.
    request.on('error', () => {})
    room.give(length)
  }
  if (Number(request.headers['content-length'] ?? 0) > mostBytes) fail(tooLarge('the body', mostBytes))
  else request.on('data', take).on('end', end).on('error', fail)
  return promise
}

/** Where the last whole line ends. */
const endOfLines = (text: Uint8Array): number => text.lastIndexOf(LINE_FEED) + 1

/** Whole lines as they come, each piece closed by a line feed: who waits for an answer before the next line gets it. The next
 *  piece is read when it is asked for. `endOfRows` tells where the last whole row ends, where a row may have several lines. */
export async function* wholeLines(
  request: IncomingMessage,
  limits: BodyLimits,
  endOfRows: (text: Buffer) => number = endOfLines,
): AsyncGenerator<Buffer> {
  const { mostBytes, room, metrics } = limits
  let kept: Buffer[] = []
  let length = 0
  try {
    // The request stays as it is when its reader leaves early: it is still to be answered.
    for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      room.take(chunk.length)
      length += chunk.length
      metrics.addBytes(chunk.length)
      kept.push(chunk)
      if (chunk.includes(LINE_FEED)) {
        const text = kept.length === 1 ? chunk : Buffer.concat(kept)
        const end = endOfRows(text)
        kept = [text]
        if (end > 0) {
          yield text.subarray(0, end)
          const rest = length - end
          room.give(end)
          // A copy: the rest alone is kept.
          kept = rest > 0 ? [Buffer.from(text.subarray(end))] : []
          length = rest
          continue
        }
      }
      if (length > mostBytes) throw tooLarge('a line', mostBytes)
    }
    if (length > 0) yield Buffer.concat([...kept, Buffer.from('\n')])
  } finally {
    room.give(length)
  }
}

function tooLarge(what: string, most: ByteCount): RequestError {
  return new RequestError(413, `${what} is longer than ${formatBytes(most)}; send fewer rows at a time, or more lines`)
}
