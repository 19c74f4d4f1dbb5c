// The distributions that rows are drawn from, as tables of quantiles: the generator looks up, it never computes a power.
import { GENERATE_BINS, GENERATE_LENGTHS } from '../numeric/generate-layout.ts'

/** A power law over ranks 0 … size − 1: density ∝ (rank + plateau)^−skew, as a continuous one cut into steps of 1. */
export class PowerLaw {
  readonly size: number
  readonly #skew: number
  readonly #plateau: number
  readonly #low: number
  readonly #high: number
  #blocks: { ranks: number; missed: number }[] | undefined

  constructor(size: number, skew: number, plateau: number) {
    this.size = size
    this.#skew = skew
    this.#plateau = plateau
    this.#low = this.#integral(0)
    this.#high = this.#integral(size)
  }

  #integral(rank: number): number {
    const s = 1 - this.#skew
    return Math.abs(s) < 1e-9 ? Math.log(rank + this.#plateau) : (rank + this.#plateau) ** s / s
  }

  /** Probability of a rank below the given one. */
  below(rank: number): number {
    return (this.#integral(rank) - this.#low) / (this.#high - this.#low)
  }

  quantile(probability: number): number {
    const s = 1 - this.#skew
    const at = this.#low + probability * (this.#high - this.#low)
    return (Math.abs(s) < 1e-9 ? Math.exp(at) : (at * s) ** (1 / s)) - this.#plateau
  }

  /** Ranks at even steps of probability; the last stays below the size, so that rounding cannot reach it. */
  quantiles(): Float64Array {
    const table = Float64Array.from({ length: GENERATE_BINS + 1 }, (_, k) =>
      Math.min(this.size - 1e-3, Math.max(0, this.quantile(k / GENERATE_BINS))),
    )
    table[0] = 0
    table[GENERATE_BINS] = this.size - 1e-3
    return table
  }

  /** Expected number of distinct ranks among so many draws. */
  distinct(draws: number): number {
    this.#blocks ??= this.#divide()
    let sum = 0
    for (const { ranks, missed } of this.#blocks) sum -= ranks * Math.expm1(draws * missed)
    return sum
  }

  /** Ranks one by one at the head, then in blocks that grow with the rank; the logarithm of missing one in a draw. */
  #divide(): { ranks: number; missed: number }[] {
    const blocks: { ranks: number; missed: number }[] = []
    for (let from = 0; from < this.size; ) {
      const ranks = Math.min(this.size - from, Math.max(1, Math.floor(from / 16)))
      const each = (this.below(from + ranks) - this.below(from)) / ranks
      blocks.push({ ranks, missed: Math.log1p(-Math.min(0.999999, each)) })
      from += ranks
    }
    return blocks
  }
}

/** Numbers of draws at even steps of probability: log-normal, such that a row has so many distinct features on average. */
export function drawCounts(law: PowerLaw, nonzeros: number, spread: number): Uint32Array {
  const factors = Array.from({ length: GENERATE_LENGTHS }, (_, k) =>
    Math.exp(spread * normalQuantile((k + 0.5) / GENERATE_LENGTHS)),
  )
  const mean = (scale: number): number => {
    // Pairs of neighbouring factors, every other pair: a good enough sample of them.
    if (spread === 0) return law.distinct(scale)
    let sum = 0
    for (let k = 1; k < GENERATE_LENGTHS; k += 4) sum += law.distinct(((factors[k] + factors[k + 1]) / 2) * scale)
    return (sum * 4) / GENERATE_LENGTHS
  }
  let low = 0
  let high = nonzeros
  while (mean(high) < nonzeros && high < nonzeros * 64) high *= 2
  for (let step = 0; step < 20; step++) {
    const middle = (low + high) / 2
    if (mean(middle) < nonzeros) low = middle
    else high = middle
  }
  // Rounded up or down in a fixed pattern without bias, so that short lengths keep their mean.
  const scale = spread === 0 && Number.isInteger(nonzeros) && nonzeros <= 1 ? nonzeros : high
  return Uint32Array.from(factors, (factor, k) => Math.floor(factor * scale + reversedBits(k) / GENERATE_LENGTHS))
}

function reversedBits(byte: number): number {
  let reversed = 0
  for (let bit = 0; bit < 8; bit++) if (byte & (1 << bit)) reversed |= 128 >> bit
  return reversed
}

/** Quantiles of the standard normal distribution at even steps; the outermost are those of half a step. */
export function normalQuantiles(): Float32Array {
  return Float32Array.from({ length: GENERATE_BINS + 1 }, (_, k) =>
    normalQuantile(Math.min(GENERATE_BINS - 0.1, Math.max(0.1, k)) / GENERATE_BINS),
  )
}

/** Quantiles of a log-normal distribution at even steps; the outermost are those of half a step. */
export function logNormalQuantiles(median: number, spread: number): Float64Array {
  return Float64Array.from(normalQuantiles(), z => median * Math.exp(spread * z))
}

/** The inverse of the normal distribution function, by P. J. Acklam's rational approximation (relative error 1e-9). */
export function normalQuantile(p: number): number {
  if (p > 0.5) return -normalQuantile(1 - p)
  if (p < 0.02425) {
    const q = Math.sqrt(-2 * Math.log(p))
    const top = polynomial(
      q,
      [
        -7.784894002430293e-3, -3.223964580411365e-1, -2.400758277161838, -2.549732539343734, 4.374664141464968,
        2.938163982698783,
      ],
    )
    const bottom = polynomial(q, [7.784695709041462e-3, 3.224671290700398e-1, 2.445134137142996, 3.754408661907416, 1])
    return top / bottom
  }
  const q = p - 0.5
  const r = q * q
  const top = polynomial(
    r,
    [
      -3.969683028665376e1, 2.209460984245205e2, -2.759285104469687e2, 1.38357751867269e2, -3.066479806614716e1,
      2.506628277459239,
    ],
  )
  const bottom = polynomial(
    r,
    [-5.447609879822406e1, 1.615858368580409e2, -1.556989798598866e2, 6.680131188771972e1, -1.328068155288572e1, 1],
  )
  return (q * top) / bottom
}

/** Highest power first. */
function polynomial(x: number, coefficients: number[]): number {
  return coefficients.reduce((sum, c) => sum * x + c, 0)
}
