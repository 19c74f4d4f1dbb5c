// Additive kernels: `--kernel` with bins and tables, the same with all mapped values kept, feature maps, linear training and LIBLINEAR on the same
// files. The tables are those of the paper on PmSVM-LUT, a row for each method and a column for each data set.
import { createReadStream } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { PreparedData } from '../data.ts'
import { forEachRow } from '../libsvm-text.ts'
import { type Measured, type MeasureOptions, makeCold, warm } from '../measure.ts'
import { liblinear } from '../peers/liblinear.ts'
import type { TrainRequest, TrainRun } from '../peers/peer.ts'
import { spillway } from '../peers/spillway.ts'
import { dealLines } from '../prepare.ts'
import { type Contestant, interleave, timingOf } from '../rounds.ts'
import type { Cell, Column, Section, SuiteContext, Table } from '../suite.ts'

interface Method {
  name: string
  /** Words of Spillway's command line; without them it is LIBLINEAR. */
  words?: string[]
  /** The cost that the paper gives it. */
  paperCost: number
}

const METHODS: Method[] = [
  { name: 'kernel chi2', words: ['--kernel', 'chi2'], paperCost: 0.01 },
  {
    name: 'kernel chi2, no table',
    words: ['--expand', 'additive-kernel:chi2:projection:2:chebyshev:32767'],
    paperCost: 0.01,
  },
  { name: 'map chi2', words: ['--expand', 'chi2-map'], paperCost: 0.01 },
  { name: 'kernel intersection', words: ['--kernel', 'intersection'], paperCost: 0.01 },
  {
    name: 'kernel intersection, no table',
    words: ['--expand', 'additive-kernel:intersection:projection:2:chebyshev:32767'],
    paperCost: 0.01,
  },
  { name: 'map intersection', words: ['--expand', 'intersection-map'], paperCost: 0.01 },
  { name: 'linear', words: [], paperCost: 1 },
  { name: 'LIBLINEAR -s 3', paperCost: 1 },
]
/** The paper's cost and a few more; the same for all methods. */
const COSTS = [0.01, 0.1, 1, 10]
/** One row of so many of the training set is for choosing the cost. */
const VALIDATION = 5
/** Rows that a method is tried on, to see whether this build knows it. */
const PROBE_ROWS = 300
/** Seconds after which a cost is given up: LIBLINEAR on grey levels with large costs goes on for long. */
const PATIENCE = 900

const PROTOCOL = [
  'Hinge loss, no bias, one class against the rest; Spillway to its default gap of 1e-3, LIBLINEAR to its default epsilon of 0.1. All methods read the same text.',
  'Training: the whole process, from text to model; “compute” is the part after reading as Spillway tells it, which is nearer to what the paper has. Threads are the default; the paper used one core, and processor seconds are in the JSON. Memory: the peak of that process. Testing: text to labels of the test file, the whole process.',
  'Accuracy: the predicted labels, compared with the test file by the bench; the average over classes is in the JSON, too. Numbers of the paper are of other data and another machine: what is to be compared is methods with each other. visual-words was made such that a kernel gains there; how much is no finding.',
]

export function paperCostSection(context: SuiteContext, names: string[]): Promise<Section> {
  const section: Section = {
    name: 'paper-cost',
    title: 'Costs as in the paper',
    goal: 'Tables 4 to 9 of the paper on PmSVM-LUT: kernels more accurate than linear training, and faster and smaller than feature maps.',
    protocol: [...PROTOCOL, 'C = 0.01 for kernels and feature maps, 1 for linear training.'],
    ...{ tables: [], details: [], notes: [] },
  }
  return fill(section, context, names, async (_, methods) => methods.map(method => [method, method.paperCost]))
}

export function bestCostSection(context: SuiteContext, names: string[]): Promise<Section> {
  const section: Section = {
    name: 'best-cost',
    title: 'The best cost of each method',
    goal: 'the same, when every method has the cost that suits it.',
    protocol: [
      ...PROTOCOL,
      `The cost is the best of ${COSTS.join(', ')}, by accuracy on every ${VALIDATION}th row of the training file, when trained on the others; the smaller one of equals. Then the whole training file is trained on.`,
    ],
    ...{ tables: [], details: [], notes: [] },
  }
  const tried: Table = { title: 'Accuracy on the validation rows', columns: validationColumns, rows: [] }
  return fill(section, context, names, (data, methods) => chooseCosts(context, data, methods, tried.rows), tried)
}

type Chosen = [Method, cost: number][]
type Choose = (data: PreparedData, methods: Method[]) => Promise<Chosen>

