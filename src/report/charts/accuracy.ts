// Accuracy on rows that were not trained on: over time, by cost, and by fold.
import * as Plot from '@observablehq/plot'
import type { RunRecords, TestRecord } from '../records.ts'
import { BLUE, type Chart, framed, GREEN, ORANGE, tableOf, thinned, ticksFor } from './chart.ts'
import { VIEWS, xAxis } from './convergence.ts'
import { countText, gapText, numberText, secondsText, shareText } from './units.ts'

/** Points of a line that can be told apart, and dots. */
const MOST_POINTS = 800
const MOST_DOTS = 60

/** Tests on the way and at the end, as they are drawn. */
export function testPoints({ tests }: Pick<RunRecords, 'tests'>): TestRecord[] {
  return thinned(tests, MOST_POINTS)
}

export function testAccuracyChart(run: Pick<RunRecords, 'tests'>): Chart | undefined {
  const points = testPoints(run)
  if (points.length < 2) return undefined
  const [first, end] = [points[0], points[points.length - 1]]
  // Records of earlier versions do not say how many passes there were.
  const knowsPasses = points.every(({ pass }) => pass !== undefined)
  return {
    id: 'test-accuracy',
    title: 'Test accuracy',
    about:
      'The share of test rows that are predicted right, by the model as it was at the end of a pass. It often stands long before the gap is closed. Tests take none of the time.',
    text: `Test accuracy on ${countText(end.rows)} rows: ${shareText(first.accuracy)} after ${secondsText(first.seconds)}, ${shareText(end.accuracy)} after ${secondsText(end.seconds)}.`,
    ...(knowsPasses && { views: VIEWS }),
    options: size => {
      const x = size.view === 'passes' ? 'pass' : 'seconds'
      return framed(size, {
        height: 240,
        x: xAxis(size, points),
        y: { label: 'test accuracy', labelArrow: 'none', grid: true, ticks: 5, tickFormat: shareText, nice: true },
        marks: [
          Plot.lineY(points, { x, y: 'accuracy', stroke: BLUE, strokeWidth: 2 }),
          Plot.dot(points.length <= MOST_DOTS ? points : [end], { x, y: 'accuracy', fill: BLUE, r: 3.5 }),
        ],
      })
    },
    table: tableOf(points, {
      'time (s)': ({ seconds }) => Number(seconds.toPrecision(4)),
      ...(knowsPasses && { passes: ({ pass }: TestRecord) => Number(pass!.toPrecision(4)) }),
      accuracy: ({ accuracy }) => shareText(accuracy),
    }),
  }
}

/** What tune says of a cost. */
interface CostFigures {
  cost: number
  accuracy: number
  standardError: number
}

export function costsChart({ result }: Pick<RunRecords, 'result'>): Chart | undefined {
  const costs = result?.['costs'] as CostFigures[] | undefined
  if (!Array.isArray(costs) || costs.length < 2) return undefined
  const best = result!['best'] as { cost: number; accuracy: number } | undefined
  const simplest = result!['simplest'] as { cost: number } | undefined
  const colour = ({ cost }: CostFigures): string =>
    cost === best?.cost ? ORANGE : cost === simplest?.cost ? GREEN : BLUE
  const some = (cost: number | undefined): boolean => costs.some(one => one.cost === cost)
  return {
    id: 'costs',
    title: 'Accuracy by cost',
    about:
      'Accuracy on held-out rows for each cost, with a standard error up and down. Where the line is flat, the smallest cost is the safest choice.',
    text: `Held-out accuracy of ${costs.length} costs${best ? `; the best is ${numberText(best.cost)} with ${shareText(best.accuracy)}` : ''}.`,
    legend: [
      { name: 'a cost', colour: BLUE },
      ...(some(best?.cost) ? [{ name: 'best', colour: ORANGE }] : []),
      ...(some(simplest?.cost) && simplest?.cost !== best?.cost
        ? [{ name: 'simplest within a standard error', colour: GREEN }]
        : []),
    ],
    options: size =>
      framed(size, {
        x: { type: 'log', label: 'cost C', labelArrow: 'none', ticks: ticksFor(size.width), tickFormat: numberText },
        y: { label: 'held-out accuracy', labelArrow: 'none', grid: true, ticks: 5, tickFormat: shareText, nice: true },
        color: { type: 'identity' },
        r: { type: 'identity' },
        marks: [
          Plot.ruleX(costs, {
            ...{ x: 'cost', stroke: BLUE, strokeOpacity: 0.5 },
            y1: ({ accuracy, standardError }: CostFigures) => accuracy - standardError,
            y2: ({ accuracy, standardError }: CostFigures) => accuracy + standardError,
          }),
          Plot.lineY(costs, { x: 'cost', y: 'accuracy', stroke: BLUE }),
          Plot.dot(costs, { x: 'cost', y: 'accuracy', fill: colour, r: one => (colour(one) === BLUE ? 3.5 : 6) }),
        ],
      }),
    table: tableOf(costs, {
      cost: ({ cost }) => numberText(cost),
      accuracy: ({ accuracy }) => shareText(accuracy),
      'standard error': ({ standardError }) => shareText(standardError),
    }),
  }
}

/** What cross-validate says of a fold. */
interface FoldFigures {
  rows: number
  accuracy: number
  passes: number
  gap: number | null
}

export function foldsChart({ result }: Pick<RunRecords, 'result'>): Chart | undefined {
  const found = result?.['perFold'] as FoldFigures[] | undefined
  if (!Array.isArray(found) || found.length < 2) return undefined
  const folds = found.map((fold, k) => ({ ...fold, fold: k + 1 }))
  const accuracy = result!['accuracy'] as number
  return {
    id: 'folds',
    title: 'Accuracy by fold',
    about:
      'Each fold is predicted by a model that has not seen it. Dots far apart mean that the accuracy depends on which rows happen to be held out.',
    text: `Accuracy of ${folds.length} folds: ${folds.map(fold => shareText(fold.accuracy)).join(', ')}; ${shareText(accuracy)} in all.`,
    legend: [
      { name: 'a fold', colour: BLUE },
      { name: 'all rows', colour: ORANGE, dashed: true },
    ],
    options: size =>
      framed(size, {
        height: 240,
        x: { type: 'point', label: 'fold', labelArrow: 'none', domain: folds.map(({ fold }) => fold) },
        y: { label: 'held-out accuracy', labelArrow: 'none', grid: true, ticks: 5, tickFormat: shareText, nice: true },
        marks: [
          Plot.ruleY([accuracy], { stroke: ORANGE, strokeWidth: 2, strokeDasharray: '6,3' }),
          Plot.dot(folds, { x: 'fold', y: 'accuracy', fill: BLUE, r: 5 }),
        ],
      }),
    table: tableOf(folds, {
      fold: ({ fold }) => fold,
      rows: ({ rows }) => rows,
      accuracy: one => shareText(one.accuracy),
      passes: ({ passes }) => passes,
      gap: ({ gap }) => (gap === null ? null : gapText(gap)),
    }),
  }
}
