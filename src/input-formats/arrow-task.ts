// Decodes record batches of Arrow data to text, in a thread of its own: those whose columns are not plain.
import { isUtf8 } from 'node:buffer'
import { zstdDecompressSync } from 'node:zlib'
import type { Batch, Column } from '@uwdata/flechette'
import { SpillwayError } from '../errors.ts'
import { roundUp } from '../numeric/rounding.ts'
import { declareTask, type TaskContext } from '../threads/task.ts'
import type { ArrowChunk } from './arrow-cells.ts'
import { RowsAsText } from './columns-to-text.ts'
import type { AboutEncoded, ChunkToDecode } from './input-format.ts'
import { decompressLz4Frame } from './lz4-frames.ts'
import { reason } from './parquet-task.ts'

export interface AboutBatches extends AboutEncoded, ArrowChunk {
  columns: string[]
}

export function damagedArrow(name: string, found: string): SpillwayError {
  return new SpillwayError(
    `${name}: found ${found}, expected Arrow data`,
    'is the file cut short? Copy or download it again',
  )
}

/** Bytes of a chunk before they were compressed. */
export const LARGEST_BATCH = 1 << 28

export const batchesToTextTask = declareTask(import.meta.url, 'arrow-to-text', batchesToText)

async function batchesToText(_: TaskContext, { bytes, about }: ChunkToDecode): Promise<Uint8Array> {
  const { tableFromIPC, setCompressionCodec, CompressionType } = await import('@uwdata/flechette')
  const { name, messages, rows, columns } = about as AboutBatches
  let inflated = 0
  const within = (decompress: (bytes: Uint8Array, length: number) => Uint8Array) => ({
    decode(packed: Uint8Array, length: number): Uint8Array {
      inflated += length
      if (!(length >= 0 && inflated <= LARGEST_BATCH)) throw new Error(`compressed bytes that would be ${length}`)
      const plain = decompress(packed, length)
      if (plain.length !== length) throw new Error(`${plain.length} bytes where ${length} were compressed`)
      return plain
    },
    encode: (plain: Uint8Array) => plain,
  })
  setCompressionCodec(CompressionType.LZ4_FRAME, within(decompressLz4Frame))
  setCompressionCodec(
    CompressionType.ZSTD,
    // A copy stands at an address that 64-bit numbers may have.
    within((packed, length) => new Uint8Array(zstdDecompressSync(packed, { maxOutputLength: Math.max(1, length) }))),
  )
  try {
    let at = 0
    const pieces = messages.map(length => {
      const piece = bytes.subarray(at, at + length)
      at += roundUp(length, 8)
      return piece
    })
    const table = tableFromIPC(pieces, { useBigInt: true, useDate: true })
    if (table.numRows !== rows) throw new Error(`${table.numRows} rows where ${rows} were announced`)
    const text = new RowsAsText(columns)
    const all = columns.map((_, k) => table.getChildAt(k) as Column<unknown>)
    for (const [k, column] of all.entries()) checkBuffers(column, columns[k])
    for (let b = 0; b < (all[0]?.data.length ?? 0); b++)
      addBatch(
        text,
        columns,
        all.map(({ data }) => data[b]),
      )
    return text.finish()
  } catch (error) {
    if (error instanceof SpillwayError) throw new SpillwayError(`${name}: ${error.message}`, error.advice)
    throw damagedArrow(name, `data that cannot be read (${reason(error)})`)
  }
}

function addBatch(text: RowsAsText, columns: string[], batches: Batch<unknown>[]): void {
  const [{ length }] = batches
  if (batches.some(batch => batch.length !== length)) throw new Error('columns of different lengths')
  for (let r = 0; r < length; r++) {
    text.row(k => {
      const value = batches[k].at(r)
      // A missing cell is null. Behind the end of a buffer there is nothing.
      if (value === undefined) throw new Error(`no cell ${r + 1} in column ${JSON.stringify(columns[k])}`)
      return value
    })
  }
}

const BOOLEANS = 6

/** Refuses bytes that are no text, and buffers that are shorter than their column where the library would not notice. */
function checkBuffers(column: Column<unknown>, name: string): void {
  const wrong = (what: string): Error => new Error(`${what} in column ${JSON.stringify(name)}`)
  for (const batch of column.data as readonly PlainBatch[]) {
    const { length, nullCount, validity, values, offsets, type, dictionary } = batch
    const hasBits = (bits: unknown): boolean => bits instanceof Uint8Array && bits.length * 8 >= length
    if (dictionary) checkBuffers(dictionary, name)
    if (validity && nullCount !== 0 && !hasBits(validity)) throw wrong('too few marks of missing cells')
    if (type.typeId === BOOLEANS && !hasBits(values)) throw wrong('too few booleans')
    if (!offsets || !(values instanceof Uint8Array) || length === 0) continue
    const [from, to] = [Number(offsets[0]), Number(offsets[length])]
    if (!(from >= 0 && from <= to && to <= values.length)) throw wrong('texts that are not there')
    if (isUtf8(values.subarray(from, to))) continue
    throw new SpillwayError(
      `found bytes that are no text in column ${JSON.stringify(name)}, expected UTF-8`,
      'write the column as UTF-8, or write the file without it',
    )
  }
}

/** What a batch has, as far as it is looked at. */
interface PlainBatch {
  length: number
  nullCount: number
  type: { typeId: number }
  validity?: Uint8Array
  values?: unknown
  offsets?: ArrayLike<number | bigint>
  dictionary?: Column<unknown>
}
