// The binary problems of a data set: one for two classes, one against the rest for each of more.
import { SpillwayError, UsageError } from '../errors.ts'
import { findInputFormat } from '../input-formats/all-input-formats.ts'
import { isTable } from '../input-formats/data-beginning.ts'
import type { LabelCount } from '../input-formats/label-numbers.ts'
import { compareLabels, type LabelKey, labelKey, labelOf } from '../input-formats/labels.ts'
import { findLoss } from '../losses/all-losses.ts'
import { convexLoss } from '../losses/loss.ts'
import type { Certificate as ModelCertificate } from '../model/model.ts'
import type { AllClassesSettings } from '../optimise/objectives/all-classes.ts'
import type { BundledProblem } from '../optimise/objectives/bundle.ts'
import type { ExitReason, Solution } from '../optimise/objectives/solution.ts'
import type { ResolvedOptions } from './options.ts'

/** A class, with its number among all labels of the data: that is what rows have. */
export type NumberedLabel = LabelCount & { number: number }

/** A binary problem of a class, perhaps without the rows of a fold. */
export interface FoldedProblem extends BundledProblem {
  label: { text: string }
}

export interface ClassProblems {
  /** In the order of the model: the positive label first for two classes, else rising. */
  labels: NumberedLabel[]
  problems: FoldedProblem[]
}

/** The larger of two labels, or the later in order, is positive; among more, each in turn. `labels` come in the order of their class numbers. */
export function classProblems(numbered: LabelCount[], options: ResolvedOptions): ClassProblems {
  // A label whose rows have all been removed from a store keeps its number, and is no class.
  const labels = numbered.map((label, number) => ({ ...label, number })).filter(({ rows }) => rows > 0)
  const binary = labels.length === 2
  labels.sort((a, b) => (binary ? compareLabels(b, a) : compareLabels(a, b)))
  const weightOf = classWeightLookup(labels, options.classWeights)
  const loss = findLoss(options.loss)
  const outliersBelow = loss.truncates?.limit(options.outlierMargin)
  const problems = (binary ? labels.slice(0, 1) : labels).map(label => ({
    ...{ label, loss: convexLoss(loss), ...(outliersBelow !== undefined && { outliersBelow }) },
    costPositive: options.cost * weightOf(label),
    // Against the rest, only the class itself is weighted, as LIBLINEAR does.
    costNegative: options.cost * (binary ? weightOf(labels[1]) : 1),
    ...{ bias: options.bias, positive: label.number, regularizer: options.regularizer },
    weightBits: options.weights === 'f32' ? (32 as const) : (64 as const),
  }))
  return { labels, problems }
}

/** Whether problems are those of a loss that gives outliers up: each is a series of convex ones, and is trained alone. */
export function isTruncated({ problems }: { problems: FoldedProblem[] }): boolean {
  return problems.some(({ outliersBelow }) => outliersBelow !== undefined)
}

/** All classes at once: class numbers in the order of the model, and what a row of each costs. `numbers`: how many class
 *  numbers there are. */
export function allClassesSettings(
  kind: AllClassesSettings['kind'],
  { labels, problems }: ClassProblems,
  numbers: number,
): AllClassesSettings {
  const [{ costNegative, bias }] = problems
  // Two classes have one binary problem between them, which knows the cost of both.
  const costs = labels.map((_, k) => problems[k]?.costPositive ?? costNegative)
  return { kind, classes: labels.map(({ number }) => number), numbers, costs, bias }
}

/** The same problems once more for each fold, without its rows, which they then score: a column for each problem. */
export function heldOutProblems(problems: FoldedProblem[], folds: number, firstColumn = 0): FoldedProblem[] {
  return Array.from({ length: folds }, (_, heldOut) =>
    problems.map((problem, k) => ({ ...problem, heldOut, column: firstColumn + k })),
  ).flat()
}

