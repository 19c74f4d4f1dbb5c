// Rows that are read into memory for training: from text or a store, checked, weighted, renumbered and scaled.
import { statSync } from 'node:fs'
import { widthOf } from '../additive-kernels/row-space.ts'
import { loadStore } from '../block-store/load-store.ts'
import { inputFormatOf } from '../block-store/manifest.ts'
import { openStore } from '../block-store/reader.ts'
import { SpillwayError, UsageError } from '../errors.ts'
import { checkExpandable } from '../features/expansion-steps.ts'
import { findInputFormat } from '../input-formats/all-input-formats.ts'
import { isGivenRows, sourceName } from '../input-formats/given-rows.ts'
import { Arena } from '../numeric/arena.ts'
import { type AllRows, agreeOnRows } from '../rows/agree-on-rows.ts'
import { loadRows, type ReadReport } from '../rows/load-rows.ts'
import { binInMemory, placeSpace } from '../rows/place-space.ts'
import { poolForText } from '../rows/pool-for-text.ts'
import { renumberFeatures, weightsOf } from '../rows/renumber-features.ts'
import type { RowSet } from '../rows/row-set.ts'
import { scaleInMemory } from '../rows/scale.ts'
import { numberFeatures } from '../tables/schema.ts'
import type { ThreadPool } from '../threads/pool.ts'
import { roomForModels } from './choose-solver.ts'
import { refuseUnlearnable } from './class-problems.ts'
import { expansionOf, type ResolvedOptions, refuseTextOptions } from './options.ts'
import type { ProgressListener } from './progress.ts'

/** Rows that are ready to be trained on, and what they can be trained with. */
export interface LoadedRows {
  arena: Arena
  pool: ThreadPool
  rows: RowSet
  read: ReadReport
  /** What is known of the rows of all ranks. */
  all: AllRows
  factors: Float64Array | undefined
  readSeconds: number
  /** Since the work began. */
  seconds(): number
  tell: ProgressListener
}

/** Reads rows, has something done with them, and gives their memory back. */
export async function withRowsInMemory<T>(
  paths: string[],
  options: ResolvedOptions,
  tell: ProgressListener,
  work: (rows: LoadedRows) => Promise<T>,
): Promise<T> {
  const started = performance.now()
  const seconds = (): number => (performance.now() - started) / 1000 - (options.watcher?.seconds ?? 0)
  const arena = new Arena()
  await using pool = await poolForText(arena, paths, options.threads, options.memory === undefined)
  const throttled = throttle(tell, 50)
  if (options.space && !options.scale) placeSpace(arena, options.space, false)
  const { rows, read } = await load(arena, pool, paths, options, ({ bytesRead, bytesTotal, rows, badRows }) =>
    throttled({ stage: 'read', seconds: seconds(), bytesRead, bytesTotal, rows, badRows }),
  )
  // An abort while reading leaves part of the data: whatever comes of it, the run was interrupted.
  const cutShort = options.signal?.aborted === true
  const all = await agreeOnRows(arena, options.ranks, rows, {
    ...{ badRows: read.badRows, cutShort },
    room: roomForModels(arena, rows.packedBytes, options),
  })
  checkRows({ ...rows, ...all }, paths)
  if (cutShort) {
    const reason = `interrupted while text was read; the model will be one of the ${rows.rows} rows that came until then`
    tell({ stage: 'plan', solver: '', reason })
  }
  placeRowWeights(arena, rows, options, { cutShort, badRows: read.badRows })
  await renumberFeatures(arena, pool, rows, options.ranks)
  const factors = await scaled({ arena, threads: pool }, rows, all.rows, options)
  if (options.space) rows.weights *= widthOf(options.space)
  return await work({ arena, pool, rows, all, read, factors, readSeconds: seconds(), seconds, tell })
}

