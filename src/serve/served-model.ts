// A model in a memory of its own, ready to score rows: by the same loops as `predict`, so that scores have the same bits.
import { findInputFormat, usualInputFormat } from '../input-formats/all-input-formats.ts'
import type { ChunkBytes, ChunkParser, InputFormat, ParseSettings } from '../input-formats/input-format.ts'
import { type MadeRow, RowsParser } from '../input-formats/rows-parser.ts'
import { type Calibrations, calibrationsOf, classProbabilities } from '../model/calibration.ts'
import { type Model, predictClass } from '../model/model.ts'
import { placeModel, type ScorerMemory } from '../model/scorer.ts'
import { Arena } from '../numeric/arena.ts'
import { Region } from '../numeric/region.ts'
import { BatchScorer } from '../predict/score-batch.ts'
import { type FeatureNames, numberedFeatures } from './given-row.ts'
import { RequestError } from './request-error.ts'

/** What is said of a row. */
export interface RowAnswer {
  /** A place in the model's labels. */
  place: number
  /** There until the next row. */
  scores: Float64Array
  probabilities: Float64Array | undefined
}

/** Rows that are there already, for the checks and the batches that parsers share. */
class GivenRows extends RowsParser {
  given: Iterable<MadeRow> = []
  protected override rows(): Iterable<MadeRow> {
    return this.given
  }
}

export class ServedModel {
  readonly model: Model
  readonly loadedAt = new Date()
  readonly names: FeatureNames
  readonly #arena: Arena
  /** Where the arena ended before this model. */
  readonly #mark: number
  readonly #scorer: ScorerMemory
  readonly #batches: BatchScorer
  readonly #given: GivenRows
  readonly #format: InputFormat
  readonly #text: ChunkParser | undefined
  readonly #textRoom: Region
  readonly #settings: ParseSettings
  readonly #calibrations: Calibrations | undefined
  readonly #probabilities: Float64Array | undefined

  /** Into an arena of its own, or one that has been left. */
  constructor(model: Model, arena = new Arena()) {
    this.#arena = arena
    this.#mark = arena.mark()
    this.model = model
    this.#format = model.inputFormat === undefined ? usualInputFormat : findInputFormat(model.inputFormat)
    this.names = numberedFeatures(model.indexBase, this.#format.letters)
    this.#scorer = placeModel(arena, model)
    this.#batches = new BatchScorer(arena, model.transforms.expand?.steps)
    this.#given = new GivenRows(arena)
    const { cut } = this.#format
    // A format whose first line says what the columns are has no lines that stand alone.
    this.#text = cut.by === 'lines' && !cut.about ? this.#format.newParser(arena) : undefined
    this.#textRoom = new Region(arena, 'the text of a request')
    this.#settings = { indexBase: model.indexBase, skipBad: false, valueBits: model.values === 'f64' ? 64 : 32 }
    this.#calibrations = calibrationsOf(model)
    this.#probabilities = this.#calibrations && new Float64Array(model.labels.length)
  }

  /** A row as text may bring it. */
  get textExample(): string {
    return this.#format.row
  }

  /** Gives the arena back when nobody will ask this model any more. */
  leaveArena(): Arena {
    this.#arena.release(this.#mark)
    return this.#arena
  }

  get hasProbabilities(): boolean {
    return this.#calibrations !== undefined
  }

  /** `before`: how many rows of the request came before, for complaints. */
  answerRows(rows: Iterable<MadeRow>, before: number): Generator<RowAnswer> {
    this.#given.given = rows
    return this.#answers(this.#given, { at: 0, bytes: 0, first: true }, 'row', before)
  }

  /** The same of whole lines of text, in the format of the data that the model was trained on. */
  answerText(text: Uint8Array, before: number): Generator<RowAnswer> {
    if (!this.#text) throw new RequestError(415, 'this model takes rows as JSON, not as text')
    const at = this.#textRoom.room(text.length)
    this.#arena.bytes(at, text.length).set(text)
    return this.#answers(this.#text, { at, bytes: text.length, first: before === 0 }, 'line', before)
  }

  *#answers(parser: ChunkParser, chunk: ChunkBytes, unit: string, before: number): Generator<RowAnswer> {
    const { vectors, labels } = this.model
    const probabilities = this.#probabilities
    for (const { batch, rows } of parser.parse(chunk, this.#settings)) {
      const all = this.#batches.score(this.#scorer, batch, rows)
      for (let r = 0; r < rows; r++) {
        const scores = all.subarray(r * vectors, (r + 1) * vectors)
        if (probabilities) classProbabilities(this.#calibrations!, labels.length, scores, 0, probabilities)
        yield { place: predictClass(this.model, scores), scores, probabilities }
      }
    }
    const [bad] = parser.bad
    if (!bad) return
    const column = bad.column === undefined ? '' : `, column ${bad.column}`
    throw new RequestError(
      400,
      `${unit} ${before + bad.line + 1}${column}: found ${bad.found}, expected ${bad.expected}`,
    )
  }
}
