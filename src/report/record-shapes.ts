// What each kind of record must hold, so that a page is drawn of what it says it shows: names of fields, and what stands in them.
// Fields that are not named here may hold anything, for a later version may have more.
import type { Progress, RowsProgress, TrainProgress } from '../train/progress.ts'
import type {
  DataRecord,
  EndRecord,
  EvaluationRecord,
  FeaturesRecord,
  RunLine,
  RunRecord,
  TestRecord,
} from './records.ts'

/** What is expected, in the words of a message. */
type Kind = 'a number' | 'a number or null' | 'a text' | 'a text or null' | 'true or false' | 'an object'

type Shape = Kind | ListShape | FieldsShape | { either: readonly Shape[] }

interface ListShape {
  list: Shape
  /** Every list has so many entries. */
  length?: number
}

/** A name that ends with a question mark is of a field that may be missing. */
interface FieldsShape {
  fields: Readonly<Record<string, Shape>>
}

/** The fields of a type, so that none is forgotten here. */
type FieldsOf<T> = {
  [K in Exclude<keyof T, 'record' | 'stage'> & string as undefined extends T[K] ? `${K}?` : K]: Shape
}

const fieldsOf = <T>(fields: FieldsOf<T>): FieldsShape => ({ fields: fields as Record<string, Shape> })
const number = 'a number'
const text = 'a text'
/** JSON has no other word for a number that is not finite. */
const anyNumber = 'a number or null'

const BINS: Shape = { list: { fields: { from: number, to: number, count: number } } }
const LABELS: Shape = { list: { fields: { label: text, rows: number } } }
const POINTS: Shape = { list: { list: number, length: 2 } }
const COST = { cost: number, accuracy: number } as const

const STAGES: Record<Exclude<Progress['stage'], 'test'>, Shape> = {
  plan: fieldsOf<Extract<Progress, { stage: 'plan' }>>({
    solver: text,
    reason: text,
    'memory?': { fields: { parts: { list: { fields: { what: text, bytes: number } } }, allowed: number } },
    'blocks?': { fields: { count: number, groups: number, slots: number, slotBytes: number, cacheBytes: number } },
    'models?': { fields: { all: number, together: number } },
  }),
  read: fieldsOf<Extract<Progress, { stage: 'read' }>>({
    ...{ seconds: number, bytesRead: number, 'bytesTotal?': number, rows: number, badRows: number },
  }),
  rows: fieldsOf<RowsProgress>({
    ...{ seconds: number, rows: number, features: number, classes: number, labels: LABELS },
    'blocks?': { list: { fields: { rows: number, bytes: number } } },
  }),
  train: fieldsOf<TrainProgress>({
    ...{ seconds: number, pass: number, primal: anyNumber, gap: anyNumber, certified: 'true or false' },
    ...{ 'partial?': 'true or false', 'certificate?': number, 'problem?': number, 'problems?': number },
    'models?': { fields: { done: number, 'training?': number, 'all?': number, 'least?': number } },
    'blocks?': { fields: { read: number, bytesRead: number, bytesSkipped: number, 'inMemory?': { list: number } } },
    'time?': { fields: { read: number, decode: number, wait: number } },
    'rows?': { fields: { kept: number, left: number, 'evicted?': number } },
    'steps?': { fields: { outer: number, inner: number, 'stage?': number, 'stages?': number } },
    memoryBytes: number,
  }),
  relax: fieldsOf<Extract<Progress, { stage: 'relax' }>>({
    ...{ seconds: number, relaxation: number, gap: anyNumber, objective: anyNumber, outliers: number, changed: number },
  }),
}

const RECORDS: Record<Exclude<RunLine['record'], 'progress'>, Shape> = {
  run: fieldsOf<RunRecord>({
    ...{ format: number, version: text, command: text, verb: text, began: text, data: { list: text } },
    ...{ settings: { fields: { 'tolerance?': number, 'memory?': number } }, seed: number, 'resumes?': 'true or false' },
  }),
  data: fieldsOf<DataRecord>({
    ...{ rows: number, features: number, 'nonzeros?': number, labels: LABELS },
    'otherLabels?': { fields: { labels: number, rows: number } },
    ...{ 'sampledRows?': number, 'rowLengths?': BINS },
    'values?': { fields: { smallest: number, largest: number, bins: BINS } },
  }),
  test: fieldsOf<TestRecord>({
    ...{ seconds: number, 'pass?': number, data: text, rows: number, accuracy: number, 'took?': number },
  }),
  evaluation: fieldsOf<EvaluationRecord>({
    ...{ data: text, rows: number, accuracy: number, positive: 'a text or null' },
    ...{ rocArea: anyNumber, prArea: anyNumber, logLoss: anyNumber, 'roc?': POINTS, 'precisionRecall?': POINTS },
    'calibration?': { list: { fields: { predicted: number, observed: number, rows: number } } },
    'confusion?': { fields: { labels: { list: text }, counts: { list: { list: number } } } },
  }),
  features: fieldsOf<FeaturesRecord>({
    ...{ nonzero: number, all: number },
    features: { list: { fields: { name: text, weight: number, label: text } } },
  }),
  end: fieldsOf<EndRecord>({ error: text, 'advice?': text }),
  // Other fields differ with the command; these are drawn.
  result: {
    fields: {
      ...{ command: text, 'solver?': text, 'solverReason?': text, 'exitReason?': text },
      ...{ 'rows?': number, 'features?': number, 'nonzeros?': number, 'passes?': number, 'peakMemoryBytes?': number },
      ...{
        'primal?': anyNumber,
        'dual?': anyNumber,
        'gap?': anyNumber,
        'accuracy?': anyNumber,
        'relaxations?': number,
      },
      'seconds?': { either: [number, { fields: { 'total?': number } }] },
      'costs?': { list: { fields: { ...COST, standardError: number } } },
      'best?': { fields: COST },
      'simplest?': { fields: COST },
      'perFold?': { list: { fields: { rows: number, accuracy: number, passes: number, gap: anyNumber } } },
    },
  },
}

