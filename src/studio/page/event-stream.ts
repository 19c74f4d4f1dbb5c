// Reads server-sent events from the body of a fetch: unlike EventSource it can send the token in a header, and it says why a
// stream ended.
import { EventParser, type ServerEvent } from './event-parser.ts'

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
