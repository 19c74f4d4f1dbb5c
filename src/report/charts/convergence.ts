// Primal and dual as they close in on each other, and the relative gap between them, over time or passes.
import * as Plot from '@observablehq/plot'
import type { RunRecords } from '../records.ts'
import { isTruncated, type RelaxedPoint, relaxedPoints } from '../relaxed-points.ts'
import {
  BLUE,
  type Chart,
  type ChartSize,
  type ChartView,
  framed,
  GREEN,
  leftFor,
  ORANGE,
  tableOf,
  thinned,
  ticksFor,
  timeAxis,
} from './chart.ts'
import { countedRecords } from './passes.ts'
import { countText, gapText, logTicks, numberText, secondsText, shortCount } from './units.ts'
import { waitingChart } from './waiting.ts'

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

/** A tolerance below it asks for all that numbers can tell: there is no line to draw. */
const LEAST_GAP = 1e-16

/** Points that a line has at most: more of them than pixels show nothing. */
const MOST_POINTS = 1500

export const VIEWS: ChartView[] = [
  { id: 'seconds', name: 'time' },
  { id: 'passes', name: 'passes' },
]

/** Where the run was, record by record. What was told of some rows only is left out. */
export function convergencePoints(run: RunRecords): ConvergencePoint[] {
  const counted = countedRecords(run)
  const relaxed = relaxedBefore(run)
  const hasGaps = counted.some(({ record }) => record.gap !== null)
  return counted.flatMap(({ record, passes, problem }) => {
    const { seconds, primal, gap, certified, models, partial, certificate } = record
    if (partial || certificate !== undefined || primal >= UNKNOWN) return []
    // The sum over models lacks those that have not met all rows yet.
    if (models && (primal <= 0 || (hasGaps && gap === null))) return []
    const dual = models || gap === null ? null : primal * (1 - gap)
    return [{ seconds, passes, primal, dual, gap, certified, problem: problem + (relaxed.get(record) ?? 0) }]
  })
}

/** How many convex problems of a truncated loss were solved before each record: the next one begins anew. */
function relaxedBefore({ progress }: RunRecords): Map<object, number> {
  const before = new Map<object, number>()
  let solved = 0
  for (const record of progress) {
    if (record.stage === 'relax') solved++
    else if (record.stage === 'train' && solved > 0) before.set(record, solved)
  }
  return before
}

/** At most so many points, none of the certified ones left out. */
function fewer(points: ConvergencePoint[]): ConvergencePoint[] {
  const kept = new Set(thinned(points, MOST_POINTS))
  return points.filter(point => point.certified || kept.has(point))
}

/** Time or passes, as the view says. */
export function xAxis(size: ChartSize, points: readonly { seconds: number }[]): Plot.ScaleOptions {
  return size.view === 'passes'
    ? { label: 'passes over the data', labelArrow: 'none', ticks: ticksFor(size.width), zero: true }
    : timeAxis(size, points)
}

const tableColumns = {
  'time (s)': (point: ConvergencePoint) => Number(point.seconds.toPrecision(4)),
  passes: (point: ConvergencePoint) => Number(point.passes.toPrecision(4)),
  primal: (point: ConvergencePoint) => Number(numberText(point.primal)),
  dual: (point: ConvergencePoint) => (point.dual === null ? null : Number(numberText(point.dual))),
  gap: (point: ConvergencePoint) => (point.gap === null ? null : gapText(point.gap)),
  certified: (point: ConvergencePoint) => (point.certified ? 'yes' : 'estimate'),
}

type Objectives = Pick<ConvergencePoint, 'primal' | 'dual'>[]

/** The part of the axis where something happens: early values may be a hundred times the last one. */
export function objectiveRange(points: Objectives): [number, number] {
  const last = points[points.length - 1].primal
  const primals = points.map(({ primal }) => primal)
  const duals = points.flatMap(({ dual }) => (dual === null ? [] : [dual]))
  const top = Math.min(Math.max(...primals), 2 * last)
  const bottom = Math.max(Math.min(...(duals.length > 0 ? duals : primals)), 0)
  return top > bottom ? [bottom, top] : [0.9 * last, 1.1 * last || 1]
}

/** Objectives of different costs may be a thousand times each other: they are on a log axis. */
function objectiveAxis(points: Objectives, severalCosts: boolean): Plot.ScaleOptions {
  const shared = { label: 'objective', labelArrow: 'none', grid: true } as const
  const primals = points.map(({ primal }) => primal)
  if (!severalCosts || Math.min(...primals) <= 0)
    return { ...shared, domain: objectiveRange(points), nice: true, ticks: 5 }
  const domain = [Math.min(...primals), Math.max(...primals)]
  return { ...shared, type: 'log', domain, ...logTicks(domain[0], domain[1], 6), tickFormat: shortCount }
}

const ABOUT = {
  bounds:
    'The optimum lies between the two lines. They meet where training is done. Dots are certificates over all rows; the lines between them are estimates.',
  sum: 'The objective as training goes on. Dots are values over all rows; the line between them is an estimate.',
  costs:
    'The sum over the models that are trained together. Each line is a round of costs, and a larger cost has a larger objective. Dots are values over all rows.',
}

