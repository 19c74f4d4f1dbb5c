// What the reader thread does: reads a block's file, checks it, decodes it, and packs its rows into a room of memory.

import { refuseOutside } from '../features/bins.ts'
import { Expander, piecesOf } from '../features/expander.ts'
import type { Arena } from '../numeric/arena.ts'
import { BatchFields } from '../numeric/fields/batch.ts'
import type { Binning } from '../rows/place-space.ts'
import { RowPacker } from '../rows/row-packer.ts'
import { type Address, type ByteCount, READ_BYTES } from '../sizes.ts'
import { declareTask, type TaskContext } from '../threads/task.ts'
import { ReadBuffer } from './block-file.ts'
import { SegmentDecoder, weightsOfBatch } from './codecs.ts'
import { openStore, type Store } from './reader.ts'
import { StoredLabels, unlistedLabel } from './stored-labels.ts'

export interface LoadBlockOptions {
  folder: string
  /** Changes when the store does, so that the reader looks at its manifest again. */
  fingerprint: string
  /** Physical blocks, one after the other into the same room. */
  blocks: number[]
  room: { at: Address; bytes: ByteCount }
  /** Address of u32[rows]. */
  table: Address
  tableRows: number
  /** Address of f64[rows] for the weights of the rows; not there where nobody asks for them, or the store has none. */
  weights?: Address
  /** How rows are expanded, if they are. */
  expand: string | undefined
  /** Read past the page cache. */
  direct: boolean
  /** Map from features to weights, or 0. */
  map: number
  /** Scale factors by weight (f64), or 0. */
  factors: number
  unit: boolean
  /** Keep rows as indices and values. */
  plain: boolean
  /** Numbers of classes, by those of the store, where they are others. */
  classNumbers?: readonly number[] | undefined
  /** Make bins of values, after they are scaled. */
  binning?: Binning | undefined
}

export interface LoadedRows {
  rows: number
  nonzeros: number
  packedBytes: ByteCount
  bytesRead: number
  readMilliseconds: number
  decodeMilliseconds: number
}

interface Kept {
  key: string
  store: Store
  buffer: ReadBuffer
  decoder: SegmentDecoder
  batch: Address
  packer: RowPacker
  labels: StoredLabels
  expander: Expander | undefined
}

export const loadBlockTask = declareTask(import.meta.url, 'load-block', loadBlock)

async function loadBlock({ arena, kept }: TaskContext, options: LoadBlockOptions): Promise<LoadedRows> {
  const key = [options.folder, options.fingerprint, options.expand, options.direct, options.classNumbers].join(' ')
  let tools = kept.get('load-block') as Kept | undefined
  if (tools?.key !== key) {
    const decoder = new SegmentDecoder(arena)
    const store = await openStore(options.folder)
    tools = {
      key,
      store,
      buffer: new ReadBuffer(arena, READ_BYTES, options.direct),
      decoder,
      batch: decoder.newBatch(),
      packer: new RowPacker(arena),
      labels: new StoredLabels(arena, store.manifest.labels, options.classNumbers),
      expander: options.expand === undefined ? undefined : new Expander(arena, options.expand),
    }
    kept.set('load-block', tools)
  }
  const { store, buffer, decoder, batch, packer, labels, expander } = tools
  const plain = options.plain || options.factors !== 0
  const bins = plain ? 0 : (options.binning?.bins ?? 0)
  packer.startRoom(
    { unit: options.unit && options.factors === 0, plain, bins },
    options.room,
    options.table,
    options.tableRows,
  )
  const loaded: LoadedRows = {
    ...{ rows: 0, nonzeros: 0, packedBytes: 0, bytesRead: 0 },
    ...{ readMilliseconds: 0, decodeMilliseconds: 0 },
  }
  for (const block of options.blocks) {
    let waited = performance.now()
    for await (const { at, bytes, where } of store.blockSegments(block, buffer)) {
      const began = performance.now()
      loaded.readMilliseconds += began - waited
      decoder.decode(at, bytes, batch, where)
      if (bins) refuseOutside(arena, batch, where, store.manifest.indexBase)
      const { rows } = new BatchFields(arena, batch)
      // The store's own numbering of its labels is the one that every block shares.
      const { at: codes, listed } = labels.numbersOf(batch, rows)
      if (!listed) throw unlistedLabel(where)
      for (const piece of piecesOf(arena, batch, expander)) {
        if (options.map) arena.numeric.renumberBatch(options.map, piece.batch)
        if (!packer.pack(piece.batch, piece.rows, codes + piece.first * 4)) {
          throw new Error(`${where}: the rows outgrew their room`)
        }
        loaded.nonzeros += piece.nonzeros
      }
      if (options.weights) copyWeights(arena, batch, options.weights + loaded.rows * 8)
      loaded.rows += rows
      loaded.bytesRead += bytes
      waited = performance.now()
      loaded.decodeMilliseconds += waited - began
    }
  }
  const began = performance.now()
  const { table, factors, unit, binning } = options
  if (factors && binning) arena.numeric.binRows(table, 0, loaded.rows, factors, binning.bins, binning.signs, unit)
  else if (factors) arena.numeric.scaleRows(table, 0, loaded.rows, factors, unit)
  loaded.packedBytes = packer.written
  loaded.decodeMilliseconds += performance.now() - began
  return loaded
}

/** Weights of the rows of a batch; rows of a segment that has none weigh 1. */
function copyWeights(arena: Arena, batch: Address, to: Address): void {
  const { rows } = new BatchFields(arena, batch)
  const own = weightsOfBatch(arena, batch)
  const weights = arena.f64(to, rows)
  if (own) weights.set(own)
  else weights.fill(1)
}
