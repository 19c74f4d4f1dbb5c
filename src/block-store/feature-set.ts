// Which features occur in a store: a bitmap in pages, kept in a file of its own beside the blocks. With it a solver has
// weights only for features that exist, known before the first block is read.
//
//   magic "SPFEATS1" | u32 number of pages | u32 features in all | u64 xxh64 of the payload | payload, zstd
//   payload: for each page in rising order, u32 page number, then 8192 bytes: bit j of page p is feature p·65536 + j
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { fileError, SpillwayError } from '../errors.ts'
import { FeatureBits, type FeaturePage } from '../features/feature-bits.ts'
import { writeAtomically } from '../files/atomic-file.ts'
import type { Arena } from '../numeric/arena.ts'
import { FEATURE_SET_FILE } from './file-layout.ts'

const MAGIC = Buffer.from('SPFEATS1', 'latin1')
const HEADER_BYTES = 24
const PAGE_BITS = 8192
const PAGE_ROOM = 12288
const TOP_ENTRIES = 65536

/** Room for a map's top table, and for the count of pages behind it that enterBatch keeps. */
export const MAP_TOP_BYTES = TOP_ENTRIES * 4 + 64

/** An empty map that may take so many pages. */
export function newFeatureMap(arena: Arena, mostPages: number): number {
  const top = arena.allocateZeroed(MAP_TOP_BYTES, 'the feature map')
  arena.setU32(top + TOP_ENTRIES * 4, mostPages)
  return top
}

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

/** The pages of a map, each with its number before it. */
export function mapBits(arena: Arena, top: number): Buffer {
  const pages: number[] = []
  const table = arena.u32(top, TOP_ENTRIES)
  for (let p = 0; p < TOP_ENTRIES; p++) if (table[p] !== 0) pages.push(p)
  const payload = Buffer.alloc(pages.length * (PAGE_BITS + 4))
  pages.forEach((page, k) => {
    payload.writeUInt32LE(page, k * (PAGE_BITS + 4))
    payload.set(arena.bytes(table[page], PAGE_BITS), k * (PAGE_BITS + 4) + 4)
  })
  return payload
}

/** Bytes that a map of such pages takes in memory. */
export function mapBytes(payload: Buffer): number {
  return MAP_TOP_BYTES + (payload.length / (PAGE_BITS + 4)) * PAGE_ROOM
}

/** A map of such pages, ready for look-ups. `wrong` is told of a page number that cannot be. */
export function placeMap(
  arena: Arena,
  payload: Buffer,
  wrong: (page: number) => Error = page => new Error(`a map has a page ${page}`),
): { top: number; features: number } {
  const top = newFeatureMap(arena, 0)
  for (let from = 0; from < payload.length; from += PAGE_BITS + 4) {
    const number = payload.readUInt32LE(from)
    if (number >= TOP_ENTRIES) throw wrong(number)
    const page = arena.allocateZeroed(PAGE_ROOM, 'the feature map')
    arena.bytes(page, PAGE_BITS).set(payload.subarray(from + 4, from + 4 + PAGE_BITS))
    arena.setU32(top + number * 4, page)
  }
  return { top, features: arena.numeric.finishMap(top) >>> 0 }
}

/** Bytes that the map of a store's feature set will take in memory. */
export async function featureSetBytes(folder: string, name = FEATURE_SET_FILE): Promise<number> {
  const header = (await readSet(folder, name)).subarray(0, HEADER_BYTES)
  return MAP_TOP_BYTES + header.readUInt32LE(8) * PAGE_ROOM
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

/** The features of a map that is ready for look-ups, where they are. */
export function bitsOfMap(arena: Arena, top: number): FeatureBits {
  const table = arena.u32(top, TOP_ENTRIES)
  const pages: FeaturePage[] = []
  for (let number = 0; number < TOP_ENTRIES; number++) {
    const at = table[number]
    if (at === 0) continue
    pages.push({ number, bits: arena.u32(at, PAGE_BITS / 4), before: arena.u32(at + PAGE_BITS, 1024) })
  }
  return new FeatureBits(pages)
}

/** The features of a map in rising order. */
export function featuresOf(arena: Arena, top: number, count: number): Uint32Array {
  const mark = arena.mark()
  const list = arena.allocate(Math.max(count, 1) * 4, 'the feature map')
  arena.numeric.listFeatures(top, list)
  const result = arena.u32(list, count).slice()
  arena.release(mark)
  return result
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
