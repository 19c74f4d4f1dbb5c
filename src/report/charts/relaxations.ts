// Of a truncated loss: the objective and the outliers after each of its convex problems.
import * as Plot from '@observablehq/plot'
import type { RunRecords } from '../records.ts'
import { isTruncated, type RelaxedPoint, relaxedPoints } from '../relaxed-points.ts'
import { BLUE, type Chart, framed, ORANGE, tableOf, ticksFor } from './chart.ts'
import { countText, numberText, shortCount } from './units.ts'
import { waitingChart } from './waiting.ts'

const LEGEND: Chart['legend'] = [
  { name: 'outliers', colour: BLUE },
  { name: 'rows that changed sides', colour: ORANGE, dashed: true },
]

export function relaxationsChart(run: RunRecords): Chart | undefined {
  const points = relaxedPoints(run)
  const about =
    'Rows that the loss has given up after each convex problem, and rows that changed sides there. Training ends when no row changes sides.'
  const frame = { id: 'relaxations', title: 'Outliers', about, legend: LEGEND, height: 240 }
  if (points.length < 2) return isTruncated(run) ? waitingChart(frame, 'the second convex problem') : undefined
  const end = points[points.length - 1]
  const several = end.problem > 1
  return {
    ...{ id: frame.id, title: frame.title },
    about: `${about}${several ? ' Each line is a model.' : ''}`,
    text: `${several ? 'The last model has ' : ''}${countText(end.outliers)} outliers after ${end.relaxation} convex problems; the objective is ${numberText(end.objective)}.`,
    legend: LEGEND,
    options: size =>
      framed(size, {
        height: frame.height,
        x: {
          label: 'convex problems solved',
          labelArrow: 'none',
          ticks: Math.min(Math.max(...points.map(({ relaxation }) => relaxation)) + 1, ticksFor(size.width)),
        },
        y: { label: 'rows', labelArrow: 'none', grid: true, ticks: 5, tickFormat: shortCount, zero: true },
        marks: [
          Plot.lineY(points, { x: 'relaxation', y: 'changed', z: 'problem', stroke: ORANGE, strokeDasharray: '5,3' }),
          Plot.lineY(points, { x: 'relaxation', y: 'outliers', z: 'problem', stroke: BLUE, strokeWidth: 2 }),
          Plot.dot(points, { x: 'relaxation', y: 'outliers', fill: BLUE, r: 3.5 }),
        ],
      }),
    table: tableOf(points, {
      ...(several && { model: ({ problem }: RelaxedPoint) => problem }),
      problem: ({ relaxation }) => relaxation,
      objective: ({ objective }) => Number(numberText(objective)),
      outliers: ({ outliers }) => outliers,
      'changed sides': ({ changed }) => changed,
    }),
  }
}
