// `hash:BITS`: every feature falls on one of 2^BITS, by a hash of its number, and takes a sign from the same hash, so that
// features which meet add up to nothing on average. Weights take 2^BITS numbers, however many features there are.
//
//   h = number + P5;  h = (h ^ h>>33)·P2;  h = (h ^ h>>29)·P3;  h = h ^ h>>32        modulo 2^64, numbers count from 0
//   new number = h mod 2^BITS,  sign = − if h ≥ 2^63
//
// Weinberger, Dasgupta, Langford, Smola, Attenberg: Feature hashing for large scale multitask learning (ICML 2009).
import { type SpillwayError, UsageError } from '../errors.ts'
import type { ExpandedRow, Expansion, ExpansionStep } from './expansion.ts'

const MOST_BITS = 31
const P2 = 0xc2b2ae3d27d4eb4fn
const P3 = 0x165667b19e3779f9n
const P5 = 0x27d4eb2f165667c5n
const u64 = (number: bigint): bigint => BigInt.asUintN(64, number)

/** Where a feature falls, and its sign. */
export function hashOf(number: bigint, bits: number): { bucket: bigint; sign: 1 | -1 } {
  let h = u64(number + P5)
  h = u64((h ^ (h >> 33n)) * P2)
  h = u64((h ^ (h >> 29n)) * P3)
  h ^= h >> 32n
  return { bucket: BigInt.asUintN(bits, h), sign: h >> 63n ? -1 : 1 }
}

export class Hashing implements ExpansionStep {
  readonly loop = 'expandHash'
  readonly letters = false
  readonly hashes = true
  readonly constant = false
  readonly proportional = true
  readonly text: string
  readonly bits: number

  constructor(bits: number) {
    this.bits = bits
    this.text = `hash:${bits}`
  }

  features(): number {
    return 2 ** this.bits
  }
  entries(before: number): number {
    return before
  }
  valueBytes(before: number): number {
    return before
  }
  get settings(): ExpansionStep['settings'] {
    return { bits: this.bits }
  }
  tooManyFeatures(): SpillwayError {
    throw new Error('a hash has no such numbers')
  }

  expandRow({ indices, values }: ExpandedRow, round: (value: number) => number): ExpandedRow {
    const sums = new Map<bigint, number>()
    indices.forEach((number, k) => {
      const { bucket, sign } = hashOf(number, this.bits)
      sums.set(bucket, (sums.get(bucket) ?? 0) + sign * values[k])
    })
    const kept = [...sums].map(([bucket, sum]) => [bucket, round(sum)] as const).filter(([, sum]) => sum !== 0)
    kept.sort(([a], [b]) => (a < b ? -1 : 1))
    return { indices: kept.map(([bucket]) => bucket), values: kept.map(([, sum]) => sum) }
  }

  placeOf(feature: number): number {
    return Number(hashOf(BigInt(feature), this.bits).bucket)
  }
  nameOf(feature: number): string {
    return String(feature)
  }
}

export const hash: Expansion = {
  name: 'hash',
  summary: 'features hashed to 2^BITS, with a sign',
  takes: ':BITS',
  example: 'hash:10',
  parse(words) {
    const bits = Number(words[0])
    if (words.length !== 1 || !/^\d+$/.test(words[0]) || bits < 1 || bits > MOST_BITS) {
      throw new UsageError(
        `--expand has "${['hash', ...words].join(':')}"; expected hash:BITS with 1 to ${MOST_BITS} bits, e.g. hash:22`,
      )
    }
    return new Hashing(bits)
  },
}
