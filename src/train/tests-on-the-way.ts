// Tests on the way: at ends of passes the model of the moment is tested on rows that it is not trained on. Tests take a small
// share of the time, none of it by the run's clock, and memory only where some is left. They change nothing of the training.
import { SpillwayError } from '../errors.ts'
import { allocatedMemory } from '../machine-memory.ts'
import type { Model } from '../model/model.ts'
import { formatBytes } from '../numeric/arena.ts'
import type { Objective } from '../optimise/objectives/objective.ts'
import { PROGRAM_PAGES } from '../sizes.ts'
import { collectGarbage } from '../threads/collect-garbage.ts'
import { allowedMemory } from './choose-solver.ts'
import type { ResolvedOptions } from './options.ts'
import type { Place, Taker } from './place.ts'
import type { Progress } from './progress.ts'

/** Who tests models. */
export interface Tester {
  /** The model stays as it is until this is done. With `sparing`, there is little memory for it. */
  test(model: Model, sparing: boolean): Promise<{ rows: number; accuracy: number }>
  /** What the first test will take, about; others are taken to be like the quickest. */
  expectedSeconds?: number
}

/** Tests cost at most such a share of the time so far, and some seconds that nobody minds: short runs have tests, too. */
const SHARE = 0.05
const FREE_SECONDS = 0.2
/** From one test to the next the time of training grows by such a factor at least: a long run has no more of them than can be looked
 *  at. */
const APART = 1.05
/** Memory that a test takes besides models, and how often it has the weights, in lists of their own and as the scoring loops want
 *  them. */
const TEST_BYTES = 12 << 20
const COPIES = 3
/** Pages of the program's own file, as the plan counts them. */
const FILE_PAGES = PROGRAM_PAGES + (20 << 20)

/** What is trained: the place, the number of its weight vectors, and how models are made of what is given to a taker. */
export interface TestedTraining {
  place: Place
  vectors: number
  makeModel(give: (taker: Taker) => void): Model
}

/** The end of a pass, where the others that are trained side by side are waited for. */
interface Waiting {
  since: number
  goOn(): void
  fail(error: unknown): void
}

/** As a container counts it against its limit, but for pages of files that nobody uses. */
function takenMemory(): number {
  const allocated = allocatedMemory()
  return allocated === undefined ? process.memoryUsage.rss() : allocated + FILE_PAGES
}

export class TestsOnTheWay {
  /** What tests took so far: the clock of the run stands meanwhile. */
  seconds = 0
  readonly #tester: Tester
  readonly #options: Pick<ResolvedOptions, 'memory' | 'signal' | 'ranks'>
  #training: TestedTraining | undefined
  /** The objectives whose weights are those of the model, as long as they are trained, and their lengths at the last test. */
  readonly #watched = new Map<Objective, string>()
  #give: (taker: Taker) => void = () => {}
  #waiting: Waiting[] = []
  /** What tests have cost, waiting included; and what the next one will cost. */
  #cost = 0
  #expected: number
  #quickest = Number.POSITIVE_INFINITY
  /** When training began, and the last test was. */
  #began = 0
  #last = 0
  /** The passes so far. */
  #pass = 0
  #hasSaid = false

  constructor(tester: Tester, options: Pick<ResolvedOptions, 'memory' | 'signal' | 'ranks'>) {
    this.#tester = tester
    this.#options = options
    this.#expected = tester.expectedSeconds ?? 0
  }

  /** Hears what the run tells. */
  hear(progress: Progress): void {
    if (progress.stage === 'train') this.#pass = progress.pass
  }

