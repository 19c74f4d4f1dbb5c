// One chunk of data to its outliers: parse, score, and list the rows whose own class has given them up, in one worker.
import { type Label, labelKey } from '../input-formats/labels.ts'
import type { ScorerMemory } from '../model/scorer.ts'
import { type ChunkToParse, type ParsedChunk, rowsOfChunk } from '../rows/chunk-task.ts'
import { declareTask, keep, type TaskContext } from '../threads/task.ts'
import { BatchScorer } from './score-batch.ts'

export interface OutliersChunkOptions extends ChunkToParse {
  expand: string | undefined
  scorer: ScorerMemory
  labels: Label[]
  /** Rows of a margin below it are outliers. */
  limit: number
}

/** A row of the chunk: its number and its line there, both counted from 0. */
export interface ChunkOutlier {
  row: number
  line: number
  label: string
  margin: number
}

export interface OutliersOfChunk extends ParsedChunk {
  outliers: ChunkOutlier[]
}

/** The margin of a row of one of a model's labels: of two classes there is one score, which is that of the first. */
export function ownMargin(scores: Float64Array, row: number, place: number, classes: number): number {
  if (classes === 2) return place === 0 ? scores[row] : -scores[row]
  return scores[row * classes + place]
}

export const outliersChunkTask = declareTask(import.meta.url, 'outliers-chunk', outliersOfChunk)

async function outliersOfChunk(context: TaskContext, options: OutliersChunkOptions): Promise<OutliersOfChunk> {
  const { arena } = context
  const { scorer, labels, limit, expand } = options
  const chunk = await rowsOfChunk(context, options)
  const tools = keep(context, `outliers ${expand}`, () => new BatchScorer(arena, expand))
  const places = new Map(labels.map((label, k) => [labelKey(label), k]))
  const outliers: ChunkOutlier[] = []
  let before = 0
  for (const batch of chunk.batches()) {
    const classes = arena.u32(chunk.classes(batch), batch.rows).slice()
    const placeOf = chunk.labels.map(label => places.get(labelKey(label)))
    const scores = tools.score(scorer, batch.batch, batch.rows)
    for (let r = 0; r < batch.rows; r++) {
      const place = placeOf[classes[r]]
      if (place === undefined) continue
      const margin = ownMargin(scores, r, place, labels.length)
      if (margin < limit) outliers.push({ row: before + r, line: chunk.lineOf(r), label: labels[place].text, margin })
    }
    before += batch.rows
  }
  return { ...chunk.account(), outliers }
}
