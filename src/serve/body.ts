// The body of a request: whole, or as whole lines while it comes in. Both are bound in memory, and all requests together are too.
import type { IncomingMessage } from 'node:http'
import { formatBytes } from '../numeric/arena.ts'
import type { ByteCount } from '../sizes.ts'
import type { Metrics } from './metrics.ts'
import { RequestError } from './request-error.ts'

/** Lines are handed over in pieces of about this size. */
const PIECE_BYTES = 1 << 17
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
  metrics: Metrics
}

/** The whole body; refused when it is too long, or takes longer than `milliseconds`. */
export async function wholeBody(request: IncomingMessage, limits: BodyLimits, milliseconds: number): Promise<Buffer> {
  const { mostBytes, room, metrics } = limits
  if (Number(request.headers['content-length'] ?? 0) > mostBytes) throw tooLarge('the body', mostBytes)
  const chunks: Buffer[] = []
  let length = 0
  const late = timeLimit(milliseconds)
  try {
    const pieces = piecesOf(request)
    for (;;) {
      const { value: chunk, done } = await Promise.race([pieces.next(), late.passed])
      if (done) break
      room.take(chunk.length)
      length += chunk.length
      metrics.addBytes(chunk.length)
      chunks.push(chunk)
      if (length > mostBytes) throw tooLarge('the body', mostBytes)
    }
    return chunks.length === 1 ? chunks[0] : Buffer.concat(chunks, length)
  } finally {
    late.clear()
    room.give(length)
  }
}

/** The request stays as it is when its reader leaves early: it is still to be answered. */
function piecesOf(request: IncomingMessage): AsyncIterator<Buffer> & AsyncIterable<Buffer> {
  return request.iterator({ destroyOnReturn: false }) as AsyncIterator<Buffer> & AsyncIterable<Buffer>
}

function timeLimit(milliseconds: number): { passed: Promise<never>; clear: () => void } {
  const { promise: passed, reject } = Promise.withResolvers<never>()
  const words = `the body did not come within ${milliseconds / 1000} s`
  const timer = setTimeout(() => reject(new RequestError(408, words, { connection: 'close' })), milliseconds)
  return { passed, clear: () => clearTimeout(timer) }
}

/** Whole lines, some at a time, each piece closed by a line feed. The next piece is read when it is asked for. */
export async function* wholeLines(request: IncomingMessage, limits: BodyLimits): AsyncGenerator<Buffer> {
  const { mostBytes, room, metrics } = limits
  let kept: Buffer[] = []
  let length = 0
  try {
    for await (const chunk of piecesOf(request)) {
      room.take(chunk.length)
      length += chunk.length
      metrics.addBytes(chunk.length)
      kept.push(chunk)
      const end = chunk.lastIndexOf(LINE_FEED) + 1
      if (length - (chunk.length - end) >= PIECE_BYTES && end > 0) {
        const rest = chunk.subarray(end)
        kept[kept.length - 1] = chunk.subarray(0, end)
        yield Buffer.concat(kept)
        room.give(length - rest.length)
        kept = rest.length > 0 ? [rest] : []
        length = rest.length
      } else if (end === 0 && length > mostBytes) throw tooLarge('a line', mostBytes)
    }
    if (length > 0) yield Buffer.concat([...kept, Buffer.from('\n')])
  } finally {
    room.give(length)
  }
}

function tooLarge(what: string, most: ByteCount): RequestError {
  return new RequestError(413, `${what} is longer than ${formatBytes(most)}; send fewer rows at a time, or more lines`)
}
