// How long a run may take: an estimate, by what this machine did in a trial of a moment, and by the passes that runs took when they
// were measured. It is for choosing between plans, and promises nothing.
import { open } from 'node:fs/promises'
import { usableCores } from '../machine-memory.ts'
import type { Solver } from '../optimise/solvers/solver.ts'
import { train } from '../train/train.ts'

/** What there is to do. */
export interface Work {
  /** Bytes of text that are read before, and in a second by one thread; none of a store. */
  textBytes: number
  bytesPerSecond: number
  nonzeros: number
  /** Models that are trained one beside the other. */
  models: number
  /** Bytes that a pass reads from the disk. */
  bytesPerPass: number
  method: Solver
  tolerance: number
}

export interface Seconds {
  read: number
  pass: number
  passes: number
  all: number
}

/** Rows, features and entries of a row of the trial, and its passes. */
const TRIAL = { rows: 2000, features: 5000, entries: 50, passes: 20 }
const DISK_BYTES = 8 << 20

export class Speed {
  #nanoseconds: Promise<number> | undefined
  readonly #disk = new Map<string, Promise<number>>()

  /** Begins the trial, so that the first estimate need not wait for it. */
  warm(): void {
    this.#nanoseconds ??= nanosecondsPerNonzero()
    this.#nanoseconds.catch(() => {})
  }

  async estimate(path: string, work: Work): Promise<Seconds> {
    this.warm()
    const disk = work.bytesPerPass > 0 ? work.bytesPerPass / (await this.#diskSpeed(path)) : 0
    const read = work.textBytes / (work.bytesPerSecond * usableCores())
    // Reading goes on beside computing: the slower of the two is what a pass takes.
    const pass = Math.max(disk, (work.nonzeros * work.models * (await this.#nanoseconds!)) / 1e9)
    const passes = typicalPasses(work.method, work.tolerance)
    return { read, pass, passes, all: read + passes * pass }
  }

  /** Bytes in a second, by the beginning of a file. */
  #diskSpeed(path: string): Promise<number> {
    let speed = this.#disk.get(path)
    if (!speed) {
      speed = readSpeed(path)
      this.#disk.set(path, speed)
    }
    return speed
  }
}

/** Passes over all rows, the first number, and so many more with every power of ten of the tolerance. Measured with C = 1, rows of
 *  unit length, the hinge, the squared hinge and the logistic loss on 3,000 to 8,000 rows like clicks, connections, kddb and
 *  yahoo-korea. At 1e-1, 1e-3 and 1e-4 there were 2 to 5, 4 to 10 and 5 to 12 passes in memory; 2 to 6, 2 to 11 and 2 to 22 over 8
 *  blocks; 4 to 16, 5 to 33 and 5 to 63 of second-order steps. A larger C takes more. */
const PASSES = {
  inMemory: [1, 2],
  inBlocks: [1, 1.5],
  gradient: [5, 5],
} as const

function typicalPasses({ dual, data }: Solver, tolerance: number): number {
  const decades = Math.max(0, -Math.log10(tolerance))
  const [first, each] = !dual ? PASSES.gradient : data === 'memory' ? PASSES.inMemory : PASSES.inBlocks
  return Math.max(1, Math.round(first + each * decades))
}

/** Trains on rows that are made up, all in memory, by the solver of most runs. */
async function nanosecondsPerNonzero(): Promise<number> {
  const { rows, features, entries, passes } = TRIAL
  const data = Array.from({ length: rows }, (_, r) => {
    const indices = Array.from({ length: entries }, (_, k) => 1 + k * (features / entries) + ((r * 7 + k * 13) % 97))
    return { label: (r * 31) % 7 < 3 ? 1 : -1, indices, values: indices.map((_, k) => ((r + k) % 11) / 11 - 0.4) }
  })
  const run = train(data, { threads: 1, maxPasses: passes, tolerance: 1e-9, shrinking: false })
  let before: { seconds: number; pass: number } | undefined
  let least = Number.POSITIVE_INFINITY
  for await (const progress of run) {
    if (progress.stage !== 'train') continue
    const { seconds, pass } = progress
    // The quickest pass: others may have waited for other programs.
    if (before && pass > before.pass) least = Math.min(least, (seconds - before.seconds) / (pass - before.pass))
    before = { seconds, pass }
  }
  const { seconds, passes: made } = await run.result
  const each = Number.isFinite(least) && least > 0 ? least : seconds.compute / Math.max(1, made)
  return (each * 1e9) / (rows * entries)
}

async function readSpeed(path: string): Promise<number> {
  await using file = await open(path, 'r')
  const bytes = new Uint8Array(DISK_BYTES)
  const started = performance.now()
  const { bytesRead } = await file.read(bytes, 0, bytes.length, 0)
  return bytesRead / Math.max(1e-4, (performance.now() - started) / 1000)
}
