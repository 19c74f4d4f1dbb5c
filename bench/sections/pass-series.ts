// A method after 1, 2, 4, … passes, as the papers draw it: each point is a run of its own from a ready-made store, stopped by
// --max-passes; its time is that of making the store and that of the run. Used by the sections methods,
// ablations, costs and memory.
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { PreparedData, Size } from '../data.ts'
import { type Evaluation, evaluateFiles, type LossName } from '../evaluator.ts'
import { type Measured, makeCold, warm } from '../measure.ts'
import type { TrainRun } from '../peers/peer.ts'
import { spillway } from '../peers/spillway.ts'
import { type Contestant, interleave, type Timing, timingOf } from '../rounds.ts'
import type { SuiteContext } from '../suite.ts'
import { decodedBytes, heldBytes, leastMemory, memoryHolding, TOO_LITTLE } from './memory-words.ts'

export const COST = 1
/** What Spillway may use where it is not the least that works. */
export const MEMORY: Record<Size, string> = { small: '184M', full: '256M' }
/** Nobody gets there: passes end a run, not the gap. */
const NEVER = 1e-9

export interface StoreSpec {
  blocks: number
  split: 'random' | 'sequential'
  compress: 'auto' | 'none' | 'zstd'
}

export interface Variant {
  name: string
  /** The loss it is trained with; all are judged by the hinge loss. */
  loss: LossName
  /** C; COST when left out. */
  cost?: number
  /** Words of the command line: the solver and its options. */
  words: string[]
  store: StoreSpec
  passes: number[]
  /** Blocks that fit in memory together are solved together, as one. `block`: the least memory that Spillway accepts, so
   *  that it takes one block at a time, as the papers do; `cap`: the suite's memory, or the least that works; a share of the
   *  rows that it is to hold, reckoned for the first variant that asks and alike for all that ask for the same. */
  memory: 'block' | 'cap' | { share: number }
}

export interface SeriesPoint {
  variant: Variant
  /** As asked for. */
  passes: number
  /** Passes as a table shows them: a run that is done earlier says so. */
  shownPasses: string
  memory: string
  /** Sub-problems in a pass, as Spillway tells its plan: fewer than blocks where several were solved together. */
  pieces?: number
  /** Share of the decoded rows that its memory plan has room for. */
  held?: number
  store: Timing
  run: Timing
  /** Store and run together. */
  seconds: number
  training: Evaluation
  test?: Evaluation
  told?: Record<string, unknown>
}

/** What tables say of every point: how it was run, and how long it took. */
export const pointColumns = {
  memory: { title: '--memory' },
  pieces: { title: 'pieces' },
  storeSeconds: { title: 'store s', show: 'seconds' },
  runSeconds: { title: 'run s', show: 'seconds' },
  spread: { title: 'spread', show: 'ratio' },
  seconds: { title: 'together s', show: 'seconds' },
} as const

export function pointCells({ memory, pieces, store, run, seconds }: SeriesPoint) {
  return { memory, pieces, storeSeconds: store.seconds, runSeconds: run.seconds, spread: run.spread, seconds }
}

/** All points of all variants; a variant that fails is named in the results and left out. */
export async function passSeries(
  context: SuiteContext,
  data: PreparedData,
  variants: Variant[],
  section: string,
  judgeTest: boolean,
): Promise<SeriesPoint[]> {
  const bench = new PassSeries(context, data, section, judgeTest)
  return bench.run(variants)
}

const storeName = ({ blocks, split, compress }: StoreSpec): string => `${blocks}-${split}-${compress}`
const pointName = (variant: Variant, passes: number): string => `${variant.name}, passes ${passes}`

class PassSeries {
  readonly #context: SuiteContext
  readonly #data: PreparedData
  readonly #section: string
  readonly #judgeTest: boolean
  readonly #memoryOf = new Map<string, string>()

  constructor(context: SuiteContext, data: PreparedData, section: string, judgeTest: boolean) {
    this.#context = context
    this.#data = data
    this.#section = section
    this.#judgeTest = judgeTest
  }

