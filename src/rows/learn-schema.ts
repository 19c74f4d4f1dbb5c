// What the columns of a table become is learnt before its rows are read, by a pass over the text: whether cells are numbers, and
// the values of those that are not. Where no lists of values are wanted, the first rows are enough.
import { SpillwayError, UsageError } from '../errors.ts'
import { askedInputFormat, findInputFormat } from '../input-formats/all-input-formats.ts'
import { isReadOnce, openSource } from '../input-formats/byte-source.ts'
import type { Chunk } from '../input-formats/chunks.ts'
import { type AboutDecoded, layoutOfColumns } from '../input-formats/decoded-table.ts'
import { sourceName } from '../input-formats/given-rows.ts'
import { Input } from '../input-formats/input.ts'
import type { InputFormat } from '../input-formats/input-format.ts'
import { blankByteOrderMark, LINE_FEED, longestLine } from '../input-formats/line-chunks.ts'
import { isText, Reading } from '../input-formats/reading.ts'
import { scarceMemory } from '../machine-memory.ts'
import { Arena, formatBytes } from '../numeric/arena.ts'
import { type ByteCount, formatCount, NODE_BYTES } from '../sizes.ts'
import { columnNames, hasHeader, layoutOf, type TextLayout } from '../tables/delimited-text.ts'
import { makeSchema, namedColumns, type SaidRole, type ScannedColumn, saidRoles } from '../tables/make-schema.ts'
import { type MatchedText, matchText } from '../tables/match-columns.ts'
import type { Column, Schema } from '../tables/schema.ts'
import { categoriesOf, type TableOptions, tableOptionNames } from '../tables/table-options.ts'
import { collectGarbage } from '../threads/collect-garbage.ts'
import { ThreadPool } from '../threads/pool.ts'
import { findLine } from './find-line.ts'
import { poolForText } from './pool-for-text.ts'
import { RowReader } from './read-rows.ts'
import { type ColumnOfChunk, type Look, scanTableTask } from './scan-table-task.ts'
import { memoryThatWouldDo } from './too-little-memory.ts'
import { Landing, ValueList } from './value-list.ts'

export interface TableToLearn extends TableOptions {
  /** The name of a format, or `auto`. */
  format: string | undefined
  onBadRow: 'fail' | 'skip'
  threads?: number | undefined
  /** Bytes that the whole run may take, where that was said: chunks are small then. */
  memory?: number | undefined
  /** Learn from the first rows alone, for those who only want to know about what the columns will become. */
  headOnly?: boolean | undefined
  signal?: AbortSignal | undefined
}

/** A schema, and the format that its table is in. */
export interface LearntSchema {
  format: string
  schema: Schema
}

/** Bytes of a text that are looked at for its format and its header. */
const HEAD_BYTES = 1 << 18
/** What a column takes while columns are learnt: measured with 20,000 and 60,000 of them. */
const BYTES_OF_COLUMN: ByteCount = 1 << 13
/** Bytes of a header, at most. */
const LONGEST_HEADER = 1 << 26
/** Bytes that decide on columns where no lists of values are made. */
const CHUNK_BYTES = 2 << 20
const SMALL_CHUNK_BYTES = 1 << 18
/** What stands for bytes that are no UTF-8. */
const REPLACED = '\ufffd'
/** What lists of values may take in any memory. */
const LEAST_FOR_LISTS: ByteCount = 1 << 20

/** Looks whether data is a table, and learns its columns; undefined where it is none. */
export async function learnSchema(paths: string[], options: TableToLearn): Promise<LearntSchema | undefined> {
  const decoded = await decodedTable(paths[0], options.format)
  if (decoded) {
    const scan = new TableScan(decoded.layout, { ...options, header: 'yes' }, sourceName(paths[0]))
    await scan.run(paths, decoded.format)
    return { format: decoded.format, schema: scan.schema() }
  }
  let head = await headOf(paths[0], options.format, HEAD_BYTES)
  if (head?.length === 0 && isToldOf(options))
    throw new SpillwayError(`${sourceName(paths[0])} is empty, expected a table`)
  const format = head && formatOf(head, options.format, sourceName(paths[0]))
  if (!head || format?.cut.by !== 'lines' || !format.cut.delimiters) {
    refuseTableOptions(options, format)
    return undefined
  }
  const name = sourceName(paths[0])
  let layout = layoutOf(head, format.cut.delimiters, name)
  // Names of many columns are a long row.
  const most = Math.min(longestLine(options.memory), LONGEST_HEADER)
  for (let bytes = HEAD_BYTES; layout.rows.length === 0 && head.length === bytes && bytes < most; ) {
    bytes = Math.min(bytes * 4, most)
    head = (await headOf(paths[0], options.format, bytes)) ?? head
    layout = layoutOf(head, format.cut.delimiters, name)
  }
  if (layout.rows.length === 0) {
    throw new SpillwayError(`${name}: found no row that ends within ${head.length} bytes, expected a table`)
  }
  requireRoom(layout.rows[0].length, options.memory, name)
  const scan = new TableScan(layout, options, name)
  await scan.run(paths, format.name)
  const learnt = { format: format.name, schema: await schemaOf(scan, paths) }
  // Its memory is for what comes now.
  if (options.memory !== undefined) collectGarbage()
  return learnt
}

