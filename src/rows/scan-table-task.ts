// One chunk of a table looked at: of each column whether its cells are numbers, how many are missing, and its values.
import { findInputFormat } from '../input-formats/all-input-formats.ts'
import { type CellsOfChunk, type CellsWanted, newCellRooms, placeCells } from '../input-formats/cells.ts'
import { describeRow } from '../input-formats/csv.ts'
import { cellsOfChunk, TextRoom } from '../input-formats/decoded-table.ts'
import type { BadRow } from '../input-formats/input-format.ts'
import type { Arena } from '../numeric/arena.ts'
import { ParseFields } from '../numeric/fields/parse.ts'
import { ScannedFields } from '../numeric/fields/scanned.ts'
import { TableFields } from '../numeric/fields/table.ts'
import { PARSE_BYTES, PARSE_ERROR_BYTES, PARSE_ERROR_ROOM, PARSE_ERRORS } from '../numeric/layouts.ts'
import { Region } from '../numeric/region.ts'
import {
  LOOK_AGAIN,
  LOOK_AWAY,
  LOOK_COUNT,
  LOOK_KIND,
  LOOK_VALUES,
  SCANNED_BYTES,
  TABLE_BYTES,
} from '../numeric/table-layout.ts'
import type { Address } from '../sizes.ts'
import { MOST_VALUES } from '../tables/make-schema.ts'
import type { MatchedText } from '../tables/match-columns.ts'
import { declareTask, keep, type TaskContext } from '../threads/task.ts'
import type { ChunkToParse, ParsedChunk } from './chunk-task.ts'
import { FIRST_ROOM } from './value-list.ts'

/** What is to be learnt of a column: nothing, whether it has numbers, its values, or how many cells there are of each kind. */
export type Look = 'away' | 'kind' | 'values' | 'count'

const WANTED: Record<Look, CellsWanted> = { away: 'none', kind: 'any', values: 'texts', count: 'any' }
const LOOKS: Record<Look, number> = { away: LOOK_AWAY, kind: LOOK_KIND, values: LOOK_VALUES, count: LOOK_COUNT }

/** What a chunk shows of a column. */
export interface ColumnOfChunk {
  missing: number
  numbers: number
  texts: number
  /** The first cell that is no number, and its line in the chunk. */
  firstText?: { text: string; line: number }
  /** Where values were listed: the address and the length of each in the chunk; none where they are more than are kept. */
  values?: Uint32Array | 'tooMany'
}

export interface ScannedTable extends ParsedChunk {
  /** In the order of the schema. */
  columns: ColumnOfChunk[]
}

export interface ScanTableOptions extends ChunkToParse {
  text: MatchedText
  /** Of each column of the schema. */
  looks: Look[]
}

export const scanTableTask = declareTask(import.meta.url, 'scan-table', scanTable)

async function scanTable(context: TaskContext, options: ScanTableOptions): Promise<ScannedTable> {
  const scanner = keep(context, 'table scanner', () => new TableScanner(context.arena))
  const { cut } = findInputFormat(options.format.name)
  if (cut.by === 'lines' || !cut.tables) return scanner.scan(options)
  // Values are looked up in the text after this task: it stays until the slot of the chunk has another one.
  const ofSlot = keep(context, `texts of ${options.at}`, () => {
    const room = () => new Region(context.arena, 'decoded columns')
    return { texts: room(), digits: room() }
  })
  const rooms = keep(context, 'cells to scan', () => newCellRooms(context.arena))
  const wanted = options.text.order.map(place => (place < 0 ? 'none' : WANTED[options.looks[place]]))
  const cells = await cellsOfChunk(cut.tables, { ...rooms, ...ofSlot }, options, wanted)
  if (cells) return scanner.scan(options, cells)
  const room = keep(context, `text of ${options.at}`, () => new TextRoom(context.arena))
  return scanner.scan({ ...options, ...(await room.decode(cut.tables, options)) })
}

interface List {
  table: Address
  slots: number
  entries: Address
}

class TableScanner {
  readonly #arena: Arena
  readonly #state: ParseFields
  readonly #table: TableFields
  readonly #records: Region
  #columnRoom = 0
  #columnAt = 0
  /** Lists of columns, kept between chunks. */
  readonly #lists: List[] = []

  constructor(arena: Arena) {
    this.#arena = arena
    this.#state = new ParseFields(arena, arena.allocateZeroed(PARSE_BYTES, 'a scan'))
    this.#table = new TableFields(arena, arena.allocateZeroed(TABLE_BYTES, 'a scan'))
    this.#records = new Region(arena, 'a scan')
  }

