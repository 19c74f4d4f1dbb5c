// One chunk of data to its rows as they are, for whoever looks at each of them.
import { BatchFields } from '../numeric/fields/batch.ts'
import { type ChunkToParse, type ParsedChunk, rowsOfChunk } from '../rows/chunk-task.ts'
import { declareTask, type TaskContext } from '../threads/task.ts'

/** Rows of a batch: their entries one after the other, and where each row starts. */
export interface PlainRows {
  starts: Uint32Array
  indices: Uint32Array
  values: Float64Array
  /** Places in the labels of the chunk. */
  classes: Uint32Array
}

export interface ChunkOfRows extends ParsedChunk {
  batches: PlainRows[]
}

export const plainRowsTask = declareTask(import.meta.url, 'plain-rows', plainRows)

async function plainRows(context: TaskContext, options: ChunkToParse): Promise<ChunkOfRows> {
  const { arena } = context
  const chunk = await rowsOfChunk(context, options)
  const batches: PlainRows[] = []
  for (const parsed of chunk.batches()) {
    const { batch, rows, nonzeros } = parsed
    const fields = new BatchFields(arena, batch)
    const values = fields.valueBytes === 8 ? arena.f64(fields.values, nonzeros) : arena.f32(fields.values, nonzeros)
    batches.push({
      starts: arena.u32(fields.starts, rows + 1).slice(),
      indices: arena.u32(fields.indices, nonzeros).slice(),
      values: Float64Array.from(values),
      classes: arena.u32(chunk.classes(parsed), rows).slice(),
    })
  }
  return { ...chunk.account(), batches }
}
