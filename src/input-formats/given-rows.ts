// Rows that a program hands over in place of files. They go the way of a pipe: each becomes a line of LIBSVM text as it is asked
// for, so that a model has the same bits as that of a file of these lines, in the same memory. What stands for them among the
// names of files is a path that no file can have.
import { SpillwayError, UsageError } from '../errors.ts'
import { MOST_FEATURES } from '../numeric/layouts.ts'
import { askedInputFormat, usualInputFormat } from './all-input-formats.ts'
import type { ByteSource } from './byte-source.ts'
import { type CsrRows, isCsrRows, rowsOfCsr } from './csr-rows.ts'
import { filePart, partName } from './file-part.ts'
import { labelOf, textLabelComplaint } from './labels.ts'
import { givenPath, isQuery, isSqlQuery, pathOfQuery, QUERY_NAME, type SqlQuery } from './stand-ins.ts'

/** Features, numbered from the index base, and their values: side by side in any order, or by number. */
export type RowFeatures =
  | { indices: ArrayLike<number>; values: ArrayLike<number> }
  | { features: Readonly<Record<number, number>> }

export type LabelledRow = { label: number | string } & RowFeatures

/** A row that is to be predicted needs no label. */
export type RowToRead =
  | ({ label?: number | string } & RowFeatures)
  | Readonly<Record<number, number>>
  | readonly [indices: ArrayLike<number>, values: ArrayLike<number>]

/** Names of files, rows, or a query. */
export type DataFor<Row> = string | string[] | Iterable<Row> | AsyncIterable<Row> | CsrRows | SqlQuery

/** The format that the lines of rows are in. Settings that are about text are refused. */
export function formatForRows(asked: { format?: string | undefined; onBadRow?: string | undefined }): string {
  const format = askedInputFormat(asked.format) ?? usualInputFormat
  if (format !== usualInputFormat) {
    throw new UsageError(`format is ${format.name}, and the data is rows, which have no format`, 'leave out the format')
  }
  if (asked.onBadRow === 'skip') {
    throw new UsageError(
      'onBadRow is skip, and the data is rows of the program',
      'leave bad rows out of those that it gives',
    )
  }
  return format.name
}

export interface GivenData extends Disposable {
  paths: string[]
  /** Whether they stand for rows. */
  given: boolean
}

interface RowsOfProgram {
  rows: Iterable<unknown> | AsyncIterable<unknown>
  indexBase: number
  needsLabel: boolean
}

/** What messages, models and stores call such rows. */
const NAME = 'rows of the program'
/** Begins a path that no file can have. */
const PREFIX = '\0rows '
/** Text that is made at a time. */
const PIECE = 1 << 16
/** For a row that is to be predicted and has no label: no prediction agrees with it. */
const NO_LABEL = '?'

const registered = new Map<string, RowsOfProgram>()
let count = 0

/** Paths for data. Those of rows are known until they are disposed of. */
export function pathsOf(
  data: DataFor<unknown>,
  { indexBase, needsLabel }: Pick<RowsOfProgram, 'indexBase' | 'needsLabel'>,
): GivenData {
  if (typeof data === 'string') return files([data])
  if (Array.isArray(data) && data.every(each => typeof each === 'string')) return files(data)
  if (isSqlQuery(data)) return files([pathOfQuery(data.sql)])
  const rows = isCsrRows(data) ? rowsOfCsr(data) : data
  if (!isIterable(rows)) {
    throw new UsageError(
      `the data is ${shown(data)}; expected names of files, { sql }, or an iterable or async iterable of rows`,
    )
  }
  const path = `${PREFIX}${count++}`
  registered.set(path, { rows, indexBase, needsLabel })
  return { paths: [path], given: true, [Symbol.dispose]: () => registered.delete(path) }
}

const files = (paths: string[]): GivenData => ({ paths, given: false, [Symbol.dispose]: () => {} })

function isIterable(data: unknown): data is Iterable<unknown> | AsyncIterable<unknown> {
  return typeof data === 'object' && data !== null && (Symbol.asyncIterator in data || Symbol.iterator in data)
}

