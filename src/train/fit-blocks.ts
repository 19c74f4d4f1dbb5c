// A store whose blocks fit the memory. How large they may be is known for certain only when all rows are there: blocks that
// turn out too large are split, and the text is not read again.
import type { AgreedStore } from '../block-store/agree-on-store.ts'
import type { Store } from '../block-store/reader.ts'
import { splitBlocks } from '../block-store/split-blocks.ts'
import { SpillwayError } from '../errors.ts'
import { type Arena, formatBytes } from '../numeric/arena.ts'
import { READERS } from '../optimise/sources/block-engine.ts'
import { BlocksTooLarge } from '../optimise/sources/memory-plan.ts'
import { blocksText } from '../sizes.ts'
import { collectGarbage } from '../threads/collect-garbage.ts'
import { ThreadPool } from '../threads/pool.ts'
import { allowedMemory } from './choose-solver.ts'
import type { ResolvedOptions } from './options.ts'
import { orOtherBlocks } from './plan-for-text.ts'
import type { ProgressListener } from './progress.ts'
import { type RowsOfStore, rowsOfStore } from './rows-of-store.ts'
import { forgetFirstPass, type StoreForTraining } from './store-for-training.ts'

/** Rows differ in length, so parts of a block may turn out too large once more. */
const MOST_SPLITS = 3

/** Plans a run over a store, and splits its blocks first where they are too large. A refusal leaves the store, which the next
 *  run over the same text takes. */
export async function withFittingBlocks<T extends object>(
  found: StoreForTraining,
  options: ResolvedOptions,
  tell: ProgressListener,
  plan: (store: Store) => Promise<T>,
): Promise<T & { store: Store }> {
  let { store } = found
  try {
    for (let splits = 0; ; splits++) {
      try {
        return { ...(await plan(store)), store }
      } catch (error) {
        // A run resumes on the blocks that it was begun with.
        if (!(error instanceof BlocksTooLarge) || options.resume || splits === MOST_SPLITS) throw error
        if (options.blocks !== undefined) throw orOtherBlocks(error)
        store = await split(store, error, found, options, tell)
      }
    }
  } catch (error) {
    if (!(error instanceof SpillwayError)) throw error
    await forgetFirstPass(found)
    if (found.read.bytesRead === 0) throw error
    throw new SpillwayError(error.message, `${error.advice}; the text is in ${store.folder} now and is not read again`)
  }
}

async function split(
  { folder, manifest }: Store,
  refusal: BlocksTooLarge,
  { first, arena }: StoreForTraining,
  options: ResolvedOptions,
  tell: ProgressListener,
): Promise<Store> {
  const before = manifest.blocks.length
  const after = refusal.parts.reduce((sum, parts) => sum + parts, 0)
  const reason = `splitting ${blocksText(before)} of ${folder} into ${after}, for ${formatBytes(allowedMemory(options))} of memory`
  tell({ stage: 'plan', solver: '', reason })
  // Beside what was learnt from the text, buffers take the place of those that read it. Else they have a memory of their own,
  // which goes back to the system.
  const { store, places } = await splitBlocks(folder, refusal.parts, {
    ...(first && { arena }),
    signal: options.signal,
  }).catch((error: unknown) => {
    if (!(error instanceof SpillwayError)) throw error
    throw new SpillwayError(`${refusal.message}\nsmaller blocks would do, but ${error.message}`, refusal.advice)
  })
  first?.blocksWereSplit(manifest.blocks, places)
  if (!first && options.memory !== undefined) collectGarbage()
  return store
}

/** Something planned by what a store's rows are in memory, with the threads that had a look at them. */
export async function surveyed<T extends object>(
  arena: Arena,
  store: Store,
  options: ResolvedOptions,
  plan: (rows: RowsOfStore) => Promise<T>,
  agreed?: AgreedStore,
): Promise<T & { rows: RowsOfStore; readers: ThreadPool }> {
  const mark = arena.mark()
  const readers = new ThreadPool(arena.share, READERS)
  try {
    const rows = await rowsOfStore(store, options, arena, readers, agreed)
    return { ...(await plan(rows)), rows, readers }
  } catch (error) {
    await readers.close()
    arena.release(mark)
    throw error
  }
}
