// First sweeps of solver `dual` on weights in f32: long rows in memory, and more weights than near caches hold.
//
// A sweep over such rows waits for weights that lie far away. In f32 twice as many of them are near. Rounding changes far less than
// what the first sweeps have still to do. Dual variables stay in f64.
//
//   sweeps on a copy of w in f32 ──► copied back before anybody looks at w ──► at last w = Σ α y x in f64, and sweeps on that
//
// Certificates are of the weights as they are. A dual value needs ‖Σ α y x‖, which certificateOf has from w to the second order of
// rounding. So a run may end on rounded weights, and says what they are worth.
import type { Arena } from '../../numeric/arena.ts'
import type { Address } from '../../sizes.ts'
import type { OneProblem } from '../objectives/one-problem.ts'
import type { RowGroup, RowSource } from '../sources/row-source.ts'
import { areLong, LEAST_TO_HALVE, type LeastToHalve } from './dual-halves.ts'
import type { SolverSettings } from './solver.ts'

/** From which size on rough weights pay: rows that are long, as for two trainers, and so many weights. */
export interface LeastForRough extends LeastToHalve {
  weights: number
}
export const LEAST_FOR_ROUGH: LeastForRough = { ...LEAST_TO_HALVE, weights: 1 << 17 }
/** Entries for each weight: the copies must cost little beside a sweep. */
const LEAST_SHARE = 8
/** Sweeps on rough weights at most: from then on momentum is of more use. */
const MOST_SWEEPS = 24
/** Rounding shows below such a relative gap. */
const LEAST_GAP = 1e-5

/** Rough weights of a problem, where they are worth their while and there is room. It goes by the data, so that no bit depends on the
 *  machine; as with momentum, only the least plans of memory have no room. */
export function roughWeights(
  objective: OneProblem,
  source: RowSource,
  { rough }: SolverSettings,
): RoughWeights | undefined {
  const { sweepKind, weightCount } = objective
  if (!rough || sweepKind.narrow || sweepKind.together || !areLong(source, rough)) return undefined
  if (weightCount < rough.weights || source.nonzeros < weightCount * LEAST_SHARE) return undefined
  const at = source.spare?.('weights in f32', weightCount * 4)
  return at === undefined ? undefined : new RoughWeights(objective, at)
}

export class RoughWeights {
  readonly #objective: OneProblem
  /** Where the copy is. */
  readonly at: Address

  constructor(objective: OneProblem, at: Address) {
    this.#objective = objective
    this.at = at
    this.#rough.set(this.#exact)
  }

  get #arena(): Arena {
    return this.#objective.arena
  }

  get #rough(): Float32Array {
    return this.#arena.f32(this.at, this.#objective.weightCount)
  }

  get #exact(): Float64Array {
    return this.#arena.f64(this.#objective.weights, this.#objective.weightCount)
  }

  /** Copies them back, for whoever looks at weights. */
  show(): void {
    this.#exact.set(this.#rough)
  }

  /** Whether exact ones should take over, after so many sweeps and at such a gap. */
  static areDone(sweeps: number, gap: number, primal: number): boolean {
    return sweeps >= MOST_SWEEPS || gap <= LEAST_GAP * primal
  }

  /** Makes the weights exact: those that the dual variables stand for. */
  async end(source: RowSource, group: RowGroup): Promise<void> {
    this.#exact.fill(0)
    await this.#objective.addDual(source.threads, group)
  }
}
