// Names of hashed features, kept in a file of their own beside the blocks, on request: models that are trained on the store have
// them. A name that no row has any more does no harm, so the file is not part of a store's fingerprint.
//
//   magic "SPNAMES1" | u64 xxh64 of the payload | payload, zstd
//   payload, JSON: a list of [feature, [name, …]], by rising features, which are counted from 0
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { fileError, SpillwayError } from '../errors.ts'
import { writeAtomically } from '../files/atomic-file.ts'
import { Xxh64 } from '../files/xxh64.ts'
import { FoundNames, findNames, refuseNoNames, type TextWithNames } from '../rows/find-names.ts'
import { type ByteCount, NODE_BYTES } from '../sizes.ts'
import { FEATURE_NAMES_FILE } from './file-layout.ts'

/** By rising features. */
export type StoredNames = [feature: number, names: string[]][]

const MAGIC = Buffer.from('SPNAMES1', 'latin1')
const HEADER_BYTES = 16

/** Features that have names, at most, and letters of all names: in memory they take some 256 bytes a feature. */
const MOST_NAMED = 1 << 18
const MOST_LETTERS = 8 << 20
const BYTES_OF_ONE = 256
/** No file of that many letters is longer when it is unpacked. */
const MOST_BYTES = 64 << 20

/** Finds the names of a text: the bytes of the file, which are few, so that they can wait until there is a folder. */
export async function packedNames(
  paths: string[],
  text: TextWithNames,
  memory: ByteCount | undefined,
): Promise<Uint8Array[]> {
  await refuseNoNames(paths[0], text)
  const names = roomForNames(memory)
  await findNames(paths, text, names)
  return packNames(names)
}

/** Adds the names of more text to those that a store has, if it has any. */
export async function addNames(
  folder: string,
  paths: string[],
  text: TextWithNames,
  memory: ByteCount | undefined,
): Promise<void> {
  const stored = await readStoredNames(folder)
  if (!stored) return
  const names = roomForNames(memory)
  for (const [feature, all] of stored) names.add(feature, all)
  await findNames(paths, text, names)
  await writeNames(folder, packNames(names))
}

/** Room for the names of a store that is made in so much memory. */
function roomForNames(memory: ByteCount | undefined): FoundNames {
  const room = memory === undefined ? MOST_NAMED : Math.floor(Math.max(memory - NODE_BYTES, 0) / BYTES_OF_ONE)
  return new FoundNames({ features: Math.min(MOST_NAMED, room), letters: MOST_LETTERS })
}

function packNames(names: FoundNames): Uint8Array[] {
  const packed = zstdCompressSync(JSON.stringify(names.entries()))
  return [MAGIC, hashOf(packed), packed]
}

export function writeNames(folder: string, packed: Uint8Array[]): Promise<void> {
  return writeAtomically(join(folder, FEATURE_NAMES_FILE), packed)
}

/** The names that a store has; undefined where none were kept. */
export async function readStoredNames(folder: string): Promise<StoredNames | undefined> {
  const path = join(folder, FEATURE_NAMES_FILE)
  let file: Buffer
  try {
    file = await readFile(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw fileError(error, path, 'read')
  }
  if (file.length < HEADER_BYTES || !file.subarray(0, 8).equals(MAGIC))
    throw damaged(path, 'it does not start like one')
  const packed = file.subarray(HEADER_BYTES)
  if (!file.subarray(8, HEADER_BYTES).equals(hashOf(packed))) throw damaged(path, 'its checksum does not match')
  try {
    const names: unknown = JSON.parse(zstdDecompressSync(packed, { maxOutputLength: MOST_BYTES }).toString())
    if (isNames(names)) return names
  } catch (error) {
    throw damaged(path, error instanceof Error ? error.message : String(error))
  }
  throw damaged(path, 'it has no list of features with their names')
}

function isNames(names: unknown): names is StoredNames {
  if (!Array.isArray(names)) return false
  return names.every(
    (entry, k) =>
      Array.isArray(entry) &&
      Number.isInteger(entry[0]) &&
      entry[0] > (k === 0 ? -1 : names[k - 1][0]) &&
      Array.isArray(entry[1]) &&
      entry[1].every(name => typeof name === 'string'),
  )
}

function hashOf(bytes: Uint8Array): Buffer {
  const { high, low } = new Xxh64().update(bytes).digest()
  const hash = Buffer.alloc(8)
  hash.writeUInt32LE(low >>> 0, 0)
  hash.writeUInt32LE(high >>> 0, 4)
  return hash
}

function damaged(path: string, what: string): SpillwayError {
  return new SpillwayError(`${path} is damaged: ${what}`, 'ingest the data again, or remove the file: names get lost')
}
