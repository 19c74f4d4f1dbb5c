// Pages of metric trees in memory: those that were used last, as many as a room of the arena holds. A page is checked when it
// is read.
import { closeSync, openSync, readSync } from 'node:fs'
import { fileError, SpillwayError } from '../errors.ts'
import { type Arena, formatBytes } from '../numeric/arena.ts'
import { TREE_ENTRIES } from '../numeric/metric-tree-layout.ts'
import { CACHE_LINE, roundDown, roundUp } from '../numeric/rounding.ts'
import type { Address, ByteCount } from '../sizes.ts'
import { FreeRoom } from './free-room.ts'
import { PageList } from './page-list.ts'
import { damagedTrees } from './tree-file.ts'

/** Where a page is. The checksum is asked for when it is read. */
export interface PagePlace {
  readonly page: number
  readonly pageBytes: ByteCount
  readonly checksum: bigint
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
  readonly #room: FreeRoom
  readonly #largest: ByteCount
  readonly #held = new PageList()

  /** `largest`: bytes of the largest page there is. */
  constructor(arena: Arena, paths: string[], { at, bytes }: CacheRoom, largest: ByteCount) {
    this.#arena = arena
    this.#paths = paths
    this.#largest = roundUp(Math.max(largest, TREE_ENTRIES), CACHE_LINE)
    const first = roundUp(at, CACHE_LINE)
    const room = Math.max(0, roundDown(at + bytes - first, CACHE_LINE))
    if (room < this.#largest) {
      throw new SpillwayError(
        `${formatBytes(bytes)} for pages of the index is too little: its largest page has ${formatBytes(largest)}`,
        'give more --memory',
      )
    }
    this.#room = new FreeRoom(first, room)
  }

  /** Address of a page; it stays there until other pages are asked for. */
  take(file: number, place: PagePlace): Address {
    const found = this.#held.use(file, place.page)
    if (found !== undefined) {
      this.counts.pagesFound++
      return found
    }
    const bytes = roundUp(place.pageBytes, CACHE_LINE)
    if (bytes > this.#largest) throw damagedTrees(this.#where(file, place), 'it is larger than any page')
    const at = this.#make(bytes)
    try {
      this.#read(file, place, at)
    } catch (error) {
      this.#room.giveBack(at, bytes)
      throw error
    }
    this.#held.add(file, place.page, { at, bytes })
    return at
  }

  /** Room for a page: pages leave that were not used for the longest time, until there is some in one piece. */
  #make(bytes: ByteCount): Address {
    for (;;) {
      const at = this.#room.take(bytes)
      if (at !== undefined) return at
      const oldest = this.#held.dropOldest()
      this.#room.giveBack(oldest.at, oldest.bytes)
    }
  }

  #where(file: number, { page }: PagePlace): string {
    return `the page at byte ${page} of ${this.#paths[file]}`
  }

  #read(file: number, place: PagePlace, at: Address): void {
    const { page, pageBytes: bytes, checksum } = place
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
