// Goal 1: text file to model, at the same distance from the optimum as LIBLINEAR.
//
// LIBLINEAR stops by its epsilon, Spillway by its relative gap; equal numbers mean nothing. So LIBLINEAR's model is judged
// first, d_L = (P_L − P*) / P*, then the loosest tolerance of a fixed ladder at which Spillway's model is at least as
// close, d_S ≤ d_L, is looked for, and those two runs are timed against each other.
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import type { PreparedData } from '../data.ts'
import { type Evaluation, evaluateFiles, type LossName } from '../evaluator.ts'
import { makeCold, warm } from '../measure.ts'
import { liblinear } from '../peers/liblinear.ts'
import type { Peer, TrainRun } from '../peers/peer.ts'
import { spillway } from '../peers/spillway.ts'
import { REFERENCE_SECONDS, type Reference, referenceFor } from '../reference.ts'
import { geometricMean, reachedOf } from '../results.ts'
import { type Contestant, interleave, type Timing, timingOf } from '../rounds.ts'
import type { Cell, Section, SuiteContext, Table } from '../suite.ts'

export interface TrainCase {
  loss: LossName
  dataSets: string[]
  /** LIBLINEAR's -e; undefined for its default. */
  epsilons: (number | undefined)[]
}

const COST = 1
const LADDER = [1e-1, 5e-2, 2e-2, 1e-2, 5e-3, 2e-3, 1e-3, 5e-4, 2e-4, 1e-4, 5e-5, 2e-5, 1e-5, 5e-6, 2e-6, 1e-6, 1e-7]
const FASTER = 5
const MEMORY = 0.5

export async function trainSection(context: SuiteContext, cases: TrainCase[]): Promise<Section> {
  const times: Table = { columns: timeColumns, rows: [] }
  const references: Table = { title: 'Reference optima', columns: referenceColumns, rows: [] }
  const section: Section = {
    name: 'train',
    title: 'Training: text file to model',
    goal: `at least ${FASTER} times faster than LIBLINEAR in ${MEMORY} of its memory or less, at the same distance from the optimum (goal 1).`,
    protocol: [
      `C = ${COST}, no bias; wall clock and peak resident memory of the whole process, reading the text included.`,
      'Differences are (P − P*) / P*, from the evaluator; Spillway runs at the loosest tolerance of the ladder that comes at least as close as LIBLINEAR.',
      `P* is not known better than to its certified gap, so differences below that count as equal. Its run has ${REFERENCE_SECONDS} s.`,
    ],
    tables: [times, references],
    details: [],
    notes: [],
  }
  const peers = { liblinear: await liblinear.version(), spillway: await spillway.version() }
  for (const { loss, dataSets, epsilons } of cases) {
    for await (const data of context.data(dataSets)) {
      try {
        const bench = new TrainBench(context, data, loss)
        const { rows, reference, details } = await bench.run(epsilons, peers)
        times.rows.push(...rows)
        if (reference) references.rows.push(reference)
        section.details.push(details)
      } catch (error) {
        context.skip(`train, ${data.name}, ${loss}`, error)
      }
    }
  }
  for (const loss of cases.map(({ loss }) => loss)) {
    const judged = times.rows.filter(row => row['loss'] === loss && typeof row['timeRatio'] === 'number')
    if (judged.length === 0) continue
    const mean = geometricMean(judged.map(row => row['timeRatio'] as number))
    section.notes.push(
      `${loss}: ${reachedOf(judged, 'fastEnough')} reach the time, ${reachedOf(judged, 'smallEnough')} the memory; ` +
        `geometric mean of the time ratios ${mean.toFixed(2)}.`,
    )
  }
  return section
}

const timeColumns = {
  data: { title: 'data' },
  loss: { title: 'loss' },
  epsilon: { title: 'LIBLINEAR -e' },
  liblinearDifference: { title: 'its difference', show: 'difference' },
  tolerance: { title: 'Spillway --tolerance', show: 'difference' },
  spillwayDifference: { title: 'its difference', show: 'difference' },
  liblinearSeconds: { title: 'LIBLINEAR s', show: 'seconds' },
  liblinearSpread: { title: 'spread', show: 'ratio' },
  spillwaySeconds: { title: 'Spillway s', show: 'seconds' },
  spillwaySpread: { title: 'spread', show: 'ratio' },
  timeRatio: { title: 'faster', show: 'times' },
  fastEnough: { title: `${FASTER}×?` },
  liblinearMemory: { title: 'LIBLINEAR MB', show: 'megabytes' },
  spillwayMemory: { title: 'Spillway MB', show: 'megabytes' },
  memoryRatio: { title: 'memory', show: 'ratio' },
  smallEnough: { title: `≤ ${MEMORY}?` },
} as const

