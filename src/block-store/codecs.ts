// Batches to segments and back. The work is done in numeric/assembly (encode-segment, encode-values, decode-segment,
// packed-stream); here are the scratch memory it needs, compression, and the words for what can be wrong.
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { SpillwayError } from '../errors.ts'
import type { Arena } from '../numeric/arena.ts'
import { BatchFields } from '../numeric/fields/batch.ts'
import { EncodeFields } from '../numeric/fields/encode.ts'
import { SegmentFields } from '../numeric/fields/segment.ts'
import { BATCH_BYTES } from '../numeric/layouts.ts'
import { Region } from '../numeric/region.ts'
import { roundUp } from '../numeric/rounding.ts'
import * as S from '../numeric/segment-layout.ts'
import type { Address, ByteCount } from '../sizes.ts'
import { ZSTD_PARAMS } from './compression.ts'
import { damaged, mostPayload, readSegmentHeader, type SegmentHeader } from './file-layout.ts'

export interface EncoderOptions {
  /** Number of blocks. */
  blocks: number
  /** How many of them get rows of a chunk; all when not given. */
  spread?: number
  /** Seed of the draw that gives each row its block. */
  seed: number
  /** random: each row is drawn into a block. sequential: the caller names the block of each batch. */
  mode: 'random' | 'sequential'
  compression?: 'zstd' | 'none'
}

export interface EncodedSegment {
  block: number
  rows: number
  nonzeros: number
  /** Address and length in shared memory, until the next encode. */
  at: Address
  bytes: ByteCount
}

/** Encodes batches inside one thread. Takes its room from the arena at the first encode, and again when it must grow. */
export class SegmentEncoder {
  readonly #arena: Arena
  readonly #options: EncoderOptions
  readonly #state: EncodeFields
  readonly #hash: Address
  readonly #tables: Address
  readonly #rows: Region
  readonly #work: Region
  readonly #intervals: Address
  readonly #out: Region

  constructor(arena: Arena, options: EncoderOptions) {
    this.#arena = arena
    this.#options = options
    this.#state = new EncodeFields(arena, arena.allocateZeroed(S.ENCODE_BYTES, 'the encoder'))
    this.#hash = arena.allocateZeroed(S.ENCODE_HASH_BYTES, 'the dictionary of values')
    this.#tables = arena.allocate(S.ENCODE_TABLE_BYTES, 'the encoder')
    this.#rows = new Region(arena, 'the assignment of rows to blocks')
    this.#work = new Region(arena, 'encoding a segment')
    this.#intervals = arena.allocate(S.ENCODE_INTERVALS_BYTES, 'the encoder')
    this.#out = new Region(arena, 'encoded segments')
  }

  /** Encodes a batch into a segment for each block that gets rows, in order of blocks. `chunk` and `firstRowInChunk`
   *  decide the draw, so that any thread may encode any chunk; `block` is for mode sequential only. */
  encode(batch: Address, chunk: number, firstRowInChunk: number, block = 0): EncodedSegment[] {
    const arena = this.#arena
    const { mode, seed } = this.#options
    const { rows, nonzeros } = new BatchFields(arena, batch)
    if (rows === 0) return []
    if (rows > S.SEGMENT_MOST_ROWS || nonzeros > S.SEGMENT_MOST_NONZEROS) {
      throw new SpillwayError(
        `a batch of ${rows} rows and ${nonzeros} nonzeros is more than a segment holds ` +
          `(${S.SEGMENT_MOST_ROWS} rows, ${S.SEGMENT_MOST_NONZEROS} nonzeros)`,
        'read the input in smaller chunks',
      )
    }
    const blocks = mode === 'random' ? this.#options.blocks : 1
    const order = this.#rows.room(rows * 8 + blocks * 8)
    const drawn = order + rows * 4
    const counts = drawn + rows * 4
    const draws = BigInt.asUintN(64, BigInt(Math.trunc(seed)))
    const spread = Math.min(blocks, this.#options.spread ?? blocks)
    arena.numeric.assignRows(batch, blocks, spread, draws, chunk, firstRowInChunk, order, counts, drawn)
    const sizes = arena.u32(counts, blocks * 2).slice()

    let [mostRows, mostNonzeros, room] = [0, 0, 0]
    for (let k = 0; k < blocks; k++) {
      if (sizes[2 * k] === 0) continue
      mostRows = Math.max(mostRows, sizes[2 * k])
      mostNonzeros = Math.max(mostNonzeros, sizes[2 * k + 1])
    }
    this.#prepare(batch, firstRowInChunk, mostRows, mostNonzeros)
    for (let k = 0; k < blocks; k++)
      if (sizes[2 * k] > 0) room += segmentRoom(arena, batch, sizes[2 * k], sizes[2 * k + 1])
    let at = this.#out.room(room)

    const segments: EncodedSegment[] = []
    let list = order
    for (let k = 0; k < blocks; k++) {
      const [blockRows, blockNonzeros] = [sizes[2 * k], sizes[2 * k + 1]]
      if (blockRows === 0) continue
      const number = mode === 'random' ? k : block
      const bytes = this.#encodeAt(at, list, blockRows, blockNonzeros, number)
      segments.push({ block: number, rows: blockRows, nonzeros: blockNonzeros, at, bytes })
      // The encoder touches a few bytes behind what it writes; the next segment starts after them, aligned.
      at += roundUp(bytes, 16)
      list += blockRows * 4
    }
    return segments
  }

  /** Encodes some rows of a batch, those listed (u32 each, rising), into one segment. Row r of the batch has position
   *  firstPosition + r. */
  encodeListed(
    batch: Address,
    list: { at: Address; rows: number; nonzeros: number },
    firstPosition: number,
    block: number,
  ): EncodedSegment {
    const { rows, nonzeros } = list
    this.#prepare(batch, firstPosition, rows, nonzeros)
    const at = this.#out.room(segmentRoom(this.#arena, batch, rows, nonzeros))
    const bytes = this.#encodeAt(at, list.at, rows, nonzeros, block)
    return { block, rows, nonzeros, at, bytes }
  }

  /** Encodes the rows of a list at an address; the bytes of the segment. */
  #encodeAt(at: Address, list: Address, rows: number, nonzeros: number, block: number): ByteCount {
    const state = this.#state
    state.rowList = list
    state.rows = rows
    state.nonzeros = nonzeros
    state.block = block
    state.out = at
    const bytes = this.#arena.numeric.encodeSegment(state.at) >>> 0
    return this.#options.compression === 'zstd' ? this.#compress(at, bytes) : bytes
  }

