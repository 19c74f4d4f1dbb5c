// How many features occur in all rows, judged by those of some rows.
import type { Arena } from '../numeric/arena.ts'
import { BatchFields } from '../numeric/fields/batch.ts'

/** How far off the estimate may be: of six made-up sets it was right within a third, but for one, whose features run out, where
 *  it was 2.2 times too many. */
const LEAST_LIKELY = 0.4
const MOST_LIKELY = 1.5

/** Features of some rows, one row after the other. */
export interface CountedFeatures {
  rows: number
  features: Uint32Array
}

/** Takes down the features of rows, piece after piece of the data, the first ones of each as far as there is room. */
export class TakenFeatures implements CountedFeatures {
  rows = 0
  readonly #all: Uint32Array
  readonly #perPiece: number
  #filled = 0
  #end = 0

  constructor(pieces: number, perPiece: number) {
    this.#all = new Uint32Array(pieces * perPiece)
    this.#perPiece = perPiece
  }

  get features(): Uint32Array {
    return this.#all.subarray(0, this.#filled)
  }

  startPiece(): void {
    this.#end = this.#filled + this.#perPiece
  }

  add(arena: Arena, batch: number, rows: number): void {
    const { starts: startsAt, indices } = new BatchFields(arena, batch)
    const starts = arena.u32(startsAt, rows + 1)
    for (let r = 0; r < rows; r++) {
      const length = starts[r + 1] - starts[r]
      if (this.#filled + length > this.#end) return
      this.#all.set(arena.u32(indices + starts[r] * 4, length), this.#filled)
      this.#filled += length
      this.rows++
    }
  }
}

/** How many features occur in all rows, by those of some rows. The number grows with the rows by a power that falls: from a
 *  quarter of the sample to its half, from there to the whole, and on like that at each doubling. Halves are those that drawing
 *  rows at random would give: a feature of c rows is in one with probability 1 − 2^−c. */
export function usedFeatures(
  { rows, features }: CountedFeatures,
  allRows: number,
): { seen: number; least: number; most: number } {
  let [seen, half, quarter] = [0, 0, 0]
  for (const count of counts(features.slice())) {
    seen++
    half += 1 - 0.5 ** count
    quarter += 1 - 0.75 ** count
  }
  const doublings = Math.log2(Math.max(1, allRows / Math.max(1, rows)))
  if (seen === 0 || doublings === 0) return { seen, least: seen, most: seen }
  const growth = Math.log2(seen / half)
  const fall = Math.min(1, growth / Math.log2(half / quarter))
  const steps = fall < 1 ? (fall * (1 - fall ** doublings)) / (1 - fall) : doublings
  const likely = seen * 2 ** (growth * steps)
  return {
    seen,
    least: Math.ceil(Math.max(seen, LEAST_LIKELY * likely)),
    most: Math.ceil(Math.max(seen, MOST_LIKELY * likely)),
  }
}

/** How often each of the features is there. */
function* counts(features: Uint32Array): Generator<number> {
  features.sort()
  for (let from = 0; from < features.length; ) {
    let to = from + 1
    while (to < features.length && features[to] === features[from]) to++
    yield to - from
    from = to
  }
}
