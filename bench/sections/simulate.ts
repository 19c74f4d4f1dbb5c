// Times of many ranks by calculation: rates are measured on one rank of this machine, predictions are checked against runs on one to
// four of them, and a plan for a thousand nodes is worked out for a network that is given.
import { open, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import {
  type Network,
  type Nodes,
  networkFrom,
  type Prediction,
  passRates,
  predict,
  type Rates,
  spreadOf,
  type TimedPass,
  type Work,
} from '../cluster-model.ts'
import type { PreparedData } from '../data.ts'
import { measure } from '../measure.ts'
import { launcherFor } from '../peers/mpirun.ts'
import type { Cell, Section, SuiteContext, Table } from '../suite.ts'
import {
  CORES,
  type Inside,
  insideSeconds,
  METHODS,
  mpirunFor,
  RANKS,
  type RankMethod,
  type RankRun,
  RankRuns,
  type RankTiming,
} from './rank-runs.ts'
import { countPasses, occurring } from './scaling.ts'

const GAP = 1e-4
/** `dual` is timed for so many passes: over ranks it may take hours to a gap, and how many passes it takes is not in the model. */
const PASSES_OF_DUAL = 40
/** What each rank does for all weights shows in a pass over so much of the text. */
const PART = 0.25
const timeSums = fileURLToPath(new URL('../time-sums.ts', import.meta.url))
/** Ranks on which the sums of this machine are timed. */
const SUM_RANKS = 2
/** The plan: as many rows as the talk tells of, each with the 39 columns of Criteo's logs, hashed. */
const PLAN = {
  ...{ rows: 17e9, nonzerosPerRow: 39, bytesPerRow: 350, passes: 50 },
  ...{ nodes: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 1024], diskBytesPerSecond: 500e6 },
}
/** Methods of the plan and their numbers of weights: lbfgs keeps more vectors, and 2^24 weights leave it no room for rows. */
const PLAN_WEIGHTS: Record<string, number> = { lbfgs: 2 ** 20, newton: 2 ** 24 }
/** The plan goes by the rates of its methods on this data set, whose rows are most like it. */
const PLAN_DATA = 'clicks'

interface Measured {
  rates: Rates
  work: Work
  loopback: Network
  timings: RankTiming[]
}

/** The section grows: it comes again after each method. */
export async function* simulateSection(context: SuiteContext, names: string[]): AsyncGenerator<Section> {
  const checks: Table = { title: 'Predicted and measured, on this machine', columns: checkColumns, rows: [] }
  const rates: Table = { title: 'Rates, measured on one rank', columns: rateColumns, rows: [] }
  const plan: Table = { title: 'A plan for 17 billion rows', columns: planColumns, rows: [] }
  const section: Section = {
    name: 'simulate',
    title: 'Times of many ranks, by calculation',
    goal: 'a model of the time that ranks take, checked against measured runs at 1 to 4 ranks.',
    protocol: [
      `Measured at one rank with one thread, to a gap of ${GAP}: start (whole job less reading and computing), reading, seconds of a pass, for each nonzero and for each weight. Another run over the first ${PART} of the text tells the two apart: ranks share out nonzeros, but each works on all weights. How many times as long ${CORES} such processes at a time take for passes and for reading. What a job of a few rows takes longer on two ranks than on one. Sums of one number and of n numbers on ${SUM_RANKS} ranks: latency and bandwidth within this machine. Vectors that are given to sums in a pass: by Open MPI's count of bytes.`,
      `Predicted: bench/cluster-model.ts. Ranks beyond the ${CORES} cores share them. Passes are those of one rank for newton and lbfgs, which make the same steps on any number; for dual, which ends after ${PASSES_OF_DUAL}, they are those of that run.`,
      'The error is (predicted − measured) / measured, of whole jobs. At one rank it says nothing: the rates come from there. A busy machine shows in it: rates and runs are not of the same moment.',
      planProtocol(context.network),
    ],
    ...{ tables: [checks, rates, plan], details: [], notes: [] },
  }
  const mpirun = await mpirunFor(context, 'simulate')
  if (!mpirun) {
    yield section
    return
  }
  for await (const data of context.data(names)) {
    const weights = await occurring(data)
    const part = await partOf(context, data)
    for (const method of METHODS) {
      try {
        const measured = await measureMethod(context, data, { mpirun, method, weights, part })
        const rows = checkRows(data.name, method.solver, measured)
        checks.rows.push(...rows)
        rates.rows.push(rateRow(data.name, method.solver, measured))
        section.details.push({ data: data.name, method, weights, ...measured })
        if (data.name === PLAN_DATA) plan.rows.push(...planRows(method.solver, measured, context.network))
      } catch (error) {
        context.skip(`simulate, ${data.name}, ${method.solver}`, error)
      }
      section.notes = errorNotes(checks.rows)
      if (plan.rows.length === 0) section.notes.push(`No plan: its rates are those on ${PLAN_DATA}.`)
      yield section
    }
  }
}

