// Text into the blocks of a store under way, for a new store and for rows added to one. The main thread reads and
// writes, the pool's threads parse and encode; chunks are appended in the order of the text, so the blocks have the same
// bytes for any number of threads.

import { SpillwayError, UsageError } from '../errors.ts'
import type { Chunk } from '../input-formats/chunks.ts'
import { keptName } from '../input-formats/given-rows.ts'
import { type LabelCount, mergeLabels } from '../input-formats/label-numbers.ts'
import { labelKey } from '../input-formats/labels.ts'
import { longestLine } from '../input-formats/line-chunks.ts'
import { textSize } from '../input-formats/text-size.ts'
import { scarceMemory } from '../machine-memory.ts'
import type { Arena } from '../numeric/arena.ts'
import { roundDown } from '../numeric/rounding.ts'
import { SEGMENT_HEADER_BYTES } from '../numeric/segment-layout.ts'
import type { ChunkToParse } from '../rows/chunk-task.ts'
import { RowReader } from '../rows/read-rows.ts'
import { cannotWork, type MemoryPart } from '../rows/too-little-memory.ts'
import { type Address, type ByteCount, NODE_BYTES, PROGRAM_PAGES, WINDOW_BYTES } from '../sizes.ts'
import type { Schema } from '../tables/schema.ts'
import type { ThreadPool } from '../threads/pool.ts'
import { askedCompression, type CompressionChoice, chooseCompression } from './compression.ts'
import { diskRate, SLOWEST_RATE } from './disk-rate.ts'
import type { EncodeChunkOptions, EncodedChunk } from './encode-chunk-task.ts'
import { encodeChunkTask } from './encode-chunk-task.ts'
import { readFeatureSet, writeFeatureSet } from './feature-set.ts'
import type { LabelEntry, SourceEntry } from './manifest.ts'
import { type EarlierSources, Sources } from './source-content.ts'
import { LabelCodes } from './stored-labels.ts'
import type { StoreWriter } from './writer.ts'

export interface IngestProgress {
  seconds: number
  bytesRead: number
  bytesTotal: number | undefined
  rows: number
  badRows: number
  bytesWritten: number
}

export interface TextSettings {
  /** Number of blocks that the text goes into. */
  blocks: number
  seed: number
  split: 'random' | 'sequential'
  valueBits: 32 | 64
  /** Round values, which lie in [0, 1], to those of so many bins; 0 for none. */
  bins: number
  compress: CompressionChoice
  /** The name of a format, or `auto`. */
  format: string | undefined
  /** Found out from the first row when not given. */
  indexBase: number | undefined
  /** Of a table. */
  schema?: Schema | undefined
  onBadRow: 'fail' | 'skip'
  /** Labels that the store has already, in the order of their numbers. */
  labels: readonly LabelEntry[]
  /** Position of the first row. */
  firstPosition: number
  /** What the store holds already, where content may not come twice. */
  earlier: EarlierSources | undefined
  sizes: BufferSizes
  /** Bytes of text to come, as far as is known. */
  textBytes: ByteCount | undefined
  /** Who trains on the rows meanwhile. */
  follower?: Follower | undefined
  signal: AbortSignal | undefined
  progress: ((progress: Omit<IngestProgress, 'seconds'>) => void) | undefined
}

/** Room for the records of a chunk that is being parsed. */
export interface PieceRoom {
  at: Address
  bytes: ByteCount
  /** u32[rows]. */
  table: Address
  rows: number
  unit: boolean
}

/** A chunk as it was parsed, some of its rows packed. */
export interface Piece {
  /** Number of the chunk, and all of its rows. */
  chunk: number
  rows: number
  /** To how many blocks they go: see spreadOf. */
  spread: number
  nonzeros: number
  features: number
  packed: number
  /** Whether rows of it have weights. */
  weighted: boolean
  room: PieceRoom | undefined
  /** All labels so far, and the numbers that the chunk's labels have among them. */
  labels: LabelCount[]
  map: Uint32Array | undefined
}

/** Somebody who wants the rows of every chunk, packed, in the order of the text. */
export interface Follower {
  room(): Promise<PieceRoom | undefined>
  take(piece: Piece): void
}

export interface TextInBlocks {
  rows: number
  nonzeros: number
  features: number
  labels: LabelCount[]
  sources: SourceEntry[]
  format: string
  indexBase: number
  compression: 'zstd' | 'none'
  /** Addresses of the threads' maps of features; 0 among them when one was given up. */
  maps: Set<number>
  bytesRead: number
  badRows: number
  badRowMessages: string[]
}

