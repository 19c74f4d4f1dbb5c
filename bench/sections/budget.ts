// Goals 4 and 15: text to model inside a memory cap that the data exceeds, against Spillway and LIBLINEAR with all the memory.
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { PreparedData } from '../data.ts'
import { evaluateFiles } from '../evaluator.ts'
import { CommandFailed, canLimit, makeCold, measure } from '../measure.ts'
import { liblinear } from '../peers/liblinear.ts'
import type { Peer, TrainRun } from '../peers/peer.ts'
import { spillway } from '../peers/spillway.ts'
import { referenceFor } from '../reference.ts'
import { type Contestant, interleave, timingOf } from '../rounds.ts'
import type { Cell, Section, SuiteContext, Table } from '../suite.ts'
import { COST, MEMORY } from './pass-series.ts'
import { digest } from './train.ts'

const GAP = 1e-3
const SLOWER = 1.5
/** Data smaller than this is shown, not judged by goal 4. */
const TIMES_THE_CAP = 10
/** LIBLINEAR's -e, from its default on; the first that comes within GAP is timed. */
const EPSILONS = [0.1, 0.03, 0.01, 0.003, 0.001]
const CAPPED = 'Spillway, capped'
const FREE = 'Spillway, all the memory'
const PEER = 'LIBLINEAR, all the memory'

/** Without LIBLINEAR where only Spillway's own two runs are asked about: it takes minutes. */
export async function budgetSection(
  context: SuiteContext,
  names: string[],
  { withLiblinear = true }: { withLiblinear?: boolean } = {},
): Promise<Section> {
  const cap = MEMORY[context.size]
  const hard = await canLimit()
  const table: Table = { columns, rows: [] }
  const section: Section = {
    name: 'budget',
    title: `Text to model inside ${cap}`,
    goal:
      `on data ${TIMES_THE_CAP} times the memory cap, at most ${SLOWER} times slower than with all the memory (goal 4); ` +
      'peak memory never above --memory, Node and page cache included (goal 15).',
    protocol: [
      `Hinge loss, C = ${COST}, Spillway to a relative gap of ${GAP}; whole processes, from text, the store deleted before each run.`,
      'The file is thrown out of the page cache before every run of anybody: pages that others have read are not charged to a cap, and would come for nothing.',
      hard
        ? `Capped: --memory ${cap} under \`limit --memory ${cap}\`, which kills what goes above; its peak counts page cache, that of the others does not.`
        : `Capped: --memory ${cap} alone: \`limit\` is not there or not allowed here, so the peak is the resident set, and goal 15 is not judged.`,
      ...(withLiblinear
        ? [
            `LIBLINEAR, with the loosest -e of ${EPSILONS.join(', ')} that comes within ${GAP}, stands in for LIBLINEAR-cdblock (goal 2), which is not packaged: it has all the memory.`,
          ]
        : []),
      'Differences, (P − P*) / P*, by the evaluator: the worst of all rounds.',
    ],
    ...{ tables: [table], details: [], notes: [] },
  }
  const versions = {
    spillway: await spillway.version(),
    liblinear: withLiblinear ? await liblinear.version() : undefined,
  }
  if (!versions.spillway) {
    context.skip('budget', `not measured: ${spillway.howToInstall}`)
    return section
  }
  if (!hard) context.skip('budget, the hard cap', 'not measured: ../shared/bin/limit is missing, or needs root')
  if (withLiblinear && !versions.liblinear) context.skip('budget, LIBLINEAR', `not measured: ${liblinear.howToInstall}`)
  for await (const data of context.data(names)) {
    try {
      const { rows, details } = await new Budget(context, data, hard).run(versions.liblinear !== undefined)
      table.rows.push(...rows)
      section.details.push(details)
    } catch (error) {
      context.skip(`budget, ${data.name}`, error)
      // A broken promise must show in the table, not only among what is missing.
      if (error instanceof CommandFailed && error.message.includes('out of memory under'))
        table.rows.push({ data: data.name, who: CAPPED, inside: false })
    }
  }
  return section
}

const columns = {
  data: { title: 'data' },
  who: { title: 'who' },
  timesTheCap: { title: 'text / cap', show: 'ratio' },
  solver: { title: 'solver' },
  stop: { title: 'gap or -e' },
  difference: { title: 'difference', show: 'difference' },
  seconds: { title: 's', show: 'seconds' },
  spread: { title: 'spread', show: 'ratio' },
  slower: { title: 'capped / this', show: 'ratio' },
  reached: { title: `≤ ${SLOWER}?` },
  memory: { title: 'peak MB', show: 'megabytes' },
  inside: { title: 'inside the cap?' },
} as const

/** One data set. */
class Budget {
  readonly #context: SuiteContext
  readonly #data: PreparedData
  readonly #hard: boolean
  readonly #primals = new Map<string, number>()
  readonly #worst = new Map<string, number>()

