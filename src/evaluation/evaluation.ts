// How good predictions are: rows go in, a report comes out. Nothing here needs Node.
//
// A row of weight 2 counts as two rows. Where rows have weights, every figure but the number of rows goes by those.
//
// Memory: the tallies of the classes, and with two classes 8 bytes a row for the areas (16 while the report is made); as much again
// for weights.
import { curveAreas, ScoreList, type WeightsOfScores } from './areas.ts'
import { CalibrationBins, curvesOf, type EvaluationCurves } from './curves.ts'

/** Rows that were predicted, some at a time. */
export interface EvaluatedRows {
  /** The true class of each row: its place in the labels, what otherClass gave, or −1 for a class that has no name here. */
  truth: ArrayLike<number>
  /** The predicted class of each row, one of the labels. */
  predicted: ArrayLike<number>
  /** Of two classes: one score a row, above 0 for the first label. */
  scores?: ArrayLike<number>
  /** The probability that each row's true class was given; 0 for a class that is none of the labels. */
  probabilities?: ArrayLike<number>
  /** The weight of each row, above 0; else each counts once. */
  weights?: ArrayLike<number>
}

/** A share of 0 / 0 counts as 0. */
export interface Shares {
  /** Of the rows predicted as the class, those that are of it. */
  precision: number
  /** Of the rows of the class, those predicted as it. */
  recall: number
  /** Harmonic mean of the two. */
  f1: number
}

export interface EvaluationReport {
  rows: number
  /** What the rows weigh in all, where they have weights: shares, counts and areas go by them. */
  weight?: number
  accuracy: number
  /** counts[t][p]: rows of class t that were predicted as p. Null with more than 1000 classes. */
  confusion: { labels: string[]; counts: number[][] } | null
  /** The labels in their order, then classes that only the data has. */
  classes: (Shares & { label: string; support: number })[]
  /** The mean over the classes that occur, in the data or among the predictions. */
  macro: Shares
  /** Over all rows; as each row has one class and one prediction, all three are the accuracy. */
  micro: Shares
  /** The class that the areas are about; null unless there are two labels. */
  positive: string | null
  /** Null when there is nothing to rank. */
  rocArea: number | null
  prArea: number | null
  /** Mean of −log p of the true class, p kept within 1e-15 of 0 and 1; null without probabilities. */
  logLoss: number | null
}

/** A larger matrix is for nobody to read. */
const MOST_CLASSES = 1000
const LEAST_PROBABILITY = 1e-15
/** What rows of class −1 are listed under. */
export const OTHER_CLASS = 'other'

interface Tally {
  label: string
  support: number
  predicted: number
  hits: number
  /** Predictions of its rows, by label. */
  counts: Float64Array | undefined
}

/** Scores of two classes, and their weights where rows have some. */
type Ranking = [Float64Array, Float64Array, WeightsOfScores?]

export class Evaluation {
  /** How many labels there are to predict; classes that only the data has follow them. */
  readonly #known: number
  readonly #positive: 0 | 1
  readonly #tallies: Tally[] = []
  readonly #others = new Map<number | string, number>()
  #unnamed: Tally | undefined
  #rows = 0
  #weight = 0
  #weighted = false
  #hits = 0
  #loss = 0
  #withProbability = 0
  readonly #scores = [new ScoreList(), new ScoreList()]
  /** Weights of the rows that the scores are of, as far as there are any. */
  readonly #weights = [new ScoreList(), new ScoreList()]
  readonly #calibration = new CalibrationBins()
  #ranked: Ranking | undefined

  /** The labels that can be predicted; `positive` is the one that areas are about when there are two. */
  constructor(labels: readonly string[], { positive = 0 }: { positive?: 0 | 1 } = {}) {
    this.#known = labels.length
    this.#positive = positive
    for (const label of labels) this.#tallies.push(this.#newTally(label))
  }

