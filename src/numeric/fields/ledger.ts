// The fields of the structure Ledger, read and written by name. Made by `npm run layouts` from the tables in
// structures/: change those.
import type { Address } from '../../sizes.ts'
import type { Arena } from '../arena.ts'

export class LedgerFields {
  readonly at: Address
  readonly #view: DataView

  constructor(arena: Arena, at: Address) {
    this.at = at
    this.#view = arena.view(at, 152)
  }

  /** f64: their part of the dual objective. */
  get dual(): number {
    return this.#view.getFloat64(0, true)
  }
  set dual(value: number) {
    this.#view.setFloat64(0, value, true)
  }

  /** f64: how many have α > 0. */
  get support(): number {
    return this.#view.getFloat64(8, true)
  }
  set support(value: number) {
    this.#view.setFloat64(8, value, true)
  }

  /** f64: how many were on the right side when they were met. */
  get correct(): number {
    return this.#view.getFloat64(16, true)
  }
  set correct(value: number) {
    this.#view.setFloat64(16, value, true)
  }

  /** f64[16]: the most they owe to the duality gap if w is within the k-th radius of where it was when they were met;
   *  the first radius is 0. */
  get owed(): Float64Array {
    return new Float64Array(this.#view.buffer, this.#view.byteOffset + 24, 16)
  }
}
