// Messages in Protocol Buffers' wire format, as far as model files need it: numbers, texts, bytes and messages inside of
// messages. A long field is not held in memory: its length is known before its bytes are made.

/** Bytes that are made when they are written. */
interface LaterBytes {
  length: number
  chunks: () => Iterable<Uint8Array>
}

const VARINT = 0
const LENGTH_DELIMITED = 2
const encoder = new TextEncoder()

export class Message {
  readonly #parts: (Uint8Array | LaterBytes)[] = []
  /** Bytes of the message. */
  length = 0

  #add(part: Uint8Array | LaterBytes): this {
    this.#parts.push(part)
    this.length += part.length
    return this
  }

  /** A whole number from 0 to 2^53. */
  number(field: number, value: number): this {
    return this.#add(Uint8Array.from([...varint(field * 8 + VARINT), ...varint(value)]))
  }

  bytes(field: number, value: Uint8Array): this {
    return this.#header(field, value.length).#add(value)
  }

  text(field: number, value: string): this {
    return this.bytes(field, encoder.encode(value))
  }

  message(field: number, value: Message): this {
    this.#header(field, value.length)
    for (const part of value.#parts) this.#add(part)
    return this
  }

  /** `chunks` has to make as many bytes as it was said to have. */
  later(field: number, length: number, chunks: () => Iterable<Uint8Array>): this {
    return this.#header(field, length).#add({ length, chunks })
  }

  #header(field: number, length: number): this {
    return this.#add(Uint8Array.from([...varint(field * 8 + LENGTH_DELIMITED), ...varint(length)]))
  }

  /** The message's bytes, piece by piece. Small parts go together. */
  *chunks(): Generator<Uint8Array> {
    let small: Uint8Array[] = []
    for (const part of this.#parts) {
      if (part instanceof Uint8Array) {
        small.push(part)
        continue
      }
      yield together(small)
      small = []
      yield* part.chunks()
    }
    yield together(small)
  }
}

/** Seven bits a byte, the lowest first; the highest bit says that more follow. */
function varint(value: number): number[] {
  const bytes: number[] = []
  let rest = value
  // The language's own operators on bits know 32 of them.
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128)
  return [...bytes, rest]
}

function together(parts: Uint8Array[]): Uint8Array {
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0))
  let at = 0
  for (const part of parts) {
    all.set(part, at)
    at += part.length
  }
  return all
}