const ABOUT_GAP = {
  usual:
    'How far the model is from the optimum at most, as a share of the objective. A straight fall is good; a flat line says that the cost is large or that features want scaling.',
  relaxed:
    'How far the model is from the optimum of a convex problem at most, as a share of its objective. Each line is one of the convex problems that the loss is solved by.',
}

/** Primal from above, dual from below; of a truncated loss the objective alone. */
export function objectiveChart(run: RunRecords): Chart | undefined {
  const relaxed = relaxedPoints(run)
  if (isTruncated(run)) return truncatedChart(relaxed, run.run.verb === 'tune')
  const all = convergencePoints(run)
  if (all.length < 2) return undefined
  const points = fewer(all)
  const duals = points.filter(({ dual }) => dual !== null)
  const end = all[all.length - 1]
  const bounds = duals.length > 0
  const severalCosts = run.run.verb === 'tune'
  const y = objectiveAxis(points, severalCosts)
  const longest = countText(Math.ceil(Math.max(...(y.domain as number[]))))
  return {
    id: 'objective',
    title: bounds ? 'Primal and dual' : 'Objective',
    about: bounds ? ABOUT.bounds : severalCosts ? ABOUT.costs : ABOUT.sum,
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
        marginLeft: leftFor(longest),
        // Dots at the end have room within what is clipped.
        ...{ insetRight: 5, insetTop: 4, insetBottom: 4 },
        x: xAxis(size, points),
        y,
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

/** The objective of a truncated loss, which is known after each convex problem. */
function truncatedChart(points: RelaxedPoint[], severalCosts: boolean): Chart {
  const about =
    'The truncated objective over all rows, after each convex problem. It has many minima, and none of them is certified.'
  const legend = [{ name: 'objective', colour: BLUE }]
  const frame = { id: 'objective', title: 'Objective', about, legend, views: VIEWS }
  if (points.length === 0) return waitingChart(frame, 'the first convex problem')
  const end = points[points.length - 1]
  const several = end.problem > 1
  const y = objectiveAxis(
    points.map(({ objective }) => ({ primal: objective, dual: null })),
    severalCosts,
  )
  return {
    ...frame,
    about: `${about}${several ? ' Each line is a model.' : ''}`,
    text: `The objective over ${secondsText(end.seconds)} and ${numberText(end.passes)} passes: ${several ? 'that of the last model ' : 'it '}ends at ${numberText(end.objective)}.`,
    options: size => {
      const x = size.view === 'passes' ? 'passes' : 'seconds'
      return framed(size, {
        marginLeft: leftFor(countText(Math.ceil(Math.max(...(y.domain as number[]))))),
        ...{ insetRight: 5, insetTop: 4, insetBottom: 4 },
        x: xAxis(size, points),
        y,
        marks: [
          Plot.lineY(points, { x, y: 'objective', z: 'problem', stroke: BLUE, strokeWidth: 2, clip: true }),
          Plot.dot(points, { x, y: 'objective', fill: BLUE, r: 3.5, clip: true }),
        ],
      })
    },
    table: tableOf(points, {
      'time (s)': ({ seconds }) => Number(seconds.toPrecision(4)),
      passes: ({ passes }) => Number(passes.toPrecision(4)),
      objective: ({ objective }) => Number(numberText(objective)),
    }),
  }
}

/** The relative gap, on a log axis. */
export function gapChart(run: RunRecords): Chart | undefined {
  const points = fewer(convergencePoints(run).filter(({ gap }) => gap !== null && gap > 0))
  if (points.length < 2) return undefined
  // A run that was resumed may have gone on to another one.
  const { tolerance: asked = 0 } = (run.resumed.at(-1)?.run ?? run.run).settings as { tolerance?: number }
  const tolerance = asked < LEAST_GAP ? undefined : asked
  const gaps = [...points.map(({ gap }) => gap!), ...(tolerance === undefined ? [] : [tolerance])]
  const ticks = logTicks(Math.min(...gaps), Math.max(...gaps), 6)
  const end = points[points.length - 1]
  return {
    id: 'gap',
    title: 'Relative gap',
    about: isTruncated(run) ? ABOUT_GAP.relaxed : ABOUT_GAP.usual,
    text: `The relative gap falls from ${gapText(points[0].gap!)} to ${gapText(end.gap!)} in ${secondsText(end.seconds)}${tolerance === undefined ? '' : `; the tolerance is ${gapText(tolerance)}`}.`,
    legend: [
      { name: 'gap', colour: GREEN },
      ...(tolerance === undefined ? [] : [{ name: 'tolerance', colour: 'currentColor', dashed: true as const }]),
    ],
    views: VIEWS,
    options: size => {
      const x = size.view === 'passes' ? 'passes' : 'seconds'
      return framed(size, {
        x: xAxis(size, points),
        y: { type: 'log', label: 'relative gap', labelArrow: 'none', grid: true, ...ticks },
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