  #prepare(batch: Address, firstRowInChunk: number, rows: number, nonzeros: number): void {
    const fields: ['indices' | 'gaps' | 'work' | 'values' | 'codes' | 'lengths', ByteCount][] = [
      ['indices', (nonzeros + 4) * 4],
      ['gaps', (nonzeros + 4) * 4],
      ['work', (Math.max(nonzeros, rows) + 4) * 4],
      ['values', (nonzeros + 2) * new BatchFields(this.#arena, batch).valueBytes],
      ['codes', (Math.max(nonzeros, rows) + 4) * 2],
      ['lengths', (rows + 4) * 4],
    ]
    const state = this.#state
    let at = this.#work.room(fields.reduce((sum, [, bytes]) => sum + roundUp(bytes, 64), 0))
    for (const [field, bytes] of fields) {
      state[field] = at
      at += roundUp(bytes, 64)
    }
    state.batch = batch
    state.firstPosition = firstRowInChunk
    state.hash = this.#hash
    state.tables = this.#tables
    state.intervals = this.#intervals
  }

  /** Compresses a segment in place when that makes it smaller; its new length. */
  #compress(at: Address, bytes: ByteCount): ByteCount {
    const payload = this.#arena.bytes(at + S.SEGMENT_HEADER_BYTES, bytes - S.SEGMENT_HEADER_BYTES)
    const packed = zstdCompressSync(payload, ZSTD_PARAMS)
    if (packed.length >= payload.length) return bytes
    payload.set(packed)
    const header = new SegmentFields(this.#arena, at)
    header.flags += S.SEGMENT_FLAG_ZSTD
    header.payloadBytes = BigInt(packed.length)
    this.#arena.numeric.sealSegment(at)
    return S.SEGMENT_HEADER_BYTES + packed.length
  }
}

/** Room for some rows of a batch. */
function segmentRoom(arena: Arena, batch: Address, rows: number, nonzeros: number): ByteCount {
  const { valueBytes, weighted } = new BatchFields(arena, batch)
  return S.SEGMENT_HEADER_BYTES + mostPayload(rows, nonzeros, valueBytes, weighted !== 0) + 64
}

/** Writes the number of the chunk's first row into a segment, and the block's if it has another one in the store than
 *  the encoder knew; only the header's checksum changes. */
export function setBasePosition(arena: Arena, at: Address, basePosition: number, block?: number): void {
  const header = new SegmentFields(arena, at)
  if (block !== undefined) header.block = block
  header.basePosition = BigInt(basePosition)
  header.headerHash = arena.numeric.xxh64(at, S.SEGMENT_HEADER_HASH)
}

const DECODE_ERRORS: Record<number, string> = {
  [S.DECODE_ERROR_TRUNCATED]: 'its payload ends in the middle of a section',
  [S.DECODE_ERROR_TRAILING]: 'bytes are left over behind its payload',
  [S.DECODE_ERROR_LENGTHS]: 'its row lengths do not add up to its nonzeros',
  [S.DECODE_ERROR_ROOM]: 'its counts contradict each other',
  [S.DECODE_ERROR_INDEX]: 'a feature number is beyond its number of features',
  [S.DECODE_ERROR_VALUE_CODE]: 'a value is not in its dictionary',
  [S.DECODE_ERROR_LABEL_CODE]: 'a label is not in its dictionary',
  [S.DECODE_ERROR_CODEC]: 'it names a codec that does not exist',
  [S.DECODE_ERROR_POSITION]: 'a row position is too large',
  [S.DECODE_ERROR_WEIGHT]: 'the weight of a row is no number above 0',
}

/** Decodes segments inside one thread. */
export class SegmentDecoder {
  readonly #arena: Arena
  readonly #scratch: Address
  readonly #raw: Region

