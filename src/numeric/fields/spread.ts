// The fields of the structure Spread, read and written by name. Made by `npm run layouts` from the tables in
// structures/: change those.
import type { Address } from '../../sizes.ts'
import type { Arena } from '../arena.ts'

export class SpreadFields {
  readonly at: Address
  readonly #view: DataView

  constructor(arena: Arena, at: Address) {
    this.at = at
    this.#view = arena.view(at, 32)
  }

  /** f64: largest squared distance. */
  get furthest(): number {
    return this.#view.getFloat64(0, true)
  }
  set furthest(value: number) {
    this.#view.setFloat64(0, value, true)
  }

  /** f64: smallest cosine of an angle with the centre; rows without entries have none. */
  get leastCosine(): number {
    return this.#view.getFloat64(8, true)
  }
  set leastCosine(value: number) {
    this.#view.setFloat64(8, value, true)
  }

  /** f64: smallest squared length. */
  get shortest(): number {
    return this.#view.getFloat64(16, true)
  }
  set shortest(value: number) {
    this.#view.setFloat64(16, value, true)
  }

  /** f64: largest squared length. */
  get longest(): number {
    return this.#view.getFloat64(24, true)
  }
  set longest(value: number) {
    this.#view.setFloat64(24, value, true)
  }
}
