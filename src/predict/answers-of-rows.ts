// What is answered for rows that were scored: text, or numbers, and what an evaluation needs. Rows come from a chunk of data or
// from the blocks of a store.
import type { Label } from '../input-formats/labels.ts'
import { type Calibrations, classProbabilities } from '../model/calibration.ts'
import { RowWeights } from '../rows/row-weights.ts'

export interface AnswerSettings {
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

/** What an evaluation needs of rows; true classes that are not among the labels are −1 − their place in `others`. */
export interface EvaluatedChunk {
  truth: Int32Array
  predicted: Int32Array
  others: Label[]
  /** Of two classes. */
  scores?: Float64Array
  /** Of each row's true class. */
  probabilities?: Float64Array
  /** Of the rows, where they have any. */
  weights?: Float64Array
}

export interface RowsAnswered {
  /** Rows that were told right, or what those weigh. */
  correct: number
  /** What all rows weigh, where they have weights. */
  weight?: number
  /** The output's text, one line a row. */
  text?: Uint8Array
  /** Of a store: where the row of each line stands among all rows. */
  positions?: Float64Array
  /** Place in the labels, and all scores. */
  classes?: Uint32Array
  scores?: Float64Array
  /** Of all classes, if they were asked for along with the numbers. */
  probabilities?: Float64Array
  evaluated?: EvaluatedChunk
}

/** The true classes of rows: places in the labels, below 0 for others; or the numbers that the labels are. */
export type TrueClasses = { places: ArrayLike<number> } | { values: ArrayLike<number> }

export class AnswersOfRows {
  readonly #settings: AnswerSettings
  readonly #vectors: number
  readonly #asNumbers: boolean
  readonly #lineEnds: Buffer[]
  readonly #longestLine: number
  readonly #probabilities: Float64Array
  readonly #evaluated: ChunkForEvaluation | undefined
  readonly #pieces: Uint8Array[] = []
  readonly #classes: number[] = []
  readonly #scores: Float64Array[] = []
  readonly #allProbabilities: Float64Array[] = []
  #correct = 0
  #weight = 0
  #weighted = false

  constructor(settings: AnswerSettings, vectors: number) {
    const { labels, answer, calibrations, evaluate } = settings
    this.#settings = settings
    this.#vectors = vectors
    this.#asNumbers = answer.startsWith('numbers')
    this.#lineEnds = labels.map(label => Buffer.from(`${label.text}\n`))
    this.#longestLine = Math.max(...this.#lineEnds.map(line => line.length))
    this.#probabilities = new Float64Array(labels.length)
    this.#evaluated = evaluate ? new ChunkForEvaluation(labels.length, vectors, calibrations) : undefined
  }

  /** The scores of `count` rows, and their weights if they have any; they need not stay. An evaluation needs places. */
  add(scores: Float64Array, count: number, truth: TrueClasses, weights?: Float64Array): void {
    if (weights) this.#weighted = true
    const { labels, answer } = this.#settings
    const K = this.#vectors
    const places = 'places' in truth ? truth.places : undefined
    const values = 'values' in truth ? truth.values : undefined
    const out = Buffer.allocUnsafeSlow(answer === 'labels' ? count * this.#longestLine : 0)
    let length = 0
    let text = ''
    for (let r = 0; r < count; r++) {
      let best = 0
      if (labels.length === 2) best = scores[r * K] > 0 ? 0 : 1
      else for (let k = 1; k < K; k++) if (scores[r * K + k] > scores[r * K + best]) best = k
      const weight = weights?.[r] ?? 1
      this.#weight += weight
      if (places ? places[r] === best : values![r] === labels[best].value) this.#correct += weight
      if (answer === 'labels') {
        const line = this.#lineEnds[best]
        for (let b = 0; b < line.length; b++) out[length++] = line[b]
      } else if (this.#asNumbers) this.#classes.push(best)
      else if (answer !== 'nothing') text += this.#line(scores, r, best)
      this.#evaluated?.add(r, places![r], best, scores)
    }
    this.#evaluated?.weigh(count, weights)
    if (answer === 'labels') this.#pieces.push(out.subarray(0, length))
    if (text !== '') this.#pieces.push(Buffer.from(text))
    if (this.#asNumbers) this.#scores.push(scores.slice(0, count * K))
    if (answer === 'numbers-and-probabilities') this.#allProbabilities.push(this.#probabilitiesOf(scores, count))
  }

  /** A label with its scores or probabilities. */
  #line(scores: Float64Array, row: number, best: number): string {
    const { labels, answer, calibrations } = this.#settings
    const K = this.#vectors
    let text = labels[best].text
    if (answer === 'labels-and-scores') for (let k = 0; k < K; k++) text += ` ${scores[row * K + k]}`
    else {
      classProbabilities(calibrations!, labels.length, scores, row * K, this.#probabilities)
      for (let k = 0; k < labels.length; k++) text += ` ${this.#probabilities[k]}`
    }
    return `${text}\n`
  }

  /** Of every row, the probabilities of all classes. */
  #probabilitiesOf(scores: Float64Array, count: number): Float64Array {
    const { labels, calibrations } = this.#settings
    const classes = labels.length
    const all = new Float64Array(count * classes)
    for (let r = 0; r < count; r++) {
      classProbabilities(calibrations!, classes, scores, r * this.#vectors, all, r * classes)
    }
    return all
  }

  /** Of all rows; `others` are the classes that the model lacks. */
  finish(others: Label[]): RowsAnswered {
    const { answer } = this.#settings
    const pieces = this.#pieces
    return {
      correct: this.#correct,
      ...(this.#weighted && { weight: this.#weight }),
      ...(answer.startsWith('labels') && { text: pieces.length === 1 ? pieces[0] : Buffer.concat(pieces) }),
      ...(this.#asNumbers && { classes: Uint32Array.from(this.#classes), scores: concatenate(this.#scores) }),
      ...(answer === 'numbers-and-probabilities' && { probabilities: concatenate(this.#allProbabilities) }),
      ...(this.#evaluated && { evaluated: this.#evaluated.finish(others) }),
    }
  }
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
  readonly #weights = new RowWeights()

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

  /** Weights of the rows that were added last. */
  weigh(rows: number, weights: Float64Array | undefined): void {
    this.#weights.add(weights?.slice(0, rows), rows)
  }

  finish(others: Label[]): EvaluatedChunk {
    return {
      truth: Int32Array.from(this.#truth),
      predicted: Int32Array.from(this.#predicted),
      others,
      ...(this.#classes === 2 && { scores: Float64Array.from(this.#scores) }),
      ...(this.#calibrations && { probabilities: Float64Array.from(this.#likelihoods) }),
      ...(this.#weights.some && { weights: this.#weights.together() }),
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
