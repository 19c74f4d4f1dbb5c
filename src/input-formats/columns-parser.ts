// The parser of columns of cells. A schema says what becomes of each column, as it does for delimited text. Cells become rows in
// numeric/assembly/parse-columns.ts; here are its buffers.
import type { Arena } from '../numeric/arena.ts'
import { TableFields } from '../numeric/fields/table.ts'
import { LONGEST_LABEL } from '../numeric/layouts.ts'
import { Region } from '../numeric/region.ts'
import {
  COLUMN_BYTES,
  COLUMN_ROLE,
  ROLE_CATEGORY,
  ROLE_HASHED,
  ROLE_IGNORED,
  ROLE_LABEL,
  ROLE_NUMBER,
  ROLE_WEIGHT,
  ROLE_WORDS,
  TABLE_BYTES,
  UNFIT_CELLS,
} from '../numeric/table-layout.ts'
import type { ByteCount } from '../sizes.ts'
import { type CellsOfChunk, type CellsWanted, placeCells, withSlack } from './cells.ts'
import { type AboutTable, copiedLabel } from './csv.ts'
import type { BadRow } from './input-format.ts'
import { TextParser } from './text-parser.ts'

/** Rows and entries of a batch, at most. A row group of the usual size is one batch, and so is its text. */
const MOST_ROWS = 1 << 17
const MOST_ENTRIES = 1 << 22

const WANTED: Record<number, CellsWanted> = {
  [ROLE_IGNORED]: 'none',
  [ROLE_LABEL]: 'any',
  [ROLE_WEIGHT]: 'numbers',
  [ROLE_NUMBER]: 'numbers',
  [ROLE_CATEGORY]: 'texts',
  [ROLE_HASHED]: 'texts',
  [ROLE_WORDS]: 'texts',
}

/** What a table needs of each column of a file. */
export function wantedBy(arena: Arena, { columnAt, order }: AboutTable): CellsWanted[] {
  return order.map((_, k) => WANTED[arena.getU32(columnAt + k * COLUMN_BYTES + COLUMN_ROLE)])
}

/** What its chunks are, which have so many rows in place of bytes. */
export class ColumnsParser extends TextParser {
  readonly #table: TableFields
  readonly #records: Region
  readonly #labelTexts: Region
  readonly #weightsOf: Region
  readonly #scratch: Region
  #about: AboutTable | undefined
  #longestText = 0
  /** Of the present batch. */
  #firstRow = 0

  constructor(arena: Arena) {
    super(arena)
    this.#table = new TableFields(arena, arena.allocateZeroed(TABLE_BYTES, 'the parser'))
    const room = () => new Region(arena, 'the parser')
    this.#records = room()
    this.#labelTexts = room()
    this.#weightsOf = room()
    this.#scratch = room()
  }

  /** Takes the cells of a chunk, if they can become rows as they are. */
  take({ rows, columns }: CellsOfChunk, about: AboutTable, valueBytes: ByteCount): boolean {
    const { arena } = this
    const table = this.#table
    this.#about = about
    const atOnce = this.rowCapacity(rows)
    table.columns = about.order.length
    table.columnAt = about.columnAt
    table.needsLabel = about.needsLabel ? 1 : 0
    table.cells = placeCells(arena, this.#records, columns)
    // Each label has a line feed behind it.
    table.labelTexts = this.#labelTexts.room(withSlack(atOnce * (LONGEST_LABEL + 1)))
    table.weights = about.weights ? this.#weightsOf.room(atOnce * 8) : 0
    const found = arena.numeric.checkColumns(table.at, rows, valueBytes) >>> 0
    if (found === UNFIT_CELLS) return false
    this.#longestText = found
    table.scratch = this.#scratch.room(withSlack(found))
    return true
  }

  protected override rowCapacity(rows: number): number {
    return Math.min(rows, MOST_ROWS)
  }

  /** Most cells become one entry; a row of many words has its room made. */
  protected override entryCapacity(rows: number): number {
    const columns = this.#about?.order.length ?? 0
    return Math.min(this.rowCapacity(rows) * columns, Math.max(MOST_ENTRIES, columns))
  }

  protected override begin({ bytes: rows }: { bytes: number }): void {
    // Another file may have more columns.
    this.enlarge(this.entryCapacity(rows))
  }

  protected override fill(): void {
    const { arena, state, batch } = this
    const parse = (): void => arena.numeric.parseColumns(state.at, batch.at, this.#table.at)
    batch.features = this.#about!.features
    this.#firstRow = state.cursor
    state.needsRoom = 0
    parse()
    if (state.needsRoom === 0) return
    // A byte of a text becomes an entry at most, and so does each column.
    this.enlarge(this.#about!.order.length * (this.#longestText + 1))
    state.needsRoom = 0
    parse()
  }

  override labelText(row: number): string {
    const { labelAt, labels } = this.batch
    // A number that was no text has none.
    const isText = this.arena.getU32(labelAt + row * 4) !== 0
    return isText ? copiedLabel(this.arena, labelAt, row) : String(this.arena.f64(labels, row + 1)[row])
  }

  override place(row: number) {
    return { line: this.#firstRow + row, column: 1 }
  }

  rowWeights(rows: number): Float64Array | undefined {
    return this.#about?.weights ? this.arena.f64(this.#table.weights, rows).slice() : undefined
  }

  protected override describe(): BadRow {
    throw new Error('cells were checked, and a row is bad')
  }
}
