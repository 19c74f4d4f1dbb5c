// `ingest`: text in, a block store out.

import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileError } from '../errors.ts'
import { refuseSameFile } from '../files/same-file.ts'
import { readsFiles, usualInputFormat } from '../input-formats/all-input-formats.ts'
import { requireReadable } from '../input-formats/byte-source.ts'
import { nameLabels } from '../input-formats/named-labels.ts'
import { isQuery, isSqlQuery, pathOfQuery, type SqlQuery } from '../input-formats/stand-ins.ts'
import { Arena } from '../numeric/arena.ts'
import { planDecoding } from '../rows/decode-memory.ts'
import type { TextWithNames } from '../rows/find-names.ts'
import { learnSchema } from '../rows/learn-schema.ts'
import { poolForText } from '../rows/pool-for-text.ts'
import { spoolReadOnce } from '../rows/spool.ts'
import type { Schema } from '../tables/schema.ts'
import type { TableOptions } from '../tables/table-options.ts'
import { collectGarbage } from '../threads/collect-garbage.ts'
import { version } from '../version.ts'
import type { CompressionChoice } from './compression.ts'
import { UNSAVED_MARKER } from './file-layout.ts'
import type { Manifest } from './manifest.ts'
import {
  type BufferSizes,
  blocksOf,
  bufferSizes,
  expectedText,
  type Follower,
  type IngestProgress,
  keepFeatureSet,
  readIntoBlocks,
  requireReading,
} from './read-into-blocks.ts'
import { refuseNamedTwice } from './source-content.ts'
import { packedNames, writeNames } from './stored-names.ts'
import { StoreWriter } from './writer.ts'

export type { IngestProgress }

export interface IngestOptions extends TableOptions {
  /** Number of blocks; by default one for every BLOCK_TEXT_BYTES of text. */
  blocks?: number
  seed?: number
  /** random: rows are drawn into blocks. sequential: blocks follow the order of the text. */
  split?: 'random' | 'sequential'
  values?: 'f32' | 'f64'
  /** Round values, which lie in [0, 1], to those of so many bins: for additive kernels, in one or two bytes each. */
  bins?: number
  compress?: CompressionChoice
  /** The name of a format; by default the first line shows it. */
  format?: string
  indexBase?: 0 | 1
  /** Of a table; learnt from it when not given. */
  schema?: Schema
  onBadRow?: 'fail' | 'skip'
  /** Of an array or a matrix: the file of its labels. */
  labels?: string
  /** Keep the names of hashed features in the store: the text is read twice. Models that are trained on the store have them. */
  keepNames?: boolean
  /** Take two sources with the same content. */
  again?: boolean
  /** Replace a store of the same name. */
  overwrite?: boolean
  threads?: number
  /** Bytes of memory to stay inside of; without it buffers are what serves speed best. */
  memory?: number
  /** Whether that memory is a part of a plan, which has room for the program's pages besides. */
  isPlanned?: boolean
  /** Text for a block, and pages of a thread's map of features, when the memory is not to decide them. */
  buffers?: Partial<Pick<BufferSizes, 'blockText' | 'mapPages'>>
  /** Who trains on the rows meanwhile. The store is then marked as one whose training has not been saved. */
  follower?: Follower
  /** Where to work; a memory of its own when not given. */
  arena?: Arena
  signal?: AbortSignal
  progress?: (progress: IngestProgress) => void
}

export interface IngestResult {
  manifest: Manifest
  bytesRead: number
  bytesWritten: number
  seconds: number
  badRows: number
  badRowMessages: string[]
}

export async function ingest(
  data: string | string[] | SqlQuery,
  folder: string,
  options: IngestOptions = {},
): Promise<IngestResult> {
  const started = performance.now()
  const given = isSqlQuery(data) ? [pathOfQuery(data.sql)] : typeof data === 'string' ? [data] : data
  const { format, memory, threads, signal, keepNames = false } = options
  await refuseSameFile({ reads: given.filter(path => !isQuery(path)), writes: [folder] })
  await using spooled = await spoolReadOnce(given, { format, memory, threads, signal, store: folder, again: keepNames })
  using _ = nameLabels(spooled.paths, options.labels)
  const settings = { ...options, ...spooled.known }
  if (memory !== undefined && !options.schema) {
    const plan = await planDecoding(spooled.paths, { ...settings, memory, format: settings.format })
    if (plan) Object.assign(settings, { memory: memory - plan.bytes, threads: plan.threads })
  }
  return await ingestFiles(spooled.paths, folder, settings, started)
}