/** Columns of scores that the models of folds fill. */
export function columnsOf(problems: FoldedProblem[]): number {
  return 1 + Math.max(...problems.map(({ column = 0 }) => column))
}

/** Refuses rows that nothing can be learned from: none, of one class, or without a single entry. `where` names them. */
export function refuseUnlearnable(
  { rows, nonzeros, labels, format }: { rows: number; nonzeros: number; labels: LabelCount[]; format: string },
  where: string,
): void {
  if (rows === 0) throw new SpillwayError(`${where} has no rows`, `a row is ${findInputFormat(format).row}`)
  // A label whose rows have all been removed from a store is no class.
  const classes = labels.filter(label => label.rows > 0)
  if (classes.length < 2) {
    throw new SpillwayError(
      `all ${rows} rows of ${where} have the label ${classes[0].text}: there is nothing to tell apart`,
      'training needs rows of at least two classes',
    )
  }
  // Any word may be a label, so lines of another format can pass for labels without entries. A table says which cell is one.
  const word = classes.find(({ value }) => value === null)
  if (nonzeros > 0 || !word || isTable(findInputFormat(format))) return
  throw new SpillwayError(
    `no row of ${where} has an entry; its lines are read as labels, such as ${JSON.stringify(word.text.slice(0, 40))}`,
    `a row is ${findInputFormat(format).row}`,
  )
}

export function asModelCertificate({ certificate, passes, exitReason }: Solution): ModelCertificate {
  const { primal = null, dual = null, gap = null, supportVectors = null, outliers, relaxations } = certificate ?? {}
  const truncated = outliers !== undefined && relaxations !== undefined && { outliers, relaxations }
  return { primal, dual, gap, supportVectors, passes, exitReason, ...truncated }
}

/** Several problems together: objectives add up, and the run is as good as its worst part. */
export function sumOf(solutions: Solution[]): ModelCertificate {
  const parts = solutions.map(asModelCertificate)
  // What one part does not know, the sum does not know.
  const sum = (pick: (part: ModelCertificate) => number | null): number | null =>
    parts.reduce<number | null>((total, part) => {
      const value = pick(part)
      return total === null || value === null ? null : total + value
    }, 0)
  const primal = sum(part => part.primal)
  const dual = sum(part => part.dual)
  const order: ExitReason[] = ['converged', 'max-passes', 'interrupted']
  const together = primal === null || dual === null ? null : primal > 0 ? (primal - dual) / primal : 0
  // Truncated problems have no dual: of the gaps of their last convex problems the largest is told.
  const outliers = sum(part => part.outliers ?? null)
  const gaps = parts.map(({ gap }) => gap ?? Number.POSITIVE_INFINITY)
  const truncated = outliers !== null && {
    ...{ gap: gaps.every(Number.isFinite) ? Math.max(...gaps) : null, outliers },
    relaxations: Math.max(...parts.map(({ relaxations = 0 }) => relaxations)),
  }
  return {
    ...{ primal, dual, gap: together },
    ...truncated,
    passes: Math.max(...solutions.map(s => s.passes)),
    supportVectors: sum(part => part.supportVectors),
    exitReason: order[Math.max(...solutions.map(s => order.indexOf(s.exitReason)))],
  }
}

/** Weights by label: "1" and "+1" name the same class. A label that the data does not have is refused. */
function classWeightLookup(labels: LabelCount[], given: Record<string, number>): (label: LabelCount) => number {
  const byKey = new Map<LabelKey, number>()
  for (const [text, weight] of Object.entries(given)) {
    const key = labelKey(labelOf(text.trim()))
    const named = labels.find(label => label.text === text || labelKey(label) === key)
    if (!named) {
      const known = labels.map(label => label.text).join(', ')
      throw new UsageError(
        `a class weight names the label ${text}, which the data does not have; its labels are ${known}`,
      )
    }
    byKey.set(labelKey(named), weight)
  }
  return label => byKey.get(labelKey(label)) ?? 1
}
