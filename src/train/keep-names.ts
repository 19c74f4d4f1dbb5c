// Names of features that were hashed as the data was read, kept in the model on request: for the features that have the largest
// weights, found by reading the text once more.
import { stat } from 'node:fs/promises'
import { UsageError } from '../errors.ts'
import { lookAtBeginning } from '../input-formats/data-beginning.ts'
import { isGivenRows } from '../input-formats/given-rows.ts'
import { Reading } from '../input-formats/reading.ts'
import type { HashedNames, Model } from '../model/model.ts'
import { Arena } from '../numeric/arena.ts'
import { namesChunkTask } from '../rows/names-chunk-task.ts'
import { poolForText } from '../rows/pool-for-text.ts'
import { RowReader } from '../rows/read-rows.ts'
import type { HashedColumn, Schema } from '../tables/schema.ts'
import type { ResolvedOptions } from './options.ts'

/** Features whose names are kept, at most, and letters of all names. */
export const MOST_NAMED = 1 << 16
const MOST_LETTERS = 4 << 20

/** Whether names are to be kept that an expansion knows nothing of. */
export function keepsInputNames({ keepNames, expand }: ResolvedOptions): boolean {
  return keepNames && expand === undefined
}

/** Refuses to keep names where nothing is hashed, or where there is no text to find them in. */
export async function checkNames(paths: string[], options: ResolvedOptions): Promise<void> {
  if (!keepsInputNames(options)) return
  const [path] = paths
  if (isGivenRows(path) || path === '-' || (await stat(path).catch(() => undefined))?.isDirectory()) {
    throw new UsageError(
      'names of hashed features are found by reading the text again, and this is a store, a pipe or rows of a program',
      'train on files of text, or leave out --keep-names',
    )
  }
  if (options.ranks.size > 1) {
    throw new UsageError(
      'names of hashed features are not kept over several ranks',
      'leave out --keep-names, or train on one rank',
    )
  }
  if (options.schema) {
    if (hashedColumns(options.schema).every(column => column === undefined)) throw nothingHashed()
    return
  }
  const reading = new Reading(options.format, options.indexBase)
  await lookAtBeginning(reading, { path, first: path, from: 0, to: undefined })
  if (!reading.known?.namesIn) throw nothingHashed()
}

function nothingHashed(): UsageError {
  return new UsageError(
    'names are kept of features that are hashed, and nothing is hashed here',
    'other features have their names anyway: leave out --keep-names',
  )
}

/** Finds the names of the features that weigh most. */
export async function namesFor(paths: string[], model: Model, options: ResolvedOptions): Promise<HashedNames> {
  const { schema } = model
  const arena = new Arena()
  await using pool = await poolForText(arena, paths, options.threads)
  const wanted = placeWanted(arena, model)
  const { format, indexBase, onBadRow, signal } = options
  const reader = new RowReader(arena, pool, { format, indexBase, onBadRow, valueBits: 32, table: { schema }, signal })
  const found = new Map<number, string[]>()
  let letters = 0
  const columns = schema && hashedColumns(schema)
  await reader.read(
    paths,
    (_, toParse) => pool.run(namesChunkTask, { ...toParse, wanted, columns }),
    (_, chunk) => {
      for (const { feature, names } of chunk.found) {
        const known = found.get(feature) ?? []
        const more = names.filter(name => !known.includes(name))
        if (more.length === 0 || letters > MOST_LETTERS) continue
        letters += more.reduce((sum, { length }) => sum + length, 0)
        found.set(feature, [...known, ...more])
      }
    },
  )
  const features = [...found.keys()].sort((a, b) => a - b)
  return { features, names: features.map(feature => found.get(feature)!.join('|')) }
}

/** Of each column of the schema, what hashes it. */
function hashedColumns({ columns }: Schema): (HashedColumn | undefined)[] {
  return columns.map(column => (column.role === 'hashed' || column.role === 'words' ? column : undefined))
}

/** A bit for each feature that is wanted: those of the largest weights, whatever their sign and class. */
function placeWanted(arena: Arena, { weights, vectors, features }: Model): { at: number; features: number } {
  const { values } = weights
  const count = Math.floor(values.length / vectors)
  const largest = Float64Array.from({ length: count }, (_, j) => {
    let most = 0
    for (let k = 0; k < vectors; k++) most = Math.max(most, Math.abs(values[j * vectors + k]))
    return most
  })
  const least = largest.toSorted().at(-MOST_NAMED) ?? 0
  const at = arena.allocateZeroed(Math.ceil(features / 8) || 1, 'features whose names are wanted')
  const bits = arena.bytes(at, Math.ceil(features / 8))
  let kept = 0
  for (let j = 0; j < count && kept < MOST_NAMED; j++) {
    if (largest[j] === 0 || largest[j] < least) continue
    const feature = weights.layout === 'sparse' ? weights.indices[j] : j
    bits[Math.floor(feature / 8)] += 2 ** (feature % 8)
    kept++
  }
  return { at, features }
}
