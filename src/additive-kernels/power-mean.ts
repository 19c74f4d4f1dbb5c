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

/** A kernel of the family that has a name of its own. */
export function namedPowerMean(name: string, summary: string, p: number): AdditiveKernel {
  return {
    name,
    summary,
    parse(words) {
      if (words.length > 0) throw new UsageError(`--kernel has "${[name, ...words].join(':')}"; expected ${name} alone`)
      return { text: name, of: powerMeanOf(p) }
    },
  }
}

export const powerMean: AdditiveKernel = {
  name: 'power-mean',
  summary: 'the power mean of two values, with a power P of at most 0',
  takes: 'P',
  parse(words) {
    const p = Number(words[0])
    if (words.length !== 1 || words[0].trim() === '' || !(p <= 0) || !(p >= -64)) {
      throw new UsageError(
        `--kernel has "${['power-mean', ...words].join(':')}"; expected power-mean:P with a P from -64 to 0, e.g. power-mean:-2`,
      )
    }
    return { text: `power-mean:${p === 0 ? 0 : p}`, of: powerMeanOf(p) }
  },
}