  async run(variants: Variant[]): Promise<SeriesPoint[]> {
    const { rounds, say, cold } = this.#context
    if (!cold) await warm(this.#data.file)
    const stores = await this.#makeStores(variants)
    try {
      // The first round also yields the models, and shows who cannot take part; judging stands between the timed runs.
      const points: (Omit<SeriesPoint, 'run' | 'seconds' | 'shownPasses'> & { runs: Measured[] })[] = []
      for (const variant of variants) {
        const store = stores.get(storeName(variant.store))
        if (!store) continue
        try {
          const runs: TrainRun[] = []
          const memory = await this.#memoryFor(variant)
          for (const passes of variant.passes) {
            runs.push(await this.#train(variant, passes, memory))
            say(`${pointName(variant, passes)}: ${runs.at(-1)!.seconds.toFixed(3)} s`)
          }
          const judged = await this.#judge(runs, variant.cost ?? COST)
          variant.passes.forEach((passes, k) => {
            const { stderr, told } = runs[k]
            const [pieces, held] = [piecesOf(stderr), heldBytes(stderr)]
            const share = held === undefined ? undefined : Math.min(1, held / decodedBytes(told))
            points.push({
              ...{ variant, passes, memory, pieces, held: share, store, ...judged[k], told },
              runs: [runs[k]],
            })
          })
        } catch (error) {
          this.#skip(variant.name, error)
        }
      }
      const contestants = points.map(
        ({ variant, passes, memory }): Contestant => ({
          name: pointName(variant, passes),
          run: () => this.#train(variant, passes, memory),
        }),
      )
      const more = await interleave(contestants, rounds - 1, say)
      return points.map(({ runs, ...point }) => {
        const run = timingOf([...runs, ...more.get(pointName(point.variant, point.passes))!])
        const done = Number(point.told?.['passes'] ?? point.passes)
        const shownPasses = done < point.passes ? `${point.passes} (done after ${done})` : String(point.passes)
        return { ...point, shownPasses, run, seconds: point.store.seconds + run.seconds }
      })
    } finally {
      for (const name of stores.keys()) await rm(this.#storePath(name), { recursive: true, force: true })
    }
  }

  async #makeStores(variants: Variant[]): Promise<Map<string, Timing>> {
    const { rounds, say, limit, cold, size } = this.#context
    const specs = new Map(variants.map(({ store }) => [storeName(store), store]))
    const timings = new Map<string, Timing>()
    const contestants: Contestant[] = []
    const made = new Map<string, Measured>()
    for (const [name, { blocks, split, compress }] of specs) {
      const words = ['--blocks', String(blocks), '--split', split, '--compress', compress, '--memory', MEMORY[size]]
      const run = async (): Promise<Measured> => {
        if (cold) await makeCold(this.#data.file)
        return spillway.ingest(this.#data.file, this.#storePath(name), { limit, words })
      }
      try {
        made.set(name, await run())
        say(`store ${name}: ${made.get(name)!.seconds.toFixed(3)} s`)
        contestants.push({ name, run })
      } catch (error) {
        this.#skip(`store of ${blocks} blocks, ${split} split, compression ${compress}`, error)
      }
    }
    const more = await interleave(contestants, rounds - 1, say)
    for (const [name, first] of made) timings.set(name, timingOf([first, ...more.get(name)!]))
    return timings
  }

  async #memoryFor(variant: Variant): Promise<string> {
    const { memory } = variant
    const cap =
      typeof memory === 'object' ? await this.#memoryHolding(variant, memory.share) : MEMORY[this.#context.size]
    try {
      await this.#train(variant, 1, memory === 'block' ? TOO_LITTLE : cap)
    } catch (error) {
      const least = leastMemory(error)
      if (least) return least
      throw error
    }
    return cap
  }

  async #memoryHolding(variant: Variant, share: number): Promise<string> {
    const key = `${storeName(variant.store)} ${share}`
    let memory = this.#memoryOf.get(key)
    if (memory === undefined) {
      memory = await memoryHolding(share, each => this.#train(variant, 1, each))
      this.#context.say(`--memory ${memory} to hold ${100 * share} % of the rows`)
      this.#memoryOf.set(key, memory)
    }
    return memory
  }

  async #train(variant: Variant, passes: number, memory: string): Promise<TrainRun> {
    const { workFolder, limit, cold } = this.#context
    if (cold) await makeCold(this.#data.file)
    const model = join(workFolder, `${this.#section}-${variant.name.replace(/\W+/g, '-')}-${passes}.model`)
    // Nothing that an earlier run left in the store may help the next one.
    const anew = (await trainHelp()).includes('--cold') ? ['--cold'] : []
    // A primal method has no gap to stop at.
    const stop = variant.words.includes('pegasos') || variant.words.includes('one-pass') ? undefined : NEVER
    const words = [...variant.words, '--memory', memory, ...anew]
    const request = {
      loss: variant.loss,
      cost: variant.cost ?? COST,
      stop,
      maxPasses: passes,
      model,
      words,
      talk: true,
    }
    return spillway.train(this.#storePath(storeName(variant.store)), request, { limit })
  }

  async #judge(runs: TrainRun[], cost: number): Promise<Pick<SeriesPoint, 'training' | 'test'>[]> {
    const texts: string[] = []
    try {
      for (const { modelFile } of runs) texts.push(await spillway.asLiblinear(modelFile))
      const objective = { loss: 'hinge' as const, cost }
      const training = await evaluateFiles(this.#data.file, texts, objective)
      const test =
        this.#judgeTest && this.#data.testFile ? await evaluateFiles(this.#data.testFile, texts, objective) : []
      return training.map((each, k) => ({ training: each, test: test[k] }))
    } finally {
      // One line for each of millions of features.
      for (const text of texts) await rm(text, { force: true })
    }
  }

  #storePath(name: string): string {
    return join(this.#context.workFolder, `${this.#section}-${this.#data.name}-${name}.spill`)
  }

  #skip(what: string, error: unknown): void {
    this.#context.skip(`${this.#section}, ${this.#data.name}, ${what}`, error)
  }
}

/** From the line "40 blocks, read in 20 pieces a pass". */
export function piecesOf(stderr: string): number | undefined {
  const found = /read in (\d+) pieces? a pass/.exec(stderr)
  return found ? Number(found[1]) : undefined
}

let help: Promise<string> | undefined
/** `spillway train --help`, asked for once. */
export function trainHelp(): Promise<string> {
  help ??= spillway.help('train')
  return help
}

/** The solvers that this build knows, as its help lists them. */
export async function knownSolvers(): Promise<string[]> {
  return solversIn(await trainHelp())
}

/** From the help, however it is wrapped: "--solver NAME the method; … NAME is one of auto, dual, … (default: auto)". */
export function solversIn(page: string): string[] {
  const found = /--solver \S+ .*?one of ([a-z, -]+) \(/.exec(page.replace(/\s+/g, ' '))
  return found?.[1].split(', ') ?? []
}
