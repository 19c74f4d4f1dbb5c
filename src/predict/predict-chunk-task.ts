// One chunk of data to predictions: parse, score, and write the answers as text, all in one worker.
import { type Label, labelKey } from '../input-formats/labels.ts'
import { type Calibrations, classProbabilities } from '../model/calibration.ts'
import type { ScorerMemory } from '../model/scorer.ts'
import { BatchFields } from '../numeric/fields/batch.ts'
import { type ChunkToParse, type ParsedChunk, rowsOfChunk } from '../rows/chunk-task.ts'
import { declareTask, keep, type TaskContext } from '../threads/task.ts'
import { BatchScorer } from './score-batch.ts'

export interface PredictChunkOptions extends ChunkToParse {
  expand: string | undefined
  scorer: ScorerMemory
  labels: Label[]
  /** What to answer with: the text of the output, or the numbers. */
  answer:
    | 'labels'
    | 'labels-and-scores'
    | 'labels-and-probabilities'
    | 'numbers'
    | 'numbers-and-probabilities'
    | 'nothing'
  /** When probabilities are wanted, as an answer or for the evaluation. */
  calibrations: Calibrations | undefined
  /** Answer also with what an evaluation needs. */
  evaluate: boolean
}

/** What an evaluation needs of a chunk; true classes that are not among the labels are −1 − their place in `others`. */
export interface EvaluatedChunk {
  truth: Int32Array
  predicted: Int32Array
  others: Label[]
  /** Of two classes. */
  scores?: Float64Array
  /** Of each row's true class. */
  probabilities?: Float64Array
}

export interface PredictedChunk extends ParsedChunk {
  correct: number
  /** The output's text, one line a row. */
  text?: Uint8Array
  /** Place in the labels, and all scores. */
  classes?: Uint32Array
  scores?: Float64Array
  /** Of all classes, if they were asked for along with the numbers. */
  probabilities?: Float64Array
  evaluated?: EvaluatedChunk
}

export const predictChunkTask = declareTask(import.meta.url, 'predict-chunk', predictChunk)

async function predictChunk(context: TaskContext, options: PredictChunkOptions): Promise<PredictedChunk> {
  const { arena } = context
  const chunk = await rowsOfChunk(context, options)
  const tools = keep(context, `predict ${options.expand}`, () => new BatchScorer(arena, options.expand))
  const { scorer, labels, answer, calibrations } = options
  const K = scorer.vectors
  const asNumbers = answer.startsWith('numbers')
  const lineEnds = labels.map(label => Buffer.from(`${label.text}\n`))
  const pieces: Uint8Array[] = []
  const classParts: number[] = []
  const scoreParts: Float64Array[] = []
  const probabilityParts: Float64Array[] = []
  const probabilities = new Float64Array(labels.length)
  const evaluated = options.evaluate ? new ChunkForEvaluation(labels.length, K, calibrations) : undefined
  const known =
    evaluated || labels.some(({ value }) => value === null)
      ? new Map(labels.map((label, k) => [labelKey(label), k]))
      : undefined
  const others: Label[] = []
  // Class of each label that the chunk has, as numbered there: −1 − its place among the others, for one that the model lacks.
  const classOf: number[] = []
  let correct = 0
  for (const parsed of chunk.batches()) {
    const { batch, rows: count } = parsed
    const scores = tools.score(scorer, batch, count)
    const truth = arena.f64(new BatchFields(arena, batch).labels, count)
    // Codes of texts do not tell for certain: such labels are numbered, and each is looked up among the model's.
    const named = known && arena.u32(chunk.classes(parsed), count)
    for (const label of known ? chunk.labels.slice(classOf.length) : []) {
      classOf.push(known!.get(labelKey(label)) ?? -others.push({ value: label.value, text: label.text }))
    }
    const longest = Math.max(...lineEnds.map(line => line.length))
    const out = Buffer.allocUnsafeSlow(answer === 'labels' ? count * longest : 0)
    let length = 0
    let text = ''
    for (let r = 0; r < count; r++) {
      let best = 0
      if (labels.length === 2) best = scores[r * K] > 0 ? 0 : 1
      else for (let k = 1; k < K; k++) if (scores[r * K + k] > scores[r * K + best]) best = k
      if (named ? classOf[named[r]] === best : truth[r] === labels[best].value) correct++
      if (answer === 'labels') {
        const line = lineEnds[best]
        for (let b = 0; b < line.length; b++) out[length++] = line[b]
      } else if (answer === 'labels-and-scores') {
        text += labels[best].text
        for (let k = 0; k < K; k++) text += ` ${scores[r * K + k]}`
        text += '\n'
      } else if (answer === 'labels-and-probabilities') {
        text += labels[best].text
        classProbabilities(calibrations!, labels.length, scores, r * K, probabilities)
        for (let k = 0; k < labels.length; k++) text += ` ${probabilities[k]}`
        text += '\n'
      } else if (asNumbers) classParts.push(best)
      evaluated?.add(r, classOf[named![r]], best, scores)
    }
    if (answer === 'labels') pieces.push(out.subarray(0, length))
    if (text !== '') pieces.push(Buffer.from(text))
    if (asNumbers) scoreParts.push(scores.slice())
    if (answer === 'numbers-and-probabilities') {
      probabilityParts.push(allProbabilities(calibrations!, labels.length, scores, K))
    }
  }
  return {
    ...chunk.account(),
    correct,
    ...(answer.startsWith('labels') && { text: pieces.length === 1 ? pieces[0] : Buffer.concat(pieces) }),
    ...(asNumbers && { classes: Uint32Array.from(classParts), scores: concatenate(scoreParts) }),
    ...(answer === 'numbers-and-probabilities' && { probabilities: concatenate(probabilityParts) }),
    ...(evaluated && { evaluated: evaluated.finish(others) }),
  }
}

