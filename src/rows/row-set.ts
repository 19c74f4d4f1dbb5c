// Rows in memory, put together from the pieces that threads packed.

import { type LabelCount, mergeLabels } from '../input-formats/label-numbers.ts'
import type { LabelKey } from '../input-formats/labels.ts'
import type { Arena } from '../numeric/arena.ts'
import type { Address, ByteCount } from '../sizes.ts'
import type { ExpansionOptions } from './parse-rows-task.ts'
import { RowWeights } from './row-weights.ts'

/** Rows as solvers see them: records in the arena and a table of their addresses. */
export interface RowSet {
  /** Address of u32[rows]. */
  table: Address
  rows: number
  nonzeros: number
  /** Address of f64[rows], what the cost of each row is multiplied by, when that was said. */
  rowWeights?: number
  /** Features of the data, once it is expanded: one more than the largest number. */
  features: number
  /** When features were hashed and their names are kept: those that there were before, in rising order. */
  names?: Uint32Array
  /** Weights that solvers need: the features, or fewer once they were renumbered; several for each in the space of a kernel. */
  weights: number
  /** When features were renumbered: those that occur, in rising order, and the weight that belongs to each. */
  renumbered: { features: Uint32Array; weightOf: Uint32Array } | undefined
  /** The class number of a row is its label's place here. */
  labels: LabelCount[]
  /** The input format that the rows came in. */
  format: string
  indexBase: number
  /** Of the values as they were read. */
  valueBits: 32 | 64
  packedBytes: ByteCount
  /** Names the text exactly: a hash over all its bytes. */
  fingerprint: string
  sources: { name: string; rows: number }[]
}

/** What is made of rows on their way into memory. */
export interface RowMaking {
  /** See PackSettings. */
  unit: boolean
  plain: boolean
  bins?: number
  /** How they are expanded, if they are. */
  expansion?: ExpansionOptions | undefined
}

/** What one task packed, with class numbers of its own. */
export interface PackedPiece {
  table: Uint32Array
  labels: LabelCount[]
  packedBytes: ByteCount
  /** Where the data has them. */
  rowWeights?: Float64Array | undefined
}

let loads = 0

/** Collects pieces in order and makes one table and one numbering of the classes of them. */
export class RowCollector {
  /** Tells this load from earlier ones: see PackSettings. */
  readonly load = loads++
  readonly labels: LabelCount[] = []
  rows = 0
  packedBytes = 0
  readonly #byKey = new Map<LabelKey, number>()
  readonly #pieces: { table: Uint32Array; map: Uint32Array | undefined }[] = []
  readonly #weights = new RowWeights()

  add(piece: PackedPiece): void {
    this.#pieces.push({ table: piece.table, map: mergeLabels(this.labels, this.#byKey, piece.labels) })
    this.#weights.add(piece.rowWeights, piece.table.length)
    this.rows += piece.table.length
    this.packedBytes += piece.packedBytes
  }

  /** The table of all rows, in the order of the pieces, and their weights. */
  finish(arena: Arena): Pick<RowSet, 'table' | 'rowWeights'> {
    const table = arena.allocate(Math.max(this.rows, 1) * 4, 'the row table')
    const all = arena.u32(table, this.rows)
    let filled = 0
    for (const { table: part, map } of this.#pieces.splice(0)) {
      all.set(part, filled)
      if (map) {
        const mark = arena.mark()
        const mapAt = arena.allocate(map.length * 4, 'class numbers')
        arena.u32(mapAt, map.length).set(map)
        arena.numeric.relabelRows(table + filled * 4, part.length, mapAt)
        arena.release(mark)
      }
      filled += part.length
    }
    return this.#weights.some ? { table, rowWeights: this.#placeWeights(arena) } : { table }
  }

  #placeWeights(arena: Arena): Address {
    const at = arena.allocate(this.rows * 8, 'the weights of the rows')
    this.#weights.fill(arena.f64(at, this.rows))
    return at
  }
}
