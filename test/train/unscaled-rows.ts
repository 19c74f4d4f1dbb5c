// Rows on which coordinate descent stalls.
import { randomNumbers } from '../numeric/reference.ts'

/** Rows of features from 0 to 255, each near the one before it, as the colours of a picture are. */
export function unscaledRows(rows: number, features: number, classes: number, seed: number, apart = 90): string {
  const random = randomNumbers(seed)
  const lines: string[] = []
  for (let i = 0; i < rows; i++) {
    let [x, score] = [random() * 255, 0]
    const entries: string[] = []
    for (let j = 0; j < features; j++) {
      x = Math.min(255, Math.max(0, x + (random() - 0.5) * apart))
      const value = Math.round(x)
      if (value > 0) entries.push(`${j + 1}:${value}`)
      score += value * (j % 2 === 0 ? 1 : -1) * (1 - j / features)
    }
    const noisy = score + (random() - 0.5) * 0.7 * apart
    const label =
      classes === 2 ? (noisy > apart / 9 ? 1 : -1) : 1 + (noisy < -apart / 6 ? 0 : noisy < apart / 6 ? 1 : 2)
    lines.push(`${label} ${entries.join(' ')}`)
  }
  return `${lines.join('\n')}\n`
}
