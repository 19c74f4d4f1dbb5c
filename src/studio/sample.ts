// The beginning of a file of data, or some rows of a store: read when first asked for, and remembered until the data changes.
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { MANIFEST_FILE } from '../block-store/file-layout.ts'
import type { Store } from '../block-store/reader.ts'
import { type LabelCount, mergeLabels } from '../input-formats/label-numbers.ts'
import type { LabelKey } from '../input-formats/labels.ts'
import { textSize } from '../input-formats/text-size.ts'
import { Arena } from '../numeric/arena.ts'
import { plainRowsTask } from '../predict/explain-chunk-task.ts'
import { type LearntSchema, learnSchema, type TableToLearn } from '../rows/learn-schema.ts'
import { RowReader } from '../rows/read-rows.ts'
import { LabelUnknown } from '../tables/make-schema.ts'
import type { Schema } from '../tables/schema.ts'
import { ThreadPool } from '../threads/pool.ts'
import { type FewRows, SeenRows } from './seen-rows.ts'
import { sampleStore } from './store-rows.ts'

export interface Sample {
  format: string
  /** Bytes of text in all, about, and of those that were read. */
  textBytes: number
  sampledBytes: number
  /** Whether that is all of it. */
  whole: boolean
  /** Of the rows that were read. */
  rows: number
  nonzeros: number
  features: number
  least: number
  most: number
  labels: LabelCount[]
  /** Rows that could not be read, and what is wrong with the first. */
  badRows: number
  firstBad: string | undefined
  /** Nonzeros of each row. */
  lengths: number[]
  /** The first rows, as features and values; for data that is no text. */
  firstRows: string[]
  /** Some rows, whole. */
  few: FewRows
  /** Bytes of text that one thread reads in a second. */
  bytesPerSecond: number
  /** Of a table. */
  schema?: Schema
  /** There when nobody has said which column is the label: the last one was taken for it. */
  labelUnknown?: true
}

const SAMPLE_BYTES = 4 << 20
const CHUNK_BYTES = 1 << 19
const MOST_SAMPLES = 16

export class Samples {
  readonly #kept = new Map<string, Promise<Sample>>()
  readonly #ofStores = new Map<string, Promise<SeenRows>>()
  readonly #schemas = new Map<string, Promise<LearntSchema | undefined>>()

  /** `label`: the column that a user has named. */
  async get(path: string, label?: string): Promise<Sample> {
    const key = JSON.stringify([await versionOf(path), label])
    return remember(this.#kept, key, () => this.#take(path, label))
  }

  async #take(path: string, label: string | undefined): Promise<Sample> {
    try {
      return await takeSample(path, await this.learn([path], tableOf(label)))
    } catch (error) {
      if (!(error instanceof LabelUnknown)) throw error
      const sample = await this.#take(path, error.columns.at(-1)!)
      return { ...sample, labelUnknown: true }
    }
  }

  /** Rows from all over a store. */
  async ofStore(store: Store): Promise<SeenRows> {
    const key = JSON.stringify(await versionOf(join(store.folder, MANIFEST_FILE)))
    return remember(this.#ofStores, key, () => sampleStore(store))
  }

  /** What the columns of a table become, by its first rows. */
  learn = async (paths: string[], options: TableToLearn): Promise<LearntSchema | undefined> => {
    const { label, weight, ignore, categorical, text, header, format } = options
    const versions = await Promise.all(paths.map(versionOf))
    const key = JSON.stringify([versions, label, weight, ignore, categorical, text, header, format])
    return remember(this.#schemas, key, () =>
      learnSchema(paths, { ...options, onBadRow: 'skip', threads: 1, headOnly: true, memory: undefined }),
    )
  }
}

const tableOf = (label: string | undefined): TableToLearn => ({
  ...{ format: undefined, onBadRow: 'skip' },
  ...(label !== undefined && { label }),
})

/** What tells one state of a file from another. */
export async function versionOf(path: string): Promise<unknown[]> {
  const { mtimeMs, size, ino } = await stat(path)
  return [path, mtimeMs, size, ino]
}

/** The newest are kept. What fails is tried again. */
export function remember<T>(kept: Map<string, Promise<T>>, key: string, make: () => Promise<T>): Promise<T> {
  let found = kept.get(key)
  if (!found) {
    found = make()
    kept.set(key, found)
    found.catch(() => kept.delete(key))
    if (kept.size > MOST_SAMPLES) kept.delete(kept.keys().next().value!)
  }
  return found
}

async function takeSample(path: string, learnt: LearntSchema | undefined): Promise<Sample> {
  const arena = new Arena()
  // Few bytes, and other requests wait: one thread, and this one as long as it is quick.
  await using pool = new ThreadPool(arena.share, 1, { inPlace: 'small' })
  const enough = new AbortController()
  const reader = new RowReader(arena, pool, {
    ...{ format: learnt?.format, indexBase: undefined, onBadRow: 'skip', valueBits: 32, chunkBytes: CHUNK_BYTES },
    table: { schema: learnt?.schema },
    ...{ signal: enough.signal, keepsRows: true },
  })
  const found = { rows: 0, nonzeros: 0, features: 0, sampledBytes: 0 }
  const seen = new SeenRows()
  const byKey = new Map<LabelKey, number>()
  const labels: LabelCount[] = []
  const started = performance.now()
  await reader.read(
    [path],
    (_, toParse) => pool.run(plainRowsTask, toParse),
    ({ bytes }, chunk) => {
      for (const batch of chunk.batches)
        seen.add(
          batch,
          chunk.labels.map(({ text }) => text),
          reader.indexBase,
        )
      mergeLabels(labels, byKey, chunk.labels)
      found.rows += chunk.rows
      found.nonzeros += chunk.nonzeros
      found.features = Math.max(found.features, chunk.features)
      found.sampledBytes += bytes
      if (found.sampledBytes >= SAMPLE_BYTES) enough.abort()
    },
  )
  const seconds = (performance.now() - started) / 1000
  const whole = !enough.signal.aborted
  const { least, most, lengths, firstRows, few } = seen
  return {
    ...{ format: reader.format.name, ...found, whole, labels, least, most, lengths, firstRows, few },
    ...{ badRows: reader.badRows, firstBad: reader.badRowMessages[0] },
    textBytes: whole ? found.sampledBytes : Math.max(found.sampledBytes, (await textSize(path)) ?? 0),
    bytesPerSecond: found.sampledBytes / Math.max(seconds, 1e-3),
    ...(learnt && { schema: learnt.schema, features: learnt.schema.features }),
  }
}
