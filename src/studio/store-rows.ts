// Rows of a store as they are: decoded segment by segment, and a sample of them from blocks all over the store.

import { ReadBuffer } from '../block-store/block-file.ts'
import { SegmentDecoder } from '../block-store/codecs.ts'
import type { Store } from '../block-store/reader.ts'
import { StoredLabels, unlistedLabel } from '../block-store/stored-labels.ts'
import { Arena } from '../numeric/arena.ts'
import { BatchFields } from '../numeric/fields/batch.ts'
import { type PlainRows, plainRowsOf } from '../predict/explain-chunk-task.ts'
import { SeenRows } from './seen-rows.ts'

/** Rows of a segment. Their classes are places in the labels of the manifest. */
export interface StoredRows extends PlainRows {
  /** Its number in the block. */
  segment: number
  /** Of each row in all the data, counted from 0. */
  positions: Float64Array
}

/** Much is passed over: a large read would be for nothing. */
const READ_BYTES = 1 << 16

/** Reads blocks one after the other, through one buffer. */
export class StoreRowReader {
  readonly #store: Store
  readonly #arena = new Arena()
  readonly #buffer = new ReadBuffer(this.#arena, READ_BYTES)
  readonly #decoder = new SegmentDecoder(this.#arena)
  readonly #batch = this.#decoder.newBatch()
  readonly #labels: StoredLabels

  constructor(store: Store) {
    this.#store = store
    this.#labels = new StoredLabels(this.#arena, store.manifest.labels)
  }

  /** Some segments of a block, by their numbers. */
  async *ofBlock(block: number, wanted: ReadonlySet<number>): AsyncGenerator<StoredRows> {
    if (wanted.size === 0) return
    const fields = new BatchFields(this.#arena, this.#batch)
    const last = Math.max(...wanted)
    const numbers = [...wanted].sort((a, b) => a - b).values()
    const segments = this.#store.blockSegments(block, this.#buffer, segment => wanted.has(segment))
    for await (const { header, at, bytes, where } of segments) {
      const segment = numbers.next().value!
      this.#decoder.decode(at, bytes, this.#batch, where)
      const { rows, nonzeros } = header
      const classes = this.#labels.numbersOf(this.#batch, rows)
      if (!classes.listed) throw unlistedLabel(where)
      const places = this.#arena.u32(fields.labelAt, rows)
      yield {
        ...plainRowsOf(this.#arena, this.#batch, { rows, nonzeros, classes: classes.at }),
        ...{ segment, positions: Float64Array.from(places, place => header.basePosition + place) },
      }
      if (segment === last) return
    }
  }
}

/** What is looked at, at most. */
const MOST_BLOCKS = 32
const MOST_ROWS = 50_000
const MOST_NONZEROS = 5_000_000

/** Looks at segments of blocks from all over the store. A block has its rows in the order of the data, so that its segments, too, are
 *  taken from all over it, from other places in every block. */
export async function sampleStore(store: Store): Promise<SeenRows> {
  const { blocks, labels, indexBase, rows, nonzeros } = store.manifest
  const texts = labels.map(({ text }) => text)
  const reader = new StoreRowReader(store)
  const seen = new SeenRows()
  const share = Math.min(1, MOST_ROWS / Math.max(1, rows), MOST_NONZEROS / Math.max(1, nonzeros))
  const turns = Math.min(blocks.length, MOST_BLOCKS)
  // Of fewer blocks, more of each.
  const shareOfBlock = Math.min(1, (share * blocks.length) / Math.max(1, turns))
  for (let turn = 0; turn < turns; turn++) {
    // Where segments are long, those of the blocks before may do for this one, too.
    const part = turn / turns
    if (seen.lengths.length > MOST_ROWS * part || seen.nonzeros > MOST_NONZEROS * part) continue
    const block = Math.floor((turn * blocks.length) / turns)
    const wanted = placesIn(blocks[block].segments, shareOfBlock, (turn * GOLDEN) % 1)
    for await (const stored of reader.ofBlock(block, wanted)) seen.add(stored, texts, indexBase)
  }
  return seen
}

/** Multiples of it lie well apart, whatever their number. */
const GOLDEN = 0.618

/** A share of so many places, evenly spread, the first of them shifted by a part of their distance. */
function placesIn(count: number, share: number, shift: number): Set<number> {
  const some = Math.min(count, Math.max(1, Math.round(count * share)))
  return new Set(Array.from({ length: some }, (_, k) => Math.floor(((k + shift) * count) / some)))
}