/** How far predictions were off, with a core for each rank and with fewer. One rank is what the rates come from. */
export function errorNotes(rows: Record<string, Cell>[], cores = CORES): string[] {
  const worst = (from: number, to: number): number =>
    Math.max(
      ...rows
        .filter(({ ranks }) => Number(ranks) >= from && Number(ranks) <= to)
        .map(row => Math.abs(Number(row['error']))),
    )
  const parts = [
    { said: 'a core for each rank', error: worst(2, cores) },
    { said: 'more ranks than cores', error: worst(cores + 1, Number.POSITIVE_INFINITY) },
  ]
  return parts
    .filter(({ error }) => error >= 0)
    .map(({ said, error }) => `The largest error, ${said}: ${(100 * error).toFixed(0)} %.`)
}

const checkColumns: Table['columns'] = {
  data: { title: 'data' },
  solver: { title: 'solver' },
  ranks: { title: 'ranks' },
  passes: { title: 'passes', show: 'count' },
  measured: { title: 'measured s', show: 'seconds' },
  spread: { title: 'spread', show: 'ratio' },
  predicted: { title: 'predicted s', show: 'seconds' },
  error: { title: 'error', show: 'share' },
  start: { title: 'start', show: 'seconds' },
  read: { title: 'reading', show: 'seconds' },
  sweeps: { title: 'sweeps', show: 'seconds' },
  sums: { title: 'sums', show: 'seconds' },
}

const rateColumns: Table['columns'] = {
  data: { title: 'data' },
  solver: { title: 'solver' },
  start: { title: 'start s', show: 'seconds' },
  join: { title: 'more for ranks', show: 'seconds' },
  parse: { title: 'text MB/s', show: 'megabytes' },
  nanoseconds: { title: 'ns a nonzero and pass', show: 'fixed2' },
  ofWeight: { title: 'ns a weight and pass', show: 'fixed2' },
  contention: { title: `${CORES} at a time: passes`, show: 'ratio' },
  readContention: { title: 'reading', show: 'ratio' },
  jitter: { title: 'deviation of passes', show: 'share' },
  weights: { title: 'n', show: 'count' },
  vectors: { title: 'vectors in a pass', show: 'fixed2' },
  latency: { title: 'a step of a sum, µs', show: 'fixed2' },
  bandwidth: { title: 'sums, MB/s', show: 'megabytes' },
}

const planColumns: Table['columns'] = {
  solver: { title: 'solver' },
  weights: { title: 'weights', show: 'count' },
  nodes: { title: 'nodes', show: 'count' },
  ranks: { title: 'ranks', show: 'count' },
  gibibytes: { title: 'GiB of rows a rank', show: 'fixed2' },
  fits: { title: 'fits?' },
  sent: { title: 'MB sent by a rank in a pass', show: 'megabytes' },
  read: { title: 'reading s', show: 'seconds' },
  sweeps: { title: 'sweeps s', show: 'seconds' },
  ring: { title: 'sums s, ring', show: 'seconds' },
  halving: { title: 'sums s, halving', show: 'seconds' },
  least: { title: 'in all s, halving', show: 'seconds' },
  most: { title: 'in all s, ring', show: 'seconds' },
}

function planProtocol({ latency, bandwidth }: Network): string {
  const { rows, nonzerosPerRow, bytesPerRow, passes, diskBytesPerSecond } = PLAN
  return (
    `The plan: ${rows / 1e9} billion rows of ${nonzerosPerRow} nonzeros and ${bytesPerRow} bytes of text, ${passes} passes. ` +
    `Nodes like this machine, with ${CORES} cores, a rank for each, a disk of ${diskBytesPerSecond / 1e6} MB/s, and a network of ${1e6 * latency} µs ` +
    `and ${bandwidth / 1e6} MB/s a node. Rates and vectors are those measured on ${PLAN_DATA}. Nothing of it was run. ` +
    '"Fits": rows and vectors are within the 4 GiB of a process; where they are not, ranks would go to blocks on disk, and the times are too small.'
  )
}

