// The fields of the structure L1, read and written by name. Made by `npm run layouts` from the tables in structures/:
// change those.
import type { Address } from '../../sizes.ts'
import type { Arena } from '../arena.ts'

export class L1Fields {
  readonly at: Address
  readonly #view: DataView

  constructor(arena: Arena, at: Address) {
    this.at = at
    this.#view = arena.view(at, 216)
  }

  /** u32: rows. */
  get rows(): number {
    return this.#view.getUint32(0, true)
  }
  set rows(value: number) {
    this.#view.setUint32(0, value, true)
  }

  /** u32: columns: features, and the bias if there is one. */
  get features(): number {
    return this.#view.getUint32(4, true)
  }
  set features(value: number) {
    this.#view.setUint32(4, value, true)
  }

  /** u32: address of u32[columns + 1], where each column starts among the entries. */
  get starts(): Address {
    return this.#view.getUint32(8, true)
  }
  set starts(value: Address) {
    this.#view.setUint32(8, value, true)
  }

  /** u32: address of u32[], row numbers of the entries. */
  get entries(): Address {
    return this.#view.getUint32(12, true)
  }
  set entries(value: Address) {
    this.#view.setUint32(12, value, true)
  }

  /** u32: address of f64[], values of the entries. Label, scale and, for the squared hinge, the root of the cost are
   *  multiplied into them. */
  get values(): Address {
    return this.#view.getUint32(16, true)
  }
  set values(value: Address) {
    this.#view.setUint32(16, value, true)
  }

  /** u32: address of f64[columns], w. */
  get weights(): Address {
    return this.#view.getUint32(20, true)
  }
  set weights(value: Address) {
    this.#view.setUint32(20, value, true)
  }

  /** u32: address of f64[columns], where the present step leads to. */
  get next(): Address {
    return this.#view.getUint32(24, true)
  }
  set next(value: Address) {
    this.#view.setUint32(24, value, true)
  }

  /** u32: address of f64[columns], second derivatives of the present model (logistic); under l2 the largest |v|. */
  get curve(): Address {
    return this.#view.getUint32(28, true)
  }
  set curve(value: Address) {
    this.#view.setUint32(28, value, true)
  }

  /** u32: address of f64[columns], what second derivatives stay below, but for a factor: Σ v², or Σ C v² (logistic). */
  get most(): Address {
    return this.#view.getUint32(32, true)
  }
  set most(value: Address) {
    this.#view.setUint32(32, value, true)
  }

  /** u32: address of f64[rows], or of pairs of f64, what columns are multiplied with: √C (1 − m); logistic: the pair u,
   *  D, the derivative of the model, and its second derivative; under l2 the pair C p, m. */
  get state(): Address {
    return this.#view.getUint32(36, true)
  }
  set state(value: Address) {
    this.#view.setUint32(36, value, true)
  }

  /** u32: address of f64[rows], margins (logistic). */
  get margins(): Address {
    return this.#view.getUint32(40, true)
  }
  set margins(value: Address) {
    this.#view.setUint32(40, value, true)
  }

  /** u32: address of f64[rows], how the present step changes margins. */
  get change(): Address {
    return this.#view.getUint32(44, true)
  }
  set change(value: Address) {
    this.#view.setUint32(44, value, true)
  }

  /** u32: address of f64[rows], √C; logistic: C. */
  get costs(): Address {
    return this.#view.getUint32(48, true)
  }
  set costs(value: Address) {
    this.#view.setUint32(48, value, true)
  }

  /** u32: address of u32[columns], column numbers: those of the present sweep first, then others that are active, then
   *  shrunk ones. */
  get order(): Address {
    return this.#view.getUint32(52, true)
  }
  set order(value: Address) {
    this.#view.setUint32(52, value, true)
  }

  /** u32: how many columns are active. */
  get active(): number {
    return this.#view.getUint32(56, true)
  }
  set active(value: number) {
    this.#view.setUint32(56, value, true)
  }

  /** u32: how many of those are in the present sweep. */
  get inner(): number {
    return this.#view.getUint32(60, true)
  }
  set inner(value: number) {
    this.#view.setUint32(60, value, true)
  }

  /** u32: the next position in the order. */
  get cursor(): number {
    return this.#view.getUint32(64, true)
  }
  set cursor(value: number) {
    this.#view.setUint32(64, value, true)
  }

  /** u32: 1 in the first sweep over a new model (logistic). */
  get first(): number {
    return this.#view.getUint32(68, true)
  }
  set first(value: number) {
    this.#view.setUint32(68, value, true)
  }

