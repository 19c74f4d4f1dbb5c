// A row by the names of its columns, as a program has it, to features and values: those that the parser of delimited text makes of
// the same cells. Nothing here needs Node.
import { Xxh64 } from '../files/xxh64.ts'
import { isMissing, isNumber } from './delimited-text.ts'
import { type FeatureColumn, featureName, featuresOf, hasFeatures, type Schema } from './schema.ts'

/** Features count from 0 and rise. */
export interface Entries {
  indices: number[]
  values: number[]
}

/** Puts into words why a row cannot be read. */
export type RefuseRow = (found: string, expected: string) => never

const MISSING = 'null stands for a cell that is missing'

export class NamedRows {
  readonly #schema: Schema
  readonly #columns: FeatureColumn[]
  readonly #names: Set<string>
  /** How values are kept. */
  readonly #kept: (value: number) => number
  readonly #bits: 32 | 64
  /** Of the columns that have lists of values: their places, by value. */
  readonly #places = new Map<FeatureColumn, Map<string, number>>()
  #features: Map<string, number> | undefined

  constructor(schema: Schema, valueBits: 32 | 64) {
    this.#schema = schema
    this.#columns = schema.columns.filter(hasFeatures)
    this.#names = new Set(schema.columns.map(({ name }) => name))
    this.#bits = valueBits
    this.#kept = valueBits === 64 ? value => value : Math.fround
    for (const column of this.#columns) {
      if (column.role !== 'category') continue
      this.#places.set(column, new Map(column.values.map((value, place) => [value, column.feature + place])))
    }
  }

  /** Every column with features has to be there. The label, weights and columns that were ignored may be. */
  entries(row: Record<string, unknown>, refuse: RefuseRow): Entries {
    const strange = Object.keys(row).find(name => !this.#names.has(name))
    if (strange !== undefined) refuse(`the column ${shown(strange)}`, `the columns ${this.#list()}`)
    const found: Entries = { indices: [], values: [] }
    for (const column of this.#columns) {
      if (!Object.hasOwn(row, column.name)) {
        refuse(`no column ${shown(column.name)}`, `the columns ${this.#list()}; ${MISSING}`)
      }
      this.#add(found, column, row[column.name], refuse)
    }
    return rising(found)
  }

  /** A feature by its own name, as `inspect` shows it: `age`, `state=Ohio`, `age is missing`. Hashed ones have none. */
  featureOf(name: string): number | undefined {
    if (!this.#features) {
      this.#features = new Map()
      for (const column of this.#columns) {
        if ('bits' in column) continue
        for (let k = column.feature; k < column.feature + featuresOf(column); k++) {
          const called = featureName(this.#schema, k)!
          if (!this.#features.has(called)) this.#features.set(called, k)
        }
      }
    }
    return this.#features.get(name)
  }

  #add(found: Entries, column: FeatureColumn, cell: unknown, refuse: RefuseRow): void {
    const text = textOf(cell)
    if (text === undefined) {
      refuse(`${shown(cell)} in column ${shown(column.name)}`, 'a number, a text, true, false or null')
    }
    const missing = isMissing(text)
    if ('bits' in column) {
      if (column.role === 'hashed')
        push(found, column.feature + hashed(encoder.encode(missing ? '' : text), column.bits))
      else if (!missing) addWords(found, column.feature, column.bits, encoder.encode(text))
    } else if (missing) {
      if (column.missing !== undefined) push(found, column.missing)
    } else if (column.role === 'category') {
      const feature = this.#places.get(column)!.get(text)
      if (feature !== undefined) push(found, feature)
    } else {
      const number = typeof cell === 'number' ? cell : isNumber(text) ? Number(text) : Number.NaN
      const kept = this.#kept(number)
      if (!Number.isFinite(kept)) {
        refuse(`${shown(cell)} in column ${shown(column.name)}`, `a finite number that ${this.#bits} bits can hold`)
      }
      if (kept !== 0) push(found, column.feature, kept)
    }
  }

  #list(): string {
    const names = this.#columns.slice(0, 8).map(({ name }) => shown(name))
    return names.join(', ') + (this.#columns.length > 8 ? ', …' : '')
  }
}

const encoder = new TextEncoder()

/** What a cell with such a content says; undefined for what no cell can hold. */
function textOf(cell: unknown): string | undefined {
  if (cell === null || cell === undefined) return ''
  return typeof cell === 'string' || typeof cell === 'number' || typeof cell === 'boolean' ? String(cell) : undefined
}

function push({ indices, values }: Entries, feature: number, value = 1): void {
  indices.push(feature)
  values.push(value)
}

function hashed(bytes: Uint8Array, bits: number): number {
  return Math.floor(new Xxh64().update(bytes).digest().high / 2 ** (32 - bits))
}

/** Letters, digits, and all that is beyond ASCII. */
const isWord = (byte: number): boolean =>
  (byte >= 48 && byte <= 57) || (byte >= 65 && byte <= 90) || (byte >= 97 && byte <= 122) || byte >= 128

/** The words of a text, in lower case. */
function addWords(found: Entries, feature: number, bits: number, bytes: Uint8Array): void {
  for (let at = 0; at < bytes.length; at++) {
    const start = at
    for (; at < bytes.length && isWord(bytes[at]); at++) if (bytes[at] >= 65 && bytes[at] <= 90) bytes[at] += 32
    if (at > start) push(found, feature + hashed(bytes.subarray(start, at), bits))
  }
}

/** In the order of features, each once: a word counts once. */
function rising({ indices, values }: Entries): Entries {
  if (indices.every((feature, k) => k === 0 || feature > indices[k - 1])) return { indices, values }
  const order = [...indices.keys()].sort((a, b) => indices[a] - indices[b])
  const first = order.filter((at, k) => k === 0 || indices[at] !== indices[order[k - 1]])
  return { indices: first.map(at => indices[at]), values: first.map(at => values[at]) }
}

/** What somebody gave, in a message. JSON has no infinity, no large whole numbers, and no room for what is nested very deep. */
export function shown(what: unknown): string {
  const text = typeof what === 'number' ? String(what) : (jsonOf(what) ?? String(what))
  return text.length > 40 ? `${text.slice(0, 40)}…` : text
}

function jsonOf(what: unknown): string | undefined {
  try {
    return JSON.stringify(what)
  } catch {
    return typeof what !== 'object' ? undefined : Array.isArray(what) ? 'a list' : 'an object'
  }
}
