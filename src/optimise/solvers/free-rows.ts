// Steps that ranks take together, on the dual variables that are not at a bound.
//
// Ranks that train by dual coordinate descent agree soon on w, and late on who contributes what to it: where one rank's dual
// variables ought to grow and those of another one to shrink, w hardly moves, and neither of them sees that in its own rows.
// Then all of them together take a step of Newton's method on the dual variables that are not at a bound,
//
//   (Q + D)_FF s = −∇_F          F = {i: 0 < α_i < U_i}
//
// by conjugate gradients, preconditioned by the diagonal. A product with Q is two visits of the free rows, between which Σ s y x is
// summed over ranks. What is beyond the box is cut off, and the best point on the way there is taken: Moré, Toraldo: On the solution of
// large quadratic programming problems with bound constraints (SIAM Journal on Optimization 1, 1991).
import type { Communicator } from '../../ranks/communicator.ts'
import { sumNumbers, sumVectors } from '../../ranks/records.ts'
import type { Address } from '../../sizes.ts'
import { runLoop } from '../../threads/loop-task.ts'
import type { BinaryObjective } from '../objectives/binary.ts'
import type { RowGroup, RowSource } from '../sources/row-source.ts'
import type { RanksTogether } from './over-ranks.ts'

/** Conjugate gradients end when their residual is so small a share of what it was, or after so many products. */
const FORCING = 0.1
const MOST_PRODUCTS = 30
/** Shorter steps that are tried. */
const MOST_TRIES = 4

/** Rows are held back by a share of their squares, at first and at most: the less, the better steps have been. */
const FIRST_HOLDING = 0.1
const MOST_HOLDING = 10
const LOOSER = 0.5

export class FreeRows {
  readonly #objective: BinaryObjective
  readonly #source: RowSource
  readonly #ranks: Communicator
  readonly #together: RanksTogether
  /** Addresses of numbers by row: residual, second derivatives, the same over them, direction, product, step. */
  readonly #residual: Address
  readonly #seconds: Address
  readonly #scaled: Address
  readonly #direction: Address
  readonly #product: Address
  readonly #step: Address
  #holding = FIRST_HOLDING
  /** Address of Σ s y x. */
  readonly #sum: Address

  constructor(objective: BinaryObjective, source: RowSource, ranks: Communicator, together: RanksTogether) {
    this.#objective = objective
    this.#source = source
    this.#ranks = ranks
    this.#together = together
    const list = (what: string): Address => source.room(`free rows: ${what}`, Math.max(1, source.rows) * 8)
    this.#residual = list('residual')
    this.#seconds = list('second derivatives')
    this.#scaled = list('scaled residual')
    this.#direction = list('direction')
    this.#product = list('product')
    this.#step = list('step')
    this.#sum = source.room('free rows: sum', objective.weightCount * 8)
  }

  /** Takes the step; products that it took. */
  async step(group: RowGroup): Promise<number> {
    const { numeric } = this.#source.arena
    const { weightCount } = this.#objective
    const { rows } = group
    const problem = this.#objective.of(group)
    const run = (...[loop, ...numbers]: [Parameters<typeof runLoop>[1], ...number[]]): Promise<void> =>
      runLoop(this.#source.threads, loop, problem, 0, rows, ...numbers)
    await run('freeRows', this.#residual, this.#seconds, this.#holding)
    await run('overRows', this.#residual, this.#seconds, this.#scaled)
    numeric.combine(this.#direction, 1, this.#scaled, 0, this.#scaled, rows)
    numeric.combine(this.#step, 0, this.#step, 0, this.#step, rows)
    let [size] = await sumNumbers(this.#ranks, [numeric.innerProduct(this.#residual, this.#scaled, rows)])
    const enough = FORCING ** 2 * size
    let products = 0
    while (size > enough && products < MOST_PRODUCTS) {
      await this.#add(problem, this.#direction, rows)
      await sumVectors(this.#ranks, this.#source.arena, [{ at: this.#sum, count: weightCount }])
      await run('timesMoves', this.#direction, this.#seconds, this.#sum, this.#product)
      products++
      const [curvature] = await sumNumbers(this.#ranks, [numeric.innerProduct(this.#direction, this.#product, rows)])
      if (!(curvature > 0)) break
      const length = size / curvature
      numeric.combine(this.#step, 1, this.#step, length, this.#direction, rows)
      numeric.combine(this.#residual, 1, this.#residual, -length, this.#product, rows)
      await run('overRows', this.#residual, this.#seconds, this.#scaled)
      const [next] = await sumNumbers(this.#ranks, [numeric.innerProduct(this.#residual, this.#scaled, rows)])
      numeric.combine(this.#direction, 1, this.#scaled, next / size, this.#direction, rows)
      size = next
    }
    return products === 0 ? 0 : products + (await this.#follow(problem, group))
  }

  /** Goes along the step as far as the dual rises, rows that come to a bound staying there; visits of the free rows that it took. */
  async #follow(problem: Address, group: RowGroup): Promise<number> {
    const { arena, threads } = this.#source
    const { weights, weightCount } = this.#objective
    const { rows } = group
    let share = 1
    for (let tries = 1; ; tries++) {
      this.#together.start()
      arena.numeric.combine(this.#direction, share, this.#step, 0, this.#step, rows)
      await runLoop(threads, 'makeMoves', problem, 0, rows, this.#direction)
      this.#together.met(group)
      await this.#add(problem, this.#direction, rows)
      arena.numeric.combine(weights, 1, this.#sum, 0, this.#sum, weightCount)
      const isLast = tries === MOST_TRIES
      const { best } = await this.#together.go({ safe: 0, least: isLast ? 0 : 1 })
      if (isLast || best === 1) {
        this.#holding = tries === 1 ? LOOSER * this.#holding : Math.min(MOST_HOLDING, this.#holding / LOOSER)
        return tries
      }
      share *= Math.min(0.5, Math.max(0.1, best))
    }
  }

  /** Σ s y x over this rank's rows. */
  async #add(problem: Address, moves: Address, rows: number): Promise<void> {
    this.#source.arena.bytes(this.#sum, this.#objective.weightCount * 8).fill(0)
    await runLoop(this.#source.threads, 'addMoves', problem, 0, rows, moves, this.#sum)
  }
}
