// The fields of the structure ControlPage, read and written by name. Made by `npm run layouts` from the tables in
// structures/: change those.
import type { Address } from '../../sizes.ts'
import type { Arena } from '../arena.ts'

export class ControlPageFields {
  readonly at: Address
  readonly #view: DataView

  constructor(arena: Arena, at: Address) {
    this.at = at
    this.#view = arena.view(at, 65536)
  }

  /** u32: address of the next free byte of the arena, which threads move by compare and swap. */
  get arenaNext(): Address {
    return this.#view.getUint32(16, true)
  }
  set arenaNext(value: Address) {
    this.#view.setUint32(16, value, true)
  }

  /** u32: address of f64[][width], what each bin of binned rows stands for. */
  get spaceTable(): Address {
    return this.#view.getUint32(24, true)
  }
  set spaceTable(value: Address) {
    this.#view.setUint32(24, value, true)
  }

  /** u32: numbers that each bin has in that table. */
  get spaceWidth(): number {
    return this.#view.getUint32(28, true)
  }
  set spaceWidth(value: number) {
    this.#view.setUint32(28, value, true)
  }

  /** u32: address of f64[], the factor of each feature of scaled rows. */
  get spaceFactors(): Address {
    return this.#view.getUint32(32, true)
  }
  set spaceFactors(value: Address) {
    this.#view.setUint32(32, value, true)
  }
}
