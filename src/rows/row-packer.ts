// Buffers around numeric/assembly/pack.ts: batches in, row records in the arena out, one thread's own.
import type { Arena } from '../numeric/arena.ts'
import { PackFields } from '../numeric/fields/pack.ts'
import { PACK_BYTES, PACK_HASH_SLOTS } from '../numeric/layouts.ts'
import type { Address, ByteCount } from '../sizes.ts'

export interface PackSettings {
  /** Make every row unit length. */
  unit: boolean
  /** Keep every row as indices and values, because scaling will change the values. */
  plain: boolean
  /** Make bin numbers of values, which lie in [0, 1]: of so many bins, 0 for none. */
  bins?: number
  /** Changes with every load: extents of an earlier load must not be written into. */
  load: number
}

export class RowPacker {
  readonly #arena: Arena
  readonly #state: PackFields
  #load = -1
  #tableRoom = 0
  #table = 0

  constructor(arena: Arena) {
    this.#arena = arena
    this.#state = new PackFields(arena, arena.allocateZeroed(PACK_BYTES, 'the packer'))
    this.#state.hash = arena.allocateZeroed(PACK_HASH_SLOTS * 8, 'the packer')
  }

  /** Begins a chunk. */
  start(settings: PackSettings): void {
    const state = this.#state
    state.unit = settings.unit ? 1 : 0
    state.plain = settings.plain ? 1 : 0
    state.bins = settings.bins ?? 0
    state.rows = 0
    state.written = 0
    if (settings.load !== this.#load) state.next = 0
    this.#load = settings.load
  }

  /** Begins a block: rows go into a room of their own, and their addresses into a table of their own. */
  startRoom(
    settings: Omit<PackSettings, 'load'>,
    room: { at: Address; bytes: ByteCount },
    table: Address,
    rows: number,
  ): void {
    const state = this.#state
    this.start({ ...settings, load: -1 })
    state.fixed = 1
    if (!settings.plain) state.plain = 2
    state.next = room.at
    state.end = room.at + room.bytes
    state.table = table
    this.#table = table
    this.#tableRoom = rows
  }

  /** Packs one batch, with class numbers at an address; false when the window is full. */
  pack(batch: Address, rows: number, classes: Address): boolean {
    const arena = this.#arena
    const done = this.#state.rows
    if (done + rows > this.#tableRoom) {
      const room = (done + rows) * 2
      const table = arena.allocate(room * 4, 'the row table')
      arena.u32(table, done).set(arena.u32(this.#table || table, done))
      this.#table = table
      this.#tableRoom = room
      this.#state.table = table
    }
    this.#state.classes = classes
    return arena.numeric.packBatch(this.#state.at, batch) !== 0
  }

  /** Addresses of the chunk's rows: a copy of its own. */
  table(): Uint32Array {
    return this.#arena.u32(this.#table, this.#state.rows).slice()
  }

  /** Rows packed so far. */
  get rows(): number {
    return this.#state.rows
  }

  get written(): ByteCount {
    return this.#state.written
  }
}
