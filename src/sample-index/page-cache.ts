// Pages of metric trees in memory: those that were used last, as many as a room of the arena holds. A page is checked when it
// is read.
import { SpillwayError } from '../errors.ts'
import { canReadDirectly, DISK_PAGE_BYTES, DirectFile } from '../files/direct-file.ts'
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
  readonly #files = new Map<number, DirectFile>()
  readonly #room: FreeRoom
  readonly #largest: ByteCount
  readonly #held = new PageList()
  /** Room for a page and what stands around it on the disk, where files are read past the system's cache; else 0. */
  readonly #around: Address = 0

  /** `largest`: bytes of the largest page there is. `direct`: files are read past the system's cache, if there is room for that and
   *  the file system can. The system reads megabytes ahead of every page that it is asked for, which under a hard cap push the
   *  program's own pages out. */
  constructor(arena: Arena, paths: string[], { at, bytes }: CacheRoom, largest: ByteCount, direct = false) {
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
    const begin = roundUp(first, DISK_PAGE_BYTES)
    const around = roundUp(this.#largest, DISK_PAGE_BYTES) + DISK_PAGE_BYTES
    const behind = first + room - (begin + around)
    const canDirect = direct && canReadDirectly && behind >= this.#largest
    if (canDirect) this.#around = begin
    this.#room = canDirect ? new FreeRoom(begin + around, behind) : new FreeRoom(first, room)
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
    const { pageBytes: bytes, checksum } = place
    const where = this.#where(file, place)
    const from = this.#open(file)
    const read = from.direct ? this.#readAround(from, place, at) : this.#readPlainly(from, place, at)
    if (!read) throw damagedTrees(where, 'the file ends before it')
    if (BigInt.asUintN(64, this.#arena.numeric.xxh64(at, bytes)) !== checksum)
      throw damagedTrees(where, 'its checksum does not match')
    this.counts.pagesRead++
    this.counts.bytesRead += bytes
  }

  /** Whether the file has all of the page. */
  #readPlainly(file: DirectFile, { page, pageBytes }: PagePlace, at: Address): boolean {
    return readFully(file, this.#arena.bytes(at, pageBytes), page, pageBytes)
  }

  /** The same, past the system's cache: whole pages of the disk are read. */
  #readAround(file: DirectFile, { page, pageBytes }: PagePlace, at: Address): boolean {
    const start = roundDown(page, DISK_PAGE_BYTES)
    const before = page - start
    const target = this.#arena.bytes(this.#around, roundUp(before + pageBytes, DISK_PAGE_BYTES))
    if (!readFully(file, target, start, before + pageBytes)) return false
    this.#arena.bytes(at, pageBytes).set(target.subarray(before, before + pageBytes))
    return true
  }

  #open(file: number): DirectFile {
    const opened = this.#files.get(file) ?? DirectFile.openSync(this.#paths[file], this.#around > 0)
    this.#files.set(file, opened)
    return opened
  }

  close(): void {
    for (const file of this.#files.values()) file.closeSync()
    this.#files.clear()
  }
}

/** Fills the target up to so many bytes at least; whether the file has them. */
function readFully(file: DirectFile, target: Uint8Array, position: number, least: ByteCount): boolean {
  for (let done = 0; done < least; ) {
    const read = file.readSync(target.subarray(done), position + done)
    if (read === 0) return false
    done += read
  }
  return true
}
