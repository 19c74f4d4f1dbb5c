// Names and byte layouts of a store's files: a block file is a header of 64 bytes and then segments, one after the
// other. Everything is little-endian. docs/block-store.md describes it for writers of other readers.
import { SpillwayError } from '../errors.ts'
import type { Arena } from '../numeric/arena.ts'
import { SegmentFields } from '../numeric/fields/segment.ts'
import * as S from '../numeric/segment-layout.ts'
import type { Address, ByteCount } from '../sizes.ts'

export const MANIFEST_FILE = 'manifest.json'
export const MANIFEST_TEMPORARY = 'manifest.json.partial'
export const LOCK_FILE = 'writing.lock'
/** Which features occur: feature-set.ts writes and reads it. */
export const FEATURE_SET_FILE = 'features.bin'
/** The names it may have: each addition to a store writes a new one, which the manifest then names. */
export const FEATURE_SET_PATTERN = /^features(-\d{6})?\.bin$/
/** What a crash may leave of it. */
export const FEATURE_SET_TEMPORARY = /^\.features(-\d{6})?\.bin\.[\w-]+\.tmp$/
/** Names of hashed features, where they were asked for: stored-names.ts writes and reads it. */
export const FEATURE_NAMES_FILE = 'names.bin'
/** What a crash may leave of it. */
export const FEATURE_NAMES_TEMPORARY = /^\.names\.bin\.[\w-]+\.tmp$/
/** Folders of training states (checkpoint.ts), one for each problem. */
export const STATE_FOLDER_PATTERN = /^state-[0-9a-f]{12}$/
/** Their locks (state-locks.ts) have the folder's name and this behind it. */
export const STATE_LOCK_SUFFIX = '.lock'
/** Any lock of a store, and what is left of one when a process is killed while it takes over that of a dead one. */
export const LOCK_PATTERN = /^(writing|state-[0-9a-f]{12})\.lock(\.\d+-dead)?$/
/** The folder of the metric trees of a store's rows (sample-index/). */
export const INDEX_FOLDER = 'index'
export const BLOCK_FILE_PATTERN = /^block-\d{6}\.bin$/
/** Says that rows were trained on while the store was written, and that what was learnt has not been saved yet. */
export const UNSAVED_MARKER = 'first-pass-unsaved'
export const MOST_BLOCKS = 1_000_000

export function blockFileName(block: number): string {
  return `block-${String(block).padStart(6, '0')}.bin`
}

/** The number in a block file's name, which its headers carry too. */
export function blockNumber(file: string): number {
  return Number(file.slice(6, 12))
}

// --- Block file header
const FILE_MAGIC = 'SPILLBLK'
/** u32: version of the file format. */
const FILE_VERSION = 8
/** u32: 0x01020304, so that bytes in another order are noticed. */
const FILE_ORDER = 12
/** u32: number of the block. */
const FILE_BLOCK = 16
/** u32: bytes of this header, where the first segment starts. */
const FILE_HEADER_SIZE = 20
/** u64: XXH64 of the 56 bytes before; zeros lie between. */
const FILE_HASH = 56
export const FILE_HEADER_BYTES = 64
export const FILE_FORMAT_VERSION = 1
const ORDER_MARK = 0x01020304

export function newerVersion(where: string, what: string, found: number, readable: number): SpillwayError {
  return new SpillwayError(
    `${where}: ${what} version ${found} was found, this Spillway reads up to version ${readable}`,
    'read the store with the Spillway that wrote it or a newer one, or ingest the data again',
  )
}

export function damaged(where: string, what: string): SpillwayError {
  return new SpillwayError(
    `${where} is damaged: ${what}`,
    'ingest the data again; `spillway inspect` names every damaged block',
  )
}

