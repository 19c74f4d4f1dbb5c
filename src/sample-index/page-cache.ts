// Pages of metric trees in memory: those that were used last, as many as a room of the arena holds. A page is checked when it
// is read.
import { closeSync, openSync, readSync } from 'node:fs'
import { fileError, SpillwayError } from '../errors.ts'
import { type Arena, formatBytes } from '../numeric/arena.ts'
import { TREE_ENTRIES } from '../numeric/metric-tree-layout.ts'
import { CACHE_LINE, roundDown, roundUp } from '../numeric/rounding.ts'
import type { Address, ByteCount } from '../sizes.ts'
import { damagedTrees } from './tree-file.ts'

/** Where a page is. */
export interface PagePlace {
  page: number
  bytes: ByteCount
  checksum: bigint
}

export interface CacheRoom {
  at: Address
  bytes: ByteCount
}

/** Places of one size, each for a page. */
class Frames {
  readonly bytes: ByteCount
  readonly #free: Address[] = []
  /** Addresses of pages, those used last at the end. */
  readonly #held = new Map<string, Address>()

  constructor(room: CacheRoom, bytes: ByteCount) {
    this.bytes = roundUp(bytes, CACHE_LINE)
    const first = roundUp(room.at, CACHE_LINE)
    const count = Math.max(0, roundDown(room.at + room.bytes - first, this.bytes) / this.bytes)
    for (let k = count - 1; k >= 0; k--) this.#free.push(first + k * this.bytes)
  }

  get count(): number {
    return this.#free.length + this.#held.size
  }

  /** A page that is here, which is now the one used last. */
  find(name: string): Address | undefined {
    const at = this.#held.get(name)
    if (at === undefined) return undefined
    this.#held.delete(name)
    this.#held.set(name, at)
    return at
  }

  /** A place for another page: a free one, or that of the page that was not used for the longest time. */
  make(): Address {
    const free = this.#free.pop()
    if (free !== undefined) return free
    const [[oldest, at]] = this.#held
    this.#held.delete(oldest)
    return at
  }

  keep(name: string, at: Address): void {
    this.#held.set(name, at)
  }

  giveBack(at: Address): void {
    this.#free.push(at)
  }
}

/** Share of the room for pages that are larger than most. */
const LARGE_SHARE = 0.25
const FEW = 4

export class PageCache {
  readonly counts = { pagesRead: 0, bytesRead: 0, pagesFound: 0 }
  readonly #arena: Arena
  readonly #paths: string[]
  readonly #files = new Map<number, number>()
  readonly #small: Frames
  readonly #large: Frames

  /** `usual`: bytes that most pages have at most; `largest`: of the largest page there is. */
  constructor(
    arena: Arena,
    paths: string[],
    room: CacheRoom,
    { usual, largest }: { usual: ByteCount; largest: ByteCount },
  ) {
    this.#arena = arena
    this.#paths = paths
    const size = Math.max(largest, TREE_ENTRIES)
    // A few of the large ones at least, as far as there is room.
    const share = Math.min(room.bytes, Math.max(LARGE_SHARE * room.bytes, FEW * roundUp(size, CACHE_LINE) + CACHE_LINE))
    const large = roundDown(share, CACHE_LINE)
    this.#large = new Frames({ at: room.at, bytes: large }, size)
    this.#small = new Frames({ at: room.at + large, bytes: room.bytes - large }, Math.min(usual, size))
    if (this.#large.count < 1) {
      throw new SpillwayError(
        `${formatBytes(room.bytes)} for pages of the index is too little: its largest page has ${formatBytes(largest)}`,
        'give more --memory',
      )
    }
  }

  /** Address of a page; it stays there until other pages are asked for. */
  take(file: number, place: PagePlace): Address {
    const frames = place.bytes <= this.#small.bytes && this.#small.count > 0 ? this.#small : this.#large
    const name = `${file}:${place.page}`
    const found = frames.find(name)
    if (found !== undefined) {
      this.counts.pagesFound++
      return found
    }
    if (place.bytes > frames.bytes) throw damagedTrees(this.#where(file, place), 'it is larger than any page')
    const at = frames.make()
    try {
      this.#read(file, place, at)
    } catch (error) {
      frames.giveBack(at)
      throw error
    }
    frames.keep(name, at)
    return at
  }

  #where(file: number, { page }: PagePlace): string {
    return `the page at byte ${page} of ${this.#paths[file]}`
  }

  #read(file: number, place: PagePlace, at: Address): void {
    const { page, bytes, checksum } = place
    const path = this.#paths[file]
    const where = this.#where(file, place)
    const target = this.#arena.bytes(at, bytes)
    try {
      const handle = this.#files.get(file) ?? openSync(path, 'r')
      this.#files.set(file, handle)
      for (let done = 0; done < bytes; ) {
        const read = readSync(handle, target, done, bytes - done, page + done)
        if (read === 0) throw damagedTrees(where, 'the file ends before it')
        done += read
      }
    } catch (error) {
      throw error instanceof SpillwayError ? error : fileError(error, path, 'read')
    }
    if (BigInt.asUintN(64, this.#arena.numeric.xxh64(at, bytes)) !== checksum)
      throw damagedTrees(where, 'its checksum does not match')
    this.counts.pagesRead++
    this.counts.bytesRead += bytes
  }

  close(): void {
    for (const handle of this.#files.values()) closeSync(handle)
    this.#files.clear()
  }
}
