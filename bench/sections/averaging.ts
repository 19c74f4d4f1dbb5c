// What it costs to talk little: accuracy of the mean of models, and of alternating directions after some rounds, beside that of one
// model of all rows; as in the talk on large-scale linear classification (2013).
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Chart } from '../chart.ts'
import type { PreparedData, Size } from '../data.ts'
import { dealLines } from '../prepare.ts'
import { referenceFor } from '../reference.ts'
import type { Cell, Section, SuiteContext, Table } from '../suite.ts'
import { COST, mpirunFor, type RankRun, RankRuns, type RankTiming } from './rank-runs.ts'

const LOSS = 'hinge'
/** Of the model of all rows, and of the models of which the mean is taken. */
const GAP = 1e-3
/** The hinge of few features takes many passes: a rank's own model has so many at most. */
const MOST_PASSES = 300
const RANKS: Record<Size, number[]> = { small: [2], full: [2, 4, 8] }
const ROUNDS: Record<Size, number[]> = { small: [1, 8], full: [1, 2, 4, 8, 16, 32, 64] }
/** Differences below this are drawn at it. */
const FLOOR = 1e-7

/** A method as the tables name it. */
export interface Shown {
  name: string
  kind: 'all' | 'average' | 'admm'
  ranks: number
  rounds?: number
}

/** What a method came to on a set. */
export interface Point extends Shown {
  accuracy?: number
  difference: number
}

/** The section grows: it comes again after each data set. */
export async function* averagingSection(context: SuiteContext, names: string[]): AsyncGenerator<Section> {
  const { size } = context
  const found = new Map<string, Point[]>()
  const section: Section = {
    name: 'averaging',
    title: 'Models that are averaged, and alternating directions',
    goal: "averaging's loss of accuracy against the full solution in a table like the talk's, and the curve of alternating directions beside it.",
    protocol: [
      `Hinge loss, C = ${COST}. Rows are dealt out to ranks in turn, as from a pack of cards: files may be sorted by label, and then a stretch of a file has one class.`,
      `"All rows": one process, to a gap of ${GAP}. "Mean": solver average, each rank's own model to a gap of ${GAP}, or ${MOST_PASSES} passes. "ADMM": solver admm, ended after so many passes, each of which is a round.`,
      'Accuracies are those on the test files. Differences are (P − P*) / P*, where the evaluator computes P on all rows; P* is the reference optimum, or the least of all models here. More ranks than cores: accuracies do not mind.',
    ],
    ...{ tables: [], charts: [], details: [], notes: [] },
  }
  const mpirun = await mpirunFor(context, 'averaging')
  if (!mpirun) {
    yield section
    return
  }
  for await (const data of context.data(names)) {
    const runs = new RankRuns({ ...context, rounds: 1 }, data, mpirun, 'averaging')
    const timings = await overAllRanks(context, data, runs)
    const reference = await referenceFor(data, { loss: LOSS, cost: COST }, context.workFolder, context.say)
    const best = Math.min(reference.primal, ...timings.map(({ primal }) => primal))
    const points = timings.map(({ run, primal, accuracy }) => ({
      ...shownOf(run),
      ...{ accuracy, difference: (primal - best) / best },
    }))
    found.set(data.name, points)
    section.tables = tablesOf(found)
    section.charts!.push(chartOf(data.name, points, ROUNDS[size]))
    section.notes = lossesOf(found)
    section.details.push({ data: data.name, reference, best, timings })
    yield section
  }
}

/** One process with all rows, and ranks with their parts of them. */
async function overAllRanks(
  { size, workFolder }: SuiteContext,
  data: PreparedData,
  runs: RankRuns,
): Promise<RankTiming[]> {
  const all: RankRun = { name: 'all', method: { solver: 'auto', loss: LOSS }, ranks: 1, stop: GAP }
  const timings = await runs.time([all])
  for (const ranks of RANKS[size]) {
    const pattern = join(workFolder, `averaging-${data.name}-${ranks}-{rank}.svm`)
    const parts = Array.from({ length: ranks }, (_, rank) => pattern.replace('{rank}', String(rank)))
    try {
      await dealLines(data.file, parts, line => line % ranks)
      timings.push(...(await runs.time(runsOf(ranks, pattern, size))))
    } finally {
      for (const part of parts) await rm(part, { force: true })
    }
  }
  return timings
}

