// What the rows of a store are once they are in memory: as the manifest says or, when they are expanded, as one reading pass
// finds, the survey. Memory is planned by it, and it says which features there are weights for.

import { widthOf } from '../additive-kernels/row-space.ts'
import { type AgreedStore, agreeOnExpanded, type UsedFeatures } from '../block-store/agree-on-store.ts'
import { featureSetBytes, readFeatureSet } from '../block-store/feature-set.ts'
import { featureFileOf, inputFormatOf } from '../block-store/manifest.ts'
import type { Store } from '../block-store/reader.ts'
import type { SurveyedBlock } from '../block-store/survey-block-task.ts'
import { surveyBlockTask } from '../block-store/survey-block-task.ts'
import { checkExpandable, parseExpansion } from '../features/expansion-steps.ts'
import { expandedFeatures } from '../features/kept-names.ts'
import { findInputFormat } from '../input-formats/all-input-formats.ts'
import { Arena } from '../numeric/arena.ts'
import { mapBits, mapBytes, placeMap } from '../numeric/feature-map.ts'
import { PAGE_BYTES } from '../numeric/feature-map-layout.ts'
import { askedSolver } from '../optimise/solvers/all-solvers.ts'
import { READERS } from '../optimise/sources/block-engine.ts'
import { entryBytes } from '../optimise/sources/memory-plan.ts'
import type { TextEstimate } from '../rows/sample-text.ts'
import { NODE_BYTES } from '../sizes.ts'
import { ThreadPool } from '../threads/pool.ts'
import { allowedMemory } from './choose-solver.ts'
import { expansionOf, type ResolvedOptions } from './options.ts'

export interface RowsOfStore {
  features: number
  nonzeros: number
  /** Weights, the bias not counted: for all features, or for those that occur when few of them do. */
  weights: number
  /** Weights of a feature: several in the space of an additive kernel. */
  width: number
  /** Bytes of the map from features to weights; 0 when features keep their numbers. */
  mapBytes: number
  /** Puts that map into memory, if it is not there yet; its address, or 0. */
  placeMap(arena: Arena): Promise<number>
  /** Bytes of an entry at most. */
  entryBytes: number
  /** When rows are expanded: nonzeros of each block, and what expanding takes in a thread. */
  expanded?: { nonzeros: number[]; threadBytes: number }
  /** Of hashed features, when they are kept. */
  names?: Uint32Array
}

/** Bytes of an index and a bin's number, of so many features. */
function binnedEntry(features: number): number {
  return features <= 65536 ? 4 : 6
}
/** With fewer of the features in use, weights are kept for those alone. */
const WORTH_A_MAP = 0.7
/** Pages of 65,536 features that a thread's map may take: 48 MiB. */
const MAP_PAGES = 4096

/** `pool` has threads for a survey, whose map then lies in `arena`; a survey makes its own when they are not given. `agreed`: what
 *  ranks know together of their stores. */
export async function rowsOfStore(
  store: Store,
  options: ResolvedOptions,
  arena?: Arena,
  pool?: ThreadPool,
  agreed?: AgreedStore,
): Promise<RowsOfStore> {
  if (options.expand !== undefined) {
    if (arena && pool) return surveyStore(arena, pool, store, options, agreed)
    const own = arena ?? new Arena()
    const threads = new ThreadPool(own.share, READERS)
    return surveyStore(own, threads, store, options).finally(() => threads.close())
  }
  const { folder, manifest } = store
  const values = manifest.valueBits
  const format = findInputFormat(inputFormatOf(manifest))
  // Rows of an index have the features' own numbers.
  const used = asksIndex(options) ? 0 : agreed ? (agreed.used?.count ?? 0) : manifest.usedFeatures
  const { mapped, ...rows } = plainRows(manifest, used, format, { ...options, values })
  if (!mapped) return rows
  if (agreed) {
    const { bits } = agreed.used!
    return { ...rows, mapBytes: mapBytes(bits), placeMap: async into => placeMap(into, bits).top }
  }
  const file = featureFileOf(manifest)
  const bytes = await featureSetBytes(folder, file)
  return { ...rows, mapBytes: bytes, placeMap: into => readFeatureSet(into, folder, file) }
}

function asksIndex(options: ResolvedOptions): boolean {
  const solver = askedSolver(options.solver)
  return solver?.data === 'blocks' && solver.needsIndex === true
}

/** Rows that are not expanded, the map of their features left out. */
function plainRows(
  { features, nonzeros }: { features: number; nonzeros: number },
  used: number,
  format: { letters: boolean },
  { space, scale, values }: Pick<ResolvedOptions, 'space' | 'scale'> & { values: 32 | 64 },
): RowsOfStore & { mapped: boolean } {
  const width = space ? widthOf(space) : 1
  const mapped = used > 0 && used < WORTH_A_MAP * features
  const occurring = mapped ? used : features
  return {
    ...{ features, nonzeros, weights: occurring * width, width, mapBytes: 0, placeMap: async () => 0, mapped },
    // Values that are to be scaled come into memory before their bins take their place.
    entryBytes: space && !scale ? binnedEntry(occurring) : entryBytes(values, format),
  }
}

