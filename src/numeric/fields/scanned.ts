// The fields of the structure Scanned, read and written by name. Made by `npm run layouts` from the tables in
// structures/: change those.
import type { Address, ByteCount } from '../../sizes.ts'
import type { Arena } from '../arena.ts'

export class ScannedFields {
  readonly at: Address
  readonly #view: DataView

  constructor(arena: Arena, at: Address) {
    this.at = at
    this.#view = arena.view(at, 48)
  }

  /** u32: one of the LOOK_ constants. */
  get look(): number {
    return this.#view.getUint32(0, true)
  }
  set look(value: number) {
    this.#view.setUint32(0, value, true)
  }

  /** u32: cells that are missing (out). */
  get missing(): number {
    return this.#view.getUint32(4, true)
  }
  set missing(value: number) {
    this.#view.setUint32(4, value, true)
  }

  /** u32: cells that are numbers (out). */
  get numbers(): number {
    return this.#view.getUint32(8, true)
  }
  set numbers(value: number) {
    this.#view.setUint32(8, value, true)
  }

  /** u32: other cells (out). */
  get texts(): number {
    return this.#view.getUint32(12, true)
  }
  set texts(value: number) {
    this.#view.setUint32(12, value, true)
  }

  /** u32: address of the first of them, (out). */
  get firstText(): Address {
    return this.#view.getUint32(16, true)
  }
  set firstText(value: Address) {
    this.#view.setUint32(16, value, true)
  }

  /** u32, bytes: of it (out). */
  get firstBytes(): ByteCount {
    return this.#view.getUint32(20, true)
  }
  set firstBytes(value: ByteCount) {
    this.#view.setUint32(20, value, true)
  }

  /** u32: and its line (out). */
  get firstLine(): number {
    return this.#view.getUint32(24, true)
  }
  set firstLine(value: number) {
    this.#view.setUint32(24, value, true)
  }

  /** u32: address of u32[mask + 1], as in a column. */
  get table(): Address {
    return this.#view.getUint32(28, true)
  }
  set table(value: Address) {
    this.#view.setUint32(28, value, true)
  }

  /** u32:  */
  get mask(): number {
    return this.#view.getUint32(32, true)
  }
  set mask(value: number) {
    this.#view.setUint32(32, value, true)
  }

  /** u32: address of two u32 a value, the upper bit of a length marks a value whose quotes are doubled. */
  get entries(): Address {
    return this.#view.getUint32(36, true)
  }
  set entries(value: Address) {
    this.#view.setUint32(36, value, true)
  }

  /** u32: values in the list (in and out). */
  get count(): number {
    return this.#view.getUint32(40, true)
  }
  set count(value: number) {
    this.#view.setUint32(40, value, true)
  }

  /** u32: values that the list and the table have room for. */
  get room(): number {
    return this.#view.getUint32(44, true)
  }
  set room(value: number) {
    this.#view.setUint32(44, value, true)
  }
}
