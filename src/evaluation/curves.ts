// The curves that ranking by score makes of two classes, and how well probabilities are kept, in so few points that a page shows them.

/** Points of a curve, both axes from 0 to 1. */
export type CurvePoint = [number, number]

export interface EvaluationCurves {
  /** [false positives, true positives], as shares of their classes; not there when one of the classes has no rows. */
  roc?: CurvePoint[]
  /** [recall, precision]. */
  precisionRecall?: CurvePoint[]
  /** Rows by the probability that they were given for the class: its mean, and the share that was of the class. */
  calibration?: { predicted: number; observed: number; rows: number }[]
}

const MOST_POINTS = 400
/** Precision jumps about while few rows are above the threshold: so many points are all kept. */
const FIRST_POINTS = 60

/** Of scores in rising order, as `curveAreas` leaves them. */
export function curvesOf(positives: Float64Array, negatives: Float64Array): EvaluationCurves {
  if (positives.length === 0 || negatives.length === 0) return {}
  const roc: CurvePoint[] = [[0, 0]]
  const precisionRecall: CurvePoint[] = []
  const rocStep = 2 / (MOST_POINTS - 2)
  const recallStep = 1 / (MOST_POINTS - FIRST_POINTS - 2)
  let [p, n] = [positives.length, negatives.length]
  let groups = 0
  // The last points that were kept. Nothing is allocated for the others.
  let lastFalses = 0
  let lastHits = 0
  let lastRecall = 0
  while (p > 0 || n > 0) {
    const score = Math.max(p > 0 ? positives[p - 1] : -Infinity, n > 0 ? negatives[n - 1] : -Infinity)
    while (p > 0 && positives[p - 1] >= score) p--
    while (n > 0 && negatives[n - 1] >= score) n--
    const found = positives.length - p
    const wrong = negatives.length - n
    const recall = found / positives.length
    const falses = wrong / negatives.length
    const isLast = p === 0 && n === 0
    if (isLast || falses - lastFalses + (recall - lastHits) >= rocStep) {
      roc.push([falses, recall])
      lastFalses = falses
      lastHits = recall
    }
    if (isLast || ++groups <= FIRST_POINTS || recall - lastRecall >= recallStep) {
      precisionRecall.push([recall, found / (found + wrong)])
      lastRecall = recall
    }
  }
  return { roc, precisionRecall }
}

const CALIBRATION_BINS = 10

/** Rows counted by the probability that they were given. */
export class CalibrationBins {
  readonly #rows = new Float64Array(CALIBRATION_BINS)
  readonly #sums = new Float64Array(CALIBRATION_BINS)
  readonly #hits = new Float64Array(CALIBRATION_BINS)

  add(probability: number, isOfClass: boolean): void {
    const bin = Math.min(CALIBRATION_BINS - 1, Math.floor(probability * CALIBRATION_BINS))
    if (!(bin >= 0)) return
    this.#rows[bin]++
    this.#sums[bin] += probability
    if (isOfClass) this.#hits[bin]++
  }

  /** Those that have rows. */
  report(): NonNullable<EvaluationCurves['calibration']> {
    return [...this.#rows].flatMap((rows, k) =>
      rows > 0 ? [{ predicted: this.#sums[k] / rows, observed: this.#hits[k] / rows, rows }] : [],
    )
  }
}
