// What parsers in JavaScript have in common: a format hands over row after row, and here they are checked and become batches.
import type { Arena } from '../numeric/arena.ts'
import { BatchFields } from '../numeric/fields/batch.ts'
import { BATCH_BYTES, LONGEST_LABEL, MOST_FEATURES, PARSE_ERROR_ROOM } from '../numeric/layouts.ts'
import { roundUp } from '../numeric/rounding.ts'
import type { BadRow, ChunkBytes, ChunkParser, ParsedBatch, ParseSettings, Place } from './input-format.ts'
import { labelCode, labelOf, textLabelComplaint } from './labels.ts'

/** A row as a format hands it over. Zeros may be among the values: they are left out. */
export interface MadeRow {
  label: number | string
  /** Numbers of features, from 0 on and rising. */
  indices: ArrayLike<number>
  values: ArrayLike<number>
  /** What the cost of the row is multiplied by; 1 when not given. */
  weight?: number
  /** Where it begins in its line, from 1 on, where rows are text. */
  column?: number
}

/** A row that a format cannot make: the words for it, and the column where rows are text. */
export type RefusedRow = Omit<BadRow, 'line'>

/** Rows and entries of a batch: fixed numbers, so that where a chunk is cut into batches depends on the chunk alone. */
const BATCH_ROOM = 1 << 14
const ENTRY_ROOM = 1 << 18

const NOT_FINITE = /^[+-]?(nan|inf|infinity)$/i

export abstract class RowsParser implements ChunkParser {
  lines = 0
  badRows = 0
  bad: BadRow[] = []
  readonly #arena: Arena
  readonly #batch: BatchFields
  #valueBytes = 0
  #entryRoom = 0
  /** Where the bytes of labels of text are, one after the other, each closed by a line feed. */
  #texts = 0
  #textsFilled = 0
  readonly #codes = new Map<string, { at: number; code: bigint }>()
  /** Of the rows of the batch. */
  readonly #labels: string[] = []
  readonly #places: number[] = []
  /** Empty as long as every row has the weight 1. */
  readonly #weights: number[] = []

  constructor(arena: Arena) {
    this.#arena = arena
    this.#batch = new BatchFields(arena, arena.allocateZeroed(BATCH_BYTES, 'the parser'))
  }

  /** The rows of a chunk, in order. A row that stands on several lines adds the others to `lines`. */
  protected abstract rows(bytes: Uint8Array, chunk: ChunkBytes): Iterable<MadeRow | RefusedRow>

