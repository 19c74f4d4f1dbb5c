// The manifest: what a store holds, in JSON. It is written last, so a folder that has one is complete. Counts are plain
// numbers, exact up to 2^53. What is read is not trusted: every field is checked, and block files are only ever opened
// under names that this module would have given them.

import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileError, SpillwayError } from '../errors.ts'
import { usualInputFormat } from '../input-formats/all-input-formats.ts'
import { type Label, textLabelComplaint } from '../input-formats/labels.ts'
import { readSchema, type Schema } from '../tables/schema.ts'
import {
  BLOCK_FILE_PATTERN,
  FEATURE_SET_FILE,
  FEATURE_SET_PATTERN,
  MANIFEST_FILE,
  MOST_BLOCKS,
  newerVersion,
} from './file-layout.ts'
import { LabelCodes } from './stored-labels.ts'

export const MANIFEST_VERSION = 1
/** Of a store whose rows have weights: readers that know none refuse it. */
export const MANIFEST_VERSION_WEIGHTED = 2

export interface BlockEntry {
  file: string
  bytes: number
  rows: number
  nonzeros: number
  segments: number
  /** 16 hexadecimal digits, chained over the checksums of its header and segments. */
  checksum: string
}

export interface LabelEntry extends Label {
  rows: number
}

export interface SourceEntry {
  name: string
  bytes: number
  /** Rows of it that the store holds. */
  rows: number
  /** Position of its first row; without it, sources follow each other without gaps. */
  firstPosition?: number
  /** Of its first bytes and of all, 16 hexadecimal digits each (see source-content.ts). Older stores have none. */
  beginning?: string
  checksum?: string
}

export interface Manifest {
  format: 'spillway block store'
  version: number
  createdBy: string
  rows: number
  nonzeros: number
  features: number
  /** How many of them occur; 0 when that was not kept (see feature-set.ts). */
  usedFeatures: number
  /** The file that says which; features.bin when not given. */
  featureFile?: string
  /** Positions given to rows so far: as many as there are rows, until rows are removed. */
  positions?: number
  /** Format of the text that the rows came from; libsvm when not given. */
  inputFormat?: string
  /** Number that the input gives to the feature which the blocks call 0. */
  indexBase: number
  /** What the columns of a table became. */
  schema?: Schema
  /** True when rows have weights. */
  rowWeights?: boolean
  blocks: BlockEntry[]
  labels: LabelEntry[]
  sources: SourceEntry[]
  split: 'random' | 'sequential'
  seed: number
  /** 32 or 64: f32 or f64. */
  valueBits: 32 | 64
  compression: 'zstd' | 'none'
  /** What was done to the values on the way in; this module does not look inside. */
  transforms: Record<string, unknown>
  /** XXH64 of the block checksums: two stores with the same one hold the same blocks. */
  fingerprint: string
}

/** What the caller of StoreWriter.finish knows; the writer knows the rest. */
export type ManifestParts = Pick<
  Manifest,
  'createdBy' | 'features' | 'indexBase' | 'labels' | 'sources' | 'split' | 'seed' | 'valueBits'
> &
  Partial<
    Pick<
      Manifest,
      | 'transforms'
      | 'compression'
      | 'usedFeatures'
      | 'featureFile'
      | 'positions'
      | 'inputFormat'
      | 'schema'
      | 'rowWeights'
    >
  >

export async function readManifest(folder: string): Promise<Manifest> {
  const path = join(folder, MANIFEST_FILE)
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (error) {
    throw fileError(error, path, 'read')
  }
  let parsed: unknown
  try {
    parsed = JSON.parse(text)
  } catch (error) {
    throw new SpillwayError(`${path} is not JSON: ${(error as Error).message}`, 'ingest the data again')
  }
  return checkManifest(parsed, path)
}

