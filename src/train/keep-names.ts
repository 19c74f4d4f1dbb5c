// Names of features that were hashed as the data was read, kept in the model on request: for the features that have the largest
// weights. They are found by reading the text once more, or were kept by the store.
import { stat } from 'node:fs/promises'
import { widthOf } from '../additive-kernels/row-space.ts'
import { readStoredNames } from '../block-store/stored-names.ts'
import { UsageError } from '../errors.ts'
import type { HashedNames, Model } from '../model/model.ts'
import type { Arena } from '../numeric/arena.ts'
import { FoundNames, findNames, refuseNoNames } from '../rows/find-names.ts'
import type { NamesChunkOptions } from '../rows/names-chunk-task.ts'
import type { ResolvedOptions } from './options.ts'

/** Features whose names are kept, at most, and letters of all names. */
export const MOST_NAMED = 1 << 16
const MOST_LETTERS = 4 << 20

/** Whether names are to be kept that an expansion knows nothing of. */
export function keepsInputNames({ keepNames, expand }: Pick<ResolvedOptions, 'keepNames' | 'expand'>): boolean {
  return keepNames && expand === undefined
}

/** Refuses to keep names where nothing is hashed, and of a store that has none, or damaged ones. */
export async function checkNames(paths: string[], options: ResolvedOptions): Promise<void> {
  const { keepNames, expand, ranks } = options
  if (expand !== undefined) return
  if (keepNames && ranks.size > 1) {
    throw new UsageError(
      'names of hashed features are not kept over several ranks',
      'leave out --keep-names, or train on one rank',
    )
  }
  const [path] = paths
  const ofStore = await isFolder(path)
  if (ofStore && ranks.size === 1 && (await readStoredNames(path)) === undefined && keepNames) {
    throw new UsageError(
      `${path} has no names of hashed features`,
      'make it anew with ingest --keep-names, or leave out --keep-names',
    )
  }
  if (!ofStore && keepNames) await refuseNoNames(path, options)
}

async function isFolder(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isDirectory() === true
}

/** Gives a model the names of the features that weigh most: where they are asked for, and where its store has them. */
export async function giveNames(paths: string[], model: Model, options: ResolvedOptions): Promise<void> {
  const { expand, space, ranks } = options
  if (expand !== undefined || ranks.size > 1) return
  const wanted = (): Set<number> => heaviest(model, space ? widthOf(space) : 1)
  const found = (await isFolder(paths[0]))
    ? await namesOfStore(paths[0], wanted)
    : options.keepNames && (await namesInText(paths, wanted(), options))
  if (found) model.hashedNames = found
}

function asHashedNames(names: FoundNames): HashedNames {
  const entries = names.entries()
  return { features: entries.map(([feature]) => feature), names: entries.map(([, all]) => all.join('|')) }
}

async function namesOfStore(folder: string, wanted: () => Set<number>): Promise<HashedNames | undefined> {
  const stored = await readStoredNames(folder)
  if (!stored) return undefined
  const features = wanted()
  const names = new FoundNames({ features: MOST_NAMED, letters: MOST_LETTERS })
  for (const [feature, all] of stored) if (features.has(feature)) names.add(feature, all)
  return asHashedNames(names)
}

async function namesInText(paths: string[], wanted: Set<number>, options: ResolvedOptions): Promise<HashedNames> {
  const names = new FoundNames({ features: MOST_NAMED, letters: MOST_LETTERS })
  await findNames(paths, options, names, arena => placeWanted(arena, wanted))
  return asHashedNames(names)
}

/** Features of the data with the largest weights, whatever their sign and class. A kernel has `width` weights for each. */
function heaviest({ weights, vectors }: Model, width: number): Set<number> {
  const { values } = weights
  const count = Math.floor(values.length / vectors)
  const largest = Float64Array.from({ length: count }, (_, j) => {
    let most = 0
    for (let k = 0; k < vectors; k++) most = Math.max(most, Math.abs(values[j * vectors + k]))
    return most
  })
  const least = largest.toSorted().at(-MOST_NAMED) ?? 0
  const features = new Set<number>()
  for (let j = 0; j < count && features.size < MOST_NAMED; j++) {
    if (largest[j] === 0 || largest[j] < least) continue
    features.add(Math.floor((weights.layout === 'sparse' ? weights.indices[j] : j) / width))
  }
  return features
}

/** A bit for each feature that is wanted. */
function placeWanted(arena: Arena, wanted: Set<number>): NamesChunkOptions['wanted'] {
  let features = 1
  for (const feature of wanted) features = Math.max(features, feature + 1)
  const bytes = Math.ceil(features / 8)
  const at = arena.allocateZeroed(bytes, 'features whose names are wanted')
  const bits = arena.bytes(at, bytes)
  for (const feature of wanted) bits[Math.floor(feature / 8)] += 2 ** (feature % 8)
  return { at, features }
}
