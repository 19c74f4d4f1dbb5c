// One row, as a program has it, to a label: features have the numbers that they have in the user's data, columns of a table have
// their names.
import { UsageError } from '../errors.ts'
import { MOST_FEATURES } from '../numeric/layouts.ts'
import { NamedRows, shown } from '../tables/named-row.ts'
import type { Schema } from '../tables/schema.ts'
import { calibrationsOf, classProbabilities } from './calibration.ts'
import { type Model, predictLabel, scoreRow } from './model.ts'

export interface RowPrediction {
  /** As the user wrote it in the training data. */
  label: string
  /** One for two classes, where a score above 0 means the model's first label; else one for each label. */
  scores: Float64Array
  /** Of each label, in the order of the model's labels; only where scores can be turned into probabilities. */
  probabilities?: Float64Array
}

/** Of a model that was trained on a table: a value for each column, null where it is missing. */
export type NamedRow = Record<string, string | number | boolean | null>

/** Values by the number of their feature, or numbers and values side by side; in any order. Or a row of a table. */
export type RowToPredict = Record<number, number> | NamedRow | [indices: ArrayLike<number>, values: ArrayLike<number>]

/** A model that answers for a row. */
export interface Predicts {
  /** `predict({ 3: 0.5, 7: 1 })`. Numbers count as the data did that the model was trained on. */
  predict(row: Record<number, number>): RowPrediction
  /** `predict({ age: 39, job: 'clerk' })`, of a model that was trained on a table. */
  predict(row: NamedRow): RowPrediction
  /** The same of numbers and values side by side. */
  predict(indices: ArrayLike<number>, values: ArrayLike<number>): RowPrediction
}

export function withPredict<M extends Model>(model: M): M & Predicts {
  const predict = (row: RowToPredict | ArrayLike<number>, values?: ArrayLike<number>): RowPrediction =>
    predictRow(model, values === undefined ? (row as RowToPredict) : [row as ArrayLike<number>, values])
  // Not one of the model's own facts: whoever lists or compares those does not meet it.
  return Object.defineProperty({ ...model }, 'predict', { value: predict }) as M & Predicts
}

/** What the model says of a row: the same as `predict` says of that row of a file, but for the last digits of scores. */
export function predictRow(model: Model, row: RowToPredict): RowPrediction {
  requireRow(row, model.schema !== undefined)
  const { indices, values } =
    model.schema && !Array.isArray(row) ? namedEntries(model, model.schema, row) : numberedEntries(model, row)
  const scores = scoreRow(model, indices, values)
  const calibrations = calibrationsOf(model)
  const probabilities = calibrations && new Float64Array(model.labels.length)
  if (probabilities) classProbabilities(calibrations, model.labels.length, scores, 0, probabilities)
  return { label: predictLabel(model, scores).text, scores, ...(probabilities && { probabilities }) }
}

/** A list of values alone has no feature numbers, and a map no properties: both would pass for an empty row. */
function requireRow(row: unknown, named: boolean): void {
  const isObject = typeof row === 'object' && row !== null
  const isPair = Array.isArray(row) && row.length === 2 && row.every(each => typeof each === 'object' && each !== null)
  if (isPair || (isObject && (ArrayBuffer.isView(row) || !(Symbol.iterator in row)))) return
  throw new UsageError(
    `a row is ${isObject && !Array.isArray(row) ? 'a collection' : shown(row)}; expected ${named ? "an object with a value for each column, { age: 39, job: 'clerk' }, or " : 'values by feature numbers, { 3: 0.5, 17: 1 }, or '}numbers and values side by side, [[3, 17], [0.5, 1]]`,
  )
}

/** What is made of a schema once, for all rows. */
const tables = new WeakMap<Schema, NamedRows>()

function namedEntries(model: Model, schema: Schema, row: Record<string, unknown>) {
  const rows = tables.get(schema) ?? new NamedRows(schema, model.values === 'f64' ? 64 : 32)
  tables.set(schema, rows)
  return rows.entries(row, (found, expected) => {
    throw new UsageError(`a row has ${found}; expected ${expected}`)
  })
}

function numberedEntries(model: Model, row: RowToPredict): { indices: number[]; values: number[] } {
  const entries = (Array.isArray(row) ? pairs(row) : Object.entries(row)) as [string | number, number][]
  const numbered = entries.map(
    ([index, value]) => [zeroBased(model, Number(index), index), checked(value, index)] as const,
  )
  numbered.sort(([a], [b]) => a - b)
  const twice = numbered.find(([index], k) => k > 0 && numbered[k - 1][0] === index)
  if (twice) throw new UsageError(`feature ${twice[0] + model.indexBase} occurs twice in a row`)
  // Text is read so, unless the model wants it exactly.
  const read = model.values === 'f64' ? (value: number) => value : Math.fround
  return { indices: numbered.map(([index]) => index), values: numbered.map(([, value]) => read(value)) }
}

function pairs([indices, values]: [ArrayLike<number>, ArrayLike<number>]): [number, number][] {
  if (indices.length !== values.length) {
    throw new UsageError(`a row has ${indices.length} feature numbers and ${values.length} values; expected as many`)
  }
  return Array.from(indices, (index, k) => [index, values[k]])
}

function zeroBased({ indexBase }: Model, index: number, given: string | number): number {
  if (Number.isInteger(index) && index >= indexBase && index - indexBase < MOST_FEATURES) return index - indexBase
  throw new UsageError(
    `a row has the feature number ${shown(given)}; expected a whole number from ${indexBase}, as in the data that the model was trained on`,
  )
}

function checked(value: number, index: string | number): number {
  if (typeof value === 'number' && Number.isFinite(value)) return value
  throw new UsageError(`the value of feature ${index} is ${String(value)}; expected a finite number`)
}
