// The fields of the structure Page, read and written by name. Made by `npm run layouts` from the tables in structures/:
// change those.
import type { Address } from '../../sizes.ts'
import type { Arena } from '../arena.ts'

export class PageFields {
  readonly at: Address
  readonly #view: DataView

  constructor(arena: Arena, at: Address) {
    this.at = at
    this.#view = arena.view(at, 12288)
  }

  /** u32[2048]: a bit for each feature that occurs. Loops read 64 at a time. */
  get words(): Uint32Array {
    return new Uint32Array(this.#view.buffer, this.#view.byteOffset, 2048)
  }

  /** u32[1024]: for each 64 features, how many occur before them. */
  get before(): Uint32Array {
    return new Uint32Array(this.#view.buffer, this.#view.byteOffset + 8192, 1024)
  }
}
