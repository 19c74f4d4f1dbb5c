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
import { DELIMITERS } from '../tables/delimited-text.ts'
import { NamedRows } from '../tables/named-row.ts'
import { type FeatureNames, namedColumns, numberedFeatures } from './given-row.ts'
import { RequestError } from './request-error.ts'
import { ServedTable, TableOfRequest } from './served-table.ts'

/** What is said of a row. */
export interface RowAnswer {
  /** A place in the model's labels. */
  place: number
  /** There until the next row. */
  scores: Float64Array
  probabilities: Float64Array | undefined
}

/** The text of one request, which comes in pieces of whole rows. */
export interface TextOfRequest {
  /** Where the last whole row ends; the last line feed when not given. */
  endOfRows?: (text: Uint8Array) => number
  /** `before`: lines of the request that came before, for complaints. */
  answers(piece: Uint8Array, before: number): Generator<RowAnswer>
}

/** Least room for the text of a request. */
const LEAST_TEXT_BYTES = 4096
/** Loops read words behind the end. */
const BEHIND_TEXT = 64
const LINE_FEED = 10

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
  readonly #table: ServedTable | undefined
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
    this.#settings = { indexBase: model.indexBase, skipBad: false, valueBits: model.values === 'f64' ? 64 : 32 }
    const { schema } = model
    this.names = schema
      ? namedColumns(new NamedRows(schema, this.#settings.valueBits), model.indexBase)
      : numberedFeatures(model.indexBase, this.#format.letters)
    this.#scorer = placeModel(arena, model)
    this.#batches = new BatchScorer(arena, model.transforms.expand?.steps)
    this.#given = new GivenRows(arena)
    const { cut } = this.#format
    this.#table = schema && new ServedTable(arena, schema)
    this.#text = cut.by === 'lines' && !schema ? this.#format.newParser(arena) : undefined
    this.#textRoom = new Region(arena, 'the text of a request')
    this.#calibrations = calibrationsOf(model)
    this.#probabilities = this.#calibrations && new Float64Array(model.labels.length)
  }

  /** A row as text may bring it. */
  get textExample(): string {
    return this.#table ? 'a header, and rows of a table' : this.#format.row
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

  /** The same of whole lines of text: in the format of the data that the model was trained on, or, with `delimiters`, the rows of
   *  a table whose cells one of these separates. */
  openText(delimiters: readonly number[] | undefined): TextOfRequest {
    const table = this.#table
    if (table) {
      const text = new TableOfRequest(table, delimiters ?? DELIMITERS)
      return {
        endOfRows: bytes => text.endOfRows(bytes),
        answers: (piece, before) => {
          const { at, bytes } = this.#place(piece)
          return this.#answers(table.parser, text.chunk(piece, at, bytes), 'line', before)
        },
      }
    }
    if (delimiters) throw new RequestError(415, 'this model was not trained on a table: it knows no columns')
    const parser = this.#text
    if (!parser) throw new RequestError(415, 'this model takes rows as JSON, not as text')
    return {
      answers: (piece, before) => this.#answers(parser, { ...this.#place(piece), first: before === 0 }, 'line', before),
    }
  }

  /** Puts text into memory. It is filled up with blank lines to a power of two: parsers make new room for each length beyond
   *  the longest, and give none back. */
  #place(text: Uint8Array): { at: number; bytes: number } {
    const bytes = Math.max(LEAST_TEXT_BYTES, 2 ** Math.ceil(Math.log2(text.length)))
    const at = this.#textRoom.room(bytes + BEHIND_TEXT)
    const room = this.#arena.bytes(at, bytes)
    room.set(text)
    room.fill(LINE_FEED, text.length)
    return { at, bytes }
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
    const column = bad.column ? `, column ${bad.column}` : ''
    throw new RequestError(
      400,
      `${unit} ${before + bad.line + 1}${column}: found ${bad.found}, expected ${bad.expected}`,
    )
  }
}
