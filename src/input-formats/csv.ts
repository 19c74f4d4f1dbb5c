// Tables as delimited text: cells separated by commas, semicolons, bars or tabs, in quotes or not, one row a line, a header in
// front or not. A schema says what becomes of each column. The bytes are parsed in numeric/assembly/parse-table.ts; here are its
// buffers, and the words for what it refuses.
import { SpillwayError } from '../errors.ts'
import type { Arena } from '../numeric/arena.ts'
import { TableFields } from '../numeric/fields/table.ts'
import { PARSE_ERROR_NOT_FINITE, PARSE_ERROR_TOO_LARGE } from '../numeric/layouts.ts'
import {
  TABLE_BYTES,
  TABLE_ERROR_AFTER_QUOTE,
  TABLE_ERROR_COLUMN,
  TABLE_ERROR_LABEL,
  TABLE_ERROR_NO_LABEL,
  TABLE_ERROR_NUMBER,
  TABLE_ERROR_OPEN_QUOTE,
  TABLE_ERROR_WEIGHT,
  TABLE_ERROR_WIDTH,
} from '../numeric/table-layout.ts'
import type { Address, ByteCount } from '../sizes.ts'
import { DELIMITERS, endOfRows, layoutOf, looksDelimited, TAB } from '../tables/delimited-text.ts'
import { type MatchedText, matchText } from '../tables/match-columns.ts'
import { hasWeights } from '../tables/schema.ts'
import type { BadRow, ByLines, ChunkBytes, ChunkParser, InputFormat, TableOfInput } from './input-format.ts'
import { textLabelComplaint } from './labels.ts'
import { type ParseError, shownToken, TextParser } from './text-parser.ts'
import { looksLikeVw } from './vw.ts'

/** What a parser is told of a text. */
export interface AboutTable extends MatchedText {
  /** Address of the columns' records. */
  columnAt: Address
  features: number
  needsLabel: boolean
  weights: boolean
}

const skip = 'correct the row, or step over such rows with --on-bad-row skip'

/** What was expected, and what to do, by the parser's error number. */
const EXPECTED: Record<number, { expected: string; advice?: string }> = {
  [TABLE_ERROR_OPEN_QUOTE]: {
    expected: 'another quote that closes the cell',
    advice: 'a quote within a cell in quotes is doubled: "a ""b"" c"',
  },
  [TABLE_ERROR_AFTER_QUOTE]: {
    expected: 'the end of the cell after its closing quote',
    advice: 'a quote within a cell in quotes is doubled: "a ""b"" c"',
  },
  [TABLE_ERROR_NUMBER]: { expected: 'a number, as in the other rows', advice: skip },
  [TABLE_ERROR_WEIGHT]: { expected: 'a weight: a number above 0', advice: skip },
  [TABLE_ERROR_NO_LABEL]: { expected: 'a label', advice: skip },
  [TABLE_ERROR_LABEL]: {
    expected: 'a label that is a number or a word',
    advice: 'write each label as one word, such as very_good, or step over such rows with --on-bad-row skip',
  },
  [PARSE_ERROR_NOT_FINITE]: { expected: 'a finite number', advice: skip },
  [PARSE_ERROR_TOO_LARGE]: {
    expected: 'a number that a 32-bit float can hold (below 3.4e38)',
    advice: 'scale the column down, or keep 64-bit values: --values f64 for train and ingest',
  },
}

/** Whether an error is one of a single cell. */
const isOfCell = (code: number): boolean =>
  ![TABLE_ERROR_WIDTH, TABLE_ERROR_OPEN_QUOTE, TABLE_ERROR_AFTER_QUOTE].includes(code)

const manyColumns = (count: number): string => (count === 1 ? '1 column' : `${count} columns`)

/** The words for a row of the wrong width. It is about the line: no byte of it is wrong. */
function describeWidth(width: number, names: readonly string[]): Pick<BadRow, 'found' | 'expected'> {
  const expected = manyColumns(names.length)
  if (width >= names.length) {
    return {
      found: `more than ${expected}`,
      expected: `${expected}, the last of which is ${JSON.stringify(names.at(-1))}`,
    }
  }
  const missing = `the first that is missing is ${JSON.stringify(names[width])}`
  return { found: manyColumns(width), expected: `${expected}: ${missing}` }
}

/** The words for a row that a loop over cells has refused. */
export function describeRow(
  arena: Arena,
  { code: given, line, address, lineStart }: ParseError,
  { names, delimiter }: Pick<MatchedText, 'names' | 'delimiter'>,
  end: Address,
): BadRow {
  const code = given % 2 ** TABLE_ERROR_COLUMN
  const column = Math.floor(given / 2 ** TABLE_ERROR_COLUMN)
  if (code === TABLE_ERROR_WIDTH) return { line, column: 0, ...describeWidth(column, names), advice: skip }
  const at = { line, column: address - lineStart + 1 }
  const cell = Buffer.from(arena.bytes(address, Math.min(400, end - address)).slice()).toString()
  const stop = cell.split(/[\r\n]/)[0].split(String.fromCharCode(delimiter))[0]
  const text = isOfCell(code) ? stop.trim().replace(/^"(.*)"$/, '$1') : stop
  const found = text === '' ? 'an empty cell' : shownToken(text)
  const words = { ...at, found: `${found} in column ${JSON.stringify(names[column])}`, ...EXPECTED[code] }
  const why = code === TABLE_ERROR_LABEL ? textLabelComplaint(text) : undefined
  return why === undefined ? words : { ...words, expected: `${words.expected}; ${why}` }
}

/** The text of a label where loops over cells have put it, closed by a line feed. */
export function copiedLabel(arena: Arena, labelAt: Address, row: number): string {
  const bytes = arena.bytes(arena.getU32(labelAt + row * 4), 320)
  return Buffer.from(bytes.slice(0, bytes.indexOf(10))).toString()
}

