// Areas under the two curves that ranking by score makes of two classes, rows of equal score counted together.

export interface CurveAreas {
  /** Under the ROC curve: the chance that a row of the class scores above one of the other class, a tie counted half. Null
   *  when one of the classes has no rows. */
  roc: number | null
  /** Under the precision-recall curve, by steps (average precision): Σ (recall_i − recall_{i−1}) · precision_i. Null when the
   *  class has no rows. */
  pr: number | null
}

/** Weights of rows, in the order of their scores. */
export interface WeightsOfScores {
  positives: Float64Array
  negatives: Float64Array
}

/** The scores of the class that is looked for, and of the other one. Sorts both where they are: nothing is copied. With weights, a
 *  row of weight 2 counts as two rows. */
export function curveAreas(positives: Float64Array, negatives: Float64Array, weights?: WeightsOfScores): CurveAreas {
  const up = ranked(positives, weights?.positives)
  const down = ranked(negatives, weights?.negatives)
  let p = positives.length
  let n = negatives.length
  const [allUp, allDown] = [up.below(p), down.below(n)]
  // Pairs in the right order, twice counted so that a tie is a whole number too.
  let twicePairs = 0
  let pr = 0
  while (p > 0 || n > 0) {
    const score = Math.max(
      p > 0 ? up.scores[p - 1] : Number.NEGATIVE_INFINITY,
      n > 0 ? down.scores[n - 1] : Number.NEGATIVE_INFINITY,
    )
    const [fromP, fromN] = [p, n]
    while (p > 0 && up.scores[p - 1] >= score) p--
    while (n > 0 && down.scores[n - 1] >= score) n--
    if (fromP === p) continue
    const found = up.below(fromP) - up.below(p)
    twicePairs += found * (down.below(n) + down.below(fromN))
    const above = allUp - up.below(p)
    pr += (found * above) / (above + allDown - down.below(n))
  }
  const pairs = allUp * allDown
  return {
    roc: pairs > 0 ? twicePairs / 2 / pairs : null,
    pr: allUp > 0 ? pr / allUp : null,
  }
}

/** Scores in rising order, and what the first k rows of them weigh. */
interface Ranked {
  scores: Float64Array
  below(k: number): number
}

/** Sorts scores where they are, unless they have weights. */
export function ranked(scores: Float64Array, weights: Float64Array | undefined): Ranked {
  if (!weights) {
    scores.sort()
    return { scores, below: k => k }
  }
  const order = Uint32Array.from(scores, (_, k) => k).sort((a, b) => scores[a] - scores[b] || a - b)
  const sums = new Float64Array(scores.length + 1)
  for (const [k, row] of order.entries()) sums[k + 1] = sums[k] + weights[row]
  return { scores: Float64Array.from(order, row => scores[row]), below: k => sums[k] }
}

const PIECE = 1 << 16

/** Scores as they come, 8 bytes each; 8 more while they are put into one array. */
export class ScoreList {
  #pieces: Float64Array[] = []
  #filled = PIECE

  /** What is not a number is below every number. */
  push(score: number): void {
    if (this.#filled === PIECE) {
      this.#pieces.push(new Float64Array(PIECE))
      this.#filled = 0
    }
    this.#pieces[this.#pieces.length - 1][this.#filled++] = Number.isNaN(score) ? -Infinity : score
  }

  get length(): number {
    const { length } = this.#pieces
    return length === 0 ? 0 : (length - 1) * PIECE + this.#filled
  }

  /** All of them, in the order of their coming. */
  all(): Float64Array {
    const { length } = this.#pieces
    const values = new Float64Array(this.length)
    this.#pieces.forEach((piece, k) => {
      values.set(k < length - 1 ? piece : piece.subarray(0, this.#filled), k * PIECE)
    })
    return values
  }
}
