// Rows that no process has room for: one holds 4 GiB of them, two ranks hold 5. Their speed is compared with that of the same two
// ranks on a file of a tenth, which fits anywhere.
import { rm } from 'node:fs/promises'
import type { PreparedData } from '../data.ts'
import type { Cell, Section, SuiteContext, Table } from '../suite.ts'
import { decodedBytes } from './memory-words.ts'
import { CORES, mpirunFor, type RankRun, RankRuns, type RankTiming } from './rank-runs.ts'

const GIBIBYTE = 2 ** 30
/** What one process holds, and what the rows are to come to. */
const WINDOW = 4 * GIBIBYTE
const WANTED = 5 * GIBIBYTE
/** As fast as in memory: a pass takes at most so many times as long for each nonzero. */
const SLOWER = 1.3
const RANKS = 2
const GAP = 1e-2
const LBFGS: RankRun['method'] = { solver: 'lbfgs', loss: 'logistic' }
const AUTO: RankRun['method'] = { solver: 'auto', loss: 'logistic' }

/** `large` has rows beyond the window; `small` is like it, and fits. */
export async function windowSection(context: SuiteContext, large: string, small: string): Promise<Section> {
  const table: Table = { columns, rows: [] }
  const section: Section = {
    name: 'window',
    title: 'More rows than one process holds',
    goal: `two ranks on two free cores train on ${WANTED / GIBIBYTE} GiB of decoded rows, with passes that take at most ${SLOWER} times as long for each nonzero as in memory.`,
    protocol: [
      `Logistic loss to a gap of ${GAP}, lbfgs, C = 1, from text in the page cache. One process holds ${WINDOW / GIBIBYTE} GiB: alone it goes to blocks on disk, as auto says.`,
      'Decoded bytes: 8 for each nonzero and 24 for each row. Nanoseconds are those of computing, for each nonzero of all rows and each pass.',
    ],
    ...{ tables: [table], details: [], notes: [] },
  }
  if (context.size !== 'full') {
    context.skip('window', 'not measured: it takes 10 GB of text, and 12 GB of memory; --size full')
    return section
  }
  const mpirun = await mpirunFor(context, 'window')
  if (!mpirun) return section
  for await (const data of context.data([small, large])) {
    const runs = new RankRuns(context, data, mpirun, 'window')
    const plan: RankRun[] = [
      { name: 'two ranks', method: LBFGS, ranks: RANKS, threads: Math.max(1, Math.floor(CORES / RANKS)), stop: GAP },
      { name: 'one process', method: AUTO, ranks: 1, stop: GAP },
    ]
    // A store of an earlier run would be taken, and no text be read.
    const store = `${data.file}.spill`
    await rm(store, { recursive: true, force: true })
    const timings = await runs.time(plan)
    await rm(store, { recursive: true, force: true })
    table.rows.push(...timings.map(timing => rowOf(data, timing)))
    section.details.push({ data: data.name, timings })
  }
  section.notes.push(...windowVerdict(table.rows))
  return section
}

const columns: Table['columns'] = {
  data: { title: 'data' },
  text: { title: 'text MB', show: 'megabytes' },
  decoded: { title: 'decoded GiB', show: 'fixed2' },
  who: { title: 'who' },
  solver: { title: 'solver' },
  seconds: { title: 's', show: 'seconds' },
  spread: { title: 'spread', show: 'ratio' },
  read: { title: 'reading s', show: 'seconds' },
  compute: { title: 'computing s', show: 'seconds' },
  passes: { title: 'passes', show: 'count' },
  nanoseconds: { title: 'ns a nonzero and pass', show: 'fixed2' },
  memory: { title: 'MB, largest rank', show: 'megabytes' },
}

export function rowOf(data: Pick<PreparedData, 'name' | 'bytes'>, timing: RankTiming): Record<string, Cell> {
  const { run, inside, passes, told } = timing
  const nonzeros = Number(told['nonzeros'])
  return {
    ...{ data: data.name, text: data.bytes, decoded: decodedBytes(told) / GIBIBYTE, who: run.name },
    ...{ solver: String(told['solver']), seconds: timing.timing.seconds, spread: timing.timing.spread },
    ...{ read: inside.read, compute: inside.compute, passes, memory: timing.timing.peakMemoryBytes },
    nanoseconds: (1e9 * inside.compute) / (passes * nonzeros),
  }
}

/** Whether rows beyond the window were trained on at the speed of those within. */
export function windowVerdict(rows: Record<string, Cell>[]): string[] {
  const [small, large] = rows.filter(row => row['who'] === 'two ranks')
  if (!large) return []
  const decoded = Number(large['decoded'])
  if (decoded < WANTED / GIBIBYTE) return [`the rows are ${decoded.toFixed(2)} GiB, less than was wanted.`]
  const ratio = Number(large['nanoseconds']) / Number(small['nanoseconds'])
  return [
    `${decoded.toFixed(2)} GiB of rows: a pass takes ${ratio.toFixed(2)} times as long for each nonzero as with ` +
      `${Number(small['decoded']).toFixed(2)} GiB; ${ratio <= SLOWER ? 'reached' : 'not reached'}.`,
  ]
}
