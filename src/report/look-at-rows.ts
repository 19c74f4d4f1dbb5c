// Nonzeros a row and values of features, counted on a sample of the data: a few pieces from all over it, in little memory.

import { ReadBuffer } from '../block-store/block-file.ts'
import { SegmentDecoder } from '../block-store/codecs.ts'
import { openStore } from '../block-store/reader.ts'
import { findInputFormat } from '../input-formats/all-input-formats.ts'
import { Chunks } from '../input-formats/chunks.ts'
import { statInput } from '../input-formats/file-part.ts'
import { nameLabels } from '../input-formats/named-labels.ts'
import { Reading } from '../input-formats/reading.ts'
import { Arena } from '../numeric/arena.ts'
import { BatchFields } from '../numeric/fields/batch.ts'
import { rowsOfChunk } from '../rows/chunk-task.ts'
import type { Schema } from '../tables/schema.ts'
import { binsOf } from './bins.ts'
import type { DataRecord } from './records.ts'

const PIECES = 32
const PIECE_BYTES = 1 << 19
/** Rows and values that are looked at, at most. */
const MOST_ROWS = 50_000
const MOST_VALUES = 200_000

export interface RowsToLookAt {
  paths: string[]
  /** The file of their labels, where these are apart. */
  labels?: string | undefined
  format: string
  indexBase: number | undefined
  schema?: Schema | undefined
  /** Rows of all the data. */
  rows: number
}

export type RowsLookedAt = Pick<DataRecord, 'sampledRows' | 'rowLengths' | 'values'>

class Sample {
  readonly lengths: number[] = []
  readonly values: number[] = []
  /** One value in so many is kept, of all that came. */
  #each = 1
  #came = 0
  #smallest = Number.POSITIVE_INFINITY
  #largest = Number.NEGATIVE_INFINITY

  get full(): boolean {
    return this.lengths.length >= MOST_ROWS
  }

  add(arena: Arena, batch: number, rows: number, nonzeros: number): void {
    const fields = new BatchFields(arena, batch)
    const starts = arena.u32(fields.starts, rows + 1)
    for (let r = 0; r < rows; r++) this.lengths.push(starts[r + 1] - starts[r])
    const { values, valueBytes } = fields
    for (const value of valueBytes === 8 ? arena.f64(values, nonzeros) : arena.f32(values, nonzeros)) {
      if (value < this.#smallest) this.#smallest = value
      if (value > this.#largest) this.#largest = value
      if (this.#came++ % this.#each === 0) this.#keep(value)
    }
  }

  /** Where there are too many, every second one goes, so that those of all pieces stay. */
  #keep(value: number): void {
    this.values.push(value)
    if (this.values.length < MOST_VALUES) return
    for (let k = 0; 2 * k < this.values.length; k++) this.values[k] = this.values[2 * k]
    this.values.length = Math.ceil(this.values.length / 2)
    this.#each *= 2
  }

  result(allRows: number): RowsLookedAt {
    if (this.lengths.length === 0) return {}
    return {
      ...(this.lengths.length < allRows && { sampledRows: this.lengths.length }),
      rowLengths: binsOf(Float64Array.from(this.lengths)),
      ...(this.values.length > 0 && {
        values: { smallest: this.#smallest, largest: this.#largest, bins: binsOf(Float64Array.from(this.values)) },
      }),
    }
  }
}

/** Nothing where the data cannot be read again, as of a pipe, and of strings: a letter is no value, and the features that are
 *  made of them are others. */
export async function lookAtRows(look: RowsToLookAt): Promise<RowsLookedAt> {
  const sample = new Sample()
  const sizes: number[] = []
  if (findInputFormat(look.format).letters) return {}
  for (const path of look.paths) {
    const found = path === '-' ? undefined : await statInput(path)
    if (found?.isDirectory()) {
      await lookAtStore(path, sample)
      return sample.result(look.rows)
    }
    if (!found?.isFile()) return {}
    sizes.push(found.size)
  }
  await lookAtText(look, sizes, sample)
  return sample.result(look.rows)
}

async function lookAtText(look: RowsToLookAt, sizes: number[], sample: Sample): Promise<void> {
  const { paths, format, indexBase, schema } = look
  using _ = nameLabels(paths, look.labels)
  const arena = new Arena()
  const context = { arena, kept: new Map() }
  const chunks = new Chunks(arena, new Reading(format, indexBase), PIECE_BYTES, 1, { schema })
  for (const { file, at } of piecesOf(sizes)) {
    if (sample.full) break
    const chunk = await chunks.sample(paths[file], at)
    if (!chunk) continue
    const parse = { indexBase: chunk.indexBase, skipBad: true, valueBits: 32 } as const
    const rows = await rowsOfChunk(context, { ...chunk, parse })
    for (const parsed of rows.batches()) sample.add(arena, parsed.batch, parsed.rows, parsed.nonzeros)
    chunk.release()
  }
}

/** Pieces from all over the files, none of which overlap: a row counts once. The first few are from all over, too, for there may
 *  be enough rows in them. */
function piecesOf(sizes: number[]): { file: number; at: number }[] {
  const counts = sizes.map(size => Math.max(1, Math.ceil(size / PIECE_BYTES)))
  const all = counts.reduce((sum, count) => sum + count, 0)
  const taken = Math.min(PIECES, all)
  return inAnyPart(taken).map(k => {
    let piece = Math.floor((k * (all - 1)) / Math.max(1, taken - 1))
    let file = 0
    while (piece >= counts[file]) piece -= counts[file++]
    return { file, at: piece * PIECE_BYTES }
  })
}

/** The numbers below a count, so ordered that any first few of them lie all over: 0, 4, 2, 6, 1, 5, 3, 7. */
function inAnyPart(count: number): number[] {
  let order = [0]
  while (order.length < count) order = [...order.map(place => 2 * place), ...order.map(place => 2 * place + 1)]
  return order.filter(place => place < count)
}

/** Rows are drawn into blocks at random: the first segments of a few blocks do. Rows that were added later have blocks of their own. */
async function lookAtStore(path: string, sample: Sample): Promise<void> {
  const store = await openStore(path)
  const arena = new Arena()
  const buffer = new ReadBuffer(arena)
  const decoder = new SegmentDecoder(arena)
  const batch = decoder.newBatch()
  const { blocks } = store.manifest
  const step = Math.max(1, Math.floor(blocks.length / PIECES))
  for (const k of inAnyPart(Math.ceil(blocks.length / step))) {
    if (sample.full) break
    const block = k * step
    for await (const { at, bytes, where } of store.blockSegments(block, buffer)) {
      decoder.decode(at, bytes, batch, where)
      const { rows, nonzeros } = new BatchFields(arena, batch)
      sample.add(arena, batch, rows, nonzeros)
      if (blocks.length > 1 || sample.full) break
    }
  }
}