  #newTally(label: string): Tally {
    const counts = this.#known <= MOST_CLASSES ? new Float64Array(this.#known) : undefined
    return { label, support: 0, predicted: 0, hits: 0, counts }
  }

  /** The number of a class that is none of the labels, by what tells labels apart; −1 when there are too many of them to name each. */
  otherClass(key: number | string, label = String(key)): number {
    const found = this.#others.get(key)
    if (found !== undefined) return found
    if (this.#tallies.length >= MOST_CLASSES) return -1
    const number = this.#tallies.push(this.#newTally(label)) - 1
    this.#others.set(key, number)
    return number
  }

  add({ truth, predicted, scores, probabilities, weights }: EvaluatedRows): void {
    if (weights) this.#weighted = true
    const ranked = this.#known === 2 ? scores : undefined
    this.#ranked = undefined
    for (let r = 0; r < truth.length; r++) {
      const [t, p] = [truth[r], predicted[r]]
      const weight = weights?.[r] ?? 1
      if (t < 0) this.#unnamed ??= this.#newTally(OTHER_CLASS)
      const tally = t < 0 ? this.#unnamed! : this.#tallies[t]
      this.#weight += weight
      tally.support += weight
      this.#tallies[p].predicted += weight
      if (tally.counts) tally.counts[p] += weight
      if (t === p) {
        tally.hits += weight
        this.#hits += weight
      }
      // Rows of neither class have no place in a ranking of two.
      const isRanked = ranked && (t === 0 || t === 1)
      if (isRanked) {
        if (this.#weighted) this.#pushWeight(t, weight)
        this.#scores[t].push(this.#positive === 0 ? ranked[r] : -ranked[r])
      }
      if (!probabilities) continue
      this.#loss -= weight * Math.log(clipped(probabilities[r]))
      const isPositive = t === this.#positive
      if (isRanked) this.#calibration.add(isPositive ? probabilities[r] : 1 - probabilities[r], isPositive, weight)
    }
    this.#rows += truth.length
    if (probabilities) this.#withProbability += truth.length
  }

  /** Rows that came before the first weights counted once. */
  #pushWeight(side: 0 | 1, weight: number): void {
    const list = this.#weights[side]
    while (list.length < this.#scores[side].length) list.push(1)
    list.push(weight)
  }

  /** Of the class that is looked for, and of the other one. */
  #sides(lists: ScoreList[]): [Float64Array, Float64Array] {
    return [lists[this.#positive].all(), lists[1 - this.#positive].all()]
  }

  /** Made once: curves and areas need no copies of their own. */
  #ranking(): Ranking {
    this.#ranked ??= this.#rankingOfNow()
    return this.#ranked
  }

  #rankingOfNow(): Ranking {
    const [positives, negatives] = this.#sides(this.#scores)
    if (!this.#weighted) return [positives, negatives]
    for (const side of [0, 1] as const)
      while (this.#weights[side].length < this.#scores[side].length) this.#weights[side].push(1)
    const [up, down] = this.#sides(this.#weights)
    return [positives, negatives, { positives: up, negatives: down }]
  }

  report(): EvaluationReport {
    const tallies = this.#unnamed ? [...this.#tallies, this.#unnamed] : this.#tallies
    const classes = tallies.map(tally => ({ label: tally.label, ...sharesOf(tally), support: tally.support }))
    const occurring = classes.filter((_, k) => tallies[k].support + tallies[k].predicted > 0)
    const accuracy = this.#rows > 0 ? this.#hits / this.#weight : 0
    const two = this.#known === 2
    const areas = two ? curveAreas(...this.#ranking()) : { roc: null, pr: null }
    const labels = tallies.map(({ label }) => label)
    // A class that only the data has is never predicted, but the matrix is square.
    const rest = new Array<number>(labels.length - this.#known).fill(0)
    const counts = tallies.map(tally => [...(tally.counts ?? []), ...rest])
    return {
      rows: this.#rows,
      ...(this.#weighted && { weight: this.#weight }),
      accuracy,
      confusion: this.#known <= MOST_CLASSES ? { labels, counts } : null,
      classes,
      macro: { precision: mean(occurring, 'precision'), recall: mean(occurring, 'recall'), f1: mean(occurring, 'f1') },
      micro: { precision: accuracy, recall: accuracy, f1: accuracy },
      positive: two ? this.#tallies[this.#positive].label : null,
      rocArea: areas.roc,
      prArea: areas.pr,
      logLoss: this.#rows > 0 && this.#withProbability === this.#rows ? this.#loss / this.#weight : null,
    }
  }

  /** Of two labels: the curves that the areas are of, and the calibration where there are probabilities. */
  curves(): EvaluationCurves {
    if (this.#known !== 2) return {}
    const calibration = this.#withProbability > 0 ? this.#calibration.report() : []
    return { ...curvesOf(...this.#ranking()), ...(calibration.length > 0 && { calibration }) }
  }
}

/** Also what is not a number becomes a probability. */
function clipped(probability: number): number {
  return probability > LEAST_PROBABILITY ? Math.min(probability, 1 - LEAST_PROBABILITY) : LEAST_PROBABILITY
}

function sharesOf({ support, predicted, hits }: Tally): Shares {
  return {
    precision: predicted > 0 ? hits / predicted : 0,
    recall: support > 0 ? hits / support : 0,
    f1: support + predicted > 0 ? (2 * hits) / (support + predicted) : 0,
  }
}

function mean(list: Shares[], share: keyof Shares): number {
  return list.length > 0 ? list.reduce((sum, shares) => sum + shares[share], 0) / list.length : 0
}
