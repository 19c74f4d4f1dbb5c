// The fields of the structure Row, read and written by name. Made by `npm run layouts` from the tables in structures/:
// change those.
import type { Address } from '../../sizes.ts'
import type { Arena } from '../arena.ts'

export class RowFields {
  readonly at: Address
  readonly #view: DataView

  constructor(arena: Arena, at: Address) {
    this.at = at
    this.#view = arena.view(at, 32)
  }

  /** u32: number of entries that follow; for a dense row, its length. */
  get count(): number {
    return this.#view.getUint32(0, true)
  }
  set count(value: number) {
    this.#view.setUint32(0, value, true)
  }

  /** u32: one of the ROW_KIND_ constants. */
  get kind(): number {
    return this.#view.getUint32(4, true)
  }
  set kind(value: number) {
    this.#view.setUint32(4, value, true)
  }

  /** f64: every stored value is multiplied by it, so making a row unit length rewrites no value. */
  get scale(): number {
    return this.#view.getFloat64(8, true)
  }
  set scale(value: number) {
    this.#view.setFloat64(8, value, true)
  }

  /** f64: squared length of the row, scale included, bias not. */
  get norm(): number {
    return this.#view.getFloat64(16, true)
  }
  set norm(value: number) {
    this.#view.setFloat64(16, value, true)
  }

  /** u32: class number of the row's label. */
  get class(): number {
    return this.#view.getUint32(24, true)
  }
  set class(value: number) {
    this.#view.setUint32(24, value, true)
  }

  /** u32: address of the f32 dictionary of a coded row. */
  get dictionary(): Address {
    return this.#view.getUint32(28, true)
  }
  set dictionary(value: Address) {
    this.#view.setUint32(28, value, true)
  }
}
