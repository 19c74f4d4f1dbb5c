// Blocks that are too large for the memory, split into smaller ones without the text. Every row is drawn into a part of its
// block, and parts take the place of their block, so rows of other blocks keep their order. Rows keep their positions.
import { Arena } from '../numeric/arena.ts'
import { BatchFields } from '../numeric/fields/batch.ts'
import type { Address, ByteCount } from '../sizes.ts'
import { CarriedStates } from './carried-states.ts'
import { changeStore, freeBlockNumbers } from './change-store.ts'
import { growBatch, roomForWeights, SegmentDecoder, weightsOfBatch } from './codecs.ts'
import { blockFileName } from './file-layout.ts'
import type { Manifest } from './manifest.ts'
import { Store } from './reader.ts'
import { Rewriter, RowReader, type SegmentRows } from './rewrite-rows.ts'
import { decodedSegment, SPLIT_SEGMENT_BYTES } from './segment-size.ts'
import { StoreWriter } from './writer.ts'

export interface SplitOptions {
  /** Where to work; a memory of its own when not given. */
  arena?: Arena
  signal?: AbortSignal | undefined
}

export interface SplitStore {
  store: Store
  /** For each row in the order of the old blocks, its place in the order of the new ones. */
  places: Uint32Array
}

/** Buffers are small: blocks are split where there is little memory. */
const READ_BYTES = 1 << 20
const WRITE_BYTES = 4 << 20
/** Rows are gathered before they are drawn, so that segments are about as large as before, and no larger than planned; but no
 *  more than so many bytes of them, and positions. */
const MOST_GATHERED = 8 << 20
const MOST_SPAN = 1 << 18

/** Splits block k into parts[k] blocks, where that is more than 1. */
export async function splitBlocks(folder: string, parts: number[], options: SplitOptions = {}): Promise<SplitStore> {
  const arena = options.arena ?? new Arena()
  const mark = arena.mark()
  return changeStore(folder, async (old, change) => {
    const states = change.keep(await CarriedStates.of(arena, folder, old.fingerprint))
    const reader = new RowReader(arena, new Store(folder, old), READ_BYTES)
    const rewriter = new Rewriter(arena, old)
    const gathered = new GatheredRows(arena)
    const split = old.blocks.flatMap((_, block) => (parts[block] > 1 ? [block] : []))
    const numbers = freeBlockNumbers(
      old,
      split.reduce((sum, block) => sum + parts[block], 0),
    )
    const writer = change.write(await StoreWriter.extend(folder, { arena, numbers, bufferBytes: WRITE_BYTES }))
    const firstPart = new Map<number, number>()
    const places = new Uint32Array(old.rows)
    let [next, firstRow] = [0, 0]
    for (const [block, entry] of old.blocks.entries()) {
      const count = Math.max(1, parts[block] ?? 1)
      if (count > 1) {
        firstPart.set(block, next)
        const drawn = new Uint32Array(entry.rows)
        const draw = new PartDraw(count, old.seed, block)
        const average = decodedSegment(entry) / Math.max(1, entry.segments)
        gathered.most = Math.min(MOST_GATHERED, count * Math.min(SPLIT_SEGMENT_BYTES, average))
        let row = 0
        const write = async (): Promise<void> => {
          const rows = gathered.rows()
          const own = drawn.subarray(row, row + rows.count)
          for (let r = 0; r < rows.count; r++) own[r] = draw.part(rows.starts[r + 1] - rows.starts[r])
          for (let part = 0; part < count; part++) {
            const segment = rewriter.encode(
              rows,
              own.map(drawn => (drawn === part ? 1 : 0)),
              next + part,
            )
            if (segment) await writer.append([segment], rows.base)
          }
          row += rows.count
          gathered.clear()
        }
        for await (const rows of reader.rows(block)) {
          options.signal?.throwIfAborted()
          for (let from = 0; from < rows.count; ) {
            from = gathered.add(rows, from)
            if (from < rows.count) await write()
          }
        }
        if (gathered.count > 0) await write()
        for (let part = 0; part < count; part++) {
          const keep = Uint8Array.from(drawn, drawn => (drawn === part ? 1 : 0))
          await states.filterBlock(entry.file, blockFileName(numbers[next + part]), keep)
        }
        placeRows(drawn, count, firstRow, places)
        next += count
      } else for (let r = 0; r < entry.rows; r++) places[firstRow + r] = firstRow + r
      firstRow += entry.rows
    }
    const manifest: Manifest = await writer.prepare(old, written =>
      old.blocks.flatMap((entry, block) => {
        const first = firstPart.get(block)
        // A part that no row was drawn into is left out.
        return first === undefined ? [entry] : written.slice(first, first + parts[block]).filter(({ rows }) => rows > 0)
      }),
    )
    await change.commit(manifest)
    return { store: new Store(folder, manifest), places }
  }).finally(() => arena.release(mark))
}

