// The index of a store: a file of metric trees for each block, made in one read, a block in memory at a time or as many as the
// memory holds. Files that are there and belong to their blocks stay, so an interrupted work goes on, and rows that were
// added get trees of their own.
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { loadBlockTask } from '../block-store/load-block-task.ts'
import type { Manifest } from '../block-store/manifest.ts'
import { openStore, type Store } from '../block-store/reader.ts'
import { decodedSegment } from '../block-store/segment-size.ts'
import { removeFile } from '../block-store/store-folder.ts'
import { fileError, SpillwayError, UsageError } from '../errors.ts'
import { takeLock } from '../files/lock-file.ts'
import { Arena } from '../numeric/arena.ts'
import { BATCH_BOUND, ROW_BOUND } from '../numeric/layouts.ts'
import { SPREAD_BYTES } from '../numeric/metric-tree-layout.ts'
import { roundUp } from '../numeric/rounding.ts'
import { cannotWork, type MemoryPart } from '../rows/too-little-memory.ts'
import { type ByteCount, NODE_BYTES, PROGRAM_PAGES, parseMemory, READ_BYTES, WINDOW_BYTES } from '../sizes.ts'
import { defaultThreads, ThreadPool } from '../threads/pool.ts'
import { BOX_ROOM, type BuildRooms, ROOM_PER_ROW } from './build-tree.ts'
import { buildTreesTask } from './build-trees-task.ts'
import { type IndexState, type IndexSummary, indexState, summaryOf } from './index-state.ts'
import { filesOfIndex, indexFolder, labelChecksum, type TreeSettings, treeFile } from './tree-file.ts'

export interface IndexOptions {
  /** Children of an inner node, at most; 16 when not given. */
  fanOut?: number | undefined
  /** Rows of a tree, at most; 16,384 when not given. */
  treeRows?: number | undefined
  /** Bytes of a leaf, about; 6 KiB when not given, and room for 8 rows. */
  leafBytes?: number | undefined
  seed?: number | undefined
  /** Bytes, or a size such as 512M: the most that the whole process may take. */
  memory?: number | string | undefined
  threads?: number | undefined
  signal?: AbortSignal | undefined
  progress?: ((progress: IndexProgress) => void) | undefined
}

export interface IndexProgress {
  seconds: number
  blocks: number
  blocksDone: number
  rows: number
  rowsDone: number
  bytesWritten: number
}

export interface IndexResult extends Omit<IndexSummary, 'rowsWithout'> {
  store: string
  /** Blocks whose trees were made now; the others had theirs. */
  blocksBuilt: number
  seconds: number
}

const DEFAULTS = { fanOut: 16, treeRows: 16_384, leafBytes: 6 << 10, seed: 1 }
const LOCK = 'building.lock'
const SCRAP = /\.tmp$/

/** Makes what is missing of a store's index. */
export async function buildIndex(folder: string, options: IndexOptions = {}): Promise<IndexResult> {
  const started = performance.now()
  const seconds = (): number => (performance.now() - started) / 1000
  const settings = settingsOf(options)
  const store = await openStore(folder)
  await mkdir(indexFolder(folder), { recursive: true }).catch((error: unknown) => {
    throw fileError(error, indexFolder(folder), 'make')
  })
  const release = await takeLock(
    join(indexFolder(folder), LOCK),
    owner => new SpillwayError(`${folder} is being indexed by process ${owner}`, 'wait for it to end'),
  )
  try {
    await clearScraps(store)
    const state = await indexState(store, { damagedIsMissing: true })
    const built = await buildMissing(store, state, settings, options, seconds)
    const after = summaryOf(await indexState(store))
    return { store: folder, blocksBuilt: built, ...after, seconds: seconds() }
  } finally {
    await release()
  }
}

function settingsOf(options: IndexOptions): TreeSettings {
  const given = Object.fromEntries(
    Object.keys(DEFAULTS).flatMap(name => {
      const value = options[name as keyof typeof DEFAULTS]
      return value === undefined ? [] : [[name, value]]
    }),
  )
  const settings = { ...DEFAULTS, ...given }
  const least = { fanOut: 2, treeRows: 16, leafBytes: 64, seed: 0 }
  for (const [name, value] of Object.entries(settings)) {
    const fewest = least[name as keyof typeof least]
    if (!Number.isSafeInteger(value) || value < fewest || value >= 2 ** 31)
      throw new UsageError(`${name} is ${value}; expected a whole number of at least ${fewest}`)
  }
  return settings
}

/** Removes what earlier attempts left, and trees of blocks that are no more. */
async function clearScraps({ folder, manifest }: Store): Promise<void> {
  const named = new Set(manifest.blocks.map(({ file }) => treeFile(folder, file)))
  for (const name of await filesOfIndex(folder)) {
    const path = join(indexFolder(folder), name)
    if (SCRAP.test(name) || (/^trees-\d+\.bin$/.test(name) && !named.has(path))) await removeFile(path)
  }
}

