// Outliers of a truncated loss: the rows that a model has given up, read again from the data and scored by the model. In a
// model of several classes it is the one of a row's own label that gives it up. Memory is constant.
import { statSync } from 'node:fs'
import { sourceSpans } from '../block-store/manifest.ts'
import { openStore, type Store } from '../block-store/reader.ts'
import { RowReader as StoredRows } from '../block-store/rewrite-rows.ts'
import { UsageError } from '../errors.ts'
import { fitFor } from '../features/expansion-steps.ts'
import { askedInputFormat, knownIndexBase, usualInputFormat } from '../input-formats/all-input-formats.ts'
import { labelKey } from '../input-formats/labels.ts'
import { nameLabels } from '../input-formats/named-labels.ts'
import { allLosses } from '../losses/all-losses.ts'
import { OUTLIER_MARGIN } from '../losses/loss.ts'
import { placeOfLent } from '../model/lent-weights.ts'
import type { Model } from '../model/model.ts'
import { placeModel } from '../model/scorer.ts'
import { Arena } from '../numeric/arena.ts'
import { poolForText } from '../rows/pool-for-text.ts'
import { RowReader } from '../rows/read-rows.ts'
import { type OutliersOfChunk, outliersChunkTask, ownMargin } from './outliers-chunk-task.ts'
import { BatchScorer } from './score-batch.ts'

/** A row that a model has given up. */
export interface Outlier {
  /** Its number in all data, counted from 1: what `remove --rows` takes of a store of these rows. */
  row: number
  source: string
  /** Its line there, counted from 1; of a store, and of formats without lines, its number among the rows of that source. */
  line: number
  label: string
  /** y wᵀx, below −s (ramp) or 1 − √(1 + s) (truncated-squared-hinge). */
  margin: number
}

export interface OutlierOptions {
  /** As the data was read for training. */
  format?: string | undefined
  indexBase?: 0 | 1 | undefined
  labels?: string | undefined
  onBadRow?: 'fail' | 'skip' | undefined
  threads?: number | undefined
  signal?: AbortSignal | undefined
}

/** Reads chunks of so much text: many outliers of a chunk are handed over at a time. */
const CHUNK_BYTES = 1 << 19

/** The rows that a model gives up: of text in its order, of a store block by block. `found` hears of some at a time. */
export async function findOutliers(
  paths: string[],
  model: Model,
  options: OutlierOptions,
  found: (outliers: Outlier[]) => Promise<void>,
): Promise<void> {
  const limit = limitOf(model)
  const isFolder = paths.length === 1 && statSync(paths[0], { throwIfNoEntry: false })?.isDirectory()
  const store = isFolder ? await openStore(paths[0]) : undefined
  const arena = placeOfLent(model.weights)?.arena ?? new Arena()
  if (store) return inStore({ arena, store, model, limit, signal: options.signal }, found)
  using _ = nameLabels(paths, options.labels)
  const pool = await poolForText(arena, paths, options.threads)
  try {
    const scorer = placeModel(arena, model)
    const expand = model.transforms.expand?.steps
    const { signal } = options
    const format = askedInputFormat(options.format)?.name ?? model.inputFormat ?? usualInputFormat.name
    const indexBase = options.indexBase ?? knownIndexBase(format, model.indexBase)
    const reader = new RowReader(arena, pool, {
      ...{
        format,
        indexBase: model.schema ? undefined : indexBase,
        table: { schema: model.schema },
        onBadRow: options.onBadRow ?? 'fail',
        valueBits: model.values === 'f64' ? 64 : 32,
      },
      ...{ fit: fitFor(expand), signal, chunkBytes: CHUNK_BYTES },
    })
    const { labels } = model
    let [rows, lines, source] = [0, 0, -1]
    await reader.read(
      paths,
      (_, toParse) => pool.run(outliersChunkTask, { ...toParse, expand, scorer, labels, limit }),
      async (chunk, result: OutliersOfChunk) => {
        if (chunk.source !== source) lines = 0
        source = chunk.source
        // The rows of a chunk that has a name are counted from its own beginning.
        const [name, before] = chunk.part ? [`${chunk.name}, ${chunk.part}`, 0] : [chunk.name, lines]
        await found(
          result.outliers.map(({ row, line, label, margin }) => {
            return { row: rows + row + 1, source: name, line: before + line + 1, label, margin }
          }),
        )
        rows += result.rows
        lines += result.lines
      },
    )
  } finally {
    await pool.close()
  }
}

interface StoreToSearch {
  arena: Arena
  store: Store
  model: Model
  limit: number
  signal: AbortSignal | undefined
}

/** The same of a store. */
async function inStore(
  { arena, store, model, limit, signal }: StoreToSearch,
  found: (outliers: Outlier[]) => Promise<void>,
): Promise<void> {
  const { manifest } = store
  const expand = model.transforms.expand?.steps
  const scorer = placeModel(arena, model)
  const batches = new BatchScorer(arena, expand)
  const reader = new StoredRows(arena, store)
  const spans = sourceSpans(manifest)
  const places = new Map(model.labels.map((label, k) => [labelKey(label), k]))
  const placeOf = manifest.labels.map(label => places.get(labelKey(label)))
  for (const block of manifest.blocks.keys()) {
    for await (const { batch, count, base, positions, labels } of reader.rows(block)) {
      signal?.throwIfAborted()
      const [places, numbers] = [positions.slice(), labels.slice()]
      const scores = batches.score(scorer, batch, count)
      const outliers: Outlier[] = []
      for (let r = 0; r < count; r++) {
        const place = placeOf[numbers[r]]
        const margin = place === undefined ? 0 : ownMargin(scores, r, place, model.labels.length)
        if (place === undefined || !(margin < limit)) continue
        const position = base + places[r]
        const span = spans.findLast(({ first }) => first <= position)!
        const [source, line] = [span.name, position - span.first + 1]
        outliers.push({ row: position + 1, source, line, label: model.labels[place].text, margin })
      }
      await found(outliers)
    }
  }
}

/** The margin below which a row is an outlier of a model. */
function limitOf({ loss, outlierMargin = OUTLIER_MARGIN }: Model): number {
  const truncates = allLosses.find(({ name }) => name === loss)?.truncates
  if (truncates) return truncates.limit(outlierMargin)
  throw new UsageError(`the ${loss} loss gives no rows up: there are no outliers to write`, 'take --loss ramp')
}
