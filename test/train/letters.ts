// Strings with a motif, and what they are as LIBSVM text once they are expanded, by code that has nothing to do with the code
// under test.
import { randomNumbers } from '../numeric/reference.ts'

export interface Labelled {
  label: string
  string: string
}

const MOTIF_AT = 15

/** Strings of the letters ACGT and now and then another; those of label +1 mostly have a motif at its place. */
export function motifStrings(rows: number, length: number, seed: number): Labelled[] {
  const random = randomNumbers(seed)
  const letter = (): string => (random() < 0.01 ? 'N' : 'ACGT'[Math.floor(random() * 4)])
  return Array.from({ length: rows }, (_, k) => {
    const letters = Array.from({ length: length - (k % 5 === 0 ? 3 : 0) }, letter)
    const positive = random() < 0.4
    if (positive && random() < 0.9) letters.splice(MOTIF_AT, 4, ...'TCAG')
    return { label: positive ? '+1' : '-1', string: letters.join('') }
  })
}

export const asStrings = (rows: Labelled[]): string => rows.map(({ label, string }) => `${label} ${string}\n`).join('')

/** Every string of 1 to `degree` letters at its position, numbered as it is met. */
export function asWeightedDegree(rows: Labelled[], degree: number): string {
  const numbers = new Map<string, number>()
  return rows
    .map(({ label, string }) => {
      const features: number[] = []
      for (let p = 0; p < string.length; p++) {
        for (let k = 1; k <= degree && p + k <= string.length; k++) {
          const part = string.slice(p, p + k)
          if (/[^ACGT]/.test(part)) break
          const name = `${p} ${part}`
          if (!numbers.has(name)) numbers.set(name, numbers.size + 1)
          features.push(numbers.get(name)!)
        }
      }
      return `${label}${features
        .sort((a, b) => a - b)
        .map(feature => ` ${feature}:1`)
        .join('')}\n`
    })
    .join('')
}

/** Rows of LIBSVM text with the products of every two features, as `weight` says: f64 numbers in full. */
export function asPolynomial(text: string): string {
  const numbers = new Map<string, number>()
  const numberOf = (name: string): number => {
    if (!numbers.has(name)) numbers.set(name, numbers.size + 1)
    return numbers.get(name)!
  }
  return text
    .trimEnd()
    .split('\n')
    .map(line => {
      const [label, ...entries] = line.trim().split(/\s+/)
      const row = entries
        .map(entry => entry.split(':'))
        .map(([index, value]) => [index, Math.fround(Number(value))] as const)
      const features: [number, number][] = []
      row.forEach(([j, y], b) => {
        features.push([numberOf(j), y])
        row.slice(0, b + 1).forEach(([i, x], a) => {
          features.push([numberOf(`${i} ${j}`), Math.fround((a < b ? Math.SQRT2 : 1) * x * y)])
        })
      })
      features.sort(([a], [b]) => a - b)
      return `${label}${features.map(([feature, value]) => ` ${feature}:${value}`).join('')}\n`
    })
    .join('')
}
