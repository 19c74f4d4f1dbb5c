// Truncated losses beside the losses that they follow: with flipped labels, over outlier margins, and over costs.
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Chart, Series } from '../chart.ts'
import type { PreparedData } from '../data.ts'
import { measure } from '../measure.ts'
import { spillway } from '../peers/spillway.ts'
import { rewrite } from '../prepare.ts'
import type { Section, SuiteContext, Table } from '../suite.ts'

const PAIRS = [
  { convex: 'hinge', truncated: 'ramp' },
  { convex: 'squared-hinge', truncated: 'truncated-squared-hinge' },
]
/** Shares of the training rows that get another label. */
const FLIPPED = [0, 0.1, 0.3]
/** Values of s. */
const MARGINS = [0.25, 0.5, 1, 2, 4, 8]
const COSTS = [0.01, 0.1, 1, 10, 100]
/** Seconds after which a run is given up. */
const PATIENCE = 1800

interface Outcome {
  seconds: number
  computeSeconds: number
  passes: number
  primal: number
  supportVectors: number
  outliers?: number
  relaxations?: number
  testError: number
  exitReason: string
}

/** One run, from text to model and test. */
async function runOf(context: SuiteContext, file: string, data: PreparedData, words: string[]): Promise<Outcome> {
  const model = join(context.workFolder, 'truncated.model')
  await rm(model, { force: true })
  const test = data.testFile === undefined ? [] : ['--test', data.testFile]
  const command = spillway.command('train', file, model, ...words, ...test, '--json', '--quiet')
  const { seconds, stdout } = await measure(command, { limit: context.limit, timeout: PATIENCE })
  const told = JSON.parse(stdout.trim().split('\n').at(-1)!)
  const { passes, primal, supportVectors, outliers, relaxations, exitReason } = told
  const testError = told.test ? 1 - told.test.accuracy : Number.NaN
  const computeSeconds = told.seconds.compute
  return { seconds, computeSeconds, passes, primal, supportVectors, outliers, relaxations, testError, exitReason }
}

const outcomeColumns: Table['columns'] = {
  testError: { title: 'test error', show: 'share2' },
  supportVectors: { title: 'support vectors', show: 'count' },
  outliers: { title: 'outliers', show: 'count' },
  relaxations: { title: 'convex problems', show: 'count' },
  passes: { title: 'passes', show: 'count' },
  seconds: { title: 'time', show: 'seconds' },
  exitReason: { title: 'end' },
}

/** Labels of a share of the rows turned round, drawn from a seed; the numbers of those rows, from 1. */
async function flip(from: string, to: string, share: number): Promise<Set<number>> {
  const flipped = new Set<number>()
  const labels = new Set<number>()
  await rewrite(from, to, row => labels.add(row.label))
  if (labels.size !== 2) throw new Error(`${from} has ${labels.size} labels: only two can be turned round`)
  const [a, b] = labels
  let [row, state] = [0, 12345]
  await rewrite(from, to, each => {
    row++
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    if (state / 2 ** 32 >= share) return
    each.label = each.label === a ? b : a
    flipped.add(row)
  })
  return flipped
}

/** How many of the rows that were given up are flipped, and the other way round. */
async function foundIn(file: string, flipped: Set<number>): Promise<{ precision?: number; recall?: number }> {
  const [, ...lines] = (await readFile(file, 'utf8')).trimEnd().split('\n')
  const both = lines.filter(line => flipped.has(Number(line.split('\t')[0]))).length
  if (lines.length === 0 || flipped.size === 0) return {}
  return { precision: both / lines.length, recall: both / flipped.size }
}

