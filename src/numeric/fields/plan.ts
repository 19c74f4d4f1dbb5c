// The fields of the structure Plan, read and written by name. Made by `npm run layouts` from the tables in structures/:
// change those.
import type { Address } from '../../sizes.ts'
import type { Arena } from '../arena.ts'

export class PlanFields {
  readonly at: Address
  readonly #view: DataView

  constructor(arena: Arena, at: Address) {
    this.at = at
    this.#view = arena.view(at, 120)
  }

  /** u32: one of the PLAN_KIND_ constants. */
  get kind(): number {
    return this.#view.getUint32(0, true)
  }
  set kind(value: number) {
    this.#view.setUint32(0, value, true)
  }

  /** u32: features of a dense row. */
  get features(): number {
    return this.#view.getUint32(4, true)
  }
  set features(value: number) {
    this.#view.setUint32(4, value, true)
  }

  /** u64: the seed. */
  get seed(): bigint {
    return this.#view.getBigUint64(8, true)
  }
  set seed(value: bigint) {
    this.#view.setBigUint64(8, value, true)
  }

  /** f64: share of rows whose hidden class is positive. */
  get positive(): number {
    return this.#view.getFloat64(16, true)
  }
  set positive(value: number) {
    this.#view.setFloat64(16, value, true)
  }

  /** f64: share of rows whose label is the other class. */
  get noise(): number {
    return this.#view.getFloat64(24, true)
  }
  set noise(value: number) {
    this.#view.setFloat64(24, value, true)
  }

  /** f64: how far the hidden class tilts a row: a probability for sparse rows, a distance for dense ones. */
  get tilt(): number {
    return this.#view.getFloat64(32, true)
  }
  set tilt(value: number) {
    this.#view.setFloat64(32, value, true)
  }

  /** f64: from 0, every row is tilted in full, to 1, by anything down to nothing. */
  get hardness(): number {
    return this.#view.getFloat64(40, true)
  }
  set hardness(value: number) {
    this.#view.setFloat64(40, value, true)
  }

  /** u32: of 256 pairs of features, how many tell the classes apart. */
  get telling(): number {
    return this.#view.getUint32(48, true)
  }
  set telling(value: number) {
    this.#view.setUint32(48, value, true)
  }

  /** u32: number of groups of a sparse row, or of columns of a table. */
  get groups(): number {
    return this.#view.getUint32(52, true)
  }
  set groups(value: number) {
    this.#view.setUint32(52, value, true)
  }

  /** u32: address of the groups, or of the columns. */
  get groupTable(): Address {
    return this.#view.getUint32(56, true)
  }
  set groupTable(value: Address) {
    this.#view.setUint32(56, value, true)
  }

  /** u32: 1 when every value is 1. */
  get ones(): number {
    return this.#view.getUint32(60, true)
  }
  set ones(value: number) {
    this.#view.setUint32(60, value, true)
  }

  /** u32: address of f64[GENERATE_COUNTS], the value of a feature that was drawn so many times, before normalising. */
  get countValues(): Address {
    return this.#view.getUint32(64, true)
  }
  set countValues(value: Address) {
    this.#view.setUint32(64, value, true)
  }

  /** u32: most draws a row can have, or the length of a dense row. */
  get most(): number {
    return this.#view.getUint32(68, true)
  }
  set most(value: number) {
    this.#view.setUint32(68, value, true)
  }

  /** u32: address of f32[GENERATE_BINS + 1], quantiles of the normal distribution. */
  get normal(): Address {
    return this.#view.getUint32(72, true)
  }
  set normal(value: Address) {
    this.#view.setUint32(72, value, true)
  }

  /** u32: address of 256 texts of eight bytes, the last byte a length; 0 when dense rows are unit-length numbers. */
  get levels(): Address {
    return this.#view.getUint32(76, true)
  }
  set levels(value: Address) {
    this.#view.setUint32(76, value, true)
  }

  /** f64: correlation between neighbouring features of a dense row. */
  get correlation(): number {
    return this.#view.getFloat64(80, true)
  }
  set correlation(value: number) {
    this.#view.setFloat64(80, value, true)
  }

  /** f64: the innovation's factor that keeps the variance at 1. */
  get innovation(): number {
    return this.#view.getFloat64(88, true)
  }
  set innovation(value: number) {
    this.#view.setFloat64(88, value, true)
  }

  /** u32: classes, labelled from 1; 0 for the two classes −1 and +1. */
  get classes(): number {
    return this.#view.getUint32(96, true)
  }
  set classes(value: number) {
    this.#view.setUint32(96, value, true)
  }

  /** u32: of 65536 draws of a sparse row, how many repeat an earlier one. */
  get burst(): number {
    return this.#view.getUint32(100, true)
  }
  set burst(value: number) {
    this.#view.setUint32(100, value, true)
  }

  /** u32: 1 when the values of a sparse row are divided by their largest, not by the row's length. */
  get byLargest(): number {
    return this.#view.getUint32(104, true)
  }
  set byLargest(value: number) {
    this.#view.setUint32(104, value, true)
  }

  /** u32: pixels along a side of a drawn picture. */
  get side(): number {
    return this.#view.getUint32(108, true)
  }
  set side(value: number) {
    this.#view.setUint32(108, value, true)
  }

  /** u32: address of the drawings, DRAWINGS_OF_A_CLASS for each class. */
  get drawings(): Address {
    return this.#view.getUint32(112, true)
  }
  set drawings(value: Address) {
    this.#view.setUint32(112, value, true)
  }
}