/** Rows of a part stay in their order; parts follow each other. */
function placeRows(drawn: Uint32Array, parts: number, firstRow: number, places: Uint32Array): void {
  const next = new Uint32Array(parts + 1)
  for (const part of drawn) next[part + 1]++
  for (let part = 0; part < parts; part++) next[part + 1] += next[part]
  for (let r = 0; r < drawn.length; r++) places[firstRow + r] = firstRow + next[drawn[r]]++
}

/** Draws a part for each row: of two drawn at random the one that has less. So parts are about equally large, and which rows
 *  meet in one follows from nothing in the data. */
class PartDraw {
  readonly #filled: Float64Array
  #state: Address

  constructor(parts: number, seed: number, block: number) {
    this.#filled = new Float64Array(parts)
    this.#state = (Math.imul(seed, 0x9e3779b1) ^ Math.imul(block + 1, 0x85ebca6b)) >>> 0
  }

  part(nonzeros: number): number {
    const [one, other] = [this.#below(), this.#below()]
    const part = this.#filled[other] < this.#filled[one] ? other : one
    // A row without entries takes room too.
    this.#filled[part] += nonzeros + 6
    return part
  }

  /** A number below that of the parts: a Weyl sequence through the finaliser of MurmurHash3. */
  #below(): number {
    this.#state = (this.#state + 0x9e3779b9) >>> 0
    let mixed = this.#state
    mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b)
    mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35)
    mixed = (mixed ^ (mixed >>> 16)) >>> 0
    return Math.floor((mixed / 2 ** 32) * this.#filled.length)
  }
}

/** Rows of several segments, or of a part of one, in one batch. */
class GatheredRows {
  readonly #arena: Arena
  readonly #batch: Address
  #nonzeros = 0
  #base = 0
  #first = 0
  count = 0
  /** What decoding them may take. */
  most = 0

  constructor(arena: Arena) {
    this.#arena = arena
    this.#batch = new SegmentDecoder(arena).newBatch()
  }

  /** Adds as many of the rows as there is room for, from one on: the number of the next. Where there are none yet, one has. */
  add(rows: SegmentRows, from: number): number {
    const { base, batch, positions, starts } = rows
    const arena = this.#arena
    const source = new BatchFields(arena, batch)
    const to = new BatchFields(arena, this.#batch)
    const { valueBytes } = source
    const empty = this.count === 0
    if (empty) {
      this.#base = base
      this.#first = base + positions[from]
    }
    let end = from
    const fits = (): boolean => {
      const more = { rows: this.count + end + 1 - from, nonzeros: this.#nonzeros + starts[end + 1] - starts[from] }
      return decodedSegment(more) <= this.most && base + positions[end] - this.#first < MOST_SPAN
    }
    while (end < rows.count && ((empty && end === from) || fits())) end++
    const count = end - from
    const nonzeros = starts[end] - starts[from]
    if (empty) {
      const room = Math.max(nonzeros, Math.ceil(this.most / decodedSegment({ rows: 0, nonzeros: 1 })))
      growBatch(arena, this.#batch, MOST_SPAN, room, valueBytes)
      to.features = 0
      to.weighted = 0
    }
    const toPositions = arena.u32(to.labelAt + this.count * 4, count)
    const toStarts = arena.u32(to.starts + this.count * 4, count + 1)
    for (let r = 0; r < count; r++) toPositions[r] = base + positions[from + r] - this.#base
    for (let r = 0; r <= count; r++) toStarts[r] = this.#nonzeros + starts[from + r] - starts[from]
    type Column = 'labels' | 'indices' | 'values'
    const copy = (column: Column, first: number, before: number, size: number, each: ByteCount): void =>
      arena.bytes(to[column] + before * each, size * each).set(arena.bytes(source[column] + first * each, size * each))
    copy('labels', from, this.count, count, 8)
    copy('indices', starts[from], this.#nonzeros, nonzeros, 4)
    copy('values', starts[from], this.#nonzeros, nonzeros, valueBytes)
    this.#addWeights(batch, from, count)
    this.count += count
    this.#nonzeros += nonzeros
    to.rows = this.count
    to.nonzeros = this.#nonzeros
    to.features = Math.max(to.features, source.features)
    return end
  }

  /** Rows of a segment without weights count once, beside those of one that has some. */
  #addWeights(batch: Address, from: number, count: number): void {
    const arena = this.#arena
    const to = new BatchFields(arena, this.#batch)
    const weights = weightsOfBatch(arena, batch)
    if (!weights && !to.weighted) return
    const all = arena.f64(roomForWeights(arena, this.#batch), this.count + count)
    if (!to.weighted) all.fill(1, 0, this.count)
    if (weights) all.set(weights.subarray(from, from + count), this.count)
    else all.fill(1, this.count)
    to.weighted = 1
  }

  rows(): Omit<SegmentRows, 'labels'> {
    const arena = this.#arena
    const fields = new BatchFields(arena, this.#batch)
    return {
      count: this.count,
      base: this.#base,
      batch: this.#batch,
      positions: arena.u32(fields.labelAt, this.count),
      starts: arena.u32(fields.starts, this.count + 1),
    }
  }

  clear(): void {
    this.count = 0
    this.#nonzeros = 0
  }
}
