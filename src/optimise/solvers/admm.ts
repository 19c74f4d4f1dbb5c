// Solver `admm`: the alternating direction method of multipliers. Each rank has weights of its own, and all of them are drawn to a
// consensus z:
//
//   min ½‖z‖² + Σ_k C Σ_{i of rank k} loss_i(w_k)          w_k = z
//   w_k ← argmin C Σ loss_i(w) + ρ/2 ‖w − z + u_k‖²,   z ← ρ Σ (w_k + u_k) / (1 + Kρ),   u_k ← u_k + w_k − z
//
// Boyd, Parikh, Chu, Peleato, Eckstein: Distributed optimization and statistical learning via the alternating direction method of
// multipliers (2011), sections 7.1 and 3.4.1: ρ is doubled or halved where ranks are far from consensus, or that moves too much. The
// first step is that of `average`, but for the share of rows.
//
// The local problem is one of dual coordinate descent: w_k = z − u_k + A_k α_k / ρ. Its dual variables are those of the whole problem,
// too, so that the duality gap of z is known: P(z) − (separable part − ½‖Σ A_k α_k‖²). On one rank it is solver `dual`.
import { alone, type Communicator } from '../../ranks/communicator.ts'
import { sumNumbers, sumVectors } from '../../ranks/records.ts'
import type { Address } from '../../sizes.ts'
import type { BinaryObjective } from '../objectives/binary.ts'
import { type Certificate, noSums } from '../objectives/certificate.ts'
import type { RowGroup, RowSource } from '../sources/row-source.ts'
import { betweenRanks } from './between-ranks.ts'
import { RankSweeps } from './rank-sweeps.ts'
import type { PassEnd, Run, Seen, SolverSettings, Turn } from './solver.ts'

/** Rows that owe no more than such a share of what they owed in the first sweep of a step wait for the others. */
const LITTLE = 0.1
/** ρ is changed where one residual is so many times the other, by such a factor. */
const FAR = 10
const FACTOR = 2

class AdmmRun implements Run {
  readonly #objective: BinaryObjective
  readonly #source: RowSource
  readonly #ranks: Communicator
  readonly #sweeps: RankSweeps
  /** Addresses: z, u_k, A_k α_k, and two vectors for the moment. */
  readonly #consensus: Address
  readonly #multiplier: Address
  readonly #made: Address
  readonly #start: Address
  readonly #sum: Address
  /** ρ. */
  #penalty: number
  #certificate: Certificate | undefined

  constructor(objective: BinaryObjective, source: RowSource, settings: SolverSettings) {
    const { ranks = alone } = settings
    this.#objective = objective
    this.#source = source
    this.#ranks = ranks
    this.#sweeps = new RankSweeps(objective, source, settings)
    this.#penalty = 1 / ranks.size
    const vector = (what: string): Address => source.room(`admm: ${what}`, objective.weightCount * 8)
    this.#consensus = vector('consensus')
    this.#multiplier = vector('multiplier')
    this.#made = vector('what rows make')
    this.#start = vector('start')
    this.#sum = vector('sum')
  }

  /** to = s · a + t · b. */
  #combine(to: Address, s: number, a: Address, t: number, b: Address): void {
    this.#source.arena.numeric.combine(to, s, a, t, b, this.#objective.weightCount)
  }

  #copy(to: Address, from: Address): void {
    this.#combine(to, 1, from, 0, from)
  }

  #squaredLength(vector: Address): number {
    return this.#source.arena.numeric.innerProduct(vector, vector, this.#objective.weightCount)
  }

  /** The local problem. */
  async visit(group: RowGroup, { most, signal }: Turn): Promise<Seen> {
    const { weights } = this.#objective
    const rho = this.#penalty
    this.#objective.damping = 1 / rho
    this.#combine(this.#start, 1, this.#consensus, -1, this.#multiplier)
    this.#combine(this.#start, 1, this.#start, 1 / rho, this.#made)
    this.#copy(weights, this.#start)
    // Rows that were at a bound may leave it: the problem is another one.
    this.#sweeps.wake()
    const isEnough = (last: { gap: number }, first: { gap: number }): boolean => last.gap <= LITTLE * first.gap
    const { work, first } = await this.#sweeps.sweep(group, { most, isEnough, signal })
    this.#combine(this.#start, rho, weights, -rho, this.#start)
    this.#combine(this.#made, 1, this.#made, 1, this.#start)
    return { work, losses: [first.loss], gaps: [first.gap] }
  }

  /** The consensus, its certificate, and the multipliers. */
  async endPass(target: number): Promise<PassEnd> {
    const { weights, weightCount: count } = this.#objective
    const { size } = this.#ranks
    // Σ (w_k + u_k), and Σ A_k α_k for the certificate.
    this.#combine(this.#multiplier, 1, this.#multiplier, 1, weights)
    this.#copy(this.#sum, this.#multiplier)
    this.#copy(this.#start, this.#made)
    const vectors = [this.#sum, this.#start].map(at => ({ at, count }))
    await sumVectors(this.#ranks, this.#source.arena, vectors)
    this.#combine(this.#sum, this.#penalty / (1 + size * this.#penalty), this.#sum, 0, this.#sum)
    this.#combine(this.#consensus, 1, this.#sum, -1, this.#consensus)
    const moved = this.#penalty * Math.sqrt(size * this.#squaredLength(this.#consensus))
    this.#copy(this.#consensus, this.#sum)
    this.#combine(this.#multiplier, 1, this.#multiplier, -1, this.#consensus)
    this.#combine(weights, 1, weights, -1, this.#consensus)
    const [apart] = await sumNumbers(this.#ranks, [this.#squaredLength(weights)])
    this.#copy(weights, this.#consensus)
    this.#certificate = await this.#certify(this.#squaredLength(this.#start))
    this.#balance(Math.sqrt(apart), moved)
    const { primal, dual, gap } = this.#certificate
    return { primals: [primal], gaps: [primal - dual!], done: [gap! <= target] }
  }

  /** Of the consensus; the length of Σ A_k α_k is known. */
  async #certify(squaredDual: number): Promise<Certificate> {
    const { arena, threads, all } = this.#source
    const [sums] = noSums(1)
    if (this.#sweeps.group) sums.set((await this.#objective.evaluate(threads, this.#sweeps.group))[0])
    await sumVectors(this.#ranks, arena, [], [sums])
    const [loss, separable, , correct, supportVectors] = sums
    const primal = 0.5 * this.#objective.squaredLengths()[0] + loss
    const dual = separable - 0.5 * squaredDual
    const trainingAccuracy = correct / Math.max(1, all.rows)
    return { primal, dual, gap: primal > 0 ? (primal - dual) / primal : 0, supportVectors, trainingAccuracy }
  }

  /** The multipliers that are kept are divided by ρ. */
  #balance(apart: number, moved: number): void {
    const factor = apart > FAR * moved ? FACTOR : moved > FAR * apart ? 1 / FACTOR : 1
    this.#penalty *= factor
    this.#combine(this.#multiplier, 1 / factor, this.#multiplier, 0, this.#multiplier)
  }

  certificates(): Certificate[] | undefined {
    return this.#certificate && [this.#certificate]
  }
}

export const admm = betweenRanks(
  { name: 'admm', summary: 'alternating directions: ranks have weights of their own, drawn to a consensus' },
  (objective, source, settings) => new AdmmRun(objective, source, settings),
)
