// Momentum for coordinate descent over blocks: all dual variables are in memory, rows are not.
//
//   as a pass begins:       w ← w + β (w − w′)            w′ and α′: as they were when the pass before began
//   as a block is visited:  α ← clamp(α + β (α − α′)),    w ← w + what clamped rows took back
//
// When all blocks were visited, w is Σ α y x again: the ends of passes, and so certificates, see nothing of it. Only then is it
// known whether the dual objective rose. If it fell, the share begins anew. See momentum.ts.
import type { Stretch } from '../../block-store/checkpoint.ts'
import type { Address } from '../../sizes.ts'
import type { OneProblem } from '../objectives/one-problem.ts'
import type { RowGroup, RowSource } from '../sources/row-source.ts'
import { type Momentum, momentumFor, SWEEPS_BEFORE, shareAfter } from './momentum.ts'
import type { Saved } from './solver.ts'

/** How the rows of a block are carried on: the share, and where the dual variables of before of all rows are. */
export interface CarriedBlock {
  share: number
  before: Address
}

/** Of the pass under way. */
interface CarriedPass {
  /** Passes in a row, before this one, after which the dual objective had not fallen. */
  passes: number
  share: number
  /** The dual objective as the pass began, before w was carried on. */
  dual: number
  /** Of the rows that were met so far: their own parts of it. */
  parts: number
}

export class BlockMomentum implements Saved {
  readonly #objective: OneProblem
  readonly #source: RowSource
  #before: Momentum | undefined
  #pass: CarriedPass | undefined

  constructor(objective: OneProblem, source: RowSource) {
    this.#objective = objective
    this.#source = source
  }

  /** Before a group is visited: how its rows are carried on, if they are. */
  visit({ group }: RowGroup, pass: number): CarriedBlock | undefined {
    if (group === 0) this.#begin(pass)
    return this.#pass && { share: this.#pass.share, before: this.#before!.alpha }
  }

  /** After it: what its rows have in the dual objective. */
  visited(parts: number): void {
    if (this.#pass) this.#pass.parts += parts
  }

  /** Whether the present pass is carried on, or remembered for the next. */
  get isUnderWay(): boolean {
    return this.#pass !== undefined
  }

  #begin(pass: number): void {
    const { arena, weights, weightCount } = this.#objective
    this.#before ??= momentumFor(this.#objective, this.#source, this.#source, pass)
    if (!this.#before) return
    const last = this.#pass
    // The first time nothing is known of before: a share of 0 remembers.
    const dual = last ? last.parts - 0.5 * this.#objective.squaredLengths()[0] : -Number.MAX_VALUE
    const passes = last && dual >= last.dual ? last.passes + 1 : 0
    const share = shareAfter(passes)
    arena.numeric.carryWeights(weights, this.#before.weights, weightCount, share)
    this.#pass = { passes, share, dual, parts: 0 }
  }

  state(): unknown {
    return this.#pass
  }

  stretches(): Stretch[] {
    if (!this.#pass || !this.#before) return []
    const { alpha, weights, rows, weightCount } = this.#before
    return [
      { at: alpha, bytes: rows * this.#objective.alphaStride },
      { at: weights, bytes: weightCount * 8 },
    ]
  }

  /** A run that ended has left nothing: then the share begins anew. */
  restore(state: unknown): void {
    this.#pass = state as CarriedPass | undefined
    if (this.#pass) this.#before = momentumFor(this.#objective, this.#source, this.#source, SWEEPS_BEFORE)
  }
}