/** The first lines of a text, and the weights that occur in them. */
interface Part {
  file: string
  weights: number
}

async function partOf({ workFolder }: SuiteContext, { name, file: whole, bytes }: PreparedData): Promise<Part> {
  const file = join(workFolder, `part-of-${name}.svm`)
  await using text = await open(whole)
  const first = Buffer.alloc(Math.ceil(PART * bytes))
  const { bytesRead } = await text.read(first, 0, first.length, 0)
  await writeFile(file, first.subarray(0, first.lastIndexOf('\n', bytesRead) + 1))
  return { file, weights: await occurring({ file }) }
}

async function measureMethod(
  context: SuiteContext,
  data: PreparedData,
  { mpirun, method, weights, part }: { mpirun: string[]; method: RankMethod; weights: number; part: Part },
): Promise<Measured> {
  const runs = new RankRuns(context, data, mpirun, 'simulate')
  const until = method.solver === 'dual' ? { maxPasses: PASSES_OF_DUAL } : {}
  const plan = RANKS.map(ranks => ({
    ...{ name: `${method.solver}, ranks ${ranks}`, method, ranks, threads: 1, stop: GAP, ...until },
  }))
  const timings = await runs.time(plan)
  const one = timings.find(({ run }) => run.ranks === 1)
  if (!one) throw new Error('one rank alone could not be measured')
  const pass = passRates(
    timedPass({ ...one.told, seconds: one.inside }, weights),
    await leastPass(context, runs, { run: plan[0], part }),
  )
  const beside = { ...pass, ...(await crowdedBy(runs, plan[0], one)), joinSeconds: await joining(context, runs, plan) }
  const two = timings.find(({ run }) => run.ranks === 2)
  const [first, all] = two ? await countPasses(context, runs, two.run) : []
  const given = two && two.passes > 1 ? (all.givenByRank - first.givenByRank) / (two.passes - 1) : undefined
  const vectorsPerPass = given === undefined ? (method.vectors ?? 1) : given / (8 * weights)
  return {
    rates: ratesOf(data, one, beside),
    work: workOf(data, one, { weights, vectorsPerPass, bytesPerWeight: method.bytesPerWeight ?? 0 }),
    loopback: await loopbackOf(mpirun, weights),
    timings,
  }
}

function workOf(
  { bytes }: PreparedData,
  { told, passes }: RankTiming,
  sent: Pick<Work, 'weights' | 'vectorsPerPass' | 'bytesPerWeight'>,
): Work {
  return { rows: Number(told['rows']), nonzeros: Number(told['nonzeros']), textBytes: bytes, passes, ...sent }
}

/** What one rank on one core does. */
export function ratesOf(
  { bytes }: Pick<PreparedData, 'bytes'>,
  one: RankTiming,
  beside: Omit<Rates, 'startSeconds' | 'parseBytesPerSecond' | 'jitter'>,
): Rates {
  const { timing, inside, computing } = one
  return {
    startSeconds: Math.max(0, timing.seconds - insideSeconds(inside)),
    parseBytesPerSecond: bytes / inside.read,
    ...beside,
    jitter: spreadOf(computing).deviation,
  }
}

/** A pass over a part of the text: the smallest time of all rounds. */
async function leastPass(
  { rounds }: SuiteContext,
  runs: RankRuns,
  { run, part }: { run: RankRun; part: Part },
): Promise<TimedPass> {
  let least: TimedPass | undefined
  for (let round = 0; round < rounds; round++) {
    const { told } = await runs.train({ ...run, name: `${run.name}, a part`, data: part.file })
    const found = timedPass(told!, part.weights)
    if (!least || found.seconds < least.seconds) least = found
  }
  return least!
}

function timedPass(told: Record<string, unknown>, weights: number): TimedPass {
  const { compute } = told['seconds'] as Inside
  return { seconds: compute / Number(told['passes']), nonzeros: Number(told['nonzeros']), weights }
}

/** How much longer the same job computes and reads while every core does such a job. */
async function crowdedBy(
  runs: RankRuns,
  run: RankRun,
  { inside }: RankTiming,
): Promise<Pick<Rates, 'contention' | 'readContention'>> {
  const together = Array.from({ length: CORES }, (_, k) => runs.train({ ...run, name: `${run.name}, at a time ${k}` }))
  const all = (await Promise.all(together)).map(({ told }) => told!['seconds'] as Inside)
  const against = (part: keyof Inside): number => Math.max(1, spreadOf(all.map(each => each[part])).mean / inside[part])
  return { contention: against('compute'), readContention: against('read') }
}

