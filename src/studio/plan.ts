// POST /api/plan: what `train` would do with a file and options, without reading the file whole.
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { openStore } from '../block-store/reader.ts'
import { SpillwayError } from '../errors.ts'
import { trainsTogether } from '../losses/formulations.ts'
import { type Foreseen, foresee } from '../train/foresee.ts'
import { DEFAULTS } from '../train/options.ts'
import type { PlanProgress } from '../train/progress.ts'
import { type RunOptions, trainOptionsOf } from './run-options.ts'
import type { Samples } from './sample.ts'
import { type Seconds, Speed } from './speed.ts'

export interface Plan extends Pick<PlanProgress, 'memory'> {
  solver: string
  reason: string
  blocks?: NonNullable<PlanProgress['blocks']> & {
    /** Bytes of rows that are in memory at a time. */
    residentBytes: number
  }
  /** An estimate; null where there is nothing to go by. */
  seconds: Seconds | null
  /** Why `train` would refuse. */
  refused?: string
}

/** What is known of the data. */
interface DataFacts {
  textBytes: number
  bytesPerSecond: number
  nonzeros: number
  classes: number
  /** A file that is read, and its bytes in all. */
  file: string
  storedBytes: number
}

export class Planner {
  readonly #samples: Samples
  readonly #speed = new Speed()
  /** One at a time: they take a core each. */
  #last: Promise<unknown> = Promise.resolve()

  constructor(samples: Samples) {
    this.#samples = samples
  }

  /** A plan is about to be asked for. */
  warm(): void {
    this.#speed.warm()
  }

  /** `wanted` says whether somebody still waits for the answer when its turn comes. */
  plan(path: string, options: RunOptions, wanted: () => boolean): Promise<Plan | undefined> {
    const turn = this.#last.then(() => (wanted() ? this.#plan(path, options) : undefined))
    this.#last = turn.catch(() => {})
    return turn
  }

  async #plan(path: string, options: RunOptions): Promise<Plan> {
    let foreseen: Foreseen
    try {
      foreseen = await foresee(path, trainOptionsOf(options), this.#samples.learn)
    } catch (error) {
      if (!(error instanceof SpillwayError)) throw error
      const refused = error.advice ? `${error.message}; ${error.advice}` : error.message
      return { solver: '', reason: '', seconds: null, refused }
    }
    const { solver, reason, memory, blocks } = foreseen
    const resident = blocks ? blocks.slots * blocks.slotBytes + blocks.cacheBytes : 0
    return {
      ...{ solver, reason, memory },
      ...(blocks && { blocks: { ...blocks, residentBytes: resident } }),
      seconds: await this.#seconds(path, options, foreseen, resident),
    }
  }

  async #seconds(path: string, options: RunOptions, foreseen: Foreseen, resident: number): Promise<Seconds | null> {
    const facts = await this.#facts(path, options.label)
    if (!facts) return null
    const together = trainsTogether((options.multiclass ?? DEFAULTS.multiclass) as typeof DEFAULTS.multiclass)
    const stays = facts.storedBytes === 0 ? 0 : Math.min(1, resident / facts.storedBytes)
    return this.#speed.estimate(facts.file, {
      ...facts,
      models: facts.classes > 2 && !together ? facts.classes : 1,
      bytesPerPass: foreseen.blocks ? facts.storedBytes * (1 - stays) : 0,
      ...{ method: foreseen.method, tolerance: foreseen.tolerance },
    })
  }

  async #facts(path: string, label: string | undefined): Promise<DataFacts | undefined> {
    if ((await stat(path)).isDirectory()) {
      const { manifest } = await openStore(path)
      const classes = manifest.labels.filter(({ rows }) => rows > 0).length
      const storedBytes = manifest.blocks.reduce((sum, { bytes }) => sum + bytes, 0)
      const [first] = manifest.blocks
      if (!first) return undefined
      const file = join(path, first.file)
      return { textBytes: 0, bytesPerSecond: 1, nonzeros: manifest.nonzeros, classes, file, storedBytes }
    }
    const sample = await this.#samples.get(path, label)
    if (sample.rows === 0) return undefined
    const { textBytes, bytesPerSecond, sampledBytes } = sample
    const nonzeros = (sample.nonzeros * textBytes) / Math.max(1, sampledBytes)
    return {
      textBytes,
      bytesPerSecond,
      nonzeros,
      classes: sample.labels.length,
      file: path,
      storedBytes: textBytes / 2,
    }
  }
}
