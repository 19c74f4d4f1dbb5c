// The header of the model's own file: everything but the weights, as JSON. Reading trusts nothing: every field is checked
// for its kind before use, and a complaint names the field, what was found and what was expected.

import { SpillwayError } from '../errors.ts'
import { parseExpansion } from '../features/expansion-steps.ts'
import { type ScaleKind, scaleKinds } from '../features/scale-kinds.ts'
import { multiclassNames, regularizerNames } from '../losses/formulations.ts'
import { readSchema, type Schema } from '../tables/schema.ts'
import { type Calibration, calibrationKinds } from './calibration.ts'
import {
  type Certificate,
  type DataSummary,
  type HashedNames,
  inputFeatures,
  type Model,
  type ModelLabel,
} from './model.ts'
import type { Shortfall } from './shortfall.ts'
import { fileShape } from './weights.ts'

/** How many numbers follow the header for one set of vectors. */
export interface SectionShape {
  layout: 'dense' | 'sparse'
  /** Features listed. */
  count: number
}

export interface ModelHeader
  extends Omit<Model, 'version' | 'weights' | 'biasWeights' | 'transforms' | 'vectors' | 'classWeights'> {
  vectors: number
  biasWeights: number
  weights: SectionShape
  classWeights: Model['classWeights']
  transforms: {
    /** `names`: how many follow. */
    expand?: { steps: string; names?: number }
    normalize?: 'unit'
    scale?: SectionShape & { kind: ScaleKind }
    ranges?: SectionShape
  }
}

export function headerOf(model: Model): ModelHeader {
  const { version: _, weights, biasWeights, transforms, ...rest } = model
  const { expand, scale, ranges, normalize } = transforms
  return {
    ...rest,
    biasWeights: biasWeights.length,
    weights: fileShape(weights, model.features, model.vectors),
    transforms: {
      ...(expand && { expand: { steps: expand.steps, ...(expand.names && { names: expand.names.length }) } }),
      ...(scale && { scale: { kind: scale.kind, ...fileShape(scale.factors, model.features, 1) } }),
      ...(ranges && { ranges: fileShape(ranges, inputFeatures(model), 2) }),
      ...(normalize && { normalize }),
    },
  }
}

/** Checks a parsed header; `file` is named in the complaint. */
export function readHeader(parsed: unknown, file: string): ModelHeader {
  const header = new Fields(parsed, file, 'the header')
  const transforms = header.object('transforms')
  // Passing over a transform that this version does not know would give wrong scores without a word.
  transforms.only(['expand', 'scale', 'ranges', 'normalize'])
  const scale = transforms.optionalObject('scale')
  const ranges = transforms.optionalObject('ranges')
  const expand = transforms.optionalObject('expand')
  expand?.only(['steps', 'names'])
  return {
    labels: header
      .objects('labels')
      .map((label): ModelLabel => ({ value: label.numberOrNull('value'), text: label.text('text') })),
    multiclass: header.choice('multiclass', multiclassNames),
    features: header.count('features'),
    vectors: header.count('vectors'),
    bias: header.number('bias'),
    biasWeights: header.count('biasWeights'),
    weights: readShape(header.object('weights')),
    ...(header.has('inputFormat') && { inputFormat: header.text('inputFormat') }),
    ...(header.has('values') && { values: header.choice('values', ['f32', 'f64'] as const) }),
    ...(header.has('schema') && { schema: header.schema('schema') }),
    ...(header.has('hashedNames') && { hashedNames: readNames(header.object('hashedNames')) }),
    indexBase: header.choice('indexBase', [0, 1]),
    loss: header.text('loss'),
    ...(header.has('outlierMargin') && { outlierMargin: header.number('outlierMargin') }),
    cost: header.numberOrNull('cost'),
    solver: header.text('solver'),
    seed: header.numberOrNull('seed'),
    regularizer: header.choice('regularizer', regularizerNames),
    classWeights: header
      .objects('classWeights')
      .map(entry => ({ label: entry.text('label'), weight: entry.number('weight') })),
    transforms: {
      ...(expand && { expand: readExpansion(expand, file) }),
      ...(scale && { scale: { kind: scale.choice('kind', scaleKinds), ...readShape(scale) } }),
      ...(ranges && { ranges: readShape(ranges) }),
      ...(transforms.has('normalize') && { normalize: transforms.choice('normalize', ['unit'] as const) }),
    },
    ...(header.has('calibrations') && { calibrations: header.objects('calibrations').map(readCalibration) }),
    certificate: readOptional(header.optionalObject('certificate'), readCertificate),
    classCertificates: header.objects('classCertificates').map(readCertificate),
    data: readOptional(header.optionalObject('data'), readData),
    ...(header.has('shortfall') && { shortfall: readShortfall(header.object('shortfall')) }),
    createdBy: header.text('createdBy'),
  }
}

/** An expansion that this version does not know is refused, like any other transform. */
function readExpansion(fields: Fields, file: string): { steps: string; names?: number } {
  const steps = fields.text('steps')
  try {
    parseExpansion(steps)
  } catch (error) {
    if (!(error instanceof SpillwayError)) throw error
    throw new SpillwayError(
      `${file} expands its features by "${steps}", which this version of Spillway does not know (${error.message})`,
      'a newer Spillway can read it: npm install spillway@latest',
    )
  }
  return { steps, ...(fields.has('names') && { names: fields.count('names') }) }
}

function readNames(fields: Fields): HashedNames {
  return { features: fields.numbers('features'), names: fields.texts('names') }
}

