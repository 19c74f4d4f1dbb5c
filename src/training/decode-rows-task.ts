// One segment of a store to row records in the arena.
import { SegmentDecoder } from '../block-store/codecs.ts'
import { type LabelCount, LabelNumbers } from '../input-formats/label-numbers.ts'
import { windowFull } from '../numeric/arena.ts'
import { BATCH_LABELS, BATCH_ROWS } from '../numeric/layouts.ts'
import type { TaskContext } from '../threads/task.ts'
import { type PackSettings, RowPacker } from './row-packer.ts'

export interface DecodeRowsOptions {
  at: number
  bytes: number
  /** Names the segment in errors. */
  where: string
  pack: PackSettings
}

export interface DecodedRows {
  table: Uint32Array
  labels: LabelCount[]
  packedBytes: number
}

interface Kept {
  decoder: SegmentDecoder
  batch: number
  packer: RowPacker
  numbers: LabelNumbers
}

export function decodeRowsTask({ arena, kept }: TaskContext, options: DecodeRowsOptions): DecodedRows {
  let tools = kept.get('decode-rows') as Kept | undefined
  if (!tools) {
    const decoder = new SegmentDecoder(arena)
    tools = { decoder, batch: decoder.newBatch(), packer: new RowPacker(arena), numbers: new LabelNumbers(arena) }
    kept.set('decode-rows', tools)
  }
  const { decoder, batch, packer, numbers } = tools
  decoder.decode(options.at, options.bytes, batch, options.where)
  numbers.start()
  packer.start(options.pack)
  const rows = arena.getU32(batch + BATCH_ROWS)
  const labels = arena.getU32(batch + BATCH_LABELS)
  const classes = numbers.add(labels, rows, row => String(arena.f64(labels, rows)[row]))
  if (!packer.pack(batch, rows, classes)) throw windowFull('the rows')
  return { table: packer.table(), labels: numbers.labels, packedBytes: packer.written }
}