export class TableParser extends TextParser {
  readonly #table: TableFields
  #about: AboutTable | undefined
  #room = 0
  #end = 0

  constructor(arena: Arena) {
    super(arena)
    this.#table = new TableFields(arena, arena.allocateZeroed(TABLE_BYTES, 'the parser'))
  }

  /** Most cells have a few bytes and become one entry; a row that is all missing cells has its room made. */
  protected override entryCapacity(bytes: ByteCount): number {
    return Math.floor(bytes / 4) + 16
  }

  protected override begin({ bytes, first, about }: ChunkBytes): void {
    const found = about as AboutTable | undefined
    if (found?.columnAt === undefined) throw new Error('a table is parsed by a schema')
    const { arena, state } = this
    const table = this.#table
    this.#about = found
    this.#end = state.end
    if (bytes > this.#room) {
      this.#room = bytes
      const rows = this.batch.rowCapacity
      table.scratch = arena.allocate(bytes + 64, 'the parser')
      // Each label has a line feed behind it, where its cell had a delimiter.
      table.labelTexts = arena.allocate(bytes + rows * 2 + 64, 'the parser')
      table.lineOf = arena.allocate(rows * 4, 'the parser')
      this.#weights = arena.allocate(rows * 8, 'the parser')
    }
    table.columns = found.order.length
    table.columnAt = found.columnAt
    table.delimiter = found.delimiter
    table.needsLabel = found.needsLabel ? 1 : 0
    table.weights = found.weights ? this.#weights : 0
    if (!first) return
    state.cursor += found.headerBytes
    state.lines += found.headerLines
  }
  #weights = 0

  protected override fill(): void {
    const { arena, state, batch } = this
    const parse = (): void => arena.numeric.parseTable(state.at, batch.at, this.#table.at)
    batch.features = this.#about!.features
    state.needsRoom = 0
    parse()
    if (state.needsRoom !== 0) {
      // A byte becomes an entry at most, and so does each column.
      this.enlarge(this.#end - state.cursor + this.#about!.order.length)
      state.needsRoom = 0
      parse()
    }
    if (this.valueBytes === 8) this.#exactValues()
  }

  /** Values with more digits than one division can round correctly are read again, by the language's own parser. */
  #exactValues(): void {
    const { arena, state, batch } = this
    const count = state.slowCount
    if (count === 0) return
    const list = arena.u32(state.slow, count * 2)
    const values = arena.f64(batch.values, batch.nonzeros)
    for (let k = 0; k < count; k++) {
      const at = list[2 * k + 1]
      let text = ''
      for (let length = 64; ; length *= 4) {
        const bytes = Buffer.from(arena.bytes(at, Math.min(length, this.#end + 32 - at)).slice()).toString('latin1')
        text = /^[+-]?[\d.]*([eE][+-]?\d+)?/.exec(bytes)![0]
        if (text.length < length) break
      }
      values[list[2 * k]] = Number(text)
    }
  }

  override labelText(row: number): string {
    return copiedLabel(this.arena, this.batch.labelAt, row)
  }

  override place(row: number) {
    return { line: this.arena.getU32(this.#table.lineOf + row * 4), column: 1 }
  }

  rowWeights(rows: number): Float64Array | undefined {
    return this.#about?.weights ? this.arena.f64(this.#weights, rows).slice() : undefined
  }

  protected override describe(error: ParseError): BadRow {
    return describeRow(this.arena, error, this.#about!, this.#end)
  }
}

/** How a text in one of these formats is cut, and what is known of it by its first rows. */
export function cutTable(
  delimiters: readonly number[],
  examples: string[],
  detect: (line: string) => boolean,
): ByLines {
  return {
    by: 'lines',
    examples,
    detect,
    indexBase: 1,
    delimiters,
    about(text, table) {
      const layout = layoutOf(text, delimiters, table?.name ?? 'the table')
      return table?.placed ? aboutTable(layout, table) : layout
    },
    endOfRows(text, about) {
      const known = about as { delimiter: number } | undefined
      return endOfRows(text, (known ?? layoutOf(text, delimiters, 'the table')).delimiter)
    },
  }
}

export function aboutTable(
  layout: ReturnType<typeof layoutOf>,
  { placed, needsLabel, name, header }: TableOfInput,
): AboutTable {
  const { schema } = placed!
  const matched = matchText(layout, schema, { name, needed: needsLabel ? ['label', 'weight'] : [], header })
  const weights = hasWeights(schema) && matched.order.some(place => schema.columns[place]?.role === 'weight')
  return { ...matched, columnAt: placed!.columns(matched.order), features: schema.features, needsLabel, weights }
}

/** Tabs come first: what stands between them may have commas in it. */
const isCsv = (line: string): boolean =>
  !looksLikeVw(line) && !looksDelimited(line, TAB) && DELIMITERS.some(delimiter => looksDelimited(line, delimiter))

export const csv: InputFormat = {
  module: import.meta.url,
  name: 'csv',
  endings: ['csv'],
  summary: 'tables: cells separated by commas, semicolons or bars',
  title: 'a table',
  row: 'CELL,CELL,…,LABEL',
  letters: false,
  cut: cutTable(DELIMITERS, ['39,State-gov,0.5,yes', '"a, b";1e-3;no', 'x|2|?'], isCsv),
  newParser: (arena): ChunkParser => new TableParser(arena),
}

/** Refuses a table that nobody has looked at. */
export function tableWithoutSchema(name: string): SpillwayError {
  return new SpillwayError(
    `${name} is a table that is read once, and what its columns are is not known before`,
    'write it to a file, and name the file',
  )
}
