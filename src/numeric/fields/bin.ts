// The fields of the structure Bin, read and written by name. Made by `npm run layouts` from the tables in structures/:
// change those.
import type { Address, ByteCount } from '../../sizes.ts'
import type { Arena } from '../arena.ts'

export class BinFields {
  readonly at: Address
  readonly #view: DataView

  constructor(arena: Arena, at: Address) {
    this.at = at
    this.#view = arena.view(at, 48)
  }

  /** f64: how far it lies beyond the band: from 0, inside, to 1, where no row of it can be inside. */
  get beyond(): number {
    return this.#view.getFloat64(0, true)
  }
  set beyond(value: number) {
    this.#view.setFloat64(0, value, true)
  }

  /** f64: decides between nodes that lie equally far. */
  get turn(): number {
    return this.#view.getFloat64(8, true)
  }
  set turn(value: number) {
    this.#view.setFloat64(8, value, true)
  }

  /** f64: offset of its page in the file. */
  get page(): number {
    return this.#view.getFloat64(16, true)
  }
  set page(value: number) {
    this.#view.setFloat64(16, value, true)
  }

  /** u64: XXH64 of that page. */
  get checksum(): bigint {
    return this.#view.getBigUint64(24, true)
  }
  set checksum(value: bigint) {
    this.#view.setBigUint64(24, value, true)
  }

  /** u32, bytes: of that page. */
  get pageBytes(): ByteCount {
    return this.#view.getUint32(32, true)
  }
  set pageBytes(value: ByteCount) {
    this.#view.setUint32(32, value, true)
  }

  /** u32: rows below it. */
  get rows(): number {
    return this.#view.getUint32(36, true)
  }
  set rows(value: number) {
    this.#view.setUint32(36, value, true)
  }

  /** u32: place of its first row among the block's rows in the order of the leaves. */
  get first(): number {
    return this.#view.getUint32(40, true)
  }
  set first(value: number) {
    this.#view.setUint32(40, value, true)
  }

  /** u32: 0. */
  get spare(): number {
    return this.#view.getUint32(44, true)
  }
  set spare(value: number) {
    this.#view.setUint32(44, value, true)
  }
}
