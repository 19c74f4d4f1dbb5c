// Goal 13: the same training on one to four ranks of one machine. Times of whole jobs and inside the program, what ranks send, and
// how far the models are from each other.
import type { PreparedData } from '../data.ts'
import { forEachRow } from '../libsvm-text.ts'
import { countTraffic, type Traffic } from '../peers/mpirun.ts'
import type { Cell, Section, SuiteContext, Table } from '../suite.ts'
import {
  CORES,
  insideSeconds,
  METHODS,
  mpirunFor,
  RANKS,
  type RankRun,
  RankRuns,
  type RankTiming,
} from './rank-runs.ts'

const GAP = 1e-4
const FASTER = 1.8
/** What each rank sends in a pass, as a multiple of 2 · n · 8 bytes, is stated within this. */
const WITHIN = 0.1

/** The section grows: it comes again after each method. */
export async function* scalingSection(context: SuiteContext, names: string[]): AsyncGenerator<Section> {
  const table: Table = { columns, rows: [] }
  const section: Section = {
    name: 'scaling',
    title: 'One to four ranks on one machine',
    goal: `two ranks ${FASTER} times as fast as one on two free cores; bytes sent in a pass within ${100 * WITHIN} % of 2·n·8 (goal 13).`,
    protocol: [
      `\`mpirun -n RANKS spillway train\`, ${METHODS.map(({ solver, loss }) => `${solver} (${loss})`).join(', ')}, to a gap of ${GAP}, C = 1, from text in the page cache; a thread for each rank; beside these one rank on one core, and one with all ${CORES} cores.`,
      'Seconds are those of the whole job, mpirun included; "inside" is what the program tells of reading and computing. Speeds are against one rank on one core (taskset). A rank with one thread has more than that while it reads: a thread parses, and another brings the text.',
      `More ranks than the ${CORES} cores cannot be faster: they show what ranks cost.`,
      'Differences are (P − P*) / P*: the evaluator computes P, and P* is the least of all models of that problem.',
      "Bytes are those of Open MPI's own count of messages, in runs of their own: those of a whole run less those of a run of one pass, for each further pass; of the busiest rank. What is given to sums is the program's matter, what is sent for them also Open MPI's: it chooses the way of a sum. n: features that occur.",
    ],
    ...{ tables: [table], details: [], notes: [] },
  }
  const mpirun = await mpirunFor(context, 'scaling')
  if (!mpirun) {
    yield section
    return
  }
  for await (const data of context.data(names)) {
    const runs = new RankRuns(context, data, mpirun, 'scaling')
    const weights = await occurring(data)
    for (const method of METHODS) {
      const plan = plans(method)
      const timings = await runs.time(plan)
      const traffic = new Map<number, Traffic[]>()
      for (const { run } of timings.filter(({ run }) => run.ranks > 1 && run.threads === 1)) {
        try {
          traffic.set(run.ranks, await countPasses(context, runs, run))
        } catch (error) {
          context.skip(`scaling, ${data.name}, ${run.name}, bytes sent`, error)
        }
      }
      table.rows.push(...rowsOf(data, weights, timings, traffic))
      section.details.push({ data: data.name, weights, method, timings, traffic: [...traffic] })
      section.notes = verdicts(table.rows)
      yield section
    }
  }
}

const columns: Table['columns'] = {
  data: { title: 'data' },
  solver: { title: 'solver' },
  ranks: { title: 'ranks' },
  threads: { title: 'threads each' },
  cores: { title: 'cores in all' },
  seconds: { title: 's', show: 'seconds' },
  spread: { title: 'spread', show: 'ratio' },
  faster: { title: 'faster', show: 'times' },
  read: { title: 'reading s', show: 'seconds' },
  compute: { title: 'computing s', show: 'seconds' },
  fasterInside: { title: 'faster inside', show: 'times' },
  passes: { title: 'passes', show: 'count' },
  difference: { title: 'difference', show: 'difference' },
  given: { title: 'bytes given in a pass', show: 'count' },
  givenShare: { title: '/ (2·n·8)', show: 'ratio' },
  sent: { title: 'bytes sent in a pass', show: 'count' },
  sentShare: { title: '/ (2·n·8)', show: 'ratio' },
  sentAtFirst: { title: 'bytes sent in a run of one pass', show: 'count' },
  memory: { title: 'MB, largest rank', show: 'megabytes' },
}

