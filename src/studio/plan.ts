// POST /api/plan: what `train` would do with a file and options, without reading the file whole.
import { stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { inputFormatOf } from '../block-store/manifest.ts'
import { openStore } from '../block-store/reader.ts'
import { SpillwayError } from '../errors.ts'
import { expansionFor } from '../features/expansion-steps.ts'
import { findInputFormat } from '../input-formats/all-input-formats.ts'
import { trainsTogether } from '../losses/formulations.ts'
import { refuseUnlearnable } from '../train/class-problems.ts'
import { type Foreseen, foresee } from '../train/foresee.ts'
import { wouldStartSecondOrder } from '../train/hand-over.ts'
import { DEFAULTS } from '../train/options.ts'
import type { PlanProgress } from '../train/progress.ts'
import { type RunOptions, trainOptionsOf } from './run-options.ts'
import { remember, type Samples, versionOf } from './sample.ts'
import type { FewRows } from './seen-rows.ts'
import { type Seconds, Speed } from './speed.ts'
import { type Trial, tryRows } from './trial.ts'

export interface Plan extends Pick<PlanProgress, 'memory'> {
  solver: string
  reason: string
  blocks?: NonNullable<PlanProgress['blocks']> & {
    /** Bytes of rows that are in memory at a time. */
    residentBytes: number
  }
  /** An estimate; null where there is nothing to go by. */
  seconds: Seconds | null
  /** Of rows of letters that nothing is made of: an expansion that makes features of them. */
  suggestedExpand?: string
  /** Why `train` would refuse. */
  refused?: string
  /** Of a plan that is refused: what would run with more memory, and with how much, in bytes. */
  withMore?: Pick<Plan, 'solver' | 'reason' | 'memory' | 'blocks'> & { bytes: number }
}

const MEGABYTE = 2 ** 20

/** What is known of the data. */
interface DataFacts {
  textBytes: number
  bytesPerSecond: number
  rows: number
  features: number
  nonzeros: number
  classes: number
  /** A file that is read, and its bytes in all. */
  file: string
  storedBytes: number
  /** Some rows to try. */
  few: FewRows
}

function residentBytes({ blocks }: Foreseen): number {
  return blocks ? blocks.slots * blocks.slotBytes + blocks.cacheBytes : 0
}

function shownOf(foreseen: Foreseen): Pick<Plan, 'solver' | 'reason' | 'memory' | 'blocks'> {
  const { solver, reason, memory, blocks } = foreseen
  return {
    ...{ solver, reason, memory },
    ...(blocks && { blocks: { ...blocks, residentBytes: residentBytes(foreseen) } }),
  }
}

export class Planner {
  readonly #samples: Samples
  readonly #speed = new Speed()
  readonly #trials = new Map<string, Promise<Trial | undefined>>()
  /** One at a time: they take a core each. */
  #last: Promise<unknown> = Promise.resolve()

  constructor(samples: Samples) {
    this.#samples = samples
  }

  /** `wanted` says whether somebody still waits for the answer when its turn comes. */
  plan(path: string, options: RunOptions, wanted: () => boolean): Promise<Plan | undefined> {
    const turn = this.#last.then(() => (wanted() ? this.#plan(path, options) : undefined))
    this.#last = turn.catch(() => {})
    return turn
  }

  async #plan(path: string, options: RunOptions): Promise<Plan> {
    const foreseen = await this.#foresee(path, options)
    if (typeof foreseen === 'string') {
      const withMore = await this.#withMore(path, options)
      return { solver: '', reason: '', seconds: null, refused: foreseen, ...(withMore && { withMore }) }
    }
    const suggestedExpand = expansionFor(findInputFormat(await this.#formatOf(path, options.label)), options.expand)
    return {
      ...shownOf(foreseen),
      ...(suggestedExpand !== undefined && { suggestedExpand }),
      seconds: await this.#seconds(path, options, foreseen, residentBytes(foreseen)),
    }
  }

  /** What would run, or why nothing would. */
  async #foresee(path: string, options: RunOptions): Promise<Foreseen | string> {
    try {
      const foreseen = await foresee(path, trainOptionsOf(options), this.#samples.learn)
      await this.#refuseUnlearnable(path, options.label)
      return foreseen
    } catch (error) {
      if (!(error instanceof SpillwayError)) throw error
      return error.advice ? `${error.message}; ${error.advice}` : error.message
    }
  }

  async #formatOf(path: string, label: string | undefined): Promise<string> {
    const isStore = (await stat(path)).isDirectory()
    return isStore ? inputFormatOf((await openStore(path)).manifest) : (await this.#samples.get(path, label)).format
  }

  /** Data that is known as a whole may have nothing to learn from. */
  async #refuseUnlearnable(path: string, label: string | undefined): Promise<void> {
    if ((await stat(path)).isDirectory()) {
      const { manifest } = await openStore(path)
      refuseUnlearnable({ ...manifest, format: inputFormatOf(manifest) }, basename(path))
      return
    }
    const sample = await this.#samples.get(path, label)
    // Rows that cannot be read are told with the summary, and end the run before this is asked.
    if (sample.whole && sample.badRows === 0) refuseUnlearnable(sample, basename(path))
  }

  /** The least memory with which the refused run would be taken, to a few percent. Undefined where memory is not what it lacks. */
  async #withMore(path: string, options: RunOptions): Promise<Plan['withMore']> {
    const { memory: asked, ...others } = options
    if (asked === undefined) return undefined
    const unlimited = await this.#foresee(path, others)
    if (typeof unlimited === 'string') return undefined
    const most = unlimited.memory.allowed
    let [refused, bytes, found]: [number, number, Foreseen] = [asked, most, unlimited]
    while (bytes - refused > Math.max(MEGABYTE, refused / 32)) {
      // Halfway in powers of two: what is refused lacks little, mostly.
      const between = Math.ceil(Math.sqrt(refused * bytes) / MEGABYTE) * MEGABYTE
      if (between >= bytes) break
      const foreseen = await this.#foresee(path, { ...options, memory: between })
      if (typeof foreseen === 'string') refused = between
      else [bytes, found] = [between, foreseen]
    }
    return { ...shownOf(found), bytes }
  }

  async #seconds(path: string, options: RunOptions, foreseen: Foreseen, resident: number): Promise<Seconds | null> {
    const facts = await this.#facts(path, options.label)
    const trial = facts && (await this.#try(path, options, foreseen, facts))
    if (!trial) return null
    const { method, tolerance, maxPasses, blocks } = foreseen
    const together = trainsTogether((options.multiclass ?? DEFAULTS.multiclass) as typeof DEFAULTS.multiclass)
    const stays = facts.storedBytes === 0 ? 0 : Math.min(1, resident / facts.storedBytes)
    return this.#speed.estimate({
      ...{ ...facts, method, tolerance, maxPasses, trial },
      models: facts.classes > 2 && !together ? facts.classes : 1,
      bytesPerPass: blocks ? facts.storedBytes * (1 - stays) : 0,
    })
  }

  /** A trial is for all memories: moving the slider makes no new one. */
  async #try(path: string, options: RunOptions, foreseen: Foreseen, facts: DataFacts): Promise<Trial | undefined> {
    const { memory: _, label: _label, ...rest } = trainOptionsOf(options)
    const { method, tolerance, maxPasses, scale } = foreseen
    const tried = { ...rest, scale }
    const { rows, nonzeros, features: weights, classes, few } = facts
    const secondOrder = wouldStartSecondOrder(tried, { rows, nonzeros, weights }, classes > 2 ? classes : 1)
    const settings = { options: tried, method, tolerance, maxPasses, secondOrder }
    const key = JSON.stringify([
      await versionOf(path),
      options.label,
      { ...settings, method: method.name },
      method.data,
    ])
    try {
      return await remember(this.#trials, key, () => tryRows(few, settings))
    } catch (error) {
      // What cannot be tried on a few rows may well run on all of them.
      if (error instanceof SpillwayError) return undefined
      throw error
    }
  }

  async #facts(path: string, label: string | undefined): Promise<DataFacts | undefined> {
    if ((await stat(path)).isDirectory()) {
      const store = await openStore(path)
      const { manifest } = store
      const [first] = manifest.blocks
      if (!first) return undefined
      return {
        ...{ textBytes: 0, bytesPerSecond: 1, rows: manifest.rows, nonzeros: manifest.nonzeros },
        features: manifest.usedFeatures || manifest.features,
        classes: manifest.labels.filter(({ rows }) => rows > 0).length,
        ...{ file: join(path, first.file), storedBytes: manifest.blocks.reduce((sum, { bytes }) => sum + bytes, 0) },
        few: (await this.#samples.ofStore(store)).few,
      }
    }
    const { textBytes, bytesPerSecond, features, labels, few, ...sample } = await this.#samples.get(path, label)
    if (sample.rows === 0) return undefined
    const times = textBytes / Math.max(1, sample.sampledBytes)
    return {
      ...{ textBytes, bytesPerSecond, features, few, rows: sample.rows * times, nonzeros: sample.nonzeros * times },
      ...{ classes: labels.length, file: path, storedBytes: textBytes / 2 },
    }
  }
}
