// The fields of the structure Halves, read and written by name. Made by `npm run layouts` from the tables in
// structures/: change those.
import type { Address } from '../../sizes.ts'
import type { Arena } from '../arena.ts'

export class HalvesFields {
  readonly at: Address
  readonly #view: DataView

  constructor(arena: Arena, at: Address) {
    this.at = at
    this.#view = arena.view(at, 32)
  }

  /** u32: address of u32[rows], how many entries of each row, its first ones, are the first half. */
  get splits(): Address {
    return this.#view.getUint32(0, true)
  }
  set splits(value: Address) {
    this.#view.setUint32(0, value, true)
  }

  /** u32: address of what trainers hand to each other. HALVES_SLOT bytes for each of the last HALVES_RING rows. */
  get slots(): Address {
    return this.#view.getUint32(4, true)
  }
  set slots(value: Address) {
    this.#view.setUint32(4, value, true)
  }

  /** u32: next position of the first trainer (in and out). */
  get first(): number {
    return this.#view.getUint32(8, true)
  }
  set first(value: number) {
    this.#view.setUint32(8, value, true)
  }

  /** u32: next position of the second trainer (in and out). */
  get second(): number {
    return this.#view.getUint32(12, true)
  }
  set second(value: number) {
    this.#view.setUint32(12, value, true)
  }

  /** u32: so far slots have the rows that the second trainer meets (in and out). */
  get loaded(): number {
    return this.#view.getUint32(16, true)
  }
  set loaded(value: number) {
    this.#view.setUint32(16, value, true)
  }

  /** u32: active rows that were met and not shrunk (in and out). */
  get kept(): number {
    return this.#view.getUint32(20, true)
  }
  set kept(value: number) {
    this.#view.setUint32(20, value, true)
  }

  /** u32: 1 when the first trainer has stopped. */
  get stop(): number {
    return this.#view.getUint32(24, true)
  }
  set stop(value: number) {
    this.#view.setUint32(24, value, true)
  }

  /** u32: 1 when it stopped because the second one did not answer (out). */
  get gaveUp(): number {
    return this.#view.getUint32(28, true)
  }
  set gaveUp(value: number) {
    this.#view.setUint32(28, value, true)
  }
}
