// The curves that ranking by score makes of two classes, and how well probabilities are kept, in so few points that a page shows them.
import { ranked, type WeightsOfScores } from './areas.ts'

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

/** Of the scores of the class that is looked for, and of the other one, as `curveAreas` takes them. */
export function curvesOf(
  positives: Float64Array,
  negatives: Float64Array,
  weights?: WeightsOfScores,
): EvaluationCurves {
  const up = ranked(positives, weights?.positives)
  const down = ranked(negatives, weights?.negatives)
  let [p, n] = [positives.length, negatives.length]
  const [allUp, allDown] = [up.below(p), down.below(n)]
  if (!(allUp > 0 && allDown > 0)) return {}
  const roc: CurvePoint[] = [[0, 0]]
  const precisionRecall: CurvePoint[] = []
  const rocStep = 2 / (MOST_POINTS - 2)
  const recallStep = 1 / (MOST_POINTS - FIRST_POINTS - 2)
  let groups = 0
  // The last points that were kept. Nothing is allocated for the others.
  let lastFalses = 0
  let lastHits = 0
  let lastRecall = 0
  while (p > 0 || n > 0) {
    const score = Math.max(p > 0 ? up.scores[p - 1] : -Infinity, n > 0 ? down.scores[n - 1] : -Infinity)
    while (p > 0 && up.scores[p - 1] >= score) p--
    while (n > 0 && down.scores[n - 1] >= score) n--
    const found = allUp - up.below(p)
    const wrong = allDown - down.below(n)
    // A row of weight 0 is neither.
    if (found + wrong === 0) continue
    const recall = found / allUp
    const falses = wrong / allDown
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

  add(probability: number, isOfClass: boolean, weight = 1): void {
    const bin = Math.min(CALIBRATION_BINS - 1, Math.floor(probability * CALIBRATION_BINS))
    if (!(bin >= 0)) return
    this.#rows[bin] += weight
    this.#sums[bin] += weight * probability
    if (isOfClass) this.#hits[bin] += weight
  }

  /** Those that have rows. */
  report(): NonNullable<EvaluationCurves['calibration']> {
    return [...this.#rows].flatMap((rows, k) =>
      rows > 0 ? [{ predicted: this.#sums[k] / rows, observed: this.#hits[k] / rows, rows }] : [],
    )
  }
}
