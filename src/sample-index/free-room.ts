// Room that is handed out in pieces of any size, and comes back in any order. A piece is found and joined with its neighbours in
// the same time however many there are: a cache of pages of all sizes has hundreds of thousands.
import type { Address, ByteCount } from '../sizes.ts'

interface Piece {
  at: Address
  bytes: ByteCount
}

/** Pieces that are looked at which may be too small. */
const MOST_TRIES = 8

/** Pieces of a class have at least 2^class bytes, and less than twice as many. */
const classOf = (bytes: ByteCount): number => 31 - Math.clz32(bytes)

export class FreeRoom {
  readonly #classes: Set<Piece>[] = Array.from({ length: 32 }, () => new Set())
  readonly #byStart = new Map<Address, Piece>()
  readonly #byEnd = new Map<Address, Piece>()

  constructor(at: Address, bytes: ByteCount) {
    this.#add(at, bytes)
  }

  /** The beginning of a piece that is large enough; undefined when none is found. */
  take(bytes: ByteCount): Address | undefined {
    const piece = this.#find(bytes)
    if (!piece) return undefined
    this.#remove(piece)
    this.#add(piece.at + bytes, piece.bytes - bytes)
    return piece.at
  }

  /** What was taken is free again. */
  giveBack(at: Address, bytes: ByteCount): void {
    const before = this.#byEnd.get(at)
    const behind = this.#byStart.get(at + bytes)
    if (before) this.#remove(before)
    if (behind) this.#remove(behind)
    this.#add(before?.at ?? at, bytes + (before?.bytes ?? 0) + (behind?.bytes ?? 0))
  }

  #find(bytes: ByteCount): Piece | undefined {
    const own = classOf(bytes)
    let tries = 0
    for (const piece of this.#classes[own]) {
      if (piece.bytes >= bytes) return piece
      if (++tries === MOST_TRIES) break
    }
    // Every piece of a larger class is large enough.
    for (let larger = own + 1; larger < this.#classes.length; larger++)
      for (const piece of this.#classes[larger]) return piece
    return undefined
  }

  #add(at: Address, bytes: ByteCount): void {
    if (bytes === 0) return
    const piece = { at, bytes }
    this.#classes[classOf(bytes)].add(piece)
    this.#byStart.set(at, piece)
    this.#byEnd.set(at + bytes, piece)
  }

  #remove(piece: Piece): void {
    this.#classes[classOf(piece.bytes)].delete(piece)
    this.#byStart.delete(piece.at)
    this.#byEnd.delete(piece.at + piece.bytes)
  }
}
