// Decompresses xz data, several streams one after the other among it, and the zeros that may stand between them. The library has
// a decoder in WebAssembly. Its own wrapper lets one file be read at a time, and waits for ever where one is not read to its end:
// here the decoder is driven directly.

/** What the decoder answers. */
const GOES_ON = 0
const STREAM_ENDS = 1
const CHECK_NOT_KNOWN = 2
const REFUSALS: Record<number, string> = {
  5: 'bytes that start no xz stream',
  7: 'its checksums do not agree',
  8: 'unexpected end of file',
}

/** Of files that are whole, and cannot be read here. */
const NOT_READ: Record<number, string> = {
  3: 'there is no memory for its dictionary',
  4: 'its dictionary is larger than 64 MiB',
  6: 'it uses filters or checksums that are not supported',
}

/** Compressed data that may be whole, and cannot be read all the same. */
export class NotDecompressed extends Error {
  readonly advice = 'compress it again as xz does without options, or decompress it first'
}

/** What the library's module has. A context is a record of words: the size of both buffers; where the input is, how far it was read,
 *  how much there is; where the output is, how far it is filled. */
interface XzModule {
  memory: { buffer: ArrayBuffer }
  create_context(): number
  supply_input(context: number, bytes: number): void
  get_next_output(context: number): number
}
const BUFFER_SIZE = 0
const INPUT_AT = 1
const INPUT_READ = 2
const INPUT_SIZE = 3
const OUTPUT_AT = 4
const OUTPUT_FILLED = 5

interface WithModule {
  _getModuleInstance(): Promise<void>
  _moduleInstance: { exports: unknown }
}

/** Decompresses all streams of the input. */
export async function* unxz(input: AsyncIterable<Buffer>): AsyncGenerator<Uint8Array> {
  // It is loaded by those who have such files. It is no ES module: what it exports is the default.
  const loaded = (await import('xz-decompress')) as unknown as { default: { XzReadableStream: WithModule } }
  const library = loaded.default.XzReadableStream
  // A module of its own: its memory goes with it.
  await library._getModuleInstance()
  const decoder = new XzDecoder(library._moduleInstance.exports as XzModule)
  for await (const piece of input) {
    for (let rest: Uint8Array = piece; rest.length > 0; ) {
      rest = rest.subarray(decoder.supply(rest))
      yield* decoder.output()
    }
  }
  // An input without bytes is the end.
  decoder.supply(new Uint8Array(0))
  yield* decoder.output()
  if (!decoder.ended) throw new Error('unexpected end of file')
}

class XzDecoder {
  ended = false
  readonly #module: XzModule
  readonly #context: number

  constructor(module: XzModule) {
    this.#module = module
    this.#context = module.create_context()
    if (this.#context === 0) throw new NotDecompressed(NOT_READ[3])
  }

  /** Gives it as much input as it takes; returns how much that is. */
  supply(bytes: Uint8Array): number {
    const taken = Math.min(bytes.length, this.#word(BUFFER_SIZE))
    new Uint8Array(this.#module.memory.buffer, this.#word(INPUT_AT), taken).set(bytes.subarray(0, taken))
    this.#module.supply_input(this.#context, taken)
    return taken
  }

  /** Decompresses until it needs more input, or ends. */
  *output(): Generator<Uint8Array> {
    for (;;) {
      const answer = this.#module.get_next_output(this.#context)
      if (![GOES_ON, STREAM_ENDS, CHECK_NOT_KNOWN].includes(answer)) {
        if (NOT_READ[answer]) throw new NotDecompressed(NOT_READ[answer])
        throw new Error(REFUSALS[answer] ?? `error ${answer} of the decoder`)
      }
      const filled = this.#word(OUTPUT_FILLED)
      if (filled > 0) yield new Uint8Array(this.#module.memory.buffer, this.#word(OUTPUT_AT), filled).slice()
      this.#words()[OUTPUT_FILLED] = 0
      this.ended = answer === STREAM_ENDS
      const isRead = this.#word(INPUT_READ) === this.#word(INPUT_SIZE)
      if (this.ended || (isRead && filled < this.#word(BUFFER_SIZE))) return
    }
  }

  /** The memory may have grown since. */
  #words(): Uint32Array {
    return new Uint32Array(this.#module.memory.buffer, this.#context, OUTPUT_FILLED + 1)
  }

  #word(place: number): number {
    return this.#words()[place]
  }
}
