// The fields of the structure Drawing, read and written by name. Made by `npm run layouts` from the tables in
// structures/: change those.
import type { Address } from '../../sizes.ts'
import type { Arena } from '../arena.ts'

export class DrawingFields {
  readonly at: Address
  readonly #view: DataView

  constructor(arena: Arena, at: Address) {
    this.at = at
    this.#view = arena.view(at, 8)
  }

  /** u32: address of f32[4 × segments], x and y of both ends of each straight piece. */
  get strokes(): Address {
    return this.#view.getUint32(0, true)
  }
  set strokes(value: Address) {
    this.#view.setUint32(0, value, true)
  }

  /** u32: straight pieces. */
  get segments(): number {
    return this.#view.getUint32(4, true)
  }
  set segments(value: number) {
    this.#view.setUint32(4, value, true)
  }
}
