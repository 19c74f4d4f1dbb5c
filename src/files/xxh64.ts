// XXH64 in 32-bit arithmetic, so that it needs neither WebAssembly nor BigInt and runs wherever a model is loaded.
// The algorithm is Yann Collet's: https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md
//
// A 64-bit number is a pair of 32-bit halves. A function that yields one leaves it in the two variables below: returning
// an object for each step would make the garbage collector the bottleneck.

let high = 0
let low = 0

const PRIME_1 = [0x9e3779b1, 0x85ebca87] as const
const PRIME_2 = [0xc2b2ae3d, 0x27d4eb4f] as const
const PRIME_3 = [0x165667b1, 0x9e3779f9] as const
const PRIME_4 = [0x85ebca77, 0xc2b2ae63] as const
const PRIME_5 = [0x27d4eb2f, 0x165667c5] as const
const STRIPE = 32
const MANY_BYTES = 1 << 16

function add(aHigh: number, aLow: number, bHigh: number, bLow: number): void {
  const sum = (aLow >>> 0) + (bLow >>> 0)
  high = (aHigh + bHigh + (sum > 0xffffffff ? 1 : 0)) | 0
  low = sum | 0
}

function multiply(aHigh: number, aLow: number, bHigh: number, bLow: number): void {
  const a0 = aLow & 0xffff
  const a1 = aLow >>> 16
  const b0 = bLow & 0xffff
  const b1 = bLow >>> 16
  const middle = (Math.imul(a0, b1) >>> 0) + (Math.imul(a0, b0) >>> 16)
  const carried = (Math.imul(a1, b0) >>> 0) + (middle & 0xffff)
  const top = Math.imul(a1, b1) + (middle >>> 16) + (carried >>> 16)
  high = (top + Math.imul(aHigh, bLow) + Math.imul(aLow, bHigh)) | 0
  low = Math.imul(aLow, bLow)
}

function rotateLeft(aHigh: number, aLow: number, bits: number): void {
  if (bits > 31) {
    rotateLeft(aLow, aHigh, bits - 32)
    return
  }
  high = (aHigh << bits) | (aLow >>> (32 - bits))
  low = (aLow << bits) | (aHigh >>> (32 - bits))
}

/** rotl(lane + word × P2, 31) × P1 */
function round(laneHigh: number, laneLow: number, wordHigh: number, wordLow: number): void {
  multiply(wordHigh, wordLow, PRIME_2[0], PRIME_2[1])
  add(laneHigh, laneLow, high, low)
  rotateLeft(high, low, 31)
  multiply(high, low, PRIME_1[0], PRIME_1[1])
}

/** value ^= value >>> bits */
function foldDown(bits: number): void {
  const shiftedLow = bits > 31 ? high >>> (bits - 32) : (low >>> bits) | (high << (32 - bits))
  const shiftedHigh = bits > 31 ? 0 : high >>> bits
  high ^= shiftedHigh
  low ^= shiftedLow
}

/** Takes whole stripes into the lanes, by other means than this file's: four 64-bit numbers, the low half first. */
export type TakeStripes = (lanes: Int32Array, stripes: Uint8Array) => void

/** Takes bytes in any number of pieces; the seed is 0. */
export class Xxh64 {
  readonly #takeMany: TakeStripes | undefined
  /** Four lanes, each low then high. */
  readonly #lanes = new Int32Array(8)
  readonly #rest = new Uint8Array(STRIPE)
  #restLength = 0
  #total = 0

  /** `takeMany` is for pieces of many bytes. */
  constructor(takeMany?: TakeStripes) {
    this.#takeMany = takeMany
    add(PRIME_1[0], PRIME_1[1], PRIME_2[0], PRIME_2[1])
    this.#lanes.set([low, high, PRIME_2[1] | 0, PRIME_2[0] | 0, 0, 0])
    add(0, 0, ~PRIME_1[0], ~PRIME_1[1])
    add(high, low, 0, 1)
    this.#lanes.set([low, high], 6)
  }

