// What ranks agree on once each has its store: classes, features, which of these occur, and how many rows there are in all.
import type { Arena } from '../numeric/arena.ts'
import { mapBits, mapOfAll, placeMap } from '../numeric/feature-map.ts'
import type { Communicator } from '../ranks/communicator.ts'
import { onAnyRank, sumNumbers } from '../ranks/records.ts'
import { type Agreed, agreeOnFacts } from '../rows/agree-on-rows.ts'
import { readFeatureSet } from './feature-set.ts'
import { featureFileOf, inputFormatOf } from './manifest.ts'
import { Store } from './reader.ts'

/** Of the stores of all ranks. */
export interface AgreedStore extends Agreed {
  /** The features that occur on any rank; undefined where that was not kept. */
  used: UsedFeatures | undefined
  /** The same of rows once they are expanded. */
  expanded?: Promise<UsedFeatures | undefined>
}

export interface UsedFeatures {
  count: number
  /** See mapBits. */
  bits: Buffer
}

/** Undefined for one process alone: its manifest says it all. */
export async function agreeOnStore(
  arena: Arena,
  ranks: Communicator,
  { folder, manifest }: Store,
  badRows: number,
): Promise<AgreedStore | undefined> {
  if (ranks.size === 1) return undefined
  const { rows, nonzeros, features, indexBase, sources, labels, fingerprint } = manifest
  const agreed = await agreeOnFacts(arena, ranks, {
    ...{ rows, nonzeros, features, indexBase, labels, fingerprint: `xxh64:${fingerprint}`, badRows },
    sources: sources.map(({ name, rows }) => ({ name, rows })),
    ...{ format: inputFormatOf(manifest), cutShort: false, room: 0 },
  })
  const mark = arena.mark()
  const isKept = manifest.usedFeatures > 0
  const own = isKept ? mapBits(arena, await readFeatureSet(arena, folder, featureFileOf(manifest))) : undefined
  arena.release(mark)
  return { ...agreed, used: await usedByAny(arena, ranks, own) }
}

/** The features that occur on any rank. `own`: those of this rank; undefined where it does not know. */
async function usedByAny(
  arena: Arena,
  ranks: Communicator,
  own: Buffer | undefined,
): Promise<UsedFeatures | undefined> {
  if (await onAnyRank(ranks, own === undefined)) return undefined
  const bits = mapOfAll(await ranks.gather(own!))
  const mark = arena.mark()
  const { features: count } = placeMap(arena, bits)
  arena.release(mark)
  return { count, bits }
}

/** The same of rows that are expanded, whose nonzeros are counted together, too. A rank may look at its rows several times, until its
 *  blocks fit; ranks agree once. */
export function agreeOnExpanded(
  arena: Arena,
  ranks: Communicator,
  agreed: AgreedStore,
  own: { nonzeros: number; bits: Buffer | undefined },
): Promise<UsedFeatures | undefined> {
  const agree = async (): Promise<UsedFeatures | undefined> => {
    ;[agreed.all.nonzeros] = await sumNumbers(ranks, [own.nonzeros])
    return usedByAny(arena, ranks, own.bits)
  }
  agreed.expanded ??= agree()
  return agreed.expanded
}

/** A rank's store, whose manifest tells the classes and features of all ranks. */
export function asAgreed(store: Store, agreed: AgreedStore | undefined): Store {
  if (!agreed) return store
  const { labels, features } = agreed
  return new Store(store.folder, { ...store.manifest, labels, features })
}
