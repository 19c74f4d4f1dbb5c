// Isotonic regression: of all functions of the score that never fall, the one with the least Σ (p(s_i) − y_i)². It is
// found by pooling neighbours that stand in the wrong order until none do (pool adjacent violators; Ayer and others,
// 1955). The function is constant on each pool, and a straight line between two pools.

export interface Steps {
  /** Increasing: the first and the last score of each pool, once when they are the same. */
  scores: number[]
  /** Never falling, from 0 to 1. */
  probabilities: number[]
}

export function fitIsotonic(scores: Float64Array, positive: Uint8Array, weights?: Float64Array): Steps {
  const order = new Uint32Array(scores.length).map((_, i) => i).sort((i, j) => scores[i] - scores[j])
  // Pools as parallel stacks; without weights counts are whole numbers, and comparing means by products has no rounding.
  const first: number[] = []
  const last: number[] = []
  const rows: number[] = []
  const hits: number[] = []
  for (let k = 0; k < order.length; ) {
    const score = scores[order[k]]
    let [count, found] = [0, 0]
    // One score has one probability: rows that share it come in together.
    for (; k < order.length && scores[order[k]] === score; k++) {
      const weight = weights?.[order[k]] ?? 1
      count += weight
      if (positive[order[k]]) found += weight
    }
    let from = score
    while (rows.length > 0 && hits[hits.length - 1] * count >= found * rows[rows.length - 1]) {
      count += rows.pop()!
      found += hits.pop()!
      from = first.pop()!
      last.pop()
    }
    first.push(from)
    last.push(score)
    rows.push(count)
    hits.push(found)
  }
  const steps: Steps = { scores: [], probabilities: [] }
  for (let k = 0; k < rows.length; k++) {
    // A file of JSON has no −0.
    for (const score of first[k] === last[k] ? [first[k]] : [first[k], last[k]]) {
      steps.scores.push(score + 0)
      steps.probabilities.push(hits[k] / rows[k])
    }
  }
  return steps
}
