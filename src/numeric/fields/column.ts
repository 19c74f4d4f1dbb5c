// The fields of the structure Column, read and written by name. Made by `npm run layouts` from the tables in
// structures/: change those.
import type { Address } from '../../sizes.ts'
import type { Arena } from '../arena.ts'

export class ColumnFields {
  readonly at: Address
  readonly #view: DataView

  constructor(arena: Arena, at: Address) {
    this.at = at
    this.#view = arena.view(at, 32)
  }

  /** u32: one of the ROLE_ constants. */
  get role(): number {
    return this.#view.getUint32(0, true)
  }
  set role(value: number) {
    this.#view.setUint32(0, value, true)
  }

  /** u32: the first feature of the column. */
  get feature(): number {
    return this.#view.getUint32(4, true)
  }
  set feature(value: number) {
    this.#view.setUint32(4, value, true)
  }

  /** u32: the feature of a missing cell, or NO_FEATURE. */
  get missing(): number {
    return this.#view.getUint32(8, true)
  }
  set missing(value: number) {
    this.#view.setUint32(8, value, true)
  }

  /** u32: address of u32[mask + 1], a hash table of the values: places in the list and 1, or 0. */
  get table(): Address {
    return this.#view.getUint32(12, true)
  }
  set table(value: Address) {
    this.#view.setUint32(12, value, true)
  }

  /** u32: slots of that table less 1; they are a power of two. */
  get mask(): number {
    return this.#view.getUint32(16, true)
  }
  set mask(value: number) {
    this.#view.setUint32(16, value, true)
  }

  /** u32: address of two u32 a value, the list of values: address and length of each. */
  get entries(): Address {
    return this.#view.getUint32(20, true)
  }
  set entries(value: Address) {
    this.#view.setUint32(20, value, true)
  }

  /** u32: of a column that is hashed. */
  get bits(): number {
    return this.#view.getUint32(24, true)
  }
  set bits(value: number) {
    this.#view.setUint32(24, value, true)
  }
}
