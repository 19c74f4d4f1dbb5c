// One chunk of data to row records in the arena: what a worker does while the main thread reads the next chunk.
import { Expander, piecesOf } from '../features/expander.ts'
import { newNameMap } from '../features/kept-names.ts'
import { windowFull } from '../numeric/arena.ts'
import { declareTask, keep, type TaskContext } from '../threads/task.ts'
import { type ChunkToParse, type ParsedChunk, rowsOfChunk } from './chunk-task.ts'
import { type PackSettings, RowPacker } from './row-packer.ts'
import { RowWeights } from './row-weights.ts'

export interface ParseRowsOptions extends ChunkToParse {
  expansion?: ExpansionOptions | undefined
  pack: PackSettings
}

/** How rows are expanded: plain data. */
export interface ExpansionOptions {
  expand: string
  /** Note which features there are before they are hashed. */
  keepNames: boolean
}

/** Its nonzeros are those of the rows as packed, its features those of the data before rows are expanded. */
export interface ParsedRows extends ParsedChunk {
  /** Addresses of the row records, in the order of the data. The class of a record is a place in the labels. */
  table: Uint32Array
  /** Address of this thread's map of features that were hashed so far; 0 when they were too many for it. */
  names: number
  /** Bytes of row records written. */
  packedBytes: number
  /** Of the rows, where the data has them. */
  rowWeights?: Float64Array
  /** Of the chunk's bytes. */
  hash: bigint
}

export const parseRowsTask = declareTask(import.meta.url, 'parse-rows', parseRows)

async function parseRows(context: TaskContext, options: ParseRowsOptions): Promise<ParsedRows> {
  const { arena } = context
  const { expansion, pack, at, bytes } = options
  const chunk = await rowsOfChunk(context, options)
  const packer = keep(context, 'parse-rows packer', () => new RowPacker(arena))
  const { expander, names } = keep(context, `parse-rows expander ${JSON.stringify(expansion)}`, () => {
    const names = expansion?.keepNames ? newNameMap(arena) : 0
    return { expander: expansion && new Expander(arena, expansion.expand, names), names }
  })
  packer.start(pack)
  let nonzeros = 0
  const weights = new RowWeights()
  for (const batch of chunk.batches(Boolean(pack.bins))) {
    const classes = chunk.classes(batch)
    weights.add(chunk.weights(batch), batch.rows)
    for (const piece of piecesOf(arena, batch.batch, expander)) {
      if (!packer.pack(piece.batch, piece.rows, classes + piece.first * 4)) throw windowFull('the rows')
      nonzeros += piece.nonzeros
    }
  }
  return {
    ...chunk.account(),
    nonzeros,
    table: packer.table(),
    names: expander?.namesComplete ? names : 0,
    packedBytes: packer.written,
    ...(weights.some && { rowWeights: weights.together() }),
    hash: arena.numeric.xxh64(at, bytes),
  }
}
