// The fields of the structure WorkingSet, read and written by name. Made by `npm run layouts` from the tables in
// structures/: change those.
import type { Address, ByteCount } from '../../sizes.ts'
import type { Arena } from '../arena.ts'

export class WorkingSetFields {
  readonly at: Address
  readonly #view: DataView

  constructor(arena: Arena, at: Address) {
    this.at = at
    this.#view = arena.view(at, 120)
  }

  /** u32: address of the row records. */
  get records(): Address {
    return this.#view.getUint32(0, true)
  }
  set records(value: Address) {
    this.#view.setUint32(0, value, true)
  }

  /** u32, bytes: of room for them. */
  get room(): ByteCount {
    return this.#view.getUint32(4, true)
  }
  set room(value: ByteCount) {
    this.#view.setUint32(4, value, true)
  }

  /** u32, bytes: of records in use. */
  get used(): ByteCount {
    return this.#view.getUint32(8, true)
  }
  set used(value: ByteCount) {
    this.#view.setUint32(8, value, true)
  }

  /** u32: room for so many rows. */
  get capacity(): number {
    return this.#view.getUint32(12, true)
  }
  set capacity(value: number) {
    this.#view.setUint32(12, value, true)
  }

  /** u32: rows there are. */
  get count(): number {
    return this.#view.getUint32(16, true)
  }
  set count(value: number) {
    this.#view.setUint32(16, value, true)
  }

  /** u32: address of u32[capacity], the records of the rows. */
  get table(): Address {
    return this.#view.getUint32(20, true)
  }
  set table(value: Address) {
    this.#view.setUint32(20, value, true)
  }

  /** u32: address of u32[capacity], the rows' numbers in the order of the store. */
  get numbers(): Address {
    return this.#view.getUint32(24, true)
  }
  set numbers(value: Address) {
    this.#view.setUint32(24, value, true)
  }

  /** u32: address of the rows' dual variables. While a row is here, these are the true ones. */
  get alpha(): Address {
    return this.#view.getUint32(28, true)
  }
  set alpha(value: Address) {
    this.#view.setUint32(28, value, true)
  }

  /** u32, bytes: of a dual variable: 8, or 16 for the entropic dual. */
  get stride(): ByteCount {
    return this.#view.getUint32(32, true)
  }
  set stride(value: ByteCount) {
    this.#view.setUint32(32, value, true)
  }

  /** u32: address of f64[capacity], each row's gradient after its last visit (its margin, for the logistic loss). */
  get gradients(): Address {
    return this.#view.getUint32(36, true)
  }
  set gradients(value: Address) {
    this.#view.setUint32(36, value, true)
  }

  /** u32: address of a bitmap over all rows, which are here. */
  get resident(): Address {
    return this.#view.getUint32(40, true)
  }
  set resident(value: Address) {
    this.#view.setUint32(40, value, true)
  }

  /** u32: address of the dual variables of all rows, in the order of the store. */
  get allAlpha(): Address {
    return this.#view.getUint32(44, true)
  }
  set allAlpha(value: Address) {
    this.#view.setUint32(44, value, true)
  }

  /** u32: address of the ledger, a record of LEDGER_BYTES for each block. */
  get ledger(): Address {
    return this.#view.getUint32(48, true)
  }
  set ledger(value: Address) {
    this.#view.setUint32(48, value, true)
  }

  /** u32: address of u32[blocks + 1], number of each block's first row, rows in all at the end. */
  get firstRows(): Address {
    return this.#view.getUint32(52, true)
  }
  set firstRows(value: Address) {
    this.#view.setUint32(52, value, true)
  }

  /** u32: blocks. */
  get blocks(): number {
    return this.#view.getUint32(56, true)
  }
  set blocks(value: number) {
    this.#view.setUint32(56, value, true)
  }

  /** u32: how many of a ledger's radii are filled in. */
  get radii(): number {
    return this.#view.getUint32(60, true)
  }
  set radii(value: number) {
    this.#view.setUint32(60, value, true)
  }

  /** f64: rows at a bound whose gradient lies further beyond it leave. */
  get epsilon(): number {
    return this.#view.getFloat64(64, true)
  }
  set epsilon(value: number) {
    this.#view.setFloat64(64, value, true)
  }

  /** u64: state of the random numbers that choose whom else. */
  get random(): bigint {
    return this.#view.getBigUint64(72, true)
  }
  set random(value: bigint) {
    this.#view.setBigUint64(72, value, true)
  }

  /** f64: the first radius above 0; each next one is twice as large. */
  get radius(): number {
    return this.#view.getFloat64(80, true)
  }
  set radius(value: number) {
    this.#view.setFloat64(80, value, true)
  }

  /** f64: how far the last visit of new rows may have moved w, by its single steps (out). */
  get moved(): number {
    return this.#view.getFloat64(88, true)
  }
  set moved(value: number) {
    this.#view.setFloat64(88, value, true)
  }

  /** u32: rows that left so far at their first visit. */
  get dismissed(): number {
    return this.#view.getUint32(96, true)
  }
  set dismissed(value: number) {
    this.#view.setUint32(96, value, true)
  }

  /** u32: rows that left so far by the rule, later. */
  get evicted(): number {
    return this.#view.getUint32(100, true)
  }
  set evicted(value: number) {
    this.#view.setUint32(100, value, true)
  }

  /** u32: rows that left so far because they were drawn at random. */
  get drawn(): number {
    return this.#view.getUint32(104, true)
  }
  set drawn(value: number) {
    this.#view.setUint32(104, value, true)
  }

  /** u32: address of f64[capacity], the weights of the rows, or 0 where they have none. */
  get weights(): Address {
    return this.#view.getUint32(108, true)
  }
  set weights(value: Address) {
    this.#view.setUint32(108, value, true)
  }

  /** u32: the row where the next look for some near ones begins. */
  get cursor(): number {
    return this.#view.getUint32(112, true)
  }
  set cursor(value: number) {
    this.#view.setUint32(112, value, true)
  }
}
