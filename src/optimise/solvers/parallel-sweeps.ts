// Several trainers on one shared weight vector. Rows are dealt out, so every dual variable has one owner; w is shared, and
// nobody waits. That goes wrong in two ways, and each has its cure.
//
// Frequent features: the trainers spend their time waiting for each other's cache lines, and overwrite each other's
// additions. So every trainer has the weights of the most frequent features to itself and merges them with the shared ones
// every few rows. They have the first numbers meanwhile: a comparison tells whose weight is whose.
//
// The others: two trainers that add to the same weight at the same moment lose one of the two additions, seldom, but w drifts
// from Σ α y x, which is what it must be. It is therefore computed anew from the dual variables every few sweeps, as soon as
// the drift could matter beside what is left to gain, and always before anybody is told that the work is done.
//
// Asynchronous dual coordinate descent: Hsieh, Yu, Dhillon: PASSCoDe (ICML 2015), its "wild" form, with the repair that makes
// the result exact. The order of additions depends on the threads' timing, so the bits of the result do too.

import type { Arena } from '../../numeric/arena.ts'
import { SweepFields } from '../../numeric/fields/sweep.ts'
import {
  PROBLEM_ALPHA,
  PROBLEM_BIAS,
  PROBLEM_BIAS_FEATURE,
  PROBLEM_BYTES,
  PROBLEM_HOT,
  PROBLEM_OWN,
  PROBLEM_ROWS,
  PROBLEM_WEIGHTS,
  SPACE_FACTORS,
  SWEEP_BYTES,
  SWEEP_LOWER,
  SWEEP_UPPER,
} from '../../numeric/layouts.ts'
import { CACHE_LINE, roundUp } from '../../numeric/rounding.ts'
import { loopTask, runLoop } from '../../threads/loop-task.ts'
import type { ThreadPool } from '../../threads/pool.ts'
import { carryRowsTask } from './carry-rows-task.ts'
import { bytesOfMarks, markMany } from './many-rows.ts'
import { type Momentum, shareAfter, sweepsAfter } from './momentum.ts'
import { type MergeLevel, partedSweepsTask } from './parted-sweeps-task.ts'
import { startListed } from './sweeps.ts'
import type { Allocate } from './working-set.ts'

export interface SharedProblem {
  /** Address of the PROBLEM_ structure. */
  problem: number
  weights: number
  weightCount: number
  stride: number
  logistic: boolean
  narrow: boolean
  shrink: boolean
}

/** Rows to deal out. */
export interface DealtRows {
  /** Where all rows of the problem are listed, in the order in which they are dealt out. */
  order: number
  rows: number
  /** Whether w has a part that is not theirs. */
  others: boolean
  seed: bigint
  /** How finely Newton steps go at first. */
  inner?: number
  /** Where rows are many: room for the marks of each trainer (many-rows.ts). */
  marks?: number | undefined
}

/** Drift of w, beside the distance to the optimum that the gap allows, from which on it is repaired after every sweep. */
const DRIFT = 0.003
const LONGEST_PERIOD = 8
/** Most weights that are a trainer's own, unless rows are dense, and how often in the sample a feature must occur. */
const MOST_HOT = 4096
const LEAST_COUNT = 4
const SAMPLE = 32768
/** How many of the most frequent weights are merged at once. */
const LEVELS = [64, 512]
/** Nonzeros visited for each weight that is merged: as a rule, and the least at which trainers gain more than they lose. */
const MERGE_PERIOD = 16
const LEAST_PERIOD = 3
/** How far trainers may go between two merges: rows, times what two rows have in common. Both take the same step as long as
 *  neither knows of the other's, and what lies in both is taken twice. Where that does harm depends on the problem: so far at
 *  first, and when the gap has not fallen for a number of sweeps, so many times less. */
const IN_COMMON = 4
const LESS = 4
const PATIENCE = 6
const FALLEN = 0.9

