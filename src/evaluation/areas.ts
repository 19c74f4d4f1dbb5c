// Areas under the two curves that ranking by score makes of two classes, rows of equal score counted together.

export interface CurveAreas {
  /** Under the ROC curve: the chance that a row of the class scores above one of the other class, a tie counted half. Null
   *  when one of the classes has no rows. */
  roc: number | null
  /** Under the precision-recall curve, by steps (average precision): Σ (recall_i − recall_{i−1}) · precision_i. Null when the
   *  class has no rows. */
  pr: number | null
}

/** The scores of the class that is looked for, and of the other one. Sorts both where they are: nothing is copied. */
export function curveAreas(positives: Float64Array, negatives: Float64Array): CurveAreas {
  positives.sort()
  negatives.sort()
  let p = positives.length
  let n = negatives.length
  // Pairs in the right order, twice counted so that a tie is a whole number too.
  let twicePairs = 0
  let pr = 0
  while (p > 0 || n > 0) {
    const score = Math.max(p > 0 ? positives[p - 1] : -Infinity, n > 0 ? negatives[n - 1] : -Infinity)
    const [fromP, fromN] = [p, n]
    while (p > 0 && positives[p - 1] >= score) p--
    while (n > 0 && negatives[n - 1] >= score) n--
    const found = fromP - p
    if (found === 0) continue
    twicePairs += found * (n + fromN)
    const above = positives.length - p
    pr += (found * above) / (above + negatives.length - n)
  }
  const pairs = positives.length * negatives.length
  return {
    roc: pairs > 0 ? twicePairs / 2 / pairs : null,
    pr: positives.length > 0 ? pr / positives.length : null,
  }
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

  /** All of them, in the order of their coming. */
  all(): Float64Array {
    const { length } = this.#pieces
    const values = new Float64Array(length === 0 ? 0 : (length - 1) * PIECE + this.#filled)
    this.#pieces.forEach((piece, k) => {
      values.set(k < length - 1 ? piece : piece.subarray(0, this.#filled), k * PIECE)
    })
    return values
  }
}
