// How values of features are spread, gathered row by row: of each feature how many there are, their mean, and the squares of
// their distances from it. Parts of data are gathered apart and put together, in the order of the data.
import type { Arena } from '../numeric/arena.ts'
import { BatchFields } from '../numeric/fields/batch.ts'
import type { Address } from '../sizes.ts'

/** What is done with rows before their values count. */
export interface RowsBefore {
  /** Address of f64[], what features are multiplied by, or 0; and how many there are. */
  factors: Address
  features: number
  /** Whether rows are divided by their length. */
  unit: boolean
}

/** Of the features that occur in some rows: count, mean and squares, side by side. */
export interface GatheredMoments {
  rows: number
  features: Uint32Array
  moments: Float64Array
}

/** Numbers of each feature. */
const WIDTH = 3

/** Gathers the rows of a part of the data. */
export class MomentsOfPart {
  readonly #places = new Map<number, number>()
  readonly #before: RowsBefore
  #rows = 0
  #moments = new Float64Array(WIDTH * 1024)

  constructor(before: RowsBefore) {
    this.#before = before
  }

  add(arena: Arena, batch: Address): void {
    const fields = new BatchFields(arena, batch)
    const { rows, nonzeros } = fields
    const starts = arena.u32(fields.starts, rows + 1)
    const indices = arena.u32(fields.indices, nonzeros)
    const given = fields.valueBytes === 8 ? arena.f64(fields.values, nonzeros) : arena.f32(fields.values, nonzeros)
    const values = Float64Array.from(given)
    const { factors, features, unit } = this.#before
    if (factors !== 0) {
      const factor = arena.f64(factors, features)
      for (let i = 0; i < nonzeros; i++) if (indices[i] < features) values[i] *= factor[indices[i]]
    }
    if (unit) for (let r = 0; r < rows; r++) toUnitLength(values.subarray(starts[r], starts[r + 1]))
    for (let i = 0; i < nonzeros; i++) this.#add(indices[i], values[i])
    this.#rows += rows
  }

  #add(feature: number, value: number): void {
    let place = this.#places.get(feature)
    if (place === undefined) {
      place = this.#places.size
      this.#places.set(feature, place)
      if ((place + 1) * WIDTH > this.#moments.length) {
        const larger = new Float64Array(this.#moments.length * 2)
        larger.set(this.#moments)
        this.#moments = larger
      }
    }
    const at = place * WIDTH
    const moments = this.#moments
    const away = value - moments[at + 1]
    moments[at]++
    moments[at + 1] += away / moments[at]
    moments[at + 2] += away * (value - moments[at + 1])
  }

  finish(): GatheredMoments {
    const features = Uint32Array.from(this.#places.keys())
    return { rows: this.#rows, features, moments: this.#moments.slice(0, features.length * WIDTH) }
  }
}

function toUnitLength(row: Float64Array): void {
  const length = Math.sqrt(row.reduce((sum, x) => sum + x * x, 0))
  if (length > 0) for (let i = 0; i < row.length; i++) row[i] /= length
}

/** Puts parts together, of the features that have a place. */
export class AllMoments {
  rows = 0
  readonly #placeOf: (feature: number) => number
  readonly #moments: Float64Array

  /** `placeOf` is negative for features that nobody asks for. */
  constructor(places: number, placeOf: (feature: number) => number) {
    this.#placeOf = placeOf
    this.#moments = new Float64Array(places * WIDTH)
  }

  add({ rows, features, moments: part }: GatheredMoments): void {
    this.rows += rows
    const all = this.#moments
    for (let k = 0; k < features.length; k++) {
      const at = this.#placeOf(features[k]) * WIDTH
      if (at < 0) continue
      const [before, more] = [all[at], part[k * WIDTH]]
      const count = before + more
      const away = part[k * WIDTH + 1] - all[at + 1]
      all[at] = count
      all[at + 1] += (away * more) / count
      all[at + 2] += part[k * WIDTH + 2] + away * away * ((before * more) / count)
    }
  }

  /** Standard deviations over all rows, absent entries counted as zeros. */
  deviations(): Float64Array {
    const { rows } = this
    return Float64Array.from({ length: this.#moments.length / WIDTH }, (_, place) => {
      const [count, mean, squares] = this.#moments.subarray(place * WIDTH, place * WIDTH + WIDTH)
      return count === 0 ? 0 : Math.sqrt((squares + mean * mean * count * ((rows - count) / rows)) / rows)
    })
  }
}