/** What a start takes longer on two ranks than on one: a job of a few rows, the smallest time of all rounds. */
async function joining({ workFolder, rounds }: SuiteContext, runs: RankRuns, plan: RankRun[]): Promise<number> {
  const data = join(workFolder, 'few-rows.svm')
  await writeFile(data, '+1 1:1\n-1 2:1\n'.repeat(8))
  const least = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]
  for (let round = 0; round < rounds; round++)
    for (const k of [0, 1]) least[k] = Math.min(least[k], (await runs.train({ ...plan[k], data })).seconds)
  return Math.max(0, least[1] - least[0])
}

/** Sums within this machine. */
async function loopbackOf(mpirun: string[], weights: number): Promise<Network> {
  const command = [...launcherFor(mpirun, SUM_RANKS), process.execPath, timeSums, '1', String(weights)]
  const { stdout } = await measure(command, { timeout: 300 })
  const [short, long] = JSON.parse(stdout.trim().split('\n').at(-1)!)
  return networkFrom(short, long, SUM_RANKS, 'ring')
}

/** Predictions beside what was measured. */
export function checkRows(
  data: string,
  solver: string,
  { rates, work, loopback, timings }: Measured,
): Record<string, Cell>[] {
  return timings.map(({ run, timing, passes }) => {
    const nodes: Nodes = { ...thisMachine, ranksPerNode: run.ranks }
    // Passes of dual over ranks cannot be told before.
    const own = solver === 'dual' ? { ...work, passes } : work
    const { total, start, read, sweeps, sums } = predict(own, rates, nodes, loopback, 'ring')
    return {
      ...{ data, solver, ranks: run.ranks, passes: own.passes, measured: timing.seconds, spread: timing.spread },
      ...{ predicted: total, error: total / timing.seconds - 1, start, read, sweeps, sums },
    }
  })
}

/** Text comes from the page cache. */
const thisMachine: Nodes = {
  ...{ count: 1, cores: CORES, ranksPerNode: 1, threadsPerRank: 1 },
  diskBytesPerSecond: Number.POSITIVE_INFINITY,
}

function rateRow(data: string, solver: string, { rates, work, loopback }: Measured): Record<string, Cell> {
  return {
    ...{ data, solver, start: rates.startSeconds, join: rates.joinSeconds, parse: rates.parseBytesPerSecond },
    ...{ nanoseconds: 1e9 * rates.secondsPerNonzero, ofWeight: 1e9 * rates.secondsPerWeight },
    contention: rates.contention,
    ...{ readContention: rates.readContention, jitter: rates.jitter },
    ...{ weights: work.weights, vectors: work.vectorsPerPass },
    ...{ latency: 1e6 * loopback.latency, bandwidth: loopback.bandwidth },
  }
}

/** The plan of a method, for all numbers of nodes; nothing where it has no part in the plan. */
export function planRows(
  solver: string,
  { rates, work: { vectorsPerPass, bytesPerWeight } }: Pick<Measured, 'rates' | 'work'>,
  network: Network,
  cores = CORES,
): Record<string, Cell>[] {
  const weights = PLAN_WEIGHTS[solver]
  if (weights === undefined) return []
  const { rows, nonzerosPerRow, bytesPerRow, passes, diskBytesPerSecond } = PLAN
  const size = { rows, nonzeros: rows * nonzerosPerRow, textBytes: rows * bytesPerRow }
  const work: Work = { ...size, weights, passes, vectorsPerPass, bytesPerWeight }
  return PLAN.nodes.map(count => {
    const nodes = { count, cores, ranksPerNode: cores, threadsPerRank: 1, diskBytesPerSecond }
    const by = (algorithm: 'ring' | 'halving'): Prediction => predict(work, rates, nodes, network, algorithm)
    const [ring, halving] = [by('ring'), by('halving')]
    return {
      ...{ solver, weights, nodes: count, ranks: ring.ranks, gibibytes: ring.rowBytes / 2 ** 30, fits: ring.fits },
      ...{ sent: ring.sentPerPass, read: ring.read, sweeps: ring.sweeps, ring: ring.sums, halving: halving.sums },
      ...{ least: halving.total, most: ring.total },
    }
  })
}
