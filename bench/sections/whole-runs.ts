// Whole runs of Spillway with different options on the same data, timed in turns and judged by the evaluator. Used by the
// sections slow-disk, auto and trainers.
import { rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { PreparedData } from '../data.ts'
import { type Evaluation, evaluateFiles } from '../evaluator.ts'
import { type Measured, type MeasureOptions, makeCold, warm } from '../measure.ts'
import type { TrainRun } from '../peers/peer.ts'
import { spillway } from '../peers/spillway.ts'
import { type Contestant, interleave } from '../rounds.ts'
import type { SuiteContext } from '../suite.ts'
import { COST } from './pass-series.ts'
import { digest } from './train.ts'

export interface WholeRun {
  name: string
  /** Words of the command line: the solver and its options. */
  words: string[]
  /** Whether its solver keeps all rows in memory, and has no use for a store. */
  inMemory?: boolean
  /** A store that is there already; otherwise the text is read, and the store that it goes into is deleted afterwards. */
  store?: string
  stop?: number
  maxPasses?: number
  /** Throw everything out of the page cache first. */
  cold: boolean
  limits?: MeasureOptions
  /** Seconds after which it is given up, by what others took in the first round. */
  patience?: (first: ReadonlyMap<string, Timed>) => number
}

/** A run, or something else that was timed beside the runs. */
export type Timed = Measured & Pick<TrainRun, 'told'>

export class WholeRuns {
  readonly #context: SuiteContext
  readonly #data: PreparedData
  readonly #section: string
  /** Model files by digest: runs of one seed mostly make the same one, and judging takes longer than training. */
  readonly #models = new Map<string, string>()
  readonly #madeBy = new Map<string, Set<string>>()
  readonly #judged = new Map<string, Evaluation>()

  constructor(context: SuiteContext, data: PreparedData, section: string) {
    this.#context = context
    this.#data = data
    this.#section = section
  }

  /** All rounds of all runs; one that fails in the first round is named in the results and left out. */
  async time(runs: WholeRun[], beside: Contestant[] = []): Promise<Map<string, Timed[]>> {
    const { say, rounds, skip } = this.#context
    if (runs.some(run => !run.cold)) await warm(this.#data.file)
    const first = new Map<string, Timed>()
    const contestants: Contestant<Timed>[] = [...beside]
    for (const { name, run } of beside) first.set(name, await run(0))
    for (const run of runs) {
      const timeout = run.patience && Math.ceil(run.patience(first))
      try {
        first.set(run.name, await this.train(run, { ...run.limits, ...(timeout && { timeout }) }))
        say(`${run.name}: ${first.get(run.name)!.seconds.toFixed(3)} s`)
        contestants.push({ name: run.name, run: () => this.train(run, run.limits) })
      } catch (error) {
        skip(`${this.#section}, ${this.#data.name}, ${run.name}`, error)
      }
    }
    const more = await interleave(contestants, rounds - 1, say)
    return new Map([...first].map(([name, run]) => [name, [run, ...more.get(name)!]]))
  }

  async train(run: WholeRun, limits?: MeasureOptions): Promise<TrainRun> {
    const { workFolder } = this.#context
    const model = join(workFolder, `${this.#section}.model`)
    const store = join(workFolder, `${this.#section}-text.spill`)
    await rm(store, { recursive: true, force: true })
    if (run.cold) {
      await makeCold(this.#data.file)
      // The programs themselves are warm: loading Node is no part of the comparison.
      await spillway.help('train')
    }
    const words = [...run.words, ...(run.store || run.inMemory ? [] : ['--store', store])]
    const request = { loss: 'hinge' as const, cost: COST, model, words, talk: true }
    try {
      const { stop, maxPasses } = run
      const trained = await spillway.train(run.store ?? this.#data.file, { ...request, stop, maxPasses }, limits)
      await this.#keep(run.name, trained)
      return trained
    } finally {
      await rm(store, { recursive: true, force: true })
    }
  }

  /** The worst model of each of these runs, on the training file or on another one. */
  async judge(names: string[], file = this.#data.file): Promise<Map<string, Evaluation>> {
    const key = (digest: string): string => `${digest} ${file}`
    const fresh = [...new Set(names.flatMap(name => [...(this.#madeBy.get(name) ?? [])]))].filter(
      digest => !this.#judged.has(key(digest)),
    )
    const texts: string[] = []
    try {
      for (const digest of fresh) texts.push(await spillway.asLiblinear(this.#models.get(digest)!))
      const judged = await evaluateFiles(file, texts, { loss: 'hinge', cost: COST })
      fresh.forEach((digest, k) => {
        this.#judged.set(key(digest), judged[k])
      })
    } finally {
      // One line for each of millions of features.
      for (const text of texts) await rm(text, { force: true })
    }
    const all = (name: string): Evaluation[] =>
      [...(this.#madeBy.get(name) ?? [])].map(digest => this.#judged.get(key(digest))!)
    const worst = (a: Evaluation, b: Evaluation): Evaluation => ({
      ...(a.primal > b.primal ? a : b),
      accuracy: Math.min(a.accuracy, b.accuracy),
    })
    return new Map(names.filter(name => all(name).length > 0).map(name => [name, all(name).reduce(worst)]))
  }

  async #keep(name: string, { modelFile }: TrainRun): Promise<void> {
    const key = await digest(modelFile)
    if (!this.#models.has(key)) {
      const kept = join(this.#context.workFolder, `${this.#section}-${this.#data.name}-${key.slice(0, 16)}.model`)
      await rename(modelFile, kept)
      this.#models.set(key, kept)
    }
    this.#madeBy.set(name, (this.#madeBy.get(name) ?? new Set()).add(key))
  }

  /** Model files are large; called when all has been judged. */
  async end(): Promise<void> {
    for (const file of this.#models.values()) await rm(file, { force: true })
  }
}