/** Refuses a table of more columns than there is memory for: names and findings of each are outside of the arena. */
function requireRoom(columns: number, memory: ByteCount | undefined, name: string): void {
  const need = columns * BYTES_OF_COLUMN + NODE_BYTES
  if (memory === undefined || need <= memory) return
  throw new SpillwayError(
    `${name}: found ${formatCount(columns)} columns, which take about ${formatBytes(columns * BYTES_OF_COLUMN)}, expected fewer in --memory ${formatBytes(memory)}`,
    `give ${memoryThatWouldDo(need, { more: ' or more' })}, or write the rows as LIBSVM text, .npy or .npz`,
  )
}

/** Whether data is a table in columns, and which columns it has. */
async function decodedTable(path: string, asked: string | undefined) {
  if (await isReadOnce(path)) return undefined
  const input = new Input(path)
  try {
    const reading = new Reading(asked, undefined)
    if (!reading.known) {
      const { name, head } = await input.source()
      if (head && !isText(head)) reading.lookAtHead(name, head)
    }
    const { cut, title, name: format } = reading.known ?? {}
    if (cut?.by !== 'plan' || !cut.tables || !title || !format) return undefined
    const opened = await cut.open({ path, name: input.name, file: () => input.randomAccess(title) }, CHUNK_BYTES)
    await opened.close?.()
    return { format, layout: layoutOfColumns(opened.columns ?? []) }
  } finally {
    await input.close()
  }
}

/** What a worker has to know to decode a chunk. */
function decodeOf({ about }: Chunk): AboutDecoded | undefined {
  const { decode } = about as Partial<AboutDecoded>
  return decode === undefined ? undefined : { decode }
}

/** Whether something is said of a table. */
function isToldOf(options: TableOptions): boolean {
  return tableOptionNames.some(name => options[name] !== undefined)
}

/** Options of tables say nothing of other data. */
function refuseTableOptions(options: TableOptions, format: InputFormat | undefined): void {
  const said = tableOptionNames.find(name => options[name] !== undefined)
  if (said === undefined) return
  throw new UsageError(
    `${said} is for tables, and the data is ${format ? format.title : 'no table'}: it would be ignored`,
    'leave it out, or name the format with --format csv or --format tsv',
  )
}

/** The first bytes of a file; undefined where there are none to look at, or where another format was asked for. */
async function headOf(path: string, asked: string | undefined, bytes: ByteCount): Promise<Uint8Array | undefined> {
  const format = askedInputFormat(asked)
  const mayBeTable = !format || (format.cut.by === 'lines' && format.cut.delimiters)
  if (!mayBeTable || (await isReadOnce(path))) return undefined
  const source = await openSource(path)
  try {
    const head = new Uint8Array(bytes)
    const filled = await source.read(head)
    blankByteOrderMark(head.subarray(0, 3))
    if (filled === 0 || filled === bytes || head[filled - 1] === LINE_FEED) return head.subarray(0, filled)
    head[filled] = LINE_FEED
    return head.subarray(0, filled + 1)
  } finally {
    await source.close()
  }
}

function formatOf(head: Uint8Array, asked: string | undefined, name: string): InputFormat | undefined {
  const reading = new Reading(asked, undefined)
  if (reading.known) reading.lookAtHead(name, head)
  else if (isText(head)) reading.look(head)
  return reading.known
}

/** A value that is no text. Where it stands is looked for when it is told. */
class NoText extends SpillwayError {
  readonly bytes: Uint8Array
  readonly what: string

