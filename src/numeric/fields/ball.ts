// The fields of the structure Ball, read and written by name. Made by `npm run layouts` from the tables in structures/:
// change those.
import type { Address } from '../../sizes.ts'
import type { Arena } from '../arena.ts'

export class BallFields {
  readonly at: Address
  readonly #view: DataView

  constructor(arena: Arena, at: Address) {
    this.at = at
    this.#view = arena.view(at, 40)
  }

  /** f64: the radius R. */
  get radius(): number {
    return this.#view.getFloat64(0, true)
  }
  set radius(value: number) {
    this.#view.setFloat64(0, value, true)
  }

  /** f64: ξ², squared length of the part of the centre that lies in the directions of the rows' slacks. */
  get slack(): number {
    return this.#view.getFloat64(8, true)
  }
  set slack(value: number) {
    this.#view.setFloat64(8, value, true)
  }

  /** f64: squared length of the whole centre, ‖w‖² + ξ²; the weights are w divided by it. 0 before the first row. */
  get square(): number {
    return this.#view.getFloat64(16, true)
  }
  set square(value: number) {
    this.#view.setFloat64(16, value, true)
  }

  /** f64: rows that moved the ball. */
  get updates(): number {
    return this.#view.getFloat64(24, true)
  }
  set updates(value: number) {
    this.#view.setFloat64(24, value, true)
  }

  /** f64: losses of the block's rows as they were met (out). */
  get loss(): number {
    return this.#view.getFloat64(32, true)
  }
  set loss(value: number) {
    this.#view.setFloat64(32, value, true)
  }
}
