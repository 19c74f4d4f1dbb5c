// Room in the arena that grows.
import type { Address, ByteCount } from '../sizes.ts'
import type { Arena } from './arena.ts'

/** Room in the arena that grows. The arena frees nothing, so growth doubles: what is left behind is never more than
 *  what is in use. Contents are lost when it grows. */
export class Region {
  readonly #arena: Arena
  readonly #purpose: string
  #at: Address = 0
  #bytes: ByteCount = 0

  constructor(arena: Arena, purpose: string) {
    this.#arena = arena
    this.#purpose = purpose
  }

  /** Address of at least so many bytes. */
  room(bytes: ByteCount): Address {
    if (bytes > this.#bytes) {
      const size = Math.max(bytes, Math.min(this.#bytes * 2, 0x40000000))
      this.#at = this.#arena.allocate(size, this.#purpose)
      this.#bytes = size
    }
    return this.#at
  }
}
