// Renumbers the features of rows in memory: those that never occur get no weight, and frequent ones stand together, so
// that the weights a sweep touches most share cache lines. The model keeps the user's numbers.

import { type Arena, windowFull } from '../numeric/arena.ts'
import type { Communicator } from '../ranks/communicator.ts'
import { maxNumbers } from '../ranks/records.ts'
import type { Address } from '../sizes.ts'
import { runLoop } from '../threads/loop-task.ts'
import type { ThreadPool } from '../threads/pool.ts'
import { enterFeaturesTask, renumberRowsTask } from './renumber-task.ts'
import type { RowSet } from './row-set.ts'

/** Weights below this size fit in a core's own cache as they are. */
const WORTHWHILE_BYTES = 1 << 20
/** So many features keep their numbers: each has a weight, whether it occurs or not. */
export const MOST_KEPT_AS_THEY_ARE = WORTHWHILE_BYTES / 8
/** Every so-many-th row is counted: an order of magnitude is all that matters. */
const SAMPLE_STEP = 8
const MOST_COUNTS = 8
/** Beyond so many features, their places take more than a cache has. */
const MOST_DIRECT = 1 << 23

/** `rows` are those of this rank; ranks agree on the new numbers. */
export async function renumberFeatures(
  arena: Arena,
  pool: ThreadPool,
  rows: RowSet,
  ranks: Communicator,
): Promise<void> {
  if (rows.features <= MOST_KEPT_AS_THEY_ARE || (ranks.size === 1 && rows.rows === 0)) return
  const mark = arena.mark()
  const parts = pool.size
  const bound = (k: number): number => Math.floor((rows.rows * k) / parts)
  const maps = Array.from({ length: parts }, () => arena.allocateZeroed(65536 * 4, 'the feature map'))
  const dense = await Promise.all(
    maps.map((map, k) => pool.run(enterFeaturesTask, { map, table: rows.table, from: bound(k), to: bound(k + 1) })),
  )
  const map = maps[0]
  for (const other of maps.slice(1)) arena.numeric.mergeMap(map, other)
  const [fixed] = await maxNumbers(ranks, [Math.max(...dense)])
  await enterFeaturesOfOthers(arena, ranks, map)
  const used = arena.numeric.finishMap(map) >>> 0
  const list = arena.allocate(Math.max(used, 1) * 4, 'the feature map')
  arena.numeric.listFeatures(map, list)
  // Other ranks may have features beyond those of this one.
  const direct = ranks.size === 1 ? roomForAll(arena, rows) : 0
  const places = direct
    ? await countByNumber(arena, pool, rows, direct, { list, used })
    : await countFeatures(arena, pool, rows, { map, used })
  await sumCounts(ranks, arena.u32(places, used))
  arena.numeric.orderByFrequency(places, used, fixed, arena.allocate(256, 'the feature map'))
  if (direct) arena.numeric.spreadPlaces(list, places, used, direct)
  const pieces = parts * 4
  const cut = (k: number): number => Math.floor((rows.rows * k) / pieces)
  const renewed = await Promise.all(
    Array.from({ length: pieces }, (_, k) =>
      pool.run(renumberRowsTask, {
        ...(direct ? { map: 0, places: direct } : { map, places }),
        ...{ table: rows.table, from: cut(k), to: cut(k + 1) },
      }),
    ),
  )
  rows.weights = used
  rows.renumbered = { features: arena.u32(list, used).slice(), weightOf: arena.u32(places, used).slice() }
  // New records lie behind the map.
  if (renewed.every(count => count === 0)) arena.release(mark)
}

/** Where features are fewer than entries, a number for each of them is looked up faster than the map is: room for those (u32), or 0. */
function roomForAll(arena: Arena, { features, nonzeros }: RowSet): Address {
  if (features > Math.min(nonzeros / 8, MOST_DIRECT)) return 0
  return arena.allocateZeroed(features * 4, 'the feature map')
}

/** Counts by the features' own numbers, in that room; the address of those of the listed ones: u32[used]. */
async function countByNumber(
  arena: Arena,
  pool: ThreadPool,
  { table, rows }: RowSet,
  all: Address,
  { list, used }: { list: Address; used: number },
): Promise<Address> {
  await runLoop(pool, 'countFeatures', 0, table, rows, SAMPLE_STEP, all)
  const places = arena.allocate(Math.max(used, 1) * 4, 'the feature map')
  arena.numeric.pickPlaces(all, list, used, places)
  return places
}

