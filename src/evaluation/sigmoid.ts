// Platt's sigmoid: p(s) = 1 / (1 + e^−(a s + b)), with a and b that make the rows most likely:
//
//   min  − Σ [ t_i log p(s_i) + (1 − t_i) log(1 − p(s_i)) ]     t = (N₊ + 1) / (N₊ + 2)  or  1 / (N₋ + 2)
//
// The targets stand off 1 and 0 as if each class had one row more of either kind, so that a finite minimum is there even when
// a score separates the classes. Platt (1999); that Newton's method with backtracking is safe where Platt's own is not, and
// how to sum without overflow: Lin, Lin, Weng, Machine Learning 68 (2007).

const MOST_STEPS = 200
const LEAST_STEP = 2 ** -40
/** A step counts when it gains this share of what its slope promises. */
const ENOUGH = 1e-4

export interface Sigmoid {
  slope: number
  offset: number
}

/** A row of weight 2 counts as two rows. */
export function fitSigmoid(scores: Float64Array, positive: Uint8Array, weights?: Float64Array): Sigmoid {
  let [positives, negatives] = [0, 0]
  for (const [i, one] of positive.entries()) {
    const weight = weights?.[i] ?? 1
    if (one) positives += weight
    else negatives += weight
  }
  // What is missing to 1, not the target: it is the number that would lose its digits.
  const missing = { positive: 1 / (positives + 2), negative: (negatives + 1) / (negatives + 2) }
  const b0 = Math.log((positives + 1) / (negatives + 1))
  const { centre, width } = spreadOf(scores)
  if (width === 0) return { slope: 0, offset: constantFit(positives, negatives, missing) }
  // Scores of mean 0 and deviation 1: steps and tolerances are then the same for scores of every size.
  const x = scores.map(score => score / width - centre)
  const problem = { x, positive, missing, weights }
  let [a, b] = [0, b0]
  let here = look(problem, a, b)
  for (let step = 0; step < MOST_STEPS; step++) {
    const { value, ga, gb, haa, hab, hbb } = here
    // As much as keeps the matrix regular; rows far out on the sigmoid bend nothing.
    const ridge = 1e-12 * (haa + hbb) + 1e-300
    const determinant = (haa + ridge) * (hbb + ridge) - hab * hab
    const da = -((hbb + ridge) * ga - hab * gb) / determinant
    const db = -((haa + ridge) * gb - hab * ga) / determinant
    const slope = ga * da + gb * db
    if (!(slope < -1e-15 * value)) break
    let size = 1
    let next = look(problem, a + da, b + db)
    while (!(next.value <= value + ENOUGH * size * slope)) {
      size /= 2
      if (size < LEAST_STEP) break
      next = look(problem, a + size * da, b + size * db)
    }
    if (size < LEAST_STEP) break
    a += size * da
    b += size * db
    here = next
  }
  const slope = a / width
  // Scores that differ by next to nothing: no finite slope tells them apart.
  if (!Number.isFinite(slope)) return { slope: 0, offset: constantFit(positives, negatives, missing) }
  // A file of JSON has no −0.
  return { slope: slope + 0, offset: b - a * centre + 0 }
}

interface Problem {
  x: Float64Array
  positive: Uint8Array
  missing: { positive: number; negative: number }
  weights: Float64Array | undefined
}

interface Look {
  value: number
  ga: number
  gb: number
  haa: number
  hab: number
  hbb: number
}

/** The objective, its gradient and its second derivatives. Only e to negative powers is taken. */
function look({ x, positive, missing, weights }: Problem, a: number, b: number): Look {
  const sum: Look = { value: 0, ga: 0, gb: 0, haa: 0, hab: 0, hbb: 0 }
  const target = { positive: 1 - missing.positive, negative: 1 - missing.negative }
  for (let i = 0; i < x.length; i++) {
    const z = a * x[i] + b
    const t = positive[i] ? target.positive : target.negative
    const u = positive[i] ? missing.positive : missing.negative
    const e = Math.exp(-Math.abs(z))
    // log(1 + e^z) − t z, and p − t, each by the side that z is on.
    const tail = e / (1 + e)
    const weight = weights ? weights[i] : 1
    sum.value += weight * (Math.log1p(e) + (z >= 0 ? u * z : -t * z))
    const g = weight * (z >= 0 ? u - tail : tail - t)
    const h = weight * (tail / (1 + e))
    sum.ga += g * x[i]
    sum.gb += g
    sum.haa += h * x[i] * x[i]
    sum.hab += h * x[i]
    sum.hbb += h
  }
  return sum
}

/** Where one probability has to do for all rows, it is the mean of the targets. */
function constantFit(positives: number, negatives: number, missing: Problem['missing']): number {
  const up = positives * (1 - missing.positive) + negatives * (1 - missing.negative)
  const down = positives * missing.positive + negatives * missing.negative
  return Math.log(up / down)
}

/** Width: the standard deviation, 0 when all scores are the same; centre: their mean in widths. Nothing overflows on the way. */
function spreadOf(scores: Float64Array): { centre: number; width: number } {
  let largest = 0
  for (const score of scores) largest = Math.max(largest, Math.abs(score))
  if (largest === 0 || scores.every(score => score === scores[0])) return { centre: 0, width: 0 }
  let mean = 0
  for (const score of scores) mean += score / largest
  mean /= scores.length
  let squares = 0
  for (const score of scores) squares += (score / largest - mean) ** 2
  const deviation = Math.sqrt(squares / scores.length)
  return deviation === 0 ? { centre: 0, width: 0 } : { centre: mean / deviation, width: largest * deviation }
}
