// Models of costs and folds, shared out among ranks: every rank has all rows, in memory or in a store, and trains some of the models.
// What they tell of rows that they did not see is put together.
import { statSync } from 'node:fs'
import { SpillwayError } from '../errors.ts'
import type { Solution } from '../optimise/objectives/solution.ts'
import type { Communicator } from '../ranks/communicator.ts'
import { gatherRecords } from '../ranks/records.ts'
import { dealt, nameOfShare } from '../ranks/shares.ts'
import { blocksText } from '../sizes.ts'
import type { HeldOut } from './held-out.ts'
import type { Place } from './place.ts'
import { storeFolder } from './store-for-training.ts'

/** The models that a rank trains: they are dealt out one after the other. */
export function modelsOfRank<T>(models: readonly T[], ranks: Communicator): T[] {
  return dealt(models.length, ranks).map(k => models[k])
}

/** Puts the scores of all ranks' models together; how each of all the models ended. `own`: of those of this rank. */
export async function collectModels(held: HeldOut, own: Solution[], ranks: Communicator): Promise<Solution[]> {
  if (ranks.size === 1) return own
  // A row has a score by a rank that did not hold it out: those of other ranks are 0.
  for (const column of held.columns().keys()) {
    const scores = Float64Array.from(held.columns()[column])
    await ranks.sum(scores)
    held.columns()[column].set(scores)
  }
  const ends = await gatherRecords(ranks, own)
  const count = ends.reduce((sum, each) => sum + each.length, 0)
  return Array.from({ length: count }, (_, k) => ends[k % ranks.size][Math.floor(k / ranks.size)])
}

/** Where a rank puts all rows that do not fit in its memory: each has a store of its own. A store that was named is read by all. */
export function storeOfRank(paths: string[], store: string | undefined, ranks: Communicator): string | undefined {
  if (ranks.size === 1 || statSync(paths[0], { throwIfNoEntry: false })?.isDirectory()) return store
  return nameOfShare(storeFolder(paths, store), ranks)
}

/** Scores are put together row by row: rows have to be in the same order everywhere. Those in memory are in that of the text, those in
 *  blocks in that of a store. */
export async function refuseOtherOrder({ facts }: Place, ranks: Communicator): Promise<void> {
  const told = await gatherRecords(ranks, facts.blocks?.map(({ rows }) => rows) ?? null)
  const [first] = told
  const other = told.findIndex(blocks => `${blocks}` !== `${first}`)
  if (other < 0) return
  const where = (blocks: number[] | null): string => (blocks ? `in ${blocksText(blocks.length)}` : 'in memory')
  throw new SpillwayError(
    `rank 0 has all rows ${where(first)}, and rank ${other} ${where(told[other])}, in another order`,
    'name one --memory for all ranks, and remove stores that were made otherwise',
  )
}
