// One chunk of data to the moments of its features.
import { declareTask, type TaskContext } from '../threads/task.ts'
import { type ChunkToParse, type ParsedChunk, rowsOfChunk } from './chunk-task.ts'
import { type GatheredMoments, MomentsOfPart, type RowsBefore } from './feature-moments.ts'

export interface ChunkWithMoments extends ParsedChunk {
  gathered: GatheredMoments
}

export const momentsChunkTask = declareTask(import.meta.url, 'moments-chunk', momentsOfChunk)

async function momentsOfChunk(
  context: TaskContext,
  options: ChunkToParse & { before: RowsBefore },
): Promise<ChunkWithMoments> {
  const chunk = await rowsOfChunk(context, options)
  const part = new MomentsOfPart(options.before)
  for (const { batch } of chunk.batches()) part.add(context.arena, batch)
  return { ...chunk.account(), gathered: part.finish() }
}
