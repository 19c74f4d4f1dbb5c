// How long a run may take: an estimate, by a trial on some rows of the data and by what runs took when they were measured. It is for
// choosing between plans, and promises nothing.
import { open } from 'node:fs/promises'
import { usableCores } from '../machine-memory.ts'
import type { Solver } from '../optimise/solvers/solver.ts'
import type { Trial } from './trial.ts'

/** What there is to do. */
export interface Work {
  /** Bytes of text that are read before, and in a second by one thread; none of a store. */
  textBytes: number
  bytesPerSecond: number
  rows: number
  nonzeros: number
  /** Models that are trained one beside the other. */
  models: number
  /** Bytes that a pass reads from the disk, and a file of that disk. */
  bytesPerPass: number
  file: string
  method: Solver
  tolerance: number
  maxPasses: number
  trial: Trial
}

export interface Seconds {
  read: number
  pass: number
  passes: number
  all: number
  /** Most runs that were measured lay between. */
  least: number
  most: number
  /** What it rests on: rows that were trained on for a moment, and the passes that these took, where that could be tried. */
  trial: { rows: number; passes?: number }
}

const DISK_BYTES = 8 << 20

export class Speed {
  readonly #disk = new Map<string, Promise<number>>()

  async estimate(work: Work): Promise<Seconds> {
    const { textBytes, bytesPerSecond, nonzeros, trial, bytesPerPass, file } = work
    const disk = bytesPerPass > 0 ? bytesPerPass / (await this.#diskSpeed(file)) : 0
    const read = textBytes / (bytesPerSecond * usableCores())
    // Reading goes on beside computing: the slower of the two is what a pass takes.
    const together = severalModels(work.models / trial.models)
    const pass = Math.max(disk, nonzeros * trial.secondsPerNonzero * LARGER * together)
    const passes = passesOf(work)
    const train = passes * pass
    return {
      ...{ read, pass, passes, all: read + train },
      ...{ least: read + train / SPREAD.least, most: read + train * SPREAD.most },
      trial: { rows: trial.rows, ...(trial.passes !== undefined && { passes: Math.round(trial.passes) }) },
    }
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

/** How far runs may be from their estimates. Seven runs on a9a and imdb took 0.4 to 2.1 times the passes that were foretold. */
const SPREAD = { least: 2.5, most: 3 }

/** Many rows find less in the caches than a few, and certificates take time, too: passes over all of a9a and of imdb took 2.0 and 1.8
 *  times as long, by the nonzero, as the fast ones of a trial. */
const LARGER = 2

/** Models that are trained together share what is read: eight take twice as long as one, forty seven times. */
const MORE_MODELS = 0.15

function severalModels(times: number): number {
  return times > 1 ? 1 + MORE_MODELS * (times - 1) : 1
}

/** Over blocks, a pass moves the models further: rows in memory are visited several times. */
const IN_BLOCKS = 0.75

/** No more is said of all rows than so many times what some of them took. */
const MOST_GROWN = 20

/** Passes where there was nothing to try: the first number, and so many more with every power of ten of the tolerance. Measured with
 *  C = 1, rows of unit length, and three losses on 3,000 to 8,000 rows like clicks, connections, kddb and yahoo-korea. At 1e-1, 1e-3
 *  and 1e-4 there were 2 to 5, 4 to 10 and 5 to 12 passes in memory, and 4 to 16, 5 to 33 and 5 to 63 of second-order steps. */
const PASSES = { dual: [1, 2], gradient: [5, 5] } as const

function passesOf({ method, tolerance, trial, maxPasses, rows }: Work): number {
  const { dual, data, options } = method
  // Whoever knows no gap makes all its passes.
  if (!options.includes('tolerance')) return maxPasses
  const [first, each] = dual ? PASSES.dual : PASSES.gradient
  const usual = first + each * Math.max(0, -Math.log10(tolerance))
  const grown = Math.max(1, rows / trial.rows) ** trial.growth
  const inMemory = trial.passes === undefined ? usual : trial.passes * Math.min(MOST_GROWN, grown)
  const passes = dual && data === 'blocks' ? inMemory * IN_BLOCKS : inMemory
  return Math.min(maxPasses, Math.max(1, Math.round(passes)))
}

async function readSpeed(path: string): Promise<number> {
  await using file = await open(path, 'r')
  const bytes = new Uint8Array(DISK_BYTES)
  const started = performance.now()
  const { bytesRead } = await file.read(bytes, 0, bytes.length, 0)
  return bytesRead / Math.max(1e-4, (performance.now() - started) / 1000)
}