/** Enters the features that other ranks' rows have. */
async function enterFeaturesOfOthers(arena: Arena, ranks: Communicator, map: Address): Promise<void> {
  if (ranks.size === 1) return
  const used = arena.numeric.finishMap(map) >>> 0
  const mark = arena.mark()
  const list = arena.allocate(Math.max(used, 1) * 4, 'the feature map')
  arena.numeric.listFeatures(map, list)
  const own = arena.bytes(list, used * 4).slice()
  arena.release(mark)
  for (const bytes of await ranks.gather(own)) {
    // Pages that are new stand behind the list.
    const at = arena.allocate(Math.max(bytes.length, 4), 'the feature map')
    arena.bytes(at, bytes.length).set(bytes)
    if (!arena.numeric.enterFeatures(map, at, bytes.length / 4)) throw windowFull('the feature map')
  }
}

/** Address of u32[used]: how often each feature of a map occurs in the rows that are counted. */
async function countFeatures(
  arena: Arena,
  pool: ThreadPool,
  { table, rows, nonzeros }: RowSet,
  { map, used }: { map: Address; used: number },
): Promise<Address> {
  // Each part has counts of its own: they stay small beside the rows.
  const parts = Math.max(1, Math.min(pool.size, MOST_COUNTS, Math.floor(nonzeros / (8 * Math.max(used, 1)))))
  const sampled = Math.ceil(rows / SAMPLE_STEP)
  const bound = (k: number): number => Math.floor((sampled * k) / parts) * SAMPLE_STEP
  const counts = Array.from({ length: parts }, () => arena.allocateZeroed(Math.max(used, 1) * 4, 'the feature map'))
  await Promise.all(
    counts.map((own, k) => {
      const part = Math.min(bound(k + 1), rows) - bound(k)
      return runLoop(pool, 'countFeatures', map, table + bound(k) * 4, part, SAMPLE_STEP, own)
    }),
  )
  const all = arena.u32(counts[0], used)
  for (const own of counts.slice(1)) {
    const others = arena.u32(own, used)
    for (let j = 0; j < used; j++) all[j] += others[j]
  }
  return counts[0]
}

/** Counts of all ranks' rows. */
async function sumCounts(ranks: Communicator, counts: Uint32Array): Promise<void> {
  if (ranks.size === 1) return
  const sums = Float64Array.from(counts)
  await ranks.sum(sums)
  for (let j = 0; j < counts.length; j++) counts[j] = Math.min(sums[j], 0xffffffff)
}

/** The weights that features have; those that never occur have none. */
export function weightsOf({ renumbered }: RowSet, features: number[]): number[] {
  if (!renumbered) return features
  const places = features.map(feature => renumbered.features.indexOf(feature))
  return places.filter(place => place >= 0).map(place => renumbered.weightOf[place])
}

/** Numbers that stand by weight (`vectors` each), put in the order of the user's features. The list of features is the caller's own. */
export function byFeature(
  rows: RowSet,
  vectors: number,
  values: Float64Array,
): Float64Array | { layout: 'sparse'; indices: Uint32Array; values: Float64Array } {
  const { renumbered } = rows
  if (!renumbered) return values
  const { features, weightOf } = renumbered
  const sorted = new Float64Array(values.length)
  if (vectors === 1) for (let j = 0; j < features.length; j++) sorted[j] = values[weightOf[j]]
  else
    for (let j = 0; j < features.length; j++)
      for (let k = 0; k < vectors; k++) sorted[j * vectors + k] = values[weightOf[j] * vectors + k]
  return { layout: 'sparse', indices: features.slice(), values: sorted }
}

/** Numbers that stand by feature, `width` sets of them, as those of the features that a kernel makes of each. */
export function inSpace<T extends Float64Array | { layout: 'sparse'; indices: Uint32Array; values: Float64Array }>(
  given: T,
  width: number,
): T {
  if (width === 1 || given instanceof Float64Array) return given
  const indices = new Uint32Array(given.indices.length * width)
  given.indices.forEach((feature, j) => {
    for (let k = 0; k < width; k++) indices[j * width + k] = feature * width + k
  })
  return { ...given, indices }
}
