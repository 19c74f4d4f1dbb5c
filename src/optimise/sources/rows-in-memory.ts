// All rows in memory: a source of one group, which is always there.
import type { Arena } from '../../numeric/arena.ts'
import { PROBLEM_BYTES, SWEEP_BYTES } from '../../numeric/layouts.ts'
import type { Address, ByteCount } from '../../sizes.ts'
import type { ThreadPool } from '../../threads/pool.ts'
import type { RowCounts, RowGroup, RowSource } from './row-source.ts'

type RowTable = Pick<RowGroup, 'table' | 'rows' | 'nonzeros' | 'rowWeights'>

/** All rows as one group, with room to work on them. */
export function wholeGroup(arena: Arena, { table, rows, nonzeros, rowWeights }: RowTable): RowGroup {
  return {
    ...{ group: 0, rows, nonzeros, table, rowWeights, whole: true, alpha: 0, packedBytes: 0 },
    parts: [{ block: 0, rows, firstRow: 0 }],
    order: arena.allocate(Math.max(rows, 1) * 4, 'the order of the rows'),
    problem: arena.allocateZeroed(PROBLEM_BYTES, 'the problem'),
    sweep: arena.allocateZeroed(SWEEP_BYTES, 'the sweep'),
  }
}

/** What any plan has room for: few rows are trained the same way whatever the memory is. */
const SMALL_ROOM = 1 << 20

export class RowsInMemory implements RowSource {
  readonly arena: Arena
  readonly threads: ThreadPool
  readonly rows: number
  readonly nonzeros: number
  readonly all: RowCounts
  readonly blockBytes = [0]
  readonly counts = { blocksRead: 0, bytesRead: 0, bytesSkipped: 0 }
  readonly #group: RowGroup
  readonly #rooms = new Map<string, { at: Address; bytes: ByteCount }>()
  readonly #most: ByteCount

  /** `all`: of all ranks; these rows when not said. `most`: bytes that the arena may have for rooms that can be done without. */
  constructor(arena: Arena, threads: ThreadPool, rows: RowTable, all: RowCounts = rows, most: ByteCount = 0) {
    this.arena = arena
    this.threads = threads
    this.rows = rows.rows
    this.nonzeros = rows.nonzeros
    this.all = { rows: all.rows, nonzeros: all.nonzeros }
    this.#group = wholeGroup(arena, rows)
    this.#most = most
  }

  room(name: string, bytes: ByteCount, zeroed = true): Address {
    const known = this.#rooms.get(name)
    // A method that goes on after another one may want more under the same name.
    const room = known && known.bytes >= bytes ? known : { at: this.arena.allocate(bytes, name), bytes }
    this.#rooms.set(name, room)
    if (zeroed) this.arena.bytes(room.at, bytes).fill(0)
    return room.at
  }

  spare(name: string, bytes: ByteCount): Address | undefined {
    const known = this.#rooms.get(name)
    if (known && known.bytes >= bytes) return known.at
    return bytes <= SMALL_ROOM || this.arena.mark() + bytes <= this.#most ? this.room(name, bytes) : undefined
  }

  groups(): number[][] {
    return [[0]]
  }

  async *pass(groups: number[][], first = 0): AsyncGenerator<RowGroup> {
    if (first < groups.length) yield this.#group
  }
}
