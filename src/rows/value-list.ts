// The values of a column over all chunks of a table, in the order of the text: a list in shared memory, which grows.
import type { Arena } from '../numeric/arena.ts'
import { ScannedFields } from '../numeric/fields/scanned.ts'
import { SCANNED_BYTES } from '../numeric/table-layout.ts'
import type { Address, ByteCount } from '../sizes.ts'
import { MOST_VALUE_BYTES, MOST_VALUES } from '../tables/make-schema.ts'
import { bytesOfValues } from '../tables/schema.ts'

/** Values that a list has room for at first: a wide table has a hundred thousand lists of a few values. */
export const FIRST_ROOM = 1 << 3
/** Bytes of text that a list takes at a time: as many as it has, within these bounds. */
const LEAST_TEXT_BYTES = 1 << 6
const TEXT_BYTES = 1 << 16

/** The upper bit of a length. */
const DOUBLED = 2 ** 31

/** Where the values of a chunk are put for a moment: one place serves all lists, for nothing is given back while threads work. */
export class Landing {
  readonly #arena: Arena
  #at = 0
  #room = 0

  constructor(arena: Arena) {
    this.#arena = arena
  }

  put(values: Uint32Array): Address {
    if (values.length > this.#room) {
      this.#room = values.length * 2
      this.#at = this.#arena.allocate(this.#room * 4, 'values of a column')
    }
    this.#arena.u32(this.#at, values.length).set(values)
    return this.#at
  }
}

export class ValueList {
  readonly #arena: Arena
  readonly #landing: Landing
  readonly #list: ScannedFields
  #bytes = 0
  #texts = { at: 0, end: 0 }

  constructor(arena: Arena, landing: Landing) {
    this.#arena = arena
    this.#landing = landing
    this.#list = new ScannedFields(arena, arena.allocateZeroed(SCANNED_BYTES, 'values of a column'))
  }

  #grow(values: number): void {
    const arena = this.#arena
    const slots = values * 2
    const table = arena.allocateZeroed(slots * 4, 'values of a column')
    arena.numeric.growList(this.#list.at, table, slots, arena.allocate(values * 8, 'values of a column'))
    this.#list.room = values
  }

  get count(): number {
    return this.#list.count
  }

  /** What its values take once they are in a schema. */
  get bytesToBe(): ByteCount {
    return bytesOfValues(this.#list.count, this.#bytes)
  }

  /** Adds the values of a chunk, whose bytes are there: address and length of each. False when there are too many by now. */
  add(values: Uint32Array): boolean {
    const { numeric } = this.#arena
    const list = this.#list
    // A column of numbers has no values, and so no room for them. The values of the chunk before may have filled the list exactly.
    if (list.count === list.room) this.#grow(Math.max(FIRST_ROOM, list.count * 4))
    const at = this.#landing.put(values)
    const count = values.length / 2
    for (let done = 0; ; ) {
      const texts = this.#texts
      done = numeric.mergeValues(list.at, at, done, count, texts.at, texts.end)
      const end = numeric.endOfMerged() >>> 0
      this.#bytes += end - texts.at
      texts.at = end
      if (list.count > MOST_VALUES || this.#bytes > MOST_VALUE_BYTES) return false
      if (done === count) return true
      if (list.count === list.room) this.#grow(list.count * 4)
      else this.#makeRoom(values[2 * done + 1] % DOUBLED)
    }
  }

  /** Room for a text of so many bytes at least. Texts are compared by words: what is behind the last one may be read. */
  #makeRoom(bytes: number): void {
    const size = Math.max(bytes, LEAST_TEXT_BYTES, Math.min(this.#bytes, TEXT_BYTES))
    const at = this.#arena.allocate(size + 8, 'values of a column')
    this.#texts = { at, end: at + size }
  }

  /** The values as texts, or the bytes of one that is no text. */
  texts(): string[] | Uint8Array {
    const { entries, count } = this.#list
    const list = this.#arena.u32(entries, count * 2)
    const values = new Set<string>()
    for (let k = 0; k < count; k++) {
      const length = list[2 * k + 1] % DOUBLED
      const bytes = this.#arena.bytes(list[2 * k], length)
      const text = decode(bytes)
      if (text === undefined) return bytes
      values.add(length === list[2 * k + 1] ? text : text.replaceAll('""', '"'))
    }
    return [...values]
  }
}

const utf8 = new TextEncoder()

/** The text of UTF-8 bytes without zeros among them. */
function decode(bytes: Uint8Array): string | undefined {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString()
  if (!/[\0\uFFFD]/.test(text)) return text
  // The mark of what cannot be decoded may also be written by the user.
  const again = Buffer.from(utf8.encode(text))
  return !text.includes('\0') && again.equals(bytes) ? text : undefined
}
