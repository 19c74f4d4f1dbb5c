// One chunk of data to its rows as they are, for whoever looks at each of them.
import type { Arena } from '../numeric/arena.ts'
import { BatchFields } from '../numeric/fields/batch.ts'
import { type ChunkToParse, type ParsedChunk, rowsOfChunk } from '../rows/chunk-task.ts'
import type { Address } from '../sizes.ts'
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
    batches.push(plainRowsOf(arena, batch, { rows, nonzeros, classes: chunk.classes(parsed) }))
  }
  return { ...chunk.account(), batches }
}

/** Copies the rows of a batch. `classes` is the address of their class numbers. */
export function plainRowsOf(
  arena: Arena,
  batch: Address,
  { rows, nonzeros, classes }: { rows: number; nonzeros: number; classes: Address },
): PlainRows {
  const fields = new BatchFields(arena, batch)
  const values = fields.valueBytes === 8 ? arena.f64(fields.values, nonzeros) : arena.f32(fields.values, nonzeros)
  return {
    starts: arena.u32(fields.starts, rows + 1).slice(),
    indices: arena.u32(fields.indices, nonzeros).slice(),
    values: Float64Array.from(values),
    classes: arena.u32(classes, rows).slice(),
  }
}