/** Flipped labels: test error of each loss and of its truncated one. */
export async function flippedSection(context: SuiteContext, names: string[]): Promise<Section> {
  const table: Table = {
    columns: {
      data: { title: 'data' },
      flipped: { title: 'labels flipped', show: 'share' },
      loss: { title: 'loss' },
      ...outcomeColumns,
      precision: { title: 'flipped among outliers', show: 'share' },
      recall: { title: 'outliers among flipped', show: 'share' },
    },
    rows: [],
  }
  for await (const data of context.data(names)) {
    for (const share of FLIPPED) {
      const file = join(context.workFolder, `${data.name}-flipped.svm`)
      const listed = join(context.workFolder, 'outliers.tsv')
      try {
        const flipped = await flip(data.file, file, share)
        for (const { convex, truncated } of PAIRS) {
          for (const loss of [convex, truncated]) {
            const words = loss === truncated ? ['--outliers', listed] : []
            const outcome = await runOf(context, file, data, ['--loss', loss, ...words])
            const found = loss === truncated ? await foundIn(listed, flipped) : {}
            table.rows.push({ data: data.name, flipped: share, loss, ...outcome, ...found })
            context.say(`${data.name}, ${share} flipped, ${loss}: error ${outcome.testError.toFixed(4)}`)
          }
        }
      } catch (error) {
        context.skip(`flipped, ${data.name}, ${share}`, error)
      } finally {
        for (const made of [file, listed]) await rm(made, { force: true })
      }
    }
  }
  return {
    name: 'flipped',
    title: 'Flipped labels',
    goal: 'Outliers hurt less: with a tenth and three tenths of the training labels flipped, the test error of a truncated loss stays below that of the loss that it follows.',
    protocol: [
      'C = 1, s = 1, solver auto, default tolerance; labels of training rows are flipped at random, test rows stay as they are. One run each: times are no measurement.',
      'The rows of --outliers are compared with those whose labels were flipped.',
    ],
    ...{ tables: [table], details: table.rows, notes: [] },
  }
}

/** Figure 7 of the paper: support vectors and test error over s. */
export async function marginsSection(context: SuiteContext, names: string[]): Promise<Section> {
  const columns = { data: { title: 'data' }, loss: { title: 'loss' }, s: { title: 's' }, ...outcomeColumns }
  const table: Table = { columns, rows: [] }
  const charts: Chart[] = []
  for await (const data of context.data(names)) {
    const series: Series[] = []
    for (const { convex, truncated } of PAIRS) {
      const points: Series['points'] = []
      for (const s of [...MARGINS, undefined]) {
        const loss = s === undefined ? convex : truncated
        const words = s === undefined ? [] : ['--outlier-margin', String(s)]
        try {
          const outcome = await runOf(context, data.file, data, ['--loss', loss, ...words])
          table.rows.push({ data: data.name, loss, s: s ?? '∞', ...outcome })
          points.push({ x: outcome.supportVectors, y: outcome.testError })
          context.say(`${data.name}, ${loss}, s = ${s ?? '∞'}: ${outcome.supportVectors} support vectors`)
        } catch (error) {
          context.skip(`margins, ${data.name}, ${loss}, s = ${s}`, error)
        }
      }
      series.push({ name: truncated, points })
    }
    const title = `${data.name}: s = ${MARGINS.join(', ')}, ∞`
    charts.push({ title, xLabel: 'support vectors', yLabel: 'test error', yScale: 'linear', series })
  }
  return {
    name: 'margins',
    title: 'Support vectors over outlier margins',
    goal: 'Figure 7 of the paper on indexed block coordinate descent: the smaller s, the fewer support vectors, at a test error that is no worse.',
    protocol: ['C = 1, solver auto, default tolerance. s = ∞ is the convex loss.'],
    ...{ tables: [table], charts, details: table.rows, notes: [] },
  }
}

/** Figure 6 of the paper: costs. */
export async function costsSection(context: SuiteContext, names: string[]): Promise<Section> {
  const columns = { data: { title: 'data' }, cost: { title: 'C' }, loss: { title: 'loss' }, ...outcomeColumns }
  const table: Table = { columns, rows: [] }
  for await (const data of context.data(names)) {
    for (const cost of context.costs ?? COSTS) {
      for (const loss of ['hinge', 'ramp']) {
        try {
          const outcome = await runOf(context, data.file, data, ['--loss', loss, '--cost', String(cost)])
          table.rows.push({ data: data.name, cost, loss, ...outcome })
          context.say(`${data.name}, C = ${cost}, ${loss}: ${outcome.seconds.toFixed(2)} s`)
        } catch (error) {
          context.skip(`costs, ${data.name}, ${loss}, C = ${cost}`, error)
        }
      }
    }
  }
  return {
    name: 'costs',
    title: 'Costs from 0.01 to 100',
    goal: 'Figure 6 of the paper: the truncated loss is solved at any cost, and tests no worse.',
    protocol: ['s = 1, solver auto, default tolerance. One run each: times are no measurement.'],
    ...{ tables: [table], details: table.rows, notes: [] },
  }
}
