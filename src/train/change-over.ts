// Where coordinate descent over blocks stalls, and the memory has no room for second-order steps beside it: the run gives its
// room up, and another method is planned with all of it. Here is what goes from the one to the other. The state of the first
// stays on the disk, and says that it was left: a run that is resumed comes by here again.
import { createHash } from 'node:crypto'
import type { RunState } from '../block-store/checkpoint.ts'
import { BinaryObjective } from '../optimise/objectives/binary.ts'
import type { ManyModels, Objective } from '../optimise/objectives/objective.ts'
import type { BlockSolver } from '../optimise/solvers/solver.ts'
import type { FoldedProblem } from './class-problems.ts'
import { lastGap } from './hand-over.ts'

/** Weights that are kept between the two: nobody planned for more. */
const MOST_BYTES = 1 << 20

/** Whether models are few enough to be kept between two methods. */
export const mayChangeOver = (models: number, weights: number): boolean => models * (weights + 1) * 8 <= MOST_BYTES

/** Ends the work over the blocks as they are planned: `solver` goes on, with a plan of its own. */
export class ChangeOver extends Error {
  readonly solver: BlockSolver
  /** Passes so far, and the gap that they came to. */
  readonly work: number
  readonly gap: number
  readonly #weights: ReadonlyMap<FoldedProblem, Float64Array>

  constructor(solver: BlockSolver, state: Readonly<RunState>, weights: ReadonlyMap<FoldedProblem, Float64Array>) {
    super(`${solver.name} goes on`)
    this.solver = solver
    this.work = state.work
    this.gap = lastGap(state)
    this.#weights = weights
  }

  /** Where the next method starts with these models. */
  startOf(objective: Objective, problems: FoldedProblem[]): StartAfter {
    const all = problems.map(problem => this.#weights.get(problem))
    const hash = createHash('sha256')
    for (const own of all) hash.update(own ?? '-')
    const begin = (): void => {
      const { arena, weights, weightCount, weightBytes } = objective
      arena.bytes(weights, weightCount * weightBytes).fill(0)
      for (const [k, own] of all.entries()) {
        if (!own) continue
        if (objective instanceof BinaryObjective) objective.weightsInPlace().set(own)
        else (objective as ManyModels).setWeights(k, own)
      }
    }
    const work = all.some(own => own !== undefined) ? this.work : 0
    return { work, gap: this.gap, from: hash.digest('hex').slice(0, 12), begin }
  }
}

/** Where a method starts that goes on after another one: passes so far, and the gap that they came to. */
export interface StartAfter {
  work: number
  gap: number
  /** Which weights they were, in short. */
  from: string
  /** Puts them in place. */
  begin(): void
}
