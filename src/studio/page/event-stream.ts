// Reads server-sent events from the body of a fetch: unlike EventSource it can send the token in a header, and it says why a
// stream ended.

export interface ServerEvent {
  event: string
  data: string
  id: string | undefined
}

/** Takes pieces of text and hands over whole events. */
export class EventParser {
  #rest = ''
  #event = ''
  #data: string[] = []
  #id: string | undefined
  readonly #tell: (event: ServerEvent) => void

  constructor(tell: (event: ServerEvent) => void) {
    this.#tell = tell
  }

  take(piece: string): void {
    const lines = (this.#rest + piece).split('\n')
    this.#rest = lines.pop()!
    for (const line of lines) this.#line(line.endsWith('\r') ? line.slice(0, -1) : line)
  }

  #line(line: string): void {
    if (line === '') {
      if (this.#data.length > 0) {
        this.#tell({ event: this.#event || 'message', data: this.#data.join('\n'), id: this.#id })
      }
      this.#event = ''
      this.#data = []
      return
    }
    const colon = line.indexOf(':')
    const field = colon < 0 ? line : line.slice(0, colon)
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '')
    if (field === 'event') this.#event = value
    else if (field === 'data') this.#data.push(value)
    else if (field === 'id') this.#id = value
  }
}

/** Reads a body to its end. */
export async function readEvents(body: ReadableStream<Uint8Array>, tell: (event: ServerEvent) => void): Promise<void> {
  const parser = new EventParser(tell)
  const reader = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader()
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    parser.take(value)
  }
}
