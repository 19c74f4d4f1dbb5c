// The fields of the structure Along, read and written by name. Made by `npm run layouts` from the tables in
// structures/: change those.
import type { Address } from '../../sizes.ts'
import type { Arena } from '../arena.ts'

export class AlongFields {
  readonly at: Address
  readonly #view: DataView

  constructor(arena: Arena, at: Address) {
    this.at = at
    this.#view = arena.view(at, 7160)
  }

  /** f64: the smallest value, as the solver sees it. */
  get least(): number {
    return this.#view.getFloat64(0, true)
  }
  set least(value: number) {
    this.#view.setFloat64(0, value, true)
  }

  /** f64: the largest value. */
  get most(): number {
    return this.#view.getFloat64(8, true)
  }
  set most(value: number) {
    this.#view.setFloat64(8, value, true)
  }

  /** f64: the square of the shortest row. */
  get shortest(): number {
    return this.#view.getFloat64(16, true)
  }
  set shortest(value: number) {
    this.#view.setFloat64(16, value, true)
  }

  /** f64: the square of the longest row. */
  get longest(): number {
    return this.#view.getFloat64(24, true)
  }
  set longest(value: number) {
    this.#view.setFloat64(24, value, true)
  }

  /** f64[98]: the multiples that are tried, as many as TRIED says. */
  get multiples(): Float64Array {
    return new Float64Array(this.#view.buffer, this.#view.byteOffset + 32, 98)
  }

  /** f64[784]: the sum of losses, for each multiple and each of eight models. A single model has the first of eight. */
  get losses(): Float64Array {
    return new Float64Array(this.#view.buffer, this.#view.byteOffset + 816, 784)
  }

  /** f64[8]: room for dot products. */
  get dots(): Float64Array {
    return new Float64Array(this.#view.buffer, this.#view.byteOffset + 7088, 8)
  }

  /** u32: how many multiples are tried. */
  get tried(): number {
    return this.#view.getUint32(7152, true)
  }
  set tried(value: number) {
    this.#view.setUint32(7152, value, true)
  }
}
