// Goal 5: data ten times the memory cap on a slow disk, against one plain read of the text; the solvers beside each other on
// that disk and on the disk as it is.
import type { PreparedData, Size } from '../data.ts'
import { canLimit, canSlowDisk, type MeasureOptions, makeCold, measure } from '../measure.ts'
import { spillway } from '../peers/spillway.ts'
import { referenceFor } from '../reference.ts'
import { type Contestant, type Timing, timingOf } from '../rounds.ts'
import type { Cell, Section, SuiteContext, Table } from '../suite.ts'
import { bytesOf } from './budget.ts'
import { COST, knownSolvers, MEMORY } from './pass-series.ts'
import { type WholeRun, WholeRuns } from './whole-runs.ts'

/** Small data has all its features in little text: reading it while training takes more than its tenth. */
const CAP: Record<Size, string> = { small: '192M', full: MEMORY.full }
const READ_BPS = '150M'
const GAP = 1e-3
const SOLVERS = ['stream', 'selective', 'block']
const PASSES = [1, 2]
/** Percentage points of test accuracy under the best of all runs that count as good enough. */
const NEAR_BEST = 0.1
const TIMES_A_READ = 1.5
const TIMES_THE_CAP = 10
/** "No slower", give or take what two runs of the same program differ by. */
const NO_SLOWER = 1.05
/** A read faster than this many times READ_BPS was not slowed down. */
const SLOWED = 1.2
/** How much longer than stream another solver may take before it is given up. */
const PATIENCE = { times: 5, least: 60 }

type Disk = 'slowed' | 'as it is'

export async function slowDiskSection(context: SuiteContext, names: string[]): Promise<Section> {
  const cap = CAP[context.size]
  const table: Table = { columns, rows: [] }
  const verdicts: Table = { title: 'Goals', columns: verdictColumns, rows: [] }
  const section: Section = {
    name: 'slow-disk',
    title: `Text to model inside ${cap}, disk slowed to ${READ_BPS} bytes/s, and as it is`,
    goal:
      `with the disk slowed, on data ${TIMES_THE_CAP} times the memory cap, test accuracy within ${NEAR_BEST} points of the best in at most ${TIMES_A_READ} times as long as one plain read of the text takes (goal 5); ` +
      'with the disk as it is, stream no slower than the other solvers.',
    protocol: [
      `Hinge loss, C = ${COST}; whole processes, from text, the store deleted and the page cache dropped before each run; --memory ${cap} under \`limit --memory ${cap}\`, page cache counted, the disk slowed by \`limit --read-bps ${READ_BPS}\`.`,
      `Solvers to a certified gap of ${GAP}, which bounds the difference (P − P*) / P*, judged by the evaluator: the worst of all rounds. Another solver is given up after ${PATIENCE.times} times as long as stream, and at least ${PATIENCE.least} s.`,
      `For goal 5 stream is ended by --max-passes ${PASSES.join(' or ')}; the fastest run of any that is accurate enough counts, its certificate included. The best accuracy is that of all runs.`,
      'Plain read: dd to /dev/null with blocks of 1 MiB, under the same limits.',
      `Judged only where the text is at least ${TIMES_THE_CAP} times the cap; no slower means at most ${NO_SLOWER} times the time of the fastest other solver.`,
    ],
    ...{ tables: [table, verdicts], details: [], notes: [] },
  }
  if (!(await spillway.version())) {
    context.skip('slow-disk', `not measured: ${spillway.howToInstall}`)
    return section
  }
  if (!(await canLimit())) {
    context.skip('slow-disk', 'not measured: ../shared/bin/limit is missing, or needs root')
    return section
  }
  const slow = await canSlowDisk()
  if (!slow) context.skip('slow-disk, slowed', 'not measured: `limit --read-bps` does not work here')
  for await (const data of context.data(names)) {
    const runs = new WholeRuns(context, data, 'slow-disk')
    try {
      const found = await new SlowDisk(context, data, runs).run(slow ? ['slowed', 'as it is'] : ['as it is'])
      table.rows.push(...found.rows)
      verdicts.rows.push(...found.verdicts)
      section.details.push(found.details)
      section.notes.push(...found.notes)
    } catch (error) {
      context.skip(`slow-disk, ${data.name}`, error)
    } finally {
      await runs.end()
    }
  }
  return section
}

