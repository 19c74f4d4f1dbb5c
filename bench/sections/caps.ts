// A run under a hard cap that is as large as its --memory: what it reads from the disk, and how long it takes beside the same
// run with more room. A program that has no room for its own pages reads them again and again.
import { copyFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { PreparedData } from '../data.ts'
import { CommandFailed, canLimit, type Measured, makeCold, measure } from '../measure.ts'
import { spillway } from '../peers/spillway.ts'
import type { Cell, Section, SuiteContext, Table } from '../suite.ts'

const MEGABYTE = 2 ** 20
/** Caps in MiB: every step up to the most. */
const STEP = { small: 64, full: 16 }
const LEAST = 112
const MOST = 512
/** The same run with so much more room, in MiB. */
const MORE = 64
const SLOWER = 1.5
export const MORE_READ = 1.5
/** Node's own file, read once from a cold disk, with what the disk reads ahead. */
const PROGRAM_BYTES = 130 * MEGABYTE
const GAP = 6e-3
const SOLVERS = ['stream', 'selective', 'block']
/** Seconds after which a run counts as crawling. */
const PATIENCE = 300

export async function capsSection(context: SuiteContext, names: string[]): Promise<Section> {
  const table: Table = { columns, rows: [] }
  const section: Section = {
    name: 'caps',
    title: 'Hard caps',
    goal:
      `at every cap that is accepted: not killed; at most ${MORE_READ} times the bytes read from the disk that the program ` +
      `asked for; at most ${SLOWER} times the time of the same run under a cap of ${MORE}M more.`,
    protocol: [
      `Hinge loss to a relative gap of ${GAP}; \`limit --memory M -- spillway train … --memory M\`, from a cold disk.`,
      "Node is a copy of its own: pages that other programs have in memory would not be charged to the cap. Its file's first reading is not counted.",
      `A run that takes more than ${PATIENCE} s is stopped.`,
    ],
    ...{ tables: [table], details: [], notes: [] },
  }
  if (!(await canLimit())) {
    context.skip('caps', 'not measured: ../shared/bin/limit is missing, or needs root')
    return section
  }
  const node = join(context.workFolder, 'node')
  await copyFile(process.execPath, node)
  for await (const data of context.data(names)) {
    for (const from of ['text', 'store'] as const) {
      for (const solver of SOLVERS) await climb(context, table, { data, from, solver, node })
    }
  }
  return section
}

const columns: Table['columns'] = {
  data: { title: 'data' },
  from: { title: 'from' },
  solver: { title: 'solver' },
  cap: { title: 'cap', show: 'megabytes' },
  seconds: { title: 's', show: 'seconds' },
  roomier: { title: `s, ${MORE}M more`, show: 'seconds' },
  slower: { title: 'slower', show: 'ratio' },
  read: { title: 'read / asked', show: 'ratio' },
  holds: { title: 'holds?' },
}

export interface Climb {
  data: Pick<PreparedData, 'name' | 'file'>
  from: 'text' | 'store'
  solver: string
  node: string
  /** The program, where it is not the usual one. */
  program?: string
}

/** From the least cap that is accepted to the most. */
async function climb(context: SuiteContext, table: Table, what: Climb): Promise<void> {
  const store = join(context.workFolder, 'caps.spill')
  for (let cap = LEAST; cap <= MOST; cap += STEP[context.size]) {
    const { data, from, solver } = what
    const row: Record<string, Cell> = { data: data.name, from, solver, cap: cap * MEGABYTE }
    try {
      const tight = await trial(what, store, cap, cap)
      if (!tight) continue
      const roomy = await trial(what, store, cap, cap + MORE)
      const slower = tight.seconds / roomy!.seconds
      const read = readPerAsked(tight)
      const holds = slower <= SLOWER && read <= MORE_READ
      Object.assign(row, { seconds: tight.seconds, roomier: roomy!.seconds, slower, read, holds })
    } catch (error) {
      if (!(error instanceof CommandFailed)) throw error
      context.say(error.message)
      row['holds'] = false
    } finally {
      await rm(store, { recursive: true, force: true })
    }
    context.say(`${data.name} from ${what.from}, ${what.solver}, ${cap}M: ${row['holds'] ? 'holds' : 'does not hold'}`)
    table.rows.push(row)
  }
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
  if (from === 'store') await measure(words('ingest', data.file, store, ...within, '-q'))
  const input = from === 'store' ? [store] : [data.file, '--store', store]
  const model = ['--model', join(store, '..', 'caps.model')]
  const settings = ['--solver', solver, '--tolerance', String(GAP), '--json', '-q']
  await makeCold(data.file)
  try {
    const run = await measure(words('train', ...input, ...within, ...model, ...settings), {
      limit: `${cap}M`,
      timeout: PATIENCE,
    })
    const told = JSON.parse(run.stdout) as { bytesRead: number }
    return { ...run, asked: told.bytesRead }
  } catch (error) {
    if (error instanceof CommandFailed && error.message.includes('cannot work')) return undefined
    throw error
  }
}
