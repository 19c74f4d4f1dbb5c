// What the columns of a table become: which one is the label, and which features each of the others has. A schema is made once
// for a data set. Stores and models keep it, so that rows that come later are read the same way. Nothing here needs Node.

/** A column that has no features. */
export interface PlainColumn {
  name: string
  role: 'label' | 'weight' | 'ignored'
}

/** Numbers, each the value of one feature. A missing number is 0, and has a feature of its own where cells were missing. */
export interface NumberColumn {
  name: string
  role: 'number'
  feature: number
  missing?: number
}

/** Values of a list: a feature each, whose value is 1. A value that is not in the list has no feature. */
export interface CategoryColumn {
  name: string
  role: 'category'
  feature: number
  values: string[]
  missing?: number
}

/** Values, or the words of texts, by their hashes: 2^bits features. */
export interface HashedColumn {
  name: string
  role: 'hashed' | 'words'
  feature: number
  bits: number
}

export type Column = PlainColumn | NumberColumn | CategoryColumn | HashedColumn
export type FeatureColumn = NumberColumn | CategoryColumn | HashedColumn

export interface Schema {
  /** Whether the columns had names; else they are called by their numbers, from 1 on. */
  header: boolean
  /** In the order of the data that it was made of. */
  columns: Column[]
  features: number
}

export const mostBits = 28

export function hasFeatures(column: Column): column is FeatureColumn {
  return 'feature' in column
}

/** Features of a column, that of missing cells included. */
export function featuresOf(column: Column): number {
  if (!hasFeatures(column)) return 0
  if (column.role === 'number') return column.missing === undefined ? 1 : 2
  if (column.role === 'category') return column.values.length + (column.missing === undefined ? 0 : 1)
  return 2 ** column.bits
}

/** What a feature is called: `age`, `state=Ohio`, `age is missing`. `name`: of one that was hashed, where that was kept. */
export function featureName({ columns }: Schema, feature: number, name?: string): string | undefined {
  for (const column of columns) {
    if (!hasFeatures(column) || feature < column.feature || feature >= column.feature + featuresOf(column)) continue
    if ('bits' in column && name !== undefined) {
      if (name === '') return `${column.name} is missing`
      return column.role === 'words' ? `${column.name} has ${name}` : `${column.name}=${name}`
    }
    if ('bits' in column) {
      const what = column.role === 'words' ? `word of ${column.name}` : column.name
      return `${what} by hash ${feature - column.feature}`
    }
    if (feature === column.missing) return `${column.name} is missing`
    return column.role === 'number' ? column.name : `${column.name}=${column.values[feature - column.feature]}`
  }
  return undefined
}

/** Bytes that the lists of values take, in the program, in the memory of the loops, and in a file of the model while it is made. */
export function bytesOf({ columns }: Schema): number {
  let bytes = 0
  for (const column of columns) {
    if (column.role === 'category') for (const { length } of column.values) bytes += bytesOfValues(1, length)
  }
  return bytes
}

/** The same of so many values of so many letters together. */
export function bytesOfValues(values: number, letters: number): number {
  return VALUE_BYTES * values + 4 * letters
}

/** Of a value besides its text, measured: strings, references, slots, and copies of all in the files of stores and models. */
const VALUE_BYTES = 300

/** Whether a column has numbers, whose scale matters. */
export function hasNumbers({ columns }: Schema): boolean {
  return columns.some(({ role }) => role === 'number')
}

/** Features whose values are a column's numbers. */
export function numberFeatures({ columns }: Schema): number[] {
  return columns.flatMap(column => (column.role === 'number' ? [column.feature] : []))
}

/** Whether rows of this schema have weights. */
export function hasWeights({ columns }: Schema): boolean {
  return columns.some(({ role }) => role === 'weight')
}

/** A schema from parsed JSON, or in words what is wrong with it. */
export function readSchema(parsed: unknown): Schema | string {
  if (typeof parsed !== 'object' || parsed === null) return 'it is no object'
  const { header, columns, features } = parsed as Partial<Schema>
  if (typeof header !== 'boolean' || !Array.isArray(columns)) return 'it lacks header or columns'
  const names = new Set<unknown>()
  let next = 0
  for (const column of columns as unknown[]) {
    const complaint = columnComplaint(column, next)
    if (complaint) return complaint
    const { name } = column as Column
    if (names.has(name)) return `two columns are called ${JSON.stringify(name)}`
    names.add(name)
    next += featuresOf(column as Column)
  }
  if (features !== next) return `it has ${next} features, and says ${features}`
  return { header, columns, features }
}

function columnComplaint(column: unknown, next: number): string | undefined {
  if (typeof column !== 'object' || column === null) return 'a column is no object'
  const { name, role, feature, missing, values, bits } = column as Record<string, unknown>
  if (typeof name !== 'string') return 'a column has no name'
  const wrong = (what: string): string => `column ${JSON.stringify(name)}: ${what}`
  if (role === 'label' || role === 'weight' || role === 'ignored') return undefined
  if (feature !== next) return wrong(`its first feature is ${feature}, expected ${next}`)
  if (role === 'hashed' || role === 'words') {
    return Number.isInteger(bits) && (bits as number) >= 1 && (bits as number) <= mostBits
      ? undefined
      : wrong('its bits')
  }
  if (role !== 'number' && role !== 'category') return wrong(`its role is ${JSON.stringify(role)}`)
  const isCategory = role === 'category'
  if (isCategory && !(Array.isArray(values) && values.every(value => typeof value === 'string'))) {
    return wrong('its values are no list of texts')
  }
  const last = next + (isCategory ? (values as string[]).length : 1)
  return missing === undefined || missing === last ? undefined : wrong(`its feature for missing cells is ${missing}`)
}
