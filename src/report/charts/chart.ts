// What a chart is: plain data and the options of Observable Plot, made from the records of a run. It draws nothing itself.
//
// Each file beside this one makes one chart, or a few of a kind: a function of a run's records gives a chart, or undefined when
// the run has nothing to show there. `page/figure.ts` puts a chart on a page. Colours are names of the page's style.
import * as Plot from '@observablehq/plot'
import type { RunRecords } from '../records.ts'

export interface ChartTable {
  columns: string[]
  rows: (string | number | null)[][]
}

/** One of several ways to show the same: over time, or over passes. */
export interface ChartView {
  id: string
  name: string
}

export interface ChartSize {
  /** In pixels. */
  width: number
  /** The view's id; the first one when it is not said. */
  view?: string | undefined
}

export interface Chart {
  /** The same for the same chart of every run: part of an address, and what a page keeps a chart by. */
  id: string
  title: string
  /** What to look for, in a sentence or two. */
  about: string
  /** What the chart shows, in words and numbers, for those who do not see it. */
  text: string
  /** Names of colours, or of kinds of lines, where there are several. */
  legend?: { name: string; colour: string; dashed?: true }[]
  views?: ChartView[]
  /** What Plot draws; without title. */
  options(size: ChartSize): Plot.PlotOptions
  /** The numbers, thinned out where they are many. */
  table: ChartTable
}

export type ChartOfRun = (run: RunRecords) => Chart | undefined

/** Colours that the page's style gives for light and dark. */
export const COLOURS = [1, 2, 3, 4, 5, 6].map(k => `var(--series-${k})`)
export const [BLUE, ORANGE, GREEN, PURPLE, OCHRE, GREY] = COLOURS
export const FAINT = 'var(--line)'

/** Rows of a table that people may want to go through. */
const MOST_IN_TABLE = 40

/** At most so many items, evenly chosen, the first and the last among them. */
export function thinned<T>(items: readonly T[], most: number): T[] {
  if (items.length <= most) return [...items]
  const step = (items.length - 1) / (most - 1)
  return Array.from({ length: most }, (_, k) => items[Math.round(k * step)])
}

export function tableOf<T>(
  items: readonly T[],
  columns: Record<string, (item: T) => string | number | null>,
): ChartTable {
  const cells = Object.values(columns)
  return {
    columns: Object.keys(columns),
    rows: thinned(items, MOST_IN_TABLE).map(item => cells.map(cell => cell(item))),
  }
}

/** What all charts have in common. */
export function framed({ width }: ChartSize, options: Plot.PlotOptions): Plot.PlotOptions {
  const [x, y] = [chosenTicks('x', options.x), chosenTicks('y', options.y)]
  return {
    width,
    height: Math.round(Math.min(300, Math.max(200, width * 0.5))),
    marginLeft: 62,
    marginRight: 18,
    marginBottom: 42,
    marginTop: 22,
    ...options,
    ...(x && { x: x.scale }),
    ...(y && { y: y.scale }),
    marks: [...(x?.marks ?? []), ...(y?.marks ?? []), ...(options.marks ?? [])],
    style: { background: 'transparent', color: 'inherit', fontSize: '12px', fontFamily: 'inherit' },
  }
}

/** Ticks of a log axis that were chosen one by one, as marks of their own: Plot leaves out labels of a log axis, and the tick of 0.94 had
 *  none. Undefined of other axes. */
function chosenTicks(
  axis: 'x' | 'y',
  options: Plot.ScaleOptions | undefined,
): { scale: Plot.ScaleOptions; marks: Plot.Markish[] } | undefined {
  if (options?.type !== 'log' || !Array.isArray(options.ticks) || typeof options.tickFormat !== 'function')
    return undefined
  const { ticks, tickFormat, grid, ...scale } = options
  const own = { text: (value: number, k: number): string => String(tickFormat(value, k)), labelArrow: 'none' } as const
  const marks =
    axis === 'x'
      ? [grid && Plot.gridX(ticks), Plot.axisX(ticks, own)]
      : [grid && Plot.gridY(ticks), Plot.axisY(ticks, own)]
  return { scale, marks: marks.filter(mark => mark !== false && mark !== undefined) as Plot.Markish[] }
}

/** The left margin that a y axis needs for its longest tick. */
export function leftFor(longest: string): number {
  return Math.max(62, 24 + 7 * longest.length)
}

/** Time from 0 on; from the first value on where most of the time had gone by before it. */
export function timeAxis({ width }: ChartSize, points: readonly { seconds: number }[]): Plot.ScaleOptions {
  const first = points[0]?.seconds ?? 0
  const last = points.at(-1)?.seconds ?? 0
  return { label: 'time (seconds)', labelArrow: 'none', ticks: ticksFor(width), zero: first <= last / 2 }
}

/** Ticks that fit side by side. */
export function ticksFor(width: number): number {
  return Math.max(3, Math.min(10, Math.floor(width / 90)))
}