  *parse(chunk: ChunkBytes, settings: ParseSettings): Generator<ParsedBatch> {
    this.lines = 0
    this.badRows = 0
    this.bad = []
    this.#makeRoom(ENTRY_ROOM, settings.valueBits / 8)
    this.#start()
    let features = 0
    let entries = 0
    for (const row of this.rows(this.#arena.bytes(chunk.at, chunk.bytes), chunk)) {
      const refused = 'found' in row ? row : complaint(row, settings)
      if (refused) {
        this.badRows++
        const column = row.column === undefined ? {} : { column: row.column }
        if (this.bad.length < PARSE_ERROR_ROOM) this.bad.push({ line: this.lines, ...column, ...refused })
        if (!settings.skipBad) break
      } else {
        const made = row as MadeRow
        const length = made.indices.length
        if (this.#labels.length > 0 && (this.#labels.length === BATCH_ROOM || entries + length > ENTRY_ROOM)) {
          yield this.#finish(entries, features)
          this.#start()
          entries = features = 0
        }
        if (length > this.#entryRoom) this.#makeRoom(length, this.#valueBytes)
        entries = this.#add(made, entries)
        if (length > 0) features = Math.max(features, made.indices[length - 1] + 1)
      }
      this.lines++
    }
    if (this.#labels.length > 0) yield this.#finish(entries, features)
  }

  labelText(row: number): string {
    return this.#labels[row]
  }

  place(row: number): Place {
    return { line: this.#places[row] }
  }

  rowWeights(rows: number): Float64Array | undefined {
    if (this.#weights.length === 0) return undefined
    return Float64Array.from({ length: rows }, (_, row) => this.#weights[row] ?? 1)
  }

  /** Buffers for so many entries; what is in the batch is lost. */
  #makeRoom(entries: number, valueBytes: number): void {
    if (entries <= this.#entryRoom && valueBytes === this.#valueBytes) return
    const arena = this.#arena
    // The arena frees nothing, so growth doubles: rows that grow one by one would fill it.
    const grown = entries > this.#entryRoom ? 2 * this.#entryRoom : this.#entryRoom
    this.#entryRoom = Math.max(entries, grown)
    this.#valueBytes = valueBytes
    const room = this.#entryRoom
    const labels = arena.allocate(roundUp(room * valueBytes, 8) + room * 4 + BATCH_ROOM * 16 + 64, 'the parser')
    const values = labels + BATCH_ROOM * 8
    const indices = values + roundUp(room * valueBytes, 8)
    const starts = indices + roundUp(room * 4, 8)
    const batch = this.#batch
    batch.labels = labels
    batch.values = values
    batch.indices = indices
    batch.starts = starts
    batch.labelAt = starts + (BATCH_ROOM + 2) * 4
    batch.valueBytes = valueBytes
    arena.setU32(starts, 0)
  }

  #start(): void {
    this.#labels.length = 0
    this.#places.length = 0
    this.#weights.length = 0
    this.#codes.clear()
    this.#textsFilled = 0
    this.#arena.setU32(this.#batch.starts, 0)
  }

  /** Writes a row behind the entries that there are; how many there are then. */
  #add({ label, indices, values, weight = 1 }: MadeRow, before: number): number {
    const arena = this.#arena
    const row = this.#labels.length
    const indicesAt = arena.u32(this.#batch.indices + before * 4, indices.length)
    const valuesAt = this.#batch.values + before * this.#valueBytes
    const kept = this.#valueBytes === 8 ? arena.f64(valuesAt, indices.length) : arena.f32(valuesAt, indices.length)
    let count = 0
    for (let k = 0; k < indices.length; k++) {
      kept[count] = values[k]
      indicesAt[count] = indices[k]
      if (kept[count] !== 0) count++
    }
    arena.setU32(this.#batch.starts + (row + 1) * 4, before + count)
    const { value, text } = typeof label === 'string' ? labelOf(label) : { value: label, text: String(label) }
    const labelAt = this.#batch.labels + row * 8
    if (value === null) {
      const { at, code } = this.#textCode(text)
      arena.u64(labelAt, 1)[0] = code
      arena.setU32(this.#batch.labelAt + row * 4, at)
    } else arena.setF64(labelAt, value)
    if (weight !== 1 || this.#weights.length > 0) {
      while (this.#weights.length < row) this.#weights.push(1)
      this.#weights.push(weight)
    }
    this.#labels.push(text)
    this.#places.push(this.lines)
    return before + count
  }

  /** The code of a label of text, and where its bytes stand: codes alone do not tell labels apart for certain. */
  #textCode(text: string): { at: number; code: bigint } {
    let found = this.#codes.get(text)
    if (!found) {
      if (this.#texts === 0) this.#texts = this.#arena.allocate(BATCH_ROOM * (LONGEST_LABEL + 1), 'labels of text')
      const bytes = Buffer.from(`${text}\n`)
      found = { at: this.#texts + this.#textsFilled, code: BigInt(`0x${labelCode(text)}`) }
      this.#arena.bytes(found.at, bytes.length).set(bytes)
      this.#textsFilled += bytes.length
      this.#codes.set(text, found)
    }
    return found
  }

  #finish(nonzeros: number, features: number): ParsedBatch {
    const rows = this.#labels.length
    this.#batch.rows = rows
    this.#batch.nonzeros = nonzeros
    this.#batch.features = features
    return { batch: this.#batch.at, rows, nonzeros, features }
  }
}

/** What is wrong with a row, or undefined. */
function complaint({ label, indices, values }: MadeRow, settings: ParseSettings): RefusedRow | undefined {
  return labelComplaint(label) ?? entriesComplaint(indices, values, settings)
}

function labelComplaint(label: number | string): RefusedRow | undefined {
  const found = `the label ${JSON.stringify(String(label).slice(0, 40))}`
  const { value, text } = typeof label === 'string' ? labelOf(label) : { value: label, text: '' }
  if (value !== null) {
    return Number.isFinite(value) ? undefined : { found, expected: 'a finite number as label' }
  }
  if (NOT_FINITE.test(text)) return { found, expected: 'a finite number as label' }
  const wrong = textLabelComplaint(text)
  return wrong === undefined ? undefined : { found, expected: `a label that is a number or a word; ${wrong}` }
}

function entriesComplaint(
  indices: ArrayLike<number>,
  values: ArrayLike<number>,
  { indexBase, valueBits }: ParseSettings,
): RefusedRow | undefined {
  if (values.length !== indices.length) {
    return { found: `${indices.length} features with ${values.length} values`, expected: 'a value for each feature' }
  }
  for (let k = 0; k < indices.length; k++) {
    const index = indices[k]
    if (!(Number.isInteger(index) && index >= 0 && index < MOST_FEATURES)) {
      const range = `a whole number from ${indexBase} to ${MOST_FEATURES - 1 + indexBase}`
      return { found: `feature ${index + indexBase}`, expected: range }
    }
    if (k > 0 && index <= indices[k - 1]) {
      const found = `feature ${index + indexBase} after feature ${indices[k - 1] + indexBase}`
      return { found, expected: 'features that rise within a row' }
    }
    const value = values[k]
    if (Number.isFinite(valueBits === 64 ? value : Math.fround(value))) continue
    const found = `the value ${value} of feature ${index + indexBase}`
    if (!Number.isFinite(value)) {
      return {
        found,
        expected: 'a finite number',
        advice: 'clean the data, or step over such rows with --on-bad-row skip',
      }
    }
    return {
      found,
      expected: 'a number that a 32-bit float can hold (below 3.4e38)',
      advice: 'scale the feature down, or keep 64-bit values: --values f64 for train and ingest',
    }
  }
  return undefined
}
