// Indexed learning beside solvers that look at every row: time, rows looked at, objective and test accuracy, with all rows in
// memory and with a tenth of them, on sets of different size.
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Chart, Series } from '../chart.ts'
import type { PreparedData, Size } from '../data.ts'
import { evaluateFiles, type LossName } from '../evaluator.ts'
import { type Measured, measure, warm } from '../measure.ts'
import { spillway } from '../peers/spillway.ts'
import { interleave, timingOf } from '../rounds.ts'
import type { Cell, Section, SuiteContext, Table } from '../suite.ts'
import { memoryHolding } from './memory-words.ts'

const COST = 1
const OUTLIER_MARGIN = 1
const TENTH = 0.1
/** Blocks of a store: two of them fit into a tenth of the memory. */
const BLOCKS = 40
/** Seconds after which a run is given up. */
const PATIENCE: Record<Size, number> = { small: 120, full: 3600 }
/** What is allowed between `indexed` and the batch solver: of the objective, and of the test accuracy. */
const OBJECTIVE_WITHIN = 0.01
const ACCURACY_WITHIN = 0.002

type Where = 'memory' | 'tenth'

/** The three methods of the paper: a truncated loss, the loss that it follows, and who solves their convex problems. */
const METHODS: {
  name: string
  truncated: string
  convex: LossName
  words: string[]
  batch: Record<Where, string>
}[] = [
  { name: 'L1-dual', truncated: 'ramp', convex: 'hinge', words: [], batch: { memory: 'dual', tenth: 'stream' } },
  {
    ...{ name: 'L2-dual', truncated: 'truncated-squared-hinge', convex: 'squared-hinge', words: [] },
    batch: { memory: 'dual', tenth: 'stream' },
  },
  {
    ...{ name: 'L2-primal', truncated: 'truncated-squared-hinge', convex: 'squared-hinge' },
    ...{ words: ['--index-method', 'newton'], batch: { memory: 'newton', tenth: 'newton' } },
  },
]

/** How losses and places are called, in tables and by --only. */
const lossOf = (isTruncated: boolean): string => (isTruncated ? 'truncated' : 'convex')
const PLACES: Record<Where, string> = { memory: 'in-memory', tenth: 'a-tenth' }

/** What --only may name. */
export const growthChoices = [METHODS.map(({ name }) => name), [true, false].map(lossOf), Object.values(PLACES)]

/** Sets of the same kind and of different size, by how their names begin. */
const FAMILIES = ['digits', 'apart']

/** One command, and what is known of it. */
interface GrowthRun {
  name: string
  method: string
  where: Where
  /** The loss, cut off where it is truncated. */
  loss: LossName
  isTruncated: boolean
  solver: string
  words: string[]
  model: string
}

type GrowthTimed = Measured & { told: Record<string, unknown> }

const columns: Table['columns'] = {
  data: { title: 'data' },
  rows: { title: 'rows', show: 'count' },
  where: { title: 'rows in memory' },
  method: { title: 'method' },
  loss: { title: 'loss' },
  solver: { title: 'solver' },
  seconds: { title: 'time', show: 'seconds' },
  spread: { title: 'spread', show: 'fixed2' },
  cpuSeconds: { title: 'CPU', show: 'seconds' },
  touched: { title: 'rows looked at', show: 'share' },
  passes: { title: 'passes', show: 'count' },
  relaxations: { title: 'convex problems', show: 'count' },
  supportVectors: { title: 'support vectors', show: 'count' },
  objective: { title: 'objective', show: 'fixed2' },
  against: { title: 'objective against batch', show: 'difference' },
  accuracy: { title: 'test accuracy', show: 'share2' },
  points: { title: 'points against batch', show: 'fixed2' },
  peakMemoryBytes: { title: 'peak memory', show: 'megabytes' },
  exitReason: { title: 'end' },
}

/** A section for each data set as it is done, and one with the charts of all of them. */
export async function* growthSections(context: SuiteContext, names: string[]): AsyncGenerator<Section> {
  const measured: Record<string, Cell>[] = []
  for await (const data of context.data(names)) {
    const section = await growthOf(context, data)
    measured.push(...section.tables[0].rows)
    yield section
  }
  const charts = FAMILIES.flatMap(family => chartsOf(family, measured))
  if (charts.length === 0) return
  yield {
    ...sectionOf('Growth with the number of rows', context),
    ...{ tables: [], charts, details: [], notes: ['Lines have the times of the tables above.'] },
  }
}

