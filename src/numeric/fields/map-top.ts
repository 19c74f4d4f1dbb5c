// The fields of the structure MapTop, read and written by name. Made by `npm run layouts` from the tables in
// structures/: change those.
import type { Address } from '../../sizes.ts'
import type { Arena } from '../arena.ts'

export class MapTopFields {
  readonly at: Address
  readonly #view: DataView

  constructor(arena: Arena, at: Address) {
    this.at = at
    this.#view = arena.view(at, 262208)
  }

  /** u32[65536]: addresses of pages, 0 for none. */
  get pages(): Uint32Array {
    return new Uint32Array(this.#view.buffer, this.#view.byteOffset, 65536)
  }

  /** u32: how many pages may still be taken. */
  get left(): number {
    return this.#view.getUint32(262144, true)
  }
  set left(value: number) {
    this.#view.setUint32(262144, value, true)
  }
}
