// A row of a request's JSON to features and values. Features have the numbers of the data that the model was trained on. A model of
// a table knows its columns by name.
import type { MadeRow } from '../input-formats/rows-parser.ts'
import { type NamedRows, shown } from '../tables/named-row.ts'
import { RequestError } from './request-error.ts'

/** How a model's features are called. */
export interface FeatureNames {
  /** The number of a feature, counted from 0, by what the data calls it; undefined for what is no feature. */
  numberOf(name: string): number | undefined
  /** The number of the first feature in the data. */
  indexBase: number
  /** Whether rows are strings of letters. */
  letters: boolean
  /** What a feature should have been called. */
  expected: string
  /** Rows by the names of columns, where the model was trained on a table. */
  columns?: NamedRows
}

const SHAPES = '{"3": 0.5}, {"features": {"3": 0.5}}, {"indices": [3], "values": [0.5]} or [0, 0, 0.5]'
const NUMBER = /^(0|[1-9]\d{0,9})$/

/** Features that have numbers and no names. */
export function numberedFeatures(indexBase: number, letters: boolean): FeatureNames {
  return {
    indexBase,
    letters,
    expected: `a whole number from ${indexBase}`,
    numberOf: name => numberIn(name, indexBase),
  }
}

/** Features of a table, which have names and numbers. */
export function namedColumns(columns: NamedRows, indexBase: number): FeatureNames {
  return {
    indexBase,
    letters: false,
    expected: `a feature's name as inspect shows it, or its number from ${indexBase} on`,
    columns,
    numberOf: name => columns.featureOf(name) ?? numberIn(name, indexBase),
  }
}

function numberIn(name: string, indexBase: number): number | undefined {
  const number = NUMBER.test(name) ? Number(name) - indexBase : -1
  return number >= 0 ? number : undefined
}

/** `row` is its number in the request, for complaints. */
export function givenRow(given: unknown, row: number, names: FeatureNames): MadeRow {
  const refuse: Refuse = (found, expected) => {
    throw new RequestError(400, `row ${row}: found ${found}, expected ${expected}`)
  }
  const { indices, values } = entriesOf(given, names, refuse)
  for (let k = 0; k < values.length; k++) {
    if (typeof values[k] === 'number') continue
    refuse(`the value ${shown(values[k])} of feature ${indices[k] + names.indexBase}`, 'a finite number')
  }
  return { label: 0, ...rising(indices, values) }
}

type Refuse = (found: string, expected: string) => never
interface Entries {
  indices: number[]
  values: number[]
}

function entriesOf(given: unknown, names: FeatureNames, refuse: Refuse): Entries {
  if (names.letters) {
    if (typeof given !== 'string') return refuse(shown(given), 'a row of letters: "ACGT"')
    const values = [...Buffer.from(given)]
    return { indices: [...values.keys()], values }
  }
  if (Array.isArray(given)) return { indices: [...given.keys()], values: given }
  if (!isObject(given)) {
    return refuse(shown(given), names.columns ? 'a row: an object with a value for each column' : `a row: ${SHAPES}`)
  }
  if (isObject(given['features'])) return byName(given['features'], names, refuse)
  const { indices, values } = given
  if (!Array.isArray(indices) || !Array.isArray(values)) {
    return names.columns ? names.columns.entries(given, refuse) : byName(given, names, refuse)
  }
  if (indices.length !== values.length) {
    return refuse(`${indices.length} feature numbers and ${values.length} values`, 'as many values as numbers')
  }
  const numberOf = (index: unknown): number => {
    const isName = typeof index === 'string' || typeof index === 'number'
    return (isName ? numberIn(String(index), names.indexBase) : undefined) ?? noFeature(index, names, refuse)
  }
  return { indices: indices.map(numberOf), values }
}

/** One look at the object: the language sorts such keys each time that it lists them, which takes longer than all the rest. */
function byName(features: Record<string, unknown>, names: FeatureNames, refuse: Refuse): Entries {
  const keys = Object.keys(features)
  const indices = new Array<number>(keys.length)
  const values = new Array<number>(keys.length)
  for (let k = 0; k < keys.length; k++) {
    indices[k] = names.numberOf(keys[k]) ?? noFeature(keys[k], names, refuse)
    values[k] = features[keys[k]] as number
  }
  return { indices, values }
}

function noFeature(name: unknown, { expected }: FeatureNames, refuse: Refuse): never {
  return refuse(`the feature ${shown(name)}`, expected)
}

/** In the order of their numbers. */
function rising(indices: number[], values: number[]): Entries {
  let k = 1
  while (k < indices.length && indices[k - 1] <= indices[k]) k++
  if (k >= indices.length) return { indices, values }
  const order = [...indices.keys()].sort((a, b) => indices[a] - indices[b])
  return { indices: order.map(k => indices[k]), values: order.map(k => values[k]) }
}

const isObject = (what: unknown): what is Record<string, unknown> => typeof what === 'object' && what !== null
