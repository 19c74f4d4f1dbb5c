// The fields of PMML that a model's features come from: a field for each column of a table, or for each feature that has a weight.
import { SpillwayError } from '../errors.ts'
import { type CategoryColumn, type FeatureColumn, featureName, hasFeatures, type Schema } from '../tables/schema.ts'
import { userFeature } from './feature-names.ts'
import type { Model } from './model.ts'
import { featureAt, listedFeatures } from './weights.ts'

/** What stands for a cell that is missing, in the ways that are written most. */
const MISSING = ['', 'NA', 'na', 'NaN', 'nan', 'NULL', 'null', '?']

/** What a coefficient belongs to: a field, or one value of it. */
export interface Predictor {
  field: string
  value?: string
}

export interface PmmlFields {
  /** What the label is called. */
  target: string
  /** How many there are besides the label. */
  count: number
  /** DataField elements. */
  declared(): Iterable<string>
  /** MiningField elements. */
  mined(): Iterable<string>
  /** DerivedField elements. */
  derived(): Iterable<string>
  predictorOf(feature: number): Predictor
}

export function fieldsOf(model: Model): PmmlFields {
  return model.schema ? new ColumnFields(model, model.schema) : new FeatureFields(model)
}

const continuous = (name: string): string =>
  `    <DataField name="${escaped(name)}" optype="continuous" dataType="double"/>\n`
/** A feature that a row does not name is 0, as in LIBSVM text. */
const orZero = (name: string): string => `      <MiningField name="${escaped(name)}" missingValueReplacement="0"/>\n`

class FeatureFields implements PmmlFields {
  readonly target = 'label'
  readonly count: number
  readonly #model: Model

  constructor(model: Model) {
    this.#model = model
    this.count = listedFeatures(model.weights, model.vectors)
  }

  #name(feature: number): string {
    return `feature_${userFeature(this.#model, feature)}`
  }

  *#each(text: (name: string) => string): Generator<string> {
    for (let place = 0; place < this.count; place++) yield text(this.#name(featureAt(this.#model.weights, place)))
  }

  declared = (): Iterable<string> => this.#each(continuous)
  mined = (): Iterable<string> => this.#each(orZero)
  derived = (): Iterable<string> => []
  predictorOf = (feature: number): Predictor => ({ field: this.#name(feature) })
}

/** Fields of a table are called by its columns. Features of hashed columns have fields of their own: PMML knows no such hash. */
class ColumnFields implements PmmlFields {
  readonly target: string
  readonly #schema: Schema
  readonly #columns: FeatureColumn[]
  /** Those of hashed columns that have weights. */
  readonly #hashed: string[] = []
  readonly #taken: Set<string>
  /** Of columns with missing cells: the fields that are made of theirs, by what they are for. */
  readonly #made = new Map<string, string>()

  constructor({ weights, vectors }: Model, schema: Schema) {
    this.#schema = schema
    this.#columns = schema.columns.filter(hasFeatures)
    this.#taken = new Set(schema.columns.map(({ name }) => name))
    this.target = schema.columns.find(({ role }) => role === 'label')?.name ?? this.#newName('label')
    for (const { name } of this.#columns.filter(hasMissing)) {
      this.#made.set(`number of ${name}`, this.#newName(`${name} or 0`))
      this.#made.set(`missing in ${name}`, this.#newName(`${name} is missing`))
    }
    const listed = listedFeatures(weights, vectors)
    for (let place = 0; place < listed; place++) {
      const column = this.#columnOf(featureAt(weights, place))
      if ('bits' in column) this.#hashed.push(featureName(schema, featureAt(weights, place))!)
    }
    for (const column of schema.columns) refuseUnsayable(column.name, 'values' in column ? column.values : [])
  }

  get count(): number {
    return this.#columns.filter(column => !('bits' in column)).length + this.#hashed.length
  }

  #newName(wanted: string): string {
    let name = wanted
    while (this.#taken.has(name)) name += '_'
    this.#taken.add(name)
    return name
  }

  /** Columns follow each other: the last one that begins before a feature has it. */
  #columnOf(feature: number): FeatureColumn {
    let [low, high] = [0, this.#columns.length - 1]
    while (low < high) {
      const middle = Math.ceil((low + high) / 2)
      if (this.#columns[middle].feature <= feature) low = middle
      else high = middle - 1
    }
    return this.#columns[low]
  }

  *declared(): Generator<string> {
    for (const column of this.#columns) {
      if (column.role === 'number') yield continuous(column.name)
      else if (column.role === 'category') yield* categorical(column)
    }
    for (const name of this.#hashed) yield continuous(name)
  }

  *mined(): Generator<string> {
    for (const column of this.#columns) {
      const name = escaped(column.name)
      // A value that was not there in training has no feature.
      if (column.role === 'category') yield `      <MiningField name="${name}" invalidValueTreatment="asIs"/>\n`
      else if (column.role === 'number') {
        yield hasMissing(column) ? `      <MiningField name="${name}"/>\n` : orZero(column.name)
      }
    }
    for (const name of this.#hashed) yield orZero(name)
  }

  *derived(): Generator<string> {
    for (const column of this.#columns.filter(hasMissing)) {
      const name = escaped(column.name)
      const made = (what: string): string =>
        `<DerivedField name="${escaped(this.#made.get(`${what} ${column.name}`)!)}" optype="continuous" dataType="double">`
      if (column.role === 'number') {
        yield `      ${made('number of')}<FieldRef field="${name}" mapMissingTo="0"/></DerivedField>\n`
      }
      const numbers = [1, 0].map(number => `<Constant dataType="double">${number}</Constant>`).join('')
      const test = `<Apply function="isMissing"><FieldRef field="${name}"/></Apply>`
      yield `      ${made('missing in')}<Apply function="if">${test}${numbers}</Apply></DerivedField>\n`
    }
  }

  predictorOf(feature: number): Predictor {
    const column = this.#columnOf(feature)
    const { name } = column
    if ('bits' in column) return { field: featureName(this.#schema, feature)! }
    if (feature === column.missing) return { field: this.#made.get(`missing in ${name}`)! }
    if (column.role === 'category') return { field: name, value: column.values[feature - column.feature] }
    return { field: this.#made.get(`number of ${name}`) ?? name }
  }
}

const hasMissing = (column: FeatureColumn): boolean => 'missing' in column && column.missing !== undefined

function* categorical({ name, values }: CategoryColumn): Generator<string> {
  yield `    <DataField name="${escaped(name)}" optype="categorical" dataType="string">\n`
  for (const value of values) yield `      <Value value="${escaped(value)}"/>\n`
  for (const value of MISSING) yield `      <Value value="${value}" property="missing"/>\n`
  yield '    </DataField>\n'
}

function refuseUnsayable(name: string, values: readonly string[]): void {
  const odd = [name, ...values].find(text => !isXmlText(text))
  if (odd === undefined) return
  const what =
    odd === name ? `the column ${JSON.stringify(name)}` : `${JSON.stringify(odd)} in column ${JSON.stringify(name)}`
  throw new SpillwayError(`XML cannot hold ${what}: it has a control character in it`)
}

const ENTITIES: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  '\t': '&#9;',
  '\n': '&#10;',
  '\r': '&#13;',
}

/** A text as the value of an attribute. */
export function escaped(text: string): string {
  return text.replace(/[&<>"\t\n\r]/g, character => ENTITIES[character])
}

/** Whether XML 1.0 has all of its characters. */
export function isXmlText(text: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  return text.isWellFormed() && !/[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/.test(text)
}
