// The fields of the structure Slot, read and written by name. Made by `npm run layouts` from the tables in structures/:
// change those.
import type { Address } from '../../sizes.ts'
import type { Arena } from '../arena.ts'

export class SlotFields {
  readonly at: Address
  readonly #view: DataView

  constructor(arena: Arena, at: Address) {
    this.at = at
    this.#view = arena.view(at, 28736)
  }

  /** u32: nonzeros of the chunk (out). */
  get nonzeros(): number {
    return this.#view.getUint32(0, true)
  }
  set nonzeros(value: number) {
    this.#view.setUint32(0, value, true)
  }

  /** u32: rows labelled positive (out). */
  get positive(): number {
    return this.#view.getUint32(4, true)
  }
  set positive(value: number) {
    this.#view.setUint32(4, value, true)
  }

  /** u32[1024]: four histograms of bytes. */
  get histograms(): Uint32Array {
    return new Uint32Array(this.#view.buffer, this.#view.byteOffset + 64, 1024)
  }

  /** u8[16384]: 16 bytes a count: `:value `, the last byte its length. */
  get texts(): Uint8Array {
    return new Uint8Array(this.#view.buffer, this.#view.byteOffset + 4160, 16384)
  }

  /** u32[1024]: for each count, the number of the row whose value the text is. */
  get stamps(): Uint32Array {
    return new Uint32Array(this.#view.buffer, this.#view.byteOffset + 20544, 1024)
  }

  /** u32[1024]: the counts that a row has. */
  get distinct(): Uint32Array {
    return new Uint32Array(this.#view.buffer, this.#view.byteOffset + 24640, 1024)
  }
}
