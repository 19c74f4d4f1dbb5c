// Coordinate descent and second-order methods over time, in memory: each point is a run of its own, stopped after so many
// passes; its time is that of the whole process, its distance is that of its model's objective from the best of all.
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Chart } from '../chart.ts'
import type { PreparedData, Size } from '../data.ts'
import { evaluateFiles, type LossName } from '../evaluator.ts'
import { CommandFailed, makeCold, warm } from '../measure.ts'
import type { TrainRun } from '../peers/peer.ts'
import { spillway } from '../peers/spillway.ts'
import type { Cell, Section, SuiteContext, Table } from '../suite.ts'
import { knownSolvers } from './pass-series.ts'

const LOSSES: LossName[] = ['squared-hinge', 'logistic']
const COSTS = [1, 100]
const METHODS: { name: string; words: string[]; not?: LossName }[] = [
  { name: 'dual', words: ['--solver', 'dual'] },
  // The logistic loss has no rows to leave out.
  { name: 'dual, no shrinking', words: ['--solver', 'dual', '--no-shrinking'], not: 'logistic' },
  { name: 'primal-coordinate', words: ['--solver', 'primal-coordinate'] },
  { name: 'newton', words: ['--solver', 'newton'] },
  { name: 'lbfgs', words: ['--solver', 'lbfgs'] },
]
/** Passes of the points: doubled until the run ends by itself, or takes longer than this. */
const MOST_PASSES: Record<Size, number> = { small: 32, full: 1 << 14 }
const PATIENCE: Record<Size, number> = { small: 10, full: 60 }
/** Close enough for the last point. */
const CLOSE = 1e-8
/** The table of times says when a method came so near for the first time. */
const NEAR = [1e-1, 1e-3, 1e-6]
/** Differences below this are drawn at it: models come as numbers of a text. */
const FLOOR = 1e-10

const patienceOf = ({ seconds, size }: Pick<SuiteContext, 'seconds' | 'size'>): number => seconds ?? PATIENCE[size]

interface Point {
  passes: number
  seconds: number
  primal: number
}

interface Line {
  method: string
  points: Point[]
}

/** One data set. */
export async function secondOrderSection(context: SuiteContext, name: string): Promise<Section> {
  const times: Table = { title: 'Seconds until so near', columns: timeColumns, rows: [] }
  const points: Table = { title: 'Points', columns: pointColumns, rows: [] }
  const charts: Chart[] = []
  const section: Section = {
    name: 'second-order',
    title: `Methods over time, ${name}`,
    goal: 'newton before dual where the cost is large or features are few and not scaled, as the talk says; the other way where they are many.',
    protocol: [
      `Each point is a process of its own, from text, with --max-passes 1, 2, 4, … up to ${MOST_PASSES[context.size]}, until it ends with a gap of ${CLOSE} or takes ${patienceOf(context)} s. Passes of newton are steps and products alike. A run that ends short multiplies its weights by what is best along them.`,
      'Distances are (P − P*) / P*: the evaluator computes P, and P* is the least of the problem over all methods. The smallest time of all rounds.',
    ],
    ...{ tables: [times, points], charts, details: [], notes: [] },
  }
  if (!(await spillway.version())) {
    context.skip('second-order', `not measured: ${spillway.howToInstall}`)
    return section
  }
  const known = await knownSolvers()
  const methods = METHODS.filter(({ name, words }) => {
    const there = known.includes(words[1])
    if (!there) context.skip(`second-order, ${name}`, `not measured: this build has no solver ${words[1]}`)
    return there
  })
  for await (const data of context.data([name])) {
    await warm(data.file)
    for (const loss of context.losses ?? LOSSES) {
      for (const cost of context.costs ?? COSTS) {
        const lines: Line[] = []
        for (const { name, words, not } of methods) {
          if (not === loss) continue
          try {
            lines.push({ method: name, points: await lineOf(context, data, { loss, cost }, name, words) })
          } catch (error) {
            context.skip(`second-order, ${name}, ${loss}`, error)
          }
        }
        const problem = { data: data.name, loss, cost }
        const best = Math.min(...lines.flatMap(line => line.points.map(({ primal }) => primal)))
        for (const line of lines) addLine(times, points, problem, line, best)
        charts.push(chartOf(`${data.name}, ${loss}, C = ${cost}`, lines, best))
        section.details.push({ ...problem, best, lines })
      }
    }
  }
  return section
}