async function fill(
  section: Section,
  context: SuiteContext,
  names: string[],
  choose: Choose,
  more?: Table,
): Promise<Section> {
  const columns: Record<string, Column> = { method: { title: 'method' } }
  const tables = MEASURES.map(({ title }): Table => ({ title, columns: { ...columns }, rows: [] }))
  section.tables.push(...tables, ...(more ? [more] : []))
  const peers = { ours: await spillway.version(), theirs: await liblinear.version() }
  for await (const data of context.data(names)) {
    if (!data.testFile) {
      context.skip(`${section.name}, ${data.name}`, 'it has no test file')
      continue
    }
    context.say(`${section.name} ${data.name}`)
    const methods = await usable(context, section.name, data, peers)
    const chosen = await choose(data, methods)
    const results = await measureAll(context, section.name, data, data.testFile, chosen)
    MEASURES.forEach(({ key, show }, t) => {
      tables[t].columns[data.name] = { title: data.name, show }
      for (const result of results) {
        const row = tables[t].rows.find(each => each['method'] === result.method)
        if (row) row[data.name] = result[key]
        else tables[t].rows.push({ method: result.method, [data.name]: result[key] })
      }
    })
    section.details.push({ data: data.name, about: data.about, bytes: data.bytes, results })
  }
  // A method may be missing on the first data set and not on the next.
  const place = (row: Record<string, Cell>): number => METHODS.findIndex(({ name }) => name === row['method'])
  for (const { rows } of tables) rows.sort((a, b) => place(a) - place(b))
  return section
}

interface Result {
  method: string
  cost: number
  seconds: number
  spread: number
  cpuSeconds: number
  /** As Spillway tells it. */
  computeSeconds?: number
  passes?: number
  peakMemoryBytes: number
  accuracy: number
  /** The mean of each class's own accuracy. */
  averageAccuracy: number
  testSeconds: number
  testMemoryBytes: number
  /** Every round. */
  trainRounds: number[]
  testRounds: number[]
}

const MEASURES = [
  { key: 'cost', title: 'C', show: undefined },
  { key: 'seconds', title: 'Training time, s (Tables 4 and 8a)', show: 'seconds' },
  { key: 'computeSeconds', title: 'Of it compute, s', show: 'seconds' },
  { key: 'accuracy', title: 'Accuracy (Tables 5 and 8b)', show: 'share2' },
  { key: 'peakMemoryBytes', title: 'Memory of training, MB (Tables 6 and 9a)', show: 'megabytes' },
  { key: 'testSeconds', title: 'Testing time, s (Tables 7 and 9b)', show: 'seconds' },
] as const

const validationColumns: Record<string, Column> = {
  data: { title: 'data' },
  method: { title: 'method' },
  ...Object.fromEntries(COSTS.map(cost => [`C${cost}`, { title: `C = ${cost}`, show: 'share2' as const }])),
}

function train(
  { words }: Method,
  data: string,
  request: Pick<TrainRequest, 'cost' | 'model'>,
  options?: MeasureOptions,
): Promise<TrainRun> {
  return words
    ? spillway.train(data, { loss: 'hinge', ...request, words }, options)
    : liblinear.train(data, { loss: 'hinge', ...request }, options)
}

function predict({ words }: Method, ...rest: Parameters<typeof spillway.predict>): Promise<Measured> {
  return (words ? spillway : liblinear).predict(...rest)
}

/** The methods that this build and this machine have; the others are named in the results. */
async function usable(
  { workFolder, skip }: SuiteContext,
  section: string,
  data: PreparedData,
  { ours, theirs }: { ours?: string; theirs?: string },
): Promise<Method[]> {
  const sample = join(workFolder, 'additive-probe.svm')
  const model = join(workFolder, 'additive-probe.model')
  await dealLines(data.file, [sample], line => (line < PROBE_ROWS ? 0 : -1))
  const methods: Method[] = []
  for (const method of METHODS) {
    const peer = method.words ? spillway : liblinear
    const what = `${section}, ${method.name}`
    if (!(method.words ? ours : theirs)) skip(what, `not measured: ${peer.howToInstall}`)
    else {
      try {
        await train(method, sample, { cost: method.paperCost, model })
        methods.push(method)
      } catch (error) {
        skip(what, `this build refuses it: ${refusalOf(error)}`)
      }
    }
  }
  for (const file of [sample, model]) await rm(file, { force: true })
  return methods
}

/** What the program said, without the command line and without its advice. */
function refusalOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error)
  return /spillway: (.*?)(;|$)/m.exec(text)?.[1] ?? text
}

