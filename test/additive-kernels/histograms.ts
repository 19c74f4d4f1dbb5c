// Small seeded histograms, the kind of data that additive kernels are for: values in [0, 1], many of them 0, classes that
// differ in how often a bin is filled and how far, so that no single hyperplane tells them apart well.

/** Steps of the values: whole parts of a power of two, so that f32 holds them exactly. */
const STEPS = 1024

export interface HistogramOptions {
  rows: number
  features: number
  /** Labels are −1 and +1 for two classes, else 1 to so many. */
  classes?: number
  seed?: number
  /** Share of the values that are 0. */
  zeros?: number
}

export interface Histograms {
  rows: Float64Array[]
  labels: number[]
}

/** A stream of numbers in [0, 1), the same for the same seed. */
export function seededNumbers(seed: number): () => number {
  let state = (seed ^ 0x9e3779b9) >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let word = Math.imul(state ^ (state >>> 15), state | 1)
    word ^= word + Math.imul(word ^ (word >>> 7), word | 61)
    return ((word ^ (word >>> 14)) >>> 0) / 2 ** 32
  }
}

export function makeHistograms({ rows, features, classes = 2, seed = 1, zeros = 0.4 }: HistogramOptions): Histograms {
  const random = seededNumbers(seed)
  // A value's power says how far a class fills a bin: below 1 far, above 1 hardly.
  const powers = Array.from({ length: classes }, () =>
    Array.from({ length: features }, () => 2 ** (4 * random() - 0.5)),
  )
  const made: Histograms = { rows: [], labels: [] }
  for (let i = 0; i < rows; i++) {
    // The first rows have one of each class, in turn, so that even the smallest set has all of them.
    const k = i < classes ? i : Math.floor(random() * classes)
    made.rows.push(
      Float64Array.from({ length: features }, (_, j) =>
        random() < zeros ? 0 : Math.ceil(STEPS * random() ** powers[k][j]) / STEPS,
      ),
    )
    made.labels.push(classes === 2 ? 1 - 2 * k : k + 1)
  }
  return made
}

/** As LIBSVM text, zeros left out; the numbers are written in full. */
export function asLibsvm({ rows, labels }: Histograms): string {
  return rows
    .map((row, i) => {
      const entries = [...row.entries()].filter(([, value]) => value !== 0)
      return `${[labels[i], ...entries.map(([j, value]) => `${j + 1}:${value}`)].join(' ')}\n`
    })
    .join('')
}

/** One class against the rest, as the oracle wants its labels. */
export function against(labels: number[], label: number): number[] {
  return labels.map(each => (each === label ? 1 : -1))
}
