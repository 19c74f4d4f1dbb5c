// Rows of a store read to be written again: by `remove`, which leaves some out, and when blocks are split.
import type { Arena } from '../numeric/arena.ts'
import { BatchFields } from '../numeric/fields/batch.ts'
import { BATCH_BYTES } from '../numeric/layouts.ts'
import { Region } from '../numeric/region.ts'
import { roundUp } from '../numeric/rounding.ts'
import type { Address, ByteCount } from '../sizes.ts'
import { ReadBuffer } from './block-file.ts'
import { type EncodedSegment, SegmentDecoder, SegmentEncoder } from './codecs.ts'
import type { Manifest } from './manifest.ts'
import type { Store } from './reader.ts'
import { StoredLabels } from './stored-labels.ts'

/** Rows of one segment, until the next is asked for. */
export interface SegmentRows {
  count: number
  base: number
  batch: Address
  positions: Uint32Array
  /** Their numbers in the manifest. */
  labels: Uint32Array
  starts: Uint32Array
}

/** Reads the rows of blocks. */
export class RowReader {
  readonly #arena: Arena
  readonly #store: Store
  readonly #buffer: ReadBuffer
  readonly #decoder: SegmentDecoder
  readonly #batch: Address
  readonly #labels: StoredLabels
  bytesRead = 0

  constructor(arena: Arena, store: Store, readBytes?: ByteCount) {
    this.#arena = arena
    this.#store = store
    this.#buffer = new ReadBuffer(arena, readBytes)
    this.#decoder = new SegmentDecoder(arena)
    this.#batch = this.#decoder.newBatch()
    this.#labels = new StoredLabels(arena, store.manifest.labels)
  }

  /** The rows of a block, segment by segment; segments that are all behind the given positions are left out. */
  async *rows(block: number, within?: { end: number }): AsyncGenerator<SegmentRows, void, void> {
    const arena = this.#arena
    const batch = this.#batch
    const fields = new BatchFields(arena, batch)
    for await (const { header, at, bytes, where } of this.#store.blockSegments(block, this.#buffer)) {
      this.bytesRead += bytes
      if (within && header.basePosition >= within.end) continue
      this.#decoder.decode(at, bytes, batch, where)
      const count = fields.rows
      yield {
        count,
        base: header.basePosition,
        batch,
        positions: arena.u32(fields.labelAt, count),
        labels: arena.u32(this.#labels.numbersOf(batch, count).at, count),
        starts: arena.u32(fields.starts, count + 1),
      }
    }
  }
}

/** Encodes some of the rows of a segment anew. */
export class Rewriter {
  readonly #arena: Arena
  readonly #encoder: SegmentEncoder
  readonly #batch: Address
  readonly #room: Region

  constructor(arena: Arena, { seed, compression }: Manifest) {
    this.#arena = arena
    this.#encoder = new SegmentEncoder(arena, { blocks: 1, seed, mode: 'sequential', compression })
    this.#batch = arena.allocateZeroed(BATCH_BYTES, 'a batch')
    this.#room = new Region(arena, 'rows that stay')
  }

  /** The encoder takes a row's number in its batch for its position, so the rows are laid out with gaps. */
  encode(
    { batch, count, positions, starts }: Omit<SegmentRows, 'labels'>,
    keep: ArrayLike<number>,
    block: number,
  ): EncodedSegment | undefined {
    const arena = this.#arena
    let rows = 0
    for (let r = 0; r < count; r++) rows += keep[r]
    if (rows === 0) return undefined
    const first = positions[0]
    const span = positions[count - 1] - first + 1
    const listBytes = roundUp(rows * 4, 8)
    const startBytes = roundUp((span + 1) * 4, 8)
    const { weights, weighted } = new BatchFields(arena, batch)
    const at = this.#room.room(listBytes + startBytes + span * (weighted ? 16 : 8))
    const list = arena.u32(at, rows)
    const wideStarts = arena.u32(at + listBytes, span + 1)
    // As bits: a number of the language need not keep those of a NaN.
    const labels = arena.u32(new BatchFields(arena, batch).labels, count * 2)
    const wideLabels = arena.u32(at + listBytes + startBytes, span * 2)
    const wideWeights = at + listBytes + startBytes + span * 8
    let [filled, nonzeros] = [0, 0]
    for (let r = 0; r < count; r++) {
      const row = positions[r] - first
      if (weighted) arena.setF64(wideWeights + row * 8, arena.getF64(weights + r * 8))
      wideStarts[row] = starts[r]
      wideStarts[row + 1] = starts[r + 1]
      wideLabels[2 * row] = labels[2 * r]
      wideLabels[2 * row + 1] = labels[2 * r + 1]
      if (!keep[r]) continue
      list[filled++] = row
      nonzeros += starts[r + 1] - starts[r]
    }
    arena.bytes(this.#batch, BATCH_BYTES).set(arena.bytes(batch, BATCH_BYTES))
    const own = new BatchFields(arena, this.#batch)
    own.rows = span
    own.nonzeros = starts[count]
    own.starts = at + listBytes
    own.labels = at + listBytes + startBytes
    own.weights = weighted ? wideWeights : 0
    return this.#encoder.encodeListed(this.#batch, { at, rows, nonzeros }, first, block)
  }
}
