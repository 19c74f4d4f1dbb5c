// Tables into stores, and the same tables read by DuckDB alone.
import { rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { measure } from '../measure.ts'
import { spillway } from '../peers/spillway.ts'
import { processTable } from '../process-table.ts'
import { type Contestant, interleave } from '../rounds.ts'
import type { Section, SuiteContext, Table } from '../suite.ts'

const ROWS = { small: 400_000, full: 4_000_000 }
const scan = fileURLToPath(new URL('../peers/duckdb-scan.ts', import.meta.url))
const duckdb = (...words: string[]): string[] => [process.execPath, scan, ...words]

export async function besideDuckDb(context: SuiteContext): Promise<Section> {
  const { workFolder, rounds, limit, size, say } = context
  const rows = ROWS[size]
  const files = ['csv', 'parquet'].map(ending => join(workFolder, `numbers.${ending}`))
  const bytes = new Map<string, number>()
  for (const file of files) {
    say(`writing ${file}`)
    await measure(duckdb(file, 'MAKE', String(rows)))
    bytes.set(file, (await stat(file)).size)
  }
  const store = join(workFolder, 'numbers.spill')
  const contestants: (Contestant & { file: string })[] = files.flatMap(file => {
    const kind = file.split('.').pop()
    const ingest = async () => {
      // Columns are told by the first rows, so that the table is read once.
      const words = ['ingest', file, store, '--threads', '1', '--categorical', 'hash:10', '--compress', 'none', '-q']
      const measured = await measure(spillway.command(...words), { limit })
      await rm(store, { recursive: true })
      return measured
    }
    return [
      { name: `spillway ingest, ${kind}`, file, run: ingest },
      { name: `DuckDB scan, ${kind}`, file, run: () => measure(duckdb(file, '1'), { limit }) },
    ]
  })
  const runs = await interleave(contestants, rounds, say)
  const megabytes = new Map(contestants.map(({ name, file }) => [name, bytes.get(file)! / 1e6]))
  const { table, details } = processTable(runs, columns, (name, { cpuSeconds }) => {
    return { rowsEach: rows / cpuSeconds, megabytesEach: megabytes.get(name)! / cpuSeconds }
  })
  return {
    name: 'duckdb',
    title: 'Reading tables',
    goal: 'CSV of numbers at 300 MB/s a core; Parquet stated beside DuckDB’s own scan.',
    protocol: [
      `A table of 12 columns of numbers with three digits behind the point and a label, ${rows} rows, made by DuckDB.`,
      'Whole processes with one thread that parses. Spillway writes a store as well, which is counted; DuckDB adds all cells up.',
      'By the second of computing: user and system time of all threads.',
    ],
    tables: [table],
    details: details.map(each => ({ ...each, rows, megabytes: megabytes.get(each.name) })),
    notes: [],
  }
}

const columns: Table['columns'] = {
  rowsEach: { title: 'rows a second of computing', show: 'count' },
  megabytesEach: { title: 'MB of the file a second of computing', show: 'fixed2' },
}
