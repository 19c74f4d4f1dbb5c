// The fields of the structure Sums, read and written by name. Made by `npm run layouts` from the tables in structures/:
// change those.
import type { Address } from '../../sizes.ts'
import type { Arena } from '../arena.ts'

export class SumsFields {
  readonly at: Address
  readonly #view: DataView

  constructor(arena: Arena, at: Address) {
    this.at = at
    this.#view = arena.view(at, 40)
  }

  /** f64: Σ loss. */
  get loss(): number {
    return this.#view.getFloat64(0, true)
  }
  set loss(value: number) {
    this.#view.setFloat64(0, value, true)
  }

  /** f64: Σ of the dual objective's separable part. */
  get dual(): number {
    return this.#view.getFloat64(8, true)
  }
  set dual(value: number) {
    this.#view.setFloat64(8, value, true)
  }

  /** f64: Σ α·margin, which is wᵀ(Σ α y x). */
  get alphaMargin(): number {
    return this.#view.getFloat64(16, true)
  }
  set alphaMargin(value: number) {
    this.#view.setFloat64(16, value, true)
  }

  /** f64: rows on the right side. */
  get correct(): number {
    return this.#view.getFloat64(24, true)
  }
  set correct(value: number) {
    this.#view.setFloat64(24, value, true)
  }

  /** f64: rows with α > 0. */
  get support(): number {
    return this.#view.getFloat64(32, true)
  }
  set support(value: number) {
    this.#view.setFloat64(32, value, true)
  }
}
