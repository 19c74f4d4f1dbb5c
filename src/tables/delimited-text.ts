// Delimited text as far as it is looked at before it is parsed: what separates cells, whether the first row names the columns,
// and where the last whole row ends. The rows themselves are parsed in numeric/assembly/parse-table.ts by the same rules.
import { SpillwayError } from '../errors.ts'

const QUOTE = 34
const LINE_FEED = 10
const CARRIAGE_RETURN = 13
const SPACE = 32
export const TAB = 9
const COMMA = 44
const SEMICOLON = 59
const BAR = 124

/** What is tried, in this order. */
export const DELIMITERS = [COMMA, SEMICOLON, TAB, BAR]
export const delimiterNames: Record<number, string> = {
  [COMMA]: 'commas',
  [SEMICOLON]: 'semicolons',
  [TAB]: 'tabs',
  [BAR]: 'bars',
}

/** Rows at the beginning that are looked at. */
const FIRST_ROWS = 64
const MOST_COLUMNS = 1 << 20

/** How a text is laid out. */
export interface TextLayout {
  delimiter: number
  /** The first rows, that of a header included. */
  rows: string[][]
  /** Bytes and lines up to the end of the first row. */
  firstBytes: number
  firstLines: number
}

/** Looks at the beginning of a text, which should have whole rows. `delimiters` are those that may be. */
export function layoutOf(text: Uint8Array, delimiters: readonly number[], name: string): TextLayout {
  if (endsRowsOtherwise(text)) {
    throw new SpillwayError(
      `${name}: found rows that end with a carriage return alone, expected line feeds`,
      "convert it: tr '\\r' '\\n' < OLD > NEW",
    )
  }
  const found = delimiters.map(delimiter => ({ delimiter, ...firstRows(text, delimiter) }))
  // Most columns in the first row count; a delimiter that all rows agree on counts more.
  const widths = found.map(({ rows }) => rows[0]?.length ?? 0)
  const agreeing = found.map(({ rows }, k) => rows.every(({ length }) => length === widths[k]))
  let best = 0
  for (let k = 1; k < found.length; k++) {
    const better = agreeing[k] === agreeing[best] ? widths[k] > widths[best] : agreeing[k] && widths[k] > 1
    if (better || (widths[best] < 2 && widths[k] > 1)) best = k
  }
  if (widths[best] > MOST_COLUMNS) {
    throw new SpillwayError(`${name}: found a row of ${widths[best]} columns, expected at most ${MOST_COLUMNS}`)
  }
  return found[best]
}

/** Whether there are carriage returns where line feeds should be: outside of quotes, in a text of one line. */
function endsRowsOtherwise(text: Uint8Array): boolean {
  const feed = text.indexOf(LINE_FEED)
  if (feed >= 0 && feed < text.length - 1) return false
  const first = text.indexOf(CARRIAGE_RETURN)
  if (first < 0 || first + 1 >= text.length) return false
  if (text[first + 1] === LINE_FEED || text[first + 1] === CARRIAGE_RETURN) return false
  let quotes = 0
  for (let at = 0; at < first; at++) if (text[at] === QUOTE) quotes++
  return quotes % 2 === 0
}

/** The first rows that are whole. */
function firstRows(text: Uint8Array, delimiter: number): Omit<TextLayout, 'delimiter'> {
  const rows: string[][] = []
  let [firstBytes, firstLines, lines] = [0, 0, 0]
  let at = 0
  while (at < text.length && rows.length < FIRST_ROWS) {
    const row = rowFrom(text, at, delimiter)
    if (!row) break
    at = row.end
    lines += row.lines
    // A blank line is no row.
    if (row.cells.length === 1 && row.cells[0] === '') continue
    if (rows.push(row.cells) === 1) [firstBytes, firstLines] = [at, lines]
  }
  return { rows, firstBytes, firstLines }
}

/** One row: its cells without quotes and blanks around them; undefined when it does not end. */
export function rowFrom(text: Uint8Array, from: number, delimiter: number) {
  const cells: string[] = []
  let lines = 1
  for (let at = from; ; at++) {
    const isBlank = (byte: number): boolean => byte === SPACE || (byte === TAB && delimiter !== TAB)
    while (isBlank(text[at])) at++
    const quoted = text[at] === QUOTE ? closingQuote(text, at + 1) : undefined
    if (quoted === -1) return undefined
    let stop = quoted === undefined ? at : quoted + 1
    while (stop < text.length && text[stop] !== delimiter && text[stop] !== LINE_FEED) stop++
    if (stop === text.length) return undefined
    if (quoted === undefined) {
      cells.push(asText(text.subarray(at, stop)).trim())
    } else {
      const inside = text.subarray(at + 1, quoted)
      for (const byte of inside) if (byte === LINE_FEED) lines++
      cells.push(asText(inside).replaceAll('""', '"'))
    }
    at = stop
    if (text[stop] === LINE_FEED) return { cells, end: stop + 1, lines }
  }
}

