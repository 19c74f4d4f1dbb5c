// The fields of the structure Parse, read and written by name. Made by `npm run layouts` from the tables in
// structures/: change those.
import type { Address } from '../../sizes.ts'
import type { Arena } from '../arena.ts'

export class ParseFields {
  readonly at: Address
  readonly #view: DataView

  constructor(arena: Arena, at: Address) {
    this.at = at
    this.#view = arena.view(at, 320)
  }

  /** u32: address of the next byte to parse, in and out. */
  get cursor(): Address {
    return this.#view.getUint32(0, true)
  }
  set cursor(value: Address) {
    this.#view.setUint32(0, value, true)
  }

  /** u32: address of the end of the text. The byte before it is a line feed, 32 readable bytes follow it. */
  get end(): Address {
    return this.#view.getUint32(4, true)
  }
  set end(value: Address) {
    this.#view.setUint32(4, value, true)
  }

  /** u32: number that the file gives to its first feature, 0 or 1. */
  get indexBase(): number {
    return this.#view.getUint32(8, true)
  }
  set indexBase(value: number) {
    this.#view.setUint32(8, value, true)
  }

  /** u32: 1 to step over bad rows, 0 to stop at the first. */
  get skipBad(): number {
    return this.#view.getUint32(12, true)
  }
  set skipBad(value: number) {
    this.#view.setUint32(12, value, true)
  }

  /** u32: lines finished so far (in and out). */
  get lines(): number {
    return this.#view.getUint32(16, true)
  }
  set lines(value: number) {
    this.#view.setUint32(16, value, true)
  }

  /** u32: bad rows so far (in and out). */
  get badRows(): number {
    return this.#view.getUint32(20, true)
  }
  set badRows(value: number) {
    this.#view.setUint32(20, value, true)
  }

  /** u32[64]: the first PARSE_ERROR_ROOM errors: code, line, address of the offending byte, address of the line's
   *  start. */
  get errors(): Uint32Array {
    return new Uint32Array(this.#view.buffer, this.#view.byteOffset + 24, 64)
  }

  /** u32: explicit zero values dropped so far (in and out). */
  get zeros(): number {
    return this.#view.getUint32(280, true)
  }
  set zeros(value: number) {
    this.#view.setUint32(280, value, true)
  }

  /** u32: values that need the slow, exact conversion (only when values are f64): entry number and text address. */
  get slowCount(): number {
    return this.#view.getUint32(284, true)
  }
  set slowCount(value: number) {
    this.#view.setUint32(284, value, true)
  }

  /** u32: address of the list of such values, two u32 each. */
  get slow(): Address {
    return this.#view.getUint32(288, true)
  }
  set slow(value: Address) {
    this.#view.setUint32(288, value, true)
  }

  /** u32: room in that list; when it is full the parser returns early. */
  get slowCapacity(): number {
    return this.#view.getUint32(292, true)
  }
  set slowCapacity(value: number) {
    this.#view.setUint32(292, value, true)
  }

  /** u32: 1 when the next row alone is too long for the batch, and a longer one may be read (out). */
  get needsRoom(): number {
    return this.#view.getUint32(296, true)
  }
  set needsRoom(value: number) {
    this.#view.setUint32(296, value, true)
  }
}
