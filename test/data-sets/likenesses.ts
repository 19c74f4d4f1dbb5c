// What stands in for the real data sets where there is none: rows with as many features, about as many nonzeros a row, the same
// kinds of values, the same labels and about their shares. A row's class is drawn first, its features depend on it; some
// labels are wrong and some rows hardly show their class, so that no model gets all rows right.
import { randomNumbers } from '../numeric/reference.ts'

type Random = () => number

export interface Likeness {
  /** Rows of it unless a test asks for another number. */
  rows: number
  /** Prepares what all rows share, and returns what makes the next line. */
  lines(shared: Random, random: Random): () => string
}

/** About the normal distribution. */
const normal = (random: Random): number => (random() + random() + random() + random() - 2) * Math.sqrt(3)

const between = (least: number, x: number, most: number): number => Math.min(most, Math.max(least, x))

/** Which of several, by their shares, which sum to 1. */
function drawOf(shares: number[], random: Random): number {
  let rest = random()
  for (const [k, share] of shares.entries()) {
    rest -= share
    if (rest < 0) return k
  }
  return shares.length - 1
}

/** A class by the shares of classes; now and then another one is written down. */
function drawClass(shares: number[], noise: number, random: Random): { hidden: number; written: number } {
  const hidden = drawOf(shares, random)
  return { hidden, written: random() < noise ? drawOf(shares, random) : hidden }
}

/** Columns of a table, each of which is one of its values: for each column and class the shares of its values. */
function columnShares(widths: number[], classes: number, tilt: number, shared: Random): number[][][] {
  return widths.map(width => {
    const usual = Array.from({ length: width }, (_, k) => (0.3 + shared()) / (k + 1))
    return Array.from({ length: classes }, () => {
      const own = usual.map(share => share * Math.exp(tilt * normal(shared)))
      const sum = own.reduce((total, share) => total + share, 0)
      return own.map(share => share / sum)
    })
  })
}

/** Rows of ones: a value of each column, now and then none. */
function columnsLikeness(
  rows: number,
  widths: number[],
  empty: number,
  labels: string[],
  shares: number[],
  tilt: number,
): Likeness {
  return {
    rows,
    lines(shared, random) {
      const columns = columnShares(widths, labels.length, tilt, shared)
      return () => {
        const { hidden, written } = drawClass(shares, 0.05, random)
        let [line, before] = [labels[written], 1]
        for (const [c, width] of widths.entries()) {
          if (random() >= empty) line += ` ${before + drawOf(columns[c][hidden], random)}:1`
          before += width
        }
        return line
      }
    },
  }
}

interface Words {
  rows: number
  features: number
  labels: string[]
  shares: number[]
  /** Draws of a row, in the middle, and the standard deviation of their logarithm. */
  draws: number
  spread: number
  /** Share of the draws that give way to a word of the class, at most. */
  tilt: number
  /** Share of rows without any. */
  empty?: number
  /** Every value is 1, whatever the count. */
  ones?: true
  /** One count of the first row. */
  largest?: number
}

/** Rows of counts: frequent features come first, and of as many neighbours as there are classes each belongs to one. */
function wordsLikeness(of: Words): Likeness {
  const { features, labels, shares, largest } = of
  return {
    rows: of.rows,
    lines(_, random) {
      let first = true
      return () => {
        const { hidden, written } = drawClass(shares, 0.04, random)
        const tilt = of.tilt * random()
        const draws = random() < (of.empty ?? 0) ? 0 : Math.ceil(of.draws * Math.exp(of.spread * normal(random)))
        const counts = new Map<number, number>()
        for (let k = 0; k < draws; k++) {
          // The word of rank r with probability ∝ 1 / r.
          const word = Math.floor(features ** random()) - 1
          const own = word - (word % labels.length) + hidden
          const index = 1 + (random() < tilt && own < features ? own : word)
          counts.set(index, of.ones ? 1 : 1 + (counts.get(index) ?? 0))
        }
        if (first && largest) counts.set(features, largest)
        first = false
        const entries = [...counts].sort(([a], [b]) => a - b)
        return labels[written] + entries.map(([index, count]) => ` ${index}:${count}`).join('')
      }
    },
  }
}

/** Places on a map, as covtype has them: ten measured numbers and two columns of ones. */
const places: Likeness = {
  rows: 6000,
  lines(shared, random) {
    const ranges = [
      [1859, 3858],
      [0, 360],
      [0, 66],
      [0, 1397],
      [-173, 601],
      [0, 7117],
      [0, 254],
      [0, 254],
      [0, 254],
      [0, 7173],
    ]
    const shifts = ranges.map(() => 0.12 * normal(shared))
    const columns = columnShares([4, 40], 2, 0.7, shared)
    return () => {
      const { hidden, written } = drawClass([0.51, 0.49], 0.15, random)
      const entries: string[] = []
      for (const [j, [least, most]] of ranges.entries()) {
        const x = 0.45 + 0.2 * normal(random) + (hidden === 0 ? shifts[j] : -shifts[j])
        const value = Math.round(least + between(0, x, 1) * (most - least))
        if (value !== 0) entries.push(`${j + 1}:${value}`)
      }
      entries.push(`${11 + drawOf(columns[0][hidden], random)}:1`, `${15 + drawOf(columns[1][hidden], random)}:1`)
      return `${1 + written} ${entries.join(' ')}`
    }
  },
}

