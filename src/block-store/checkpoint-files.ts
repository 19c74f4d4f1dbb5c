// The files of a training state, and what they begin with: checkpoint.bin (JSON and weights), a file of dual variables for
// each block, and the rows that a solver keeps in memory, as row records.
//
// Each begins with 24 bytes: magic, a number (u32: bytes of the JSON, or of a dual variable), LAYOUT_VERSION (u32), and a
// checksum of all that follows. Files of another version are not read: row records are raw memory, and a run goes on from
// the JSON as it stands. Versions up to 0.1.0 wrote 0 for the version.
import { SpillwayError } from '../errors.ts'
import type { Arena } from '../numeric/arena.ts'
import { LAYOUT_VERSION } from '../numeric/layouts.ts'
import { roundUp } from '../numeric/rounding.ts'
import type { Address, ByteCount } from '../sizes.ts'

export const CHECKPOINT_MAGIC = Buffer.from('SPCHECK1', 'latin1')
const ALPHA_MAGIC = Buffer.from('SPALPHA1', 'latin1')
export const MEMORY_MAGIC = Buffer.from('SPROWSM1', 'latin1')
export const HEADER_BYTES = 24
const VERSION_AT = 12

/** A stretch of the arena. */
export interface Stretch {
  at: Address
  bytes: ByteCount
}

/** The beginning of a file. */
export function headOf(magic: Buffer, number: number, checksum: bigint): Buffer {
  const header = Buffer.alloc(HEADER_BYTES)
  magic.copy(header)
  header.writeUInt32LE(number, 8)
  header.writeUInt32LE(LAYOUT_VERSION, VERSION_AT)
  header.writeBigUInt64LE(checksum, 16)
  return header
}

/** Whether a file begins so, in whatever version. */
export function isHead(file: Buffer, magic: Buffer): boolean {
  return file.length >= HEADER_BYTES && file.subarray(0, 8).equals(magic)
}

/** Whether a file, of which there is at least the header, was written for other layouts than these. */
export function ofOtherVersion(file: Buffer): boolean {
  return file.readUInt32LE(VERSION_AT) !== LAYOUT_VERSION
}

/** Refuses a file that was written for other layouts; one that is too short to say is left to others. */
export function refuseOtherVersion(path: string, file: Buffer): void {
  if (file.length < HEADER_BYTES || !ofOtherVersion(file)) return
  throw new SpillwayError(
    `${path} has layout version ${file.readUInt32LE(VERSION_AT)}, and this version of Spillway reads layout version ${LAYOUT_VERSION}: the run cannot be resumed`,
    'train again without --resume, or resume with the version of Spillway that wrote it',
  )
}

/** The beginning of a checkpoint's file: header and JSON. The checksum covers the JSON and the weights, each hashed
 *  where it lies. */
export function checkpointHead(
  arena: Arena,
  state: object,
  weights: number,
  bytes: ByteCount,
): { header: Buffer; json: Buffer } {
  const text = Buffer.from(JSON.stringify(state))
  const json = Buffer.alloc(roundUp(text.length, 8), ' ')
  text.copy(json)
  return { header: headOf(CHECKPOINT_MAGIC, json.length, hashOf(arena, json, weights, bytes)), json }
}

/** Header of a file of dual variables that lie at an address. */
export function alphaHead(arena: Arena, stride: number, at: Address, bytes: ByteCount): Buffer {
  return headOf(ALPHA_MAGIC, stride, hashOf(arena, Buffer.alloc(0), at, bytes))
}

/** Bytes of a dual variable in a file of them; 0 when it is none, or of another version. */
export function alphaStrideOf(file: Buffer): number {
  return isHead(file, ALPHA_MAGIC) && !ofOtherVersion(file) ? file.readUInt32LE(8) : 0
}

/** Whether a file's checksum is that of the bytes at an address. */
export function alphaMatches(arena: Arena, file: Buffer, at: Address, bytes: ByteCount): boolean {
  return hashOf(arena, Buffer.alloc(0), at, bytes) === file.readBigUInt64LE(16)
}

/** Dual variables of a file, behind its header. */
export function alphaOf(file: Buffer): Buffer {
  return file.subarray(HEADER_BYTES)
}

/** The module of hashes takes milliseconds to load, and most runs have no checkpoint: it is loaded when it is needed. */
export function sha256(data: string | Buffer): Buffer {
  return process.getBuiltinModule('node:crypto').createHash('sha256').update(data).digest()
}

/** Of some bytes and of a stretch of the arena. */
export function hashOf(arena: Arena, json: Buffer, at: Address, bytes: ByteCount): bigint {
  const hash = sha256(json).readBigUInt64LE(0)
  return hash ^ BigInt.asUintN(64, arena.numeric.xxh64(at, bytes))
}

export function hashOfAll(arena: Arena, stretches: Stretch[]): bigint {
  return stretches.reduce((hash, { at, bytes }) => {
    return BigInt.asUintN(64, hash * 0x9e3779b97f4a7c15n + BigInt.asUintN(64, arena.numeric.xxh64(at, bytes)))
  }, 1n)
}

export function memoryFile(version: number): string {
  return `memory-${version}.bin`
}

/** block-000007.bin, version 3 → alpha-000007-3.bin */
export function alphaFile(block: string, version: number): string {
  return `alpha-${block.replace(/^block-|\.bin$/g, '')}-${version}.bin`
}
