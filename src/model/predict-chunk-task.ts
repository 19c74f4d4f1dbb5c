// One chunk of text to predictions: parse, score, and write the answers as text, all in one worker.
import { Expander, piecesOf } from '../features/expander.ts'
import { findInputFormat } from '../input-formats/all-input-formats.ts'
import type { BadRow, ChunkParser, ParseSettings } from '../input-formats/input-format.ts'
import { BATCH_LABELS } from '../numeric/layouts.ts'
import type { TaskContext } from '../threads/task.ts'
import { type Calibration, classProbabilities } from './calibration.ts'
import type { ScorerMemory } from './scorer.ts'

export interface PredictChunkOptions {
  format: string
  at: number
  bytes: number
  parse: ParseSettings
  expand: string | undefined
  scorer: ScorerMemory
  labels: { value: number; text: string }[]
  /** What to answer with: the text of the output, or the numbers. */
  answer:
    | 'labels'
    | 'labels-and-scores'
    | 'labels-and-probabilities'
    | 'numbers'
    | 'numbers-and-probabilities'
    | 'nothing'
  /** When probabilities are wanted, as an answer or for the evaluation. */
  calibrations: Calibration[] | undefined
  /** Answer also with what an evaluation needs. */
  evaluate: boolean
}

/** What an evaluation needs of a chunk; true classes that are not among the labels are −1 − their place in `others`. */
export interface EvaluatedChunk {
  truth: Int32Array
  predicted: Int32Array
  others: { value: number; text: string }[]
  /** Of two classes. */
  scores?: Float64Array
  /** Of each row's true class. */
  probabilities?: Float64Array
}

export interface PredictedChunk {
  rows: number
  correct: number
  lines: number
  badRows: number
  bad: BadRow[]
  /** The output's text, one line a row. */
  text?: Uint8Array
  /** Place in the labels, and all scores. */
  classes?: Uint32Array
  scores?: Float64Array
  /** Of all classes, if they were asked for along with the numbers. */
  probabilities?: Float64Array
  evaluated?: EvaluatedChunk
}

interface Kept {
  parser: ChunkParser
  expander: Expander | undefined
  scores: number
  room: number
}

export function predictChunkTask({ arena, kept }: TaskContext, options: PredictChunkOptions): PredictedChunk {
  const key = `predict ${options.format} ${options.expand}`
  let tools = kept.get(key) as Kept | undefined
  if (!tools) {
    tools = {
      parser: findInputFormat(options.format).newParser(arena),
      expander: options.expand === undefined ? undefined : new Expander(arena, options.expand),
      scores: 0,
      room: 0,
    }
    kept.set(key, tools)
  }
  const { parser } = tools
  const { scorer, labels, answer, calibrations } = options
  const K = scorer.vectors
  const numbers = answer.startsWith('numbers')
  const lineEnds = labels.map(label => Buffer.from(`${label.text}\n`, 'latin1'))
  const pieces: Uint8Array[] = []
  const classParts: number[] = []
  const scoreParts: Float64Array[] = []
  const probabilityParts: Float64Array[] = []
  const probabilities = new Float64Array(labels.length)
  const evaluated = options.evaluate ? new ChunkForEvaluation(labels, K, calibrations) : undefined
  let rows = 0
  let correct = 0
  for (const { batch, rows: count } of parser.parse(options.at, options.bytes, options.parse)) {
    if (count * K > tools.room) {
      tools.room = count * K * 2
      tools.scores = arena.allocate(tools.room * 8, 'the scores')
    }
    for (const piece of piecesOf(arena, batch, tools.expander)) {
      if (scorer.map) arena.numeric.renumberBatch(scorer.map, piece.batch)
      arena.numeric.scoreBatch(
        piece.batch,
        scorer.weights,
        scorer.features,
        K,
        scorer.bias,
        scorer.factors,
        scorer.unit,
        tools.scores + piece.first * K * 8,
        scorer.narrow,
      )
    }
    const scores = arena.f64(tools.scores, count * K)
    const truth = arena.f64(arena.getU32(batch + BATCH_LABELS), count)
    const longest = Math.max(...lineEnds.map(line => line.length))
    const out = Buffer.allocUnsafeSlow(answer === 'labels' ? count * longest : 0)
    let length = 0
    let text = ''
    for (let r = 0; r < count; r++) {
      let best = 0
      if (labels.length === 2) best = scores[r * K] > 0 ? 0 : 1
      else for (let k = 1; k < K; k++) if (scores[r * K + k] > scores[r * K + best]) best = k
      if (truth[r] === labels[best].value) correct++
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
      } else if (numbers) classParts.push(best)
      evaluated?.add(r, truth[r], best, scores, parser)
    }
    if (answer === 'labels') pieces.push(out.subarray(0, length))
    if (text !== '') pieces.push(Buffer.from(text, 'latin1'))
    if (numbers) scoreParts.push(scores.slice())
    if (answer === 'numbers-and-probabilities') {
      probabilityParts.push(allProbabilities(calibrations!, labels.length, scores, K))
    }
    rows += count
  }
  const { lines, badRows, bad } = parser
  return {
    rows,
    correct,
    lines,
    badRows,
    bad,
    ...(answer.startsWith('labels') && { text: pieces.length === 1 ? pieces[0] : Buffer.concat(pieces) }),
    ...(numbers && { classes: Uint32Array.from(classParts), scores: concatenate(scoreParts) }),
    ...(answer === 'numbers-and-probabilities' && { probabilities: concatenate(probabilityParts) }),
    ...(evaluated && { evaluated: evaluated.finish() }),
  }
}

/** Of every row, the probabilities of all classes. */
function allProbabilities(
  calibrations: Calibration[],
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
  readonly #calibrations: Calibration[] | undefined
  readonly #numbers: Map<number, number>
  readonly #probabilities: Float64Array
  readonly #others: EvaluatedChunk['others'] = []
  readonly #truth: number[] = []
  readonly #predicted: number[] = []
  readonly #scores: number[] = []
  readonly #likelihoods: number[] = []

  constructor(labels: PredictChunkOptions['labels'], vectors: number, calibrations: Calibration[] | undefined) {
    this.#classes = labels.length
    this.#vectors = vectors
    this.#calibrations = calibrations
    this.#numbers = new Map(labels.map(({ value }, k) => [value, k]))
    this.#probabilities = new Float64Array(labels.length)
  }

  add(row: number, label: number, predicted: number, scores: Float64Array, parser: ChunkParser): void {
    let number = this.#numbers.get(label)
    if (number === undefined) {
      number = -this.#others.push({ value: label, text: parser.labelText(row) })
      this.#numbers.set(label, number)
    }
    this.#truth.push(number)
    this.#predicted.push(predicted)
    const at = row * this.#vectors
    if (this.#classes === 2) this.#scores.push(scores[at])
    if (!this.#calibrations) return
    classProbabilities(this.#calibrations, this.#classes, scores, at, this.#probabilities)
    this.#likelihoods.push(number < 0 ? 0 : this.#probabilities[number])
  }

  finish(): EvaluatedChunk {
    return {
      truth: Int32Array.from(this.#truth),
      predicted: Int32Array.from(this.#predicted),
      others: this.#others,
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
