// Dual methods over ranks. Each rank has its rows and their dual variables, and all of them have the same w. In a pass a rank
// moves its own dual variables, as if the others moved alike: with the damping σ it minimises
//
//   ‖w + σ A_k Δα_k‖² / 2σ − separable part of the dual          w_k = w + σ A_k Δα_k,   A_k = its columns y_i x_i
//
// Then Δw_k = (w_k − w) / σ are summed, and the dual moves along all of them: α + t Δα, w + t Σ Δw_k. With σ = K, the number of
// ranks, the full step t = 1 never lowers the dual: Ma, Smith, Jaggi, Jordan, Richtárik, Takáč: Adding vs. averaging in distributed
// primal-dual optimization (ICML 2015). What σ would have been enough is known behind a step:
//
//   ‖Σ Δw_k‖² / Σ ‖Δw_k‖²   ≤ K
//
// Ranks that learn different things need little damping, and so σ follows that number. Where it was too small, the best t is taken:
// the dual along the step is a parabola, or nearly, whose slope at 0 and value at 1 are sums over ranks. t = 1/K is always safe,
// for the dual is concave: it rises by at least a K-th of what each rank gained by itself.
import type { Stretch } from '../../block-store/checkpoint.ts'
import type { Arena } from '../../numeric/arena.ts'
import type { Communicator } from '../../ranks/communicator.ts'
import { sumNumbers, sumVectors } from '../../ranks/records.ts'
import type { Address } from '../../sizes.ts'
import type { OneProblem } from '../objectives/one-problem.ts'
import { mostRows, type RowGroup, type RowSource } from '../sources/row-source.ts'

/** A full step is taken where it does at least half of what the best one does: dual variables that have come to a bound stay
 *  there. Of a parabola, that is where the best step is at least so long. */
const FULL = 0.6
/** Shorter steps that are tried along an entropic dual, which is no parabola. */
const MOST_TRIES = 20
/** A step of an entropic dual is taken that gains so much of what the slope promises. */
const ENOUGH = 0.25
/** Differences of sums say nothing below so much of them. */
const DIGITS = 1e-12

/** Of a step: how far it is best to go; the squared length of all ranks' steps together; and a sum of all ranks' numbers. */
interface Gone {
  best: number
  length: number
  told: number
}

/** Where it stands between two visits: plain data. */
export interface TogetherState {
  damping: number
  begun: boolean
}

/** Puts together what ranks have learnt in a pass. */
export class RanksTogether {
  readonly #arena: Arena
  readonly #ranks: Communicator
  readonly #objective: OneProblem
  readonly #source: RowSource
  readonly #weightsBefore: Address
  readonly #alphaBefore: Address
  /** Address of sums over this rank's rows: the separable part of the dual before a step, behind it, and its slope. */
  readonly #sums: Address
  #damping: number
  #begun = false

  constructor(objective: OneProblem, source: RowSource, ranks: Communicator) {
    const { arena, weightCount, alphaStride } = objective
    this.#arena = arena
    this.#ranks = ranks
    this.#objective = objective
    this.#source = source
    this.#weightsBefore = source.room('weights before the pass', weightCount * 8)
    this.#alphaBefore = source.room('dual variables before the pass', Math.max(1, mostRows(source)) * alphaStride)
    this.#sums = source.room('sums over rows', 3 * 8)
    this.#damping = ranks.size
  }

