// A set of features as bits in pages, as training keeps it in shared memory (numeric/assembly/feature-map.ts): a list of the
// same features would take thirty times as much.

/** Features number·65536 and on: a bit for each, and how many features of the set come before every 64 of them. */
export interface FeaturePage {
  number: number
  /** 2048 words. */
  bits: Uint32Array
  /** 1024 counts. */
  before: Uint32Array
}

export class FeatureBits {
  /** How many features there are. */
  readonly size: number
  readonly #pages: FeaturePage[]
  readonly #byNumber: Map<number, FeaturePage>

  /** Pages in rising order. */
  constructor(pages: FeaturePage[]) {
    this.#pages = pages
    this.#byNumber = new Map(pages.map(page => [page.number, page]))
    const last = pages[pages.length - 1]
    this.size = last ? last.before[1023] + bitCount(last.bits[2046]) + bitCount(last.bits[2047]) : 0
  }

  /** Copies the features from a place on, in rising order, as many as there are or as the target holds; how many. */
  copy(place: number, target: Uint32Array): number {
    const count = Math.min(target.length, this.size - place)
    if (count <= 0) return 0
    let page = lastNotAbove(this.#pages.length, k => this.#pages[k].before[0], place)
    let { number, bits, before } = this.#pages[page]
    let word = 2 * lastNotAbove(1024, k => before[k], place)
    let skip = place - before[word >>> 1]
    for (let filled = 0; filled < count; word++) {
      if (word === bits.length) {
        ;({ number, bits, before } = this.#pages[++page])
        word = 0
      }
      const base = number * 65536 + word * 32
      for (let rest = bits[word]; rest !== 0 && filled < count; rest &= rest - 1) {
        if (skip > 0) skip--
        else target[filled++] = base + (31 - Math.clz32(rest & -rest))
      }
    }
    return count
  }

  /** A feature's place among them, or −1. */
  placeOf(feature: number): number {
    const page = this.#byNumber.get(Math.floor(feature / 65536))
    if (!page) return -1
    const bit = feature % 65536
    const word = bit >>> 5
    if (((page.bits[word] >>> (bit & 31)) & 1) === 0) return -1
    const lower = (word & 1) === 1 ? bitCount(page.bits[word - 1]) : 0
    return page.before[word >>> 1] + lower + bitCount(page.bits[word] & ((1 << (bit & 31)) - 1))
  }

  /** The feature at a place. */
  at(place: number): number {
    const found = new Uint32Array(1)
    if (this.copy(place, found) === 0) throw new RangeError(`there is no place ${place} among ${this.size} features`)
    return found[0]
  }
}

/** The last of `count` rising numbers that is not above a limit. */
function lastNotAbove(count: number, number: (k: number) => number, limit: number): number {
  let [low, high] = [0, count]
  while (high - low > 1) {
    const middle = (low + high) >>> 1
    if (number(middle) <= limit) low = middle
    else high = middle
  }
  return low
}

function bitCount(word: number): number {
  let x = word - ((word >>> 1) & 0x55555555)
  x = (x & 0x33333333) + ((x >>> 2) & 0x33333333)
  return Math.imul((x + (x >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24
}
