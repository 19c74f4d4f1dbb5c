// Steps that ranks take together, on the dual variables that are not at a bound.
//
// Ranks that train by dual coordinate descent agree soon on w, and late on who contributes what to it: where one rank's dual
// variables ought to grow and those of another one to shrink, w hardly moves, and neither of them sees that in its own rows.
// Then all of them together take a step of Newton's method on the dual variables that are not at a bound,
//
//   (Q + D)_FF s = −∇_F          F = {i: 0 < α_i < U_i}
//
// by conjugate gradients, preconditioned by the diagonal. What is beyond the box is cut off, and the best point on the way there is
// taken: Moré, Toraldo: On the solution of large quadratic programming problems with bound constraints (SIAM Journal on
// Optimization 1, 1991).
//
// A product with Q needs u = Σ s y x over all ranks, and then y uᵀx of each row. Of the product, preconditioned, the same sum is made
// while its rows are at hand. The sum of the next direction follows from the two, so that a product is one pass over the rows.
import type { Communicator } from '../../ranks/communicator.ts'
import { sumNumbers, sumVectors } from '../../ranks/records.ts'
import type { Address } from '../../sizes.ts'
import { type LoopCall, runLoops } from '../../threads/loop-task.ts'
import type { BinaryObjective } from '../objectives/binary.ts'
import { type BlockOrder, mostRows, type RowGroup, type RowSource } from '../sources/row-source.ts'
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

/** Lists of a number by row, and vectors of a number by weight. */
const LISTS = 7
const VECTORS = 3
/** Bytes that ranks need for each row and for each weight, with what RanksTogether keeps of a step. */
export const BYTES_OVER_RANKS = { perRow: LISTS * 8 + 16, perWeight: VECTORS * 8 + 8 }

/** Numbers by row, in the order of the source. */
interface RowList {
  at: Address
}

/** A loop over rows, and what it takes behind them. */
type ListLoop = [loop: LoopCall['loop'], ...taken: (RowList | number)[]]

export class FreeRows {
  readonly #objective: BinaryObjective
  readonly #source: RowSource
  readonly #order: BlockOrder
  readonly #ranks: Communicator
  readonly #together: RanksTogether
  /** Residual, second derivatives, residual and product over them, direction, product, step. */
  readonly #residual: RowList
  readonly #seconds: RowList
  readonly #scaled: RowList
  readonly #turned: RowList
  readonly #direction: RowList
  readonly #product: RowList
  readonly #step: RowList
  /** Addresses of Σ s y x, where s is the direction, the residual over the diagonal, or the product over it. */
  readonly #sum: Address
  readonly #scaledSum: Address
  readonly #turnedSum: Address
  /** How much rows are held back. */
  holding = FIRST_HOLDING
  /** Whether an interrupt has ended a step before it was taken. */
  isTorn = false

  constructor(
    objective: BinaryObjective,
    source: RowSource,
    { ranks, order, together }: { ranks: Communicator; order: BlockOrder; together: RanksTogether },
  ) {
    this.#objective = objective
    this.#source = source
    this.#order = order
    this.#ranks = ranks
    this.#together = together
    const list = (what: string): RowList => ({
      at: source.room(`free rows: ${what}`, Math.max(1, mostRows(source)) * 8),
    })
    this.#residual = list('residual')
    this.#seconds = list('second derivatives')
    this.#scaled = list('scaled residual')
    this.#turned = list('scaled product')
    this.#direction = list('direction')
    this.#product = list('product')
    this.#step = list('step')
    const vector = (what: string): Address => source.room(`free rows: ${what}`, objective.weightCount * 8)
    this.#sum = vector('sum')
    this.#scaledSum = vector('sum of the scaled residual')
    this.#turnedSum = vector('sum of the scaled product')
  }