/** Text for one chunk: twice what training takes at a time, for longer segments. */
const CHUNK_BYTES = 4 << 20
/** Text for one block, when nobody says how many blocks there are to be. */
const BLOCK_TEXT_BYTES = 128 << 20
/** Below so much text the disk is not worth a measurement. */
const LEAST_TO_MEASURE = 256 << 20
/** Pages of 65,536 features that a thread's map may take: 48 MiB, features up to 2^28 if they are spread evenly. */
const MAP_PAGES = 4096
/** Text whose rows make a segment, at least, and chunks that a block has rows of, at least, where there are so many. */
const SEGMENT_TEXT_BYTES = 256 << 10
const LEAST_CHUNKS = 32
/** A stream of unknown length. */
const BLOCKS_OF_A_STREAM = 16
export const LEAST_BUFFERS = 16 << 20
const BUFFERS: MemoryPart = ['buffers for reading at least', LEAST_BUFFERS]

export interface BufferSizes {
  chunk: number
  /** The longest line that is read. */
  line: ByteCount
  /** Text for a block. */
  blockText: number
  mapPages: number
  writer: number
}

/** Reads all of the text into the writer's blocks. */
export async function readIntoBlocks(
  arena: Arena,
  pool: ThreadPool,
  paths: string[],
  writer: StoreWriter,
  settings: TextSettings,
): Promise<TextInBlocks> {
  const { blocks, seed, split, onBadRow, sizes, signal } = settings
  const { format, indexBase, valueBits, schema } = settings
  const reader = new RowReader(arena, pool, {
    ...{ format, indexBase, onBadRow, valueBits, signal, table: { schema } },
    ...{ chunkBytes: sizes.chunk, longestLine: sizes.line },
  })
  const spread = spreadOf(blocks, sizes.chunk, settings.textBytes)
  const labels: LabelCount[] = settings.labels.map(label => ({ ...label }))
  const byKey = new Map(labels.map((label, k) => [labelKey(label), k]))
  const codes = new LabelCodes()
  const sources = new Sources(arena, paths.map(keptName), settings.earlier)
  const total = { rows: 0, nonzeros: 0, features: 0 }
  const free: EncodeChunkOptions['out'][] = []
  const maps = new Set<number>()
  let compression = askedCompression(settings.compress)
  if ((settings.textBytes ?? 0) < LEAST_TO_MEASURE) compression ??= 'none'
  const rooms = new Map<number, PieceRoom | undefined>()
  const encode = (chunk: Chunk, toParse: ChunkToParse, compress: 'zstd' | 'none'): Promise<EncodedChunk> => {
    const room = rooms.get(chunk.number)
    return pool.run(encodeChunkTask, {
      ...toParse,
      chunk: chunk.number,
      encoder: { blocks, spread, seed, mode: split, compression: compress },
      bins: settings.bins,
      block: split === 'random' ? 0 : sequentialBlock(reader, blocks),
      mapPages: sizes.mapPages,
      out: free.pop() ?? { at: arena.allocate(sizes.chunk, 'encoded segments'), bytes: sizes.chunk },
      pack: room && { ...room, plain: false },
    })
  }

  // The first chunk decides, when there is something to decide: it is encoded plainly, measured, and encoded again.
  let verdict: Promise<'zstd' | 'none'> | undefined
  const start = async (chunk: Chunk, toParse: ChunkToParse): Promise<EncodedChunk> => {
    if (settings.follower) rooms.set(chunk.number, await settings.follower.room())
    if (compression) return encode(chunk, toParse, compression)
    verdict ??= encode(chunk, toParse, 'none').then(async plain => {
      free.push(plain.out)
      const payloads = plain.segments.map(({ at, bytes }) =>
        arena.bytes(at + SEGMENT_HEADER_BYTES, bytes - SEGMENT_HEADER_BYTES).slice(),
      )
      return compressionOn(writer.folder, payloads)
    })
    compression = await verdict
    return encode(chunk, toParse, compression)
  }

  await reader.read(paths, start, async (chunk, encoded) => {
    const map = mergeLabels(labels, byKey, encoded.labels)
    const complaint = codes.complaint(labels)
    if (complaint) throw new SpillwayError(complaint, 'rename one of them')
    settings.follower?.take({ ...encoded, chunk: chunk.number, spread, room: rooms.get(chunk.number), labels, map })
    rooms.delete(chunk.number)
    await writer.append(encoded.segments, settings.firstPosition + total.rows)
    free.push(encoded.out)
    maps.add(encoded.map)
    sources.add(chunk, encoded.rows, reader.format.cut.by === 'plan')
    total.rows += encoded.rows
    total.nonzeros += encoded.nonzeros
    total.features = Math.max(total.features, encoded.features)
    settings.progress?.({
      bytesRead: reader.bytesRead,
      bytesTotal: reader.bytesTotal,
      rows: total.rows,
      badRows: reader.badRows,
      bytesWritten: writer.bytes,
    })
  })
  if (total.rows === 0) throw new SpillwayError(`${paths.join(', ')} has no rows`, `a row is ${reader.format.row}`)
  return {
    ...total,
    labels,
    sources: sources.end(),
    format: reader.format.name,
    indexBase: reader.indexBase,
    compression: compression ?? 'none',
    maps,
    bytesRead: reader.bytesRead,
    badRows: reader.badRows,
    badRowMessages: reader.badRowMessages,
  }
}

