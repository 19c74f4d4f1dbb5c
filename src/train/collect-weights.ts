// Weights of the models that were trained, put together for one model file: those of a feature side by side, w[j·K + k].
import type { WeightVectors } from '../model/weights.ts'

export class WeightCollector {
  /** Numbers of a feature. */
  readonly #models: number
  /** Weights of a model, the bias not counted. */
  readonly #count: number
  #weights: Float64Array
  biasWeights: Float64Array

  constructor(models: number, count: number) {
    this.#models = models
    this.#count = count
    // One vector is taken as it is: with many weights, a second copy is more than the plan has room for.
    this.#weights = new Float64Array(models === 1 ? 0 : models * count)
    this.biasWeights = new Float64Array(models)
  }

  /** Weights of one model, the bias last. */
  put(model: number, weights: Float64Array): void {
    const K = this.#models
    if (K === 1) this.#weights = weights.subarray(0, this.#count)
    else for (let j = 0; j < this.#count; j++) this.#weights[j * K + model] = weights[j]
    this.biasWeights[model] = weights[this.#count]
  }

  /** Weights of all models at once. */
  putAll({ weights, biasWeights }: { weights: Float64Array; biasWeights: Float64Array }): void {
    this.#weights = weights
    this.biasWeights = biasWeights
  }

  get weights(): Float64Array {
    return this.#weights
  }
}

export type Weights = Float64Array | WeightVectors