/** Trees of the blocks that have none, or some that are stale; how many blocks those were. */
async function buildMissing(
  store: Store,
  { blocks }: IndexState,
  settings: TreeSettings,
  options: IndexOptions,
  seconds: () => number,
): Promise<number> {
  const { manifest } = store
  const missing = blocks.flatMap(({ facts }, block) => (facts ? [] : [block]))
  if (missing.length === 0) return 0
  const memory = typeof options.memory === 'string' ? parseMemory(options.memory, 'memory') : options.memory
  const slots = slotsFor(manifest, missing, memory, options.threads)
  const arena = new Arena()
  await using pool = new ThreadPool(arena.share, slots.length)
  const done = { blocksDone: 0, rowsDone: 0, bytesWritten: 0 }
  const rows = missing.reduce((sum, block) => sum + manifest.blocks[block].rows, 0)
  let next = 0
  let failed = false
  const work = async (size: SlotSize): Promise<void> => {
    const slot = newSlot(arena, manifest.features, size)
    while (next < missing.length && !failed) {
      options.signal?.throwIfAborted()
      const block = missing[next++]
      try {
        // What stands between two records goes into the file too: the same store is the same index, bit for bit.
        arena.bytes(slot.room.at, slot.room.bytes).fill(0)
        const bytes = await buildBlock(pool, slot, store, block, settings)
        done.blocksDone++
        done.rowsDone += manifest.blocks[block].rows
        done.bytesWritten += bytes
        options.progress?.({ seconds: seconds(), blocks: missing.length, rows, ...done })
      } catch (error) {
        failed = true
        throw error
      }
    }
  }
  const outcomes = await Promise.allSettled(slots.map(work))
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason
  options.signal?.throwIfAborted()
  return missing.length
}

interface SlotSize {
  bytes: ByteCount
  rows: number
}

interface Slot {
  room: { at: number; bytes: ByteCount }
  table: number
  tableRows: number
  rooms: BuildRooms
}

function newSlot(arena: Arena, features: number, { bytes, rows }: SlotSize): Slot {
  const room = (size: ByteCount): number => arena.allocate(Math.max(size, 8), 'building the index')
  const list = room(rows * 4)
  return {
    room: { at: room(bytes), bytes },
    table: list,
    tableRows: rows,
    rooms: {
      ...{ list, numbers: room(rows * 4), otherList: room(rows * 4), otherNumbers: room(rows * 4) },
      ...{ assigned: room(rows * 4), best: room(rows * 8), vector: room(features * 8), spread: room(SPREAD_BYTES) },
      box: room(BOX_ROOM),
    },
  }
}

/** Blocks that are in memory at a time: as many as there are threads, if the memory allows. */
function slotsFor(
  manifest: Manifest,
  missing: number[],
  memory: number | undefined,
  threads: number | undefined,
): SlotSize[] {
  const perEntry = manifest.valueBits === 64 ? 12 : 8
  const sizes = missing.map(block => {
    const { rows, nonzeros, segments } = manifest.blocks[block]
    return roundUp(rows * ROW_BOUND + nonzeros * perEntry + segments * BATCH_BOUND + 4096, 8)
  })
  const bytes = Math.max(...sizes)
  const rows = Math.max(...missing.map(block => manifest.blocks[block].rows))
  const segment = Math.max(
    ...missing.map(block => decodedSegment(manifest.blocks[block]) / Math.max(1, manifest.blocks[block].segments)),
  )
  const each = bytes + rows * ROOM_PER_ROW + manifest.features * 8 + READ_BYTES + segment + OTHERS
  const allowed = Math.min(memory ?? Number.POSITIVE_INFINITY, NODE_BYTES + WINDOW_BYTES)
  // A memory that is named is a cap: without its own pages the program would read them again and again.
  const pages = memory === undefined ? 0 : PROGRAM_PAGES
  const fitting = Math.floor((allowed - NODE_BYTES - pages) / each)
  if (fitting < 1) {
    const tree: MemoryPart = ['the largest block with its tree', each]
    const refusal = cannotWork(allowed, pages > 0 ? [['its pages', pages], tree] : [tree], [MORE_BLOCKS])
    throw each <= WINDOW_BYTES ? refusal : new SpillwayError(refusal.message, `${MORE_BLOCKS}: --blocks`)
  }
  const count = Math.min(threads ?? defaultThreads(), fitting, missing.length)
  return Array.from({ length: count }, () => ({ bytes, rows }))
}

const MORE_BLOCKS = 'ingest the data into more blocks'

/** Buffers of a thread: pages on their way to the file, and what decoding keeps. */
const OTHERS = 6 << 20

/** Bytes of the file that was written. */
async function buildBlock(
  pool: ThreadPool,
  slot: Slot,
  { folder, manifest }: Store,
  block: number,
  settings: TreeSettings,
): Promise<ByteCount> {
  const { file, checksum, rows } = manifest.blocks[block]
  const labels = manifest.labels.length
  const loaded = await pool.run(loadBlockTask, {
    ...{ folder, fingerprint: manifest.fingerprint, blocks: [block], room: slot.room },
    ...{ table: slot.table, tableRows: slot.tableRows, expand: undefined, direct: false },
    ...{ map: 0, factors: 0, unit: false, plain: false },
  })
  const facts = await pool.run(buildTreesTask, {
    ...{ path: treeFile(folder, file), number: block, rows: loaded.rows, recordBytes: loaded.packedBytes },
    ...{ features: manifest.features, rooms: slot.rooms, settings },
    about: { block: { file, checksum, rows }, labels, labelChecksum: labelChecksum(manifest.labels, labels) },
  })
  return facts.bytes
}
