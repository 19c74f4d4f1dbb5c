// `power-mean:P`: M_p(x, y) = ((xᵖ + yᵖ) / 2)^(1/p) for p below 0, √(xy) for p = 0. It is the χ² kernel for p = −1, and comes
// ever closer to the smaller of the two numbers as p falls.
import { UsageError } from '../errors.ts'
import type { AdditiveKernel, ScalarKernel } from './additive-kernel.ts'

/** The power mean of two numbers above 0, without a power that overflows: the ratio of the two is at least 1. */
export function powerMeanOf(p: number): ScalarKernel['of'] {
  if (p === 0) return (x, y) => Math.sqrt(x * y)
  return (x, y) => {
    const smaller = Math.min(x, y)
    return smaller * ((1 + (Math.max(x, y) / smaller) ** p) / 2) ** (1 / p)
  }
}

/** The degree that has at least 98 of 100 small histograms on the side where the kernel itself has them: power means bend ever
 *  more sharply at x = y as p falls. */
function degreeFor(p: number): number {
  if (p >= -1) return 2
  if (p >= -3) return 7
  if (p >= -8) return 19
  return p >= -16 ? 31 : 63
}

/** A kernel of the family that has a name of its own. */
export function namedPowerMean(name: string, summary: string, p: number): AdditiveKernel {
  return {
    name,
    summary,
    example: name,
    parse(words) {
      if (words.length > 0) throw new UsageError(`--kernel has "${[name, ...words].join(':')}"; expected ${name} alone`)
      return { text: name, degree: degreeFor(p), of: powerMeanOf(p) }
    },
  }
}

export const powerMean: AdditiveKernel = {
  name: 'power-mean',
  summary: 'the power mean of two values, with a power P of at most 0',
  takes: 'P',
  example: 'power-mean:-2',
  parse(words) {
    const p = Number(words[0])
    if (words.length !== 1 || words[0].trim() === '' || !(p <= 0) || !(p >= -64)) {
      throw new UsageError(
        `--kernel has "${['power-mean', ...words].join(':')}"; expected power-mean:P with a P from -64 to 0, e.g. power-mean:-2`,
      )
    }
    return { text: `power-mean:${p === 0 ? 0 : p}`, degree: degreeFor(p), of: powerMeanOf(p) }
  },
}