  constructor(bytes: Uint8Array, name: string, what: string) {
    super(`${name}: ${what}`, 'convert the file, e.g. with iconv -t UTF-8, or leave the column out with --ignore')
    this.bytes = bytes
    this.what = what
  }
}

/** The schema of text that was scanned. A value that is no text is told with its line. */
async function schemaOf(scan: TableScan, paths: string[]): Promise<Schema> {
  try {
    return scan.schema()
  } catch (error) {
    if (!(error instanceof NoText)) throw error
    for (const path of paths) {
      const line = await findLine(path, error.bytes)
      if (line !== undefined) throw new SpillwayError(`${sourceName(path)}, line ${line}: ${error.what}`, error.advice)
    }
    throw error
  }
}

/** What is known of a column over all chunks. */
interface Known extends ScannedColumn {
  /** Values in the order of the data, as far as they are listed. */
  list: ValueList | undefined
  /** Whether some chunk had numbers that it did not list. */
  passedBy: boolean
}

class TableScan {
  readonly #options: TableToLearn
  readonly #names: string[]
  readonly #header: boolean
  readonly #roles: SaidRole[]
  readonly #hashes: boolean
  /** Of the first file, for messages. */
  readonly #name: string
  #known: Known[] = []
  /** What the lists of values will take, and may. */
  #listBytes = 0
  readonly #mostListBytes: ByteCount

  constructor(layout: TextLayout, options: TableToLearn, name: string) {
    this.#options = options
    this.#name = name
    const memory = options.memory ?? scarceMemory() ?? Number.POSITIVE_INFINITY
    this.#mostListBytes = Math.max(memory - NODE_BYTES, LEAST_FOR_LISTS)
    const { header } = options
    const [first] = layout.rows
    this.#header = header === 'yes' || (header !== 'no' && hasHeader(layout.rows, namedColumns(options)))
    this.#names = this.#header ? columnNames(first) : first.map((_, k) => String(k + 1))
    if (first.length < 2) {
      throw new SpillwayError(
        `${name}: found rows of one column, expected a table of several`,
        'cells are separated by commas, semicolons, bars or tabs',
      )
    }
    const met = new Set<string>()
    const twice = this.#names.find(name => met.size === met.add(name).size)
    if (twice !== undefined) {
      throw new SpillwayError(
        `${name}: two columns are called ${JSON.stringify(twice)}, expected a name for each`,
        'rename one, or say --header no if the first row is none',
      )
    }
    const strange = this.#names.find(each => each.includes(REPLACED))
    if (strange !== undefined) {
      throw new SpillwayError(
        `${name}, line 1: found the name ${JSON.stringify(strange)} of a column, whose bytes are no text; expected UTF-8`,
        'convert the file, e.g. with iconv -t UTF-8',
      )
    }
    this.#roles = saidRoles(this.#names, this.#header, options)
    this.#hashes = categoriesOf(options).bits !== undefined
  }

  /** Scans all files, and once more where a column turns out to be one of values late. */
  async run(paths: string[], format: string): Promise<void> {
    const arena = new Arena()
    // One chunk of text is looked at before other threads would have started.
    const pool =
      this.#firstAlone && findInputFormat(format).cut.by === 'lines'
        ? new ThreadPool(arena.share, 1, { inPlace: 'small' })
        : await poolForText(arena, paths, this.#options.threads)
    try {
      let listed: boolean[] = []
      do {
        const landing = new Landing(arena)
        this.#listBytes = 0
        this.#known = this.#names.map((_, k) =>
          newColumn(this.#mayHaveValues(k) ? new ValueList(arena, landing) : undefined),
        )
        await this.#pass(arena, pool, paths, format, listed)
        listed = this.#known.map(
          ({ texts, list, passedBy }, k) => listed[k] || (texts > 0 && list !== undefined && passedBy),
        )
      } while (this.#known.some(({ texts, list, passedBy }) => texts > 0 && list !== undefined && passedBy))
    } finally {
      await pool.close()
    }
  }

  /** Where no values are listed, the first chunk is all that is looked at. */
  get #firstAlone(): boolean {
    return this.#hashes || this.#options.headOnly === true
  }

