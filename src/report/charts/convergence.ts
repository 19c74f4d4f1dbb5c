// Primal and dual as they close in on each other, and the relative gap between them, over time or passes.
import * as Plot from '@observablehq/plot'
import { type RunRecords, stageOf } from '../records.ts'
import {
  BLUE,
  type Chart,
  type ChartSize,
  type ChartView,
  framed,
  GREEN,
  ORANGE,
  tableOf,
  thinned,
  ticksFor,
} from './chart.ts'
import { gapText, logTickText, numberText, secondsText } from './units.ts'

export interface ConvergencePoint {
  seconds: number
  /** Over all problems of the run, one after the other. */
  passes: number
  primal: number
  /** Of one model whose gap is known. */
  dual: number | null
  gap: number | null
  certified: boolean
  /** Which of several problems: lines of different ones are not joined. */
  problem: number
}

/** A primal beyond it stands for none: nothing is known of some rows. */
const UNKNOWN = 1e100

/** Points that a line has at most: more of them than pixels show nothing. */
const MOST_POINTS = 1500

export const VIEWS: ChartView[] = [
  { id: 'seconds', name: 'time' },
  { id: 'passes', name: 'passes' },
]

/** Where the run was, record by record. What was told of some rows only is left out. */
export function convergencePoints(run: RunRecords): ConvergencePoint[] {
  let [before, last, problem] = [0, 0, 1]
  return stageOf(run, 'train').flatMap(one => {
    const { seconds, pass, primal, gap, certified, models } = one
    const now = models ? 1 : (one.problem ?? 1)
    // The next problem counts its passes from 0.
    if (now !== problem) before += last
    ;[problem, last] = [now, pass]
    if (one.partial || one.certificate !== undefined || primal >= UNKNOWN) return []
    const dual = models || gap === null ? null : primal * (1 - gap)
    return [{ seconds, passes: before + pass, primal, dual, gap, certified, problem }]
  })
}

/** At most so many points, none of the certified ones left out. */
function fewer(points: ConvergencePoint[]): ConvergencePoint[] {
  const kept = new Set(thinned(points, MOST_POINTS))
  return points.filter(point => point.certified || kept.has(point))
}

/** Time or passes, as the view says. */
export function xAxis({ width, view }: ChartSize): Plot.ScaleOptions {
  return view === 'passes'
    ? { label: 'passes over the data', labelArrow: 'none', ticks: ticksFor(width), zero: true }
    : { label: 'time (seconds)', labelArrow: 'none', ticks: ticksFor(width), zero: true }
}

const tableColumns = {
  'time (s)': (point: ConvergencePoint) => Number(point.seconds.toPrecision(4)),
  passes: (point: ConvergencePoint) => Number(point.passes.toPrecision(4)),
  primal: (point: ConvergencePoint) => Number(numberText(point.primal)),
  dual: (point: ConvergencePoint) => (point.dual === null ? null : Number(numberText(point.dual))),
  gap: (point: ConvergencePoint) => (point.gap === null ? null : gapText(point.gap)),
  certified: (point: ConvergencePoint) => (point.certified ? 'yes' : 'estimate'),
}

/** The part of the axis where something happens: early values may be a hundred times the last one. */
export function objectiveRange(points: ConvergencePoint[]): [number, number] {
  const last = points[points.length - 1].primal
  const primals = points.map(({ primal }) => primal)
  const duals = points.flatMap(({ dual }) => (dual === null ? [] : [dual]))
  const top = Math.min(Math.max(...primals), 2 * last)
  const bottom = Math.max(Math.min(...(duals.length > 0 ? duals : primals)), 0)
  return top > bottom ? [bottom, top] : [0.9 * last, 1.1 * last || 1]
}

