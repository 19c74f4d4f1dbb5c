// One chunk of data to the true and the predicted class of each row, its score, and where in the chunk its text begins.
import { type Label, labelKey } from '../input-formats/labels.ts'
import type { ScorerMemory } from '../model/scorer.ts'
import { BatchScorer } from '../predict/score-batch.ts'
import { type ChunkToParse, type ParsedChunk, rowsOfChunk } from '../rows/chunk-task.ts'
import { declareTask, keep, type TaskContext } from '../threads/task.ts'

export interface LinesToScore extends ChunkToParse {
  labels: Label[]
  expand: string | undefined
  scorer: ScorerMemory
}

export interface ScoredLines extends ParsedChunk {
  /** Places in the model's labels; behind them, places in `others`. */
  truth: Uint32Array
  predicted: Uint32Array
  /** Of the label that is predicted: how much speaks for it. */
  scores: Float32Array
  /** The line of each row in the chunk, counted from 0, and the byte where it begins. */
  lineOf: Uint32Array
  begins: Uint32Array
  /** Labels that the model does not know. */
  others: string[]
}

export const scoreLinesTask = declareTask(import.meta.url, 'score-lines', scoreLines)

const LINE_FEED = 10

async function scoreLines(context: TaskContext, options: LinesToScore): Promise<ScoredLines> {
  const { arena } = context
  const { labels, scorer, expand } = options
  const chunk = await rowsOfChunk(context, options)
  const tools = keep(context, `score lines ${expand}`, () => new BatchScorer(arena, expand))
  const known = new Map(labels.map((label, k) => [labelKey(label), k]))
  const others: string[] = []
  /** The class of each label of the chunk, by its number there. */
  const classOf: number[] = []
  const [truth, predicted, lineOf, scores] = [[], [], [], []] as number[][]
  for (const parsed of chunk.batches()) {
    const { batch, rows } = parsed
    const all = tools.score(scorer, batch, rows)
    const named = arena.u32(chunk.classes(parsed), rows)
    for (const label of chunk.labels.slice(classOf.length)) {
      classOf.push(known.get(labelKey(label)) ?? labels.length - 1 + others.push(label.text))
    }
    for (let r = 0; r < rows; r++) {
      const { place, score } = bestOf(all, r * scorer.vectors, scorer.vectors, labels.length)
      truth.push(classOf[named[r]])
      predicted.push(place)
      scores.push(score)
      lineOf.push(chunk.lineOf(r))
    }
  }
  const begins = beginnings(arena.bytes(options.at, options.bytes))
  return {
    ...{ ...chunk.account(), others, truth: Uint32Array.from(truth), predicted: Uint32Array.from(predicted) },
    ...{ scores: Float32Array.from(scores), lineOf: Uint32Array.from(lineOf) },
    begins: Uint32Array.from(lineOf, line => begins[line] ?? options.bytes),
  }
}

/** The label that is predicted, as `predict` has it. */
export function bestOf(
  scores: Float64Array,
  at: number,
  vectors: number,
  labels: number,
): { place: number; score: number } {
  if (labels === 2) return scores[at] > 0 ? { place: 0, score: scores[at] } : { place: 1, score: -scores[at] }
  let best = 0
  for (let k = 1; k < vectors; k++) if (scores[at + k] > scores[at + best]) best = k
  return { place: best, score: scores[at + best] }
}

/** The byte where each line begins. */
function beginnings(text: Uint8Array): number[] {
  const found = [0]
  for (let end = text.indexOf(LINE_FEED); end >= 0; end = text.indexOf(LINE_FEED, end + 1)) found.push(end + 1)
  return found
}
