// Goal 14: a table of clicks to a logistic model, in one pass.
import { mkdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { cacheFolder } from '../data.ts'
import { measure } from '../measure.ts'
import { spillway } from '../peers/spillway.ts'
import { processTable } from '../process-table.ts'
import { type Contestant, interleave } from '../rounds.ts'
import type { Section, SuiteContext, Table } from '../suite.ts'

const ROWS = { small: 200_000, full: 4_000_000 }
const GOAL_ROWS_A_SECOND = 1_500_000
/** 26 columns of 2^15 features, and the numbers: fewer than 2^20 weights. */
const TABLE = ['--header', 'no', '--label', '1', '--categorical', 'hash:15']
const TRAINING = [...TABLE, '--loss', 'logistic', '--solver', 'dual', '--max-passes', '1']

export async function criteoSection(context: SuiteContext): Promise<Section> {
  const rows = ROWS[context.size]
  const { data, bytes } = await clicks(rows)
  const model = join(context.workFolder, 'criteo.model')
  const train = (words: string[]): Contestant['run'] => {
    return () => measure(spillway.command('train', data, model, ...TRAINING, '-q', ...words), { limit: context.limit })
  }
  const ingest = ['ingest', data, join(context.workFolder, 'criteo.spill'), ...TABLE, '--overwrite', '-q']
  const contestants: Contestant[] = [
    { name: 'text to model, all threads', run: train([]) },
    { name: 'text to model, one thread', run: train(['--threads', '1']) },
    { name: 'text to store', run: () => measure(spillway.command(...ingest), { limit: context.limit }) },
  ]
  const runs = await interleave(contestants, context.rounds, context.say)
  const { table, details } = processTable(runs, columns, (name, { seconds }) => {
    const each = Math.round(rows / seconds)
    const goal = name === contestants[0].name ? GOAL_ROWS_A_SECOND : undefined
    return { each, throughput: bytes / seconds, goal, reached: goal === undefined ? undefined : each >= goal }
  })
  return {
    name: 'criteo',
    title: 'A table of clicks',
    goal: 'Goal 14: 1,500,000 rows a second on two cores, one logistic pass, 2^20 weights.',
    protocol: [
      `${rows} rows like criteo: 13 numbers and 26 names in TSV. Whole processes, reading, hashing and the certificate included.`,
      `spillway train ${TRAINING.join(' ')}`,
    ],
    tables: [table],
    details: details.map(each => ({ ...each, rows, bytes })),
    notes: [],
  }
}

/** Rows like criteo, made on first use. */
async function clicks(rows: number): Promise<{ data: string; bytes: number }> {
  await mkdir(cacheFolder, { recursive: true })
  const data = join(cacheFolder, `criteo-${rows}.tsv`)
  const found = await stat(data).catch(() => undefined)
  if (!found) await measure(spillway.command('generate', '--like', 'criteo', data, '--rows', String(rows), '-q'))
  return { data, bytes: (await stat(data)).size }
}

const columns: Table['columns'] = {
  each: { title: 'rows a second', show: 'count' },
  throughput: { title: 'text a second', show: 'megabytes' },
  goal: { title: 'goal', show: 'count' },
  reached: { title: 'reached' },
}
