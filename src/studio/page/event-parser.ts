// Cuts text that comes in pieces into server-sent events.

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
