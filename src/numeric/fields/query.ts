// The fields of the structure Query, read and written by name. Made by `npm run layouts` from the tables in
// structures/: change those.
import type { Address } from '../../sizes.ts'
import type { Arena } from '../arena.ts'

export class QueryFields {
  readonly at: Address
  readonly #view: DataView

  constructor(arena: Arena, at: Address) {
    this.at = at
    this.#view = arena.view(at, 144)
  }

  /** u32: address of the weights w. */
  get weights(): Address {
    return this.#view.getUint32(0, true)
  }
  set weights(value: Address) {
    this.#view.setUint32(0, value, true)
  }

  /** u32: address of the weights that LOW is about, or 0 for w itself. */
  get anchor(): Address {
    return this.#view.getUint32(4, true)
  }
  set anchor(value: Address) {
    this.#view.setUint32(4, value, true)
  }

  /** f64: what the bias adds to every score. */
  get bias(): number {
    return this.#view.getFloat64(8, true)
  }
  set bias(value: number) {
    this.#view.setFloat64(8, value, true)
  }

  /** f64: the same by the anchor. */
  get anchorBias(): number {
    return this.#view.getFloat64(16, true)
  }
  set anchorBias(value: number) {
    this.#view.setFloat64(16, value, true)
  }

  /** f64: ‖w‖, the bias not counted. */
  get length(): number {
    return this.#view.getFloat64(24, true)
  }
  set length(value: number) {
    this.#view.setFloat64(24, value, true)
  }

  /** f64: the same of the anchor. */
  get anchorLength(): number {
    return this.#view.getFloat64(32, true)
  }
  set anchorLength(value: number) {
    this.#view.setFloat64(32, value, true)
  }

  /** f64: margins are below it. */
  get high(): number {
    return this.#view.getFloat64(40, true)
  }
  set high(value: number) {
    this.#view.setFloat64(40, value, true)
  }

  /** f64: margins are above it; −∞ for no limit. */
  get low(): number {
    return this.#view.getFloat64(48, true)
  }
  set low(value: number) {
    this.#view.setFloat64(48, value, true)
  }

  /** u32: class number that is positive. */
  get positive(): number {
    return this.#view.getUint32(56, true)
  }
  set positive(value: number) {
    this.#view.setUint32(56, value, true)
  }

  /** u32: 1 when rows are taken as if they were unit length. */
  get unit(): number {
    return this.#view.getUint32(60, true)
  }
  set unit(value: number) {
    this.#view.setUint32(60, value, true)
  }

  /** u32: 1 when weights are f32. */
  get narrow(): number {
    return this.#view.getUint32(64, true)
  }
  set narrow(value: number) {
    this.#view.setUint32(64, value, true)
  }

  /** u32: number of the first row of the block that a page is of. */
  get firstRow(): number {
    return this.#view.getUint32(68, true)
  }
  set firstRow(value: number) {
    this.#view.setUint32(68, value, true)
  }

  /** u32: address of a bitmap over all rows, rows that are not wanted; 0 for none. */
  get taken(): Address {
    return this.#view.getUint32(72, true)
  }
  set taken(value: Address) {
    this.#view.setUint32(72, value, true)
  }

  /** u32: address of f64[rows], where it is not 0, rows are wanted whose number there is not 0, whatever their
   *  margin. */
  get alpha(): Address {
    return this.#view.getUint32(76, true)
  }
  set alpha(value: Address) {
    this.#view.setUint32(76, value, true)
  }

  /** u32: address of u32[], places in a leaf of the rows that were found (out). */
  get found(): Address {
    return this.#view.getUint32(80, true)
  }
  set found(value: Address) {
    this.#view.setUint32(80, value, true)
  }

  /** u32: address of f64[], their margins (out). */
  get margins(): Address {
    return this.#view.getUint32(84, true)
  }
  set margins(value: Address) {
    this.#view.setUint32(84, value, true)
  }

  /** u32: address of a bitmap over all rows, rows that were looked at are marked here; 0 for nowhere. */
  get touched(): Address {
    return this.#view.getUint32(88, true)
  }
  set touched(value: Address) {
    this.#view.setUint32(88, value, true)
  }

  /** u32: address of a bitmap over all rows, in the order of the leaves, of rows that are left out; 0 for none. */
  get resting(): Address {
    return this.#view.getUint32(92, true)
  }
  set resting(value: Address) {
    this.#view.setUint32(92, value, true)
  }

  /** f64: rows whose margin is so far above HIGH are marked as resting. */
  get restBeyond(): number {
    return this.#view.getFloat64(96, true)
  }
  set restBeyond(value: number) {
    this.#view.setFloat64(96, value, true)
  }

  /** u32: of the first row of the leaf, in that order. */
  get place(): number {
    return this.#view.getUint32(104, true)
  }
  set place(value: number) {
    this.#view.setUint32(104, value, true)
  }

  /** u32: weights there are, the bias not counted. */
  get features(): number {
    return this.#view.getUint32(108, true)
  }
  set features(value: number) {
    this.#view.setUint32(108, value, true)
  }

  /** f64: leaves that lie so far beyond the band are left out. */
  get reach(): number {
    return this.#view.getFloat64(112, true)
  }
  set reach(value: number) {
    this.#view.setFloat64(112, value, true)
  }

  /** u32: address of BIN_ records, nodes that wait, as a binary heap. */
  get queue(): Address {
    return this.#view.getUint32(120, true)
  }
  set queue(value: Address) {
    this.#view.setUint32(120, value, true)
  }

  /** u32: how many of them there are. */
  get waiting(): number {
    return this.#view.getUint32(124, true)
  }
  set waiting(value: number) {
    this.#view.setUint32(124, value, true)
  }

  /** u32: rows of nodes that cannot hold a row of the band: the search counts them here. */
  get rowsOutside(): number {
    return this.#view.getUint32(128, true)
  }
  set rowsOutside(value: number) {
    this.#view.setUint32(128, value, true)
  }

  /** u32: rows of nodes that rest, likewise. */
  get rowsResting(): number {
    return this.#view.getUint32(132, true)
  }
  set rowsResting(value: number) {
    this.#view.setUint32(132, value, true)
  }

  /** u32: rows of leaves beyond the reach, likewise. */
  get rowsLeftOut(): number {
    return this.#view.getUint32(136, true)
  }
  set rowsLeftOut(value: number) {
    this.#view.setUint32(136, value, true)
  }

  /** u32: 0. */
  get spare(): number {
    return this.#view.getUint32(140, true)
  }
  set spare(value: number) {
    this.#view.setUint32(140, value, true)
  }
}
