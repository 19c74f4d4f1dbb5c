// Reads a file from its beginning to its end past the system's page cache. Under a hard cap the pages of a large text would push out
// those of the program, which the system then reads from the disk again and again.
import { memoryLimit } from '../machine-memory.ts'
import type { ByteCount } from '../sizes.ts'
import { DirectFile, pageRoom } from './direct-file.ts'

const PIECE_BYTES: ByteCount = 1 << 20
/** A file is worth the cache where the cap has room for so many times its size: for what the program itself takes, too. */
const TIMES_IN_CAP = 2

interface Piece {
  start: number
  bytes: number
  at: number
}

/** Whether a file of this size leaves the program's own pages no room in the cap. */
export function crowdsOut(size: ByteCount, limit = memoryLimit()): boolean {
  return limit < TIMES_IN_CAP * size
}

export class DirectReader {
  readonly #file: DirectFile
  /** Room for two pieces: one is taken from while the next is read. */
  readonly #room = pageRoom(2 * PIECE_BYTES)
  #held: Piece = { start: 0, bytes: 0, at: PIECE_BYTES }
  #coming: Promise<Piece> | undefined
  #position = 0
  #ended = false

  private constructor(file: DirectFile) {
    this.#file = file
  }

  /** Undefined where the file system has no such reads. */
  static async open(path: string): Promise<DirectReader | undefined> {
    const file = await DirectFile.open(path).catch(() => undefined)
    if (file?.direct) return new DirectReader(file)
    await file?.close()
    return undefined
  }

  /** The next bytes of the file, as many of the target as there are for certain. What is left is read plainly: the end of the file, or
   *  all from where it cannot be read. */
  async read(target: Uint8Array): Promise<number> {
    let filled = 0
    while (filled < target.length) {
      const { start, bytes, at } = this.#held
      const from = this.#position - start
      if (from < bytes) {
        const part = this.#room.subarray(at + from, at + Math.min(bytes, from + target.length - filled))
        target.set(part, filled)
        filled += part.length
        this.#position += part.length
      } else if (this.#ended) break
      else await this.#goOn()
    }
    return filled
  }

  /** Goes on to the next piece, and has the one behind it read meanwhile from the second one on: a sample takes only the first. */
  async #goOn(): Promise<void> {
    const { start, bytes, at } = this.#held
    const piece = await (this.#coming ?? this.#begin(start + bytes, PIECE_BYTES - at))
    this.#coming = undefined
    this.#held = piece
    // Reads begin with pages, and none begins behind a piece that is cut short.
    this.#ended = piece.bytes < PIECE_BYTES
    if (!this.#ended && piece.start > 0) this.#coming = this.#begin(piece.start + PIECE_BYTES, PIECE_BYTES - piece.at)
  }

  /** What cannot be read has no bytes. */
  async #begin(start: number, at: number): Promise<Piece> {
    const bytes = await this.#file.read(this.#room.subarray(at, at + PIECE_BYTES), start).catch(() => 0)
    return { start, at, bytes }
  }

  /** The piece that is on its way must not be written into room that somebody else has. */
  async close(): Promise<void> {
    await this.#coming
    await this.#file.close()
  }
}