const referenceColumns = {
  data: { title: 'data' },
  loss: { title: 'loss' },
  rows: { title: 'rows', show: 'count' },
  features: { title: 'features', show: 'count' },
  nonzeros: { title: 'nonzeros', show: 'count' },
  bytes: { title: 'text MB', show: 'megabytes' },
  primal: { title: 'P*' },
  gap: { title: 'certified gap', show: 'difference' },
  endedAfter: { title: 'ended after, s' },
  bound: { title: "above LIBLINEAR's dual by", show: 'difference' },
  accuracy: { title: 'training accuracy', show: 'share' },
} as const

interface Judged {
  run: TrainRun
  evaluation: Evaluation
}

interface Versions {
  liblinear?: string
  spillway?: string
}

/** One data set with one loss. */
class TrainBench {
  readonly #judged = new Map<string, Evaluation>()
  /** The worst primal that a peer with a setting has shown, in the search or in a timed round. */
  readonly #worst = new Map<string, number>()
  readonly #context: SuiteContext
  readonly #data: PreparedData
  readonly #loss: LossName

  constructor(context: SuiteContext, data: PreparedData, loss: LossName) {
    this.#context = context
    this.#data = data
    this.#loss = loss
  }

  async run(
    epsilons: (number | undefined)[],
    peers: Versions,
  ): Promise<{ rows: Record<string, Cell>[]; reference?: Record<string, Cell>; details: unknown }> {
    const { say } = this.#context
    const name = `${this.#data.name}, ${this.#loss}`
    say(`train ${name}`)
    await warm(this.#data.file)
    const reference = peers.spillway ? await this.#reference() : undefined
    const theirs = new Map<number | undefined, Judged>()
    if (peers.liblinear) for (const e of epsilons) theirs.set(e, await this.#trainAndJudge(liblinear, e))
    // A peer that gets below the reference has found the better optimum.
    const best = Math.min(
      reference?.primal ?? Infinity,
      ...[...theirs.values()].map(({ evaluation }) => evaluation.primal),
    )
    const difference = (primal: number): number => (primal - best) / best
    const unknown = reference?.gap ?? 0
    const pairs: { epsilon?: number; target: number; tolerance?: number }[] = []
    for (const epsilon of epsilons) {
      const found = theirs.get(epsilon)
      // Without LIBLINEAR there is nothing to match: the tolerance that users get.
      const target = found ? difference(found.evaluation.primal) : 1e-3
      const enough = (primal: number): boolean => difference(primal) <= Math.max(target, unknown)
      const tolerance = peers.spillway ? await this.#loosest(enough) : undefined
      if (peers.spillway && tolerance === undefined)
        this.#context.skip(name, `no tolerance of the ladder reaches ${target.toExponential(1)}`)
      pairs.push({ epsilon, target, tolerance })
    }
    const timings = await this.#time(peers, epsilons, [...new Set(pairs.flatMap(({ tolerance }) => tolerance ?? []))])
    const rows = pairs.map(({ epsilon, target, tolerance }) => {
      const a = peers.liblinear ? contestantName(liblinear, epsilon) : ''
      const b = tolerance === undefined ? '' : contestantName(spillway, tolerance)
      const spillwayDifference = b ? difference(this.#worst.get(b)!) : undefined
      if (spillwayDifference !== undefined && spillwayDifference > Math.max(target, unknown)) {
        this.#context.skip(
          name,
          `a timed run of ${b} came out worse than in the search, by the difference in the table`,
        )
      }
      return {
        ...{ data: this.#data.name, loss: this.#loss },
        ...{ epsilon: epsilon === undefined ? 'default' : String(epsilon), tolerance, spillwayDifference },
        // Without a reference there is nothing to be near to.
        liblinearDifference: a && reference ? target : undefined,
        ...compare(timings.get(a), timings.get(b)),
      }
    })
    const dual = Math.max(...[...theirs.values()].map(({ run }) => run.dual ?? -Infinity))
    return {
      rows,
      reference: reference && {
        ...{ data: this.#data.name, loss: this.#loss, bytes: this.#data.bytes, ...reference },
        primal: reference.primal.toPrecision(10),
        bound: Number.isFinite(dual) ? (reference.primal - dual) / reference.primal : undefined,
      },
      details: {
        ...{ data: this.#data.name, loss: this.#loss, reference, best, pairs },
        liblinear: [...theirs].map(([epsilon, { run, evaluation }]) => ({
          epsilon,
          dual: run.dual,
          told: run.told,
          evaluation,
        })),
        timings: Object.fromEntries(timings),
      },
    }
  }

  #reference(): Promise<Reference> {
    const { workFolder, say } = this.#context
    return referenceFor(this.#data, { loss: this.#loss, cost: COST }, workFolder, say)
  }

  #train(peer: Peer, stop: number | undefined): Promise<TrainRun> {
    const { workFolder, limit } = this.#context
    const model = join(workFolder, `${this.#data.name}-${this.#loss}-${peer.name}-${stop ?? 'default'}.model`)
    return peer.train(this.#data.file, { loss: this.#loss, cost: COST, stop, model }, { limit })
  }

  async #trainAndJudge(peer: Peer, stop: number | undefined): Promise<Judged> {
    const run = await this.#train(peer, stop)
    const evaluation = await this.#judge(peer, stop, run)
    this.#context.say(
      `${contestantName(peer, stop)}: P = ${evaluation.primal.toPrecision(10)}, accuracy ${evaluation.accuracy.toFixed(4)}`,
    )
    return { run, evaluation }
  }

  /** The evaluator is slow and models repeat, from round to round and from one tolerance to the next: one look at each. */
  async #judge(peer: Peer, stop: number | undefined, run: TrainRun): Promise<Evaluation> {
    const own = await digest(run.modelFile)
    let evaluation = this.#judged.get(own)
    if (!evaluation) {
      const text = await peer.asLiblinear(run.modelFile)
      const key = await digest(text)
      evaluation = this.#judged.get(key)
      evaluation ??= (await evaluateFiles(this.#data.file, [text], { loss: this.#loss, cost: COST }))[0]
      this.#judged.set(own, evaluation).set(key, evaluation)
    }
    const name = contestantName(peer, stop)
    this.#worst.set(name, Math.max(evaluation.primal, this.#worst.get(name) ?? 0))
    return evaluation
  }

  /** The loosest tolerance that is good enough; what an earlier search has tried is not tried again. */
  async #loosest(enough: (primal: number) => boolean): Promise<number | undefined> {
    for (const tolerance of LADDER) {
      const name = contestantName(spillway, tolerance)
      if (!this.#worst.has(name)) await this.#trainAndJudge(spillway, tolerance)
      if (enough(this.#worst.get(name)!)) return tolerance
    }
    return undefined
  }

  async #time(peers: Versions, epsilons: (number | undefined)[], tolerances: number[]): Promise<Map<string, Timing>> {
    const { rounds, cold, say } = this.#context
    const contestant = (peer: Peer, stop: number | undefined): Contestant<TrainRun> => ({
      name: contestantName(peer, stop),
      run: async () => {
        if (cold) await makeCold(this.#data.file)
        const run = await this.#train(peer, stop)
        // Untimed, and quick when the model has been judged before: a timed run may be no worse than the search was.
        await this.#judge(peer, stop, run)
        return run
      },
    })
    const contestants = [
      ...(peers.liblinear ? epsilons.map(epsilon => contestant(liblinear, epsilon)) : []),
      ...tolerances.map(tolerance => contestant(spillway, tolerance)),
    ]
    const runs = await interleave(contestants, rounds, say)
    return new Map([...runs].map(([name, list]) => [name, timingOf(list)]))
  }
}

const contestantName = (peer: Peer, stop: number | undefined): string => `${peer.name} ${stop ?? 'default'}`

function compare(a: Timing | undefined, b: Timing | undefined): Record<string, Cell> {
  const timeRatio = a && b && a.seconds / b.seconds
  const memoryRatio = a && b && b.peakMemoryBytes / a.peakMemoryBytes
  return {
    liblinearSeconds: a?.seconds,
    liblinearSpread: a?.spread,
    spillwaySeconds: b?.seconds,
    spillwaySpread: b?.spread,
    timeRatio,
    fastEnough: timeRatio && timeRatio >= FASTER,
    liblinearMemory: a?.peakMemoryBytes,
    spillwayMemory: b?.peakMemoryBytes,
    memoryRatio,
    smallEnough: memoryRatio && memoryRatio <= MEMORY,
  }
}

export async function digest(file: string): Promise<string> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(file), hash)
  return hash.digest('hex')
}
