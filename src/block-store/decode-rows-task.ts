// One segment of a store to row records in the arena.

import { refuseOutside } from '../features/bins.ts'
import { Expander, piecesOf } from '../features/expander.ts'
import { newNameMap } from '../features/kept-names.ts'
import { type LabelCount, LabelNumbers } from '../input-formats/label-numbers.ts'
import { windowFull } from '../numeric/arena.ts'
import { BatchFields } from '../numeric/fields/batch.ts'
import type { ExpansionOptions } from '../rows/parse-rows-task.ts'
import { type PackSettings, RowPacker } from '../rows/row-packer.ts'
import type { Address, ByteCount } from '../sizes.ts'
import { declareTask, type TaskContext } from '../threads/task.ts'
import { SegmentDecoder, weightsOfBatch } from './codecs.ts'

export interface DecodeRowsOptions {
  at: Address
  bytes: ByteCount
  /** Names the segment in errors. */
  where: string
  expansion?: ExpansionOptions
  pack: PackSettings
}

export interface DecodedRows {
  table: Uint32Array
  /** Of the rows as packed. */
  nonzeros: number
  /** Address of this thread's map of features that were hashed so far; 0 when they were too many for it. */
  names: number
  /** As stored: codes in place of texts. */
  labels: LabelCount[]
  packedBytes: ByteCount
  /** Where the store has them. */
  rowWeights?: Float64Array
}

interface Kept {
  decoder: SegmentDecoder
  batch: Address
  packer: RowPacker
  numbers: LabelNumbers
  expander: Expander | undefined
  names: number
}

export const decodeRowsTask = declareTask(import.meta.url, 'decode-rows', decodeRows)

function decodeRows({ arena, kept }: TaskContext, options: DecodeRowsOptions): DecodedRows {
  const { expansion } = options
  const key = `decode-rows ${JSON.stringify(expansion)}`
  let tools = kept.get(key) as Kept | undefined
  if (!tools) {
    const decoder = new SegmentDecoder(arena)
    const names = expansion?.keepNames ? newNameMap(arena) : 0
    tools = {
      decoder,
      batch: decoder.newBatch(),
      packer: new RowPacker(arena),
      numbers: new LabelNumbers(arena),
      expander: expansion && new Expander(arena, expansion.expand, names),
      names,
    }
    kept.set(key, tools)
  }
  const { decoder, batch, packer, numbers, expander, names } = tools
  decoder.decode(options.at, options.bytes, batch, options.where)
  numbers.start()
  packer.start(options.pack)
  if (options.pack.bins) refuseOutside(arena, batch, options.where)
  const { rows } = new BatchFields(arena, batch)
  const classes = numbers.addStored(batch, rows)
  let nonzeros = 0
  for (const piece of piecesOf(arena, batch, expander)) {
    if (!packer.pack(piece.batch, piece.rows, classes + piece.first * 4)) throw windowFull('the rows')
    nonzeros += piece.nonzeros
  }
  const rowWeights = weightsOfBatch(arena, batch)?.slice()
  return {
    table: packer.table(),
    nonzeros,
    names: expander?.namesComplete ? names : 0,
    labels: numbers.labels,
    packedBytes: packer.written,
    ...(rowWeights && { rowWeights }),
  }
}
