// Maps whose product is nearly an additive kernel: k(x, y) summed over the features, for values of at least 0. A linear model
// of what comes out is nearly the kernel's model of what goes in, and trains as fast as a linear one. Such kernels are
// homogeneous, √(xy) times an even function of log(y/x), and that function is a sum of cosines with the densities κ(λ), its
// spectrum. With a sample of the spectrum at 0 and at L, the period, feature x becomes three:
//
//   √(x L κ(0)),   √(2 x L κ(L)) cos(L log x),   √(2 x L κ(L)) sin(L log x)        at 3j, 3j + 1, 3j + 2 for feature j
//
// Values from 0 to 1 are looked up at the nearest of BINS places, but what is above 0 never at 0. Larger ones are worked out.
//
// Vedaldi, Zisserman: Efficient additive kernels via explicit feature maps (IEEE PAMI 2012).
import { SpillwayError, UsageError } from '../errors.ts'
import { EXPAND_BEYOND_HOMOGENEOUS } from '../numeric/layouts.ts'
import type { ExpandedRow, Expansion, ExpansionStep } from './expansion.ts'

const WIDTH = 3
const BINS = 1000
const MOST_BINS = 65_535

/** What tells one kernel's map from another's. */
export interface AdditiveKernel {
  name: string
  summary: string
  spectrum(frequency: number): number
  period: number
}

/** The entry of the list for a kernel's map. */
export function additiveMap(kernel: AdditiveKernel): Expansion {
  const { name, summary } = kernel
  return {
    name,
    summary,
    takes: '[:BINS]',
    example: name,
    parse(words) {
      const [text = String(BINS), ...more] = words
      const bins = Number(text)
      if (!/^\d+$/.test(text) || bins < 2 || bins > MOST_BINS || more.length > 0) {
        throw new UsageError(
          `--expand has "${[name, ...words].join(':')}"; expected ${name} or ${name}:BINS with 2 to ${MOST_BINS} bins`,
        )
      }
      return new AdditiveMap(kernel, bins)
    },
  }
}

class AdditiveMap implements ExpansionStep {
  readonly loop = 'expandTable'
  readonly letters = false
  readonly hashes = false
  readonly constant = false
  readonly proportional = true
  readonly text: string
  readonly settings: { table: Float64Array; width: number; bins: number; beyond: number; period: number }

  constructor({ name, spectrum, period }: AdditiveKernel, bins: number) {
    this.text = bins === BINS ? name : `${name}:${bins}`
    const table = new Float64Array((bins + 1) * WIDTH)
    const factors = [Math.sqrt(period * spectrum(0)), Math.sqrt(2 * period * spectrum(period))]
    for (let bin = 1; bin <= bins; bin++) table.set(mapped(bin / bins, factors, period), bin * WIDTH)
    this.settings = { table, width: WIDTH, bins, beyond: EXPAND_BEYOND_HOMOGENEOUS, period }
  }

  features(before: number): number {
    return before * WIDTH
  }
  entries(before: number): number {
    return before * WIDTH
  }
  valueBytes(before: number): number {
    return before
  }

  tooManyFeatures(): SpillwayError {
    return new SpillwayError(
      `the data has more than ${Math.floor((2 ** 32 - 2) / WIDTH)} features, and with ${this.text}, which makes three of each, numbers pass 2^32`,
      `hash the features: --expand ${this.text}+hash:22`,
    )
  }

  negativeValue(value: number): SpillwayError {
    return new SpillwayError(
      `a row has the value ${Number(value.toPrecision(7))}; additive kernels (${this.text}) need values of at least 0`,
      'make values non-negative first, or train with --kernel, which --scale minmax goes with',
    )
  }

  expandRow({ indices, values }: ExpandedRow, round: (value: number) => number): ExpandedRow {
    const { table, bins, period } = this.settings
    const atOne = table.subarray(bins * WIDTH)
    const row: ExpandedRow = { indices: [], values: [] }
    values.forEach((x, entry) => {
      if (!(x >= 0 && x < Number.POSITIVE_INFINITY)) throw this.negativeValue(x)
      if (x === 0) return
      const bin = Math.max(1, Math.floor(x * bins + 0.5))
      const found = x > 1 ? mapped(x, atOne, period) : table.subarray(bin * WIDTH, (bin + 1) * WIDTH)
      found.forEach((value, k) => {
        if (round(value) === 0) return
        row.indices.push(indices[entry] * BigInt(WIDTH) + BigInt(k))
        row.values.push(round(value))
      })
    })
    return row
  }

  /** `17(1)` to `17(3)` are what feature 17 becomes. */
  nameOf(feature: number, before: (feature: number) => string): string {
    return `${before(Math.floor(feature / WIDTH))}(${(feature % WIDTH) + 1})`
  }
}

/** The three values of x, given the first two of x = 1; the third is 0 there. */
function mapped(x: number, [constant, pair]: ArrayLike<number> & Iterable<number>, period: number): number[] {
  const root = Math.sqrt(x)
  const angle = period * Math.log(x)
  return [root * constant, root * pair * Math.cos(angle), root * pair * Math.sin(angle)]
}
