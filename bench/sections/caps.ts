// A run under a hard cap that is as large as its --memory: what it reads from the disk, and how long it takes beside the same
// run with more room. A program that has no room for its own pages reads them again and again.
import { copyFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { PreparedData } from '../data.ts'
import { CommandFailed, canLimit, type Measured, makeCold, measure } from '../measure.ts'
import { spillway } from '../peers/spillway.ts'
import { reachedOf, rowBefore } from '../results.ts'
import type { Cell, Section, SuiteContext, Table } from '../suite.ts'

const MEGABYTE = 2 ** 20
/** Caps in MiB: every step up to the most. */
const STEP = { small: 64, full: 16 }
const LEAST = 112
const MOST = 512
/** Of `ingest`: a store may be trained on in less. */
const LEAST_OF_INGEST = 148
/** The same run with so much more room, in MiB. */
const MORE = 64
const SLOWER = 1.5
export const MORE_READ = 1.5
/** Node's own file, read once from a cold disk, with what the disk reads ahead. */
const PROGRAM_BYTES = 130 * MEGABYTE
const GAP = 6e-3
/** What is asked of the command line for each: rows of a problem with two classes make bundles when folds are trained besides. */
const SOLVERS: Record<string, string[]> = {
  stream: ['--solver', 'stream'],
  selective: ['--solver', 'selective'],
  block: ['--solver', 'block'],
  bundles: ['--solver', 'block', '--calibrate', 'sigmoid'],
}
export const capSolvers = Object.keys(SOLVERS)
/** Seconds after which a run counts as crawling. */
const PATIENCE = 300

/** The section grows: it comes again after each climb. */
export async function* capsSection(context: SuiteContext, names: string[]): AsyncGenerator<Section> {
  const { from: least = LEAST, to: most = MOST, step = STEP[context.size], solvers = capSolvers } = context
  const table: Table = { columns, rows: [] }
  const section: Section = {
    name: 'caps',
    title: 'Hard caps',
    goal:
      `at every cap that is accepted: not killed; at most ${MORE_READ} times the bytes read from the disk that the program ` +
      `asked for; at most ${SLOWER} times the time of the same run under a cap of ${MORE}M more.`,
    protocol: [
      `Hinge loss to a relative gap of ${GAP}; \`limit --memory M -- spillway train … --memory M\`, from a cold disk.`,
      `Caps from ${least}M to ${most}M in steps of ${step}M; those that are refused have no line.`,
      'Bundles: block with --calibrate, which trains a model for each of five folds besides. Of many classes, all solvers train bundles.',
      "Bytes read are those that the system counts for the process (read_bytes of /proc/PID/io, by wait4). Node is a copy of its own: pages that other programs have in memory would not be charged to the cap. Its file's first reading is not counted.",
      `A run that takes more than ${PATIENCE} s is stopped. A pair of runs that is too far apart is run again, up to ${context.rounds} times in all; the smallest times count.`,
    ],
    ...{ tables: [table], details: [], notes: [] },
  }
  if (!(await canLimit())) {
    context.skip('caps', 'not measured: ../shared/bin/limit is missing, or needs root')
    yield section
    return
  }
  if ((await spillway.build()) === 'sources') {
    context.skip('caps', 'not measured: the program would run from its sources, which takes more memory; npm run build')
    yield section
    return
  }
  const node = join(context.workFolder, 'node')
  await copyFile(process.execPath, node)
  for await (const data of context.data(names)) {
    for (const from of ['text', 'store'] as const) {
      for (const solver of solvers) {
        await climb(context, table, { data, from, solver, node })
        section.notes = [`holds: ${reachedOf(table.rows, 'holds')}.`]
        yield section
      }
    }
  }
}

const columns: Table['columns'] = {
  data: { title: 'data' },
  from: { title: 'from' },
  solver: { title: 'solver' },
  cap: { title: 'cap MiB' },
  seconds: { title: 's', show: 'seconds' },
  roomier: { title: `s, ${MORE}M more`, show: 'seconds' },
  slower: { title: 'slower', show: 'ratio' },
  asked: { title: 'asked MB', show: 'megabytes' },
  diskBytes: { title: 'read MB', show: 'megabytes' },
  read: { title: 'read / asked', show: 'ratio' },
  holds: { title: 'holds?' },
  why: { title: 'if not' },
}

export interface Climb {
  data: Pick<PreparedData, 'name' | 'file'>
  from: 'text' | 'store'
  solver: string
  node: string
  /** The program, where it is not the usual one. */
  program?: string
}

/** From the least cap that is accepted to the most. What a run that broke off has measured is not measured again. */
async function climb(context: SuiteContext, table: Table, what: Climb): Promise<void> {
  const store = join(context.workFolder, 'caps.spill')
  const { data, from, solver } = what
  for (let cap = context.from ?? LEAST; cap <= (context.to ?? MOST); cap += context.step ?? STEP[context.size]) {
    const row: Record<string, Cell> = { data: data.name, from, solver, cap }
    const known = rowBefore(context.before, row)
    if (known) {
      table.rows.push(known)
      continue
    }
    try {
      const first = await trial(what, store, cap, cap)
      if (!first) continue
      let [tight, roomy] = [first, (await trial(what, store, cap, cap + MORE))!]
      // A busy minute falls on one of the two: a pair that does not hold is run again, and the smallest times count.
      for (let round = 1; round < context.rounds && tight.seconds > SLOWER * roomy.seconds; round++) {
        tight = faster(tight, (await trial(what, store, cap, cap))!)
        roomy = faster(roomy, (await trial(what, store, cap, cap + MORE))!)
      }
      const [slower, read] = [tight.seconds / roomy.seconds, readPerAsked(tight)]
      const why = [...(slower <= SLOWER ? [] : ['slow']), ...(read <= MORE_READ ? [] : ['reads'])].join(', ')
      const { seconds, asked, diskBytes } = tight
      Object.assign(row, { seconds, roomier: roomy.seconds, slower, asked, diskBytes, read, holds: why === '', why })
    } catch (error) {
      if (!(error instanceof CommandFailed)) throw error
      context.say(error.message)
      Object.assign(row, { holds: false, why: whyFailed(error) })
    } finally {
      await rm(store, { recursive: true, force: true })
    }
    context.say(
      `${data.name} from ${from}, ${solver}, ${cap}M: ${row['holds'] ? 'holds' : `does not hold: ${row['why']}`}`,
    )
    table.rows.push(row)
  }
}

const faster = <T extends Measured>(a: T, b: T): T => (a.seconds <= b.seconds ? a : b)

export function whyFailed({ message }: CommandFailed): string {
  if (message.includes('out of memory')) return 'killed'
  return message.startsWith('stopped after') ? `> ${PATIENCE} s` : 'failed'
}

/** Bytes that a run read from the disk beyond the program's own file, as a multiple of what it asked for. */
export const readPerAsked = ({ diskBytes, asked }: { diskBytes: number; asked: number }): number =>
  Math.max(0, diskBytes - PROGRAM_BYTES) / asked

/** One run; undefined where the memory is refused. */
export async function trial(
  { data, from, solver, node, program }: Climb,
  store: string,
  memory: number,
  cap: number,
): Promise<(Measured & { asked: number }) | undefined> {
  await rm(store, { recursive: true, force: true })
  const [, usual] = spillway.command()
  const words = (...rest: string[]): string[] => [node, program ?? usual, ...rest]
  const within = ['--memory', `${memory}M`]
  if (from === 'store') {
    const enough = `${Math.max(memory, LEAST_OF_INGEST)}M`
    await measure(words('ingest', data.file, store, '--memory', enough, '-q'))
  }
  const input = from === 'store' ? [store] : [data.file, '--store', store]
  const model = ['--model', join(store, '..', 'caps.model')]
  const settings = [...SOLVERS[solver], '--tolerance', String(GAP), '--json', '-q']
  await makeCold(data.file)
  try {
    const run = await measure(words('train', ...input, ...within, ...model, ...settings), {
      limit: `${cap}M`,
      timeout: PATIENCE,
    })
    // What models of folds read is not in the program's own sum.
    return { ...run, asked: run.askedBytes ?? 0 }
  } catch (error) {
    if (error instanceof CommandFailed && isRefusal(error)) return undefined
    throw error
  }
}

/** The end of a refusal: what is allowed, and how much would do. */
const isRefusal = ({ message }: CommandFailed): boolean =>
  message.includes('cannot work') || /\ballowed .*what would help: --memory/.test(message)
