// `ingest`: text in, a block store out. The main thread reads and writes, the pool's threads parse and encode; chunks
// are appended in the order of the text, so the store has the same bytes for any number of threads.
import { constants } from 'node:fs'
import { open, stat, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { SpillwayError, UsageError } from '../errors.ts'
import { findInputFormat } from '../input-formats/all-input-formats.ts'
import { BadRowAccount } from '../input-formats/bad-rows.ts'
import { type LineChunk, LineChunks } from '../input-formats/line-chunks.ts'
import { Arena, formatBytes } from '../numeric/arena.ts'
import { SEGMENT_HEADER_BYTES } from '../numeric/segment-layout.ts'
import { inOrder } from '../threads/in-order.ts'
import { defaultThreads, ThreadPool } from '../threads/pool.ts'
import { untilAborted } from '../threads/until-aborted.ts'
import { type LabelCount, mergeLabels } from '../training/label-numbers.ts'
import { NODE_BYTES } from '../training/memory-plan.ts'
import { version } from '../version.ts'
import { type CompressionChoice, chooseCompression } from './compression.ts'
import type { EncodeChunkOptions, EncodedChunk } from './encode-chunk-task.ts'
import { writeFeatureSet } from './feature-set.ts'
import type { Manifest, SourceEntry } from './manifest.ts'
import { StoreWriter } from './writer.ts'

export interface IngestOptions {
  /** Number of blocks; by default one for every BLOCK_TEXT_BYTES of text. */
  blocks?: number
  seed?: number
  /** random: rows are drawn into blocks. sequential: blocks follow the order of the text. */
  split?: 'random' | 'sequential'
  values?: 'f32' | 'f64'
  compress?: CompressionChoice
  indexBase?: 0 | 1
  onBadRow?: 'fail' | 'skip'
  /** Replace a store of the same name. */
  overwrite?: boolean
  threads?: number
  /** Bytes of memory to stay inside of; without it buffers are what serves speed best. */
  memory?: number
  /** Where to work; a memory of its own when not given. */
  arena?: Arena
  signal?: AbortSignal
  progress?: (progress: IngestProgress) => void
}

export interface IngestProgress {
  seconds: number
  bytesRead: number
  bytesTotal: number | undefined
  rows: number
  badRows: number
  bytesWritten: number
}

export interface IngestResult {
  manifest: Manifest
  bytesRead: number
  bytesWritten: number
  seconds: number
  badRows: number
  badRowMessages: string[]
}

/** Text for one chunk: twice what training takes at a time, for longer segments. */
const CHUNK_BYTES = 4 << 20
/** Text for one block, when nobody says how many blocks there are to be. */
const BLOCK_TEXT_BYTES = 128 << 20
/** A stream of unknown length. */
const DEFAULT_BLOCKS = 16
/** How much larger compressed text is taken to be. */
const EXPANSION = 4
/** Below so much text the disk is not worth a measurement. */
const LEAST_TO_MEASURE = 256 << 20
/** Pages of 65,536 features that a thread's map may take: 48 MiB, features up to 2^28 if they are spread evenly. */
const MAP_PAGES = 4096
const LEAST_BUFFERS = 16 << 20
const PROBE_BYTES = 8 << 20
/** When the disk cannot be measured: a rate at which zstd never pays. */
const FAST_DISK = 4e9

export async function ingest(
  data: string | string[],
  folder: string,
  options: IngestOptions = {},
): Promise<IngestResult> {
  const started = performance.now()
  const seconds = (): number => (performance.now() - started) / 1000
  const paths = typeof data === 'string' ? [data] : data
  const split = options.split ?? 'random'
  const seed = options.seed ?? 1
  const onBadRow = options.onBadRow ?? 'fail'
  const textBytes = await expectedText(paths)
  const sizes = bufferSizes(options.memory)
  const blocks =
    options.blocks ?? Math.max(1, textBytes === undefined ? DEFAULT_BLOCKS : Math.ceil(textBytes / sizes.blockText))
  const arena = options.arena ?? new Arena()
  const pool = new ThreadPool(arena.share, options.threads ?? defaultThreads())
  let writer: StoreWriter | undefined
  try {
    const chunks = new LineChunks(arena, sizes.chunk, pool.size + 3)
    // Opening the store comes first: a folder that cannot be written is told before an hour of reading.
    writer = await StoreWriter.create(folder, {
      arena,
      blocks,
      overwrite: options.overwrite ?? false,
      bufferBytes: sizes.writer,
    })
    const store = writer
    const account = new BadRowAccount()
    const labels: LabelCount[] = []
    const byValue = new Map<number, number>()
    const sources: SourceEntry[] = paths.map(name => ({ name, bytes: 0, rows: 0 }))
    const total = { rows: 0, nonzeros: 0, features: 0 }
    const free: EncodeChunkOptions['out'][] = []
    const maps = new Set<number>()
    let indexBase: number | undefined = options.indexBase
    let compression: 'zstd' | 'none' | undefined
    if (options.compress !== 'auto' && options.compress !== undefined) compression = options.compress
    else if ((textBytes ?? 0) < LEAST_TO_MEASURE) compression = 'none'

    const encode = (chunk: LineChunk, compress: 'zstd' | 'none'): Promise<EncodedChunk> =>
      pool.run('encode-chunk', {
        format: 'libsvm',
        chunk: chunk.number,
        at: chunk.at,
        bytes: chunk.bytes,
        parse: {
          indexBase: indexBase ?? 1,
          skipBad: onBadRow === 'skip',
          valueBits: options.values === 'f64' ? 64 : 32,
        },
        encoder: { blocks, seed, mode: split, compression: compress },
        block: split === 'random' ? 0 : sequentialBlock(chunks, blocks),
        mapPages: sizes.mapPages,
        out: free.pop() ?? { at: arena.allocate(sizes.chunk, 'encoded segments'), bytes: sizes.chunk },
      })

    // The first chunk decides, when there is something to decide: it is encoded plainly, measured, and encoded again.
    let verdict: Promise<'zstd' | 'none'> | undefined
    const start = async (chunk: LineChunk): Promise<EncodedChunk> => {
      if (compression) return encode(chunk, compression)
      verdict ??= encode(chunk, 'none').then(async plain => {
        free.push(plain.out)
        const payloads = plain.segments.map(({ at, bytes }) =>
          arena.bytes(at + SEGMENT_HEADER_BYTES, bytes - SEGMENT_HEADER_BYTES).slice(),
        )
        return chooseCompression('auto', payloads, await diskRate(folder)).compression
      })
      compression = await verdict
      return encode(chunk, compression)
    }

    await inOrder(
      untilAborted(chunks.read(paths), options.signal),
      chunk => {
        options.signal?.throwIfAborted()
        indexBase ??= findInputFormat('libsvm').detectIndexBase(
          arena.bytes(chunk.at, Math.min(chunk.bytes, 1 << 16)).slice(),
        )
        return start(chunk)
      },
      async (chunk, encoded) => {
        account.add(chunk, encoded, onBadRow)
        mergeLabels(labels, byValue, encoded.labels)
        await store.append(encoded.segments, total.rows)
        free.push(encoded.out)
        maps.add(encoded.map)
        sources[chunk.source].rows += encoded.rows
        sources[chunk.source].bytes += chunk.bytes
        total.rows += encoded.rows
        total.nonzeros += encoded.nonzeros
        total.features = Math.max(total.features, encoded.features)
        options.progress?.({
          seconds: seconds(),
          bytesRead: chunks.bytesRead,
          bytesTotal: chunks.bytesTotal,
          rows: total.rows,
          badRows: account.badRows,
          bytesWritten: store.bytes,
        })
      },
      chunk => chunk.release(),
    )
    options.signal?.throwIfAborted()
    if (total.rows === 0)
      throw new SpillwayError(`${paths.join(', ')} has no rows`, 'a row is LABEL INDEX:VALUE INDEX:VALUE …')
    const usedFeatures = await keepFeatureSet(arena, folder, maps)
    const manifest = await store.finish({
      createdBy: `spillway ${version}`,
      features: total.features,
      usedFeatures,
      indexBase: indexBase ?? 1,
      labels,
      sources,
      split,
      seed,
      valueBits: options.values === 'f64' ? 64 : 32,
      compression: compression ?? 'none',
    })
    return {
      manifest,
      bytesRead: chunks.bytesRead,
      bytesWritten: manifest.blocks.reduce((sum, block) => sum + block.bytes, 0),
      seconds: seconds(),
      badRows: account.badRows,
      badRowMessages: account.messages,
    }
  } catch (error) {
    await writer?.abort()
    throw error
  } finally {
    await pool.close()
  }
}

/** Buffers and blocks for a given memory. Text in slots, encoded segments, parsers and encoders of two threads take about
 *  28 chunks in all; a block is to be small enough that several fit beside each other when it is trained on. */
function bufferSizes(memory: number | undefined): {
  chunk: number
  blockText: number
  mapPages: number
  writer: number
} {
  if (memory === undefined) {
    return { chunk: CHUNK_BYTES, blockText: BLOCK_TEXT_BYTES, mapPages: MAP_PAGES, writer: 16 << 20 }
  }
  const left = memory - NODE_BYTES
  if (left < LEAST_BUFFERS) {
    throw new SpillwayError(
      `${formatBytes(memory)} of memory cannot work: Node takes ${formatBytes(NODE_BYTES)}, buffers for reading at least ${formatBytes(LEAST_BUFFERS)}`,
      `give --memory ${Math.ceil((NODE_BYTES + LEAST_BUFFERS) / 2 ** 20)}M or more`,
    )
  }
  const chunk = Math.min(CHUNK_BYTES, Math.max(1 << 18, (left / 40) & ~4095))
  return {
    chunk,
    blockText: Math.max(chunk, Math.floor(memory / 12)),
    mapPages: Math.min(MAP_PAGES, Math.floor(left / 24 / 12288)),
    writer: Math.min(16 << 20, Math.floor(left / 16)),
  }
}

/** One map of the threads' maps, on disk; 0 when one of them was given up. */
async function keepFeatureSet(arena: Arena, folder: string, maps: Set<number>): Promise<number> {
  if (maps.has(0)) return 0
  const [first, ...others] = maps
  for (const other of others) arena.numeric.mergeMap(first, other)
  return writeFeatureSet(arena, folder, first)
}

/** Bytes of text to come, as far as file sizes tell; undefined for a stream. */
async function expectedText(paths: string[]): Promise<number | undefined> {
  let sum = 0
  for (const path of paths) {
    const found = path === '-' ? undefined : await stat(path).catch(() => undefined)
    if (!found?.isFile()) return undefined
    sum += /\.(gz|zst)$/.test(path) ? found.size * EXPANSION : found.size
  }
  return sum
}

/** Block of the next chunk when blocks follow the text: by the share of the input that has been read. */
function sequentialBlock(chunks: LineChunks, blocks: number): number {
  if (blocks === 1) return 0
  if (!chunks.bytesTotal) {
    throw new UsageError('a sequential split needs inputs of known length', 'give files, or use --split random')
  }
  return Math.min(blocks - 1, Math.floor((blocks * (chunks.bytesRead - 1)) / chunks.bytesTotal))
}

/** Bytes a second that the store's own disk reads past the page cache. */
async function diskRate(folder: string): Promise<number> {
  const path = join(folder, 'probe.tmp')
  try {
    const bytes = Buffer.alloc(PROBE_BYTES, 'probe')
    const written = await open(path, 'w')
    await written.writeFile(bytes)
    await written.sync()
    await written.close()
    const file = await open(path, constants.O_RDONLY | constants.O_DIRECT)
    try {
      // Direct reads want an aligned buffer: a shared memory starts on a page.
      const memory = new Uint8Array(new SharedArrayBuffer(PROBE_BYTES + 4096))
      const start = performance.now()
      const { bytesRead } = await file.read(memory, 0, PROBE_BYTES, 0)
      return bytesRead / ((performance.now() - start) / 1000)
    } finally {
      await file.close()
    }
  } catch {
    return FAST_DISK
  } finally {
    await unlink(path).catch(() => {})
  }
}