  constructor(context: SuiteContext, data: PreparedData, hard: boolean) {
    this.#context = context
    this.#data = data
    this.#hard = hard
  }

  async run(withLiblinear: boolean): Promise<{ rows: Record<string, Cell>[]; details: unknown }> {
    const { size, rounds, say, workFolder } = this.#context
    say(`budget ${this.#data.name}`)
    const cap = MEMORY[size]
    const reference = await referenceFor(this.#data, { loss: 'hinge', cost: COST }, workFolder, say)
    const epsilon = withLiblinear ? await this.#epsilon(reference.primal) : undefined
    const contestants: Contestant<TrainRun>[] = [
      this.#contestant(CAPPED, spillway, GAP, ['--memory', cap], this.#hard ? cap : undefined),
      this.#contestant(FREE, spillway, GAP, []),
      ...(epsilon === undefined ? [] : [this.#contestant(PEER, liblinear, epsilon, [])]),
    ]
    const runs = await interleave(contestants, rounds, say)
    const best = Math.min(reference.primal, ...this.#worst.values())
    const capBytes = bytesOf(cap)
    const timesTheCap = this.#data.bytes / capBytes
    const capped = timingOf(runs.get(CAPPED)!)
    const timings = contestants.map(({ name }) => ({ name, ...timingOf(runs.get(name)!) }))
    const rows = timings.map(({ name, seconds, spread, peakMemoryBytes }): Record<string, Cell> => {
      const slower = name === CAPPED ? undefined : capped.seconds / seconds
      return {
        ...{ data: this.#data.name, who: name, seconds, spread, memory: peakMemoryBytes, slower },
        timesTheCap: name === CAPPED ? timesTheCap : undefined,
        solver: runs.get(name)![0].told?.['solver'] as string | undefined,
        stop: String(name === PEER ? epsilon : GAP),
        difference: (this.#worst.get(name)! - best) / best,
        // Smaller data shows that the harness works, and nothing about the goal.
        reached: name === FREE && timesTheCap >= TIMES_THE_CAP ? slower! <= SLOWER : undefined,
        // A run that went above it was killed, and there is no row like this one.
        inside: name === CAPPED && this.#hard ? peakMemoryBytes <= capBytes : undefined,
      }
    })
    const told = Object.fromEntries([...runs].map(([name, list]) => [name, list.map(run => run.told)]))
    return { rows, details: { data: this.#data.name, reference, best, epsilon, cap, timings, told } }
  }

  #contestant(name: string, peer: Peer, stop: number, words: string[], limit?: string): Contestant<TrainRun> {
    const { workFolder } = this.#context
    const model = join(workFolder, `budget-${name.replace(/\W+/g, '-')}.model`)
    const store = join(workFolder, `budget-${this.#data.name}.spill`)
    const mine = peer === spillway ? { words: [...words, '--store', store] } : {}
    return {
      name,
      run: async () => {
        await rm(store, { recursive: true, force: true })
        await makeCold(this.#data.file)
        // The programs themselves are warm: loading Node is no part of the comparison.
        await spillway.help('train')
        await measure(['python3', '--version'])
        try {
          const request = { loss: 'hinge' as const, cost: COST, stop, model, ...mine }
          const run = await peer.train(this.#data.file, request, { limit })
          this.#worst.set(name, Math.max(await this.#primal(peer, run), this.#worst.get(name) ?? 0))
          return run
        } finally {
          await rm(store, { recursive: true, force: true })
        }
      },
    }
  }

  /** By the evaluator, one look at each different model: it reads gigabytes of text. */
  async #primal(peer: Peer, run: TrainRun): Promise<number> {
    const key = await digest(run.modelFile)
    let primal = this.#primals.get(key)
    if (primal === undefined) {
      const text = await peer.asLiblinear(run.modelFile)
      primal = (await evaluateFiles(this.#data.file, [text], { loss: 'hinge', cost: COST }))[0].primal
      this.#primals.set(key, primal)
    }
    return primal
  }

  async #epsilon(optimum: number): Promise<number | undefined> {
    const model = join(this.#context.workFolder, 'budget-search.model')
    for (const epsilon of EPSILONS) {
      const request = { loss: 'hinge' as const, cost: COST, stop: epsilon, model }
      const difference = (await this.#primal(liblinear, await liblinear.train(this.#data.file, request))) / optimum - 1
      this.#context.say(`LIBLINEAR -e ${epsilon}: difference ${difference.toExponential(1)}`)
      if (difference <= GAP) return epsilon
    }
    this.#context.skip(`budget, ${this.#data.name}, LIBLINEAR`, `no -e down to ${EPSILONS.at(-1)} comes within ${GAP}`)
    return undefined
  }
}

/** 256M as `limit` and --memory read it: powers of 1024. */
export function bytesOf(size: string): number {
  const [, digits, unit] = /^(\d+)([KMG])$/.exec(size)!
  return Number(digits) * 1024 ** (1 + 'KMG'.indexOf(unit))
}
