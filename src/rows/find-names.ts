// Finds the names of features that were hashed as the data was read, by reading the text once more.
import { UsageError } from '../errors.ts'
import { lookAtBeginning } from '../input-formats/data-beginning.ts'
import { isGivenRows } from '../input-formats/given-rows.ts'
import { Reading } from '../input-formats/reading.ts'
import { Arena } from '../numeric/arena.ts'
import type { ByteCount } from '../sizes.ts'
import type { HashedColumn, Schema } from '../tables/schema.ts'
import { MOST_OF_ONE, type NamesChunkOptions, namesChunkTask } from './names-chunk-task.ts'
import { poolForText } from './pool-for-text.ts'
import { RowReader, type RowsToRead } from './read-rows.ts'

/** Names of features, each in the order in which they were met; no more than there is room for. */
export class FoundNames {
  readonly #names = new Map<number, string[]>()
  readonly #most: { features: number; letters: number }
  #letters = 0

  constructor(most: { features: number; letters: number }) {
    this.#most = most
  }

  add(feature: number, names: readonly string[]): void {
    const known = this.#names.get(feature)
    if (!known && this.#names.size >= this.#most.features) return
    const more = names.filter(name => !known?.includes(name)).slice(0, MOST_OF_ONE - (known?.length ?? 0))
    if (more.length === 0 || this.#letters > this.#most.letters) return
    this.#letters += more.reduce((sum, { length }) => sum + length, 0)
    this.#names.set(feature, [...(known ?? []), ...more])
  }

  /** By rising features. */
  entries(): [feature: number, names: string[]][] {
    return [...this.#names].sort(([a], [b]) => a - b)
  }
}

/** How the text is read. */
export interface TextWithNames {
  format: string | undefined
  indexBase?: number | undefined
  onBadRow: RowsToRead['onBadRow']
  schema?: Schema | undefined
  threads?: number | undefined
  chunkBytes?: ByteCount
  longestLine?: ByteCount
  signal?: AbortSignal | undefined
}

/** Refuses data in which nothing is hashed. */
export async function refuseNoNames(
  path: string,
  { schema, format, indexBase }: Pick<TextWithNames, 'schema' | 'format' | 'indexBase'>,
): Promise<void> {
  if (schema) {
    if (hashedColumns(schema).every(column => column === undefined)) throw nothingHashed()
    return
  }
  if (isGivenRows(path)) throw nothingHashed()
  const reading = new Reading(format, indexBase)
  await lookAtBeginning(reading, { path, first: path, from: 0, to: undefined })
  if (!reading.known?.namesIn) throw nothingHashed()
}

function nothingHashed(): UsageError {
  return new UsageError(
    'names are kept of features that are hashed, and nothing is hashed here',
    'other features have their names anyway: leave out --keep-names',
  )
}

/** Adds the names of a text to those that are known. `place` puts the features that are wanted into memory; else all are. */
export async function findNames(
  paths: string[],
  text: TextWithNames,
  found: FoundNames,
  place: (arena: Arena) => NamesChunkOptions['wanted'] = () => ({ at: 0, features: 0 }),
): Promise<void> {
  const { format, indexBase, onBadRow, schema, threads, chunkBytes, longestLine, signal } = text
  const arena = new Arena()
  await using pool = await poolForText(arena, paths, threads)
  const wanted = place(arena)
  const reader = new RowReader(arena, pool, {
    ...{ format, indexBase, onBadRow, valueBits: 32, table: { schema }, signal },
    ...(chunkBytes !== undefined && { chunkBytes }),
    ...(longestLine !== undefined && { longestLine }),
  })
  const columns = schema && hashedColumns(schema)
  await reader.read(
    paths,
    (_, toParse) => pool.run(namesChunkTask, { ...toParse, wanted, columns }),
    (_, chunk) => {
      for (const { feature, names } of chunk.found) found.add(feature, names)
    },
  )
}

/** Of each column of the schema, what hashes it. */
function hashedColumns({ columns }: Schema): (HashedColumn | undefined)[] {
  return columns.map(column => (column.role === 'hashed' || column.role === 'words' ? column : undefined))
}
