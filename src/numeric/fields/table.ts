// The fields of the structure Table, read and written by name. Made by `npm run layouts` from the tables in
// structures/: change those.
import type { Address } from '../../sizes.ts'
import type { Arena } from '../arena.ts'

export class TableFields {
  readonly at: Address
  readonly #view: DataView

  constructor(arena: Arena, at: Address) {
    this.at = at
    this.#view = arena.view(at, 36)
  }

  /** u32: columns of a row. */
  get columns(): number {
    return this.#view.getUint32(0, true)
  }
  set columns(value: number) {
    this.#view.setUint32(0, value, true)
  }

  /** u32: address of COLUMN_BYTES a column, in the order of the text. */
  get columnAt(): Address {
    return this.#view.getUint32(4, true)
  }
  set columnAt(value: Address) {
    this.#view.setUint32(4, value, true)
  }

  /** u32: the byte between two cells. */
  get delimiter(): number {
    return this.#view.getUint32(8, true)
  }
  set delimiter(value: number) {
    this.#view.setUint32(8, value, true)
  }

  /** u32: address of bytes, room for cells whose doubled quotes are undone, as much as the text. */
  get scratch(): Address {
    return this.#view.getUint32(12, true)
  }
  set scratch(value: Address) {
    this.#view.setUint32(12, value, true)
  }

  /** u32: address of bytes, room for labels, each closed by a line feed. */
  get labelTexts(): Address {
    return this.#view.getUint32(16, true)
  }
  set labelTexts(value: Address) {
    this.#view.setUint32(16, value, true)
  }

  /** u32: address of u32[rows], the line of each row (out). */
  get lineOf(): Address {
    return this.#view.getUint32(20, true)
  }
  set lineOf(value: Address) {
    this.#view.setUint32(20, value, true)
  }

  /** u32: address of f64[rows], the weight of each row (out); 0 where no column has it. */
  get weights(): Address {
    return this.#view.getUint32(24, true)
  }
  set weights(value: Address) {
    this.#view.setUint32(24, value, true)
  }

  /** u32: 1 where a row without a label is bad. */
  get needsLabel(): number {
    return this.#view.getUint32(28, true)
  }
  set needsLabel(value: number) {
    this.#view.setUint32(28, value, true)
  }

  /** u32: address of CELLS_BYTES a column, where rows come as columns of cells, not as text. */
  get cells(): Address {
    return this.#view.getUint32(32, true)
  }
  set cells(value: Address) {
    this.#view.setUint32(32, value, true)
  }
}