/** Whether a path stands for rows of a program. */
export function isGivenRows(path: string): boolean {
  return path.startsWith(PREFIX)
}

/** What messages call an input. */
export function sourceName(path: string): string {
  const part = filePart(path)
  if (part) return partName(part)
  const given = givenPath(path)
  return given === '-' ? 'standard input' : isQuery(given) ? QUERY_NAME : keptName(given)
}

/** What a store remembers of an input's path. */
export function keptName(path: string): string {
  const given = givenPath(path)
  // A query is remembered by a hash: there may be a password in it.
  return isGivenRows(given) ? NAME : isQuery(given) ? given.trim().replace('\0', '') : given
}

/** The lines of given rows. They are there once. */
export function openGivenRows(path: string): ByteSource {
  const found = registered.get(path)
  if (!found) throw new Error('rows of a program are read once, and while they are registered')
  registered.delete(path)
  const lines = new RowLines(found)
  let current: Uint8Array = new Uint8Array(0)
  return {
    name: NAME,
    kind: 'a pipe',
    size: undefined,
    consumed: 0,
    async read(target) {
      let filled = 0
      while (filled < target.length) {
        if (current.length === 0) {
          current = await lines.next()
          this.consumed += current.length
          if (current.length === 0) break
        }
        const part = current.subarray(0, target.length - filled)
        target.set(part, filled)
        filled += part.length
        current = current.subarray(part.length)
      }
      return filled
    },
    close: () => lines.close(),
  }
}

/** Lines of rows, piece by piece. */
class RowLines {
  readonly #iterator: Iterator<unknown> | AsyncIterator<unknown>
  readonly #waits: boolean
  readonly #settings: RowsOfProgram
  #bytes = Buffer.allocUnsafeSlow(PIECE * 2)
  #rows = 0
  #ended = false
  #asked = false

  constructor(settings: RowsOfProgram) {
    const { rows } = settings
    this.#settings = settings
    this.#waits = Symbol.asyncIterator in rows
    this.#iterator = Symbol.asyncIterator in rows ? rows[Symbol.asyncIterator]() : rows[Symbol.iterator]()
  }

  /** Bytes that stand until the next are asked for; none at the end. */
  async next(): Promise<Uint8Array> {
    let filled = 0
    while (!this.#ended && filled < PIECE) {
      const step = this.#iterator.next()
      const { value, done } = this.#waits ? await this.#wait(step) : (step as IteratorResult<unknown>)
      if (done) this.#ended = true
      else filled += this.#write(lineOf(value, ++this.#rows, this.#settings), filled)
    }
    return this.#bytes.subarray(0, filled)
  }

  /** One buffer serves all pieces: many small ones would be memory that comes back late. */
  #write(line: string, at: number): number {
    const most = at + line.length * 3
    if (most > this.#bytes.length) {
      const larger = Buffer.allocUnsafeSlow(most * 2)
      larger.set(this.#bytes.subarray(0, at))
      this.#bytes = larger
    }
    return this.#bytes.write(line, at)
  }

  async #wait(step: unknown): Promise<IteratorResult<unknown>> {
    this.#asked = true
    try {
      return await (step as Promise<IteratorResult<unknown>>)
    } catch (error) {
      // An iterator that failed is not asked to end.
      this.#ended = true
      throw error
    } finally {
      this.#asked = false
    }
  }

  /** Lets the program clean up, unless its next row is still awaited: that may never come. */
  async close(): Promise<void> {
    const closing = this.#ended ? undefined : this.#iterator.return?.()
    this.#ended = true
    if (this.#asked) Promise.resolve(closing).catch(() => {})
    else await closing
  }
}

