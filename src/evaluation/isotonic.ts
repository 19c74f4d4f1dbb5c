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
  const groups = weights ? groupsByOrder(scores, positive, weights) : groupsByMerging(scores, positive)
  // Pools as parallel stacks; without weights counts are whole numbers, and comparing means by products has no rounding.
  const first: number[] = []
  const last: number[] = []
  const rows: number[] = []
  const hits: number[] = []
  for (const { score, count: alone, found: ownHits } of groups) {
    let [count, found] = [alone, ownHits]
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

/** Rows that share a score: one score has one probability, so they come in together. */
interface Group {
  score: number
  count: number
  found: number
}

/** Groups of rising scores. Rows without weights are told by their class alone, so each class is sorted for itself, where it is: an
 *  order of the rows would take three times the memory, which no plan has with millions of rows. */
function* groupsByMerging(scores: Float64Array, positive: Uint8Array): Generator<Group> {
  const sorted = new Float64Array(scores.length)
  let [ones, others] = [0, scores.length]
  for (let i = 0; i < scores.length; i++) sorted[positive[i] ? ones++ : --others] = scores[i]
  const up = sorted.subarray(0, ones).sort()
  const down = sorted.subarray(ones).sort()
  const group: Group = { score: 0, count: 0, found: 0 }
  for (let [i, j] = [0, 0]; i < up.length || j < down.length; ) {
    group.score = j === down.length || up[i] <= down[j] ? up[i] : down[j]
    const [firstUp, firstDown] = [i, j]
    while (up[i] === group.score) i++
    while (down[j] === group.score) j++
    group.found = i - firstUp
    group.count = group.found + j - firstDown
    yield group
  }
}

/** The same of rows with weights, which are summed in the order of the rows. */
function* groupsByOrder(scores: Float64Array, positive: Uint8Array, weights: Float64Array): Generator<Group> {
  const order = new Uint32Array(scores.length).map((_, i) => i).sort((i, j) => scores[i] - scores[j])
  for (let k = 0; k < order.length; ) {
    const group = { score: scores[order[k]], count: 0, found: 0 }
    for (; k < order.length && scores[order[k]] === group.score; k++) {
      const weight = weights[order[k]]
      group.count += weight
      if (positive[order[k]]) group.found += weight
    }
    yield group
  }
}