  /** Numbers that dual variables take. */
  get #alphas(): number {
    return this.#source.rows * (this.#objective.alphaStride / 8)
  }

  /** Before the first group of a pass. */
  begin(): void {
    if (this.#begun) return
    this.#begun = true
    this.start()
    this.#objective.damping = this.#damping
  }

  /** Where weights and dual variables are is where a step begins. */
  start(): void {
    const { weights, weightCount, alpha } = this.#objective
    this.#copy(this.#weightsBefore, weights, weightCount)
    this.#copy(this.#alphaBefore, alpha, this.#alphas)
    this.#arena.f64(this.#sums, 3).fill(0)
  }

  /** A group has been visited, whose rows are still there. Else `diagonals` has a number for each of them: see listDiagonals. */
  met(group: RowGroup, diagonals = 0): void {
    const { numeric } = this.#arena
    const { alphaStride, sweepKind } = this.#objective
    const problem = this.#objective.of(group)
    let done = 0
    for (const { rows, firstRow } of group.parts) {
      const before = this.#alphaBefore + (firstRow - done) * alphaStride
      if (sweepKind.together) numeric.stepSumsTogether(problem, done, done + rows, before, this.#sums)
      else numeric.stepSums(problem, done, done + rows, before, diagonals, this.#sums)
      done += rows
    }
  }

  /** All groups of the pass have been visited. How far ranks went along what they found. */
  async meet(): Promise<number> {
    // A rank without rows has nothing to tell, but hears of the others.
    this.begin()
    this.#begun = false
    const { numeric } = this.#arena
    const { weights, weightCount } = this.#objective
    numeric.combine(weights, 1, weights, -1, this.#weightsBefore, weightCount)
    numeric.combine(weights, 1 / this.#damping, weights, 0, weights, weightCount)
    const own = numeric.innerProduct(weights, weights, weightCount)
    const { best, length, told: apart } = await this.go({ safe: 1 / this.#ranks.size, told: own })
    if (!(apart > 0)) return best
    // It rises at once, and falls step by step.
    const needed = length / apart
    this.#damping = Math.min(this.#ranks.size, Math.max(1, needed, Math.sqrt(this.#damping * needed)))
    return best
  }

  /** Goes along the sum of all ranks' steps; this one's stands where the weights do. `safe`: how far it goes where nothing tells
   *  how far; `least`: a shorter step than that is not taken. */
  async go({ safe, least = 0, told = 0 }: { safe: number; least?: number; told?: number }): Promise<Gone> {
    const { numeric } = this.#arena
    const { weights, weightCount, alpha } = this.#objective
    const sums = Float64Array.of(...this.#arena.f64(this.#sums, 3), told, this.#isFresh ? 1 : 0)
    await sumVectors(this.#ranks, this.#arena, [{ at: weights, count: weightCount }], [sums])
    const length = numeric.innerProduct(weights, weights, weightCount)
    const along = numeric.innerProduct(this.#weightsBefore, weights, weightCount)
    const best = await this.#stepOf(sums, along, length, safe)
    const step = best < least ? 0 : best
    if (step === 0) {
      this.#copy(weights, this.#weightsBefore, weightCount)
      this.#copy(alpha, this.#alphaBefore, this.#alphas)
    } else {
      numeric.combine(weights, 1, this.#weightsBefore, step, weights, weightCount)
      if (step !== 1) numeric.moveTowards(alpha, this.#alphaBefore, step, this.#alphas)
    }
    return { best, length, told: sums[3] }
  }

  /** Has ranks move w one after the other, each from where the last one has left it. No damping is needed, and no step is too long. */
  async inTurns<T>(move: () => Promise<T>): Promise<T> {
    const { weights, weightCount } = this.#objective
    this.#objective.damping = 1
    let own: T | undefined
    for (let turn = 0; turn < this.#ranks.size; turn++) {
      if (turn === this.#ranks.rank) own = await move()
      // A copy: what is sent must stay where it is while the arena grows.
      const sent = this.#arena.f64(weights, weightCount).slice()
      await this.#ranks.broadcast(sent, turn)
      this.#arena.f64(weights, weightCount).set(sent)
    }
    return own!
  }

  /** Whether the step began with dual variables outside of the entropic dual's domain, which is so at w = 0. */
  get #isFresh(): boolean {
    if (!this.#objective.sweepKind.logistic || this.#alphas === 0) return false
    const [old, oldRest] = this.#arena.f64(this.#alphaBefore, 2)
    return old === 0 && oldRest === 0
  }

  async #stepOf(
    [old, next, slope, , fresh]: Float64Array,
    along: number,
    length: number,
    safe: number,
  ): Promise<number> {
    // With the most damping nothing else is needed.
    if (fresh > 0) return 1
    const rise = slope - along
    const gain = next - old - along - 0.5 * length
    // A step that only rounding tells from none.
    if (Math.abs(gain) <= DIGITS * (Math.abs(next) + length) || rise <= 0) return gain >= 0 ? 1 : safe
    const best = rise / (2 * (rise - gain))
    if (rise <= gain || best >= FULL) return 1
    if (!this.#objective.sweepKind.logistic) return best
    let step = best
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      const own = this.#arena.numeric.entropyAlong(this.#objective.alpha, this.#alphaBefore, step, this.#alphas / 2)
      const [part] = await sumNumbers(this.#ranks, [own])
      if (part - old - step * along - 0.5 * step * step * length >= ENOUGH * step * rise) break
      step *= 0.5
    }
    return step
  }

  state(): TogetherState {
    return { damping: this.#damping, begun: this.#begun }
  }

  restore({ damping, begun }: TogetherState): void {
    this.#damping = damping
    this.#begun = begun
    if (begun) this.#objective.damping = damping
  }

  /** Within a pass: where it began, and what its groups have shown. */
  stretches(): Stretch[] {
    if (!this.#begun) return []
    return [
      { at: this.#weightsBefore, bytes: this.#objective.weightCount * 8 },
      { at: this.#alphaBefore, bytes: this.#alphas * 8 },
      { at: this.#sums, bytes: 3 * 8 },
    ]
  }

  #copy(to: Address, from: Address, count: number): void {
    this.#arena.bytes(to, count * 8).set(this.#arena.bytes(from, count * 8))
  }
}
