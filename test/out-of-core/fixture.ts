// Stores in a folder that goes away, memories that hold so many of their blocks, and runs that are stopped on the way.
import assert from 'node:assert/strict'
import { cpSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import { type IngestOptions, ingest } from '../../src/block-store/ingest.ts'
import { loadStore } from '../../src/block-store/load-store.ts'
import { openStore } from '../../src/block-store/reader.ts'
import { encodeModel } from '../../src/model/own-file.ts'
import { Arena } from '../../src/numeric/arena.ts'
import { findSolver } from '../../src/optimise/solvers/all-solvers.ts'
import type { BlockSolver } from '../../src/optimise/solvers/solver.ts'
import { planLines } from '../../src/optimise/sources/memory-plan.ts'
import { NODE_BYTES, PROGRAM_PAGES } from '../../src/sizes.ts'
import { ThreadPool } from '../../src/threads/pool.ts'
import { afterIngest } from '../../src/train/memory-while-reading.ts'
import { resolveOptions, type TrainOptions } from '../../src/train/options.ts'
import { planFor } from '../../src/train/plan-for-blocks.ts'
import type { PlanProgress, Progress, TrainProgress } from '../../src/train/progress.ts'
import { train } from '../../src/train/train.ts'
import type { TrainResult } from '../../src/train/training-run.ts'
import { noisyRows } from '../contracts/small-problems.ts'
import type { Folder } from '../folders.ts'
import { randomNumbers } from '../numeric/reference.ts'

export { type Folder, fastFolder } from '../folders.ts'

/** A store of noisy rows. */
export async function noisyStore(
  folder: Folder,
  name: string,
  { rows = 1200, features = 25, seed = 7, ...more }: { rows?: number; features?: number } & IngestOptions = {},
): Promise<string> {
  const text = folder.write(`${name}.svm`, `${noisyRows(rows, features, seed)}\n`)
  const path = join(folder.path, `${name}.spill`)
  await ingest(text, path, { blocks: 8, threads: 1, ...more })
  return path
}

/** LIBSVM text of rows of three classes: noisy rows, and the sign of two of their features. */
export function threeClasses(rows: number, seed: number): string {
  const random = randomNumbers(seed)
  return Array.from({ length: rows }, () => {
    const x = Array.from({ length: 6 }, () => Math.fround(random() * 2 - 1))
    const label = random() < 0.1 ? Math.floor(random() * 3) : x[0] + x[1] > 0.3 ? 2 : x[2] > 0 ? 1 : 0
    return `${label} ${x.map((value, j) => `${j + 1}:${value}`).join(' ')}`
  }).join('\n')
}

/** The same as text, and in a store of eight blocks. */
export async function threeClassStore(
  folder: Folder,
  name: string,
  rows: number,
  seed: number,
): Promise<{ text: string; path: string; store: string }> {
  const text = threeClasses(rows, seed)
  const path = folder.write(`${name}.svm`, `${text}\n`)
  const store = join(folder.path, `${name}.spill`)
  await ingest(path, store, { blocks: 8, threads: 1 })
  return { text, path, store }
}

/** Bytes of memory that hold just so many of the largest blocks together, twice: one lot at work and one being read. */
export async function memoryFor(store: string, together: number, options: TrainOptions = {}): Promise<number> {
  const resolved = resolveOptions({ solver: 'block', ...options, memory: undefined })
  const opened = await openStore(store)
  const found = findSolver(options.solver ?? 'block')
  const solver = (found.data === 'memory' ? found.inBlocks : found) as BlockSolver
  const plan = await planFor(opened, solver, resolved)
  const besides = plan.parts
    .filter(part => !/loaded blocks|taken while|cache/.test(part.what))
    .reduce((sum, part) => sum + part.bytes, 0)
  const perRow = 8 + (resolved.loss === 'logistic' ? 16 : 8) + (opened.manifest.rowWeights ? 8 : 0)
  const most = (field: 'bytes' | 'rows'): number => Math.max(...plan.costs.map(cost => cost[field]))
  const largest = most('bytes') + most('rows') * perRow
  return besides + PROGRAM_PAGES + Math.ceil((2 * together * largest) / (1 - solver.cacheShare))
}

/** A small memory with so many MiB of room for rows, weights and buffers, besides Node and what a plan leaves alone. Text that
 *  is read in the same process leaves something behind. */
export function memoryWithRoom(mebibytes: number, data: 'store' | 'text'): string {
  const alone = PROGRAM_PAGES + (data === 'text' ? afterIngest(0) : 0)
  return `${(NODE_BYTES + alone) / 2 ** 20 + mebibytes}M`
}

/** The same rows in longer text, with spaces at the ends of its lines: so much text is taken for more than a small memory holds,
 *  though its rows are few. */
export function padded(text: string, bytes: number): string {
  const lines = text.trimEnd().split('\n')
  const spaces = ' '.repeat(Math.ceil(bytes / lines.length))
  return `${lines.join(`${spaces}\n`)}\n`
}

export interface Told {
  result: TrainResult
  records: Progress[]
  train: TrainProgress[]
  /** Certificates that were made. */
  certificates: number
}

/** Runs, calling `at` with every record of training, but those of a certificate's pass, and its number from 1. */
export async function told(
  data: string,
  options: TrainOptions,
  at: (record: TrainProgress, count: number) => void = () => {},
): Promise<Told> {
  const run = train(data, options)
  const records: Progress[] = []
  const training: TrainProgress[] = []
  for await (const record of run) {
    records.push(record)
    if (record.stage !== 'train' || record.certificate !== undefined) continue
    training.push(record)
    at(record, training.length)
  }
  const certificates = training.filter(record => record.certified).length
  return { result: await run.result, records, train: training, certificates }
}

/** Runs until so many records of training were told, and aborts. What was told by then may be one more. */
export function abortAfter(data: string, options: TrainOptions, records: number): Promise<Told> {
  const stop = new AbortController()
  return told(data, { ...options, signal: stop.signal }, (_, count) => {
    if (count === records) stop.abort()
  })
}

export function assertSameModel(got: TrainResult, expected: TrainResult): void {
  assert.deepEqual(got.model, expected.model)
  assert.ok(Buffer.from(encodeModel(got.model)).equals(encodeModel(expected.model)), 'the models differ in their bytes')
}

/** A copy of a store, its training states left behind unless wanted, and always the locks of those that are being trained. */
export function copyStore(store: string, to: string, states = false): string {
  assert.ok(!existsSync(to))
  cpSync(store, to, {
    recursive: true,
    filter: source => !/state-[0-9a-f]{12}\.lock/.test(source) && (states || !/state-[0-9a-f]{12}/.test(source)),
  })
  return to
}

/** Reads the store through and decodes it. */
export async function assertSound(folder: string): Promise<void> {
  const { problems } = await (await openStore(folder)).verify(new Arena(), { decode: true })
  assert.deepEqual(problems, [])
}

/** The memory plan that a record tells, as lines of a table. */
export function linesOf({ memory }: PlanProgress): string[] {
  return memory ? planLines(memory.parts, memory.allowed) : []
}

/** The weights of a store's rows, in the order of its blocks. */
export async function weightsOfStore(path: string): Promise<number[] | undefined> {
  const arena = new Arena()
  await using pool = new ThreadPool(arena.share, 1)
  const { rows } = await loadStore(arena, pool, await openStore(path), { unit: false, plain: false }, () => {})
  return rows.rowWeights ? [...arena.f64(rows.rowWeights, rows.rows)] : undefined
}
