// The fields of the structure Dictionary, read and written by name. Made by `npm run layouts` from the tables in
// structures/: change those.
import type { Address } from '../../sizes.ts'
import type { Arena } from '../arena.ts'

export class DictionaryFields {
  readonly at: Address
  readonly #view: DataView

  constructor(arena: Arena, at: Address) {
    this.at = at
    this.#view = arena.view(at, 24)
  }

  /** u32: features that have a number. */
  get count(): number {
    return this.#view.getUint32(0, true)
  }
  set count(value: number) {
    this.#view.setUint32(0, value, true)
  }

  /** u32: how many may get one. */
  get capacity(): number {
    return this.#view.getUint32(4, true)
  }
  set capacity(value: number) {
    this.#view.setUint32(4, value, true)
  }

  /** u32: address of u32[capacity], the features by their numbers. */
  get features(): Address {
    return this.#view.getUint32(8, true)
  }
  set features(value: Address) {
    this.#view.setUint32(8, value, true)
  }

  /** u32: slots of the hash table, a power of two. */
  get slots(): number {
    return this.#view.getUint32(12, true)
  }
  set slots(value: number) {
    this.#view.setUint32(12, value, true)
  }

  /** u32: address of u32[2 × most slots], a feature plus 1 and its number in each slot, or 0. */
  get table(): Address {
    return this.#view.getUint32(16, true)
  }
  set table(value: Address) {
    this.#view.setUint32(16, value, true)
  }

  /** u32: how many slots the table may grow to. */
  get mostSlots(): number {
    return this.#view.getUint32(20, true)
  }
  set mostSlots(value: number) {
    this.#view.setUint32(20, value, true)
  }
}