  constructor(arena: Arena) {
    this.#arena = arena
    this.#scratch = arena.allocateZeroed(S.DECODE_BYTES, 'the decoder')
    this.#raw = new Region(arena, 'a decompressed segment')
  }

  /** A batch without room, for decode to grow. */
  newBatch(): Address {
    return this.#arena.allocateZeroed(BATCH_BYTES, 'a batch')
  }

  /** Fills the batch from the segment of `bytes` bytes at `at`. Room that is missing is taken from the arena. Row
   *  positions, to be added to the base position of the returned header, go where the batch has BATCH_LABEL_AT.
   *  `where` names the segment in errors. */
  decode(at: Address, bytes: ByteCount, batch: Address, where: string): SegmentHeader {
    const arena = this.#arena
    const header = checkSegment(arena, at, bytes, where)
    let payload = at + S.SEGMENT_HEADER_BYTES
    if (header.compressed) {
      payload = this.#raw.room(header.rawBytes)
      const raw = decompress(arena.bytes(at + S.SEGMENT_HEADER_BYTES, header.payloadBytes), header.rawBytes, where)
      arena.bytes(payload, header.rawBytes).set(raw)
    }
    growBatch(arena, batch, header.rows, header.nonzeros, header.valueBytes)
    if (header.weighted) roomForWeights(arena, batch)
    const error = arena.numeric.decodeSegment(at, payload, header.rawBytes, batch, this.#scratch)
    if (error !== 0) throw damaged(where, DECODE_ERRORS[error] ?? `error ${error}`)
    return header
  }
}

/** Checks header, length and payload checksum of a segment in shared memory. */
export function checkSegment(arena: Arena, at: Address, bytes: ByteCount, where: string): SegmentHeader {
  const header = readSegmentHeader(arena, at, bytes, where)
  const expected = S.SEGMENT_HEADER_BYTES + header.payloadBytes
  if (bytes !== expected) {
    const what = bytes < expected ? 'truncated' : 'followed by other bytes'
    throw damaged(where, `it is ${what}, ${bytes} bytes were found, ${expected} expected`)
  }
  const hash = BigInt.asUintN(64, arena.numeric.xxh64(at + S.SEGMENT_HEADER_BYTES, header.payloadBytes))
  if (hash !== header.payloadHash) throw damaged(where, 'its checksum does not match')
  return header
}

function decompress(packed: Uint8Array, rawBytes: ByteCount, where: string): Buffer {
  let raw: Buffer
  try {
    raw = zstdDecompressSync(packed, { maxOutputLength: Math.max(rawBytes, 1) })
  } catch (error) {
    throw damaged(where, `it cannot be decompressed (${error instanceof Error ? error.message : error})`)
  }
  if (raw.length !== rawBytes) throw damaged(where, `it decompresses to ${raw.length} bytes, ${rawBytes} were expected`)
  return raw
}

/** Gives a batch buffers for at least so many rows and nonzeros of valueBytes each; contents are not kept. */
export function growBatch(arena: Arena, batch: Address, rows: number, nonzeros: number, valueBytes: ByteCount): void {
  const fields = new BatchFields(arena, batch)
  const rowRoom = fields.rowCapacity
  if (rows > rowRoom || fields.starts === 0) {
    const room = Math.max(rows, Math.min(rowRoom * 2, S.SEGMENT_MOST_ROWS))
    fields.starts = arena.allocate((room + 1) * 4, 'the rows of a batch')
    fields.labels = arena.allocate(room * 8, 'the labels of a batch')
    fields.labelAt = arena.allocate(room * 4, 'the positions of a batch')
    fields.rowCapacity = room
    fields.weights = 0
  }
  const nonzeroRoom = fields.nonzeroCapacity
  const wider = valueBytes > fields.valueBytes
  if (nonzeros > nonzeroRoom || wider || fields.indices === 0) {
    const grown = nonzeros > nonzeroRoom ? Math.min(nonzeroRoom * 2, S.SEGMENT_MOST_NONZEROS) : nonzeroRoom
    const room = Math.max(nonzeros, grown)
    fields.indices = arena.allocate(room * 4, 'the feature numbers of a batch')
    fields.values = arena.allocate(room * valueBytes, 'the values of a batch')
    fields.nonzeroCapacity = room
  }
  fields.valueBytes = valueBytes
}

/** Gives a batch room for the weights of its rows, as many as there may be. */
export function roomForWeights(arena: Arena, batch: Address): Address {
  const fields = new BatchFields(arena, batch)
  if (fields.weights === 0) fields.weights = arena.allocate(fields.rowCapacity * 8, 'the weights of a batch')
  return fields.weights
}

/** The weights of the rows of a batch, where they have any. */
export function weightsOfBatch(arena: Arena, batch: Address): Float64Array | undefined {
  const { rows, weights, weighted } = new BatchFields(arena, batch)
  return weighted ? arena.f64(weights, rows) : undefined
}