function runsOf(ranks: number, data: string, size: Size): RankRun[] {
  const common = { ranks, threads: 1, data }
  const average = { solver: 'average', loss: LOSS } as const
  const admm = { solver: 'admm', loss: LOSS } as const
  return [
    { ...common, name: `average, ranks ${ranks}`, method: average, stop: GAP, maxPasses: MOST_PASSES },
    ...ROUNDS[size].map(rounds => ({
      ...{ ...common, name: `admm, ranks ${ranks}, rounds ${rounds}`, method: admm },
      ...{ stop: FLOOR, maxPasses: rounds },
    })),
  ]
}

function shownOf({ method: { solver }, ranks, maxPasses }: RankRun): Shown {
  if (ranks === 1) return { name: 'all rows', kind: 'all', ranks }
  if (solver === 'average') return { name: `mean of ${ranks} models`, kind: 'average', ranks }
  const rounds = maxPasses!
  const said = `ADMM, ${ranks} ranks, ${rounds} ${rounds === 1 ? 'round' : 'rounds'}`
  return { name: said, kind: 'admm', ranks, rounds }
}

/** Methods by data sets: accuracies, and distances from the optimum. */
export function tablesOf(found: Map<string, Point[]>): Table[] {
  const names = [...new Set([...found.values()].flatMap(points => points.map(({ name }) => name)))]
  const table = (title: string, show: 'share2' | 'difference', of: (point: Point) => Cell): Table => ({
    title,
    columns: {
      method: { title: 'method' },
      ...Object.fromEntries([...found.keys()].map(data => [data, { title: data, show }])),
    },
    rows: names.map(name => ({
      method: name,
      ...Object.fromEntries(
        [...found].map(([data, points]): [string, Cell] => {
          const point = points.find(each => each.name === name)
          return [data, point && of(point)]
        }),
      ),
    })),
  })
  return [
    table('Accuracy on test rows', 'share2', ({ accuracy }) => accuracy),
    table('Relative difference to the optimum', 'difference', ({ difference }) => difference),
  ]
}

/** The points of accuracy that averaging gives away, at the most. */
export function lossesOf(found: Map<string, Point[]>): string[] {
  return [...found].flatMap(([data, points]) => {
    const all = points.find(({ kind }) => kind === 'all')?.accuracy
    const means = points.flatMap(({ kind, accuracy }) =>
      kind === 'average' && accuracy !== undefined ? [accuracy] : [],
    )
    if (all === undefined || means.length === 0) return []
    const lost = 100 * (all - Math.min(...means))
    const [size, where] = [Math.abs(lost).toFixed(2), lost >= 0 ? 'below' : 'above']
    return [`${data}: the mean of models is ${size} points ${where} the model of all rows, at the worst.`]
  })
}

export function chartOf(data: string, points: Point[], rounds: number[]): Chart {
  const numbers = [...new Set(points.filter(({ kind }) => kind !== 'all').map(({ ranks }) => ranks))]
  const at = (difference: number): number => Math.max(FLOOR, difference)
  return {
    ...{ title: `${data}, hinge, C = ${COST}`, xLabel: 'rounds', yLabel: 'relative difference', yScale: 'log' },
    series: numbers.flatMap(ranks => {
      const own = points.filter(point => point.ranks === ranks)
      const mean = own.find(({ kind }) => kind === 'average')
      const admm = own.filter(({ kind }) => kind === 'admm')
      return [
        { name: `ADMM, ${ranks} ranks`, points: admm.map(each => ({ x: each.rounds!, y: at(each.difference) })) },
        // The mean is one round: a line to see what it is worth beside more of them.
        ...(mean ? [{ name: `mean of ${ranks}`, points: rounds.map(x => ({ x, y: at(mean.difference) })) }] : []),
      ]
    }),
  }
}
