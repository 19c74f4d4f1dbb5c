// Makes data that is like a known set. Chunks of rows are made by worker threads, each from (seed, chunk number), and
// written in order; so the bytes are the same for any number of threads.

import { SpillwayError, UsageError } from '../errors.ts'
import { refuseSameFile } from '../files/same-file.ts'
import { Arena } from '../numeric/arena.ts'
import { defaultThreads, ThreadPool } from '../threads/pool.ts'
import type { GeneratedChunk } from './generate-chunk-task.ts'
import { generateChunkTask } from './generate-chunk-task.ts'
import { type Likeness, likenesses } from './likenesses.ts'
import { layPlan, type Plan } from './plan.ts'
import { openTextOutput } from './text-output.ts'

export interface GenerateOptions {
  /** A name in likenesses. */
  like: string
  /** Rows to make. */
  rows?: number
  /** Bytes of text to make, before compression, instead of a number of rows. */
  size?: number
  seed?: number
  /** The real set's number unless given; the skew stays. */
  features?: number
  /** Share of labels that are wrong. */
  noise?: number
  threads?: number
  /** A second file, of other rows with the same hidden model. */
  test?: string
  /** A quarter of the rows unless given. */
  testRows?: number
  signal?: AbortSignal
  onProgress?: (progress: GenerateProgress) => void
}

export interface GenerateProgress {
  file: string
  rows: number
  bytes: number
  /** From 0 to 1. */
  done: number
}

export interface GeneratedFile {
  file: string
  rows: number
  /** Of a table: cells behind the labels that are not empty. */
  nonzeros: number
  /** Bytes of text, before compression. */
  bytes: number
}

export interface GenerateResult extends GeneratedFile {
  like: string
  features: number
  seconds: number
  test?: GeneratedFile
}

export const DEFAULT_SIZE = 2 ** 30
const LARGEST_FEATURES = 4294967294

/** Makes a file of data like a known set; `-` is standard output, endings .gz and .zst compress. */
export async function generate(file: string, options: GenerateOptions): Promise<GenerateResult> {
  const likeness = findLikeness(options.like)
  const { test, seed = 1, threads = defaultThreads() } = options
  const usual = options.size === undefined && likeness.asManyRows ? likeness.rows : undefined
  const rows = options.rows ?? usual
  const features = options.features ?? likeness.features
  const noise = options.noise ?? likeness.noise
  if (options.features !== undefined && likeness.shape.kind === 'table') {
    throw new UsageError(`${options.like} is a table of ${likeness.features} columns: it takes no number of features`)
  }
  if (rows !== undefined && options.size !== undefined) {
    throw new UsageError('both rows and a size were given; one of them says how much data to make')
  }
  demand('rows', rows, 1, Number.MAX_SAFE_INTEGER)
  demand('size', options.size, 1, Number.MAX_SAFE_INTEGER)
  demand('seed', seed, 0, Number.MAX_SAFE_INTEGER)
  demand('features', features, fewestFeatures(likeness), LARGEST_FEATURES)
  demand('test rows', options.testRows, 1, Number.MAX_SAFE_INTEGER)
  demand('threads', threads, 1, 1024)
  if (!(noise >= 0 && noise <= 0.5)) throw new UsageError(`noise is ${noise}; expected a number from 0 to 0.5`)
  if (options.testRows !== undefined && test === undefined) {
    throw new UsageError('a number of test rows was given, but no file for them', 'add --test FILE')
  }
  await refuseSameFile({ reads: [], writes: test === undefined ? [file] : [file, test] })
  const started = performance.now()
  const arena = new Arena()
  const plan = layPlan(arena, likeness, { seed, features, noise })
  const run = new Run(arena, plan, threads, options)
  try {
    const made = await run.write(file, 0, { rows, size: options.size ?? DEFAULT_SIZE })
    const result: GenerateResult = { like: options.like, features, seconds: 0, ...made }
    if (test !== undefined) {
      const testRows = options.testRows ?? Math.max(1, Math.round(made.rows / 4))
      result.test = await run.write(test, 1, { rows: testRows, size: Infinity })
    }
    result.seconds = (performance.now() - started) / 1000
    return result
  } finally {
    await run.close()
  }
}

export function findLikeness(name: string): Likeness {
  if (!Object.hasOwn(likenesses, name)) {
    throw new UsageError(`there is no likeness "${name}"; expected one of ${Object.keys(likenesses).join(', ')}`)
  }
  return likenesses[name]
}

/** Digits of fewer pixels look alike. */
const LEAST_PIXELS = 64

/** Each group of features needs a pair, and the widest stays so. */
function fewestFeatures({ shape }: Likeness): number {
  if (shape.kind === 'table') return 1
  if (shape.kind === 'drawn') return LEAST_PIXELS
  return shape.kind === 'dense' ? 1 : shape.groups.length * 4
}