const asText = (bytes: Uint8Array): string => Buffer.from(bytes).toString()

/** Where the quote stands that closes a cell, from behind the one that opens it; −1 when it does not close. */
function closingQuote(text: Uint8Array, from: number): number {
  for (let at = from; ; at += 2) {
    at = text.indexOf(QUOTE, at)
    if (at < 0 || text[at + 1] !== QUOTE) return at
  }
}

/** A quote that stays open for so long is broken: its row is cut off, and parsed as a bad one. */
const LONGEST_OPEN = 1 << 20

/** Where the last whole row ends, in text that begins with one; 0 when none does. */
export function endOfRows(bytes: Uint8Array, delimiter: number): number {
  // A buffer looks for a byte many times faster than an array of shared memory does.
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  let end = 0
  for (let at = 0; ; ) {
    let open = text.indexOf(QUOTE, at)
    while (open >= 0 && !opensCell(text, open, delimiter)) open = text.indexOf(QUOTE, open + 1)
    // Only line feeds outside of quotes end a row.
    const outside = text.subarray(at, open < 0 ? text.length : open).lastIndexOf(LINE_FEED)
    if (outside >= 0) end = at + outside + 1
    if (open < 0) return end
    const close = closingQuote(text, open + 1)
    if (close < 0) return end === 0 && text.length - open > LONGEST_OPEN ? text.lastIndexOf(LINE_FEED) + 1 : end
    at = close + 1
  }
}

/** Whether a quote opens a cell: nothing but blanks is in front of it there. */
function opensCell(text: Uint8Array, quote: number, delimiter: number): boolean {
  let at = quote - 1
  while (at >= 0 && (text[at] === SPACE || (text[at] === TAB && delimiter !== TAB))) at--
  return at < 0 || text[at] === delimiter || text[at] === LINE_FEED || text[at] === CARRIAGE_RETURN
}

/** Whether a line may be a row of a table, whose cells are separated so. Entries of LIBSVM text are no cells. */
export function looksDelimited(line: string, delimiter: number): boolean {
  return line.trim().includes(String.fromCharCode(delimiter)) && !/(^|\s)\d+:/.test(line)
}

const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/
const MISSING = /^(|na|nan|null|\?)$/i

export const isNumber = (cell: string): boolean => NUMBER.test(cell)
export const isMissing = (cell: string): boolean => MISSING.test(cell)

/** The names that a label has where nobody says which column it is. */
export const LABEL_NAMES = ['label', 'target', 'class', 'y']

/** Whether the first row names the columns. `named`: what the user calls columns. */
export function hasHeader([first, ...others]: string[][], named: readonly string[]): boolean {
  if (first === undefined) return false
  // Without a header, numbers are the only names: who says another one has seen it here.
  if (named.some(name => !isNumber(name) && first.includes(name))) return true
  // A column may lack a name, such as the index that pandas writes.
  const names = first.filter(cell => cell !== '')
  if (names.some(cell => isNumber(cell) || isMissing(cell)) || new Set(names).size < names.length) return false
  const isWhole = names.length === first.length
  const sameColumn = others.filter(({ length }) => length === first.length)
  const recurs = (k: number): boolean => sameColumn.some(row => row[k] === first[k])
  const isLabel = (cell: string, k: number): boolean =>
    LABEL_NAMES.includes(cell.toLowerCase()) && (isWhole || !recurs(k))
  if (first.some(isLabel)) return true
  // Names stand above numbers, or above values among which they are not.
  if (first.some((cell, k) => cell !== '' && sameColumn.some(row => isNumber(row[k])))) return true
  return isWhole && !first.some((_, k) => recurs(k))
}

/** What the columns of a header are called: one without a name has its number for one. */
export function columnNames(header: readonly string[]): string[] {
  const taken = new Set(header)
  return header.map((name, k) => (name === '' && !taken.has(String(k + 1)) ? String(k + 1) : name))
}