function sectionOf(title: string, context: SuiteContext): Omit<Section, 'tables' | 'details' | 'notes'> {
  return {
    name: 'growth',
    title,
    goal: `indexed looks at fewer rows, and its time grows less with the number of rows; it ends within ${OBJECTIVE_WITHIN * 100} % of the batch solver's objective and ${ACCURACY_WITHIN * 100} points of its test accuracy.`,
    protocol: [
      `C = ${COST}, s = ${OUTLIER_MARGIN}, tolerance 1e-3, series of convex problems from the solution of all rows (--outlier-start full), whole processes over one store of ${BLOCKS} blocks with its index. The index is built before, once, and timed by itself.`,
      'A tenth: --memory whose plan for indexed has room for a tenth of the rows, or the least that works. Batch is the same loss by a solver that looks at every row: dual and newton in memory, stream and newton at a tenth.',
      `Objectives and accuracies are the evaluator's. Smallest of the rounds; a run is given up after ${patienceOf(context)} s.`,
    ],
  }
}

function patienceOf({ seconds, size }: SuiteContext): number {
  return seconds ?? PATIENCE[size]
}

async function growthOf(context: SuiteContext, data: PreparedData): Promise<Section> {
  const { workFolder, say, skip } = context
  const table: Table = { columns, rows: [] }
  const section: Section = {
    ...sectionOf(`Indexed learning, ${data.name}`, context),
    ...{ tables: [table], details: [], notes: [] },
  }
  const store = join(workFolder, `growth-${data.name}.spill`)
  try {
    say(`${data.name}: store and index`)
    const { told } = await spillway.ingest(data.file, store, { words: ['--blocks', String(BLOCKS)] })
    const index = await measure(spillway.command('index', store, '--json', '--quiet'), { timeout: PATIENCE.full })
    const { bytes } = lastJson(index.stdout)
    section.notes.push(
      `${data.name}: the index took ${index.seconds.toFixed(1)} s (${index.cpuSeconds.toFixed(1)} s of CPU), and has ${Math.round(Number(bytes) / 2 ** 20)} MiB.`,
    )
    const memory = await tenthOf(context, store)
    say(`${data.name}: a tenth is --memory ${memory}`)
    section.notes.push(`${data.name}: a tenth is --memory ${memory}.`)
    await warm(data.file)
    const runs = runsOf(workFolder, memory).filter(({ method, isTruncated, where }) =>
      [method, lossOf(isTruncated), PLACES[where]].every(context.wants),
    )
    const timed = await time(context, data, store, runs)
    const rows = await judge(data, Number(told?.['rows']), runs, timed)
    table.rows.push(...rows)
    section.notes.push(...verdicts(rows))
    for (const [name, all] of timed)
      section.details.push({ data: data.name, name, ...timingOf(all), told: all[0].told })
  } catch (error) {
    skip(`growth, ${data.name}`, error)
  } finally {
    await rm(store, { recursive: true, force: true })
  }
  return section
}

async function tenthOf({ workFolder }: SuiteContext, store: string): Promise<string> {
  const model = join(workFolder, 'growth-tenth.model')
  // Of all runs, this one needs the most besides rows.
  const words = ['--solver', 'indexed', '--loss', 'truncated-squared-hinge', '--max-passes', '1', '--json', '--verbose']
  try {
    return await memoryHolding(TENTH, async memory => {
      const measured = await measure(spillway.command('train', store, model, ...words, '--memory', memory))
      return { ...measured, told: lastJson(measured.stdout) }
    })
  } finally {
    await rm(model, { force: true })
  }
}

function runsOf(folder: string, memory: string): GrowthRun[] {
  const limits: Record<Where, string[]> = { memory: [], tenth: ['--memory', memory] }
  return (['memory', 'tenth'] as const).flatMap(where =>
    METHODS.flatMap(({ name: method, truncated, convex, words, batch }) =>
      [true, false].flatMap(isTruncated =>
        ['indexed', batch[where]].map((solver): GrowthRun => {
          const name = `${method}, ${isTruncated ? truncated : convex}, ${solver}, ${where}`
          const start = isTruncated ? ['--outlier-margin', String(OUTLIER_MARGIN), '--outlier-start', 'full'] : []
          const own = solver === 'indexed' ? words : []
          return {
            ...{ name, method, where, loss: convex, isTruncated, solver },
            words: [
              ...['--loss', isTruncated ? truncated : convex, '--cost', String(COST), '--solver', solver],
              ...[...start, ...own, ...limits[where]],
            ],
            model: join(folder, `growth-${name.replace(/[^a-z0-9]+/gi, '-')}.model`),
          }
        }),
      ),
    ),
  )
}

/** All rounds of all runs; one that fails in the first round is named in the results and left out. */
async function time(
  context: SuiteContext,
  data: PreparedData,
  store: string,
  runs: GrowthRun[],
): Promise<Map<string, GrowthTimed[]>> {
  const { rounds, say, skip, limit } = context
  const runOnce = async ({ words, model }: GrowthRun): Promise<GrowthTimed> => {
    await rm(model, { force: true })
    const command = spillway.command('train', store, model, ...words, '--json', '--quiet')
    const measured = await measure(command, { ...(limit && { limit }), timeout: patienceOf(context) })
    return { ...measured, told: lastJson(measured.stdout) }
  }
  const first = new Map<string, GrowthTimed>()
  for (const [k, run] of runs.entries()) {
    try {
      const timed = await runOnce(run)
      first.set(run.name, timed)
      say(`${data.name}, ${k + 1} of ${runs.length}, ${run.name}: ${timed.seconds.toFixed(2)} s`)
    } catch (error) {
      skip(`growth, ${data.name}, ${run.name}`, error)
    }
  }
  const left = runs.filter(({ name }) => first.has(name)).map(run => ({ name: run.name, run: () => runOnce(run) }))
  const more = await interleave(left, rounds - 1, say)
  return new Map([...first].map(([name, run]) => [name, [run, ...more.get(name)!]]))
}