/** Bytes that the trainers need for each weight, besides the weights. */
export function bytesForTrainers(trainers: number, weightBytes: number, scaled: boolean): number {
  return trainers > 1 ? (trainers + 1) * weightBytes + 8 + (scaled ? 8 : 0) : 0
}

/** The rows of a trainer, which are a problem of its own. */
interface TrainersRows {
  problem: number
  from: number
  to: number
}

/** How often features occur in so many rows, in falling order, the rare ones left out; how many entries the rows have; and
 *  whether some have all features. */
interface Frequencies {
  counts: Uint32Array
  entries: number
  rows: number
  dense: boolean
}

/** Which weights are merged, and how often. */
function mergeLevels({ counts, entries, rows, dense }: Frequencies, hot: number, inCommon: number): MergeLevel[] {
  const sizes = LEVELS.filter(size => size < hot).concat(hot)
  return sizes.map((weights, k) => {
    // What two rows have in common: Σ f² / Σ f, with f the share of rows that have a feature.
    const squares = counts.subarray(sizes[k - 1] ?? 0).reduce((sum, count) => sum + count * count, 0)
    const common = dense ? 1 : squares / Math.max(rows * entries, 1)
    const most = (inCommon / common) * (entries / Math.max(rows, 1))
    return { weights, period: Math.min(MERGE_PERIOD * weights, most) }
  })
}

export class ParallelSweeps {
  readonly #arena: Arena
  readonly #pool: ThreadPool
  readonly #shared: SharedProblem
  readonly #trainers: number
  readonly #sweeps: number[]
  readonly #replicas: number
  /** What rows that are not among these have given to w. */
  readonly #base: number
  readonly #problems: number[]
  readonly #allocate: Allocate
  readonly #lock: number
  /** Number of each feature while trainers are at work, and the other way round. */
  readonly #numbers: number
  readonly #numbersBack: number
  /** Of scaled rows: factors by feature, and room for them by those numbers; readers go on with the former. */
  readonly #factors: number
  readonly #ordered: number
  /** Of each trainer: its own weights, then those as they were when they were last merged. */
  #own: number[] = []
  #hot = 0
  #levels: MergeLevel[] = []
  #frequent: Frequencies = { counts: new Uint32Array(), entries: 0, rows: 0, dense: false }
  #inCommon = IN_COMMON
  /** The least gap that was seen, and sweeps since. */
  #least = Number.POSITIVE_INFINITY
  #stalled = 0
  #dealt: DealtRows | undefined
  #parts: number[] = []
  #rows = 0
  #others = true
  #thresholds: [number, number][] = []
  #period = 1
  #since = 0
  /** What the last sweep was carried on by, and the sweeps that its next share goes by. */
  #momentum: Momentum | undefined
  #carried = 0
  /** Largest and smallest projected gradient of the last sweep. */
  highest = 0
  lowest = 0
  /** What the last sweep's rows owed to the gap, and their losses when all were last met. */
  gap = Number.POSITIVE_INFINITY
  loss = 0

  constructor(arena: Arena, pool: ThreadPool, trainers: number, shared: SharedProblem, allocate: Allocate) {
    this.#arena = arena
    this.#pool = pool
    this.#shared = shared
    this.#trainers = trainers
    this.#allocate = allocate
    const each = Array.from({ length: trainers }, (_, k) => k)
    this.#sweeps = each.map(k => allocate(`sweep of trainer ${k}`, SWEEP_BYTES))
    this.#problems = each.map(k => allocate(`problem of trainer ${k}`, PROBLEM_BYTES))
    this.#replicas = allocate('weights of each trainer', trainers * this.#replicaBytes, false)
    this.#base = allocate('weights of other rows', this.#replicaBytes, false)
    this.#numbers = allocate('numbers by frequency', shared.weightCount * 4, false)
    this.#numbersBack = allocate('features by frequency', shared.weightCount * 4, false)
    this.#factors = arena.getU32(SPACE_FACTORS)
    this.#ordered = this.#factors ? allocate('factors by frequency', shared.weightCount * 8, false) : 0
    this.#lock = allocate('the lock of shared weights', 64)
  }

