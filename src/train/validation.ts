// What held-out rows tell: models of costs and folds, and how well they did on rows that they did not see.
import { UsageError } from '../errors.ts'
import type { LabelCount } from '../input-formats/label-numbers.ts'
import type { Solution } from '../optimise/objectives/solution.ts'
import { MOST_FOLDS } from '../rows/folds.ts'
import type { Schema } from '../tables/schema.ts'
import { classProblems, type FoldedProblem, heldOutProblems, type NumberedLabel } from './class-problems.ts'
import type { HeldOut } from './held-out.ts'
import type { ResolvedOptions } from './options.ts'
import type { TrainingOutcome } from './outcome.ts'
import type { Place } from './place.ts'

export interface FoldResult {
  /** Rows that were held out, and the share of them that was told right: of their weights, where rows have some. */
  rows: number
  accuracy: number
  /** Passes over the other rows, and the largest relative gap of its models. */
  passes: number
  gap: number
}

export interface CostResult {
  cost: number
  /** Share of all rows that were told right by models that did not see them. */
  accuracy: number
  /** Standard deviation between the folds, and standard error of their mean. */
  deviation: number
  standardError: number
  folds: FoldResult[]
}

export interface CrossValidation extends Pick<TrainingOutcome, 'bytesRead' | 'badRows' | 'badRowMessages'> {
  rows: number
  /** True where rows have weights: accuracies go by them. */
  rowWeights?: true
  features: number
  /** How the data was read, for who wants to look at it again. */
  data: { nonzeros: number; format: string; indexBase: 0 | 1; schema?: Schema }
  classes: number
  folds: number
  /** Models that were trained. */
  models: number
  costs: CostResult[]
  seconds: { total: number; read: number; compute: number }
}

export function checkFolds(folds: number, rows = Number.POSITIVE_INFINITY): void {
  if (!Number.isInteger(folds) || folds < 2 || folds > MOST_FOLDS)
    throw new UsageError(`the number of folds is ${folds}; expected 2 to ${MOST_FOLDS}`)
  if (folds > rows) throw new UsageError(`there are ${rows} rows, too few for ${folds} folds`)
}

/** Models of folds are tested on the rows that they did not see. */
export function refuseTester({ tester }: Pick<ResolvedOptions, 'tester'>): void {
  if (!tester) return
  throw new UsageError('the option tester is for train: models of folds are tested on the rows of their folds')
}

/** The models of costs and folds: those of like costs take alike many passes, and stand together. */
export function foldProblems(
  labels: LabelCount[],
  options: ResolvedOptions,
  costs: number[],
  folds: number,
): FoldedProblem[] {
  return costs.flatMap((cost, c) => {
    const { problems } = classProblems(labels, { ...options, cost })
    return heldOutProblems(problems, folds, c * problems.length)
  })
}

/** What models of costs and folds told of rows that they did not see. `solutions`: cost by cost, fold by fold, all classes of
 *  each. */
export function judgeCosts(costs: number[], held: HeldOut, solutions: Solution[], { facts }: Place): CostResult[] {
  const { labels } = classProblems(facts.labels, facts.options)
  const columns = held.columns()
  const part = <T>(all: T[], c: number): T[] => {
    const each = all.length / costs.length
    return all.slice(c * each, (c + 1) * each)
  }
  return costs.map((cost, c) => judge(cost, held, { labels, columns: part(columns, c), solutions: part(solutions, c) }))
}

/** `columns`: one for two classes, else one for each. */
function judge(
  cost: number,
  held: HeldOut,
  { labels, columns, solutions }: { labels: NumberedLabel[]; columns: Float32Array[]; solutions: Solution[] },
): CostResult {
  const { classes, weights } = held
  const count = solutions.length / columns.length
  const folds = held.foldOfRows()
  const counts = Array.from({ length: count }, () => ({ rows: 0, weight: 0, right: 0 }))
  for (let i = 0; i < classes.length; i++) {
    let winner = 0
    if (columns.length === 1) winner = columns[0][i] > 0 ? 0 : 1
    else for (let k = 1; k < columns.length; k++) if (columns[k][i] > columns[winner][i]) winner = k
    const own = counts[folds[i]]
    const weight = weights?.[i] ?? 1
    own.rows++
    own.weight += weight
    if (labels[winner].number === classes[i]) own.right += weight
  }
  const perFold = counts.map(({ rows, weight, right }, fold) => {
    const own = solutions.slice(fold * columns.length, (fold + 1) * columns.length)
    return {
      rows,
      accuracy: rows > 0 ? right / weight : 0,
      passes: Math.max(...own.map(({ passes }) => passes)),
      gap: Math.max(...own.map(({ certificate }) => certificate?.gap ?? 1)),
    }
  })
  const mean = perFold.reduce((sum, { accuracy }) => sum + accuracy, 0) / count
  const variance = perFold.reduce((sum, { accuracy }) => sum + (accuracy - mean) ** 2, 0) / (count - 1)
  return {
    cost,
    accuracy: sumOf(counts, 'right') / (sumOf(counts, 'weight') || 1),
    deviation: Math.sqrt(variance),
    standardError: Math.sqrt(variance / count),
    folds: perFold,
  }
}

const sumOf = <F extends string>(items: Record<F, number>[], field: F): number =>
  items.reduce((sum, item) => sum + item[field], 0)

/** How it all went. */
export function validationOf(
  place: Place,
  { folds, models, costs, held }: Pick<CrossValidation, 'folds' | 'models' | 'costs'> & { held: HeldOut },
): CrossValidation {
  const { rows, features, labels, seconds, options } = place.facts
  const { nonzeros, format, indexBase } = place.data()
  const { schema } = options
  const { readSeconds: read, bytesRead, badRows, badRowMessages } = place.account()
  const total = seconds()
  return {
    rows,
    ...(held.weights && { rowWeights: true as const }),
    features,
    data: { nonzeros, format, indexBase: indexBase === 0 ? 0 : 1, ...(schema && { schema }) },
    ...{ classes: labels.filter(({ rows }) => rows > 0).length, folds, models, costs },
    seconds: { total, read, compute: total - read },
    ...{ bytesRead, badRows, badRowMessages },
  }
}
