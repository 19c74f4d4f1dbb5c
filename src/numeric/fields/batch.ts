// The fields of the structure Batch, read and written by name. Made by `npm run layouts` from the tables in
// structures/: change those.
import type { Address, ByteCount } from '../../sizes.ts'
import type { Arena } from '../arena.ts'

export class BatchFields {
  readonly at: Address
  readonly #view: DataView

  constructor(arena: Arena, at: Address) {
    this.at = at
    this.#view = arena.view(at, 64)
  }

  /** u32: rows. */
  get rows(): number {
    return this.#view.getUint32(0, true)
  }
  set rows(value: number) {
    this.#view.setUint32(0, value, true)
  }

  /** u32: nonzeros. */
  get nonzeros(): number {
    return this.#view.getUint32(4, true)
  }
  set nonzeros(value: number) {
    this.#view.setUint32(4, value, true)
  }

  /** u32: address of u32[rows + 1], where each row starts among the entries. */
  get starts(): Address {
    return this.#view.getUint32(8, true)
  }
  set starts(value: Address) {
    this.#view.setUint32(8, value, true)
  }

  /** u32: address of f64[rows], the labels. In place of a label of text stands its code: XXH64 of its bytes with the
   *  bits of LABEL_TEXT_UPPER set in the upper half, which no number has. Loops must move labels as bits: arithmetic
   *  may change a NaN. */
  get labels(): Address {
    return this.#view.getUint32(12, true)
  }
  set labels(value: Address) {
    this.#view.setUint32(12, value, true)
  }

  /** u32: address of u32[nonzeros], zero-based feature numbers, rising within a row. */
  get indices(): Address {
    return this.#view.getUint32(16, true)
  }
  set indices(value: Address) {
    this.#view.setUint32(16, value, true)
  }

  /** u32: address of f32[nonzeros] or f64[nonzeros]. */
  get values(): Address {
    return this.#view.getUint32(20, true)
  }
  set values(value: Address) {
    this.#view.setUint32(20, value, true)
  }

  /** u32, bytes: 4 when values are f32, 8 when they are f64. */
  get valueBytes(): ByteCount {
    return this.#view.getUint32(24, true)
  }
  set valueBytes(value: ByteCount) {
    this.#view.setUint32(24, value, true)
  }

  /** u32: features seen: one more than the largest feature number, explicit zeros included. */
  get features(): number {
    return this.#view.getUint32(28, true)
  }
  set features(value: number) {
    this.#view.setUint32(28, value, true)
  }

  /** u32: room for so many rows. */
  get rowCapacity(): number {
    return this.#view.getUint32(32, true)
  }
  set rowCapacity(value: number) {
    this.#view.setUint32(32, value, true)
  }

  /** u32: room for so many nonzeros. */
  get nonzeroCapacity(): number {
    return this.#view.getUint32(36, true)
  }
  set nonzeroCapacity(value: number) {
    this.#view.setUint32(36, value, true)
  }

  /** u32: address of u32[rows], where each row's label stands in the text. */
  get labelAt(): Address {
    return this.#view.getUint32(40, true)
  }
  set labelAt(value: Address) {
    this.#view.setUint32(40, value, true)
  }

  /** u32: address of u32[nonzeros], the upper halves of feature numbers that may pass 2^32, or 0. Only expansions that
   *  hash them afterwards make such. */
  get upper(): Address {
    return this.#view.getUint32(44, true)
  }
  set upper(value: Address) {
    this.#view.setUint32(44, value, true)
  }

  /** u32: address of f64[rows], weights of the rows, or room for them; 0 where there is none. */
  get weights(): Address {
    return this.#view.getUint32(48, true)
  }
  set weights(value: Address) {
    this.#view.setUint32(48, value, true)
  }

  /** u32: 1 when the rows have those weights; else each counts once. */
  get weighted(): number {
    return this.#view.getUint32(52, true)
  }
  set weighted(value: number) {
    this.#view.setUint32(52, value, true)
  }
}
