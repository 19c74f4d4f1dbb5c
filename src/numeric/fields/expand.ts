// The fields of the structure Expand, read and written by name. Made by `npm run layouts` from the tables in
// structures/: change those.
import type { Address } from '../../sizes.ts'
import type { Arena } from '../arena.ts'

export class ExpandFields {
  readonly at: Address
  readonly #view: DataView

  constructor(arena: Arena, at: Address) {
    this.at = at
    this.#view = arena.view(at, 64)
  }

  /** u32: the next row to be read (in and out). */
  get row(): number {
    return this.#view.getUint32(0, true)
  }
  set row(value: number) {
    this.#view.setUint32(0, value, true)
  }

  /** u32: entries that there must be room for, when the next row does not even fit alone (out); else 0. */
  get needed(): number {
    return this.#view.getUint32(4, true)
  }
  set needed(value: number) {
    this.#view.setUint32(4, value, true)
  }

  /** u32: one of the EXPAND_ERROR_ constants (out); EXPAND_ROW is the row. */
  get error(): number {
    return this.#view.getUint32(8, true)
  }
  set error(value: number) {
    this.#view.setUint32(8, value, true)
  }

  /** u32: weighted degree: the degree. */
  get degree(): number {
    return this.#view.getUint32(12, true)
  }
  set degree(value: number) {
    this.#view.setUint32(12, value, true)
  }

  /** u32: weighted degree: the letters of the alphabet. */
  get letters(): number {
    return this.#view.getUint32(16, true)
  }
  set letters(value: number) {
    this.#view.setUint32(16, value, true)
  }

  /** u32: address of u8[256], weighted degree: the code of each byte. */
  get codes(): Address {
    return this.#view.getUint32(20, true)
  }
  set codes(value: Address) {
    this.#view.setUint32(20, value, true)
  }

  /** u32: hashing: bits of the new feature numbers. */
  get bits(): number {
    return this.#view.getUint32(24, true)
  }
  set bits(value: number) {
    this.#view.setUint32(24, value, true)
  }

  /** u32: address of scratch memory, for hashing rows of the batch's capacity. */
  get scratch(): Address {
    return this.#view.getUint32(28, true)
  }
  set scratch(value: Address) {
    this.#view.setUint32(28, value, true)
  }

  /** u32: address of f64[(bins + 1) · width], table: what stands at bin k is for the value k / bins. */
  get table(): Address {
    return this.#view.getUint32(32, true)
  }
  set table(value: Address) {
    this.#view.setUint32(32, value, true)
  }

  /** u32: table: how many entries one entry becomes. */
  get width(): number {
    return this.#view.getUint32(36, true)
  }
  set width(value: number) {
    this.#view.setUint32(36, value, true)
  }

  /** u32: table: the bins. */
  get bins(): number {
    return this.#view.getUint32(40, true)
  }
  set bins(value: number) {
    this.#view.setUint32(40, value, true)
  }

  /** u32: table: one of the EXPAND_BEYOND_ constants, for values below 0, close to 0 and above 1. */
  get beyond(): number {
    return this.#view.getUint32(44, true)
  }
  set beyond(value: number) {
    this.#view.setUint32(44, value, true)
  }

  /** f64: table, homogeneous: the period of the map. */
  get period(): number {
    return this.#view.getFloat64(48, true)
  }
  set period(value: number) {
    this.#view.setFloat64(48, value, true)
  }

  /** f64: the value that EXPAND_ERROR_NEGATIVE is about (out). */
  get value(): number {
    return this.#view.getFloat64(56, true)
  }
  set value(value: number) {
    this.#view.setFloat64(56, value, true)
  }
}
