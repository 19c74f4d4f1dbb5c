// Expands batches inside one thread: buffers around the compiled loops of the steps. A batch comes out in pieces of a size
// that a core's cache likes, whatever its own size is, and a row longer than that enlarges them.

import { SpillwayError } from '../errors.ts'
import { type Arena, windowFull } from '../numeric/arena.ts'
import { BatchFields } from '../numeric/fields/batch.ts'
import { ExpandFields } from '../numeric/fields/expand.ts'
import {
  BATCH_BYTES,
  EXPAND_BYTES,
  EXPAND_ERROR_FEATURE,
  EXPAND_ERROR_NEGATIVE,
  EXPAND_ERROR_VALUE,
  EXPAND_MOST_ENTRIES,
  EXPAND_SCRATCH_BYTES,
  EXPAND_SCRATCH_ENTRY,
} from '../numeric/layouts.ts'
import { Region } from '../numeric/region.ts'
import { roundUp } from '../numeric/rounding.ts'
import type { Address, ByteCount } from '../sizes.ts'
import type { ExpansionStep } from './expansion.ts'
import { parseExpansion } from './expansion-steps.ts'

/** Rows of a batch, expanded or as they were. */
export interface BatchPiece {
  batch: Address
  /** The first of them in the batch that they come from. */
  first: number
  rows: number
  nonzeros: number
}

const PIECE_ENTRIES = 1 << 16
const PIECE_ROWS = 4096

export class Expander {
  readonly #arena: Arena
  readonly #stages: Stage[]
  /** Where features that are about to be hashed are entered, to keep their names; see feature-set.ts. */
  readonly #names: number
  /** Whether #names had room for all of them. */
  namesComplete = true

  /** By the text of an expansion, or by steps that no text stands for. */
  constructor(arena: Arena, expansion: string | readonly ExpansionStep[], names = 0) {
    const steps = typeof expansion === 'string' ? parseExpansion(expansion).steps : expansion
    this.#arena = arena
    this.#names = names
    this.#stages = steps.map((step, k) => new Stage(arena, step, steps[k + 1]?.hashes ?? false))
  }

  /** Bytes of memory that the stages take now. */
  get bytes(): ByteCount {
    return this.#stages.reduce((sum, stage) => sum + stage.bytes, 0)
  }

  /** The rows of a batch, expanded, in pieces; each piece is there until the next is asked for. */
  expand(batch: Address): Generator<BatchPiece> {
    return this.#from(batch, 0, 0)
  }

