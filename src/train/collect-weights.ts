// Models as they are ready, put together for one model file: weights of a feature side by side, w[j·K + k].
import type { WeightVectors } from '../model/weights.ts'
import type { CrammerSingerObjective } from '../optimise/objectives/crammer-singer.ts'
import { shorten } from '../optimise/objectives/line-search.ts'
import type { Solution } from '../optimise/objectives/solution.ts'
import type { Place, Taker } from './place.ts'

export type Weights = Float64Array | WeightVectors

export class CollectedModels implements Taker {
  readonly solutions: Solution[] = []
  weights: Float64Array
  biasWeights: Float64Array
  readonly #place: Place

  /** `vectors`: models that are kept; those of folds, which come behind them, are scored only. */
  constructor(place: Place, vectors: number) {
    this.#place = place
    // One vector is taken as it is: with many weights, a second copy is more than the plan has room for.
    this.weights = new Float64Array(vectors === 1 ? 0 : vectors * place.facts.weights)
    this.biasWeights = new Float64Array(vectors)
  }

  take(model: number, solution: Solution, copy: () => Float64Array): void {
    const K = this.biasWeights.length
    if (model >= K) return
    this.solutions[model] = solution
    const { facts, lend } = this.#place
    const { weights: count } = facts
    if (lend) {
      this.biasWeights[model] = lend(solution)
      return
    }
    const own = copy()
    shorten(own, solution)
    if (K === 1) this.weights = own.subarray(0, count)
    else for (let j = 0; j < count; j++) this.weights[j * K + model] = own[j]
    this.biasWeights[model] = own[count]
  }

  takeAll(solution: Solution, objective: CrammerSingerObjective): void {
    this.solutions.push(solution)
    Object.assign(this, objective.copyAll())
    shorten(this.weights, solution)
    shorten(this.biasWeights, solution)
  }
}