/** Writes the header of a block file at `at`; returns its checksum, where the block's checksum starts from. */
export function writeFileHeader(arena: Arena, at: Address, block: number): bigint {
  arena.bytes(at, FILE_HEADER_BYTES).fill(0)
  const view = arena.view(at, FILE_HEADER_BYTES)
  for (let k = 0; k < 8; k++) view.setUint8(k, FILE_MAGIC.charCodeAt(k))
  view.setUint32(FILE_VERSION, FILE_FORMAT_VERSION, true)
  view.setUint32(FILE_ORDER, ORDER_MARK, true)
  view.setUint32(FILE_BLOCK, block, true)
  view.setUint32(FILE_HEADER_SIZE, FILE_HEADER_BYTES, true)
  const hash = BigInt.asUintN(64, arena.numeric.xxh64(at, FILE_HASH))
  view.setBigUint64(FILE_HASH, hash, true)
  return hash
}

/** Checks the header of a block file at `at`; returns its checksum. */
export function checkFileHeader(arena: Arena, at: Address, bytes: ByteCount, block: number, where: string): bigint {
  if (bytes < FILE_HEADER_BYTES) {
    throw damaged(where, `it is truncated, ${bytes} bytes are left of a header of ${FILE_HEADER_BYTES}`)
  }
  const view = arena.view(at, FILE_HEADER_BYTES)
  let magic = ''
  for (let k = 0; k < 8; k++) magic += String.fromCharCode(view.getUint8(k))
  if (magic !== FILE_MAGIC) throw damaged(where, `it does not start with ${FILE_MAGIC}, so it is no block file`)
  if (view.getUint32(FILE_ORDER, false) === ORDER_MARK) {
    throw new SpillwayError(`${where} is in big-endian byte order; little-endian was expected`, 'ingest the data again')
  }
  const version = view.getUint32(FILE_VERSION, true)
  if (version > FILE_FORMAT_VERSION) throw newerVersion(where, 'block file', version, FILE_FORMAT_VERSION)
  const hash = BigInt.asUintN(64, arena.numeric.xxh64(at, FILE_HASH))
  if (view.getBigUint64(FILE_HASH, true) !== hash) throw damaged(where, 'the checksum of its header does not match')
  if (
    version !== FILE_FORMAT_VERSION ||
    view.getUint32(FILE_ORDER, true) !== ORDER_MARK ||
    view.getUint32(FILE_HEADER_SIZE, true) !== FILE_HEADER_BYTES
  ) {
    throw damaged(where, 'its header has values that no version of Spillway writes')
  }
  const found = view.getUint32(FILE_BLOCK, true)
  if (found !== block) throw damaged(where, `it says it is block ${found}, block ${block} was expected`)
  return hash
}

// --- Segment header
export interface SegmentHeader {
  block: number
  rows: number
  nonzeros: number
  features: number
  basePosition: number
  /** 4 or 8: f32 or f64. */
  valueBytes: ByteCount
  compressed: boolean
  /** Whether its rows have weights. */
  weighted: boolean
  payloadBytes: ByteCount
  rawBytes: ByteCount
  payloadHash: bigint
  headerHash: bigint
  codecs: { lengths: number; positions: number; labels: number; indices: number; values: number }
}

