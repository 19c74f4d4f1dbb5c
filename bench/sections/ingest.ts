// Goals 6 and 7: text into the store, and how large the store is.
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { PreparedData } from '../data.ts'
import { describe } from '../evaluator.ts'
import { type ColdMethod, type Measured, makeCold, measure, warm } from '../measure.ts'
import { type IngestRun, spillway } from '../peers/spillway.ts'
import { reachedOf } from '../results.ts'
import { interleave, timingOf } from '../rounds.ts'
import type { Cell, Section, SuiteContext, Table } from '../suite.ts'

/** Bytes of text a second, from a warm cache. */
const SPEED = 1e9
const BYTES_PER_NONZERO = { text: 2.5, ones: 1.5, dense: 4 }
/** Below this, starting the program takes longer than reading the file: the speed is shown but not judged. */
const LEAST_BYTES = 200e6

export async function ingestSection(context: SuiteContext, names: string[]): Promise<Section> {
  const speed: Table = { title: 'Speed', columns: speedColumns, rows: [] }
  const size: Table = { title: 'Size', columns: sizeColumns, rows: [] }
  const section: Section = {
    name: 'ingest',
    title: 'Ingest: text into the block store',
    goal:
      `${SPEED / 1e9} GB of text a second from a warm cache (goal 6); bytes on disk per nonzero at most ` +
      `${BYTES_PER_NONZERO.text} for text features, ${BYTES_PER_NONZERO.ones} for 0/1 data, ${BYTES_PER_NONZERO.dense} for dense f32 (goal 7).`,
    protocol: [
      '`spillway ingest FILE STORE`, a whole process; beside it a plain read, `dd if=FILE of=/dev/null bs=1M`. The file has been read once before, or is thrown out of the page cache before every run (--cold): then no speed is judged.',
      `Files under ${LEAST_BYTES / 1e6} MB show mostly how long a program takes to start; their speed is not judged.`,
      'Size: all files of the store; nonzeros as the evaluator counts them.',
    ],
    tables: [speed, size],
    details: [],
    notes: [],
  }
  if (!(await spillway.has('ingest'))) {
    context.skip('ingest', `spillway ingest is not there: ${spillway.howToInstall}`)
    return section
  }
  const methods = new Set<ColdMethod>()
  for await (const data of context.data(names)) {
    try {
      const { dd, ingest, storeBytes } = await measureIngest(context, data, methods)
      const { nonzeros, rows } = await describe(data.file)
      const ratio = dd.seconds / ingest.seconds
      const isJudged = data.bytes >= LEAST_BYTES && !context.cold
      speed.rows.push({
        ...{ data: data.name, bytes: data.bytes },
        ...{ ddSeconds: dd.seconds, ddSpread: dd.spread, ddSpeed: data.bytes / dd.seconds },
        ...{ ingestSeconds: ingest.seconds, ingestSpread: ingest.spread, ingestSpeed: data.bytes / ingest.seconds },
        ...{
          memory: ingest.peakMemoryBytes,
          ratio,
          reached: isJudged ? data.bytes / ingest.seconds >= SPEED : undefined,
        },
      })
      const each = storeBytes / nonzeros
      const limit = BYTES_PER_NONZERO[data.values]
      size.rows.push({
        ...{ data: data.name, values: data.values, rows, nonzeros, textEach: data.bytes / nonzeros },
        ...({ storeBytes, each, limit, reached: each <= limit } satisfies Record<string, Cell>),
      })
      section.details.push({ data: data.name, dd, ingest, storeBytes, nonzeros })
    } catch (error) {
      context.skip(`ingest, ${data.name}`, error)
    }
  }
  section.notes.push(
    `Speed reached by ${reachedOf(speed.rows, 'reached')}, size by ${reachedOf(size.rows, 'reached')}.`,
  )
  if (context.cold) {
    section.notes.push(
      methods.has('fadvise')
        ? 'Cold: the file was dropped from the page cache with posix_fadvise (not root); the programs stayed warm.'
        : 'Cold: /proc/sys/vm/drop_caches, then both programs were started once, so that they themselves were warm.',
    )
  }
  return section
}

async function measureIngest(context: SuiteContext, data: PreparedData, methods: Set<ColdMethod>) {
  context.say(`ingest ${data.name}`)
  const store = join(context.workFolder, `${data.name}.spill`)
  let storeBytes = 0
  const ready = async (): Promise<void> => {
    if (!context.cold) return await warm(data.file)
    methods.add(await makeCold(data.file))
    // The goal is about the file, not about loading Node from the disk.
    await spillway.has('ingest')
    await measure(['dd', '--version'])
  }
  const runs = await interleave<Measured>(
    [
      {
        name: 'dd',
        run: async () => {
          await ready()
          return measure(['dd', `if=${data.file}`, 'of=/dev/null', 'bs=1M'])
        },
      },
      {
        name: 'ingest',
        run: async () => {
          await rm(store, { recursive: true, force: true })
          await ready()
          const run: IngestRun = await spillway.ingest(data.file, store, { limit: context.limit })
          storeBytes = run.storeBytes
          return run
        },
      },
    ],
    context.rounds,
    context.say,
  )
  await rm(store, { recursive: true, force: true })
  return { dd: timingOf(runs.get('dd')!), ingest: timingOf(runs.get('ingest')!), storeBytes }
}

const speedColumns = {
  data: { title: 'data' },
  bytes: { title: 'text MB', show: 'megabytes' },
  ddSeconds: { title: 'dd s', show: 'seconds' },
  ddSpread: { title: 'spread', show: 'ratio' },
  ddSpeed: { title: 'dd MB/s', show: 'megabytes' },
  ingestSeconds: { title: 'ingest s', show: 'seconds' },
  ingestSpread: { title: 'spread', show: 'ratio' },
  ingestSpeed: { title: 'ingest MB/s', show: 'megabytes' },
  ratio: { title: 'of dd', show: 'share' },
  memory: { title: 'peak MB', show: 'megabytes' },
  reached: { title: `${SPEED / 1e9} GB/s?` },
} as const

const sizeColumns = {
  data: { title: 'data' },
  values: { title: 'values' },
  rows: { title: 'rows', show: 'count' },
  nonzeros: { title: 'nonzeros', show: 'count' },
  textEach: { title: 'text bytes each', show: 'fixed2' },
  storeBytes: { title: 'store MB', show: 'megabytes' },
  each: { title: 'store bytes each', show: 'fixed2' },
  limit: { title: 'goal' },
  reached: { title: 'reached' },
} as const
