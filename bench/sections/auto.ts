// Whether --solver auto picks well: its time against that of every solver that one could have named instead.
import { join } from 'node:path'
import type { PreparedData } from '../data.ts'
import { canLimit } from '../measure.ts'
import { spillway } from '../peers/spillway.ts'
import { referenceFor } from '../reference.ts'
import { geometricMean, reachedOf } from '../results.ts'
import { timingOf } from '../rounds.ts'
import type { Cell, Section, SuiteContext, Table } from '../suite.ts'
import { leastMemory, memoryHolding } from './memory-words.ts'
import { COST, knownSolvers } from './pass-series.ts'
import { type WholeRun, WholeRuns } from './whole-runs.ts'

const GAP = 1e-3
const MOST = 1.3
const TENTH = 0.1
const IN_MEMORY = ['dual']
const FROM_BLOCKS = ['stream', 'selective', 'block']
/** A solver that takes this many times as long as auto cannot be the best one, and is given up. */
const PATIENCE = { times: 3, least: 20 }
/** From text more is left alone than from a store: steps by which a memory that is refused grows. */
const [STEP, STEPS] = [1.15, 5]

export async function autoSection(context: SuiteContext, names: string[]): Promise<Section> {
  const hard = await canLimit()
  const table: Table = { columns, rows: [] }
  const section: Section = {
    name: 'auto',
    title: 'The solver that auto picks, against the others',
    goal: `auto takes at most ${MOST} times as long as the best solver that can be named.`,
    protocol: [
      `Hinge loss, C = ${COST}, to a relative gap of ${GAP}; whole processes, from text, the store deleted before each run. Plenty: no --memory. Capped: room for about ${100 * TENTH} % of the decoded rows besides Node, weights and buffers, or the least that works.`,
      hard
        ? 'Capped runs are under `limit` with the same memory, the page cache dropped before each.'
        : 'Capped runs have --memory alone: `limit` is not there or not allowed here.',
      `Others are given up after ${PATIENCE.times} times as long as auto, and at least ${PATIENCE.least} s. Differences, (P − P*) / P*, by the evaluator: the worst of all rounds.`,
    ],
    ...{ tables: [table], details: [], notes: [] },
  }
  if (!(await spillway.version())) {
    context.skip('auto', `not measured: ${spillway.howToInstall}`)
    return section
  }
  const known = await knownSolvers()
  for (const solver of [...IN_MEMORY, ...FROM_BLOCKS].filter(each => !known.includes(each)))
    context.skip(`auto, ${solver}`, `not measured: this build has no solver ${solver}`)
  for await (const data of context.data(names)) {
    for (const where of ['plenty', 'capped'] as const) {
      const runs = new WholeRuns(context, data, `auto-${where}`)
      try {
        context.say(`auto ${data.name}, ${where}`)
        const memory = where === 'capped' ? await tenthOf(context, data, runs) : undefined
        const solvers = [...(memory ? [] : IN_MEMORY), ...FROM_BLOCKS].filter(solver => known.includes(solver))
        const { rows, details } = await compare(context, data, runs, solvers, memory, hard)
        table.rows.push(...rows)
        section.details.push(details)
      } catch (error) {
        context.skip(`auto, ${data.name}, ${where}`, error)
      } finally {
        await runs.end()
      }
    }
  }
  const ratios = table.rows.flatMap(({ ratio }) => (typeof ratio === 'number' ? [ratio] : []))
  if (ratios.length > 0)
    section.notes.push(
      `reached: ${reachedOf(table.rows, 'reached')}; geometric mean of auto / best: ${geometricMean(ratios).toFixed(2)}.`,
    )
  return section
}

const columns = {
  data: { title: 'data' },
  memory: { title: '--memory' },
  asked: { title: '--solver' },
  picked: { title: 'picked' },
  passes: { title: 'passes' },
  seconds: { title: 's', show: 'seconds' },
  spread: { title: 'spread', show: 'ratio' },
  peak: { title: 'peak MB', show: 'megabytes' },
  difference: { title: 'difference', show: 'difference' },
  ratio: { title: 'auto / best', show: 'ratio' },
  reached: { title: `reached: ≤ ${MOST}?` },
} as const

async function compare(
  context: SuiteContext,
  data: PreparedData,
  runs: WholeRuns,
  solvers: string[],
  memory: string | undefined,
  hard: boolean,
): Promise<{ rows: Record<string, Cell>[]; details: unknown }> {
  const contest = ['auto', ...solvers].map(
    (solver): WholeRun => ({
      ...{ name: solver, words: ['--solver', solver, ...(memory ? ['--memory', memory] : [])], stop: GAP },
      inMemory: IN_MEMORY.includes(solver),
      cold: context.cold || (memory !== undefined && hard),
      limits: { limit: memory && hard ? memory : context.limit },
      ...(solver !== 'auto' && {
        patience: first => Math.max(PATIENCE.least, PATIENCE.times * (first.get('auto')?.seconds ?? Infinity)),
      }),
    }),
  )
  const timed = await runs.time(contest)
  const judged = await runs.judge([...timed.keys()])
  const { workFolder, say } = context
  const reference = await referenceFor(data, { loss: 'hinge', cost: COST }, workFolder, say)
  const optimum = Math.min(reference.primal, ...[...judged.values()].map(({ primal }) => primal))
  const timings = new Map([...timed].map(([name, list]) => [name, timingOf(list)]))
  const named = [...timings].flatMap(([name, { seconds }]) => (name === 'auto' ? [] : [seconds]))
  const rows = [...timings].map(([asked, { seconds, spread, peakMemoryBytes }]): Record<string, Cell> => {
    const ratio = asked === 'auto' && named.length > 0 ? seconds / Math.min(...named) : undefined
    const told = timed.get(asked)![0].told
    return {
      ...{ data: data.name, memory: memory ?? 'plenty', asked, seconds, spread, peak: peakMemoryBytes },
      picked: asked === 'auto' ? (told?.['solver'] as string) : undefined,
      passes: told?.['passes'] as number,
      difference: (judged.get(asked)!.primal - optimum) / optimum,
      ...{ ratio, reached: ratio === undefined ? undefined : ratio <= MOST },
    }
  })
  const told = Object.fromEntries([...timed].map(([name, list]) => [name, list.map(run => run.told)]))
  return { rows, details: { data: data.name, memory, reference, optimum, timings: Object.fromEntries(timings), told } }
}

/** The memory whose plan holds a tenth of the rows, found with a store, where a try costs one pass; then from text. */
async function tenthOf({ workFolder, say }: SuiteContext, data: PreparedData, runs: WholeRuns): Promise<string> {
  const store = join(workFolder, `auto-${data.name}.spill`)
  const solver = (await knownSolvers()).includes('stream') ? 'stream' : 'selective'
  const probe = (memory: string): WholeRun => ({
    ...{ name: `memory ${memory}`, words: ['--solver', solver, '--memory', memory], maxPasses: 1, cold: false },
  })
  await spillway.ingest(data.file, store, { words: ['--blocks', '100'] })
  let memory = await memoryHolding(TENTH, each => runs.train({ ...probe(each), store }))
  for (let step = 0; ; step++) {
    try {
      await runs.train(probe(memory))
      say(`capped: --memory ${memory}`)
      return memory
    } catch (error) {
      const least = leastMemory(error)
      if (!least || step === STEPS) throw error
      memory = `${Math.min(Number.parseInt(least, 10), Math.ceil(Number.parseInt(memory, 10) * STEP))}M`
    }
  }
}
