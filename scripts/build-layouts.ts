// Makes the constants and the accessors of all structures from the tables in src/numeric/structures/: `npm run layouts`.
// A file is only written when it changes, so that what is made from it is not made again.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { allLayoutFiles, allStructures } from '../src/numeric/structures/all-structures.ts'
import {
  faultsOf,
  isAddress,
  isStructure,
  type LayoutFile,
  type Part,
  type PlacedField,
  placeFields,
  type Scalar,
  type Structure,
  sizeOf,
} from '../src/numeric/structures/structure.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const FOLDER = 'src/numeric'
/** Longest line of a comment. */
const WIDTH = 120
const MADE = 'Made by `npm run layouts` from the tables in structures/: change those.'

function wrapped(text: string, first: string, next: string): string {
  const lines = [first]
  for (const word of text.split(' ')) {
    const line = lines[lines.length - 1]
    const longer = line === first || line === next ? line + word : `${line} ${word}`
    if (longer.length > WIDTH && line !== next) lines.push(next + word)
    else lines[lines.length - 1] = longer
  }
  return lines.join('\n')
}

const remark = (text: string): string => wrapped(text, '// ', '// ')
const documented = (text: string, indent = ''): string =>
  // The end of the comment stays with the last word.
  text === '' ? '' : `${wrapped(`${text}\0*/`, `${indent}/** `, `${indent} *  `).replace('\0', ' ')}\n`

/** What stands in the comment of a field. */
function meaning({ type, says }: PlacedField): string {
  if (type === 'bytes') return `u32, bytes: ${says}`
  if (!isAddress(type)) return `${type}: ${says}`
  const joint = /^\p{Lu}/u.test(says) ? '. ' : ', '
  return `u32: ${type}${says === '' ? '.' : joint + says}`
}

function partText(part: Part): string {
  const constant = (name: string, value: number | string, comment: string): string =>
    `${documented(comment)}export const ${name} = ${value}\n`
  const title = part.title ? `${remark(`--- ${part.title}`)}\n` : ''
  if (!isStructure(part))
    return title + part.constants.map(([name, value, says = '']) => constant(name, value, says)).join('')
  const size = sizeOf(part)
  const fields = placeFields(part).map(field => constant(field.constant, field.at, meaning(field)))
  return title + fields.join('') + constant(size.constant, size.bytes, size.says)
}

/** A file of integer constants, and nothing else, because both compilers read it. */
export function constantsText({ opening, parts }: LayoutFile): string {
  const head = remark(`${opening} ${MADE} Integer constants only, for both compilers read this file.`)
  return [`${head}\n`, ...parts.map(partText)].join('\n')
}

const READERS: Record<Exclude<Scalar, 'v128'>, [method: string, order: string]> = {
  u8: ['Uint8', ''],
  u16: ['Uint16', ', true'],
  u32: ['Uint32', ', true'],
  u64: ['BigUint64', ', true'],
  f64: ['Float64', ', true'],
}
const ARRAYS: Record<Scalar, [array: string, perScalar: number]> = {
  u8: ['Uint8Array', 1],
  u16: ['Uint16Array', 1],
  u32: ['Uint32Array', 1],
  u64: ['BigUint64Array', 1],
  f64: ['Float64Array', 1],
  v128: ['Uint8Array', 16],
}

/** LABEL_AT → labelAt. */
function memberName(name: string): string {
  return name.toLowerCase().replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())
}

function typeName({ type, scalar }: PlacedField): string {
  if (isAddress(type)) return 'Address'
  if (type === 'bytes') return 'ByteCount'
  return scalar === 'u64' ? 'bigint' : 'number'
}

function accessorText(field: PlacedField): string {
  const { at, scalar, count } = field
  const name = memberName(field.name)
  const says = documented(meaning(field), '  ')
  if (count !== undefined || scalar === 'v128') {
    const [array, perScalar] = ARRAYS[scalar]
    const place = at === 0 ? 'this.#view.byteOffset' : `this.#view.byteOffset + ${at}`
    return `${says}  get ${name}(): ${array} {
    return new ${array}(this.#view.buffer, ${place}, ${(count ?? 1) * perScalar})
  }
`
  }
  const [method, order] = READERS[scalar]
  return `${says}  get ${name}(): ${typeName(field)} {
    return this.#view.get${method}(${at}${order})
  }
  set ${name}(value: ${typeName(field)}) {
    this.#view.set${method}(${at}, value${order})
  }
`
}

/** The class that reads and writes a structure's fields by name. */
export function accessorsText(structure: Structure): string {
  const fields = placeFields(structure)
  const { bytes } = sizeOf(structure)
  const bytesType = fields.some(({ type }) => type === 'bytes') ? ', ByteCount' : ''
  return `${remark(`The fields of the structure ${structure.structure}, read and written by name. ${MADE}`)}
import type { Address${bytesType} } from '../../sizes.ts'
import type { Arena } from '../arena.ts'

export class ${structure.structure}Fields {
  readonly at: Address
  readonly #view: DataView

  constructor(arena: Arena, at: Address) {
    this.at = at
    this.#view = arena.view(at, ${bytes})
  }

${fields.map(accessorText).join('\n')}}
`
}

/** ControlPage → control-page. */
function fileName({ structure }: Structure): string {
  return structure.replace(/(?!^)[A-Z]/g, letter => `-${letter}`).toLowerCase()
}

/** Every file that is made, by its path from the root. */
export function madeFiles(): Map<string, string> {
  const constants = allLayoutFiles.map(file => [`${FOLDER}/${file.file}`, constantsText(file)] as const)
  const accessors = allStructures
    .filter(structure => structure.accessors !== false)
    .map(structure => [`${FOLDER}/fields/${fileName(structure)}.ts`, accessorsText(structure)] as const)
  return new Map([...constants, ...accessors])
}

if (import.meta.main) {
  const faults = allStructures.flatMap(faultsOf)
  for (const fault of faults) console.error(fault)
  if (faults.length > 0) process.exit(1)
  for (const [path, text] of madeFiles()) {
    const file = join(root, path)
    mkdirSync(dirname(file), { recursive: true })
    if (!existsSync(file) || readFileSync(file, 'utf8') !== text) writeFileSync(file, text)
  }
}