function readOptional<T>(fields: Fields | undefined, read: (fields: Fields) => T): T | null {
  return fields ? read(fields) : null
}

function readShape(fields: Fields): SectionShape {
  return { layout: fields.choice('layout', ['dense', 'sparse']), count: fields.count('count') }
}

function readCertificate(fields: Fields): Certificate {
  return {
    primal: fields.numberOrNull('primal'),
    dual: fields.numberOrNull('dual'),
    gap: fields.numberOrNull('gap'),
    passes: fields.number('passes'),
    supportVectors: fields.numberOrNull('supportVectors'),
    ...(fields.has('outliers') && { outliers: fields.number('outliers'), relaxations: fields.number('relaxations') }),
    exitReason: fields.text('exitReason'),
  }
}

/** Whether the numbers make sense, modelComplaint says. */
function readCalibration(fields: Fields): Calibration {
  const kind = fields.choice('kind', calibrationKinds)
  return kind === 'sigmoid'
    ? { kind, slope: fields.number('slope'), offset: fields.number('offset') }
    : { kind, scores: fields.numbers('scores'), probabilities: fields.numbers('probabilities') }
}

function readData(fields: Fields): DataSummary {
  return {
    fingerprint: fields.text('fingerprint'),
    rows: fields.number('rows'),
    nonzeros: fields.number('nonzeros'),
    sources: fields.texts('sources'),
    ...(fields.has('rowsTouched') && { rowsTouched: fields.number('rowsTouched') }),
  }
}

function readShortfall(fields: Fields): Shortfall {
  return {
    tolerance: fields.numberOrNull('tolerance'),
    atZero: fields.numberOrNull('atZero'),
    factors: fields.numbers('factors'),
    values: fields.pairOrNull('values'),
    lengths: fields.pairOrNull('lengths'),
    resumable: fields.flag('resumable'),
  }
}

/** One JSON object whose fields are asked for by kind. */
class Fields {
  readonly #values: Record<string, unknown>
  readonly #file: string
  readonly #where: string

  constructor(value: unknown, file: string, where: string) {
    this.#file = file
    this.#where = where
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      throw new SpillwayError(`${file} is damaged: ${where} is ${shown(value)}; expected an object`)
    }
    this.#values = value as Record<string, unknown>
  }

  #at(name: string): string {
    return this.#where === 'the header' ? `header field "${name}"` : `${this.#where}.${name}`
  }
  #expected(name: string, what: string): SpillwayError {
    return new SpillwayError(
      `${this.#file} is damaged: ${this.#at(name)} is ${shown(this.#values[name])}; expected ${what}`,
    )
  }

  has(name: string): boolean {
    return Object.hasOwn(this.#values, name) && this.#values[name] !== null
  }
  only(names: string[]): void {
    for (const name of Object.keys(this.#values)) {
      if (names.includes(name)) continue
      throw new SpillwayError(
        `${this.#file} uses ${this.#at(name)}, which this version of Spillway does not know; known are ${names.join(', ')}`,
        'a newer Spillway can read it: npm install spillway@latest',
      )
    }
  }
  number(name: string): number {
    const value = this.#values[name]
    if (typeof value !== 'number') throw this.#expected(name, 'a number')
    return value
  }
  numbers(name: string): number[] {
    const value = this.#array(name)
    if (!value.every(entry => typeof entry === 'number')) throw this.#expected(name, 'a list of numbers')
    return value
  }
  pairOrNull(name: string): [number, number] | null {
    if (this.#values[name] === null) return null
    const value = this.numbers(name)
    if (value.length !== 2) throw this.#expected(name, 'two numbers, or null')
    return [value[0], value[1]]
  }
  numberOrNull(name: string): number | null {
    return this.#values[name] === null ? null : this.number(name)
  }
  /** A whole number from 0 to 2^32 − 1. */
  count(name: string): number {
    const value = this.#values[name]
    if (typeof value !== 'number' || value !== value >>> 0) throw this.#expected(name, 'a whole number below 2^32')
    return value
  }
  flag(name: string): boolean {
    const value = this.#values[name]
    if (typeof value !== 'boolean') throw this.#expected(name, 'true or false')
    return value
  }
  text(name: string): string {
    const value = this.#values[name]
    if (typeof value !== 'string') throw this.#expected(name, 'a text')
    return value
  }
  choice<T extends string | number>(name: string, choices: readonly T[]): T {
    const value = this.#values[name] as T
    if (!choices.includes(value)) throw this.#expected(name, `one of ${choices.join(', ')}`)
    return value
  }
  schema(name: string): Schema {
    const schema = readSchema(this.#values[name])
    if (typeof schema === 'string') throw this.#expected(name, `a schema: ${schema}`)
    return schema
  }
  texts(name: string): string[] {
    const value = this.#array(name)
    if (!value.every(entry => typeof entry === 'string')) throw this.#expected(name, 'a list of texts')
    return value
  }
  object(name: string): Fields {
    return new Fields(this.#values[name], this.#file, this.#at(name))
  }
  optionalObject(name: string): Fields | undefined {
    return this.has(name) ? this.object(name) : undefined
  }
  objects(name: string): Fields[] {
    return this.#array(name).map((value, k) => new Fields(value, this.#file, `${this.#at(name)}[${k}]`))
  }
  #array(name: string): unknown[] {
    const value = this.#values[name]
    if (!Array.isArray(value)) throw this.#expected(name, 'a list')
    return value
  }
}

function shown(value: unknown): string {
  if (value === undefined) return 'missing'
  const text = JSON.stringify(value)
  return text.length > 60 ? `${text.slice(0, 60)}…` : text
}
