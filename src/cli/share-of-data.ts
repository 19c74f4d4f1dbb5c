// What a rank takes of the data that a command names: a part of its text, or some of the blocks of its store.
import { stat } from 'node:fs/promises'
import { UsageError } from '../errors.ts'
import { isQuery } from '../input-formats/stand-ins.ts'
import { agree, type Facts, fileFact } from '../ranks/agree.ts'
import type { Communicator } from '../ranks/communicator.ts'
import { RANK_PATTERN } from '../ranks/shares.ts'

/** Names of inputs for this rank, of data that ranks agree on; of one process alone, those that were given. */
export async function shareOf(data: string[], ranks: Communicator): Promise<string[]> {
  if (ranks.size === 1) return data
  if (await isOneStore(data)) {
    const { shareOfStore } = await import('../block-store/share-of-store.ts')
    return [await shareOfStore(data[0], ranks)]
  }
  const { shareOut } = await import('../input-formats/share-out.ts')
  return shareOut(data, ranks)
}

/** Whether all ranks share one store, each with some of its blocks. */
export async function isOneStore(data: string[]): Promise<boolean> {
  return data.length === 1 && (await stat(data[0]).catch(() => undefined))?.isDirectory() === true
}

function refuseQueries(data: string[], ranks: Communicator): void {
  if (!data.some(isQuery)) return
  throw new UsageError(
    `a query is run by one process, and there are ${ranks.size} ranks`,
    'make a store of its rows first: spillway ingest --sql QUERY STORE',
  )
}

/** For commands of which every rank takes all data. */
export async function sameDataOf(data: string[], ranks: Communicator): Promise<void> {
  const own = data.find(path => path === '-' || path.includes(RANK_PATTERN))
  if (own !== undefined && ranks.size > 1) {
    throw new UsageError(
      `${own === '-' ? 'standard input goes to one process' : `${own} is another file at each rank`}, and every rank takes all rows: models are shared out`,
      'name files that every rank can read',
    )
  }
  await agreeOnData(data, ranks)
}

/** Ranks cut the same files at the same places. A host may have copies of its own. It comes before data is looked for: a file
 *  that only some ranks have is told as such. */
export async function agreeOnData(data: string[], ranks: Communicator): Promise<void> {
  if (ranks.size === 1) return
  refuseQueries(data, ranks)
  const facts: Facts = {}
  for (const path of data) if (path !== '-' && !path.includes(RANK_PATTERN)) facts[path] = await fileFact(path)
  await agree(
    ranks,
    facts,
    'put it on a disk that all ranks share, copy it to every machine, or name a file for each rank: part-{rank}.svm',
  )
}
