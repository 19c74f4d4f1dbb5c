// Slots of the shared memory that chunks are read into, where parsers see them. There are a few: reading waits while all are
// out, which bounds the memory and keeps reader and parsers in step.
import type { Arena } from '../numeric/arena.ts'

/** Readable bytes behind a chunk that a parser may load without looking. */
export const CHUNK_SLACK = 64

export interface Slot {
  at: number
  /** Bytes it can hold, slack not counted. A slot that held a long chunk stays large. */
  capacity: number
}

export class ChunkSlots {
  readonly arena: Arena
  readonly #free: Slot[] = []
  #made = 0
  #wake: (() => void) | undefined

  constructor(arena: Arena) {
    this.arena = arena
  }

  /** Makes slots until there are so many. Those that it makes hold so many bytes. */
  prepare(slots: number, bytes: number): void {
    for (; this.#made < slots; this.#made++) this.#free.push(this.#newSlot(bytes))
  }

  #newSlot(capacity: number): Slot {
    return { at: this.arena.allocate(capacity + CHUNK_SLACK, 'a chunk of data'), capacity }
  }

  async take(): Promise<Slot> {
    while (this.#free.length === 0) await new Promise<void>(resolve => (this.#wake = resolve))
    return this.#free.pop()!
  }

  give(slot: Slot): void {
    this.#free.push(slot)
    this.#wake?.()
    this.#wake = undefined
  }

  /** Makes a slot hold `capacity` bytes, keeping its first `filled`. The room it had is not reused: long chunks are rare. */
  enlarge(slot: Slot, capacity: number, filled: number): void {
    if (slot.capacity >= capacity) return
    const larger = this.#newSlot(capacity)
    this.arena.bytes(larger.at, filled).set(this.arena.bytes(slot.at, filled))
    slot.at = larger.at
    slot.capacity = capacity
  }
}
