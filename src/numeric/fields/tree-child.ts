// The fields of the structure TreeChild, read and written by name. Made by `npm run layouts` from the tables in
// structures/: change those.
import type { Address, ByteCount } from '../../sizes.ts'
import type { Arena } from '../arena.ts'

export class TreeChildFields {
  readonly at: Address
  readonly #view: DataView

  constructor(arena: Arena, at: Address) {
    this.at = at
    this.#view = arena.view(at, 80)
  }

  /** f64: no row is further from the centre. */
  get radius(): number {
    return this.#view.getFloat64(0, true)
  }
  set radius(value: number) {
    this.#view.setFloat64(0, value, true)
  }

  /** f64: no row makes a larger angle with the centre. */
  get angle(): number {
    return this.#view.getFloat64(8, true)
  }
  set angle(value: number) {
    this.#view.setFloat64(8, value, true)
  }

  /** f64: length of the shortest row. */
  get shortest(): number {
    return this.#view.getFloat64(16, true)
  }
  set shortest(value: number) {
    this.#view.setFloat64(16, value, true)
  }

  /** f64: length of the longest row. */
  get longest(): number {
    return this.#view.getFloat64(24, true)
  }
  set longest(value: number) {
    this.#view.setFloat64(24, value, true)
  }

  /** u64: offset of its page in the file. */
  get page(): bigint {
    return this.#view.getBigUint64(32, true)
  }
  set page(value: bigint) {
    this.#view.setBigUint64(32, value, true)
  }

  /** u64: XXH64 of that page. */
  get checksum(): bigint {
    return this.#view.getBigUint64(40, true)
  }
  set checksum(value: bigint) {
    this.#view.setBigUint64(40, value, true)
  }

  /** u32, bytes: of that page. */
  get pageBytes(): ByteCount {
    return this.#view.getUint32(48, true)
  }
  set pageBytes(value: ByteCount) {
    this.#view.setUint32(48, value, true)
  }

  /** u32: rows below it. */
  get rows(): number {
    return this.#view.getUint32(52, true)
  }
  set rows(value: number) {
    this.#view.setUint32(52, value, true)
  }

  /** u32: class number of all of them, or TREE_MIXED. */
  get class(): number {
    return this.#view.getUint32(56, true)
  }
  set class(value: number) {
    this.#view.setUint32(56, value, true)
  }

  /** u32: offset of the centre's record in this page. */
  get centre(): number {
    return this.#view.getUint32(60, true)
  }
  set centre(value: number) {
    this.#view.setUint32(60, value, true)
  }

  /** u32: place of its first row among the block's rows in the order of the leaves. */
  get first(): number {
    return this.#view.getUint32(64, true)
  }
  set first(value: number) {
    this.#view.setUint32(64, value, true)
  }

  /** u32: offset in this page of f32[2 × features], the least and then the largest value of each feature among its
   *  rows; 0 for none. */
  get box(): number {
    return this.#view.getUint32(68, true)
  }
  set box(value: number) {
    this.#view.setUint32(68, value, true)
  }

  /** u32: 1 for a leaf. */
  get leaf(): number {
    return this.#view.getUint32(72, true)
  }
  set leaf(value: number) {
    this.#view.setUint32(72, value, true)
  }

  /** u32: 0. */
  get spare(): number {
    return this.#view.getUint32(76, true)
  }
  set spare(value: number) {
    this.#view.setUint32(76, value, true)
  }
}
