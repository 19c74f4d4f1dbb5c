// The fields of the structure TreePage, read and written by name. Made by `npm run layouts` from the tables in
// structures/: change those.
import type { Address, ByteCount } from '../../sizes.ts'
import type { Arena } from '../arena.ts'

export class TreePageFields {
  readonly at: Address
  readonly #view: DataView

  constructor(arena: Arena, at: Address) {
    this.at = at
    this.#view = arena.view(at, 16)
  }

  /** u32: one of the TREE_KIND_ constants. */
  get kind(): number {
    return this.#view.getUint32(0, true)
  }
  set kind(value: number) {
    this.#view.setUint32(0, value, true)
  }

  /** u32: rows of a leaf, or children of an inner node, that follow. */
  get count(): number {
    return this.#view.getUint32(4, true)
  }
  set count(value: number) {
    this.#view.setUint32(4, value, true)
  }

  /** u32, bytes: of the whole page. */
  get length(): ByteCount {
    return this.#view.getUint32(8, true)
  }
  set length(value: ByteCount) {
    this.#view.setUint32(8, value, true)
  }

  /** u32: 0. */
  get spare(): number {
    return this.#view.getUint32(12, true)
  }
  set spare(value: number) {
    this.#view.setUint32(12, value, true)
  }
}
