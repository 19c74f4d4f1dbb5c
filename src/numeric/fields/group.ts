// The fields of the structure Group, read and written by name. Made by `npm run layouts` from the tables in
// structures/: change those.
import type { Address } from '../../sizes.ts'
import type { Arena } from '../arena.ts'

export class GroupFields {
  readonly at: Address
  readonly #view: DataView

  constructor(arena: Arena, at: Address) {
    this.at = at
    this.#view = arena.view(at, 32)
  }

  /** u32: zero-based number of its first feature. */
  get first(): number {
    return this.#view.getUint32(0, true)
  }
  set first(value: number) {
    this.#view.setUint32(0, value, true)
  }

  /** u32: address of f64[GENERATE_BINS + 1], ranks at even steps of probability. */
  get ranks(): Address {
    return this.#view.getUint32(4, true)
  }
  set ranks(value: Address) {
    this.#view.setUint32(4, value, true)
  }

  /** u32: address of u32[GENERATE_LENGTHS], numbers of draws a row at even steps of probability; 0 when every row draws
   *  once and nothing is scattered. */
  get draws(): Address {
    return this.#view.getUint32(8, true)
  }
  set draws(value: Address) {
    this.#view.setUint32(8, value, true)
  }

  /** u32: clusters that ranks are scattered over; 0 leaves features in the order of their rank. */
  get clusters(): number {
    return this.#view.getUint32(12, true)
  }
  set clusters(value: number) {
    this.#view.setUint32(12, value, true)
  }

  /** u32: distance from cluster to cluster. */
  get stride(): number {
    return this.#view.getUint32(16, true)
  }
  set stride(value: number) {
    this.#view.setUint32(16, value, true)
  }

  /** u32: features in a cluster. */
  get run(): number {
    return this.#view.getUint32(20, true)
  }
  set run(value: number) {
    this.#view.setUint32(20, value, true)
  }

  /** u32: bytes that hold the largest feature number within the group. */
  get keyBytes(): number {
    return this.#view.getUint32(24, true)
  }
  set keyBytes(value: number) {
    this.#view.setUint32(24, value, true)
  }
}