/** What is wrong with a value: where, what stands there, and what was expected. */
export interface Misfit {
  /** As a program would write it: `labels[3].rows`. */
  field: string
  found: string
  expected: string
}

/** Whether it is a kind of record that is known here. */
export const isKnownKind = (record: string): record is RunLine['record'] =>
  record === 'progress' || Object.hasOwn(RECORDS, record)

/** What is wrong with a record of a known kind; the first thing. */
export function misfitOf(record: RunLine['record'], line: Record<string, unknown>): Misfit | undefined {
  const { stage } = line
  if (record !== 'progress') return misfit(line, RECORDS[record], '') ?? confusionMisfit(line)
  if (typeof stage !== 'string') return wrong('stage', stage, text)
  // Stages that a later version may have tell the time, if they tell it, as all do.
  const known = Object.hasOwn(STAGES, stage)
  return misfit(line, known ? STAGES[stage as keyof typeof STAGES] : { fields: { 'seconds?': number } }, '')
}

function misfit(value: unknown, shape: Shape, place: string): Misfit | undefined {
  if (typeof shape === 'string') return isOfKind(value, shape) ? undefined : wrong(place, value, shape)
  if ('either' in shape) {
    const misfits = shape.either.map(one => misfit(value, one, place))
    return misfits.includes(undefined) ? undefined : misfits.at(-1)
  }
  if ('list' in shape) return listMisfit(value, shape, place)
  if (!isOfKind(value, 'an object')) return wrong(place, value, 'an object')
  for (const [name, inner] of Object.entries(shape.fields)) {
    const field = name.endsWith('?') ? name.slice(0, -1) : name
    const own = Object.hasOwn(value as object, field) ? (value as Record<string, unknown>)[field] : undefined
    if (own === undefined && field !== name) continue
    const found = misfit(own, inner, place === '' ? field : `${place}.${field}`)
    if (found) return found
  }
  return undefined
}

function listMisfit(value: unknown, { list, length }: ListShape, place: string): Misfit | undefined {
  const expected = length === undefined ? 'a list' : `a list of ${length}`
  if (!Array.isArray(value) || (length !== undefined && value.length !== length)) return wrong(place, value, expected)
  for (const [k, entry] of value.entries()) {
    const found = misfit(entry, list, `${place}[${k}]`)
    if (found) return found
  }
  return undefined
}

/** A matrix has a row and a column for each label. */
function confusionMisfit({ confusion }: { confusion?: unknown }): Misfit | undefined {
  if (confusion === undefined) return undefined
  const { labels, counts } = confusion as NonNullable<EvaluationRecord['confusion']>
  const expected = `a list of ${labels.length}, as there are labels`
  if (counts.length !== labels.length) return wrong('confusion.counts', counts, expected)
  const k = counts.findIndex(row => row.length !== labels.length)
  return k < 0 ? undefined : wrong(`confusion.counts[${k}]`, counts[k], expected)
}

function isOfKind(value: unknown, kind: Kind): boolean {
  if (value === null) return kind === 'a number or null' || kind === 'a text or null'
  if (kind === 'an object') return typeof value === 'object' && !Array.isArray(value)
  if (kind === 'true or false') return typeof value === 'boolean'
  // JSON may have 1e999.
  return kind.startsWith('a number') ? Number.isFinite(value) : typeof value === 'string'
}

const wrong = (field: string, value: unknown, expected: string): Misfit => ({
  field,
  found: foundText(value),
  expected,
})

function foundText(value: unknown): string {
  if (value === undefined) return 'missing'
  if (Array.isArray(value)) return `a list of ${value.length}`
  if (typeof value === 'string') return shownText(value)
  return value !== null && typeof value === 'object' ? 'an object' : String(value)
}

/** The beginning of a text, which may be long. */
export const shownText = (text: string): string => JSON.stringify(text.length > 40 ? `${text.slice(0, 40)}…` : text)
