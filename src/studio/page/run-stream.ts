// The records of one run as they come: those of the past at once, then live.
import { parseLine, type RunLine } from '../../report/records.ts'
import { type Api, ApiError } from './api.ts'
import type { Run } from './api-types.ts'

export interface RunListener {
  records(): void
  state(run: Run): void
  /** A line that cannot be read, or a server that refuses; an empty text when that is over. */
  failed(message: string): void
}

export class RunStream {
  readonly lines: RunLine[] = []
  readonly #api: Api
  readonly #id: string
  readonly #listener: RunListener
  readonly #signal: AbortSignal
  /** The number of the last line that came. */
  #last = 0
  #following = false

  constructor(api: Api, id: string, listener: RunListener, signal: AbortSignal) {
    this.#api = api
    this.#id = id
    this.#listener = listener
    this.#signal = signal
  }

  /** Follows until the server ends the stream of a run that is over. A run that was resumed is followed anew. */
  follow(goesOn: () => boolean): void {
    if (this.#following) return
    this.#following = true
    void this.#api
      .follow({
        path: `/api/runs/${encodeURIComponent(this.#id)}/events`,
        signal: this.#signal,
        from: this.#last > 0 ? String(this.#last) : undefined,
        again: goesOn,
        opened: () => this.#listener.failed(''),
        tell: ({ event, data, id }) => {
          if (event === 'state') this.#listener.state(JSON.parse(data) as Run)
          if (event === 'record') this.#take(data, Number(id))
          // A run that is begun again leaves its first records behind; the numbers of lines go on.
          if (event === 'restart') this.lines.length = 0
        },
        lost: error => {
          if (error instanceof ApiError && error.kind === 'failed') this.#listener.failed(error.message)
        },
      })
      .finally(() => {
        this.#following = false
      })
  }

  #take(line: string, number: number): void {
    // A line that was told before the connection broke may come again.
    if (number <= this.#last) return
    this.#last = Number.isNaN(number) ? this.#last + 1 : number
    try {
      const [found] = parseLine(line, `line ${this.#last} of the records`)
      if (found) this.lines.push(found)
      this.#listener.records()
    } catch (error) {
      this.#listener.failed(error instanceof Error ? error.message : String(error))
    }
  }
}
