// The fields of the structure Decode, read and written by name. Made by `npm run layouts` from the tables in
// structures/: change those.
import type { Address } from '../../sizes.ts'
import type { Arena } from '../arena.ts'

export class DecodeFields {
  readonly at: Address
  readonly #view: DataView

  constructor(arena: Arena, at: Address) {
    this.at = at
    this.#view = arena.view(at, 30992)
  }

  /** u32: widths of the last tables, so that they are made once for a run of alike segments. */
  get widths(): number {
    return this.#view.getUint32(0, true)
  }
  set widths(value: number) {
    this.#view.setUint32(0, value, true)
  }

  /** u32: 1 once the tables are valid. */
  get valid(): number {
    return this.#view.getUint32(4, true)
  }
  set valid(value: number) {
    this.#view.setUint32(4, value, true)
  }

  /** u8[256]: bytes of a group, by its control byte; DECODE_WIDE is added when a lane is wider than 25 bits. */
  get groupBytes(): Uint8Array {
    return new Uint8Array(this.#view.buffer, this.#view.byteOffset + 16, 256)
  }

  /** v128[768]: byte shuffle, multiplier, mask. */
  get tables(): Uint8Array {
    return new Uint8Array(this.#view.buffer, this.#view.byteOffset + 272, 12288)
  }

  /** u64[256]: dictionary of values, padded to a power of two: up to 256 of 8 bytes. */
  get dictionary(): BigUint64Array {
    return new BigUint64Array(this.#view.buffer, this.#view.byteOffset + 12560, 256)
  }

  /** u16[4096]: step << 6 | bits, by the next 12 bits of a stream of steps. */
  get steps(): Uint16Array {
    return new Uint16Array(this.#view.buffer, this.#view.byteOffset + 14608, 4096)
  }

  /** u64[1024]: where intervals start, and above that how wide they are. */
  get starts(): BigUint64Array {
    return new BigUint64Array(this.#view.buffer, this.#view.byteOffset + 22800, 1024)
  }
}
