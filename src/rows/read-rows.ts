// The one loop that reads rows. The main thread brings inputs into memory in chunks, the pool's threads work on them, and
// results are taken in the order of the data, so that the outcome is the same for any number of threads. What is made of a
// chunk, and what is done with it, the caller says.
import { BadRowAccount } from '../input-formats/bad-rows.ts'
import { type Chunk, Chunks, type TableReading } from '../input-formats/chunks.ts'
import type { InputFormat } from '../input-formats/input-format.ts'
import { Reading } from '../input-formats/reading.ts'
import type { Arena } from '../numeric/arena.ts'
import type { ByteCount } from '../sizes.ts'
import { inOrder } from '../threads/in-order.ts'
import type { ThreadPool } from '../threads/pool.ts'
import { untilAborted } from '../threads/until-aborted.ts'
import type { ChunkToParse, ParsedChunk } from './chunk-task.ts'

/** Bytes a worker takes at a time: small enough for a core's cache, large enough to make messages cheap. */
export const CHUNK_BYTES = 2 << 20

export interface RowsToRead {
  /** The name of a format, or `auto`. */
  format: string | undefined
  /** 0 or 1; found out from the first row when not given. */
  indexBase: number | undefined
  onBadRow: 'fail' | 'skip'
  valueBits: 32 | 64
  chunkBytes?: ByteCount
  /** The most bytes of a line; the memory that there is decides when not given. */
  longestLine?: ByteCount
  /** How tables are read. */
  table?: TableReading | undefined
  /** Throws where the rows of a format cannot be used as they are meant to be. */
  fit?: (format: InputFormat) => void
  signal?: AbortSignal | undefined
  /** Whether an abort leaves the whole rows that were read until then; else it is an error. */
  keepsRows?: boolean
}

export class RowReader {
  readonly #settings: RowsToRead
  readonly #reading: Reading
  readonly #chunks: Chunks
  readonly #account = new BadRowAccount()

  constructor(arena: Arena, pool: ThreadPool, settings: RowsToRead) {
    this.#settings = settings
    this.#reading = new Reading(settings.format, settings.indexBase, settings.fit)
    const { chunkBytes = CHUNK_BYTES, table } = settings
    this.#chunks = new Chunks(arena, this.#reading, chunkBytes, pool.size + 3, table)
    this.#chunks.longestLine = settings.longestLine
  }

  /** Has work started on every chunk, and takes the results in order. */
  async read<Result extends ParsedChunk>(
    paths: string[],
    start: (chunk: Chunk, toParse: ChunkToParse) => Promise<Result>,
    take: (chunk: Chunk, result: Result) => void | Promise<void>,
  ): Promise<void> {
    const { onBadRow, valueBits, signal, keepsRows = false } = this.#settings
    await inOrder(
      untilAborted(this.#chunks.read(paths), signal),
      chunk => {
        if (!keepsRows) signal?.throwIfAborted()
        const { format, at, bytes, first, about, indexBase } = chunk
        const parse = { indexBase, skipBad: onBadRow === 'skip', valueBits }
        return start(chunk, { format, at, bytes, first, about, parse })
      },
      (chunk, result) => {
        this.#account.add(chunk, result, onBadRow)
        return take(chunk, result)
      },
      chunk => chunk.release(),
    )
    if (!keepsRows) signal?.throwIfAborted()
  }

  /** The format that the data is in, and the number that it gives to its first feature; as far as is known. */
  get format(): InputFormat {
    return this.#reading.format
  }
  get indexBase(): number {
    return this.#reading.indexBase
  }

  get bytesRead(): number {
    return this.#chunks.bytesRead
  }
  get bytesTotal(): number | undefined {
    return this.#chunks.bytesTotal
  }
  get readMilliseconds(): number {
    return this.#chunks.readMilliseconds
  }
  get badRows(): number {
    return this.#account.badRows
  }
  /** The first few bad rows in words. */
  get badRowMessages(): string[] {
    return this.#account.messages
  }
}
