// The fields of the structure Problem, read and written by name. Made by `npm run layouts` from the tables in
// structures/: change those.
import type { Address } from '../../sizes.ts'
import type { Arena } from '../arena.ts'

export class ProblemFields {
  readonly at: Address
  readonly #view: DataView

  constructor(arena: Arena, at: Address) {
    this.at = at
    this.#view = arena.view(at, 112)
  }

  /** u32: address of u32[rows], row record addresses. */
  get rows(): Address {
    return this.#view.getUint32(0, true)
  }
  set rows(value: Address) {
    this.#view.setUint32(0, value, true)
  }

  /** u32: number of rows. */
  get count(): number {
    return this.#view.getUint32(4, true)
  }
  set count(value: number) {
    this.#view.setUint32(4, value, true)
  }

  /** u32: address of the dual variables, f64 each (box losses), or pairs α, C−α (logistic). */
  get alpha(): Address {
    return this.#view.getUint32(8, true)
  }
  set alpha(value: Address) {
    this.#view.setUint32(8, value, true)
  }

  /** u32: address of the weights. */
  get weights(): Address {
    return this.#view.getUint32(12, true)
  }
  set weights(value: Address) {
    this.#view.setUint32(12, value, true)
  }

  /** u32: class number that is positive; every other class is negative. */
  get positive(): number {
    return this.#view.getUint32(16, true)
  }
  set positive(value: number) {
    this.#view.setUint32(16, value, true)
  }

  /** u32: number of the bias feature; its weight stands at that place. */
  get biasFeature(): number {
    return this.#view.getUint32(20, true)
  }
  set biasFeature(value: number) {
    this.#view.setUint32(20, value, true)
  }

  /** f64: value of the bias feature in every row, 0 for none. */
  get bias(): number {
    return this.#view.getFloat64(24, true)
  }
  set bias(value: number) {
    this.#view.setFloat64(24, value, true)
  }

  /** f64: upper bound of the box dual, for positive rows. */
  get boundPositive(): number {
    return this.#view.getFloat64(32, true)
  }
  set boundPositive(value: number) {
    this.#view.setFloat64(32, value, true)
  }

  /** f64: the same for negative rows. */
  get boundNegative(): number {
    return this.#view.getFloat64(40, true)
  }
  set boundNegative(value: number) {
    this.#view.setFloat64(40, value, true)
  }

  /** f64: diagonal of the box dual, for positive rows. */
  get diagonalPositive(): number {
    return this.#view.getFloat64(48, true)
  }
  set diagonalPositive(value: number) {
    this.#view.setFloat64(48, value, true)
  }

  /** f64: the same for negative rows. */
  get diagonalNegative(): number {
    return this.#view.getFloat64(56, true)
  }
  set diagonalNegative(value: number) {
    this.#view.setFloat64(56, value, true)
  }

  /** u32: 1 when the loss is logistic (bounds are the costs), 0 for box losses. */
  get logistic(): number {
    return this.#view.getUint32(64, true)
  }
  set logistic(value: number) {
    this.#view.setUint32(64, value, true)
  }

  /** u32: address of f64[rows], which receives each row's margin as it is met, or 0. */
  get margins(): Address {
    return this.#view.getUint32(68, true)
  }
  set margins(value: Address) {
    this.#view.setUint32(68, value, true)
  }

  /** u32: address of f64[rows], which receives each row's gradient after its visit (its margin, for the logistic loss),
   *  or 0. */
  get gradients(): Address {
    return this.#view.getUint32(72, true)
  }
  set gradients(value: Address) {
    this.#view.setUint32(72, value, true)
  }

  /** u32: of one of several trainers: how many of the first weights are its own. */
  get hot(): number {
    return this.#view.getUint32(76, true)
  }
  set hot(value: number) {
    this.#view.setUint32(76, value, true)
  }

  /** u32: address of those weights. */
  get own(): Address {
    return this.#view.getUint32(80, true)
  }
  set own(value: Address) {
    this.#view.setUint32(80, value, true)
  }

  /** u32: address of f64[rows], the weight of each row, which its costs are multiplied by; 0 for none. */
  get rowWeights(): Address {
    return this.#view.getUint32(84, true)
  }
  set rowWeights(value: Address) {
    this.#view.setUint32(84, value, true)
  }

  /** f64: of second-order steps: over so much of the margin the kink of the hinge is rounded. */
  get smoothing(): number {
    return this.#view.getFloat64(88, true)
  }
  set smoothing(value: number) {
    this.#view.setFloat64(88, value, true)
  }

  /** u32: address of u8[rows], the fold of each row, for methods that look at all rows before they move; 0 for none. */
  get folds(): Address {
    return this.#view.getUint32(96, true)
  }
  set folds(value: Address) {
    this.#view.setUint32(96, value, true)
  }

  /** u32: the fold whose rows count for nothing. */
  get heldOut(): number {
    return this.#view.getUint32(100, true)
  }
  set heldOut(value: number) {
    this.#view.setUint32(100, value, true)
  }

  /** f64: over ranks: how much further a sweep moves w than its rows ask for; else 1. */
  get damping(): number {
    return this.#view.getFloat64(104, true)
  }
  set damping(value: number) {
    this.#view.setFloat64(104, value, true)
  }
}
