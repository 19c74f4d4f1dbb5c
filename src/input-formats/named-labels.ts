// Files of labels that were named for files of rows: arrays and matrices may have their labels apart.
import { UsageError } from '../errors.ts'

const named = new Map<string, string>()

/** Says which file has the labels of another, until it is disposed of. */
export function nameLabels(paths: string[], labels: string | undefined): Disposable {
  if (labels === undefined) return { [Symbol.dispose]: () => {} }
  const [path, ...others] = paths
  if (others.length > 0) {
    throw new UsageError(
      `labels names one file, and the data is in ${paths.length}`,
      'put the labels of each beside it, as NAME.labels.npy',
    )
  }
  named.set(path, labels)
  return { [Symbol.dispose]: () => named.delete(path) }
}

export function namedLabels(path: string): string | undefined {
  return named.get(path)
}