async function chooseCosts(
  { workFolder, say, skip, limit }: SuiteContext,
  data: PreparedData,
  methods: Method[],
  rows: Record<string, Cell>[],
): Promise<Chosen> {
  const [part, held] = ['part', 'held'].map(name => join(workFolder, `additive-${data.name}.${name}.svm`))
  const model = join(workFolder, 'additive-choice.model')
  const out = join(workFolder, 'additive-choice.labels')
  await dealLines(data.file, [part, held], line => (line % VALIDATION === VALIDATION - 1 ? 1 : 0))
  const chosen: Chosen = []
  for (const method of methods) {
    const row: Record<string, Cell> = { data: data.name, method: method.name }
    let best = { cost: 0, accuracy: -1 }
    for (const cost of COSTS) {
      try {
        await train(method, part, { cost, model }, { limit, timeout: PATIENCE })
        await predict(method, held, model, out, { limit })
        const { accuracy } = await compareLabels(held, out)
        say(`${method.name}, C = ${cost}: ${(100 * accuracy).toFixed(2)} % of the validation rows`)
        row[`C${cost}`] = accuracy
        if (accuracy > best.accuracy) best = { cost, accuracy }
      } catch (error) {
        skip(`best-cost, ${data.name}, ${method.name}, C = ${cost}`, error)
      }
    }
    rows.push(row)
    if (best.cost > 0) chosen.push([method, best.cost])
  }
  for (const file of [part, held, model, out]) await rm(file, { force: true })
  return chosen
}

async function measureAll(
  context: SuiteContext,
  section: string,
  data: PreparedData,
  testFile: string,
  chosen: Chosen,
): Promise<Result[]> {
  const { workFolder, rounds, cold, limit, say, skip } = context
  for (const file of [data.file, testFile]) await warm(file)
  const files = (method: Method): { model: string; out: string } => {
    const stem = join(workFolder, `additive-${data.name}-${METHODS.indexOf(method)}`)
    return { model: `${stem}.model`, out: `${stem}.labels` }
  }
  const trainOnce = async (method: Method, cost: number, timeout?: number): Promise<TrainRun> => {
    if (cold) await makeCold(data.file)
    return train(method, data.file, { cost, model: files(method).model }, { limit, ...(timeout && { timeout }) })
  }
  const predictOnce = async (method: Method): Promise<Measured> => {
    if (cold) await makeCold(testFile)
    return predict(method, testFile, files(method).model, files(method).out, { limit })
  }
  // The first round tells who works; the others are in turns.
  const first = new Map<string, { trained: TrainRun; tested: Measured }>()
  for (const [method, cost] of chosen) {
    try {
      const trained = await trainOnce(method, cost, 2 * PATIENCE)
      first.set(method.name, { trained, tested: await predictOnce(method) })
      say(`${method.name}: ${trained.seconds.toFixed(3)} s`)
    } catch (error) {
      skip(`${section}, ${data.name}, ${method.name}`, error)
    }
  }
  const working = chosen.filter(([{ name }]) => first.has(name))
  const contest = working.map(
    ([method, cost]): Contestant<TrainRun> => ({ name: method.name, run: () => trainOnce(method, cost) }),
  )
  const testing = working.map(([method]): Contestant => ({ name: method.name, run: () => predictOnce(method) }))
  const trainings = await interleave(contest, rounds - 1, say)
  const tests = await interleave(testing, rounds - 1, say)
  const results: Result[] = []
  for (const [method, cost] of working) {
    const { name } = method
    const trained = [first.get(name)!.trained, ...trainings.get(name)!]
    const tested = [first.get(name)!.tested, ...tests.get(name)!]
    const [timing, testTiming] = [timingOf(trained), timingOf(tested)]
    const compute = trained.flatMap(({ told }) => (told?.['seconds'] as { compute: number } | undefined)?.compute ?? [])
    results.push({
      ...{ method: name, cost, seconds: timing.seconds, spread: timing.spread, cpuSeconds: timing.cpuSeconds },
      ...(compute.length > 0 && { computeSeconds: Math.min(...compute) }),
      passes: trained[0].told?.['passes'] as number | undefined,
      peakMemoryBytes: timing.peakMemoryBytes,
      ...(await compareLabels(testFile, files(method).out)),
      ...{ testSeconds: testTiming.seconds, testMemoryBytes: testTiming.peakMemoryBytes },
      ...{ trainRounds: timing.all.map(run => run.seconds), testRounds: testTiming.all.map(run => run.seconds) },
    })
    for (const file of Object.values(files(method))) await rm(file, { force: true })
  }
  return results
}

/** How many labels of a prediction, one a line, are those of the data file. */
export async function compareLabels(
  data: string,
  labels: string,
): Promise<{ accuracy: number; averageAccuracy: number }> {
  const predicted: number[] = []
  for await (const line of createInterface({ input: createReadStream(labels) })) predicted.push(Number(line))
  const classes = new Map<number, { rows: number; right: number }>()
  let rows = 0
  await forEachRow(data, ({ label }) => {
    const counts = classes.get(label) ?? { rows: 0, right: 0 }
    classes.set(label, counts)
    counts.rows++
    if (predicted[rows++] === label) counts.right++
  })
  if (predicted.length !== rows) throw new Error(`${predicted.length} labels were predicted for ${rows} rows`)
  const all = [...classes.values()]
  return {
    accuracy: all.reduce((sum, { right }) => sum + right, 0) / rows,
    averageAccuracy: all.reduce((sum, each) => sum + each.right / each.rows, 0) / all.length,
  }
}
