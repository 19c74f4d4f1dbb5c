// The fields of the structure Made, read and written by name. Made by `npm run layouts` from the tables in structures/:
// change those.
import type { Address } from '../../sizes.ts'
import type { Arena } from '../arena.ts'

export class MadeFields {
  readonly at: Address
  readonly #view: DataView

  constructor(arena: Arena, at: Address) {
    this.at = at
    this.#view = arena.view(at, 16)
  }

  /** u32: address of f64[GENERATE_BINS + 1], ranks of names, or numbers, at even steps of probability. */
  get quantiles(): Address {
    return this.#view.getUint32(0, true)
  }
  set quantiles(value: Address) {
    this.#view.setUint32(0, value, true)
  }

  /** u32: 1 for a column of numbers, 0 for one of names. */
  get isNumber(): number {
    return this.#view.getUint32(4, true)
  }
  set isNumber(value: number) {
    this.#view.setUint32(4, value, true)
  }

  /** u32: of 65536 cells, how many are missing. */
  get missing(): number {
    return this.#view.getUint32(8, true)
  }
  set missing(value: number) {
    this.#view.setUint32(8, value, true)
  }

  /** u32: what is taken off a number. */
  get least(): number {
    return this.#view.getUint32(12, true)
  }
  set least(value: number) {
    this.#view.setUint32(12, value, true)
  }
}
