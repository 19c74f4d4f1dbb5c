// How memory is shared out while text is read and trained on at the same time, and what reading leaves behind.
import { bufferSizes } from '../block-store/read-into-blocks.ts'
import { PAGE_BYTES } from '../numeric/feature-map-layout.ts'
import { type FirstPassSizes, pieceBytes } from '../optimise/solvers/first-pass.ts'
import { MOST_FIRST_PASS } from '../optimise/sources/memory-plan.ts'
import { type ByteCount, NODE_BYTES, PROGRAM_PAGES } from '../sizes.ts'
import { defaultThreads } from '../threads/pool.ts'
import type { ResolvedOptions } from './options.ts'

/** With so much memory there is little room besides Node and the pages of the program. */
export const LITTLE = NODE_BYTES + PROGRAM_PAGES + (12 << 20)

/** What an ingest leaves behind in the same process: heap and allocator keep what its buffers took, the more the larger
 *  they were. Measured: 26 MB under 256M. A store that was made before is planned for alike, so that a run can be resumed. */
export function afterIngest(memory: number): number {
  return Math.min(32 << 20, Math.max(12 << 20, Math.floor((memory - LITTLE) / 4)))
}

export interface SizesWhileReading {
  pass: FirstPassSizes
  ingest: ByteCount
  buffers: { blockText: number; mapPages: number }
}

/** Sizes where training begins while text is read; undefined where there is no room for that. */
export function firstPassSizes(
  { memory: named, threads = defaultThreads() }: Pick<ResolvedOptions, 'memory' | 'threads'>,
  memory: ByteCount,
  text: number | undefined,
): SizesWhileReading | undefined {
  const rooms = threads + 2
  if (named === undefined) {
    const { chunk, blockText, mapPages } = bufferSizes(undefined)
    const bytes = Math.min(MOST_FIRST_PASS, Math.floor((memory - NODE_BYTES) / 2))
    return { pass: { chunk, rooms, bytes, text }, ingest: memory, buffers: { blockText, mapPages } }
  }
  const reading = NODE_BYTES + Math.floor(FIRST_PASS_READING * (memory - NODE_BYTES))
  if (reading - NODE_BYTES < LEAST_FIRST_PASS) return undefined
  const { chunk } = bufferSizes(reading)
  // The blocks and the map of the features are for the time afterwards, and as large as without a first pass.
  const { blockText, mapPages } = bufferSizes(memory)
  const more = (mapPages - bufferSizes(reading).mapPages) * MAP_PAGE_BYTES
  const others = reading + more + pieceBytes({ chunk, rooms }) + PROGRAM_PAGES + afterIngest(memory) / 2
  const share = FIRST_PASS_SHARE * (memory - NODE_BYTES - PROGRAM_PAGES - afterIngest(memory))
  const bytes = Math.floor(Math.min(MOST_FIRST_PASS, memory - others, Math.max(share, LEAST_FIRST_PASS)))
  if (bytes < LEAST_FIRST_PASS) return undefined
  return { pass: { chunk, rooms, bytes, text }, ingest: reading, buffers: { blockText, mapPages } }
}

/** Bytes that training takes while text is read, for plans: they must not depend on the machine. */
export function plannedFirstPass({ memory: named }: Pick<ResolvedOptions, 'memory'>, memory: ByteCount): ByteCount {
  return firstPassSizes({ memory: named, threads: PLANNED_THREADS }, memory, undefined)?.pass.bytes ?? 0
}

const PLANNED_THREADS = 2
/** A page of a map of features, for each of two threads that read. */
const MAP_PAGE_BYTES = 2 * PAGE_BYTES
/** Share of the memory besides Node that reading and writing get while there is training too. */
const FIRST_PASS_READING = 0.3
/** Share of what is left for blocks and a cache that training gets meanwhile, at most. Blocks are loaded there afterwards; a cache has
 *  a room of its own, and memory that was touched once is not given back. With more, runs in 1G were killed. */
const FIRST_PASS_SHARE = 0.2
const LEAST_FIRST_PASS = 16 << 20