const timeColumns: Table['columns'] = {
  data: { title: 'data' },
  loss: { title: 'loss' },
  cost: { title: 'C' },
  method: { title: 'method' },
  ...Object.fromEntries(NEAR.map(near => [`to${near}`, { title: `≤ ${near}`, show: 'seconds' as const }])),
  last: { title: 'nearest', show: 'difference' },
}

const pointColumns: Table['columns'] = {
  data: { title: 'data' },
  loss: { title: 'loss' },
  cost: { title: 'C' },
  method: { title: 'method' },
  passes: { title: 'passes', show: 'count' },
  seconds: { title: 's', show: 'seconds' },
  difference: { title: 'difference', show: 'difference' },
}

function addLine(
  times: Table,
  all: Table,
  problem: Record<string, Cell>,
  { method, points }: Line,
  best: number,
): void {
  const apart = points.map(({ passes, seconds, primal }) => ({ passes, seconds, difference: (primal - best) / best }))
  const firstAt = (near: number): Cell => apart.find(({ difference }) => difference <= near)?.seconds
  times.rows.push({
    ...{ ...problem, method, last: Math.min(...apart.map(({ difference }) => difference)) },
    ...Object.fromEntries(NEAR.map(near => [`to${near}`, firstAt(near)])),
  })
  all.rows.push(...apart.map(point => ({ ...problem, method, ...point })))
}

function chartOf(title: string, lines: Line[], best: number): Chart {
  return {
    ...{ title, xLabel: 'seconds, reading included', yLabel: 'relative difference to the best', yScale: 'log' },
    series: lines.map(({ method, points }) => ({
      name: method,
      points: points.map(({ seconds, primal }) => ({ x: seconds, y: Math.max(FLOOR, (primal - best) / best) })),
    })),
  }
}

/** All points of a method on a problem. */
async function lineOf(
  context: SuiteContext,
  data: PreparedData,
  problem: { loss: LossName; cost: number },
  name: string,
  words: string[],
): Promise<Point[]> {
  const { workFolder, rounds, cold, limit, size, say } = context
  const patience = patienceOf(context)
  const model = join(workFolder, 'second-order.model')
  const points: Point[] = []
  const train = async (maxPasses: number): Promise<TrainRun> => {
    if (cold) await makeCold(data.file)
    const request = { ...problem, stop: CLOSE, model, maxPasses, words }
    return spillway.train(data.file, request, { limit, timeout: 2 * patience })
  }
  try {
    for (let passes = 1; passes <= MOST_PASSES[size]; passes *= 2) {
      let run: TrainRun
      try {
        run = await train(passes)
      } catch (error) {
        // The next point would have taken too long; a method that is refused has none.
        if (points.length > 0 && error instanceof CommandFailed && error.message.startsWith('stopped after')) break
        throw error
      }
      const [{ primal }] = await evaluateFiles(data.file, [await spillway.asLiblinear(model)], problem)
      let seconds = run.seconds
      for (let round = 1; round < rounds; round++) seconds = Math.min(seconds, (await train(passes)).seconds)
      points.push({ passes: Number(run.told?.['passes'] ?? passes), seconds, primal })
      say(`${data.name}, ${problem.loss}, C = ${problem.cost}, ${name}, passes ${passes}: ${seconds.toFixed(3)} s`)
      if (run.told?.['exitReason'] === 'converged' || seconds > patience) break
    }
  } finally {
    for (const file of [model, `${model}.liblinear`]) await rm(file, { force: true })
  }
  return points
}