/** Rows of the table: the evaluator's objective and test accuracy of each model. */
async function judge(
  data: PreparedData,
  rowCount: number,
  runs: GrowthRun[],
  timed: Map<string, GrowthTimed[]>,
): Promise<Record<string, Cell>[]> {
  const rows: Record<string, Cell>[] = []
  for (const run of runs) {
    const all = timed.get(run.name)
    if (!all) continue
    const { told } = all[0]
    const text = await spillway.asLiblinear(run.model)
    const problem = { loss: run.loss, cost: COST, ...(run.isTruncated && { most: 1 + OUTLIER_MARGIN }) }
    const [{ primal: objective }] = await evaluateFiles(data.file, [text], problem)
    const [tested] = data.testFile === undefined ? [] : await evaluateFiles(data.testFile, [text], problem)
    for (const file of [text, run.model]) await rm(file, { force: true })
    const index = (told['blocks'] as { index?: { rowsTouched: number; leftFor?: string } } | undefined)?.index
    // A run that left the index looked at all rows from there on.
    const share = index && !index.leftFor ? index.rowsTouched / rowCount : 1
    const { seconds, spread, cpuSeconds, peakMemoryBytes } = timingOf(all)
    const { passes, relaxations, supportVectors, exitReason } = told as Record<string, Cell>
    rows.push({
      ...{ data: data.name, rows: rowCount, where: run.where === 'memory' ? 'all' : 'a tenth' },
      ...{ method: run.method, loss: lossOf(run.isTruncated), solver: run.solver },
      ...{ seconds, spread, cpuSeconds, peakMemoryBytes, passes, relaxations, supportVectors, exitReason },
      ...{ touched: share, objective, accuracy: tested?.accuracy },
    })
  }
  for (const row of rows) {
    const batch = rows.find(each => isSameProblem(each, row) && each['solver'] !== 'indexed')
    if (row['solver'] !== 'indexed' || !batch) continue
    row['against'] = Number(row['objective']) / Number(batch['objective']) - 1
    if (row['accuracy'] !== undefined) row['points'] = 100 * (Number(row['accuracy']) - Number(batch['accuracy']))
  }
  return rows
}

function isSameProblem(a: Record<string, Cell>, b: Record<string, Cell>): boolean {
  return ['data', 'where', 'method', 'loss'].every(name => a[name] === b[name])
}

/** Where `indexed` won, and where it ended further from the batch solver than is allowed. */
function verdicts(rows: Record<string, Cell>[]): string[] {
  return rows.flatMap(row => {
    const batch = rows.find(each => isSameProblem(each, row) && each['solver'] !== 'indexed')
    if (row['solver'] !== 'indexed' || !batch) return []
    const name = `${row['data']}, ${row['where']}, ${row['method']}, ${row['loss']}`
    const times = Number(batch['seconds']) / Number(row['seconds'])
    const cpu = Number(batch['cpuSeconds']) / Number(row['cpuSeconds'])
    const notes = [`${name}: ${times.toFixed(2)} times as fast as ${batch['solver']}, ${cpu.toFixed(2)} by CPU.`]
    if (Number(row['against']) > OBJECTIVE_WITHIN) notes.push(`${name}: the objective is too large.`)
    if (Number(row['points'] ?? 0) < -100 * ACCURACY_WITHIN) notes.push(`${name}: the test accuracy is too low.`)
    return notes
  })
}

/** Times over rows of one family, a chart for each method and place. */
function chartsOf(family: string, measured: Record<string, Cell>[]): Chart[] {
  const rows = measured.filter(({ data }) => String(data).startsWith(`${family}-`))
  const problems = new Map<string, Map<string, Series['points']>>()
  for (const row of rows) {
    const title = `${family}, ${row['method']}, rows in memory: ${row['where']}`
    const lines = problems.get(title) ?? new Map<string, Series['points']>()
    problems.set(title, lines)
    const name = `${row['solver']}, ${row['loss']}`
    lines.set(name, [...(lines.get(name) ?? []), { x: Number(row['rows']), y: Number(row['seconds']) }])
  }
  return [...problems].map(([title, lines]) => ({
    ...{ title, xLabel: 'rows', yLabel: 'seconds', yScale: 'log' as const },
    series: [...lines].map(([name, points]) => ({ name, points })),
  }))
}

function lastJson(stdout: string): Record<string, unknown> {
  return JSON.parse(stdout.trim().split('\n').at(-1)!)
}