function plans(method: RankRun['method']): RankRun[] {
  const ofRanks = RANKS.map(ranks => ({
    name: `${method.solver}, ranks ${ranks}`,
    method,
    ranks,
    threads: 1,
    stop: GAP,
  }))
  return [
    ...ofRanks,
    { name: `${method.solver}, one rank, one core`, method, ranks: 1, threads: 1, onOneCore: true, stop: GAP },
    { name: `${method.solver}, one rank, all cores`, method, ranks: 1, stop: GAP },
  ]
}

/** What is sent in a run of one pass, and in the whole run. */
export async function countPasses({ workFolder }: SuiteContext, runs: RankRuns, run: RankRun): Promise<Traffic[]> {
  const counted: Traffic[] = []
  for (const maxPasses of [1, run.maxPasses])
    counted.push(await countTraffic(workFolder, words => runs.train({ ...run, maxPasses }, words)))
  return counted
}

export function rowsOf(
  { name }: Pick<PreparedData, 'name'>,
  weights: number,
  timings: RankTiming[],
  traffic: Map<number, Traffic[]>,
): Record<string, Cell>[] {
  const one = timings.find(({ run }) => run.ranks === 1 && run.onOneCore)
  const best = Math.min(...timings.map(({ primal }) => primal))
  return timings.map(({ run, timing, inside, passes, primal }): Record<string, Cell> => {
    const [first, all] = (run.threads === 1 && traffic.get(run.ranks)) || []
    const ofPass = (name: 'givenByRank' | 'sentByRank'): number | undefined =>
      first && all && passes > 1 ? Math.round((all[name] - first[name]) / (passes - 1)) : undefined
    const [given, sent] = [ofPass('givenByRank'), ofPass('sentByRank')]
    return {
      ...{ data: name, solver: run.method.solver, ranks: run.ranks, threads: run.threads ?? CORES },
      cores: run.onOneCore ? 1 : CORES,
      ...{ seconds: timing.seconds, spread: timing.spread, memory: timing.peakMemoryBytes },
      faster: one && one.timing.seconds / timing.seconds,
      ...{ read: inside.read, compute: inside.compute },
      fasterInside: one && insideSeconds(one.inside) / insideSeconds(inside),
      ...{ passes, difference: (primal - best) / best },
      ...{ given, givenShare: given && given / (2 * weights * 8) },
      ...{ sent, sentShare: sent && sent / (2 * weights * 8), sentAtFirst: first?.sentByRank },
    }
  })
}

/** What is said of goal 13, method by method. */
export function verdicts(rows: Record<string, Cell>[]): string[] {
  return rows
    .filter(row => row['ranks'] === 2 && row['threads'] === 1)
    .map(row => {
      const [faster, inside, share] = ['faster', 'fasterInside', 'sentShare'].map(
        name => row[name] as number | undefined,
      )
      const sent =
        share === undefined ? 'bytes sent not counted' : `${share.toFixed(2)} times 2·n·8 bytes sent in a pass`
      const speed = `${faster?.toFixed(2) ?? '–'} times as fast (inside ${inside?.toFixed(2) ?? '–'})`
      return `${row['data']}, ${row['solver']}, two ranks: ${speed}, ${sent}; goal of ${FASTER}: ${(faster ?? 0) >= FASTER ? 'reached' : 'not reached'}.`
    })
}

/** Features that occur: as many weights are trained, and sent. */
export async function occurring({ file }: Pick<PreparedData, 'file'>): Promise<number> {
  let seen = new Uint8Array(1 << 20)
  let count = 0
  await forEachRow(file, ({ indices, values, length }) => {
    for (let p = 0; p < length; p++) {
      const index = indices[p]
      if (index >= seen.length) {
        const longer = new Uint8Array(2 * index)
        longer.set(seen)
        seen = longer
      }
      if (values[p] !== 0 && seen[index] === 0) {
        seen[index] = 1
        count++
      }
    }
  })
  return count
}
