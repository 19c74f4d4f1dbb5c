// A file of a block, read piece by piece into shared memory: while one piece is worked on, the next is read.
import { DISK_PAGE_BYTES, DirectFile } from '../files/direct-file.ts'
import type { Arena } from '../numeric/arena.ts'
import { Region } from '../numeric/region.ts'
import { roundDown, roundUp } from '../numeric/rounding.ts'
import { SEGMENT_HEADER_BYTES } from '../numeric/segment-layout.ts'
import type { Address, ByteCount } from '../sizes.ts'
import { damaged, FILE_HEADER_BYTES } from './file-layout.ts'

const DEFAULT_READ_BYTES = 8 << 20
/** Of a half of the buffer: what lies before a piece, for the end of the piece before it. */
const SHARE_BEFORE = 0.25

/** A buffer in the arena through which block files are read, to be used again for the next block. It has two halves. Each is
 *  room for a piece and, before it, for what was left of the piece before. */
export class ReadBuffer {
  readonly arena: Arena
  /** Whether files are read past the page cache. */
  readonly direct: boolean
  /** 16 bytes for checksums. */
  readonly scratch: Address
  readonly pieceBytes: ByteCount
  readonly bytesBefore: ByteCount
  /** Where pieces go. */
  readonly pieces: readonly [Address, Address]
  readonly #large: Region

  constructor(arena: Arena, readBytes = DEFAULT_READ_BYTES, direct = false) {
    this.arena = arena
    this.direct = direct
    const half = Math.max(readBytes, FILE_HEADER_BYTES + SEGMENT_HEADER_BYTES) / 2
    this.bytesBefore = Math.max(DISK_PAGE_BYTES, roundDown(half * SHARE_BEFORE, DISK_PAGE_BYTES))
    this.pieceBytes = Math.max(DISK_PAGE_BYTES, roundDown(half - this.bytesBefore, DISK_PAGE_BYTES))
    const each = this.bytesBefore + this.pieceBytes
    const at = roundUp(arena.allocate(2 * each + DISK_PAGE_BYTES, 'reading a block'), DISK_PAGE_BYTES)
    this.pieces = [at + this.bytesBefore, at + each + this.bytesBefore]
    this.#large = new Region(arena, 'reading a block')
    this.scratch = arena.allocate(16, 'reading a block')
  }

  /** Room that begins with a page, for what no half can hold. */
  large(bytes: ByteCount): Address {
    return roundUp(this.#large.room(bytes + DISK_PAGE_BYTES), DISK_PAGE_BYTES)
  }
}

/** Bytes of the file that are in memory, from `start` to `end`. They lie as they do in the pages of the file, so that every
 *  read begins and ends with a page. */
interface Held {
  start: number
  end: number
  at: Address
}

/** A file of a block, read past the page cache where that is asked for and the file system can. */
export class BlockFile implements AsyncDisposable {
  readonly #path: string
  readonly #buffer: ReadBuffer
  readonly #file: DirectFile
  /** Whether the piece behind is read meanwhile. */
  #ahead: boolean
  #size = 0
  #held: Held = { start: 0, end: 0, at: 0 }
  /** Which half the next piece goes to, and the piece that is on its way there. */
  #next = 0
  #coming: { held: Held; read: Promise<void> } | undefined

  private constructor(path: string, file: DirectFile, buffer: ReadBuffer, ahead: boolean) {
    this.#path = path
    this.#file = file
    this.#buffer = buffer
    this.#ahead = ahead
  }

  /** `ahead` is for files that are read from end to end. */
  static async open(path: string, buffer: ReadBuffer, ahead: boolean): Promise<BlockFile> {
    const file = new BlockFile(path, await DirectFile.open(path, buffer.direct), buffer, ahead)
    file.#size = await file.#file.size()
    return file
  }

  get size(): ByteCount {
    return this.#size
  }

  /** Address of so many bytes of the file. They stay there until others are asked for; positions never go back. */
  async bytes(position: number, bytes: ByteCount): Promise<Address> {
    const { bytesBefore, pieceBytes } = this.#buffer
    while (position < this.#held.start || position + bytes > this.#held.end) {
      const kept = Math.max(0, this.#held.end - position)
      // A half may lack what stands in the same page before the position.
      if (kept > bytesBefore || bytes > kept + pieceBytes - DISK_PAGE_BYTES) await this.#readLarge(position, bytes)
      else await this.#readPiece(position, kept)
    }
    return this.#held.at + position - this.#held.start
  }

  /** How many bytes there are at a position without reading. */
  heldFrom(position: number): ByteCount {
    return Math.max(0, this.#held.end - position)
  }

  /** Goes on to the next piece; the last bytes of the present one are put before it. */
  async #readPiece(position: number, kept: ByteCount): Promise<void> {
    const { arena } = this.#buffer
    const start = kept > 0 ? this.#held.end : roundDown(position, DISK_PAGE_BYTES)
    if (this.#coming?.held.start !== start) await this.#forget()
    this.#coming ??= this.#begin(start)
    const { held, read } = this.#coming
    await read
    this.#coming = undefined
    const { at, start: first } = this.#held
    if (kept > 0) arena.bytes(held.at - kept, kept).set(arena.bytes(at + position - first, kept))
    this.#held = { start: held.start - kept, end: held.end, at: held.at - kept }
    this.#next = 1 - this.#next
    if (this.#ahead && held.end < this.#size) this.#coming = this.#begin(held.end)
  }

  #begin(start: number): { held: Held; read: Promise<void> } {
    const at = this.#buffer.pieces[this.#next]
    const end = Math.min(start + this.#buffer.pieceBytes, this.#size)
    const read = this.#read(at, end - start, start)
    // A failure is met where the piece is asked for.
    read.catch(() => {})
    return { held: { start, end, at }, read }
  }

  /** A stretch that is larger than a half has a room of its own. Files that have one are not read ahead. */
  async #readLarge(position: number, bytes: ByteCount): Promise<void> {
    await this.#forget()
    this.#ahead = false
    const { arena } = this.#buffer
    const start = roundDown(position, DISK_PAGE_BYTES)
    const end = Math.min(roundUp(position + bytes, DISK_PAGE_BYTES), this.#size)
    const old = this.#held
    // It may be the same room: what is kept is put aside.
    const kept = Math.max(0, old.end - position)
    const copy = kept > 0 ? arena.bytes(old.at + position - old.start, kept).slice() : undefined
    const at = this.#buffer.large(end - start)
    const to = at + position - start
    if (copy) arena.bytes(to, kept).set(copy)
    const from = kept > 0 ? old.end : start
    await this.#read(at + from - start, end - from, from)
    this.#held = { start: kept > 0 ? position : start, end, at: kept > 0 ? to : at }
  }

  /** Waits for a piece that nobody wants any more. */
  async #forget(): Promise<void> {
    await this.#coming?.read.catch(() => {})
    this.#coming = undefined
  }

  /** Reads so many bytes, and what follows them up to the end of a page or of the file: reads past the page cache must. */
  async #read(at: Address, bytes: ByteCount, position: number): Promise<void> {
    for (let done = 0; done < bytes; ) {
      const wanted = roundUp(bytes - done, DISK_PAGE_BYTES)
      const bytesRead = await this.#file.read(this.#buffer.arena.bytes(at + done, wanted), position + done)
      if (bytesRead === 0) throw damaged(this.#path, 'it became shorter while it was read')
      done += bytesRead
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // The piece that is on its way must not be written into a buffer that somebody else uses.
    await this.#forget()
    await this.#file.close()
  }
}
