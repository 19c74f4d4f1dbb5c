// What is noted of rows one by one: how long they are, their values, and the texts of the first few.
import type { PlainRows } from '../predict/explain-chunk-task.ts'

const FIRST_ROWS = 5
const MOST_ROW_TEXT = 300
/** Entries of rows that are kept whole. */
const KEPT_NONZEROS = 400_000

export class SeenRows {
  nonzeros = 0
  least = Number.POSITIVE_INFINITY
  most = Number.NEGATIVE_INFINITY
  readonly lengths: number[] = []
  readonly firstRows: string[] = []
  readonly few = new FewRows()

  add({ starts, indices, values, classes }: PlainRows, labels: string[], indexBase: number): void {
    for (let r = 0; r < classes.length; r++) {
      const row = [starts[r], starts[r + 1]] as const
      const label = labels[classes[r]]
      this.lengths.push(row[1] - row[0])
      if (this.firstRows.length < FIRST_ROWS) {
        this.firstRows.push(rowText(label, indices.subarray(...row), values.subarray(...row), indexBase))
      }
      this.few.add(label, indices, values, row)
    }
    this.nonzeros += values.length
    for (const value of values) {
      if (value < this.least) this.least = value
      if (value > this.most) this.most = value
    }
  }
}

/** A row that is kept whole, its features counted from 1. */
export interface KeptRow {
  label: string
  indices: Uint32Array
  values: Float32Array
}

/** Some rows from all over those that were seen: as long as there is room all of them, then every second, every fourth and so on. */
export class FewRows {
  rows: KeptRow[] = []
  nonzeros = 0
  #seen = 0
  #step = 1

  add(label: string, indices: Uint32Array, values: Float64Array, [from, to]: readonly [number, number]): void {
    if (this.#seen++ % this.#step !== 0) return
    const row = {
      label,
      indices: indices.slice(from, to).map(index => index + 1),
      values: Float32Array.from(values.subarray(from, to)),
    }
    this.rows.push(row)
    this.nonzeros += to - from
    if (this.nonzeros <= KEPT_NONZEROS) return
    this.#step *= 2
    this.rows = this.rows.filter((_, k) => k % 2 === 0)
    this.nonzeros = this.rows.reduce((sum, { indices }) => sum + indices.length, 0)
  }
}

/** A row as LIBSVM text has it, cut short. A label has no blanks there. */
export function rowText(
  label: string,
  indices: ArrayLike<number>,
  values: ArrayLike<number>,
  indexBase: number,
  most = MOST_ROW_TEXT,
): string {
  let text = label.replace(/\s+/g, '_')
  for (let k = 0; k < indices.length && text.length < most; k++) {
    text += ` ${indices[k] + indexBase}:${Number(values[k].toPrecision(7))}`
  }
  return text.length > most ? `${text.slice(0, most - 1)}…` : text
}
