// Rows on which an index pays: two classes that lie well apart but for 5 % of the rows, 5 features. Only rows in between support a
// model.
import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { writeWhole } from './prepare.ts'

/** Share of the rows that lie in between, and how far those are from the plane at most; the others are 1 to 2 away. */
const BETWEEN = 0.05
const MOST_BETWEEN = 0.3
const OTHER_FEATURES = 4
const FLUSH_ROWS = 10_000

/** The same numbers for the same seed: mulberry32. */
function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** Writes so many rows as LIBSVM text. */
export function writeApart(file: string, rows: number, seed: number): Promise<void> {
  const random = randomFrom(seed)
  const line = (): string => {
    const label = random() < 0.5 ? 1 : -1
    const distance = random() < BETWEEN ? random() * MOST_BETWEEN : 1 + random()
    const others = Array.from({ length: OTHER_FEATURES }, () => random() - 0.5)
    return `${label} ${[label * distance, ...others].map((value, j) => `${j + 1}:${value.toFixed(6)}`).join(' ')}\n`
  }
  return writeWhole(file, async temporary => {
    const out = createWriteStream(temporary)
    for (let done = 0; done < rows; done += FLUSH_ROWS) {
      const count = Math.min(FLUSH_ROWS, rows - done)
      if (!out.write(Array.from({ length: count }, line).join(''))) await once(out, 'drain')
    }
    out.end()
    await once(out, 'close')
  })
}
