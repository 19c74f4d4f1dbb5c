// The fields of the structure Pack, read and written by name. Made by `npm run layouts` from the tables in structures/:
// change those.
import type { Address, ByteCount } from '../../sizes.ts'
import type { Arena } from '../arena.ts'

export class PackFields {
  readonly at: Address
  readonly #view: DataView

  constructor(arena: Arena, at: Address) {
    this.at = at
    this.#view = arena.view(at, 64)
  }

  /** u32: address of the next free byte of the present extent. */
  get next(): Address {
    return this.#view.getUint32(0, true)
  }
  set next(value: Address) {
    this.#view.setUint32(0, value, true)
  }

  /** u32: address of the end of the present extent. */
  get end(): Address {
    return this.#view.getUint32(4, true)
  }
  set end(value: Address) {
    this.#view.setUint32(4, value, true)
  }

  /** u32: address of u32[], receives the address of every packed row. */
  get table(): Address {
    return this.#view.getUint32(8, true)
  }
  set table(value: Address) {
    this.#view.setUint32(8, value, true)
  }

  /** u32: 1 makes every row unit length. */
  get unit(): number {
    return this.#view.getUint32(12, true)
  }
  set unit(value: number) {
    this.#view.setUint32(12, value, true)
  }

  /** u32: 1 keeps every row as indices and values (scaling will change them); 2 makes no dictionaries, which cost more
   *  than they save when rows are packed for a few visits only. */
  get plain(): number {
    return this.#view.getUint32(16, true)
  }
  set plain(value: number) {
    this.#view.setUint32(16, value, true)
  }

  /** u32: address of u32[rows], class numbers. */
  get classes(): Address {
    return this.#view.getUint32(20, true)
  }
  set classes(value: Address) {
    this.#view.setUint32(20, value, true)
  }

  /** u32: address of PACK_HASH_SLOTS × 8 bytes, scratch of the value dictionary. */
  get hash(): Address {
    return this.#view.getUint32(24, true)
  }
  set hash(value: Address) {
    this.#view.setUint32(24, value, true)
  }

  /** u32: rows packed of the present batch (in and out). */
  get rows(): number {
    return this.#view.getUint32(28, true)
  }
  set rows(value: number) {
    this.#view.setUint32(28, value, true)
  }

  /** u32, bytes: of records written so far (in and out). */
  get written(): ByteCount {
    return this.#view.getUint32(32, true)
  }
  set written(value: ByteCount) {
    this.#view.setUint32(32, value, true)
  }

  /** u32: 1 when the extent is all there is: no room beyond it is taken from the arena. */
  get fixed(): number {
    return this.#view.getUint32(36, true)
  }
  set fixed(value: number) {
    this.#view.setUint32(36, value, true)
  }

  /** u32: values, which lie in [0, 1], become numbers of so many bins; 0 for none. */
  get bins(): number {
    return this.#view.getUint32(40, true)
  }
  set bins(value: number) {
    this.#view.setUint32(40, value, true)
  }
}
