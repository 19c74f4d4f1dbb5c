// One chunk of data looked at, nothing kept: what `inspect` learns about data.
import { BatchFields } from '../numeric/fields/batch.ts'
import { declareTask, type TaskContext } from '../threads/task.ts'
import { type ChunkToParse, type ParsedChunk, rowsOfChunk } from './chunk-task.ts'

export interface ScannedChunk extends ParsedChunk {
  emptyRows: number
  longestRow: number
  smallest: number
  largest: number
}

export const scanChunkTask = declareTask(import.meta.url, 'scan-chunk', scanChunk)

async function scanChunk(context: TaskContext, options: ChunkToParse): Promise<ScannedChunk> {
  const { arena } = context
  const chunk = await rowsOfChunk(context, options)
  let [emptyRows, longestRow] = [0, 0]
  let smallest = Number.POSITIVE_INFINITY
  let largest = Number.NEGATIVE_INFINITY
  for (const parsed of chunk.batches()) {
    chunk.classes(parsed)
    const { batch, rows, nonzeros } = parsed
    const fields = new BatchFields(arena, batch)
    const starts = arena.u32(fields.starts, rows + 1)
    for (let r = 0; r < rows; r++) {
      const length = starts[r + 1] - starts[r]
      if (length === 0) emptyRows++
      longestRow = Math.max(longestRow, length)
    }
    for (const value of arena.f32(fields.values, nonzeros)) {
      if (value < smallest) smallest = value
      if (value > largest) largest = value
    }
  }
  return { ...chunk.account(), emptyRows, longestRow, smallest, largest }
}
