// Server-sent events: what happens is told over a connection that stays open. There are so many of them at most, and a client that
// does not read is not written to.
import type { ServerResponse } from 'node:http'
import { RequestError } from '../serve/request-error.ts'

/** A browser has six connections to a server, and a page holds one or two. */
const MOST_STREAMS = 32
/** A connection on which nothing happens is kept open by an empty line. */
const BEAT_MILLISECONDS = 15_000
/** Bytes that may wait for a client. */
const MOST_WAITING = 4 << 20

export class EventStreams {
  readonly #open = new Set<EventStream>()

  /** Begins a stream, or refuses where there are too many. */
  start(response: ServerResponse): EventStream {
    if (this.#open.size >= MOST_STREAMS) {
      throw new RequestError(503, `there are ${MOST_STREAMS} streams of events open: close a page`, {
        'retry-after': '5',
      })
    }
    const stream = new EventStream(response, () => this.#open.delete(stream))
    this.#open.add(stream)
    return stream
  }

  closeAll(): void {
    for (const stream of this.#open) stream.end()
  }
}

export class EventStream {
  /** Aborted when the stream is over, whoever ended it. */
  readonly signal: AbortSignal
  readonly #response: ServerResponse

  constructor(response: ServerResponse, closed: () => void) {
    this.#response = response
    const controller = new AbortController()
    this.signal = controller.signal
    response.writeHead(200, {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
    })
    response.write(': the studio\n\n')
    const beat = setInterval(() => this.#write(':\n\n'), BEAT_MILLISECONDS)
    response.once('close', () => {
      clearInterval(beat)
      controller.abort()
      closed()
    })
  }

  /** `data` has no line breaks; JSON has none. */
  send(event: string, data: string, id?: number): void {
    this.#write(`${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${data.replace(/[\r\n]/g, ' ')}\n\n`)
  }

  /** Sends several in few packets. */
  together(send: () => void): void {
    this.#response.cork()
    send()
    this.#response.uncork()
  }

  #write(text: string): void {
    const response = this.#response
    if (response.writableEnded || response.destroyed) return
    // Whoever has not read that much will not read the rest; it may ask again, from the last event that it has.
    if (response.writableLength > MOST_WAITING) response.destroy()
    else response.write(text)
  }

  /** Waits until the client has taken what was sent. */
  async drained(): Promise<void> {
    const response = this.#response
    if (!response.writableNeedDrain || response.destroyed) return
    await new Promise<void>(resolve => {
      const go = (): void => {
        response.off('drain', go).off('close', go)
        resolve()
      }
      response.on('drain', go).on('close', go)
    })
  }

  end(): void {
    this.#response.end()
  }
}
