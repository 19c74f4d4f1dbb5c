// One thread against two, where the rows are in memory and where they come in blocks.
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { PreparedData } from '../data.ts'
import { spillway } from '../peers/spillway.ts'
import { referenceFor } from '../reference.ts'
import { reachedOf } from '../results.ts'
import { timingOf } from '../rounds.ts'
import type { Cell, Section, SuiteContext, Table } from '../suite.ts'
import { memoryHolding } from './memory-words.ts'
import { COST, knownSolvers } from './pass-series.ts'
import { type WholeRun, WholeRuns } from './whole-runs.ts'

const GAP = 1e-2
const FASTER = 1.5
const TENTH = 0.1
const THREADS = [1, 2]
/** Where the rows are: `fits` without --memory, otherwise with room for a tenth of them. */
const CASES = [
  { solver: 'stream', fits: true },
  { solver: 'stream', fits: false },
]

export async function trainersSection(context: SuiteContext, names: string[]): Promise<Section> {
  const table: Table = { columns, rows: [] }
  const section: Section = {
    name: 'trainers',
    title: '--threads 2 against --threads 1',
    goal: `two threads at least ${FASTER} times faster than one, to the same gap.`,
    protocol: [
      `Hinge loss, C = ${COST}, to a relative gap of ${GAP}; whole processes, from a ready-made store, so that parsing text, which threads share anyway, is no part of it. Decoding and certifying are.`,
      `In memory: no --memory. In blocks: room for about ${100 * TENTH} % of the decoded rows besides Node, weights and buffers, or the least that works.`,
      'Training s: as Spillway tells it, for comparison; the whole time is judged. Differences, (P − P*) / P*, by the evaluator: the worst of all rounds.',
    ],
    ...{ tables: [table], details: [], notes: [] },
  }
  if (!(await spillway.version())) {
    context.skip('trainers', `not measured: ${spillway.howToInstall}`)
    return section
  }
  const known = await knownSolvers()
  const cases = CASES.filter(({ solver }) => known.includes(solver))
  if (!known.includes('stream')) context.skip('trainers, stream', 'not measured: this build has no solver stream')
  for await (const data of context.data(names)) {
    const runs = new WholeRuns(context, data, 'trainers')
    const store = join(context.workFolder, `trainers-${data.name}.spill`)
    try {
      context.say(`trainers ${data.name}`)
      await spillway.ingest(data.file, store, { words: ['--blocks', '100'] })
      const { rows, details } = await compare(context, data, runs, store, cases)
      table.rows.push(...rows)
      section.details.push(details)
    } catch (error) {
      context.skip(`trainers, ${data.name}`, error)
    } finally {
      await runs.end()
      await rm(store, { recursive: true, force: true })
    }
  }
  if (table.rows.length > 0) section.notes.push(`reached: ${reachedOf(table.rows, 'reached')}.`)
  return section
}

const columns = {
  data: { title: 'data' },
  solver: { title: 'solver' },
  rows: { title: 'rows' },
  memory: { title: '--memory' },
  threads: { title: '--threads' },
  passes: { title: 'passes' },
  seconds: { title: 's', show: 'seconds' },
  spread: { title: 'spread', show: 'ratio' },
  trainingSeconds: { title: 'training s', show: 'seconds' },
  cpuSeconds: { title: 'processor s', show: 'seconds' },
  difference: { title: 'difference', show: 'difference' },
  ratio: { title: 'faster', show: 'times' },
  reached: { title: `reached: ≥ ${FASTER}×?` },
} as const

async function compare(
  context: SuiteContext,
  data: PreparedData,
  runs: WholeRuns,
  store: string,
  cases: typeof CASES,
): Promise<{ rows: Record<string, Cell>[]; details: unknown }> {
  const { cold, limit, workFolder, say } = context
  // For the most threads, which take the most memory besides rows.
  const tenth = cases.some(({ fits }) => !fits)
    ? await memoryHolding(TENTH, memory =>
        runs.train({
          ...{
            name: 'memory',
            words: ['--solver', 'stream', '--threads', String(Math.max(...THREADS)), '--memory', memory],
            store,
            maxPasses: 1,
            cold: false,
          },
        }),
      )
    : undefined
  const contest = cases.flatMap(({ solver, fits }) =>
    THREADS.map(threads => {
      const memory = fits ? undefined : tenth
      // Nothing that an earlier run left in the store may help the next one; dual leaves nothing.
      const anew = solver === 'dual' ? [] : ['--cold']
      const words = ['--solver', solver, ...anew, '--threads', String(threads), ...(memory ? ['--memory', memory] : [])]
      const name = `${solver} ${fits ? 'in memory' : 'in blocks'}, ${threads}`
      const run: WholeRun = { name, words, store, stop: GAP, cold, limits: { limit } }
      return { run, solver, fits, memory, threads }
    }),
  )
  const timed = await runs.time(contest.map(({ run }) => run))
  const judged = await runs.judge([...timed.keys()])
  const reference = await referenceFor(data, { loss: 'hinge', cost: COST }, workFolder, say)
  const optimum = Math.min(reference.primal, ...[...judged.values()].map(({ primal }) => primal))
  const timings = new Map([...timed].map(([name, list]) => [name, timingOf(list)]))
  const rows = contest.flatMap(({ run, solver, fits, memory, threads }): Record<string, Cell>[] => {
    const timing = timings.get(run.name)
    if (!timing) return []
    const one = contest.find(each => each.solver === solver && each.fits === fits && each.threads === THREADS[0])!
    const alone = timings.get(one.run.name)
    const ratio = threads === THREADS[0] || !alone ? undefined : alone.seconds / timing.seconds
    const told = timed.get(run.name)!.map(each => each.told?.['seconds'] as { compute: number } | undefined)
    return [
      {
        ...{ data: data.name, solver, rows: fits ? 'in memory' : 'in blocks', memory, threads },
        passes: timed.get(run.name)![0].told?.['passes'] as number,
        ...{ seconds: timing.seconds, spread: timing.spread, cpuSeconds: timing.cpuSeconds },
        trainingSeconds: Math.min(...told.map(each => each?.compute ?? Number.NaN)),
        difference: (judged.get(run.name)!.primal - optimum) / optimum,
        ...{ ratio, reached: ratio === undefined ? undefined : ratio >= FASTER },
      },
    ]
  })
  const told = Object.fromEntries([...timed].map(([name, list]) => [name, list.map(each => each.told)]))
  return { rows, details: { data: data.name, tenth, reference, optimum, timings: Object.fromEntries(timings), told } }
}
