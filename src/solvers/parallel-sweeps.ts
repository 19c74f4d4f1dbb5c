// Several trainers on one shared weight vector. Rows are dealt out, so every dual variable has one owner; w is shared, and
// nobody waits. Two trainers that add to the same weight at the same moment lose one of the two additions, so w drifts from
// Σ α y x, which is what it must be. It is therefore computed anew from the dual variables every few sweeps, as soon as the
// drift could matter beside what is left to gain, and always before anybody is told that the work is done.
//
// Asynchronous dual coordinate descent: Hsieh, Yu, Dhillon: PASSCoDe (ICML 2015), its "wild" form, with the repair that makes
// the result exact. The order of additions depends on the threads' timing, so the bits of the result do too.
import type { Arena } from '../numeric/arena.ts'
import { PROBLEM_BYTES, PROBLEM_WEIGHTS, SWEEP_BYTES } from '../numeric/layouts.ts'
import type { ThreadPool } from '../threads/pool.ts'
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

/** Drift of w, beside the distance to the optimum that the gap allows, from which on it is repaired after every sweep. */
const DRIFT = 0.003
const LONGEST_PERIOD = 8

/** Bytes that the trainers need for each weight, besides the weights. */
export function bytesForTrainers(trainers: number, weightBytes: number): number {
  return trainers > 1 ? (trainers + 1) * weightBytes : 0
}

export class ParallelSweeps {
  readonly #arena: Arena
  readonly #pool: ThreadPool
  readonly #shared: SharedProblem
  readonly #trainers: number
  readonly #sweeps: number[]
  readonly #replicas: number
  /** What rows that are not among these have given to w; 0 when these are all. */
  readonly #base: number
  readonly #problems: number[]
  #parts: number[] = []
  #period = 1
  #since = 0
  /** Largest and smallest projected gradient of the last sweep. */
  highest = 0
  lowest = 0
  /** What the last sweep's rows owed to the gap, and their losses; the loss of the last one that met every row. */
  gap = Number.POSITIVE_INFINITY
  loss = 0

  /** `others`: whether there are rows that are not dealt out, whose part of w must stay. */
  constructor(
    arena: Arena,
    pool: ThreadPool,
    trainers: number,
    shared: SharedProblem,
    others: boolean,
    allocate: Allocate,
  ) {
    this.#arena = arena
    this.#pool = pool
    this.#shared = shared
    this.#trainers = trainers
    const each = Array.from({ length: trainers }, (_, k) => k)
    this.#sweeps = each.map(k => allocate(`sweep of trainer ${k}`, SWEEP_BYTES))
    this.#problems = each.map(k => allocate(`problem of trainer ${k}`, PROBLEM_BYTES))
    this.#replicas = allocate('weights of each trainer', trainers * this.#replicaBytes, false)
    this.#base = others ? allocate('weights of other rows', this.#replicaBytes, false) : 0
  }

  get #replicaBytes(): number {
    return (this.#shared.weightCount * (this.#shared.narrow ? 4 : 8) + 63) & ~63
  }

  /** Deals out the rows that an order lists: all rows of the problem. */
  async start(order: number, rows: number, seed: bigint): Promise<void> {
    this.#parts = this.#sweeps.map((_, k) => Math.floor((rows * k) / this.#trainers)).concat(rows)
    this.activateAll(order, seed)
    this.#period = 1
    this.#since = 0
    if (this.#base === 0) return
    await this.#addUp()
    const { weights, weightCount, narrow } = this.#shared
    const subtract = narrow ? this.#arena.numeric.withoutReplicasF32 : this.#arena.numeric.withoutReplicasF64
    subtract(this.#base, weights, this.#replicas, this.#replicaBytes, this.#trainers, weightCount)
  }

  /** The next sweep meets every row. */
  activateAll(order: number, seed: bigint): void {
    this.#sweeps.forEach((sweep, k) => {
      const first = this.#parts[k]
      startListed(this.#arena, sweep, order + first * 4, this.#parts[k + 1] - first, seed * 31n + BigInt(k + 1), 1e-2)
    })
  }

  /** One sweep of all trainers at once; how many nonzeros were visited. */
  async sweep(): Promise<number> {
    const { problem, logistic, narrow, shrink } = this.#shared
    const outcomes = await Promise.all(
      this.#sweeps.map((sweep, k) =>
        this.#pool.run('one-sweep', {
          ...{ problem, sweep, logistic, narrow, shrink },
          rows: this.#parts[k + 1] - this.#parts[k],
        }),
      ),
    )
    let [work, gap, loss] = [0, 0, 0]
    this.highest = Number.NEGATIVE_INFINITY
    this.lowest = Number.POSITIVE_INFINITY
    for (const outcome of outcomes) {
      work += outcome.work
      gap += outcome.gap
      loss += outcome.loss
      this.highest = Math.max(this.highest, outcome.highest)
      this.lowest = Math.min(this.lowest, outcome.lowest)
    }
    this.gap = gap
    this.loss = loss
    this.#since++
    if (this.#since >= this.#period) await this.repair()
    return work
  }

  /** w = Σ α y x. */
  async repair(): Promise<void> {
    if (this.#since === 0) return
    this.#since = 0
    await this.#addUp()
    const { weights, weightCount, narrow } = this.#shared
    const sum = narrow ? this.#arena.numeric.sumReplicasF32 : this.#arena.numeric.sumReplicasF64
    const squared = sum(weights, this.#base, this.#replicas, this.#replicaBytes, this.#trainers, weightCount)
    // By strong convexity, w is no further from the best one than √(2 gap).
    const matters = DRIFT * Math.sqrt(2 * Math.max(this.gap, 0))
    this.#period = Math.sqrt(squared) <= matters ? Math.min(LONGEST_PERIOD, this.#period * 2) : 1
  }

  /** Σ α y x over all rows, by all trainers, each into weights of its own. */
  async #addUp(): Promise<void> {
    const { problem, stride, narrow } = this.#shared
    const arena = this.#arena
    await Promise.all(
      this.#problems.map((copy, k) => {
        const replica = this.#replicas + k * this.#replicaBytes
        arena.bytes(copy, PROBLEM_BYTES).set(arena.bytes(problem, PROBLEM_BYTES))
        arena.setU32(copy + PROBLEM_WEIGHTS, replica)
        return this.#pool.run('add-dual', {
          problem: copy,
          from: this.#parts[k],
          rows: this.#parts[k + 1],
          ...{ stride, narrow },
          clear: { at: replica, bytes: this.#replicaBytes },
        })
      }),
    )
  }
}