async function ingestFiles(
  paths: string[],
  folder: string,
  options: IngestOptions,
  started: number,
): Promise<IngestResult> {
  const seconds = (): number => (performance.now() - started) / 1000
  const split = options.split ?? 'random'
  const seed = options.seed ?? 1
  const valueBits = options.values === 'f64' ? 64 : 32
  await checkInputs(paths, folder, options)
  const { schema, format: asked } = await tableOf(paths, options)
  const textBytes = await expectedText(paths)
  if (!options.isPlanned) requireReading(options.memory)
  const sizes = { ...bufferSizes(options.memory), ...options.buffers }
  const names = await namesOf(paths, options, { format: asked, schema }, sizes)
  const blocks = options.blocks ?? blocksOf(textBytes, sizes)
  const arena = options.arena ?? new Arena()
  const pool = await poolForText(arena, paths, options.threads)
  let writer: StoreWriter | undefined
  try {
    // Opening the store comes first: a folder that cannot be written is told before an hour of reading.
    writer = await StoreWriter.create(folder, {
      arena,
      blocks,
      overwrite: options.overwrite ?? false,
      bufferBytes: sizes.writer,
    })
    const read = await readIntoBlocks(arena, pool, paths, writer, {
      blocks,
      seed,
      split,
      valueBits,
      bins: options.bins ?? 0,
      compress: options.compress ?? 'auto',
      ...{ format: asked, schema },
      indexBase: options.indexBase,
      onBadRow: options.onBadRow ?? 'fail',
      labels: [],
      firstPosition: 0,
      earlier: options.again ? undefined : { folder, sources: [] },
      sizes,
      follower: options.follower,
      textBytes,
      signal: options.signal,
      progress: options.progress && (progress => options.progress?.({ seconds: seconds(), ...progress })),
    })
    const { features, labels, sources, format, indexBase, compression, bytesRead, badRows, badRowMessages } = read
    const usedFeatures = await keepFeatureSet(arena, folder, read.maps)
    if (names) await writeNames(folder, names)
    if (options.follower) await markUnsaved(folder)
    const manifest = await writer.finish({
      createdBy: `spillway ${version}`,
      ...{ features, usedFeatures },
      ...(format !== usualInputFormat.name && { inputFormat: format }),
      ...(schema && { schema }),
      indexBase,
      labels,
      sources,
      split,
      seed,
      valueBits,
      compression,
      ...(options.bins && { transforms: { bins: options.bins } }),
    })
    const bytesWritten = manifest.blocks.reduce((sum, block) => sum + block.bytes, 0)
    return { manifest, bytesRead, bytesWritten, seconds: seconds(), badRows, badRowMessages }
  } catch (error) {
    await writer?.abort()
    throw error
  } finally {
    await pool.close()
  }
}

/** The schema of a table, given or learnt, and the format to read. */
async function tableOf(paths: string[], options: IngestOptions): Promise<{ schema?: Schema; format?: string }> {
  const { format, schema, onBadRow = 'fail' } = options
  const learnt = schema ? { schema } : await learnSchema(paths, { ...options, format, onBadRow })
  return { ...(format !== undefined && { format }), ...learnt }
}

/** The names of hashed features, packed for the store, where they are to be kept. */
async function namesOf(
  paths: string[],
  { keepNames, memory, indexBase, threads, signal, onBadRow = 'fail' }: IngestOptions,
  table: Pick<TextWithNames, 'format' | 'schema'>,
  { chunk: chunkBytes, line: longestLine }: BufferSizes,
): Promise<Uint8Array[] | undefined> {
  if (!keepNames) return undefined
  const text = { ...table, indexBase, onBadRow, threads, chunkBytes, longestLine, signal }
  const packed = await packedNames(paths, text, memory)
  // The list of names was large, and what follows has the memory for itself.
  if (memory !== undefined) collectGarbage()
  return packed
}

/** What cannot be read, or not so, is told before a store that is to be replaced goes. */
async function checkInputs(paths: string[], folder: string, { format, again }: IngestOptions): Promise<void> {
  await refuseSameFile({ reads: paths, writes: [folder] })
  if (readsFiles(format)) for (const path of paths) await requireReadable(path)
  if (!again) await refuseNamedTwice(paths)
}

async function markUnsaved(folder: string): Promise<void> {
  const path = join(folder, UNSAVED_MARKER)
  await writeFile(path, '').catch(error => {
    throw fileError(error, path, 'write')
  })
}
