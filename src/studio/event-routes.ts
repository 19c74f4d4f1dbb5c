// The two streams of events: all runs as they change, and the records of one run, those that are there and those that come.
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { EventStream, EventStreams } from './event-stream.ts'
import { RecordReader } from './records.ts'
import { isActive, type Runs } from './runs.ts'

/** GET /api/events: every run, and then each that changes. */
export function streamRuns(response: ServerResponse, streams: EventStreams, runs: Runs): void {
  const stream = streams.start(response)
  for (const run of runs.list()) stream.send('run', JSON.stringify(run))
  const leave = runs.listen(event => {
    if (event.kind === 'run') stream.send('run', JSON.stringify(event.run))
    if (event.kind === 'removed') stream.send('removed', JSON.stringify({ id: event.id }))
  })
  stream.signal.addEventListener('abort', leave, { once: true })
}

/** GET /api/runs/ID/events: the records behind the last one that the client has, and the state; it ends when the run is over. */
export async function streamRecords(
  request: IncomingMessage,
  response: ServerResponse,
  streams: EventStreams,
  { runs, id }: { runs: Runs; id: string },
): Promise<void> {
  runs.get(id)
  const given = Number(request.headers['last-event-id'])
  const known = Number.isSafeInteger(given) && given > 0 ? given : 0
  const stream = streams.start(response)
  if (known > 0 && known <= runs.recordsBefore(id)) stream.send('restart', '{}')
  const news = new News()
  const leave = runs.listen(event => {
    const about = event.kind === 'run' ? event.run.id : event.id
    if (about === id) news.tell()
  })
  stream.signal.addEventListener('abort', () => news.tell(), { once: true })
  try {
    await follow(stream, news, { runs, id, known })
  } finally {
    leave()
    stream.end()
  }
}

async function follow(
  stream: EventStream,
  news: News,
  { runs, id, known }: { runs: Runs; id: string; known: number },
): Promise<void> {
  const records = runs.folderOf(id).file('records')
  let before = runs.recordsBefore(id)
  let reader = new RecordReader(records, before)
  let state = runs.get(id).state
  stream.send('state', JSON.stringify(runs.get(id)))
  for (;;) {
    // What happens from here on is looked at again.
    const more = news.next()
    const run = runs.list().find(each => each.id === id)
    if (!run || stream.signal.aborted) return
    const over = !isActive(run)
    // A run that waits to be begun again still has the records of before.
    if (runs.recordsBefore(id) !== before) {
      before = runs.recordsBefore(id)
      reader = new RecordReader(records, before)
      stream.send('restart', '{}')
    }
    for await (const lines of reader.read()) {
      stream.together(() => {
        for (const { number, text } of lines) if (number > known) stream.send('record', text, number)
      })
      await stream.drained()
      if (stream.signal.aborted) return
    }
    // The last state follows the last record.
    if (run.state !== state || over) stream.send('state', JSON.stringify(run))
    state = run.state
    if (over) return
    await more
  }
}

/** Something to wait for that happens again and again. */
class News {
  #tell: () => void = () => {}
  #next: Promise<void>

  constructor() {
    this.#next = this.#renew()
  }

  #renew(): Promise<void> {
    return new Promise(resolve => {
      this.#tell = resolve
    })
  }

  tell(): void {
    this.#tell()
    this.#next = this.#renew()
  }

  /** When something happens after now. */
  next(): Promise<void> {
    return this.#next
  }
}
