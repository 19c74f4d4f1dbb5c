// `polynomial:2`: a row's features, and the products of every two. A row of n entries has n(n+3)/2 afterwards, and two rows'
// product is xᵀz + (xᵀz)².
//
//   x_j at start_j = (j+1)(j+2)/2 − 1,  √2 x_i x_j (i < j) and x_j² (i = j) at start_j + 1 + i        numbers count from 0
//
// What belongs to feature j stands together, so a number does not depend on how many features there are. N features become
// N(N+3)/2; up to 92,680 of them fit in numbers of 32 bits, more need hashing behind it.
import { SpillwayError, UsageError } from '../errors.ts'
import type { Expansion, ExpansionStep } from './expansion.ts'

const start = (j: bigint): bigint => ((j + 1n) * (j + 2n)) / 2n - 1n

const step: ExpansionStep = {
  text: 'polynomial:2',
  letters: false,
  hashes: false,
  constant: false,
  proportional: false,
  features: before => (before * (before + 3)) / 2,
  entries: before => (before * (before + 3)) / 2,
  valueBytes: before => before,
  loop: 'expandPolynomial',
  settings: {},
  tooManyFeatures: () =>
    new SpillwayError(
      'the data has more than 92680 features, and the numbers of their products pass 2^32',
      'hash the products: --expand polynomial:2+hash:22',
    ),
  expandRow({ indices, values }, round) {
    const row = { indices: [] as bigint[], values: [] as number[] }
    indices.forEach((j, b) => {
      row.indices.push(start(j))
      row.values.push(values[b])
      for (let a = 0; a <= b; a++) {
        row.indices.push(start(j) + 1n + indices[a])
        row.values.push(round((a < b ? Math.SQRT2 : 1) * values[a] * values[b]))
      }
    })
    return row
  },
  /** `3` is feature 3, `3*17` the product of 3 and 17. */
  nameOf(feature, before) {
    // start_j ≤ feature < start_(j+1); the root is right to within one.
    let j = Math.max(0, Math.floor((Math.sqrt(8 * feature + 9) - 3) / 2))
    while (Number(start(BigInt(j + 1))) <= feature) j++
    while (j > 0 && Number(start(BigInt(j))) > feature) j--
    const i = feature - Number(start(BigInt(j))) - 1
    return i < 0 ? before(j) : `${before(i)}*${before(j)}`
  },
}

export const polynomial: Expansion = {
  name: 'polynomial',
  summary: 'the features and the products of every two of them',
  takes: ':2',
  example: 'polynomial:2',
  parse(words) {
    if (words.length === 1 && words[0] === '2') return step
    throw new UsageError(
      `--expand has "${['polynomial', ...words].join(':')}"; expected polynomial:2, the one degree there is`,
    )
  },
}
