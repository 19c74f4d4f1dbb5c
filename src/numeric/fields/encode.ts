// The fields of the structure Encode, read and written by name. Made by `npm run layouts` from the tables in
// structures/: change those.
import type { Address } from '../../sizes.ts'
import type { Arena } from '../arena.ts'

export class EncodeFields {
  readonly at: Address
  readonly #view: DataView

  constructor(arena: Arena, at: Address) {
    this.at = at
    this.#view = arena.view(at, 80)
  }

  /** u32: address of the batch. */
  get batch(): Address {
    return this.#view.getUint32(0, true)
  }
  set batch(value: Address) {
    this.#view.setUint32(0, value, true)
  }

  /** u32: address of u32[rows], numbers of the batch's rows that go into this segment, rising. */
  get rowList(): Address {
    return this.#view.getUint32(4, true)
  }
  set rowList(value: Address) {
    this.#view.setUint32(4, value, true)
  }

  /** u32: rows of the segment. */
  get rows(): number {
    return this.#view.getUint32(8, true)
  }
  set rows(value: number) {
    this.#view.setUint32(8, value, true)
  }

  /** u32: nonzeros of the segment. */
  get nonzeros(): number {
    return this.#view.getUint32(12, true)
  }
  set nonzeros(value: number) {
    this.#view.setUint32(12, value, true)
  }

  /** u32: position of the batch's first row in its chunk. */
  get firstPosition(): number {
    return this.#view.getUint32(16, true)
  }
  set firstPosition(value: number) {
    this.#view.setUint32(16, value, true)
  }

  /** u32: number of the block. */
  get block(): number {
    return this.#view.getUint32(20, true)
  }
  set block(value: number) {
    this.#view.setUint32(20, value, true)
  }

  /** u32: address of the segment, header, then payload. */
  get out(): Address {
    return this.#view.getUint32(24, true)
  }
  set out(value: Address) {
    this.#view.setUint32(24, value, true)
  }

  /** u32: address of u32[nonzeros + 4]. */
  get indices(): Address {
    return this.#view.getUint32(28, true)
  }
  set indices(value: Address) {
    this.#view.setUint32(28, value, true)
  }

  /** u32: address of u32[nonzeros + 4]. */
  get gaps(): Address {
    return this.#view.getUint32(32, true)
  }
  set gaps(value: Address) {
    this.#view.setUint32(32, value, true)
  }

  /** u32: address of u32[max(nonzeros, rows) + 4]. */
  get work(): Address {
    return this.#view.getUint32(36, true)
  }
  set work(value: Address) {
    this.#view.setUint32(36, value, true)
  }

  /** u32: address of f64[nonzeros + 2], or f32, as the batch has them. */
  get values(): Address {
    return this.#view.getUint32(40, true)
  }
  set values(value: Address) {
    this.#view.setUint32(40, value, true)
  }

  /** u32: address of u16[max(nonzeros, rows) + 4]. */
  get codes(): Address {
    return this.#view.getUint32(44, true)
  }
  set codes(value: Address) {
    this.#view.setUint32(44, value, true)
  }

  /** u32: address of u32[rows + 4]. */
  get lengths(): Address {
    return this.#view.getUint32(48, true)
  }
  set lengths(value: Address) {
    this.#view.setUint32(48, value, true)
  }

  /** u32: address of ENCODE_HASH_BYTES bytes, zeros at first: the dictionary of values. */
  get hash(): Address {
    return this.#view.getUint32(52, true)
  }
  set hash(value: Address) {
    this.#view.setUint32(52, value, true)
  }

  /** u32: address of u32[256], width and code tables. */
  get tables(): Address {
    return this.#view.getUint32(56, true)
  }
  set tables(value: Address) {
    this.#view.setUint32(56, value, true)
  }

  /** u32: address of ENCODE_INTERVALS_BYTES bytes, scratch. */
  get intervals(): Address {
    return this.#view.getUint32(60, true)
  }
  set intervals(value: Address) {
    this.#view.setUint32(60, value, true)
  }

  /** u32: generation of the value hash (in and out). */
  get generation(): number {
    return this.#view.getUint32(64, true)
  }
  set generation(value: number) {
    this.#view.setUint32(64, value, true)
  }
}