  /** `cells`: of a chunk that is not text. */
  scan(options: ScanTableOptions, cells?: CellsOfChunk): ScannedTable {
    const { text, looks } = options
    this.#makeRoom(options)
    if (cells) this.#table.cells = placeCells(this.#arena, this.#records, cells.columns)
    const asked = text.order.map(place => (place < 0 ? 'away' : looks[place]))
    let columns = asked.map((look, k) => this.#column(k, look))
    this.#pass(options, columns, cells?.rows)
    // Where numbers came before the first text, they are values too.
    const again = columns.map(({ look }) => look === LOOK_AGAIN)
    if (again.includes(true)) {
      columns = asked.map((look, k) => this.#column(k, again[k] ? 'values' : look))
      this.#pass(options, columns, cells?.rows)
    }
    return this.#result(options, columns)
  }

  #makeRoom({ text }: ScanTableOptions): void {
    const arena = this.#arena
    if (text.order.length > this.#columnRoom) {
      this.#columnRoom = text.order.length
      this.#columnAt = arena.allocate(this.#columnRoom * SCANNED_BYTES, 'a scan')
    }
  }

  /** The record of a column, with nothing learnt yet. */
  #column(k: number, look: Look): ScannedFields {
    const arena = this.#arena
    const column = new ScannedFields(arena, this.#columnAt + k * SCANNED_BYTES)
    arena.bytes(column.at, SCANNED_BYTES).fill(0)
    column.look = LOOKS[look]
    if (look !== 'kind' && look !== 'values') return column
    this.#lists[k] ??= this.#list(FIRST_ROOM)
    const { table, slots, entries } = this.#lists[k]
    arena.bytes(table, slots * 4).fill(0)
    column.table = table
    column.mask = slots - 1
    column.entries = entries
    column.room = slots / 2
    return column
  }

  #list(values: number): List {
    const slots = values * 2
    const table = this.#arena.allocateZeroed(slots * 4, 'values of a column')
    return { table, slots, entries: this.#arena.allocate(values * 8, 'values of a column') }
  }

  /** `rows`: of cells. */
  #pass({ at, bytes, first, text, parse }: ScanTableOptions, columns: ScannedFields[], rows?: number): void {
    const { numeric } = this.#arena
    const scan = rows === undefined ? numeric.scanTable : numeric.scanColumns
    const state = this.#state
    const table = this.#table
    table.columns = columns.length
    table.columnAt = this.#columnAt
    table.delimiter = text.delimiter
    state.cursor = rows === undefined ? at + (first ? text.headerBytes : 0) : 0
    state.lines = rows === undefined && first ? text.headerLines : 0
    state.end = rows ?? at + bytes
    state.skipBad = parse.skipBad ? 1 : 0
    state.badRows = 0
    for (;;) {
      scan(state.at, table.at)
      if (state.needsRoom === 0) return
      columns.forEach((column, k) => {
        if (column.room > 0 && column.count === column.room) this.#grow(column, k)
      })
      if (state.cursor >= state.end) return
    }
  }

  #grow(column: ScannedFields, k: number): void {
    if (column.count > MOST_VALUES) {
      column.look = LOOK_COUNT
      return
    }
    const list = this.#list(column.count * 4)
    this.#arena.numeric.growList(column.at, list.table, list.slots, list.entries)
    column.room = list.slots / 2
    this.#lists[k] = list
  }

  #result(chunk: ScanTableOptions, columns: ScannedFields[]): ScannedTable {
    const { at, bytes, text, looks } = chunk
    const state = this.#state
    const found: ColumnOfChunk[] = looks.map(() => ({ missing: 0, numbers: 0, texts: 0 }))
    for (const [k, column] of columns.entries()) {
      const place = text.order[k]
      if (place < 0) continue
      const { missing, numbers, texts } = column
      found[place] = { missing, numbers, texts }
      if (texts > 0) found[place].firstText = { text: this.#firstText(column), line: column.firstLine }
      if (column.count > MOST_VALUES) found[place].values = 'tooMany'
      else if (column.look === LOOK_VALUES)
        found[place].values = this.#arena.u32(column.entries, column.count * 2).slice()
    }
    const bad: BadRow[] = []
    for (let k = 0; k < Math.min(state.badRows, PARSE_ERROR_ROOM); k++) {
      const [code, line, address, lineStart] = this.#arena.u32(state.at + PARSE_ERRORS + k * PARSE_ERROR_BYTES, 4)
      bad.push(describeRow(this.#arena, { code, line, address, lineStart }, text, at + bytes))
    }
    const account = { rows: 0, nonzeros: 0, features: 0, labels: [], lines: state.lines, columns: found }
    return { ...account, badRows: state.badRows, bad }
  }

  #firstText({ firstText, firstBytes }: ScannedFields): string {
    return Buffer.from(this.#arena.bytes(firstText, Math.min(firstBytes, 200)).slice()).toString()
  }
}
