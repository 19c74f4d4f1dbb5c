// A store whose blocks fit the memory. How large they may be is known for certain only when all rows are there: blocks that
// turn out too large are split, and the text is not read again.
import type { AgreedStore } from '../block-store/agree-on-store.ts'
import type { Store } from '../block-store/reader.ts'
import { splitBlocks } from '../block-store/split-blocks.ts'
import { SpillwayError } from '../errors.ts'
import { type Arena, formatBytes } from '../numeric/arena.ts'
import { READERS } from '../optimise/sources/block-engine.ts'
import { BlocksBetterSplit } from '../optimise/sources/finer-blocks.ts'
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
  plan: (store: Store, maySplit: boolean) => Promise<T>,
): Promise<T & { store: Store }> {
  let { store } = found
  // Blocks that fit are split once at most, and never where it was said how many there are to be.
  let maySplit = options.blocks === undefined && !options.resume
  try {
    for (let splits = 0; ; splits++) {
      try {
        return { ...(await plan(store, maySplit)), store }
      } catch (error) {
        maySplit = false
        if (error instanceof BlocksBetterSplit) {
          store = await splitIfItWorks(store, error.parts, found, options, tell)
          continue
        }
        // A run resumes on the blocks that it was begun with.
        if (!(error instanceof BlocksTooLarge) || options.resume || splits === MOST_SPLITS) throw error
        if (options.blocks !== undefined) throw orOtherBlocks(error)
        store = await splitOrRefuse(store, error, found, options, tell)
      }
    }
  } catch (error) {
    if (!(error instanceof SpillwayError)) throw error
    await forgetFirstPass(found)
    if (found.read.bytesRead === 0) throw error
    throw new SpillwayError(error.message, `${error.advice}; the text is in ${store.folder} now and is not read again`)
  }
}

/** Blocks that do not fit are split, or the run is refused. */
async function splitOrRefuse(
  store: Store,
  refusal: BlocksTooLarge,
  ...run: [StoreForTraining, ResolvedOptions, ProgressListener]
): Promise<Store> {
  try {
    return await split(store, refusal.parts, ...run)
  } catch (error) {
    if (!(error instanceof SpillwayError)) throw error
    throw new SpillwayError(`${refusal.message}\nsmaller blocks would do, but ${error.message}`, refusal.advice)
  }
}

/** Blocks that fit stay as they are where they cannot be split. */
async function splitIfItWorks(
  store: Store,
  parts: number[],
  ...run: [StoreForTraining, ResolvedOptions, ProgressListener]
): Promise<Store> {
  try {
    return await split(store, parts, ...run)
  } catch (error) {
    if (!(error instanceof SpillwayError)) throw error
    const [, , tell] = run
    tell({ stage: 'plan', solver: '', reason: `smaller blocks would take fewer passes, but ${error.message}` })
    return store
  }
}

async function split(
  { folder, manifest }: Store,
  parts: number[],
  { first, arena }: StoreForTraining,
  options: ResolvedOptions,
  tell: ProgressListener,
): Promise<Store> {
  const before = manifest.blocks.length
  const after = parts.reduce((sum, count) => sum + count, 0)
  const reason = `splitting ${blocksText(before)} of ${folder} into ${after}, for ${formatBytes(allowedMemory(options))} of memory`
  tell({ stage: 'plan', solver: '', reason })
  // Beside what was learnt from the text, buffers take the place of those that read it. Else they have a memory of their own,
  // which goes back to the system.
  const { store, places } = await splitBlocks(folder, parts, { ...(first && { arena }), signal: options.signal })
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