  *#from(batch: Address, first: number, stage: number): Generator<BatchPiece> {
    if (stage === this.#stages.length) {
      const { rows, nonzeros } = new BatchFields(this.#arena, batch)
      yield { batch, first, rows, nonzeros }
      return
    }
    const { step } = this.#stages[stage]
    if (step.hashes && this.#names && this.namesComplete) {
      this.namesComplete = Boolean(this.#arena.numeric.enterBatch(this.#names, batch))
    }
    for (const piece of this.#stages[stage].run(batch)) yield* this.#from(piece.batch, first + piece.first, stage + 1)
  }
}

/** One step and the batch that it writes into. */
class Stage {
  readonly step: ExpansionStep
  readonly #arena: Arena
  readonly #upper: boolean
  readonly #state: ExpandFields
  readonly #batch: BatchFields
  readonly #room: Region
  #tableBytes = 0
  bytes = 0
  #capacity = 0
  #valueBytes = 0

  constructor(arena: Arena, step: ExpansionStep, upper: boolean) {
    this.#arena = arena
    this.step = step
    this.#upper = upper
    this.#state = new ExpandFields(arena, arena.allocateZeroed(EXPAND_BYTES, 'the expansion'))
    this.#batch = new BatchFields(arena, arena.allocateZeroed(BATCH_BYTES, 'the expansion'))
    this.#room = new Region(arena, 'expanded rows')
    this.#batch.starts = arena.allocate((PIECE_ROWS + 1) * 4, 'the expansion')
    this.#batch.rowCapacity = PIECE_ROWS
    const { degree = 0, letters = 0, codes, bits = 0, table } = step.settings
    this.#state.degree = degree
    this.#state.letters = letters
    this.#state.bits = bits
    if (codes) {
      const at = arena.allocate(codes.length, 'the alphabet')
      arena.bytes(at, codes.length).set(codes)
      this.#state.codes = at
    }
    if (table) this.#placeTable(table, step.settings)
  }

  #placeTable(table: Float64Array, { width = 1, bins = 1, beyond = 0, period = 0 }: ExpansionStep['settings']): void {
    const arena = this.#arena
    // The loop reads where the bins say, so that a table of another length would be read beyond its end.
    if (table.length !== (bins + 1) * width) throw new Error(`a table of ${table.length} values for ${bins} bins`)
    const at = arena.allocate(table.byteLength, 'the table of an expansion')
    arena.f64(at, table.length).set(table)
    this.#state.table = at
    this.#state.width = width
    this.#state.bins = bins
    this.#state.beyond = beyond
    this.#state.period = period
    this.#tableBytes = table.byteLength
  }

  *run(from: Address): Generator<{ batch: Address; first: number }> {
    const arena = this.#arena
    const state = this.#state
    const loop = arena.numeric[this.step.loop]
    const { rows, valueBytes } = new BatchFields(arena, from)
    this.#makeRoom(this.#capacity || PIECE_ENTRIES, this.step.valueBytes(valueBytes))
    state.row = 0
    for (let first = 0; first < rows; ) {
      state.needed = 0
      state.error = 0
      loop(state.at, from, this.#batch.at)
      const error = state.error
      if (error !== 0) throw this.#describe(error)
      const needed = state.needed
      if (needed > 0) {
        this.#makeRoom(needed, this.#valueBytes)
        continue
      }
      yield { batch: this.#batch.at, first }
      first = state.row
    }
  }

  #makeRoom(entries: number, valueBytes: ByteCount): void {
    if (entries <= this.#capacity && valueBytes === this.#valueBytes) return
    const capacity = Math.max(entries, this.#capacity)
    const values = roundUp(capacity * valueBytes, 16)
    const indices = roundUp(capacity * 4, 16)
    const scratch = this.step.hashes ? EXPAND_SCRATCH_BYTES + capacity * EXPAND_SCRATCH_ENTRY : 0
    const bytes = values + indices * (this.#upper ? 2 : 1) + scratch
    this.bytes = bytes + this.#tableBytes
    if (bytes > 0xf0000000) throw windowFull('an expanded row')
    const at = this.#room.room(bytes)
    this.#batch.values = at
    this.#batch.indices = at + values
    this.#batch.upper = this.#upper ? at + values + indices : 0
    this.#state.scratch = at + values + indices * (this.#upper ? 2 : 1)
    this.#batch.nonzeroCapacity = capacity
    this.#capacity = capacity
    this.#valueBytes = valueBytes
  }

  #describe(error: number): SpillwayError {
    if (error === EXPAND_ERROR_FEATURE) return this.step.tooManyFeatures()
    if (error === EXPAND_ERROR_NEGATIVE && this.step.negativeValue) {
      return this.step.negativeValue(this.#state.value)
    }
    if (error === EXPAND_ERROR_VALUE) {
      return new SpillwayError(
        `a row has values whose products pass the largest number (${this.step.text})`,
        'scale the data down first, or keep 64-bit values: --values f64 for train and ingest',
      )
    }
    return new SpillwayError(
      `a row becomes longer than ${EXPAND_MOST_ENTRIES} entries by ${this.step.text}`,
      'leave such rows out, or expand fewer features',
    )
  }
}

/** A batch in pieces: expanded, or as it is when there is nothing to expand. */
export function* piecesOf(arena: Arena, batch: Address, expander: Expander | undefined): Generator<BatchPiece> {
  if (expander) yield* expander.expand(batch)
  else {
    const { rows, nonzeros } = new BatchFields(arena, batch)
    yield { batch, first: 0, rows, nonzeros }
  }
}
