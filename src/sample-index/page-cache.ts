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

export class PageCache {
  readonly counts = { pagesRead: 0, bytesRead: 0, pagesFound: 0 }
  readonly #arena: Arena
  readonly #paths: string[]
  readonly #files = new Map<number, number>()
  readonly #frame: ByteCount
  readonly #free: Address[] = []
  /** Addresses of pages, those used last at the end. */
  readonly #held = new Map<string, Address>()

  /** `largest`: bytes of the largest page there is. */
  constructor(arena: Arena, paths: string[], { at, bytes }: CacheRoom, largest: ByteCount) {
    this.#arena = arena
    this.#paths = paths
    this.#frame = roundUp(Math.max(largest, TREE_ENTRIES), CACHE_LINE)
    const first = roundUp(at, CACHE_LINE)
    const frames = roundDown(at + bytes - first, this.#frame) / this.#frame
    if (frames < 1) {
      throw new SpillwayError(
        `${formatBytes(bytes)} for pages of the index is too little: its largest page has ${formatBytes(largest)}`,
        'give more --memory',
      )
    }
    for (let k = frames - 1; k >= 0; k--) this.#free.push(first + k * this.#frame)
  }

  /** Address of a page; it stays there until other pages are asked for. */
  take(file: number, place: PagePlace): Address {
    const name = `${file}:${place.page}`
    const found = this.#held.get(name)
    if (found !== undefined) {
      this.counts.pagesFound++
      this.#held.delete(name)
      this.#held.set(name, found)
      return found
    }
    const at = this.#free.pop() ?? this.#evict()
    try {
      this.#read(file, place, at)
    } catch (error) {
      this.#free.push(at)
      throw error
    }
    this.#held.set(name, at)
    return at
  }

  /** The place of the page that was not used for the longest time. */
  #evict(): Address {
    const [[oldest, at]] = this.#held
    this.#held.delete(oldest)
    return at
  }

  #read(file: number, { page, bytes, checksum }: PagePlace, at: Address): void {
    const path = this.#paths[file]
    const where = `the page at byte ${page} of ${path}`
    if (bytes > this.#frame) throw damagedTrees(where, 'it is larger than any page')
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
    this.#held.clear()
  }
}
