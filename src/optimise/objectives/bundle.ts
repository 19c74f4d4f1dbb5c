// A bundle: up to eight binary problems over the same rows, trained side by side. See numeric/bundle-layout.ts.
import type { Arena } from '../../numeric/arena.ts'
import { BUNDLE_BYTES, BUNDLE_DOTS, BUNDLE_LANES } from '../../numeric/bundle-layout.ts'
import { BundleFields } from '../../numeric/fields/bundle.ts'
import { boxesOf, type ProblemSettings } from './problem.ts'

/** One of many models: a binary problem, perhaps without the rows of a fold. */
export interface BundledProblem extends ProblemSettings {
  /** Where its scores of the fold that it does not see go: the number of a column. */
  column?: number
}

export type Lanes = 2 | 4 | 8

/** As few lanes as the models take: eights, an even number of them, so that two threads share them, then four and what is
 *  left. Bundles do not depend on the number of threads, so that the result does not. */
export function bundleSizes(models: number): number[] {
  if (models < 4) return [models]
  const eights = Math.floor(models / (2 * BUNDLE_LANES)) * 2
  const sizes: number[] = new Array(eights).fill(BUNDLE_LANES)
  let left = models - eights * BUNDLE_LANES
  if (eights === 0 && left < 6) return [Math.ceil(left / 2), Math.floor(left / 2)]
  for (; left >= 4; left -= 4) sizes.push(4)
  if (left > 0) sizes.push(left)
  return sizes
}

export function lanesFor(models: number): Lanes {
  return models <= 2 ? 2 : models <= 4 ? 4 : 8
}

/** What a bundle takes, with the copies of weights and dual variables that its momentum needs. */
export function bundleBytes(models: number, rows: number, weights: number, entropic: boolean): number {
  const lanes = lanesFor(models) * 8
  const vectors = (weights + 1) * lanes + rows * lanes * (entropic ? 2 : 1)
  return 2 * vectors + rows * 4 + BUNDLE_BYTES + 4096
}

/** ‖w‖² of each model of the bundle at an address. They pass through the scratch of its sweeps, which is free between two. */
export function squaredLengths(arena: Arena, bundle: number, lanes: Lanes, weightCount: number): number[] {
  const out = bundle + BUNDLE_DOTS
  const { weights, models } = new BundleFields(arena, bundle)
  arena.numeric[`squaredLengths${lanes}`](weights, weightCount, out)
  return [...arena.f64(out, models)]
}

export class Bundle {
  readonly at: number
  readonly lanes: Lanes
  readonly problems: BundledProblem[]
  readonly weights: number
  readonly weightCount: number
  readonly alpha: number
  /** Bytes from one row's dual variables to the next. */
  readonly alphaStride: number
  readonly #arena: Arena
  readonly #fields: BundleFields

  /** `folds`: address of each row's fold, or 0. `places`: where weights and dual variables are. */
  constructor(
    arena: Arena,
    rows: { rows: number; weights: number },
    problems: BundledProblem[],
    folds: number,
    places: { alpha: number; weights: number },
  ) {
    this.#arena = arena
    this.problems = problems
    this.lanes = lanesFor(problems.length)
    this.weightCount = rows.weights + 1
    const entropic = problems[0].loss.entropicDual === true
    this.alphaStride = this.lanes * 8 * (entropic ? 2 : 1)
    this.alpha = places.alpha
    this.weights = places.weights
    this.at = arena.allocateZeroed(BUNDLE_BYTES, 'a bundle')
    const fields = new BundleFields(arena, this.at)
    this.#fields = fields
    fields.count = rows.rows
    fields.alpha = this.alpha
    fields.weights = this.weights
    fields.biasFeature = rows.weights
    fields.logistic = entropic ? 1 : 0
    fields.bias = problems[0].bias
    fields.folds = folds
    fields.models = problems.length
    this.#writeProblems()
    this.activate(problems.map(() => true))
  }

  /** All rows are in memory, and these are their table and their weights. */
  see({ table, rowWeights = 0 }: { table: number; rowWeights?: number | undefined }): void {
    this.#fields.rows = table
    this.#fields.rowWeights = rowWeights
  }

  #writeProblems(): void {
    const fields = this.#fields
    for (const [k, problem] of this.problems.entries()) {
      fields.positive[k] = problem.positive
      fields.heldOut[k] = problem.heldOut ?? 0xffffffff
      fields.column[k] = problem.column ?? 0
      const { positive, negative } = boxesOf(problem)
      fields.boundPositive[k] = positive.bound
      fields.boundNegative[k] = negative.bound
      fields.diagonalPositive[k] = positive.diagonal
      fields.diagonalNegative[k] = negative.diagonal
    }
  }

  /** Which models are trained from now on; nothing is known of their rows. */
  activate(models: boolean[]): void {
    let bits = 0
    for (const [k, trained] of models.entries()) if (trained) bits |= 1 << k
    this.#fields.active = bits
    this.#fields.upper.fill(Number.POSITIVE_INFINITY)
    this.#fields.lower.fill(Number.NEGATIVE_INFINITY)
  }

  /** Whether no model of it is trained. */
  get rests(): boolean {
    return this.#fields.active === 0
  }

  /** Goes on to problems that differ in their costs, from the dual variables of these times a factor. */
  rescale(problems: BundledProblem[], factor: number): void {
    this.problems.splice(0, this.problems.length, ...problems)
    this.#writeProblems()
    const rows = this.#fields.count
    const alpha = this.#arena.f64(this.alpha, (rows * this.alphaStride) / 8)
    const weights = this.#arena.f64(this.weights, this.weightCount * this.lanes)
    for (const values of [alpha, weights]) for (let k = 0; k < values.length; k++) values[k] *= factor
    this.activate(problems.map(() => true))
  }

  /** A copy of one model's weights, the bias last. */
  copyWeights(model: number): Float64Array {
    const all = this.#arena.f64(this.weights, this.weightCount * this.lanes)
    const own = new Float64Array(this.weightCount)
    for (let j = 0; j < own.length; j++) own[j] = all[j * this.lanes + model]
    return own
  }

  setWeights(model: number, own: Float64Array): void {
    const all = this.#arena.f64(this.weights, this.weightCount * this.lanes)
    for (let j = 0; j < own.length; j++) all[j * this.lanes + model] = own[j]
  }

  /** ‖w‖² of each model. */
  squaredLengths(): number[] {
    return squaredLengths(this.#arena, this.at, this.lanes, this.weightCount)
  }
}
