// The data that a run is given, as paths that can be read as often as it takes. Rows of a program and queries have paths that no
// file has, and what is there once goes into a file first where it is read more often.
import { UsageError } from '../errors.ts'
import {
  type DataFor,
  formatForRows,
  type GivenData,
  isGivenRows,
  type LabelledRow,
  pathsOf,
} from '../input-formats/given-rows.ts'
import { nameLabels } from '../input-formats/named-labels.ts'
import { spoolReadOnce } from '../rows/spool.ts'
import { keepsInputNames } from './keep-names.ts'
import type { ResolvedOptions } from './options.ts'
import type { ProgressListener } from './progress.ts'
import { storeFolder } from './store-for-training.ts'

/** Looks at what is given. Nothing is read yet. */
export function dataOfRun(data: DataFor<LabelledRow>, options: ResolvedOptions): GivenData {
  const from = pathsOf(data, { indexBase: options.indexBase ?? 1, needsLabel: true })
  if (from.given) options.format = formatForRows(options)
  if (from.paths.length === 0) throw new UsageError('no data was named')
  return from
}

/** Has `work` done on paths that can be read as often as it takes. The options get to know the format of a query's rows. */
export async function withPaths<T>(
  from: GivenData,
  options: ResolvedOptions,
  tell: ProgressListener,
  work: (paths: string[]) => Promise<T>,
): Promise<T> {
  using _ = from
  const { format, memory, threads, signal } = options
  const store = from.paths.some(isGivenRows) ? '' : storeFolder(from.paths, options.store)
  await using spooled = await spoolReadOnce(from.paths, {
    ...{ format, memory, threads, signal, store, again: keepsInputNames(options) },
    tell: reason => tell({ stage: 'plan', solver: '', reason }),
  })
  Object.assign(options, spooled.known)
  using _labels = nameLabels(spooled.paths, options.labels)
  return await work(spooled.paths)
}
