// The fields of the structure Bundle, read and written by name. Made by `npm run layouts` from the tables in
// structures/: change those.
import type { Address } from '../../sizes.ts'
import type { Arena } from '../arena.ts'

export class BundleFields {
  readonly at: Address
  readonly #view: DataView

  constructor(arena: Arena, at: Address) {
    this.at = at
    this.#view = arena.view(at, 1088)
  }

  /** u32: address of u32[rows], row record addresses. */
  get rows(): Address {
    return this.#view.getUint32(0, true)
  }
  set rows(value: Address) {
    this.#view.setUint32(0, value, true)
  }

  /** u32: rows. */
  get count(): number {
    return this.#view.getUint32(4, true)
  }
  set count(value: number) {
    this.#view.setUint32(4, value, true)
  }

  /** u32: address of the dual variables, for each row one f64 a lane; logistic: then C − α, again one a lane. */
  get alpha(): Address {
    return this.#view.getUint32(8, true)
  }
  set alpha(value: Address) {
    this.#view.setUint32(8, value, true)
  }

  /** u32: address of the weights, for each feature one f64 a lane. */
  get weights(): Address {
    return this.#view.getUint32(12, true)
  }
  set weights(value: Address) {
    this.#view.setUint32(12, value, true)
  }

  /** u32: number of the bias feature. */
  get biasFeature(): number {
    return this.#view.getUint32(16, true)
  }
  set biasFeature(value: number) {
    this.#view.setUint32(16, value, true)
  }

  /** u32: 1 when the loss is logistic. */
  get logistic(): number {
    return this.#view.getUint32(20, true)
  }
  set logistic(value: number) {
    this.#view.setUint32(20, value, true)
  }

  /** f64: value of the bias feature, 0 for none. */
  get bias(): number {
    return this.#view.getFloat64(24, true)
  }
  set bias(value: number) {
    this.#view.setFloat64(24, value, true)
  }

  /** u32: address of u8[rows], the fold of each row, or 0. */
  get folds(): Address {
    return this.#view.getUint32(32, true)
  }
  set folds(value: Address) {
    this.#view.setUint32(32, value, true)
  }

  /** u32: how many lanes are models. */
  get models(): number {
    return this.#view.getUint32(36, true)
  }
  set models(value: number) {
    this.#view.setUint32(36, value, true)
  }

  /** u32: a bit for each lane that is still trained. */
  get active(): number {
    return this.#view.getUint32(40, true)
  }
  set active(value: number) {
    this.#view.setUint32(40, value, true)
  }

  /** u32: address of f64[rows], where a sweep notes what each row is worth to the models together, or 0. */
  get worth(): Address {
    return this.#view.getUint32(44, true)
  }
  set worth(value: Address) {
    this.#view.setUint32(44, value, true)
  }

  /** u32: address of f64[rows], the weight of each row, which its costs are multiplied by; 0 for none. */
  get rowWeights(): Address {
    return this.#view.getUint32(48, true)
  }
  set rowWeights(value: Address) {
    this.#view.setUint32(48, value, true)
  }

  /** u32[8]: class number that is positive, for each lane. */
  get positive(): Uint32Array {
    return new Uint32Array(this.#view.buffer, this.#view.byteOffset + 64, 8)
  }

  /** u32[8]: fold that is held out, for each lane; 2^32 − 1 for none. */
  get heldOut(): Uint32Array {
    return new Uint32Array(this.#view.buffer, this.#view.byteOffset + 96, 8)
  }

  /** f64[8]: upper bound of the box dual for positive rows, for each lane: see PROBLEM_. */
  get boundPositive(): Float64Array {
    return new Float64Array(this.#view.buffer, this.#view.byteOffset + 128, 8)
  }

  /** f64[8]: the same for negative rows. */
  get boundNegative(): Float64Array {
    return new Float64Array(this.#view.buffer, this.#view.byteOffset + 192, 8)
  }

  /** f64[8]: diagonal of the box dual for positive rows, for each lane. */
  get diagonalPositive(): Float64Array {
    return new Float64Array(this.#view.buffer, this.#view.byteOffset + 256, 8)
  }

  /** f64[8]: the same for negative rows. */
  get diagonalNegative(): Float64Array {
    return new Float64Array(this.#view.buffer, this.#view.byteOffset + 320, 8)
  }

  /** f64[8]: the largest projected gradient of the present sweep, for each lane (in and out). */
  get gradientMax(): Float64Array {
    return new Float64Array(this.#view.buffer, this.#view.byteOffset + 384, 8)
  }

  /** f64[8]: the smallest projected gradient (in and out). */
  get gradientMin(): Float64Array {
    return new Float64Array(this.#view.buffer, this.#view.byteOffset + 448, 8)
  }

  /** f64[8]: losses in the present sweep, for each lane (in and out). */
  get loss(): Float64Array {
    return new Float64Array(this.#view.buffer, this.#view.byteOffset + 512, 8)
  }

  /** f64[8]: debts to the gap in the present sweep, for each lane (in and out). */
  get gap(): Float64Array {
    return new Float64Array(this.#view.buffer, this.#view.byteOffset + 576, 8)
  }

  /** f64[8]: upper threshold of shrinking, from the last sweep, for each lane. */
  get upper(): Float64Array {
    return new Float64Array(this.#view.buffer, this.#view.byteOffset + 640, 8)
  }

  /** f64[8]: lower threshold of shrinking. */
  get lower(): Float64Array {
    return new Float64Array(this.#view.buffer, this.#view.byteOffset + 704, 8)
  }

  /** f64[8]: scratch for a row's dot products; between sweeps for squared lengths of weights. */
  get dots(): Float64Array {
    return new Float64Array(this.#view.buffer, this.#view.byteOffset + 768, 8)
  }

  /** f64[8]: scratch for a row's steps. */
  get steps(): Float64Array {
    return new Float64Array(this.#view.buffer, this.#view.byteOffset + 832, 8)
  }

  /** u32[8]: where a held-out row's score goes, for each lane: the number of a column. */
  get column(): Uint32Array {
    return new Uint32Array(this.#view.buffer, this.#view.byteOffset + 896, 8)
  }

  /** u32[8]: of each lane: see SWEEP_. */
  get momentum(): Uint32Array {
    return new Uint32Array(this.#view.buffer, this.#view.byteOffset + 928, 8)
  }

  /** f64[8]: of each lane: the share of the last sweep that its dual variables are carried on by. */
  get shares(): Float64Array {
    return new Float64Array(this.#view.buffer, this.#view.byteOffset + 960, 8)
  }

  /** f64[8]: scratch: what that gains. */
  get gains(): Float64Array {
    return new Float64Array(this.#view.buffer, this.#view.byteOffset + 1024, 8)
  }
}
