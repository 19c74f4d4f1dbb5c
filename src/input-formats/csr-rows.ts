// Rows of a program in compressed sparse rows: arrays for all rows together, as SciPy and others keep them.
import { UsageError } from '../errors.ts'

export interface CsrRows {
  /** One for each row; rows that are to be predicted need none. */
  labels?: ArrayLike<number | string>
  /** Where each row begins among the entries, and behind the last row where it ends: one number more than there are rows. */
  starts: ArrayLike<number>
  /** Numbers of features, counted from the index base; within a row in any order. */
  indices: ArrayLike<number>
  values: ArrayLike<number>
}

export function isCsrRows(data: unknown): data is CsrRows {
  return typeof data === 'object' && data !== null && 'starts' in data && 'indices' in data && 'values' in data
}

/** Row after row, without a copy where the arrays are typed. Refuses arrays whose lengths do not go together. */
export function rowsOfCsr(
  data: CsrRows,
): Iterable<{ label?: number | string; indices: ArrayLike<number>; values: ArrayLike<number> }> {
  const { labels, starts, indices, values } = data
  const rows = starts.length - 1
  const refuse = (found: string, expected: string): never => {
    throw new UsageError(`the compressed sparse rows have ${found}; expected ${expected}`)
  }
  if (rows < 0) refuse('no starts', 'one more than there are rows')
  if (labels && labels.length !== rows) refuse(`${labels.length} labels for ${rows} rows`, 'one for each row')
  if (indices.length !== values.length) {
    refuse(`${indices.length} feature numbers and ${values.length} values`, 'as many of both')
  }
  for (const [what, numbers] of Object.entries({ starts, indices, values })) {
    if (typeof numbers[0] === 'bigint') refuse(`${what} of the type bigint`, 'numbers: Uint32Array.from(array, Number)')
  }
  if (starts[0] !== 0) refuse(`${starts[0]} as first start`, '0')
  for (let r = 0; r < rows; r++) {
    if (starts[r + 1] >= starts[r]) continue
    refuse(`the start ${starts[r + 1]} after ${starts[r]}`, 'starts that never fall')
  }
  if (starts[rows] !== indices.length)
    refuse(`${starts[rows]} as last start`, `the number of entries, ${indices.length}`)
  return {
    *[Symbol.iterator]() {
      for (let r = 0; r < rows; r++) {
        const [from, to] = [starts[r], starts[r + 1]]
        const row = { indices: part(indices, from, to), values: part(values, from, to) }
        yield labels ? { label: labels[r], ...row } : row
      }
    },
  }
}

function part(list: ArrayLike<number>, from: number, to: number): ArrayLike<number> {
  if (ArrayBuffer.isView(list)) return (list as Float64Array).subarray(from, to)
  return Array.prototype.slice.call(list, from, to)
}