  begin(training: TestedTraining): void {
    this.#training = training
    this.#watched.clear()
    this.#began = training.place.facts.seconds()
    this.#last = this.#began
    // A rank has weights of its own until ranks meet.
    if (this.#options.ranks.size > 1) this.stop('several processes train it')
  }

  /** Says whose weights the model has, and how to give them. */
  watch(objectives: Objective[], give: (taker: Taker) => void): void {
    if (!this.#training) return
    for (const objective of objectives) this.#watched.set(objective, '')
    this.#give = give
  }

  /** An objective has come to its end: nobody waits for it. */
  leave(objective: Objective): void {
    this.#watched.delete(objective)
    this.#meet()
  }

  /** There are no more tests, for a reason that the user is told. */
  stop(reason: string): void {
    if (this.#training) this.#say(reason)
    this.end()
  }

  end(): void {
    this.#training = undefined
    this.#watched.clear()
    for (const { goOn } of this.#waiting.splice(0)) goOn()
  }

  /** A driver is at the end of a pass, and goes on when this is done. */
  async passEnd(objective: Objective): Promise<void> {
    if (!this.#training) return
    if (!this.#watched.has(objective)) {
      this.stop('another method goes on with some of its classes')
      return
    }
    if (this.#waiting.length === 0 && !this.#isDue(objective)) return
    await new Promise<void>((goOn, fail) => {
      this.#waiting.push({ since: performance.now(), goOn, fail })
      this.#meet()
    })
  }

  #isDue(objective: Objective): boolean {
    const seconds = this.#training!.place.facts.seconds()
    if (seconds - this.#began < APART * (this.#last - this.#began)) return false
    if (this.#cost + this.#expected > SHARE * seconds + FREE_SECONDS) return false
    const lengths = objective.squaredLengths()
    // Weights of 0 tell nothing, and those that did not move nothing new.
    const hasMoved = lengths.some(length => length > 0) && String(lengths) !== this.#watched.get(objective)
    return hasMoved && this.#hasRoom()
  }

  /** What a test takes is given back before memory is needed that is planned for, but not in use yet. Beside weights that are not
   *  copied nothing is given back: there it must fit beside the plan. */
  #hasRoom(): boolean {
    const { place, vectors } = this.#training!
    const copies = place.lend ? 0 : COPIES * vectors * place.facts.weights * 8
    const needed = formatBytes(TEST_BYTES + copies)
    const allowed = allowedMemory(this.#options)
    const taken = Math.max(takenMemory(), place.lend ? place.planned : 0)
    if (taken + TEST_BYTES + copies <= allowed) return true
    this.#say(`a test takes about ${needed}, and ${formatBytes(taken)} of ${formatBytes(allowed)} are taken`)
    return false
  }

  /** Tests once all that are trained side by side are at the end of a pass: nothing moves then. */
  #meet(): void {
    if (this.#waiting.length === 0 || this.#waiting.length < this.#watched.size) return
    const waiting = this.#waiting
    this.#waiting = []
    this.#test(waiting[0].since).then(
      () => {
        for (const { goOn } of waiting) goOn()
      },
      error => {
        for (const { fail } of waiting) fail(error)
      },
    )
  }

  async #test(since: number): Promise<void> {
    if (!this.#training || this.#options.signal?.aborted) return
    const { facts } = this.#training.place
    const began = performance.now()
    const seconds = facts.seconds()
    const tested = await this.#ask(this.#training)
    const now = performance.now()
    const took = (now - began) / 1000
    this.seconds += took
    this.#note((now - since) / 1000, seconds)
    if (tested) facts.tell({ stage: 'test', seconds, pass: this.#pass, ...tested, took })
  }

  /** Has the model of the moment tested, and gives back the memory that it took. */
  async #ask({ place, makeModel }: TestedTraining): Promise<{ rows: number; accuracy: number } | undefined> {
    const { signal, memory } = this.#options
    const { arena } = place.facts
    const mark = arena.mark()
    try {
      const { rows, accuracy } = await this.#tester.test(makeModel(this.#give), memory !== undefined)
      return { rows, accuracy }
    } catch (error) {
      if (signal?.aborted) return undefined
      if (!(error instanceof SpillwayError)) throw error
      // The test at the end will say more.
      this.stop(error.message)
      return undefined
    } finally {
      arena.release(mark)
      if (memory !== undefined) collectGarbage()
    }
  }

  /** What a test has cost, and when it was. The first one loads code: the next is taken to be like the quickest. */
  #note(cost: number, seconds: number): void {
    this.#cost += cost
    this.#quickest = Math.min(this.#quickest, cost)
    this.#expected = this.#quickest
    this.#last = seconds
    for (const objective of this.#watched.keys()) this.#watched.set(objective, String(objective.squaredLengths()))
  }

  /** Once: what follows from the first reason needs no words. */
  #say(reason: string): void {
    if (this.#hasSaid) return
    this.#hasSaid = true
    const { tell } = this.#training!.place.facts
    tell({ stage: 'plan', solver: '', reason: `the model is not tested on the way: ${reason}` })
  }
}