/** Of every row, the probabilities of all classes. */
function allProbabilities(
  calibrations: Calibrations,
  classes: number,
  scores: Float64Array,
  vectors: number,
): Float64Array {
  const rows = scores.length / vectors
  const all = new Float64Array(rows * classes)
  for (let r = 0; r < rows; r++) classProbabilities(calibrations, classes, scores, r * vectors, all, r * classes)
  return all
}

/** Gathers what an evaluation needs of a chunk. */
class ChunkForEvaluation {
  readonly #classes: number
  readonly #vectors: number
  readonly #calibrations: Calibrations | undefined
  readonly #probabilities: Float64Array
  readonly #truth: number[] = []
  readonly #predicted: number[] = []
  readonly #scores: number[] = []
  readonly #likelihoods: number[] = []

  constructor(classes: number, vectors: number, calibrations: Calibrations | undefined) {
    this.#classes = classes
    this.#vectors = vectors
    this.#calibrations = calibrations
    this.#probabilities = new Float64Array(classes)
  }

  add(row: number, number: number, predicted: number, scores: Float64Array): void {
    this.#truth.push(number)
    this.#predicted.push(predicted)
    const at = row * this.#vectors
    if (this.#classes === 2) this.#scores.push(scores[at])
    if (!this.#calibrations) return
    classProbabilities(this.#calibrations, this.#classes, scores, at, this.#probabilities)
    this.#likelihoods.push(number < 0 ? 0 : this.#probabilities[number])
  }

  finish(others: Label[]): EvaluatedChunk {
    return {
      truth: Int32Array.from(this.#truth),
      predicted: Int32Array.from(this.#predicted),
      others,
      ...(this.#classes === 2 && { scores: Float64Array.from(this.#scores) }),
      ...(this.#calibrations && { probabilities: Float64Array.from(this.#likelihoods) }),
    }
  }
}

function concatenate(parts: Float64Array[]): Float64Array {
  const all = new Float64Array(parts.reduce((sum, part) => sum + part.length, 0))
  let at = 0
  for (const part of parts) {
    all.set(part, at)
    at += part.length
  }
  return all
}