/** Reads and checks the header of a segment in shared memory; the payload is not looked at. */
export function readSegmentHeader(arena: Arena, at: Address, bytes: ByteCount, where: string): SegmentHeader {
  if (bytes < S.SEGMENT_HEADER_BYTES) {
    throw damaged(where, `it is truncated, ${bytes} bytes are left of a header of ${S.SEGMENT_HEADER_BYTES}`)
  }
  const fields = new SegmentFields(arena, at)
  if (fields.magic !== S.SEGMENT_MAGIC_VALUE) throw damaged(where, 'no segment starts where one should')
  const { order, version, flags, rows } = fields
  if (order !== S.SEGMENT_ORDER_VALUE) {
    throw damaged(where, `its byte order mark is 0x${order.toString(16).padStart(4, '0')}, 0x0102 was expected`)
  }
  if (version > S.SEGMENT_VERSION_WEIGHTED) throw newerVersion(where, 'segment', version, S.SEGMENT_VERSION_WEIGHTED)
  const headerHash = BigInt.asUintN(64, arena.numeric.xxh64(at, S.SEGMENT_HEADER_HASH))
  if (fields.headerHash !== headerHash) {
    throw damaged(where, 'the checksum of its header does not match')
  }
  const count = (value: bigint, most: number, what: string) => {
    if (value > BigInt(most)) throw damaged(where, `${value} ${what} are more than the ${most} that can be`)
    return Number(value)
  }
  const header: SegmentHeader = {
    block: fields.block,
    rows,
    nonzeros: count(fields.nonzeros, S.SEGMENT_MOST_NONZEROS, 'nonzeros'),
    features: fields.features,
    basePosition: count(fields.basePosition, Number.MAX_SAFE_INTEGER, 'rows before it'),
    valueBytes: fields.valueBytes,
    compressed: (flags & S.SEGMENT_FLAG_ZSTD) !== 0,
    weighted: (flags & S.SEGMENT_FLAG_WEIGHTS) !== 0,
    payloadBytes: count(fields.payloadBytes, 0xffffffff, 'bytes of payload'),
    rawBytes: count(fields.rawBytes, 0xffffffff, 'bytes of payload'),
    payloadHash: fields.payloadHash,
    headerHash,
    codecs: {
      lengths: fields.lengthCodec,
      positions: fields.positionCodec,
      labels: fields.labelCodec,
      indices: fields.indexCodec,
      values: fields.valueCodec,
    },
  }
  const own = header.weighted ? S.SEGMENT_VERSION_WEIGHTED : S.SEGMENT_VERSION_VALUE
  if (version !== own || (flags & ~(S.SEGMENT_FLAG_ZSTD + S.SEGMENT_FLAG_WEIGHTS)) !== 0) {
    throw damaged(where, 'its header has values that no version of Spillway writes')
  }
  if (rows === 0 || rows > S.SEGMENT_MOST_ROWS) throw damaged(where, `${rows} rows in one segment cannot be`)
  if (header.valueBytes !== 4 && header.valueBytes !== 8) {
    throw damaged(where, `values of ${header.valueBytes} bytes; 4 or 8 were expected`)
  }
  if (header.rawBytes > mostPayload(rows, header.nonzeros, header.valueBytes, header.weighted)) {
    throw damaged(where, `${header.rawBytes} bytes are more than ${rows} rows can need`)
  }
  if (!header.compressed && header.rawBytes !== header.payloadBytes) {
    throw damaged(where, 'it is not compressed and yet has two lengths')
  }
  return header
}

/** No payload before compression is larger: what the encoder reserves and what the decoder lets itself be asked for.
 *  A packed number takes at most 32 bits and a quarter of a control byte. */
export function mostPayload(rows: number, nonzeros: number, valueBytes: ByteCount, weighted = false): ByteCount {
  const packed = (count: number) => 8 + 4 * (count + 3) + Math.ceil(count / 4)
  const numbers = weighted ? 2 : 1
  return 64 * numbers + 2 * packed(rows) + 9 * rows * numbers + packed(nonzeros) + rows + nonzeros * valueBytes
}

/** The next step of a block's checksum: each segment's header checksum, which covers its payload's, is
 *  hashed together with the checksum so far. `scratch` is 16 bytes of shared memory. */
export function chainChecksum(arena: Arena, scratch: Address, soFar: bigint, headerHash: bigint): bigint {
  const view = arena.view(scratch, 16)
  view.setBigUint64(0, soFar, true)
  view.setBigUint64(8, headerHash, true)
  return BigInt.asUintN(64, arena.numeric.xxh64(scratch, 16))
}

export function hexChecksum(hash: bigint): string {
  return hash.toString(16).padStart(16, '0')
}
