// Entries of a row in the order of their features, for formats whose rows may have them in any order.

/** A feature that is there several times has the sum of its values. */
export function risingEntries(indices: number[], values: number[]): { indices: number[]; values: number[] } {
  let rises = true
  for (let k = 1; k < indices.length && rises; k++) rises = indices[k - 1] < indices[k]
  if (rises) return { indices, values }
  const order = indices.map((_, k) => k).sort((a, b) => indices[a] - indices[b] || a - b)
  const sorted: number[] = []
  const sums: number[] = []
  for (const k of order) {
    if (sorted.length > 0 && sorted.at(-1) === indices[k]) sums[sums.length - 1] += values[k]
    else {
      sorted.push(indices[k])
      sums.push(values[k])
    }
  }
  return { indices: sorted, values: sums }
}
