// What a table of a structure is: names, types and meanings of its fields, from which offsets are reckoned.
// The constants for both compilers, and the accessors, are made from these tables by scripts/build-layouts.ts.

/** What one number of a field is. */
export type Scalar = 'u8' | 'u16' | 'u32' | 'u64' | 'f64' | 'v128'

/** A scalar, a row of them, or a u32 that is a count of bytes or an address, with what stands there. */
export type FieldType = Exclude<Scalar, 'v128'> | `${Scalar}[${number}]` | 'bytes' | `address of ${string}`

/** Name without the prefix, type, meaning. `at` is for a field that does not follow the one before it. */
export type Field = readonly [name: string, type: FieldType, says?: string, place?: { at: number }]

/** A number that is no field. A text is written as it is: some are better read in hex. */
export type Constant = readonly [name: string, value: number | string, says?: string]

export interface Structure {
  /** The class of its accessors is called so, and Fields. */
  structure: string
  /** What the names of its fields begin with. */
  prefix: string
  title?: string
  fields: readonly Field[]
  /** false where TypeScript reads single fields of many records, or none: there is no class of accessors then. */
  accessors?: false
  /** The constant for its size: the prefix and BYTES, and the end of the last field, unless told otherwise. */
  size?: { name?: string; bytes?: number; says?: string }
}

export interface Constants {
  title?: string
  constants: readonly Constant[]
}

export type Part = Structure | Constants

/** A file of constants. */
export interface LayoutFile {
  file: string
  opening: string
  parts: readonly Part[]
}

export interface PlacedField {
  name: string
  /** With the structure's prefix. */
  constant: string
  type: FieldType
  says: string
  at: number
  scalar: Scalar
  /** How many scalars an array has; undefined for a single one. */
  count: number | undefined
  /** Of all its scalars. */
  bytes: number
}

export const SCALAR_BYTES: Record<Scalar, number> = { u8: 1, u16: 2, u32: 4, u64: 8, f64: 8, v128: 16 }

export function isStructure(part: Part): part is Structure {
  return 'structure' in part
}

export function isAddress(type: FieldType): boolean {
  return type.startsWith('address of ')
}

function scalarsOf(type: FieldType): { scalar: Scalar; count: number | undefined } {
  if (type === 'bytes' || isAddress(type)) return { scalar: 'u32', count: undefined }
  // 'f64[3]' is 'f64' and '3'.
  const [scalar, count] = type.split(/[[\]]/) as [Scalar, string?]
  return { scalar, count: count === undefined ? undefined : Number(count) }
}

/** The fields and where each begins. */
export function placeFields({ prefix, fields }: Structure): PlacedField[] {
  let next = 0
  return fields.map(([name, type, says = '', place]) => {
    const { scalar, count } = scalarsOf(type)
    const bytes = SCALAR_BYTES[scalar] * (count ?? 1)
    const at = place?.at ?? next
    next = at + bytes
    return { name, constant: prefix + name, type, says, at, scalar, count, bytes }
  })
}

export function sizeOf(structure: Structure): { constant: string; bytes: number; says: string } {
  const { prefix, size } = structure
  const last = placeFields(structure).at(-1)
  const end = last ? last.at + last.bytes : 0
  return { constant: size?.name ?? `${prefix}BYTES`, bytes: size?.bytes ?? end, says: size?.says ?? '' }
}

/** What is wrong with a table, in words: fields that overlap, are not aligned, or lie beyond the structure's size. */
export function faultsOf(structure: Structure): string[] {
  const faults: string[] = []
  const fields = placeFields(structure).sort((a, b) => a.at - b.at)
  const { constant, bytes } = sizeOf(structure)
  for (const [k, field] of fields.entries()) {
    const before = fields[k - 1]
    if (before && before.at + before.bytes > field.at) faults.push(`${before.constant} and ${field.constant} overlap`)
    const alignment = SCALAR_BYTES[field.scalar]
    if (field.at % alignment !== 0) {
      faults.push(`${field.constant} begins at byte ${field.at}, which is no multiple of its ${alignment} bytes`)
    }
    if (field.at + field.bytes > bytes) {
      faults.push(`${field.constant} ends at byte ${field.at + field.bytes}, beyond ${constant}, ${bytes}`)
    }
  }
  // Where records follow each other, the next one has to be aligned too.
  const widest = Math.max(1, ...fields.map(({ scalar }) => SCALAR_BYTES[scalar]))
  if (bytes % widest !== 0) faults.push(`${constant}, ${bytes}, is no multiple of the widest field's ${widest} bytes`)
  return faults
}
