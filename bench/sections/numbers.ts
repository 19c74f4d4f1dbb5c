// A table of numbers as CSV: how many megabytes a second one core reads.
import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { mkdir, rename, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { finished } from 'node:stream/promises'
import { cacheFolder } from '../data.ts'
import { measure } from '../measure.ts'
import { spillway } from '../peers/spillway.ts'
import { processTable } from '../process-table.ts'
import { type Contestant, interleave, timingOf } from '../rounds.ts'
import type { Section, SuiteContext, Table } from '../suite.ts'

/** Of the larger file; the smaller one has a tenth. What both take alike, such as the start, falls out of the difference. */
const ROWS = { small: 200_000, full: 2_000_000 }
const COLUMNS = 20
const GOAL_BYTES_A_SECOND = 300e6

export async function numbersSection(context: SuiteContext): Promise<Section> {
  const rows = ROWS[context.size]
  const files = await Promise.all([rows / 10, rows].map(numbersOf))
  const model = join(context.workFolder, 'numbers.model')
  const training = ['--label', 'label', '--max-passes', '3', '-q']
  await measure(spillway.command('train', files[0].data, model, ...training))
  const contestants: Contestant[] = files.map(({ data }, k) => ({
    name: k === 0 ? 'a tenth of the rows' : 'all rows',
    run: () =>
      measure(spillway.command('predict', data, model, '/dev/null', '--threads', '1', '-q'), { limit: context.limit }),
  }))
  const runs = await interleave(contestants, context.rounds, context.say)
  const [few, many] = contestants.map(({ name }) => timingOf(runs.get(name)!))
  const throughput = (files[1].bytes - files[0].bytes) / (many.cpuSeconds - few.cpuSeconds)
  const goal = GOAL_BYTES_A_SECOND
  const all = runs.get(contestants[1].name)!
  const { table } = processTable([['text to labels, a core', all]], columns, () => {
    return { throughput, goal, reached: throughput >= goal }
  })
  return {
    name: 'numbers',
    title: 'A table of numbers',
    goal: 'CSV at 300 MB/s a core.',
    protocol: [
      `${rows} rows of ${COLUMNS} numbers of up to six digits, and a label. spillway predict with one thread: reading, parsing and scoring.`,
      'Megabytes a second of computing: the difference between all rows and a tenth of them, in text and in processor time of all threads.',
    ],
    tables: [table],
    details: [few, many],
    notes: [],
  }
}

/** Rows of numbers, some with a fraction, made on first use. The label follows from the first two. */
async function numbersOf(rows: number): Promise<{ data: string; bytes: number }> {
  await mkdir(cacheFolder, { recursive: true })
  const data = join(cacheFolder, `numbers-${rows}.csv`)
  const found = await stat(data).catch(() => undefined)
  if (found) return { data, bytes: found.size }
  const out = createWriteStream(`${data}.part`)
  const names = Array.from({ length: COLUMNS }, (_, k) => `x${k + 1}`)
  out.write(`${names.join(',')},label\n`)
  let state = 1
  const random = (): number => {
    state = (state * 16807) % 2147483647
    return state / 2147483647
  }
  for (let r = 0; r < rows; r++) {
    const numbers = names.map((_, k) => (k % 2 ? (random() * 1000 - 500).toFixed(3) : Math.floor(random() * 10000)))
    const label = Number(numbers[0]) / 5000 + Number(numbers[1]) / 500 > 1 ? 1 : 0
    if (!out.write(`${numbers.join(',')},${label}\n`)) await once(out, 'drain')
  }
  out.end()
  await finished(out)
  await rename(`${data}.part`, data)
  return { data, bytes: (await stat(data)).size }
}

const columns: Table['columns'] = {
  throughput: { title: 'text a second of computing', show: 'megabytes' },
  goal: { title: 'goal', show: 'megabytes' },
  reached: { title: 'reached' },
}
