// The fields of the structure Sweep, read and written by name. Made by `npm run layouts` from the tables in
// structures/: change those.
import type { Address } from '../../sizes.ts'
import type { Arena } from '../arena.ts'

export class SweepFields {
  readonly at: Address
  readonly #view: DataView

  constructor(arena: Arena, at: Address) {
    this.at = at
    this.#view = arena.view(at, 160)
  }

  /** u32: address of u32[rows], row numbers, the active ones first. */
  get order(): Address {
    return this.#view.getUint32(0, true)
  }
  set order(value: Address) {
    this.#view.setUint32(0, value, true)
  }

  /** u32: number of active rows (in and out). */
  get active(): number {
    return this.#view.getUint32(4, true)
  }
  set active(value: number) {
    this.#view.setUint32(4, value, true)
  }

  /** u32: next position in the order (in and out). */
  get cursor(): number {
    return this.#view.getUint32(8, true)
  }
  set cursor(value: number) {
    this.#view.setUint32(8, value, true)
  }

  /** u32: 1 to shrink. */
  get shrink(): number {
    return this.#view.getUint32(12, true)
  }
  set shrink(value: number) {
    this.#view.setUint32(12, value, true)
  }

  /** f64: upper threshold of shrinking, from the last pass. */
  get upper(): number {
    return this.#view.getFloat64(16, true)
  }
  set upper(value: number) {
    this.#view.setFloat64(16, value, true)
  }

  /** f64: lower threshold of shrinking, from the last pass. */
  get lower(): number {
    return this.#view.getFloat64(24, true)
  }
  set lower(value: number) {
    this.#view.setFloat64(24, value, true)
  }

  /** f64: the largest projected gradient in this pass (out). */
  get gradientMax(): number {
    return this.#view.getFloat64(32, true)
  }
  set gradientMax(value: number) {
    this.#view.setFloat64(32, value, true)
  }

  /** f64: the smallest projected gradient in this pass (out). */
  get gradientMin(): number {
    return this.#view.getFloat64(40, true)
  }
  set gradientMin(value: number) {
    this.#view.setFloat64(40, value, true)
  }

  /** f64: sum of losses as the rows were met (out): an estimate, no certificate. */
  get loss(): number {
    return this.#view.getFloat64(48, true)
  }
  set loss(value: number) {
    this.#view.setFloat64(48, value, true)
  }

  /** f64: sum of what the rows owed to the duality gap as they were met (out): an estimate. */
  get gap(): number {
    return this.#view.getFloat64(56, true)
  }
  set gap(value: number) {
    this.#view.setFloat64(56, value, true)
  }

  /** f64: nonzeros visited (in and out). */
  get visited(): number {
    return this.#view.getFloat64(64, true)
  }
  set visited(value: number) {
    this.#view.setFloat64(64, value, true)
  }

  /** f64: inner Newton tolerance of the logistic loss. */
  get inner(): number {
    return this.#view.getFloat64(72, true)
  }
  set inner(value: number) {
    this.#view.setFloat64(72, value, true)
  }

  /** f64: Newton steps in this sweep (in and out). */
  get newton(): number {
    return this.#view.getFloat64(80, true)
  }
  set newton(value: number) {
    this.#view.setFloat64(80, value, true)
  }

  /** u64: state of the random numbers that order the rows. */
  get random(): bigint {
    return this.#view.getBigUint64(88, true)
  }
  set random(value: bigint) {
    this.#view.setBigUint64(88, value, true)
  }

  /** f64: the gap that the last finished sweep met (out). */
  get lastGap(): number {
    return this.#view.getFloat64(96, true)
  }
  set lastGap(value: number) {
    this.#view.setFloat64(96, value, true)
  }

  /** f64: the loss that the last sweep over all rows met (out). */
  get lastLoss(): number {
    return this.#view.getFloat64(104, true)
  }
  set lastLoss(value: number) {
    this.#view.setFloat64(104, value, true)
  }

  /** u32: one more than the active rows when the present sweep began, 0 when there is none. */
  get began(): number {
    return this.#view.getUint32(112, true)
  }
  set began(value: number) {
    this.#view.setUint32(112, value, true)
  }

  /** u32: how sure it is that dual variables may be carried on before a sweep; 0 when there was no sweep to learn
   *  from. */
  get momentum(): number {
    return this.#view.getUint32(116, true)
  }
  set momentum(value: number) {
    this.#view.setUint32(116, value, true)
  }

  /** f64: steps go further than to the optimum of their row by such a share; 0 for plain steps. */
  get extra(): number {
    return this.#view.getFloat64(120, true)
  }
  set extra(value: number) {
    this.#view.setFloat64(120, value, true)
  }

  /** f64: sum of the magnitudes of projected gradients in this pass (in and out). */
  get steepness(): number {
    return this.#view.getFloat64(128, true)
  }
  set steepness(value: number) {
    this.#view.setFloat64(128, value, true)
  }

  /** f64: how many of them are not zero (in and out). */
  get steep(): number {
    return this.#view.getFloat64(136, true)
  }
  set steep(value: number) {
    this.#view.setFloat64(136, value, true)
  }

  /** u32: address of u64[], a bit for each row number, to sort by; 0 unless rows are many: see many-rows.ts. */
  get marks(): Address {
    return this.#view.getUint32(144, true)
  }
  set marks(value: Address) {
    this.#view.setUint32(144, value, true)
  }

  /** u32: row numbers that have a bit. */
  get marked(): number {
    return this.#view.getUint32(148, true)
  }
  set marked(value: number) {
    this.#view.setUint32(148, value, true)
  }

  /** u32: sweeps over many rows that have ended. */
  get swept(): number {
    return this.#view.getUint32(152, true)
  }
  set swept(value: number) {
    this.#view.setUint32(152, value, true)
  }
}
