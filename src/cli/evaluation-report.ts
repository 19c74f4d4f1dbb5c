// How good predictions are, for people.
import type { EvaluationReport, Shares } from '../evaluation/evaluation.ts'
import type { PredictResult } from '../predict/predict.ts'
import { formatCount } from './format.ts'

/** A wider matrix does not fit on a terminal. */
const MOST_IN_MATRIX = 12

/** As much of a comparison with labels as was asked for: records want to know more. */
export function askedOf({ evaluation, curves: _, ...figures }: PredictResult, evaluates: boolean): PredictResult {
  return evaluation && evaluates ? { ...figures, evaluation } : figures
}

/** The lines that follow the accuracy. */
export function evaluationLines(report: EvaluationReport): string[] {
  return [...measureLines(report), ...matrixLines(report), '', ...classLines(report)]
}

function measureLines({ positive, rocArea, prArea, logLoss }: EvaluationReport): string[] {
  const areas = [
    rocArea !== null && `area under the ROC curve ${share(rocArea)}`,
    prArea !== null && `area under the precision-recall curve ${share(prArea)}`,
  ].filter(Boolean)
  return [
    ...(areas.length > 0 ? [`${areas.join(', ')} (of label ${positive})`] : []),
    ...(logLoss === null ? [] : [`log loss ${Number(logLoss.toPrecision(5))}`]),
  ]
}

function matrixLines({ confusion, weight }: EvaluationReport): string[] {
  if (!confusion) return []
  const { labels, counts } = confusion
  if (labels.length > MOST_IN_MATRIX) return []
  const rows = counts.map((row, k) => [labels[k], ...row.map(weighed)])
  const what = weight === undefined ? 'rows' : 'weights of rows'
  return ['', `${what} by true label (down) and predicted label (across):`, ...table([['', ...labels], ...rows])]
}

function classLines({ classes, macro, micro, weight }: EvaluationReport): string[] {
  const line = (name: string, { precision, recall, f1 }: Shares, support = ''): string[] => [
    name,
    share(precision),
    share(recall),
    share(f1),
    support,
  ]
  return table([
    ['label', 'precision', 'recall', 'F1', weight === undefined ? 'rows' : 'weight'],
    ...classes.map(one => line(one.label, one, weighed(one.support))),
    line('macro', macro),
    line('micro', micro),
  ])
}

/** The first column to the left, the others to the right. */
function table(rows: string[][]): string[] {
  const widths = rows[0].map((_, column) => Math.max(...rows.map(row => row[column].length)))
  return rows.map(row =>
    `  ${row.map((cell, k) => (k === 0 ? cell.padEnd(widths[k]) : cell.padStart(widths[k]))).join('  ')}`.trimEnd(),
  )
}

/** A count, or a sum of weights. */
const weighed = (sum: number): string => (Number.isInteger(sum) ? formatCount(sum) : String(Number(sum.toPrecision(6))))
const share = (value: number): string => value.toFixed(4)
