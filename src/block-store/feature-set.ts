// Which features occur in a store: a bitmap in pages, kept in a file of its own beside the blocks. With it a solver has
// weights only for features that exist, known before the first block is read.
//
//   magic "SPFEATS1" | u32 number of pages | u32 features in all | u64 xxh64 of the payload | payload, zstd
//   payload: for each page in rising order, u32 page number, then 8192 bytes: bit j of page p is feature p·65536 + j
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { fileError, SpillwayError } from '../errors.ts'
import { writeAtomically } from '../files/atomic-file.ts'
import type { Arena } from '../numeric/arena.ts'
import { mapBits, placeMap } from '../numeric/feature-map.ts'
import { MAP_TOP_BYTES, PAGE_BITS, PAGE_BYTES, TOP_ENTRIES } from '../numeric/feature-map-layout.ts'
import { FEATURE_SET_FILE } from './file-layout.ts'

const MAGIC = Buffer.from('SPFEATS1', 'latin1')
const HEADER_BYTES = 24

/** Writes a map as a store's feature set; the number of features. */
export async function writeFeatureSet(
  arena: Arena,
  folder: string,
  top: number,
  name = FEATURE_SET_FILE,
): Promise<number> {
  const features = arena.numeric.finishMap(top) >>> 0
  const payload = mapBits(arena, top)
  const packed = zstdCompressSync(payload)
  const header = Buffer.alloc(HEADER_BYTES)
  MAGIC.copy(header)
  header.writeUInt32LE(payload.length / (PAGE_BITS + 4), 8)
  header.writeUInt32LE(features, 12)
  header.writeBigUInt64LE(hashOf(arena, packed), 16)
  await writeAtomically(join(folder, name), [header, packed])
  return features
}

/** Bytes that the map of a store's feature set will take in memory. */
export async function featureSetBytes(folder: string, name = FEATURE_SET_FILE): Promise<number> {
  const header = (await readSet(folder, name)).subarray(0, HEADER_BYTES)
  return MAP_TOP_BYTES + header.readUInt32LE(8) * PAGE_BYTES
}

/** Reads a store's feature set into a map ready for look-ups; its address. */
export async function readFeatureSet(arena: Arena, folder: string, name = FEATURE_SET_FILE): Promise<number> {
  const path = join(folder, name)
  const file = await readSet(folder, name)
  const pages = file.readUInt32LE(8)
  const packed = file.subarray(HEADER_BYTES)
  if (hashOf(arena, packed) !== file.readBigUInt64LE(16)) throw damaged(path, 'its checksum does not match')
  let payload: Buffer
  try {
    payload = zstdDecompressSync(packed, { maxOutputLength: pages * (PAGE_BITS + 4) + 1 })
  } catch (error) {
    throw damaged(path, error instanceof Error ? error.message : String(error))
  }
  if (payload.length !== pages * (PAGE_BITS + 4)) throw damaged(path, 'its length does not match')
  const { top, features: found } = placeMap(arena, payload, page => damaged(path, `it has a page ${page}`))
  if (found !== file.readUInt32LE(12))
    throw damaged(path, `${found} features were found, ${file.readUInt32LE(12)} expected`)
  return top
}

async function readSet(folder: string, name: string): Promise<Buffer> {
  const path = join(folder, name)
  let file: Buffer
  try {
    file = await readFile(path)
  } catch (error) {
    throw fileError(error, path, 'read')
  }
  if (file.length < HEADER_BYTES || !file.subarray(0, 8).equals(MAGIC))
    throw damaged(path, 'it does not start like one')
  if (file.readUInt32LE(8) > TOP_ENTRIES) throw damaged(path, `it says ${file.readUInt32LE(8)} pages`)
  return file
}

function damaged(path: string, what: string): SpillwayError {
  return new SpillwayError(`${path} is damaged: ${what}`, 'ingest the data again')
}

function hashOf(arena: Arena, bytes: Uint8Array): bigint {
  const mark = arena.mark()
  const at = arena.allocate(bytes.length, 'a checksum')
  arena.bytes(at, bytes.length).set(bytes)
  const hash = BigInt.asUintN(64, arena.numeric.xxh64(at, bytes.length))
  arena.release(mark)
  return hash
}
