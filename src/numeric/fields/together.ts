// The fields of the structure Together, read and written by name. Made by `npm run layouts` from the tables in
// structures/: change those.
import type { Address, ByteCount } from '../../sizes.ts'
import type { Arena } from '../arena.ts'

export class TogetherFields {
  readonly at: Address
  readonly #view: DataView

  constructor(arena: Arena, at: Address) {
    this.at = at
    this.#view = arena.view(at, 56)
  }

  /** u32: address of u32[rows], row record addresses. */
  get rows(): Address {
    return this.#view.getUint32(0, true)
  }
  set rows(value: Address) {
    this.#view.setUint32(0, value, true)
  }

  /** u32: classes, K. */
  get classes(): number {
    return this.#view.getUint32(4, true)
  }
  set classes(value: number) {
    this.#view.setUint32(4, value, true)
  }

  /** u32, bytes: from one feature's weights to the next: K is rounded up to an even number, and the weight too many
   *  stays 0. */
  get stride(): ByteCount {
    return this.#view.getUint32(8, true)
  }
  set stride(value: ByteCount) {
    this.#view.setUint32(8, value, true)
  }

  /** u32: address of the weights, f64, one for each class of a feature together. */
  get weights(): Address {
    return this.#view.getUint32(12, true)
  }
  set weights(value: Address) {
    this.#view.setUint32(12, value, true)
  }

  /** u32: address of the weights of the bias. */
  get biasWeights(): Address {
    return this.#view.getUint32(16, true)
  }
  set biasWeights(value: Address) {
    this.#view.setUint32(16, value, true)
  }

  /** u32: address of f64[rows × K], the dual variables. */
  get alpha(): Address {
    return this.#view.getUint32(20, true)
  }
  set alpha(value: Address) {
    this.#view.setUint32(20, value, true)
  }

  /** u32: address of u32[], the place of a class among the weights by its number in row records. */
  get places(): Address {
    return this.#view.getUint32(24, true)
  }
  set places(value: Address) {
    this.#view.setUint32(24, value, true)
  }

  /** u32: address of f64[K], the cost of a row by the place of its class. */
  get costs(): Address {
    return this.#view.getUint32(28, true)
  }
  set costs(value: Address) {
    this.#view.setUint32(28, value, true)
  }

  /** u32: address of u64[rows × words], a bit for each class: 1 when it is shrunk for that row. */
  get shrunk(): Address {
    return this.#view.getUint32(32, true)
  }
  set shrunk(value: Address) {
    this.#view.setUint32(32, value, true)
  }

  /** u32: words of 64 bits for each row. */
  get words(): number {
    return this.#view.getUint32(36, true)
  }
  set words(value: number) {
    this.#view.setUint32(36, value, true)
  }

  /** u32: address of scratch memory of the sweep. TOGETHER_SCRATCH_CLASS bytes for each class (K rounded up). */
  get scratch(): Address {
    return this.#view.getUint32(40, true)
  }
  set scratch(value: Address) {
    this.#view.setUint32(40, value, true)
  }

  /** u32: address of f64[rows], the weight of each row, which its cost is multiplied by; 0 for none. */
  get rowWeights(): Address {
    return this.#view.getUint32(44, true)
  }
  set rowWeights(value: Address) {
    this.#view.setUint32(44, value, true)
  }

  /** f64: value of the bias feature in every row, 0 for none. */
  get bias(): number {
    return this.#view.getFloat64(48, true)
  }
  set bias(value: number) {
    this.#view.setFloat64(48, value, true)
  }
}