/** Turns parsed JSON into a Manifest or says what is wrong with it. */
export function checkManifest(parsed: unknown, path: string): Manifest {
  const fields = new Fields(parsed, path, '')
  const format = fields.value('format')
  if (format !== 'spillway block store') throw fields.wrong('format', '"spillway block store"')
  const { version, rowWeights } = versionIn(fields, path)
  const names = new Set<string>()
  const manifest: Manifest = {
    format,
    version,
    createdBy: fields.text('createdBy'),
    rows: fields.count('rows'),
    nonzeros: fields.count('nonzeros'),
    features: fields.count('features', 2 ** 32),
    usedFeatures: fields.count('usedFeatures', 2 ** 32),
    ...fields.optional('featureFile', name => fields.text(name)),
    ...fields.optional('positions', name => fields.count(name)),
    ...fields.optional('inputFormat', name => fields.text(name)),
    indexBase: fields.count('indexBase', 1),
    ...fields.optional('schema', name => schemaIn(fields, name)),
    ...(rowWeights && { rowWeights }),
    blocks: fields.list('blocks', MOST_BLOCKS).map(block => {
      const file = block.text('file')
      if (!BLOCK_FILE_PATTERN.test(file)) throw block.wrong('file', 'a name such as "block-000000.bin"')
      if (names.has(file)) throw block.wrong('file', 'a name that no other block has')
      names.add(file)
      return {
        file,
        bytes: block.count('bytes'),
        rows: block.count('rows'),
        nonzeros: block.count('nonzeros'),
        segments: block.count('segments'),
        checksum: block.checksum('checksum'),
      }
    }),
    labels: fields.list('labels').map(label => ({
      ...label.label(),
      rows: label.count('rows'),
    })),
    sources: fields.list('sources').map(sourceEntry),
    split: fields.oneOf('split', ['random', 'sequential']),
    seed: fields.number('seed'),
    valueBits: fields.oneOf('valueBits', [32, 64]),
    compression: fields.oneOf('compression', ['zstd', 'none']),
    transforms: fields.object('transforms'),
    fingerprint: fields.checksum('fingerprint'),
  }
  if (!FEATURE_SET_PATTERN.test(featureFileOf(manifest))) {
    throw fields.wrong('featureFile', 'a name such as "features-000001.bin"')
  }
  const complaint = new LabelCodes().complaint(manifest.labels)
  if (complaint) throw new SpillwayError(`${path}: ${complaint}`, 'ingest the data again')
  for (const field of ['rows', 'nonzeros'] as const) {
    const sum = manifest.blocks.reduce((total, block) => total + block[field], 0)
    if (sum !== manifest[field]) throw fields.wrong(field, `${sum}, the sum over its blocks`)
  }
  return manifest
}

/** The version, and whether rows have weights, which it goes by. */
function versionIn(fields: Fields, path: string): Pick<Manifest, 'version' | 'rowWeights'> {
  const version = fields.count('version')
  if (version > MANIFEST_VERSION_WEIGHTED) throw newerVersion(path, 'manifest', version, MANIFEST_VERSION_WEIGHTED)
  const rowWeights = fields.value('rowWeights')
  if (rowWeights !== undefined && rowWeights !== true) throw fields.wrong('rowWeights', 'true, or nothing')
  const expected = rowWeights ? MANIFEST_VERSION_WEIGHTED : MANIFEST_VERSION
  if (version !== expected) throw fields.wrong('version', `${expected}`)
  return { version, ...(rowWeights && { rowWeights }) }
}

function schemaIn(fields: Fields, name: string): Schema {
  const schema = readSchema(fields.value(name))
  if (typeof schema === 'string') throw fields.wrong(name, `a schema: ${schema}`)
  return schema
}

function sourceEntry(source: Fields): SourceEntry {
  return {
    name: source.text('name'),
    bytes: source.count('bytes'),
    rows: source.count('rows'),
    ...source.optional('firstPosition', name => source.count(name)),
    ...source.optional('beginning', name => source.checksum(name)),
    ...source.optional('checksum', name => source.checksum(name)),
  }
}

export function featureFileOf(manifest: Pick<Manifest, 'featureFile'>): string {
  return manifest.featureFile ?? FEATURE_SET_FILE
}

export function inputFormatOf(manifest: Pick<Manifest, 'inputFormat'>): string {
  return manifest.inputFormat ?? usualInputFormat.name
}

/** The position that the next row to be added gets: positions of removed rows are not given again. */
export function nextPosition({ positions, rows }: Pick<Manifest, 'positions' | 'rows'>): number {
  return positions ?? rows
}