  /** Takes the step; passes that it took. `isStopped`: whether this rank was interrupted, which ends it on all of them. */
  async step(isStopped: () => boolean): Promise<number> {
    await this.#sumUp(this.#scaledSum, [
      ['freeRows', this.#residual, this.#seconds, this.holding],
      ['overRows', this.#residual, this.#seconds, this.#scaled],
      ['addMoves', this.#scaled, this.#scaledSum],
    ])
    this.#combine(this.#direction, 1, this.#scaled, 0, this.#scaled)
    this.#combineSums(this.#sum, 1, this.#scaledSum, 0, this.#scaledSum)
    this.#combine(this.#step, 0, this.#step, 0, this.#step)
    let size = await this.#inner(this.#residual, this.#scaled)
    const enough = FORCING ** 2 * size
    let products = 0
    while (size > enough && products < MOST_PRODUCTS) {
      await this.#sumUp(this.#turnedSum, [
        ['timesMoves', this.#direction, this.#seconds, this.#sum, this.#product],
        ['overRows', this.#product, this.#seconds, this.#turned],
        ['addMoves', this.#turned, this.#turnedSum],
      ])
      products++
      const own = [this.#ownInner(this.#direction, this.#product), isStopped() ? 1 : 0]
      const [curvature, stopped] = await sumNumbers(this.#ranks, own)
      if (stopped > 0) {
        this.isTorn = true
        return products
      }
      if (!(curvature > 0)) break
      const length = size / curvature
      this.#combine(this.#step, 1, this.#step, length, this.#direction)
      this.#combine(this.#residual, 1, this.#residual, -length, this.#product)
      this.#combine(this.#scaled, 1, this.#scaled, -length, this.#turned)
      this.#combineSums(this.#scaledSum, 1, this.#scaledSum, -length, this.#turnedSum)
      const next = await this.#inner(this.#residual, this.#scaled)
      this.#combine(this.#direction, 1, this.#scaled, next / size, this.#direction)
      this.#combineSums(this.#sum, 1, this.#scaledSum, next / size, this.#sum)
      size = next
    }
    return products === 0 ? 0 : products + (await this.#follow())
  }

  /** Goes along the step as far as the dual rises, rows that come to a bound staying there; visits of the free rows that it took. */
  async #follow(): Promise<number> {
    const { arena } = this.#source
    const { weights, weightCount } = this.#objective
    let share = 1
    for (let tries = 1; ; tries++) {
      this.#together.start()
      this.#combine(this.#direction, share, this.#step, 0, this.#step)
      arena.bytes(this.#sum, weightCount * 8).fill(0)
      for await (const group of this.#groups()) {
        await this.#run(group, [['makeMoves', this.#direction]])
        this.#objective.keep(group)
        this.#together.met(group)
        await this.#run(group, [['addMoves', this.#direction, this.#sum]])
      }
      this.#combineSums(weights, 1, this.#sum, 0, this.#sum)
      const isLast = tries === MOST_TRIES
      const { best } = await this.#together.go({ safe: 0, least: isLast ? 0 : 1 })
      if (isLast || best === 1) {
        this.holding = tries === 1 ? LOOSER * this.holding : Math.min(MOST_HOLDING, this.holding / LOOSER)
        return tries
      }
      share *= Math.min(0.5, Math.max(0.1, best))
    }
  }

  /** Runs loops over all rows, the last of which adds to a vector; it becomes the sum over all ranks. */
  async #sumUp(vector: Address, loops: ListLoop[]): Promise<void> {
    const { arena } = this.#source
    const { weightCount } = this.#objective
    arena.bytes(vector, weightCount * 8).fill(0)
    for await (const group of this.#groups()) await this.#run(group, loops)
    await sumVectors(this.#ranks, arena, [{ at: vector, count: weightCount }])
  }

  #groups(): AsyncGenerator<RowGroup> {
    return this.#source.pass(this.#source.groups(-1, this.#order))
  }

  /** Runs loops over the rows of a group, one after the other. Lists have the rows of all groups. */
  async #run(group: RowGroup, loops: ListLoop[]): Promise<void> {
    const problem = this.#objective.of(group)
    const calls = loops.flatMap(([loop, ...taken]) => {
      let done = 0
      return group.parts.map(({ rows, firstRow }): LoopCall => {
        const from = done
        done += rows
        const numbers = taken.map(one => (typeof one === 'number' ? one : one.at + (firstRow - from) * 8))
        return { loop, numbers: [problem, from, done, ...numbers] }
      })
    })
    await runLoops(this.#source.threads, calls)
  }

  /** to = s · a + t · b, by row. */
  #combine(to: RowList, s: number, a: RowList, t: number, b: RowList): void {
    this.#source.arena.numeric.combine(to.at, s, a.at, t, b.at, this.#source.rows)
  }

  /** The same by weight. */
  #combineSums(to: Address, s: number, a: Address, t: number, b: Address): void {
    this.#source.arena.numeric.combine(to, s, a, t, b, this.#objective.weightCount)
  }

  async #inner(a: RowList, b: RowList): Promise<number> {
    return (await sumNumbers(this.#ranks, [this.#ownInner(a, b)]))[0]
  }

  #ownInner(a: RowList, b: RowList): number {
    return this.#source.arena.numeric.innerProduct(a.at, b.at, this.#source.rows)
  }
}