  update(bytes: Uint8Array): this {
    this.#total += bytes.length
    let at = 0
    if (this.#restLength > 0) {
      at = Math.min(STRIPE - this.#restLength, bytes.length)
      this.#rest.set(bytes.subarray(0, at), this.#restLength)
      this.#restLength += at
      if (this.#restLength < STRIPE) return this
      this.#stripes(this.#rest, 0, STRIPE)
      this.#restLength = 0
    }
    const whole = at + Math.floor((bytes.length - at) / STRIPE) * STRIPE
    this.#stripes(bytes, at, whole)
    this.#rest.set(bytes.subarray(whole))
    this.#restLength = bytes.length - whole
    return this
  }

  #stripes(bytes: Uint8Array, from: number, to: number): void {
    if (this.#takeMany && to - from >= MANY_BYTES) {
      this.#takeMany(this.#lanes, bytes.subarray(from, to))
      return
    }
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
    const lanes = this.#lanes
    for (let at = from; at < to; at += STRIPE) {
      for (let lane = 0; lane < 8; lane += 2) {
        const word = at + lane * 4
        round(lanes[lane + 1], lanes[lane], view.getInt32(word + 4, true), view.getInt32(word, true))
        lanes[lane] = low
        lanes[lane + 1] = high
      }
    }
  }

  /** The hash of all bytes so far, as unsigned halves. */
  digest(): { high: number; low: number } {
    this.#mergeLanes()
    add(high, low, Math.floor(this.#total / 2 ** 32), this.#total | 0)
    const view = new DataView(this.#rest.buffer)
    let at = 0
    for (; at + 8 <= this.#restLength; at += 8) {
      const [accHigh, accLow] = [high, low]
      round(0, 0, view.getInt32(at + 4, true), view.getInt32(at, true))
      rotateLeft(accHigh ^ high, accLow ^ low, 27)
      multiply(high, low, PRIME_1[0], PRIME_1[1])
      add(high, low, PRIME_4[0], PRIME_4[1])
    }
    for (; at + 4 <= this.#restLength; at += 4) {
      const [accHigh, accLow] = [high, low]
      multiply(0, view.getInt32(at, true), PRIME_1[0], PRIME_1[1])
      rotateLeft(accHigh ^ high, accLow ^ low, 23)
      multiply(high, low, PRIME_2[0], PRIME_2[1])
      add(high, low, PRIME_3[0], PRIME_3[1])
    }
    for (; at < this.#restLength; at++) {
      const [accHigh, accLow] = [high, low]
      multiply(0, this.#rest[at], PRIME_5[0], PRIME_5[1])
      rotateLeft(accHigh ^ high, accLow ^ low, 11)
      multiply(high, low, PRIME_1[0], PRIME_1[1])
    }
    foldDown(33)
    multiply(high, low, PRIME_2[0], PRIME_2[1])
    foldDown(29)
    multiply(high, low, PRIME_3[0], PRIME_3[1])
    foldDown(32)
    return { high: high >>> 0, low: low >>> 0 }
  }

  #mergeLanes(): void {
    if (this.#total < STRIPE) {
      add(0, 0, PRIME_5[0], PRIME_5[1])
      return
    }
    const lanes = this.#lanes
    let sumHigh = 0
    let sumLow = 0
    for (const [lane, bits] of [
      [0, 1],
      [2, 7],
      [4, 12],
      [6, 18],
    ]) {
      rotateLeft(lanes[lane + 1], lanes[lane], bits)
      add(high, low, sumHigh, sumLow)
      sumHigh = high
      sumLow = low
    }
    for (let lane = 0; lane < 8; lane += 2) {
      round(0, 0, lanes[lane + 1], lanes[lane])
      multiply(sumHigh ^ high, sumLow ^ low, PRIME_1[0], PRIME_1[1])
      add(high, low, PRIME_4[0], PRIME_4[1])
      sumHigh = high
      sumLow = low
    }
  }
}

/** Sixteen hexadecimal digits. */
export function xxh64Text({ high, low }: { high: number; low: number }): string {
  return high.toString(16).padStart(8, '0') + low.toString(16).padStart(8, '0')
}