const columns = {
  data: { title: 'data' },
  disk: { title: 'disk' },
  who: { title: 'who' },
  seconds: { title: 's', show: 'seconds' },
  spread: { title: 'spread', show: 'ratio' },
  timesARead: { title: '/ plain read', show: 'ratio' },
  passes: { title: 'passes' },
  bytesRead: { title: 'read MB', show: 'megabytes' },
  difference: { title: 'difference', show: 'difference' },
  accuracy: { title: 'test accuracy', show: 'share' },
  belowBest: { title: 'below best', show: 'fixed2' },
  memory: { title: 'peak MB', show: 'megabytes' },
} as const

const verdictColumns = {
  data: { title: 'data' },
  goal: { title: 'goal' },
  timesTheCap: { title: 'text / cap', show: 'ratio' },
  by: { title: 'by' },
  ratio: { title: 'ratio', show: 'ratio' },
  most: { title: 'at most', show: 'ratio' },
  reached: { title: 'reached' },
} as const

interface Shown {
  disk: Disk
  who: string
  timing: Timing
  timesARead: number
  passes?: number
  bytesRead?: number
  accuracy?: number
  difference?: number
}

/** One data set. */
class SlowDisk {
  readonly #context: SuiteContext
  readonly #data: PreparedData
  readonly #runs: WholeRuns
  readonly #cap: string

  constructor(context: SuiteContext, data: PreparedData, runs: WholeRuns) {
    this.#context = context
    this.#data = data
    this.#runs = runs
    this.#cap = CAP[context.size]
  }

