// Training over ranks of mpirun, timed in turns and judged by the evaluator. Used by the sections scaling, averaging, window and
// simulate.
import { rm } from 'node:fs/promises'
import { cpus } from 'node:os'
import { join } from 'node:path'
import type { PreparedData } from '../data.ts'
import { evaluateFiles, type LossName } from '../evaluator.ts'
import { makeCold, warm } from '../measure.ts'
import { findMpirun, howToInstallMpi, launcherFor } from '../peers/mpirun.ts'
import type { TrainRun } from '../peers/peer.ts'
import { spillway } from '../peers/spillway.ts'
import { type Contestant, interleave, type Timing, timingOf } from '../rounds.ts'
import type { SuiteContext } from '../suite.ts'

export const COST = 1
export const RANKS = [1, 2, 3, 4]
export const CORES = cpus().length
/** Seconds after which mpirun ends a job; and its ranks have so long to go. */
const PATIENCE = { small: 300, full: 1800 }
const FAREWELL = 30

export interface RankMethod {
  solver: string
  loss: LossName
  /** Numbers of 8 bytes for each weight that a rank gives to sums in a pass, as docs/ranks.md says; undefined where that differs
   *  from pass to pass. */
  vectors?: number
  /** Of methods that plans are made for: bytes of memory for each weight, as docs/limits.md says. */
  bytesPerWeight?: number
}

export const METHODS: RankMethod[] = [
  { solver: 'newton', loss: 'logistic', bytesPerWeight: 72 },
  { solver: 'lbfgs', loss: 'logistic', vectors: 2, bytesPerWeight: 232 },
  { solver: 'dual', loss: 'hinge' },
]

export interface RankRun {
  name: string
  method: Pick<RankMethod, 'solver' | 'loss'>
  ranks: number
  /** Of each rank; undefined for as many as the program takes by itself. */
  threads?: number
  /** Whether the ranks have one core in all. */
  onOneCore?: boolean
  stop?: number
  maxPasses?: number
  /** Other data than the file of the set, e.g. `part-{rank}.svm`. */
  data?: string
  /** Further words of the command line. */
  words?: string[]
}

/** Seconds as the program tells them. */
export interface Inside {
  read: number
  compute: number
}

export interface RankTiming {
  run: RankRun
  timing: Timing
  inside: Inside
  /** Seconds of computing, of every round. */
  computing: number[]
  passes: number
  told: Record<string, unknown>
  primal: number
  accuracy?: number
}

/** The launcher, where there is all that ranks need; what is missing is said in the results. */
export async function mpirunFor(context: SuiteContext, section: string): Promise<string[] | undefined> {
  if (!(await spillway.version())) {
    context.skip(section, `not measured: ${spillway.howToInstall}`)
    return undefined
  }
  const mpirun = await findMpirun()
  if (!mpirun) context.skip(section, `not measured: ${howToInstallMpi}`)
  return mpirun
}

export class RankRuns {
  readonly #context: SuiteContext
  readonly #data: PreparedData
  readonly #mpirun: string[]
  readonly #section: string

  constructor(context: SuiteContext, data: PreparedData, mpirun: string[], section: string) {
    this.#context = context
    this.#data = data
    this.#mpirun = mpirun
    this.#section = section
  }

  /** All rounds of all runs. One that fails in the first round is named in the results and left out. */
  async time(runs: RankRun[]): Promise<RankTiming[]> {
    const { rounds, say, skip, cold } = this.#context
    if (!cold) await warm(this.#data.file)
    const first = new Map<string, { told: TrainRun; primal: number; accuracy?: number }>()
    for (const run of runs) {
      try {
        const told = await this.train(run)
        say(`${this.#data.name}, ${run.name}: ${told.seconds.toFixed(3)} s, ${told.told?.['exitReason']}`)
        first.set(run.name, { told, ...(await this.#judge(run)) })
      } catch (error) {
        skip(`${this.#section}, ${this.#data.name}, ${run.name}`, error)
      }
    }
    const left = runs.filter(({ name }) => first.has(name))
    const contestants = left.map((run): Contestant<TrainRun> => ({ name: run.name, run: () => this.train(run) }))
    const more = await interleave(contestants, rounds - 1, say)
    return left.map(run => {
      const { told, ...judged } = first.get(run.name)!
      const all = [told, ...more.get(run.name)!]
      const seconds = all.map(each => each.told?.['seconds'] as Inside)
      const best = seconds.reduce((a, b) => (a.read + a.compute <= b.read + b.compute ? a : b))
      return {
        ...{ run, timing: timingOf(all), inside: best, computing: seconds.map(({ compute }) => compute) },
        ...{ passes: Number(told.told?.['passes']), told: told.told ?? {}, ...judged },
      }
    })
  }

  async train(run: RankRun, launcherWords: string[] = []): Promise<TrainRun> {
    const { cold, size } = this.#context
    if (cold) await makeCold(this.#data.file)
    const words = [
      ...['--solver', run.method.solver],
      ...(run.threads === undefined ? [] : ['--threads', String(run.threads)]),
      ...(run.words ?? []),
    ]
    const { loss } = run.method
    const launcher = [
      ...launcherFor(this.#mpirun, run.ranks, ['--timeout', String(PATIENCE[size]), ...launcherWords]),
      ...(run.onOneCore ? ['taskset', '-c', '0'] : []),
    ]
    const request = {
      loss,
      cost: COST,
      stop: run.stop,
      maxPasses: run.maxPasses,
      model: this.model(run),
      words,
      launcher,
    }
    return spillway.train(run.data ?? this.#data.file, request, { timeout: PATIENCE[size] + FAREWELL })
  }

  model({ name }: RankRun): string {
    return join(this.#context.workFolder, `${this.#section}-${this.#data.name}-${name.replace(/\W+/g, '-')}.model`)
  }

  /** The objective of the model, and its accuracy on rows that were not trained on, where there are some. */
  async #judge(run: RankRun): Promise<{ primal: number; accuracy?: number }> {
    const model = this.model(run)
    const text = await spillway.asLiblinear(model)
    try {
      const problem = { loss: run.method.loss, cost: COST }
      const [{ primal }] = await evaluateFiles(this.#data.file, [text], problem)
      const { testFile } = this.#data
      const [tested] = testFile === undefined ? [] : await evaluateFiles(testFile, [text], problem)
      return { primal, accuracy: tested?.accuracy }
    } finally {
      for (const file of [text, model]) await rm(file, { force: true })
    }
  }
}

export const insideSeconds = ({ read, compute }: Inside): number => read + compute