  /** Whether one trainer has all rows. */
  get isAlone(): boolean {
    return this.#parts[1] === this.#rows
  }

  get #replicaBytes(): number {
    return roundUp(this.#shared.weightCount * (this.#shared.narrow ? 4 : 8), CACHE_LINE)
  }

  /** Deals out the rows of the problem, and begins. */
  async start(dealt: DealtRows): Promise<void> {
    const arena = this.#arena
    const { problem } = this.#shared
    this.#dealt = dealt
    this.#rows = dealt.rows
    this.#others = dealt.others
    if (this.#own.length === 0) this.#orderFeatures()
    this.#deal(dealt)
    await this.#renumber(this.#numbers)
    this.#orderFactors()
    const { weights, weightCount, narrow } = this.#shared
    const bias = arena.getU32(problem + PROBLEM_BIAS_FEATURE)
    this.#sweeps.forEach((_, k) => {
      arena.bytes(this.#problems[k], PROBLEM_BYTES).set(arena.bytes(problem, PROBLEM_BYTES))
      arena.setU32(this.#problems[k] + PROBLEM_BIAS_FEATURE, arena.getU32(this.#numbers + bias * 4))
      arena.setU32(this.#problems[k] + PROBLEM_HOT, this.#hot)
      arena.setU32(this.#problems[k] + PROBLEM_OWN, this.#own[k])
    })
    this.#period = 1
    this.#since = 0
    if (!dealt.others) return
    await this.#addUp()
    const subtract = narrow ? arena.numeric.withoutReplicasF32 : arena.numeric.withoutReplicasF64
    subtract(this.#base, weights, this.#replicas, this.#replicaBytes, this.#trainers, weightCount)
  }

  /** Gives each trainer its rows. Rows that have too much in common are left to one. */
  #deal({ order, rows, seed, inner, marks }: DealtRows): void {
    const arena = this.#arena
    this.#levels = mergeLevels(this.#frequent, this.#hot, this.#inCommon)
    const several = this.#levels.every(({ weights, period }) => period >= LEAST_PERIOD * weights)
    const ends = this.#sweeps.map((_, k) => (several ? Math.floor((rows * (k + 1)) / this.#trainers) : rows))
    this.#parts = [0, ...ends]
    this.#sweeps.forEach((sweep, k) => {
      const first = this.#parts[k]
      const part = { order: order + first * 4, rows: this.#parts[k + 1] - first }
      const { swept } = new SweepFields(arena, sweep)
      startListed(arena, { sweep, ...part, random: seed * 31n + BigInt(k + 1), inner })
      if (marks) markMany(arena, sweep, marks + k * bytesOfMarks(rows), rows, swept)
      if (!this.#thresholds[k]) return
      arena.setF64(sweep + SWEEP_UPPER, this.#thresholds[k][0])
      arena.setF64(sweep + SWEEP_LOWER, this.#thresholds[k][1])
    })
  }

  /** Merges more often, or leaves the rows to one trainer, when the gap does not fall. */
  #watch(): void {
    this.#stalled++
    if (this.gap < FALLEN * this.#least) {
      this.#least = this.gap
      this.#stalled = 0
    }
    if (this.#stalled < PATIENCE || this.isAlone) return
    this.#inCommon /= LESS
    this.#least = Number.POSITIVE_INFINITY
    this.#thresholds = []
    this.#deal(this.#dealt!)
  }

  /** Sweeps of all trainers at once, after dual variables were carried on; how many nonzeros were visited. */
  async sweep(targetGap: number, momentum?: Momentum): Promise<number> {
    const { logistic, narrow, shrink, weights } = this.#shared
    this.#momentum = momentum
    if (momentum) this.#carried = sweepsAfter(this.#carried, await this.#carryOn(momentum, shareAfter(this.#carried)))
    const outcomes = await Promise.all(
      this.#sweeps.map((sweep, k) =>
        this.#pool.run(partedSweepsTask, {
          ...{ problem: this.#problems[k], sweep, logistic, narrow, shrink },
          rows: this.#parts[k + 1] - this.#parts[k],
          merging: {
            weights,
            own: this.#own[k],
            seen: this.#own[k] + this.#ownBytes,
            lock: this.#lock,
            levels: this.#levels,
          },
          targetGap: targetGap / this.#trainers,
        }),
      ),
    )
    this.gap = outcomes.reduce((sum, { gap }) => sum + gap, 0)
    this.loss = outcomes.reduce((sum, { loss }) => sum + loss, 0)
    this.highest = Math.max(...outcomes.map(({ highest }) => highest))
    this.lowest = Math.min(...outcomes.map(({ lowest }) => lowest))
    this.#since++
    if (this.#since >= this.#period) await this.#repair()
    this.#watch()
    return outcomes.reduce((sum, { work }) => sum + work, 0)
  }

  /** Ends the work: w is Σ α y x, and features have their numbers again. */
  async finish(ready: boolean): Promise<void> {
    const arena = this.#arena
    if (this.#since > 0) await this.#repair()
    await this.#renumber(this.#numbersBack)
    arena.setU32(SPACE_FACTORS, this.#factors)
    this.#thresholds = this.#sweeps.map(sweep => [arena.getF64(sweep + SWEEP_UPPER), arena.getF64(sweep + SWEEP_LOWER)])
    if (!ready) return
    // Rows that were set aside wrongly come back when the others are done, and what they owe to the gap with them.
    this.#thresholds = []
    this.#least = Number.POSITIVE_INFINITY
    this.#stalled = 0
  }

  /** w = Σ α y x. */
  async #repair(): Promise<void> {
    this.#since = 0
    await this.#addUp()
    const { weights, weightCount, narrow } = this.#shared
    const sum = narrow ? this.#arena.numeric.sumReplicasF32 : this.#arena.numeric.sumReplicasF64
    const base = this.#others ? this.#base : 0
    const squared = sum(weights, base, this.#replicas, this.#replicaBytes, this.#trainers, weightCount)
    // By strong convexity, w is no further from the best one than √(2 gap).
    const matters = DRIFT * Math.sqrt(2 * Math.max(this.gap, 0))
    this.#period = Math.sqrt(squared) <= matters ? Math.min(LONGEST_PERIOD, this.#period * 2) : 1
  }

  /** Carries dual variables on, each trainer those of its rows (momentum.ts); whether the point was taken. */
  async #carryOn({ alpha: before, weights: beforeWeights, rows }: Momentum, share: number): Promise<boolean> {
    const arena = this.#arena
    const { numeric } = arena
    const { weights, weightCount, stride, problem } = this.#shared
    const length = numeric.carryWeights(weights, beforeWeights, weightCount, share)
    const gains = await this.#inReplicas((part, clear) =>
      this.#pool.run(carryRowsTask, { ...part, before: before + part.from * stride, share, clear }),
    )
    numeric.sumReplicasF64(weights, weights, this.#replicas, this.#replicaBytes, this.#trainers, weightCount)
    const gain = gains.reduce((sum, gain) => sum + gain, 0)
    if (gain - 0.5 * (numeric.innerProduct(weights, weights, weightCount) - length) >= 0) return true
    const alpha = arena.getU32(problem + PROBLEM_ALPHA)
    arena.bytes(alpha, rows * stride).set(arena.bytes(before, rows * stride))
    arena.bytes(weights, weightCount * 8).set(arena.bytes(beforeWeights, weightCount * 8))
    return false
  }

  /** Σ α y x over all rows, by all trainers. */
  async #addUp(): Promise<void> {
    const { stride, narrow } = this.#shared
    await this.#inReplicas(({ problem, from, to }, clear) =>
      this.#pool.run(loopTask, {
        loop: narrow ? 'addDualF32' : 'addDualF64',
        numbers: [problem, from, to, stride],
        clear,
      }),
    )
  }

  /** Runs a task for each trainer's rows that adds into weights of its own, which are to be cleared. */
  async #inReplicas<T>(run: (part: TrainersRows, replica: { at: number; bytes: number }) => Promise<T>): Promise<T[]> {
    const arena = this.#arena
    const found = await Promise.all(
      this.#problems.map((problem, k) => {
        const at = this.#replicas + k * this.#replicaBytes
        arena.setU32(problem + PROBLEM_WEIGHTS, at)
        return run({ problem, from: this.#parts[k], to: this.#parts[k + 1] }, { at, bytes: this.#replicaBytes })
      }),
    )
    for (const problem of this.#problems) arena.setU32(problem + PROBLEM_WEIGHTS, this.#shared.weights)
    return found
  }

  get #ownBytes(): number {
    return roundUp(this.#hot * (this.#shared.narrow ? 4 : 8), CACHE_LINE)
  }

  /** Orders features by frequency, once: a sample of rows tells. */
  #orderFeatures(): void {
    const { weightCount, problem } = this.#shared
    const { numeric } = this.#arena
    const table = this.#arena.getU32(problem + PROBLEM_ROWS)
    const step = Math.ceil(this.#rows / SAMPLE)
    const counts = this.#arena.u32(this.#numbers, weightCount).fill(0)
    const dense = numeric.countOccurrences(table, this.#rows, step, this.#numbers)
    const sampled = Math.ceil(this.#rows / step)
    const entries = counts.reduce((sum, count) => sum + count, 0)
    const hasBias = this.#arena.getF64(problem + PROBLEM_BIAS) !== 0
    counts[this.#arena.getU32(problem + PROBLEM_BIAS_FEATURE)] = hasBias ? SAMPLE : LEAST_COUNT
    const found = counts.filter(count => count >= LEAST_COUNT).sort((a, b) => b - a)
    // Features of dense rows have the first numbers already.
    let frequent = dense
    for (let j = dense; j < weightCount; j++) if (counts[j] >= LEAST_COUNT) frequent++
    numeric.orderByFrequency(this.#numbers, weightCount, dense, this.#replicas)
    numeric.invertNumbers(this.#numbers, weightCount, this.#numbersBack)
    this.#hot = Math.max(dense, Math.min(frequent, MOST_HOT))
    this.#frequent = { counts: found, entries, rows: sampled, dense: dense > 0 }
    this.#own = this.#sweeps.map((_, k) => this.#allocate(`own weights of trainer ${k}`, 2 * this.#ownBytes))
  }

  #orderFactors(): void {
    if (!this.#factors) return
    const arena = this.#arena
    const { weightCount } = this.#shared
    arena.f64(this.#ordered, weightCount).set(arena.f64(this.#factors, weightCount))
    // There is room for f64 among the replicas: they are two at least.
    arena.numeric.renumberWeightsF64(this.#numbers, weightCount, this.#ordered, this.#replicas)
    arena.setU32(SPACE_FACTORS, this.#ordered)
  }

  /** Renumbers the features of rows and weights: to the order of frequency, or back. */
  async #renumber(numbers: number): Promise<void> {
    const { weights, weightCount, problem, narrow } = this.#shared
    const { numeric } = this.#arena
    const table = this.#arena.getU32(problem + PROBLEM_ROWS)
    const renumberWeights = narrow ? numeric.renumberWeightsF32 : numeric.renumberWeightsF64
    renumberWeights(numbers, weightCount, weights, this.#replicas)
    if (this.#momentum) renumberWeights(numbers, weightCount, this.#momentum.weights, this.#replicas)
    await Promise.all(
      this.#sweeps.map((_, k) =>
        runLoop(this.#pool, 'renumberEntries', numbers, table, this.#parts[k], this.#parts[k + 1]),
      ),
    )
  }
}
