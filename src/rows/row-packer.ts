// Buffers around numeric/assembly/pack.ts: batches in, row records in the arena out, one thread's own.
import type { Arena } from '../numeric/arena.ts'
import {
  PACK_BINS,
  PACK_BYTES,
  PACK_CLASSES,
  PACK_END,
  PACK_FIXED,
  PACK_HASH,
  PACK_HASH_SLOTS,
  PACK_NEXT,
  PACK_PLAIN,
  PACK_ROWS,
  PACK_TABLE,
  PACK_UNIT,
  PACK_WRITTEN,
} from '../numeric/layouts.ts'

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
  readonly #state: number
  #load = -1
  #tableRoom = 0
  #table = 0

  constructor(arena: Arena) {
    this.#arena = arena
    this.#state = arena.allocateZeroed(PACK_BYTES, 'the packer')
    arena.setU32(this.#state + PACK_HASH, arena.allocateZeroed(PACK_HASH_SLOTS * 8, 'the packer'))
  }

  /** Begins a chunk. */
  start(settings: PackSettings): void {
    const state = this.#state
    this.#arena.setU32(state + PACK_UNIT, settings.unit ? 1 : 0)
    this.#arena.setU32(state + PACK_PLAIN, settings.plain ? 1 : 0)
    this.#arena.setU32(state + PACK_BINS, settings.bins ?? 0)
    this.#arena.setU32(state + PACK_ROWS, 0)
    this.#arena.setU32(state + PACK_WRITTEN, 0)
    if (settings.load !== this.#load) this.#arena.setU32(state + PACK_NEXT, 0)
    this.#load = settings.load
  }

  /** Begins a block: rows go into a room of their own, and their addresses into a table of their own. */
  startRoom(
    settings: Omit<PackSettings, 'load'>,
    room: { at: number; bytes: number },
    table: number,
    rows: number,
  ): void {
    const state = this.#state
    this.start({ ...settings, load: -1 })
    this.#arena.setU32(state + PACK_FIXED, 1)
    if (!settings.plain) this.#arena.setU32(state + PACK_PLAIN, 2)
    this.#arena.setU32(state + PACK_NEXT, room.at)
    this.#arena.setU32(state + PACK_END, room.at + room.bytes)
    this.#arena.setU32(state + PACK_TABLE, table)
    this.#table = table
    this.#tableRoom = rows
  }

  /** Packs one batch, with class numbers at an address; false when the window is full. */
  pack(batch: number, rows: number, classes: number): boolean {
    const arena = this.#arena
    const done = arena.getU32(this.#state + PACK_ROWS)
    if (done + rows > this.#tableRoom) {
      const room = (done + rows) * 2
      const table = arena.allocate(room * 4, 'the row table')
      arena.u32(table, done).set(arena.u32(this.#table || table, done))
      this.#table = table
      this.#tableRoom = room
      arena.setU32(this.#state + PACK_TABLE, table)
    }
    arena.setU32(this.#state + PACK_CLASSES, classes)
    return arena.numeric.packBatch(this.#state, batch) !== 0
  }

  /** Addresses of the chunk's rows: a copy of its own. */
  table(): Uint32Array {
    return this.#arena.u32(this.#table, this.#arena.getU32(this.#state + PACK_ROWS)).slice()
  }

  /** Rows packed so far. */
  get rows(): number {
    return this.#arena.getU32(this.#state + PACK_ROWS)
  }

  get written(): number {
    return this.#arena.getU32(this.#state + PACK_WRITTEN)
  }
}
