// Cuts byte sources into chunks of whole lines, each in a slot of the shared memory where a parser can see it. Where a
// chunk ends depends on the bytes alone, never on timing or threads: everything seeded by chunk stays the same.
import { SpillwayError } from '../errors.ts'
import { type Arena, formatBytes } from '../numeric/arena.ts'
import type { Address, ByteCount } from '../sizes.ts'
import { type ByteSource, openSource } from './byte-source.ts'

export interface LineChunk {
  /** 0, 1, 2, … over all sources. */
  number: number
  /** Which source, and its name. */
  source: number
  name: string
  /** Whether this is the first chunk of its source. */
  first: boolean
  /** Address of the text; its last byte is a line feed. */
  at: Address
  bytes: ByteCount
  /** Gives the slot back. */
  release(): void
}

/** Readable bytes behind the text that a parser may load without looking. */
export const CHUNK_SLACK = 64
/** A longer line is taken for a file that is not text. */
export const LONGEST_LINE = 256 * 1024 * 1024
const LINE_FEED = 10

interface Slot {
  at: Address
  /** Bytes it can hold, slack not counted. A slot that held a long line stays large. */
  capacity: number
}

export class LineChunks {
  /** Bytes taken from disk so far, and in all where that is known. */
  bytesRead = 0
  bytesTotal: number | undefined = 0
  /** Milliseconds spent waiting for the disk, the decompressor, or the pipe. */
  readMilliseconds = 0
  readonly #arena: Arena
  readonly #chunkBytes: ByteCount
  readonly #free: Slot[] = []
  #wake: (() => void) | undefined

  /** `slots` chunks may be out at a time; then reading waits for a release. */
  constructor(arena: Arena, chunkBytes: ByteCount, slots: number) {
    this.#arena = arena
    this.#chunkBytes = chunkBytes
    for (let k = 0; k < slots; k++) this.#free.push(this.#newSlot(chunkBytes))
  }

  #newSlot(capacity: number): Slot {
    return { at: this.#arena.allocate(capacity + CHUNK_SLACK, 'a chunk of text'), capacity }
  }

  /** Makes a slot hold `capacity` bytes, keeping its first `filled`. The room it had is not reused: long lines are rare. */
  #enlarge(slot: Slot, capacity: number, filled: number): void {
    if (slot.capacity >= capacity) return
    const larger = this.#newSlot(capacity)
    this.#arena.bytes(larger.at, filled).set(this.#arena.bytes(slot.at, filled))
    slot.at = larger.at
    slot.capacity = capacity
  }

  async #takeSlot(): Promise<Slot> {
    while (this.#free.length === 0) await new Promise<void>(resolve => (this.#wake = resolve))
    return this.#free.pop()!
  }

  #give(slot: Slot): void {
    this.#free.push(slot)
    this.#wake?.()
    this.#wake = undefined
  }

  async *read(paths: string[]): AsyncGenerator<LineChunk> {
    const sources: ByteSource[] = []
    let number = 0
    try {
      // All are opened first, so that a wrong name is told before any work.
      for (const path of paths) sources.push(await openSource(path))
      this.bytesTotal = sources.reduce<number | undefined>(
        (sum, s) => (sum === undefined || s.size === undefined ? undefined : sum + s.size),
        0,
      )
      for (const [k, source] of sources.entries()) {
        let first = true
        for await (const { slot, bytes } of this.#cut(source)) {
          let held = true
          const release = (): void => {
            if (held) this.#give(slot)
            held = false
          }
          yield { number: number++, source: k, name: source.name, first, at: slot.at, bytes, release }
          first = false
        }
      }
    } finally {
      for (const source of sources) await source.close()
    }
  }

  async *#cut(source: ByteSource): AsyncGenerator<{ slot: Slot; bytes: ByteCount }> {
    let slot = await this.#takeSlot()
    let filled = 0
    let counted = 0
    // How far a slot is filled before it is cut; only a line longer than that raises it, whatever the slot could hold.
    let limit = this.#chunkBytes
    let opening = true
    for (;;) {
      this.#enlarge(slot, limit, filled)
      const start = performance.now()
      filled += await source.read(this.#arena.bytes(slot.at + filled, limit - filled))
      this.readMilliseconds += performance.now() - start
      // A stream reads ahead between two calls, too.
      this.bytesRead += source.consumed - counted
      counted = source.consumed
      if (opening && filled >= 3) blankByteOrderMark(this.#arena.bytes(slot.at, 3))
      opening = false
      if (filled < limit) {
        // The end: a last line without a line feed gets one.
        if (filled > 0 && this.#arena.bytes(slot.at + filled - 1, 1)[0] !== LINE_FEED) {
          this.#arena.bytes(slot.at + filled, 1)[0] = LINE_FEED
          filled++
        }
        if (filled > 0) yield { slot, bytes: filled }
        else this.#give(slot)
        return
      }
      const text = this.#arena.bytes(slot.at, filled)
      const end = Buffer.from(text.buffer, text.byteOffset, filled).lastIndexOf(LINE_FEED) + 1
      if (end === 0) {
        if (limit >= LONGEST_LINE) {
          throw new SpillwayError(
            `${source.name}: a line is longer than ${formatBytes(LONGEST_LINE)}; is this text?`,
            'every row ends with a line feed',
          )
        }
        limit = Math.min(limit * 4, LONGEST_LINE)
        continue
      }
      const next = await this.#takeSlot()
      const carry = filled - end
      limit = this.#chunkBytes
      // The carried piece may itself be longer than a chunk.
      while (limit <= carry) limit *= 4
      this.#enlarge(next, limit, 0)
      this.#arena.bytes(next.at, carry).set(text.subarray(end))
      const full = slot
      slot = next
      filled = carry
      yield { slot: full, bytes: end }
    }
  }
}

/** Some editors open UTF-8 text with a mark; to a parser it is a blank. */
function blankByteOrderMark(head: Uint8Array): void {
  if (head[0] === 0xef && head[1] === 0xbb && head[2] === 0xbf) head.fill(0x20)
}