/** Sources with the positions that their rows have: from `first` up to `end`, which is not its own. */
export function sourceSpans(manifest: Manifest): (SourceEntry & { first: number; end: number })[] {
  const spans: (SourceEntry & { first: number; end: number })[] = []
  let next = 0
  for (const source of manifest.sources) {
    const first = source.firstPosition ?? next
    next = first + source.rows
    spans.push({ ...source, first, end: nextPosition(manifest) })
  }
  for (let k = 1; k < spans.length; k++) spans[k - 1].end = spans[k].first
  return spans
}

/** One JSON object and where it stands, for messages. */
class Fields {
  readonly #object: Record<string, unknown>
  readonly #path: string
  readonly #prefix: string

  constructor(object: unknown, path: string, prefix: string) {
    if (typeof object !== 'object' || object === null || Array.isArray(object)) {
      throw new SpillwayError(`${path}: ${prefix || 'the manifest'} is not a JSON object`, 'ingest the data again')
    }
    this.#object = object as Record<string, unknown>
    this.#path = path
    this.#prefix = prefix
  }

  wrong(name: string, expected: string): SpillwayError {
    const found = Object.hasOwn(this.#object, name) ? JSON.stringify(this.#object[name])?.slice(0, 80) : 'missing'
    return new SpillwayError(
      `${this.#path}: ${this.#prefix}${name} is ${found}, expected ${expected}`,
      'ingest the data again, or restore the manifest from a copy',
    )
  }

  value(name: string): unknown {
    return Object.hasOwn(this.#object, name) ? this.#object[name] : undefined
  }

  /** A field that may be missing: an object with it, or with nothing. */
  optional<N extends string, T>(name: N, read: (name: N) => T): { [name in N]?: T } {
    return Object.hasOwn(this.#object, name) ? ({ [name]: read(name) } as { [name in N]?: T }) : {}
  }

  text(name: string): string {
    const value = this.value(name)
    if (typeof value !== 'string') throw this.wrong(name, 'a text')
    return value
  }

  number(name: string): number {
    const value = this.value(name)
    if (typeof value !== 'number' || !Number.isFinite(value)) throw this.wrong(name, 'a number')
    return value
  }

  /** A number as the input spells it, or null and a text. */
  label(): Label {
    const text = this.text('text')
    if (this.value('value') !== null) return { value: this.number('value'), text }
    const complaint = textLabelComplaint(text)
    if (complaint) throw this.wrong('text', `a label (${complaint})`)
    return { value: null, text }
  }

  count(name: string, most = Number.MAX_SAFE_INTEGER): number {
    const value = this.value(name)
    if (typeof value !== 'number' || !Number.isInteger(value) || value < 0 || value > most) {
      throw this.wrong(name, `a whole number from 0 to ${most}`)
    }
    return value
  }

  checksum(name: string): string {
    const value = this.value(name)
    if (typeof value !== 'string' || !/^[0-9a-f]{16}$/.test(value)) throw this.wrong(name, '16 hexadecimal digits')
    return value
  }

  oneOf<T extends string | number>(name: string, values: readonly T[]): T {
    const value = this.value(name)
    if (!values.includes(value as T)) throw this.wrong(name, values.map(v => JSON.stringify(v)).join(' or '))
    return value as T
  }

  object(name: string): Record<string, unknown> {
    const value = this.value(name)
    if (typeof value !== 'object' || value === null || Array.isArray(value)) throw this.wrong(name, 'an object')
    return value as Record<string, unknown>
  }

  list(name: string, most = 2 ** 24): Fields[] {
    const value = this.value(name)
    if (!Array.isArray(value) || value.length > most) throw this.wrong(name, `a list of at most ${most}`)
    return value.map((entry, k) => new Fields(entry, this.#path, `${this.#prefix}${name}[${k}].`))
  }
}

/** The number of bins that a store's values were rounded to, 0 when they are as they came. */
export function binsOf({ transforms }: Pick<Manifest, 'transforms'>): number {
  const bins = transforms['bins']
  return typeof bins === 'number' && Number.isInteger(bins) && bins > 0 ? bins : 0
}
