// Several runs in one chart: relative difference to the best known objective, and to the best accuracy, on log axes.
import * as Plot from '@observablehq/plot'
import { type ComparedPoint, type ComparedRun, type Comparison, compareRuns } from '../compare-runs.ts'
import type { RunRecords } from '../records.ts'
import { type Chart, COLOURS, framed, thinned, ticksFor } from './chart.ts'
import { gapText, logTicks, numberText, secondsText, shareText } from './units.ts'

/** What is further off than this is not worth room: first guesses may be anything. */
const MOST = 100
/** Differences below it are rounding. */
const LEAST = 1e-12
const DASHES = ['none', '6,3', '2,3']

export interface Series {
  name: string
  colour: string
  dash: string
  points: ComparedPoint[]
}

/** The points that a log axis can show. A time of 0 is none. */
export function seriesOf(runs: ComparedRun[], which: 'objective' | 'accuracies'): Series[] {
  return runs.flatMap((run, k) => {
    const points = run[which].filter(({ seconds, value }) => seconds > 0 && value > LEAST)
    const certain = new Set(thinned(points, 800))
    const shown = points.filter(point => point.certified || certain.has(point))
    const dash = DASHES[Math.floor(k / COLOURS.length) % DASHES.length]
    return shown.length > 0 ? [{ name: run.name, colour: COLOURS[k % COLOURS.length], dash, points: shown }] : []
  })
}

interface Words {
  id: string
  title: string
  about: string
  text: string
  axis: string
}

function comparisonChart(series: Series[], words: Words, table: Chart['table']): Chart {
  const { id, title, about, text, axis } = words
  const all = series.flatMap(({ points }) => points)
  const x = all.map(({ seconds }) => seconds)
  const y = all.map(({ value }) => Math.min(value, MOST))
  return {
    ...{ id, title, about, text, table },
    legend: series.map(({ name, colour, dash }) => ({
      name,
      colour,
      ...(dash !== 'none' && { dashed: true as const }),
    })),
    options: size =>
      framed(size, {
        height: Math.round(Math.min(420, Math.max(240, size.width * 0.6))),
        x: { ...logAxis(x, ticksFor(size.width)), label: 'time (seconds)' },
        y: { ...logAxis(y, 7), label: axis },
        marks: series.flatMap(({ colour, dash, points }) => [
          Plot.line(points, {
            x: 'seconds',
            y: 'value',
            stroke: colour,
            strokeWidth: 2,
            strokeDasharray: dash,
            clip: true,
          }),
          Plot.dot(
            points.filter(({ certified }) => certified),
            { x: 'seconds', y: 'value', fill: colour, r: 3.5 },
          ),
        ]),
      }),
  }
}

/** An axis on which values that are all but the same still have room around them. */
function logAxis(values: number[], ticks: number): Plot.ScaleOptions {
  const [least, most] = [Math.min(...values), Math.max(...values)]
  const room = most / least < 2 ? 2 : 1
  const domain = [least / room, most * room]
  return { type: 'log', domain, ...logTicks(domain[0], domain[1], ticks), labelArrow: 'none', grid: true }
}

const orNull = (value: number | null | undefined, text: (value: number) => string): string | null =>
  value === null || value === undefined ? null : text(value)

function runsTable({ runs }: Comparison): Chart['table'] {
  return {
    columns: ['run', 'solver', 'time', 'passes', 'objective', 'above the best', 'gap', 'accuracy'],
    rows: runs.map(run => [
      run.name,
      run.solver ?? null,
      orNull(run.seconds, secondsText),
      orNull(run.passes, numberText),
      orNull(run.primal, numberText),
      orNull(run.aboveBest, gapText),
      orNull(run.gap, gapText),
      orNull(run.accuracy, shareText),
    ]),
  }
}

/** The papers' two figures, as far as the runs have what they show. */
export function compareCharts(runs: readonly RunRecords[], best?: number): Chart[] {
  const comparison = compareRuns(runs, best)
  const table = runsTable(comparison)
  const objective = seriesOf(comparison.runs, 'objective')
  const accuracies = seriesOf(comparison.runs, 'accuracies')
  const charts: Chart[] = []
  if (objective.length > 0) {
    const words = {
      id: 'compare-objective',
      title: 'Relative difference to the best objective',
      about: `The lower and the further left, the better. Dots are certified; lines between them are estimates. The best known objective is ${numberText(comparison.best!)}${comparison.given ? ', as given' : ', of these runs'}; the run that has it leaves the chart there.`,
      text: comparison.runs
        .map(run => `${run.name}: ${orNull(run.aboveBest, gapText) ?? 'no objective'} above the best`)
        .join('; '),
      axis: '(objective − best) / best',
    }
    charts.push(comparisonChart(objective, words, table))
  }
  if (accuracies.length > 0) {
    const words = {
      id: 'compare-accuracy',
      title: 'Relative difference to the best test accuracy',
      about: `The lower and the further left, the better. The best accuracy of any run at any time is ${shareText(comparison.bestAccuracy!)}; a model that has it is not on the chart.`,
      text: comparison.runs.map(run => `${run.name}: ${orNull(run.accuracy, shareText) ?? 'not tested'}`).join('; '),
      axis: '(best − accuracy) / best',
    }
    charts.push(comparisonChart(accuracies, words, table))
  }
  return charts
}
