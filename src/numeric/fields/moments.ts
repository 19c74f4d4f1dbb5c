// The fields of the structure Moments, read and written by name. Made by `npm run layouts` from the tables in
// structures/: change those.
import type { Address } from '../../sizes.ts'
import type { Arena } from '../arena.ts'

export class MomentsFields {
  readonly at: Address
  readonly #view: DataView

  constructor(arena: Arena, at: Address) {
    this.at = at
    this.#view = arena.view(at, 24)
  }

  /** f64: the mean of values times 2^(1023 − exponent). */
  get mean(): number {
    return this.#view.getFloat64(0, true)
  }
  set mean(value: number) {
    this.#view.setFloat64(0, value, true)
  }

  /** f64: the sum of squared distances from the mean, of values times 2^(1023 − exponent). */
  get squares(): number {
    return this.#view.getFloat64(8, true)
  }
  set squares(value: number) {
    this.#view.setFloat64(8, value, true)
  }

  /** u32: how many values there were. */
  get count(): number {
    return this.#view.getUint32(16, true)
  }
  set count(value: number) {
    this.#view.setUint32(16, value, true)
  }

  /** u32: an exponent as f64 has it, 1 to 2045, near that of the values. */
  get exponent(): number {
    return this.#view.getUint32(20, true)
  }
  set exponent(value: number) {
    this.#view.setUint32(20, value, true)
  }
}