/** The same of rows that are expanded. */
function expandedRows(
  { features, nonzeros }: { features: number; nonzeros: number },
  used: number,
  expanded: { nonzeros: number[]; threadBytes: number },
  { expand, values }: { expand: string; values: 32 | 64 },
): RowsOfStore & { mapped: boolean } {
  const mapped = used < WORTH_A_MAP * features
  return {
    ...{
      features,
      nonzeros,
      weights: mapped ? used : features,
      width: 1,
      mapBytes: 0,
      placeMap: async () => 0,
      mapped,
    },
    ...{ entryBytes: parseExpansion(expand).entryBytes(values), expanded },
  }
}

/** What rows will be once block k has been split into parts[k], about. */
export function rowsAfterSplit(rows: RowsOfStore, parts: number[]): RowsOfStore {
  const { expanded } = rows
  if (!expanded) return rows
  const nonzeros = expanded.nonzeros.flatMap((count, block) =>
    Array.from({ length: parts[block] }, () => Math.ceil(count / parts[block])),
  )
  return { ...rows, expanded: { ...expanded, nonzeros } }
}

/** What rows of text will be, by an estimate of their numbers. `used` features occur; rows are drawn into so many blocks. */
export function rowsByNumbers(
  estimate: TextEstimate,
  used: number,
  blocks: number,
  options: ResolvedOptions,
): RowsOfStore {
  const values = options.values === 'f64' ? 64 : 32
  const { expand } = options
  const inAll = { features: estimate.features, nonzeros: estimate.entries }
  const nonzeros = Array.from({ length: blocks }, () => Math.ceil(estimate.entries / blocks))
  const expanded = { nonzeros, threadBytes: estimate.expanderBytes }
  if (expand !== undefined) inAll.features = parseExpansion(expand).features(estimate.features)
  const { mapped, ...rows } =
    expand === undefined
      ? plainRows(estimate, asksIndex(options) ? 0 : used, estimate, { ...options, values })
      : expandedRows(inAll, used, expanded, { expand, values })
  return mapped ? { ...rows, mapBytes: estimate.pages * PAGE_BYTES } : rows
}

/** Reads the store once, expanding its rows. What is taken of the arena is given back, but for the map. */
async function surveyStore(
  arena: Arena,
  pool: ThreadPool,
  store: Store,
  options: ResolvedOptions,
  agreed?: AgreedStore,
): Promise<RowsOfStore> {
  const { folder, manifest } = store
  const expansion = expansionOf(options)!
  checkExpandable(expansion.expand, findInputFormat(inputFormatOf(manifest)))
  // Feature numbers that cannot be are told before anything is read.
  parseExpansion(expansion.expand).features(manifest.features)
  const mark = arena.mark()
  const mapPages = Math.min(MAP_PAGES, Math.max(0, Math.floor((allowedMemory(options) - NODE_BYTES) / 8 / PAGE_BYTES)))
  const blocks: SurveyedBlock[] = []
  let next = 0
  const survey = async (): Promise<void> => {
    while (next < manifest.blocks.length) {
      options.signal?.throwIfAborted()
      const block = next++
      blocks[block] = await pool.run(surveyBlockTask, { folder, block, expansion, mapPages })
    }
  }
  const outcomes = await Promise.allSettled(Array.from({ length: pool.size }, survey))
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason
  const keptNames = new Set(blocks.map(block => block.names))
  const { features, names } = expandedFeatures(arena, expansion, manifest.features, keptNames)
  const own = usedOf(arena, new Set(blocks.map(block => block.map)))
  arena.release(mark)
  const nonzeros = blocks.map(block => block.nonzeros)
  const inAll = { features, nonzeros: nonzeros.reduce((sum, count) => sum + count, 0) }
  const told = { nonzeros: inAll.nonzeros, bits: own?.bits }
  const used = agreed ? await agreeOnExpanded(arena, options.ranks, agreed, told) : own
  const expanded = { nonzeros, threadBytes: Math.max(0, ...blocks.map(block => block.expanderBytes)) }
  const { mapped, ...rows } = expandedRows(inAll, used?.count ?? features, expanded, {
    ...{ expand: expansion.expand, values: manifest.valueBits },
  })
  const found = { ...rows, ...(names && { names }) }
  if (!used || !mapped) return found
  const map = placeMap(arena, used.bits).top
  return { ...found, mapBytes: mapBytes(used.bits), placeMap: async () => map }
}

/** The features of all threads' maps, as bits that outlive the arena's memory; undefined when one was given up. */
function usedOf(arena: Arena, maps: Set<number>): UsedFeatures | undefined {
  const [first, ...others] = maps
  if (maps.has(0)) return undefined
  // A rank may have no rows.
  if (first === undefined) return { count: 0, bits: Buffer.alloc(0) }
  for (const other of others) arena.numeric.mergeMap(first, other)
  return { count: arena.numeric.finishMap(first) >>> 0, bits: mapBits(arena, first) }
}