/** Refuses a memory in which the program's own pages would have no room beside reading: it would crawl. */
export function requireReading(memory: ByteCount | undefined): void {
  if (memory === undefined || memory >= NODE_BYTES + PROGRAM_PAGES + LEAST_BUFFERS) return
  throw cannotWork(memory, [['its pages', PROGRAM_PAGES], BUFFERS])
}

/** Buffers and blocks for a given memory. Text in slots, encoded segments, parsers and encoders of two threads take about
 *  28 chunks in all; a block is to be small enough that several fit beside each other when it is trained on. */
export function bufferSizes(memory = scarceMemory()): BufferSizes {
  if (memory === undefined) {
    const line = longestLine(undefined)
    return { chunk: CHUNK_BYTES, line, blockText: BLOCK_TEXT_BYTES, mapPages: MAP_PAGES, writer: 16 << 20 }
  }
  const left = memory - NODE_BYTES
  if (left < LEAST_BUFFERS) throw cannotWork(memory, [BUFFERS])
  const chunk = Math.min(CHUNK_BYTES, Math.max(1 << 18, roundDown(left / 40, 4096)))
  return {
    chunk,
    line: longestLine(memory),
    blockText: Math.max(chunk, Math.floor(Math.min(memory, WINDOW_BYTES) / 12)),
    mapPages: Math.min(MAP_PAGES, Math.floor(left / 8 / 12288)),
    writer: Math.min(16 << 20, Math.floor(left / 16)),
  }
}

/** Blocks that text goes into when nobody says how many. */
export function blocksOf(textBytes: ByteCount | undefined, { blockText }: Pick<BufferSizes, 'blockText'>): number {
  return textBytes === undefined ? BLOCKS_OF_A_STREAM : Math.max(1, Math.ceil(textBytes / blockText))
}

/** To how many blocks rows of a chunk go. A segment is to hold rows of so much text: each costs some microseconds to read,
 *  however short it is. And a block is to have rows of many chunks, for neighbours in the text are often alike. */
export function spreadOf(blocks: number, chunk: ByteCount, textBytes: ByteCount | undefined): number {
  if (textBytes === undefined) return blocks
  const forSegments = Math.floor(chunk / SEGMENT_TEXT_BYTES)
  const forChunks = Math.ceil((LEAST_CHUNKS * blocks) / Math.max(1, textBytes / chunk))
  return Math.min(blocks, Math.max(1, forSegments, forChunks))
}

/** One map of the threads' maps and of those of an earlier feature set, on disk; 0 when one of them was given up. */
export async function keepFeatureSet(
  arena: Arena,
  folder: string,
  maps: Set<number>,
  names: { earlier?: string; file?: string } = {},
): Promise<number> {
  if (maps.has(0)) return 0
  const [first, ...others] = maps
  for (const other of others) arena.numeric.mergeMap(first, other)
  if (names.earlier) arena.numeric.mergeMap(first, await readFeatureSet(arena, folder, names.earlier))
  return writeFeatureSet(arena, folder, first, names.file)
}

/** Bytes of text to come, as far as file sizes tell; undefined for a stream. */
export async function expectedText(paths: string[]): Promise<number | undefined> {
  let sum = 0
  for (const path of paths) {
    const size = await textSize(path)
    if (size === undefined) return undefined
    sum += size
  }
  return sum
}

/** Whether zstd pays for payloads like these, on the disk of a folder. */
async function compressionOn(folder: string, payloads: Uint8Array[]): Promise<'zstd' | 'none'> {
  // Where it would not pay on the slowest disk there is, the disk need not be asked.
  if (chooseCompression('auto', payloads, SLOWEST_RATE).compression === 'none') return 'none'
  return chooseCompression('auto', payloads, await diskRate(folder)).compression
}

/** Block of the next chunk when blocks follow the text: by the share of the input that has been read. */
function sequentialBlock(chunks: RowReader, blocks: number): number {
  if (blocks === 1) return 0
  if (!chunks.bytesTotal) {
    throw new UsageError('a sequential split needs inputs of known length', 'give files, or use --split random')
  }
  return Math.min(blocks - 1, Math.floor((blocks * (chunks.bytesRead - 1)) / chunks.bytesTotal))
}
