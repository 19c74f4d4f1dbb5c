// Data in LIBSVM text, the same every time.

export function randomNumbers(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
}

export interface SomeRow {
  label: number
  entries: [feature: number, value: number][]
}

/** Rows that no weight vector separates: a hidden model, and every tenth label wrong. */
export function someRows(rows: number, features: number, { seed = 1, classes = 2, density = 0.3 } = {}): SomeRow[] {
  const random = randomNumbers(seed)
  return Array.from({ length: rows }, () => {
    const entries: [number, number][] = []
    const sums = new Float64Array(classes)
    for (let j = 1; j <= features; j++) {
      if (random() >= density) continue
      const value = Number((random() * 2 - 1).toFixed(4))
      entries.push([j, value])
      sums[j % classes] += value
    }
    let best = sums.indexOf(Math.max(...sums))
    if (random() < 0.1) best = Math.floor(random() * classes)
    return { label: classes === 2 ? [-1, 1][best] : best + 1, entries }
  })
}

export function asText(rows: SomeRow[]): string {
  return rows.map(({ label, entries }) => `${[label, ...entries.map(([j, v]) => `${j}:${v}`)].join(' ')}\n`).join('')
}