/** Primal from above, dual from below. */
export function objectiveChart(run: RunRecords): Chart | undefined {
  const all = convergencePoints(run)
  if (all.length < 2) return undefined
  const points = fewer(all)
  const duals = points.filter(({ dual }) => dual !== null)
  const end = all[all.length - 1]
  const [bottom, top] = objectiveRange(points)
  const bounds = duals.length > 0
  return {
    id: 'objective',
    title: bounds ? 'Primal and dual' : 'Objective',
    about: bounds
      ? 'The optimum lies between the two lines. They meet where training is done. Dots are certificates over all rows; the lines between them are estimates.'
      : 'The objective as training goes on. Dots are values over all rows; the line between them is an estimate.',
    text: `${bounds ? 'Primal and dual' : 'The objective'} over ${secondsText(end.seconds)} and ${numberText(end.passes)} passes: the primal ends at ${numberText(end.primal)}${end.dual === null ? '' : `, the dual at ${numberText(end.dual)}`}.`,
    legend: [
      { name: 'primal', colour: BLUE },
      ...(bounds ? [{ name: 'dual', colour: ORANGE, dashed: true as const }] : []),
    ],
    views: VIEWS,
    options: size => {
      const x = size.view === 'passes' ? 'passes' : 'seconds'
      const line = { x, z: 'problem', clip: true } as const
      return framed(size, {
        x: xAxis(size),
        y: { label: 'objective', labelArrow: 'none', domain: [bottom, top], nice: true, grid: true, ticks: 5 },
        marks: [
          Plot.lineY(duals, { ...line, y: 'dual', stroke: ORANGE, strokeDasharray: '5,3' }),
          Plot.lineY(points, { ...line, y: 'primal', stroke: BLUE, strokeWidth: 2 }),
          Plot.dot(
            points.filter(({ certified }) => certified),
            { x, y: 'primal', fill: BLUE, r: 3.5, clip: true },
          ),
          Plot.dot(
            duals.filter(({ certified }) => certified),
            { x, y: 'dual', fill: ORANGE, r: 3.5, clip: true },
          ),
        ],
      })
    },
    table: tableOf(points, tableColumns),
  }
}

/** The relative gap, on a log axis. */
export function gapChart(run: RunRecords): Chart | undefined {
  const points = fewer(convergencePoints(run).filter(({ gap }) => gap !== null && gap > 0))
  if (points.length < 2) return undefined
  // A run that was resumed may have gone on to another one.
  const { tolerance } = (run.resumed.at(-1)?.run ?? run.run).settings as { tolerance?: number }
  const gaps = [...points.map(({ gap }) => gap!), ...(tolerance === undefined ? [] : [tolerance])]
  const names = logTickText(Math.min(...gaps), Math.max(...gaps))
  const end = points[points.length - 1]
  return {
    id: 'gap',
    title: 'Relative gap',
    about:
      'How far the model is from the optimum at most, as a share of the objective. A straight fall is good; a flat line says that the cost is large or that features want scaling.',
    text: `The relative gap falls from ${gapText(points[0].gap!)} to ${gapText(end.gap!)} in ${secondsText(end.seconds)}${tolerance === undefined ? '' : `; the tolerance is ${gapText(tolerance)}`}.`,
    legend: [
      { name: 'gap', colour: GREEN },
      ...(tolerance === undefined ? [] : [{ name: 'tolerance', colour: 'currentColor', dashed: true as const }]),
    ],
    views: VIEWS,
    options: size => {
      const x = size.view === 'passes' ? 'passes' : 'seconds'
      return framed(size, {
        x: xAxis(size),
        y: { type: 'log', label: 'relative gap', labelArrow: 'none', grid: true, ticks: 5, tickFormat: names },
        marks: [
          ...(tolerance === undefined
            ? []
            : [Plot.ruleY([tolerance], { stroke: 'currentColor', strokeOpacity: 0.7, strokeDasharray: '4,4' })]),
          Plot.lineY(points, { x, y: 'gap', z: 'problem', stroke: GREEN, strokeWidth: 2 }),
          Plot.dot(
            points.filter(({ certified }) => certified),
            { x, y: 'gap', fill: GREEN, r: 3.5 },
          ),
        ],
      })
    },
    table: tableOf(points, tableColumns),
  }
}