  /** u32: what comes next (logistic): one of the L1_PHASE_ constants. */
  get phase(): number {
    return this.#view.getUint32(72, true)
  }
  set phase(value: number) {
    this.#view.setUint32(72, value, true)
  }

  /** u32: one more than the columns of the sweep under way, 0 when there is none. */
  get began(): number {
    return this.#view.getUint32(76, true)
  }
  set began(value: number) {
    this.#view.setUint32(76, value, true)
  }

  /** f64: a weight of zero whose derivative is below it is shrunk. */
  get limit(): number {
    return this.#view.getFloat64(80, true)
  }
  set limit(value: number) {
    this.#view.setFloat64(80, value, true)
  }

  /** f64: of the present sweep: the largest violation of optimality (in and out). */
  get worst(): number {
    return this.#view.getFloat64(88, true)
  }
  set worst(value: number) {
    this.#view.setFloat64(88, value, true)
  }

  /** f64: of the present sweep: the sum of violations (in and out). */
  get sum(): number {
    return this.#view.getFloat64(96, true)
  }
  set sum(value: number) {
    this.#view.setFloat64(96, value, true)
  }

  /** f64: of the present sweep: the largest derivative (in and out). */
  get steepest(): number {
    return this.#view.getFloat64(104, true)
  }
  set steepest(value: number) {
    this.#view.setFloat64(104, value, true)
  }

  /** f64: entries visited (in and out). */
  get visited(): number {
    return this.#view.getFloat64(112, true)
  }
  set visited(value: number) {
    this.#view.setFloat64(112, value, true)
  }

  /** u64: state of the random numbers. */
  get random(): bigint {
    return this.#view.getBigUint64(120, true)
  }
  set random(value: bigint) {
    this.#view.setBigUint64(120, value, true)
  }

  /** f64: of the last estimate: Σ loss. */
  get loss(): number {
    return this.#view.getFloat64(128, true)
  }
  set loss(value: number) {
    this.#view.setFloat64(128, value, true)
  }

  /** f64: of the last estimate: the objective. */
  get primal(): number {
    return this.#view.getFloat64(136, true)
  }
  set primal(value: number) {
    this.#view.setFloat64(136, value, true)
  }

  /** f64: of the last estimate: the gap. */
  get gap(): number {
    return this.#view.getFloat64(144, true)
  }
  set gap(value: number) {
    this.#view.setFloat64(144, value, true)
  }

  /** f64: the limit for the next model's first sweep. */
  get outerLimit(): number {
    return this.#view.getFloat64(152, true)
  }
  set outerLimit(value: number) {
    this.#view.setFloat64(152, value, true)
  }

  /** f64: the violations of the very first sweep. */
  get startSum(): number {
    return this.#view.getFloat64(160, true)
  }
  set startSum(value: number) {
    this.#view.setFloat64(160, value, true)
  }

  /** f64: what share of those a model is solved to. */
  get share(): number {
    return this.#view.getFloat64(168, true)
  }
  set share(value: number) {
    this.#view.setFloat64(168, value, true)
  }

  /** u32: sweeps over the present model. */
  get sweeps(): number {
    return this.#view.getUint32(176, true)
  }
  set sweeps(value: number) {
    this.#view.setUint32(176, value, true)
  }

  /** u32: 1 to wake all columns for the next model. */
  get wake(): number {
    return this.#view.getUint32(180, true)
  }
  set wake(value: number) {
    this.#view.setUint32(180, value, true)
  }

  /** u32: address of u32[columns], the columns of a Newton step. */
  get list(): Address {
    return this.#view.getUint32(184, true)
  }
  set list(value: Address) {
    this.#view.setUint32(184, value, true)
  }

  /** u32: address of f64[4 × columns], what conjugate gradients keep. */
  get gradients(): Address {
    return this.#view.getUint32(188, true)
  }
  set gradients(value: Address) {
    this.#view.setUint32(188, value, true)
  }

  /** f64: sweeps or models between two Newton steps. */
  get wait(): number {
    return this.#view.getFloat64(192, true)
  }
  set wait(value: number) {
    this.#view.setFloat64(192, value, true)
  }

  /** f64: sweeps or models since the last Newton step. */
  get since(): number {
    return this.#view.getFloat64(200, true)
  }
  set since(value: number) {
    this.#view.setFloat64(200, value, true)
  }

  /** f64: by what share of theirs second derivatives are raised in a Newton step. */
  get damping(): number {
    return this.#view.getFloat64(208, true)
  }
  set damping(value: number) {
    this.#view.setFloat64(208, value, true)
  }
}
