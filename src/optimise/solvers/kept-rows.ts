// The rows that solver `stream` keeps in memory, as a source and a problem of their own: over ranks they are trained on between two
// rounds of reading as solver `dual` trains on all rows.
import type { Arena } from '../../numeric/arena.ts'
import { PROBLEM_BYTES, PROBLEM_GRADIENTS } from '../../numeric/layouts.ts'
import type { Address, ByteCount } from '../../sizes.ts'
import type { ThreadPool } from '../../threads/pool.ts'
import { BinaryObjective } from '../objectives/binary.ts'
import type { BlockEngine } from '../sources/block-engine.ts'
import type { RowCounts, RowGroup, RowSource } from '../sources/row-source.ts'
import type { WorkingSet } from './working-set.ts'

export class KeptRows implements RowSource {
  readonly arena: Arena
  readonly threads: ThreadPool
  readonly all: RowCounts
  readonly blockBytes = [0]
  readonly counts = { blocksRead: 0, bytesRead: 0, bytesSkipped: 0 }
  readonly #engine: BlockEngine
  readonly #set: WorkingSet
  readonly #problem: Address

  constructor(engine: BlockEngine, set: WorkingSet) {
    this.arena = engine.arena
    this.threads = engine.threads
    this.all = engine.all
    this.#engine = engine
    this.#set = set
    this.#problem = this.room('problem', PROBLEM_BYTES)
    // Sweeps leave gradients there, by which rows stay or leave later.
    this.arena.setU32(this.#problem + PROBLEM_GRADIENTS, set.places.gradients)
  }

  /** The problem of these rows, whose weights are those of all rows. */
  objective({ weights, weightCount, settings }: BinaryObjective): BinaryObjective {
    // Nobody asks it for a certificate.
    const at = { weights, alpha: this.#set.places.alpha, sums: 0, look: 0 }
    return new BinaryObjective(this.arena, { rows: this.mostRows, weights: weightCount - 1 }, settings, { at })
  }

  get rows(): number {
    return this.#set.count
  }

  get mostRows(): number {
    return this.#set.capacity
  }

  get nonzeros(): number {
    return this.arena.numeric.workOf(this.#set.places.table, this.rows)
  }

  room(name: string, bytes: ByteCount, zeroed?: boolean): Address {
    return this.#engine.room(`rows in memory: ${name}`, bytes, zeroed)
  }

  group(): RowGroup {
    const { rows, nonzeros } = this
    const { table, rowWeights } = this.#set.places
    const { order, sweep } = this.#set
    return {
      ...{ group: 0, rows, nonzeros, parts: [{ block: 0, rows, firstRow: 0 }], whole: true, alpha: 0, packedBytes: 0 },
      ...{ table, rowWeights, order, sweep, problem: this.#problem },
    }
  }

  groups(): number[][] {
    return [[0]]
  }

  async *pass(groups: number[][], first = 0): AsyncGenerator<RowGroup> {
    if (first < groups.length) yield this.group()
  }
}