/** Gives rows the weights that were said for them. A run that was interrupted has read the first rows. */
function placeRowWeights(
  arena: Arena,
  rows: RowSet,
  { rowWeights }: ResolvedOptions,
  { cutShort, badRows }: { cutShort: boolean; badRows: number },
): void {
  if (!rowWeights) return
  if (rows.rowWeights) throw new UsageError('rowWeights is given, and a column has weights, too', 'leave out one')
  if (cutShort ? rowWeights.length < rows.rows : rowWeights.length !== rows.rows) {
    const left = badRows > 0 ? `, without ${badRows} that cannot be read` : ''
    throw new UsageError(
      `rowWeights has ${rowWeights.length} numbers, and the data has ${rows.rows} rows${left}`,
      'give one number a row, in the order of the data',
    )
  }
  rows.rowWeights = arena.allocate(rows.rows * 8, 'the weights of the rows')
  arena.f64(rows.rowWeights, rows.rows).set(rowWeights.length > rows.rows ? rowWeights.slice(0, rows.rows) : rowWeights)
}

async function scaled(
  place: { arena: Arena; threads: ThreadPool },
  rows: RowSet,
  allRows: number,
  { space, scale, normalize, ranks, schema, expand }: ResolvedOptions,
): Promise<Float64Array | undefined> {
  if (!scale) return undefined
  const unit = normalize === 'unit'
  if (space) return binInMemory(place.arena, rows, space, unit, ranks)
  const numbers = new Set(schema ? weightsOf(rows, numberFeatures(schema)) : [])
  // What the columns of a table become is numbers, and ones.
  const othersAreOnes = schema !== undefined && expand === undefined
  return scaleInMemory(place, rows, scale, unit, { ranks, rows: allRows, numbers, othersAreOnes })
}

/** Rows from text, or from a store when one folder is named. */
async function load(
  arena: Arena,
  pool: ThreadPool,
  paths: string[],
  options: ResolvedOptions,
  report: (progress: ReadReport) => void,
): Promise<{ rows: RowSet; read: ReadReport }> {
  // Scaling changes values, so rows are kept plain for it, and made unit length after it.
  const make = {
    unit: options.normalize === 'unit' && !options.scale,
    plain: options.scale !== undefined,
    bins: options.space && !options.scale ? options.space.bins : 0,
    expansion: expansionOf(options),
  }
  const folders = paths.filter(path => !isGivenRows(path) && statSync(path, { throwIfNoEntry: false })?.isDirectory())
  if (folders.length > 0) {
    if (paths.length > 1) throw new UsageError(`${folders[0]} is a folder; a store is trained on alone`)
    refuseTextOptions(options)
    const store = await openStore(paths[0])
    if (options.expand) checkExpandable(options.expand, findInputFormat(inputFormatOf(store.manifest)))
    return loadStore(arena, pool, store, make, report, options.signal)
  }
  const { format, indexBase, onBadRow, values, schema } = options
  const settings = {
    format,
    indexBase,
    onBadRow,
    table: { schema },
    valueBits: values === 'f64' ? (64 as const) : (32 as const),
  }
  return loadRows(arena, pool, paths, settings, make, report, options.signal)
}

function checkRows(rows: RowSet & AllRows, paths: string[]): void {
  const { cutShort, badRows } = rows
  const where = paths.map(sourceName).join(', ')
  if (cutShort && rows.labels.length < 2) {
    const found = rows.rows === 0 ? 'no rows were' : `only rows of the label ${rows.labels[0].text} were`
    throw new SpillwayError(`interrupted when ${found} read from ${where} yet: there is no model`, undefined, 130)
  }
  if (rows.rows === 0 && badRows > 0) throw new SpillwayError(`none of the ${badRows} rows of ${where} can be read`)
  refuseUnlearnable(rows, where)
}

/** Passes on at most one record in so many milliseconds. */
function throttle<T>(tell: (record: T) => void, milliseconds: number): (record: T) => void {
  let last = Number.NEGATIVE_INFINITY
  return record => {
    const now = performance.now()
    if (now - last < milliseconds) return
    last = now
    tell(record)
  }
}