/** Digits, as mnist has them: 28 × 28 pixels from 0 to 255, strokes that are a little different every time. */
const digits: Likeness = {
  rows: 1000,
  lines(shared, random) {
    const SIDE = 28
    const LAST = 780
    const place = (): [number, number] => [6 + 16 * shared(), 5 + 18 * shared()]
    const digit = Array.from({ length: 10 }, () => Array.from({ length: 5 }, place))
    return () => {
      const { hidden, written } = drawClass(Array(10).fill(0.1), 0.02, random)
      const [right, down] = [normal(random), normal(random)]
      const points = digit[hidden].map(([x, y]) => [x + right + normal(random), y + down + normal(random)])
      const brush = 1.4 + 1.1 * random()
      const pixels = new Uint8Array(SIDE * SIDE)
      for (let k = 1; k < points.length; k++) {
        const [[x, y], [toX, toY]] = [points[k - 1], points[k]]
        const steps = 1 + Math.ceil(Math.abs(toX - x) + Math.abs(toY - y))
        for (let s = 0; s <= steps; s++) {
          const [px, py] = [x + ((toX - x) * s) / steps, y + ((toY - y) * s) / steps]
          for (let r = Math.max(0, Math.floor(py - 3)); r < Math.min(SIDE, py + 3); r++) {
            for (let c = Math.max(0, Math.floor(px - 3)); c < Math.min(SIDE, px + 3); c++) {
              const level = Math.round(255 * between(0, brush + 0.5 - Math.sqrt((c - px) ** 2 + (r - py) ** 2), 1))
              if (level > pixels[r * SIDE + c]) pixels[r * SIDE + c] = level
            }
          }
        }
      }
      let line = String(written)
      for (let j = 0; j < LAST; j++) if (pixels[j] > 0) line += ` ${j + 1}:${pixels[j]}`
      return line
    }
  },
}

/** Strings around AG, as celegans-acceptor has them. Before it, splice sites have one of three words of C and G; some other
 *  strings have the letters of these words, each from any of them: words tell them from splice sites, single letters do not. */
const spliceSites: Likeness = {
  rows: 6000,
  lines(shared, random) {
    const [LENGTH, SITE, WORD] = [398, 198, 14]
    const letter = (): string => 'AAACCGGTTT'[Math.floor(random() * 10)]
    const words = Array.from({ length: 3 }, () => Array.from({ length: WORD }, () => 'CG'[Math.floor(shared() * 2)]))
    const anyWord = (): string[] => words[Math.floor(random() * words.length)]
    return () => {
      const positive = random() < 0.033
      const shows = random()
      const own = positive && shows < 0.9 ? anyWord() : undefined
      const mixed = !positive && shows < 0.02
      const before = Array.from({ length: WORD }, (_, k) => (own ? own[k] : mixed ? anyWord()[k] : letter()))
      let line = positive ? '1 ' : '-1 '
      for (let k = WORD; k < SITE; k++) line += letter()
      line += `${before.join('')}AG`
      for (let k = SITE + 2; k < LENGTH; k++) line += letter()
      return line
    }
  },
}

/** The columns of a9a, age to country. */
const CENSUS = [5, 8, 5, 16, 5, 7, 14, 6, 5, 2, 2, 2, 5, 41]
const MINUS_PLUS = ['-1', '+1']

export const likenesses = {
  a9a: columnsLikeness(2000, CENSUS, 0.01, MINUS_PLUS, [0.76, 0.24], 0.5),
  'dna.scale': columnsLikeness(2000, Array(60).fill(3), 0.22, ['1', '2', '3'], [0.23, 0.24, 0.53], 0.35),
  w8a: wordsLikeness({
    ...{ rows: 4000, features: 300, labels: MINUS_PLUS, shares: [0.97, 0.03], ones: true },
    ...{ draws: 13, spread: 0.7, tilt: 0.9, empty: 0.085 },
  }),
  imdb: wordsLikeness({
    ...{ rows: 2000, features: 44_764, labels: ['+1', '-1'], shares: [0.5, 0.5] },
    ...{ draws: 160, spread: 0.5, tilt: 0.4 },
  }),
  news20bydate: wordsLikeness({
    ...{ rows: 1500, features: 53_195, labels: Array.from({ length: 20 }, (_, k) => String(k + 1)) },
    ...{ shares: Array(20).fill(0.05), draws: 150, spread: 0.7, tilt: 0.5, largest: 11_151 },
  }),
  'covtype.libsvm.binary': places,
  mnist: digits,
  'celegans-acceptor.txt': spliceSites,
} satisfies Record<string, Likeness>

export type SetName = keyof typeof likenesses

/** As many lines of a likeness. Parts have the classes in common and no row: part 0 to train on, part 1 to test on. */
export function linesOf(name: SetName, rows: number = likenesses[name].rows, part = 0): string[] {
  const number = 1 + Object.keys(likenesses).indexOf(name)
  const next = likenesses[name].lines(randomNumbers(1000 * number), randomNumbers(1000 * number + 1 + part))
  return Array.from({ length: rows }, next)
}
