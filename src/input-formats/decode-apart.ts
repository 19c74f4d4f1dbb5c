// Decoding by libraries, in a thread apart. A file that was damaged, or made to do harm, may keep a library busy for ever, or have
// it ask for all the memory there is. The thread is ended then, and the file refused.
import { SpillwayError } from '../errors.ts'
import { Arena } from '../numeric/arena.ts'
import { ThreadPool } from '../threads/pool.ts'
import type { ChunkToDecode, DecodedTables } from './input-format.ts'

/** Megabytes that objects may take: so many, and so many for each megabyte of cells. A cell of four bytes is an object of up to
 *  forty, and stands in a list twice. */
const LEAST_MEGABYTES = 96
const MEGABYTES_EACH = 24
/** Seconds that it may take, on a busy machine too: so many, and so many for each megabyte. */
const LEAST_SECONDS = 10
const SECONDS_EACH = 2

/** The decoder of this thread, and what it may take. */
let decoder: { pool: ThreadPool; heapMegabytes: number } | undefined

export async function decodeApart({ toText }: DecodedTables, chunk: ChunkToDecode): Promise<Uint8Array> {
  const { name, decodedBytes } = chunk.about
  const megabytes = decodedBytes / 2 ** 20
  const pool = await decoderOf(Math.ceil(LEAST_MEGABYTES + MEGABYTES_EACH * megabytes))
  const seconds = LEAST_SECONDS + SECONDS_EACH * megabytes
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(harmful(name, 'data whose decoding does not end')), seconds * 1000)
  try {
    return await Promise.race([pool.run(toText, chunk), late.promise])
  } catch (error) {
    await closeDecoder()
    const code = (error as NodeJS.ErrnoException).code
    throw code === 'ERR_WORKER_OUT_OF_MEMORY'
      ? harmful(name, 'data that takes far more memory than its file says')
      : error
  } finally {
    clearTimeout(timer)
  }
}

async function decoderOf(heapMegabytes: number): Promise<ThreadPool> {
  if (decoder && decoder.heapMegabytes < heapMegabytes) await closeDecoder()
  // It sees nothing of the memory that rows are in.
  decoder ??= { pool: new ThreadPool(new Arena().share, 1, { heapMegabytes }), heapMegabytes }
  return decoder.pool
}

async function closeDecoder(): Promise<void> {
  const pool = decoder?.pool
  decoder = undefined
  await pool?.close()
}

function harmful(name: string, found: string): SpillwayError {
  return new SpillwayError(`${name}: found ${found}`, 'is the file damaged? Copy or download it again')
}