  schema(): Schema {
    const scanned = this.#known.map((column, k) => ({ ...column, values: this.#valuesOf(column, k) }))
    return makeSchema(this.#names, this.#header, this.#roles, scanned, this.#options)
  }

  async #pass(arena: Arena, pool: ThreadPool, paths: string[], format: string, listed: boolean[]): Promise<void> {
    const { onBadRow, signal, header, memory } = this.#options
    const firstAlone = this.#firstAlone
    const enough = new AbortController()
    const reader = new RowReader(arena, pool, {
      ...{
        format,
        indexBase: undefined,
        onBadRow,
        valueBits: 32,
        chunkBytes: memory === undefined ? CHUNK_BYTES : SMALL_CHUNK_BYTES,
        longestLine: longestLine(memory),
      },
      table: { schema: 'scan', header },
      signal: signal && firstAlone ? AbortSignal.any([signal, enough.signal]) : firstAlone ? enough.signal : signal,
      keepsRows: firstAlone,
    })
    const texts = new Map<number, MatchedText>()
    let [source, lines] = [0, 0]
    await reader.read(
      paths,
      (chunk, toParse) => {
        const text = texts.get(chunk.source) ?? this.#match(chunk)
        texts.set(chunk.source, text)
        return pool.run(scanTableTask, { ...toParse, about: decodeOf(chunk), text, looks: this.#looks(listed) })
      },
      (chunk, { columns, lines: more }) => {
        if (chunk.source !== source) lines = 0
        source = chunk.source
        if (!enough.signal.aborted) for (const [k, column] of columns.entries()) this.#add(k, column, chunk, lines)
        lines += more
        if (firstAlone) enough.abort()
      },
    )
  }

  #match({ about, name }: Chunk): MatchedText {
    const columns = this.#names.map((each): Column => ({ name: each, role: 'label' }))
    const { header } = this.#options
    const schema = { header: this.#header, columns, features: 0 }
    return matchText(about as TextLayout, schema, { name, needed: ['label'], header })
  }

  /** What is yet to be learnt of the columns. Chunks that are scanned meanwhile may learn more than that. */
  #looks(listed: boolean[]): Look[] {
    return this.#roles.map((role, k) => {
      if (role !== 'seen' && role !== 'values') return 'away'
      if (this.#hashes || this.#known[k].list === undefined) return 'count'
      return role === 'values' || listed[k] || this.#known[k].texts > 0 ? 'values' : 'kind'
    })
  }

  #add(k: number, column: ColumnOfChunk, { name }: Chunk, linesBefore: number): void {
    const known = this.#known[k]
    known.missing += column.missing
    known.numbers += column.numbers
    known.texts += column.texts
    const { firstText, values } = column
    if (firstText) known.firstText ??= { text: firstText.text, file: name, line: linesBefore + firstText.line + 1 }
    if (values === 'tooMany') known.list = undefined
    if (!known.list) return
    if (values === undefined) known.passedBy ||= column.numbers > 0
    else if (values !== 'tooMany') this.#list(known, known.list, values)
  }

  #list(known: Known, list: ValueList, values: Uint32Array): void {
    this.#listBytes -= list.bytesToBe
    if (list.add(values)) this.#listBytes += list.bytesToBe
    else known.list = undefined
    if (this.#listBytes > this.#mostListBytes) throw this.#tooManyValues()
  }

  #tooManyValues(): SpillwayError {
    const counts = this.#known.map(({ list }) => list?.count ?? 0)
    const most = counts.indexOf(Math.max(...counts))
    const all = counts.reduce((sum, count) => sum + count, 0)
    return new SpillwayError(
      `${this.#name}: the columns have more than ${formatCount(all)} values, which do not fit in ${formatBytes(this.#mostListBytes)}; column ${JSON.stringify(this.#names[most])} has the most, ${formatCount(counts[most])} so far`,
      'take --categorical hash:18, which makes no lists of values, leave columns out with --ignore, or give more --memory',
    )
  }

  #mayHaveValues(k: number): boolean {
    return !this.#hashes && (this.#roles[k] === 'seen' || this.#roles[k] === 'values')
  }

  #valuesOf({ list }: Known, k: number): string[] | undefined {
    const values = list?.texts()
    if (!(values instanceof Uint8Array)) return values
    const bytes = [...values.subarray(0, 16)].map(byte => byte.toString(16).padStart(2, '0'))
    const column = JSON.stringify(this.#names[k])
    const shown = JSON.stringify(Buffer.from(values.subarray(0, 40)).toString('latin1'))
    throw new NoText(
      values,
      this.#name,
      `found ${shown} in column ${column}, whose bytes ${bytes.join(' ')} are no text; expected UTF-8`,
    )
  }
}

function newColumn(list: ValueList | undefined): Known {
  return { missing: 0, numbers: 0, texts: 0, list, passedBy: false }
}
