// Which pages of metric trees are in memory, and which of them was not used for the longest time. A search asks for thousands of
// pages: so they are numbers in typed arrays, found by a hash, and in a list by their last use.
import type { Address, ByteCount } from '../sizes.ts'

const NONE = 0xffffffff
const LEAST_ROOM = 256

export class PageList {
  #count = 0
  /** Of each entry: file and offset of the page, and where it is. */
  #file = new Uint32Array(LEAST_ROOM)
  #page = new Float64Array(LEAST_ROOM)
  #at = new Uint32Array(LEAST_ROOM)
  #bytes = new Uint32Array(LEAST_ROOM)
  /** Entries that were used just before and just after it. */
  #older = new Uint32Array(LEAST_ROOM)
  #newer = new Uint32Array(LEAST_ROOM)
  /** The next entry of the same hash; and the first of each hash. There are as many hashes as entries have room. */
  #next = new Uint32Array(LEAST_ROOM)
  #first = new Uint32Array(LEAST_ROOM).fill(NONE)
  #oldest = NONE
  #newest = NONE

  /** Where a page is, which becomes the one used last; undefined when it is not in memory. */
  use(file: number, page: number): Address | undefined {
    let entry = this.#first[this.#hash(file, page)]
    while (entry !== NONE && (this.#page[entry] !== page || this.#file[entry] !== file)) entry = this.#next[entry]
    if (entry === NONE) return undefined
    if (entry !== this.#newest) {
      this.#unlink(entry)
      this.#append(entry)
    }
    return this.#at[entry]
  }

  /** A page that is not in the list, as the one used last. */
  add(file: number, page: number, { at, bytes }: { at: Address; bytes: ByteCount }): void {
    if (this.#count === this.#file.length) this.#grow()
    const entry = this.#count++
    this.#file[entry] = file
    this.#page[entry] = page
    this.#at[entry] = at
    this.#bytes[entry] = bytes
    this.#chain(entry)
    this.#append(entry)
  }

  /** The page leaves that was not used for the longest time. There must be one. */
  dropOldest(): { at: Address; bytes: ByteCount } {
    const entry = this.#oldest
    const dropped = { at: this.#at[entry], bytes: this.#bytes[entry] }
    this.#unlink(entry)
    this.#unchain(entry)
    this.#fill(entry, --this.#count)
    return dropped
  }

  /** Offsets of pages are even, so the upper bits of the product count. */
  #hash(file: number, page: number): number {
    const mixed = Math.imul((page >>> 0) ^ Math.imul(file + 1, 0x85ebca6b), 0x9e3779b1)
    return (mixed ^ (mixed >>> 15)) & (this.#first.length - 1)
  }

  #chain(entry: number): void {
    const hash = this.#hash(this.#file[entry], this.#page[entry])
    this.#next[entry] = this.#first[hash]
    this.#first[hash] = entry
  }

  #unchain(entry: number): void {
    const hash = this.#hash(this.#file[entry], this.#page[entry])
    if (this.#first[hash] === entry) {
      this.#first[hash] = this.#next[entry]
      return
    }
    let before = this.#first[hash]
    while (this.#next[before] !== entry) before = this.#next[before]
    this.#next[before] = this.#next[entry]
  }

  #append(entry: number): void {
    this.#older[entry] = this.#newest
    this.#newer[entry] = NONE
    if (this.#newest === NONE) this.#oldest = entry
    else this.#newer[this.#newest] = entry
    this.#newest = entry
  }

  #unlink(entry: number): void {
    const [older, newer] = [this.#older[entry], this.#newer[entry]]
    if (older === NONE) this.#oldest = newer
    else this.#newer[older] = newer
    if (newer === NONE) this.#newest = older
    else this.#older[newer] = older
  }

  /** The last entry moves to the place of one that has left. */
  #fill(entry: number, last: number): void {
    if (entry === last) return
    this.#unchain(last)
    for (const values of [this.#file, this.#page, this.#at, this.#bytes, this.#older, this.#newer])
      values[entry] = values[last]
    const [older, newer] = [this.#older[entry], this.#newer[entry]]
    if (older === NONE) this.#oldest = entry
    else this.#newer[older] = entry
    if (newer === NONE) this.#newest = entry
    else this.#older[newer] = entry
    this.#chain(entry)
  }

  #grow(): void {
    const room = 2 * this.#file.length
    const larger = <T extends Uint32Array | Float64Array>(values: T): T => {
      const grown = new (values.constructor as new (length: number) => T)(room)
      grown.set(values)
      return grown
    }
    this.#file = larger(this.#file)
    this.#page = larger(this.#page)
    this.#at = larger(this.#at)
    this.#bytes = larger(this.#bytes)
    this.#older = larger(this.#older)
    this.#newer = larger(this.#newer)
    this.#next = new Uint32Array(room)
    this.#first = new Uint32Array(room).fill(NONE)
    for (let entry = 0; entry < this.#count; entry++) this.#chain(entry)
  }
}
