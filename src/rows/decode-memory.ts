// What decoding takes: tables in columns are decoded whole row groups or record batches at a time, by libraries, and a memory that
// was named has to have room for that.
import { SpillwayError } from '../errors.ts'
import { statInput } from '../input-formats/file-part.ts'
import { Input } from '../input-formats/input.ts'
import type { AboutEncoded, PlannedChunk } from '../input-formats/input-format.ts'
import { isText, Reading } from '../input-formats/reading.ts'
import { formatBytes } from '../numeric/arena.ts'
import { type ByteCount, NODE_BYTES, PROGRAM_PAGES } from '../sizes.ts'
import { defaultThreads } from '../threads/pool.ts'
import { CHUNK_BYTES } from './read-rows.ts'
import { memoryThatWouldDo } from './too-little-memory.ts'

export interface DecodingPlan {
  /** Threads that there is room for. */
  threads: number
  /** What decoding takes with so many. */
  bytes: ByteCount
}

interface LargestChunk {
  name: string
  /** Its cells. */
  decodedBytes: ByteCount
  /** What slots have for each chunk: the bytes of the largest one in the file. */
  bytes: ByteCount
  /** How many there are. */
  chunks: number
}

/** A thread that decodes, beside the thread that waits for it. Measured on 100,000 rows of 30 random numbers, whose text is longest:
 *  670 MB in one row group of 25 MB, 370 MB in five with one thread, 510 MB with two; 185 MB of each are not for decoding. */
const DECODER_BYTES: ByteCount = 24 << 20
/** Of each byte of cells: what a thread that decodes has of it in objects and text, and what waits in a slot. */
const TIMES_DECODING = 15
const TIMES_WAITING = 5
/** Chunks that are read ahead of the threads. */
const CHUNKS_AHEAD = 3
/** What has to be left for reading and training. */
const LEAST_BESIDE: ByteCount = NODE_BYTES + PROGRAM_PAGES + (40 << 20)

/** How many threads may decode in a memory, and what they take. Undefined where nothing is decoded. */
export async function planDecoding(
  paths: string[],
  {
    format,
    memory,
    threads = defaultThreads(),
  }: { format: string | undefined; memory: ByteCount; threads?: number | undefined },
): Promise<DecodingPlan | undefined> {
  const largest = await largestChunk(paths, format)
  if (!largest) return undefined
  const room = memory - LEAST_BESIDE
  const bytesFor = (count: number): ByteCount =>
    count * (DECODER_BYTES + TIMES_DECODING * largest.decodedBytes) +
    Math.min(count + CHUNKS_AHEAD, largest.chunks) * (largest.bytes + TIMES_WAITING * largest.decodedBytes)
  let count = threads
  while (count > 1 && bytesFor(count) > room) count--
  const bytes = bytesFor(count)
  if (bytes <= room) return { threads: count, bytes }
  throw new SpillwayError(
    `${largest.name} takes about ${formatBytes(bytes)} while it is decoded, and ${formatBytes(memory)} of memory leave ${formatBytes(Math.max(0, room))} for that`,
    `write the file with smaller parts, e.g. row_group_size=10000, or give ${memoryThatWouldDo(bytes + LEAST_BESIDE)}`,
  )
}

/** The chunk whose decoding takes most. */
async function largestChunk(paths: string[], format: string | undefined): Promise<LargestChunk | undefined> {
  let largest: Pick<LargestChunk, 'name' | 'decodedBytes'> | undefined
  let [count, slot] = [0, 0]
  for (const path of paths) {
    // What is read of a pipe is gone, and a store has been decoded.
    if (!(await statInput(path))?.isFile()) return undefined
    const input = new Input(path)
    try {
      const chunks = await chunksOf(input, format)
      if (!chunks) return undefined
      count += chunks.length
      for (const { bytes, about } of chunks) {
        const { name, decodedBytes } = about as AboutEncoded
        if (!largest || decodedBytes > largest.decodedBytes) largest = { name, decodedBytes }
        slot = Math.max(slot, bytes)
      }
    } finally {
      await input.close()
    }
  }
  return largest && { ...largest, bytes: slot, chunks: count }
}

/** The chunks of a table that is decoded; undefined for other data. */
async function chunksOf(input: Input, format: string | undefined): Promise<PlannedChunk[] | undefined> {
  const reading = new Reading(format, undefined)
  if (!reading.known) {
    const { name, head } = await input.source()
    if (head && !isText(head)) reading.lookAtHead(name, head)
  }
  const { cut, title = '' } = reading.known ?? {}
  if (cut?.by !== 'plan' || !cut.tables) return undefined
  const opened = await cut.open(
    { path: input.path, name: input.name, file: () => input.randomAccess(title) },
    CHUNK_BYTES,
  )
  await opened.close?.()
  return Array.isArray(opened.chunks) ? opened.chunks : undefined
}