function lineOf(row: unknown, number: number, { indexBase, needsLabel }: RowsOfProgram): string {
  const refuse = (found: string, expected: string, advice?: string): never => {
    throw new SpillwayError(`${NAME}, row ${number}: found ${found}, expected ${expected}`, advice)
  }
  if (typeof row !== 'object' || row === null) {
    return refuse(shown(row), 'a row: { label, indices, values } or { label, features }')
  }
  let line = labelText(row, needsLabel, refuse)
  const { indices, values } = rising(featuresOf(row, needsLabel, refuse))
  let last = -1
  for (let k = 0; k < indices.length; k++) {
    const [index, value] = [indices[k], values[k]]
    if (!Number.isInteger(index) || index < indexBase || index - indexBase >= MOST_FEATURES) {
      const most = MOST_FEATURES - 1 + indexBase
      const advice = index === 0 ? 'if they count from 0, say indexBase: 0' : undefined
      refuse(`the feature number ${index}`, `a whole number from ${indexBase} to ${most}`, advice)
    }
    if (index === last) refuse(`feature ${index} twice`, 'each feature once in a row')
    if (typeof value !== 'number' || !Number.isFinite(value)) {
      refuse(`the value ${shown(value)} of feature ${index}`, 'a finite number')
    }
    line += ` ${index}:${value}`
    last = index
  }
  return `${line}\n`
}

type Refuse = (found: string, expected: string, advice?: string) => never

function labelText(row: object, needed: boolean, refuse: Refuse): string {
  const { label } = row as { label?: unknown }
  if (label === undefined && !needed) return NO_LABEL
  if (typeof label === 'number' && Number.isFinite(label)) return String(label)
  if (typeof label !== 'string') return refuse(`the label ${shown(label)}`, 'a finite number or text')
  const complaint = labelOf(label).value === null ? textLabelComplaint(label) : undefined
  return complaint ? refuse(`the label ${shown(label)}: ${complaint}`, 'a number or a word') : label
}

/** Numbers of features, and their values. */
interface Entries {
  indices: ArrayLike<number>
  values: ArrayLike<number>
}

/** In the order of their numbers. */
function rising(entries: Entries): Entries {
  const { indices, values } = entries
  let k = 1
  while (k < indices.length && indices[k - 1] <= indices[k]) k++
  if (k >= indices.length) return entries
  const order = Array.from(indices, (_, at) => at).sort((a, b) => indices[a] - indices[b])
  return { indices: order.map(at => indices[at]), values: order.map(at => values[at]) }
}

function featuresOf(row: object, needsLabel: boolean, refuse: Refuse): Entries {
  const given = row as { indices?: unknown; values?: unknown; features?: unknown }
  if (isObject(given.features)) {
    // The entries of a map are no properties: it would pass for a row without features.
    if (given.features instanceof Map || given.features instanceof Set)
      return refuse('a collection of features', 'an object, { 3: 0.5 }: Object.fromEntries(map)')
    return byNumber(given.features, refuse)
  }
  const [indices, values] = Array.isArray(row) && !needsLabel ? row : [given.indices, given.values]
  if (isList(indices) && isList(values)) {
    if (indices.length === values.length) return { indices, values }
    return refuse(`${indices.length} feature numbers and ${values.length} values`, 'as many values as numbers')
  }
  if (needsLabel || Array.isArray(row) || 'indices' in row || 'values' in row || 'features' in row) {
    return refuse('neither indices and values nor features', 'a row: { label, indices, values } or { label, features }')
  }
  const { label: _, ...features } = row as { label?: unknown }
  return byNumber(features, refuse)
}

function byNumber(features: object, refuse: Refuse): Entries {
  const names = Object.keys(features)
  const wrong = names.find(name => !/^\d+$/.test(name))
  if (wrong !== undefined) refuse(`the feature number ${shown(wrong)}`, 'a whole number')
  return { indices: names.map(Number), values: Object.values(features) }
}

const isObject = (what: unknown): what is object => typeof what === 'object' && what !== null
const isList = (what: unknown): what is ArrayLike<number> =>
  isObject(what) && typeof (what as ArrayLike<number>).length === 'number'

function shown(what: unknown): string {
  return typeof what === 'string' ? JSON.stringify(what) : isObject(what) ? 'an object' : String(what)
}
