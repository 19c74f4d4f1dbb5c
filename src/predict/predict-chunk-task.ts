// One chunk of data to predictions: parse, score, and write the answers as text, all in one worker.
import { type Label, labelKey } from '../input-formats/labels.ts'
import type { ScorerMemory } from '../model/scorer.ts'
import { BatchFields } from '../numeric/fields/batch.ts'
import { type ChunkToParse, type ParsedChunk, rowsOfChunk } from '../rows/chunk-task.ts'
import { declareTask, keep, type TaskContext } from '../threads/task.ts'
import { type AnswerSettings, AnswersOfRows, type RowsAnswered } from './answers-of-rows.ts'
import { BatchScorer } from './score-batch.ts'

export interface PredictChunkOptions extends ChunkToParse, AnswerSettings {
  expand: string | undefined
  scorer: ScorerMemory
}

export type PredictedChunk = ParsedChunk & RowsAnswered

export const predictChunkTask = declareTask(import.meta.url, 'predict-chunk', predictChunk)

async function predictChunk(context: TaskContext, options: PredictChunkOptions): Promise<PredictedChunk> {
  const { arena } = context
  const chunk = await rowsOfChunk(context, options)
  const tools = keep(context, `predict ${options.expand}`, () => new BatchScorer(arena, options.expand))
  const { scorer, labels, evaluate } = options
  const answers = new AnswersOfRows(options, scorer.vectors)
  // Codes of texts do not tell for certain: such labels are numbered, and each is looked up among the model's.
  const known =
    evaluate || labels.some(({ value }) => value === null)
      ? new Map(labels.map((label, k) => [labelKey(label), k]))
      : undefined
  const others: Label[] = []
  // Class of each label that the chunk has, as numbered there: −1 − its place among the others, for one that the model lacks.
  const classOf: number[] = []
  for (const parsed of chunk.batches()) {
    const { batch, rows: count } = parsed
    const scores = tools.score(scorer, batch, count)
    const weights = chunk.weights(parsed)
    if (!known) {
      answers.add(scores, count, { values: arena.f64(new BatchFields(arena, batch).labels, count) }, weights)
      continue
    }
    const named = arena.u32(chunk.classes(parsed), count)
    for (const label of chunk.labels.slice(classOf.length)) {
      classOf.push(known.get(labelKey(label)) ?? -others.push({ value: label.value, text: label.text }))
    }
    answers.add(scores, count, { places: Int32Array.from(named, number => classOf[number]) }, weights)
  }
  return { ...chunk.account(), ...answers.finish(others) }
}