function demand(what: string, value: number | undefined, least: number, most: number): void {
  if (value === undefined || (Number.isInteger(value) && value >= least && value <= most)) return
  const bounds = most === Number.MAX_SAFE_INTEGER ? `of at least ${least}` : `from ${least} to ${most}`
  throw new UsageError(`${what} is ${value}; expected a whole number ${bounds}`)
}

interface Slot {
  scratch: number
  text: number
}

interface Job {
  slot: Slot
  rows: number
  result: Promise<GeneratedChunk>
}

class Run {
  readonly #arena: Arena
  readonly #plan: Plan
  readonly #pool: ThreadPool
  readonly #slots: Slot[] = []
  readonly #options: GenerateOptions

  constructor(arena: Arena, plan: Plan, threads: number, options: GenerateOptions) {
    this.#arena = arena
    this.#plan = plan
    this.#options = options
    // One chunk in the making per thread, one being written, and one waiting so that no thread waits for the disk.
    for (let k = 0; k < threads + 2; k++) {
      this.#slots.push({
        scratch: arena.allocate(plan.slotBytes, 'scratch of the generator'),
        text: arena.allocate(plan.textBytes, 'generated text'),
      })
    }
    const oneChunk = (options.rows ?? Number.POSITIVE_INFINITY) <= plan.chunkRows
    this.#pool = new ThreadPool(arena.share, threads, {
      inPlace: oneChunk && options.threads === undefined ? 'small' : 'never',
    })
  }

  /** Writes one file of so many rows, or, without a number of rows, of so many bytes. */
  async write(file: string, stream: number, goal: { rows?: number; size: number }): Promise<GeneratedFile> {
    const { chunkRows, address } = this.#plan
    const { signal, onProgress } = this.#options
    const goalRows = goal.rows ?? Infinity
    const goalBytes = goal.rows === undefined ? goal.size : Infinity
    const output = await openTextOutput(file)
    const made: GeneratedFile = { file, rows: 0, nonzeros: 0, bytes: 0 }
    const free = [...this.#slots]
    const flying: Job[] = []
    let asked = 0
    let chunk = 0
    try {
      while (made.rows < goalRows && made.bytes < goalBytes) {
        for (; free.length > 0 && asked < goalRows; chunk++) {
          const slot = free.pop()!
          const rows = Math.min(chunkRows, goalRows - asked)
          const { scratch, text } = slot
          const result = this.#pool.run(generateChunkTask, { plan: address, slot: scratch, text, rows, chunk, stream })
          result.catch(() => {})
          flying.push({ slot, rows, result })
          asked += rows
        }
        const job = flying.shift()!
        const { bytes, nonzeros } = await job.result
        if (signal?.aborted) throw new SpillwayError('interrupted; nothing was kept', undefined, 130)
        const text = this.#arena.bytes(job.slot.text, bytes)
        const room = goalBytes - made.bytes
        if (bytes <= room) {
          await output.write(text)
          made.rows += job.rows
          made.nonzeros += nonzeros
          made.bytes += bytes
        } else {
          // The last chunk is cut after the row that ends nearest below the size; a file has one row at least.
          const end = text.lastIndexOf(LINE_FEED, room - 1) + 1 || (made.rows === 0 ? text.indexOf(LINE_FEED) + 1 : 0)
          const part = text.subarray(0, end)
          await output.write(part)
          made.rows += countByte(part, LINE_FEED)
          made.nonzeros += this.#plan.isTable ? countFilledCells(part) : countByte(part, COLON)
          made.bytes += end
          break
        }
        free.push(job.slot)
        const done = Math.min(1, goal.rows === undefined ? made.bytes / goalBytes : made.rows / goalRows)
        onProgress?.({ file, rows: made.rows, bytes: made.bytes, done })
      }
      await output.close()
    } catch (error) {
      await output.discard()
      throw error
    } finally {
      // Chunks beyond the end are still being made; their slots are used again only when they are done.
      await Promise.allSettled(flying.map(job => job.result))
    }
    return made
  }

  close(): Promise<void> {
    return this.#pool.close()
  }
}

const TAB = 9
const LINE_FEED = 10
const COLON = 58

/** Cells behind labels that are not empty: each begins behind a tab. */
function countFilledCells(rows: Uint8Array): number {
  let count = 0
  for (let at = 1; at < rows.length; at++) {
    if (rows[at - 1] === TAB && rows[at] !== TAB && rows[at] !== LINE_FEED) count++
  }
  return count
}

function countByte(bytes: Uint8Array, byte: number): number {
  let count = 0
  for (const b of bytes) if (b === byte) count++
  return count
}
