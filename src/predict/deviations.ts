// Standard deviations of what a model's weights multiply: by them, features of different scales can be compared. The data is
// read once, in memory that depends on the model alone.
import { stat } from 'node:fs/promises'
import { ReadBuffer } from '../block-store/block-file.ts'
import { SegmentDecoder } from '../block-store/codecs.ts'
import { openStore } from '../block-store/reader.ts'
import { UsageError } from '../errors.ts'
import { askedInputFormat, knownIndexBase, usualInputFormat } from '../input-formats/all-input-formats.ts'
import { nameLabels } from '../input-formats/named-labels.ts'
import { denseScaleFactors, type Model } from '../model/model.ts'
import { listedFeatures, positionOf } from '../model/weights.ts'
import { Arena } from '../numeric/arena.ts'
import { AllMoments, MomentsOfPart, type RowsBefore } from '../rows/feature-moments.ts'
import { momentsChunkTask } from '../rows/moments-chunk-task.ts'
import { poolForText } from '../rows/pool-for-text.ts'
import { RowReader } from '../rows/read-rows.ts'

export interface DeviationOptions {
  format?: string | undefined
  /** The file of the labels, where these are apart: what is in the data is features alone then. */
  labels?: string | undefined
  /** Of text; the model's own by default. */
  indexBase?: number | undefined
  onBadRow?: 'fail' | 'skip' | undefined
  threads?: number | undefined
  signal?: AbortSignal | undefined
  progress?: (progress: { bytesRead: number; bytesTotal: number | undefined; rows: number; seconds: number }) => void
}

export interface Deviations {
  /** Of each feature that the weights list, in their order: after scaling, and in rows of unit length if the model has them so. */
  values: Float64Array
  rows: number
}

/** Reads text or a store. */
export async function deviationsOf(path: string, model: Model, options: DeviationOptions = {}): Promise<Deviations> {
  const { transforms, weights, vectors } = model
  if (transforms.expand) {
    throw new UsageError(
      `--data tells how the features of the data are spread, and this model's are made by ${transforms.expand.steps}`,
      'leave it out',
    )
  }
  const arena = new Arena()
  const all = new AllMoments(listedFeatures(weights, vectors), feature => {
    const at = positionOf(weights, vectors, feature)
    return at < 0 ? -1 : at / vectors
  })
  const before = rowsBefore(arena, model)
  const isStore = (await stat(path).catch(() => undefined))?.isDirectory()
  const gathering = { arena, path, model, before, all }
  await (isStore ? gatherStore(gathering, options) : gatherText(gathering, options))
  return { values: all.deviations(), rows: all.rows }
}

function rowsBefore(arena: Arena, model: Model): RowsBefore {
  const factors = denseScaleFactors(model)
  const unit = model.transforms.normalize === 'unit'
  if (!factors) return { factors: 0, features: 0, unit }
  const at = arena.allocate(factors.length * 8, 'scale factors')
  arena.f64(at, factors.length).set(factors)
  return { factors: at, features: factors.length, unit }
}

interface Gathering {
  arena: Arena
  path: string
  model: Model
  before: RowsBefore
  all: AllMoments
}

async function gatherText({ arena, path, model, before, all }: Gathering, options: DeviationOptions): Promise<void> {
  const started = performance.now()
  const { onBadRow = 'fail', signal } = options
  using _ = nameLabels([path], options.labels)
  const valueBits = model.values === 'f64' ? 64 : 32
  const format = askedInputFormat(options.format)?.name ?? model.inputFormat ?? usualInputFormat.name
  const indexBase = options.indexBase ?? knownIndexBase(format, model.indexBase)
  await using pool = await poolForText(arena, [path], options.threads)
  const reader = new RowReader(arena, pool, {
    ...{ format, indexBase: model.schema ? undefined : indexBase, onBadRow, valueBits, signal },
    table: { schema: model.schema, needsLabel: false },
  })
  await reader.read(
    [path],
    (_, toParse) => pool.run(momentsChunkTask, { ...toParse, before }),
    (_, { gathered }) => {
      all.add(gathered)
      const { bytesRead, bytesTotal } = reader
      options.progress?.({ seconds: (performance.now() - started) / 1000, bytesRead, bytesTotal, rows: all.rows })
    },
  )
}

async function gatherStore(
  { arena, path, model, before, all }: Gathering,
  { indexBase, labels, signal, progress }: DeviationOptions,
): Promise<void> {
  const started = performance.now()
  const store = await openStore(path)
  const { blocks, indexBase: base } = store.manifest
  if (indexBase !== undefined) throw new UsageError('--index-base is for text, and --data names a store')
  if (labels !== undefined) throw new UsageError('--labels is for arrays, and --data names a store, which has labels')
  if (base !== model.indexBase) {
    throw new UsageError(`${path} counts features from ${base}, and the model from ${model.indexBase}`)
  }
  const buffer = new ReadBuffer(arena)
  const decoder = new SegmentDecoder(arena)
  const batch = decoder.newBatch()
  const bytesTotal = blocks.reduce((sum, block) => sum + block.bytes, 0)
  let bytesRead = 0
  for (let block = 0; block < blocks.length; block++) {
    for await (const { at, bytes, where } of store.blockSegments(block, buffer)) {
      signal?.throwIfAborted()
      decoder.decode(at, bytes, batch, where)
      const part = new MomentsOfPart(before)
      part.add(arena, batch)
      all.add(part.finish())
      bytesRead += bytes
      progress?.({ seconds: (performance.now() - started) / 1000, bytesRead, bytesTotal, rows: all.rows })
    }
  }
}