  async run(disks: Disk[]): Promise<{
    rows: Record<string, Cell>[]
    verdicts: Record<string, Cell>[]
    notes: string[]
    details: unknown
  }> {
    const { say, workFolder } = this.#context
    say(`slow-disk ${this.#data.name}`)
    const solvers = await this.#solvers()
    const reference = await referenceFor(this.#data, { loss: 'hinge', cost: COST }, workFolder, say)
    const shown: Shown[] = []
    const toGap: string[] = []
    const told: Record<string, unknown> = {}
    for (const disk of disks) {
      const read = this.#plainRead(disk)
      const runs = this.#wholeRuns(disk, solvers)
      toGap.push(...runs.flatMap(({ name, stop }) => (stop === undefined ? [] : [name])))
      const timed = await this.#runs.time(runs, [read])
      const plain = timingOf(timed.get(read.name)!)
      for (const [who, list] of timed) {
        const timing = timingOf(list)
        const [passes, bytesRead] = ['passes', 'bytesRead'].map(key => list[0].told?.[key] as number | undefined)
        shown.push({ disk, who, timing, timesARead: timing.seconds / plain.seconds, passes, bytesRead })
        told[who] = list.map(run => run.told)
      }
    }
    const training = await this.#runs.judge(toGap)
    const best = Math.min(reference.primal, ...[...training.values()].map(({ primal }) => primal))
    const { testFile } = this.#data
    const test = testFile
      ? await this.#runs.judge(
          shown.map(({ who }) => who),
          testFile,
        )
      : new Map()
    for (const each of shown) {
      const primal = training.get(each.who)?.primal
      each.difference = primal === undefined ? undefined : (primal - best) / best
      each.accuracy = test.get(each.who)?.accuracy
    }
    const bestAccuracy = Math.max(...shown.map(({ accuracy }) => accuracy ?? 0))
    const testRows: number | undefined = [...test.values()][0]?.rows
    const belowBest = ({ accuracy }: Shown): number | undefined =>
      accuracy === undefined ? undefined : 100 * (bestAccuracy - accuracy)
    return {
      rows: shown.map(each => ({
        ...{
          data: this.#data.name,
          disk: each.disk,
          who: each.who.replace(/, slowed$/, ''),
          timesARead: each.timesARead,
        },
        ...{ seconds: each.timing.seconds, spread: each.timing.spread, memory: each.timing.peakMemoryBytes },
        ...{ passes: each.passes, bytesRead: each.bytesRead, difference: each.difference },
        ...{ accuracy: each.accuracy, belowBest: belowBest(each) },
      })),
      verdicts: [...this.#goal5(shown, belowBest), ...this.#noSlower(shown)],
      notes:
        testRows !== undefined && testRows < 100 / NEAR_BEST
          ? [`${this.#data.name}: ${testRows} test rows, one of which is more than ${NEAR_BEST} points.`]
          : [],
      details: { data: this.#data.name, cap: this.#cap, reference, best, bestAccuracy, testRows, shown, told },
    }
  }

  #goal5(shown: Shown[], belowBest: (each: Shown) => number | undefined): Record<string, Cell>[] {
    const { bytes, name } = this.#data
    const plain = shown.find(({ disk, who }) => disk === 'slowed' && who.startsWith('plain read'))
    if (!plain) return []
    if (bytes / plain.timing.seconds > SLOWED * bytesOf(READ_BPS)) {
      this.#context.skip(
        `slow-disk, ${name}, goal 5`,
        'not judged: the plain read was faster than the slowed disk can be',
      )
      return []
    }
    const accurate = shown
      // Rounding must not decide about equal accuracies.
      .filter(each => each.disk === 'slowed' && (belowBest(each) ?? Infinity) <= NEAR_BEST + 1e-9)
      .sort((a, b) => a.timing.seconds - b.timing.seconds)[0]
    const timesTheCap = bytes / bytesOf(this.#cap)
    const ratio = accurate?.timesARead
    return [
      {
        ...{
          data: name,
          goal: '5: within reach of the best accuracy',
          timesTheCap,
          by: accurate?.who.replace(/, slowed$/, '') ?? 'nobody',
          ratio,
        },
        most: TIMES_A_READ,
        // Smaller data shows that the harness works, and nothing about the goal.
        reached: timesTheCap >= TIMES_THE_CAP ? ratio !== undefined && ratio <= TIMES_A_READ : undefined,
      },
    ]
  }

  #noSlower(shown: Shown[]): Record<string, Cell>[] {
    const timed = shown.filter(({ disk, difference }) => disk === 'as it is' && difference !== undefined)
    const stream = timed.find(({ who }) => who.startsWith('stream'))
    const other = timed.filter(each => each !== stream).sort((a, b) => a.timing.seconds - b.timing.seconds)[0]
    if (!stream || !other) return []
    const timesTheCap = this.#data.bytes / bytesOf(this.#cap)
    const ratio = stream.timing.seconds / other.timing.seconds
    return [
      {
        ...{ data: this.#data.name, goal: `stream no slower, disk as it is, to gap ${GAP}`, ratio, most: NO_SLOWER },
        ...{ by: `against ${other.who}`, timesTheCap },
        reached: timesTheCap >= TIMES_THE_CAP ? ratio <= NO_SLOWER : undefined,
      },
    ]
  }

  #wholeRuns(disk: Disk, solvers: string[]): WholeRun[] {
    const common = { cold: true, limits: this.#limits(disk) }
    const label = (text: string): string => (disk === 'slowed' ? `${text}, slowed` : text)
    const words = (solver: string): string[] => ['--solver', solver, '--memory', this.#cap]
    const streamToGap = label(`stream to ${GAP}`)
    return [
      ...solvers.map(
        (solver): WholeRun => ({
          ...{ ...common, name: label(`${solver} to ${GAP}`), words: words(solver), stop: GAP },
          patience: first =>
            Math.max(PATIENCE.least, PATIENCE.times * (first.get(streamToGap)?.seconds ?? PATIENCE.least)),
        }),
      ),
      ...(solvers.includes('stream') ? PASSES : []).map(
        (maxPasses): WholeRun => ({
          ...{ ...common, name: label(`stream, passes ${maxPasses}`), words: words('stream'), maxPasses },
        }),
      ),
    ]
  }

  #plainRead(disk: Disk): Contestant {
    const { file } = this.#data
    return {
      name: disk === 'slowed' ? 'plain read, slowed' : 'plain read',
      run: async () => {
        await makeCold(file)
        return measure(['dd', `if=${file}`, 'of=/dev/null', 'bs=1M'], this.#limits(disk))
      },
    }
  }

  #limits(disk: Disk): MeasureOptions {
    return { limit: this.#cap, ...(disk === 'slowed' && { readBps: READ_BPS }) }
  }

  async #solvers(): Promise<string[]> {
    const known = await knownSolvers()
    for (const solver of SOLVERS.filter(each => !known.includes(each)))
      this.#context.skip(`slow-disk, ${solver}`, `not measured: this build has no solver ${solver}`)
    return SOLVERS.filter(solver => known.includes(solver))
  }
}
