// Names of hashed features, kept on request: which features there were before they fell on their places. Where each fell
// follows from its number, so a model keeps the list of numbers alone.

import { SpillwayError } from '../errors.ts'
import type { Arena } from '../numeric/arena.ts'
import { newFeatureMap } from '../numeric/feature-map.ts'
import { MAP_TOP_BYTES, PAGE_BYTES } from '../numeric/feature-map-layout.ts'
import { parseExpansion } from './expansion-steps.ts'

/** More are not kept: 16 MiB in the model. */
export const MOST_NAMES = 1 << 22
/** Pages of 65,536 features that a thread's map may take: 24 MiB. */
const NAME_PAGES = 2048

/** What a thread's map takes at most. */
export const NAME_MAP_BYTES = MAP_TOP_BYTES + NAME_PAGES * PAGE_BYTES

/** An empty map, for a thread to enter features into. */
export function newNameMap(arena: Arena): number {
  return newFeatureMap(arena, NAME_PAGES)
}

/** How many features rows have in the end, and the names of those that were hashed, if they are kept. `maps` are those of
 *  the threads, 0 among them when one had no room. */
export function expandedFeatures(
  arena: Arena,
  expansion: { expand: string; keepNames: boolean } | undefined,
  before: number,
  maps: Set<number>,
): { features: number; weights: number; names?: Uint32Array } {
  if (!expansion) return { features: before, weights: before }
  const features = parseExpansion(expansion.expand).features(before)
  return {
    features,
    weights: features,
    ...(expansion.keepNames && { names: namesOf(arena, expansion.expand, before, maps) }),
  }
}

function namesOf(arena: Arena, expand: string, before: number, maps: Set<number>): Uint32Array {
  const numbers = parseExpansion(expand).featuresBeforeHash(before)
  const [first, ...others] = [...maps].filter(map => map !== 0)
  for (const other of others) arena.numeric.mergeMap(first, other)
  const count = first ? arena.numeric.finishMap(first) >>> 0 : 0
  if (maps.has(0) || numbers > 2 ** 32 - 2 || count > MOST_NAMES) {
    const found =
      numbers > 2 ** 32 - 2
        ? `their numbers go up to ${numbers}, beyond 2^32`
        : maps.has(0)
          ? 'they are scattered too widely'
          : `${count} of them occur`
    throw new SpillwayError(
      `the names of the hashed features cannot be kept: ${found}; expected at most ${MOST_NAMES}`,
      'train without --keep-names, or with a lower degree',
    )
  }
  const mark = arena.mark()
  const list = arena.allocate(Math.max(count, 1) * 4, 'the names')
  if (first) arena.numeric.listFeatures(first, list)
  const names = arena.u32(list, count).slice()
  arena.release(mark)
  return names
}
