// A bundle: up to eight binary problems over the same rows, trained side by side. See numeric/bundle-layout.ts.
import type { Arena } from '../../numeric/arena.ts'
import {
  BUNDLE_ACTIVE,
  BUNDLE_ALPHA,
  BUNDLE_BIAS,
  BUNDLE_BIAS_FEATURE,
  BUNDLE_BOUND_NEGATIVE,
  BUNDLE_BOUND_POSITIVE,
  BUNDLE_BYTES,
  BUNDLE_COLUMN,
  BUNDLE_COUNT,
  BUNDLE_DIAGONAL_NEGATIVE,
  BUNDLE_DIAGONAL_POSITIVE,
  BUNDLE_DOTS,
  BUNDLE_FOLDS,
  BUNDLE_HELD_OUT,
  BUNDLE_LANES,
  BUNDLE_LOGISTIC,
  BUNDLE_LOWER,
  BUNDLE_MODELS,
  BUNDLE_POSITIVE,
  BUNDLE_ROW_WEIGHTS,
  BUNDLE_ROWS,
  BUNDLE_UPPER,
  BUNDLE_WEIGHTS,
} from '../../numeric/bundle-layout.ts'
import { boxesOf, type ProblemSettings } from './problem.ts'

/** One of many models: a binary problem, perhaps without the rows of a fold. */
export interface BundledProblem extends ProblemSettings {
  /** The fold that it does not see. */
  heldOut?: number
  /** Where its scores of that fold go: the number of a column. */
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

/** What a bundle takes. */
export function bundleBytes(models: number, rows: number, weights: number, entropic: boolean): number {
  const lanes = lanesFor(models) * 8
  return (weights + 1) * lanes + rows * (lanes * (entropic ? 2 : 1) + 4) + BUNDLE_BYTES + 4096
}

/** ‖w‖² of each model of the bundle at an address. They pass through the scratch of its sweeps, which is free between two. */
export function squaredLengths(arena: Arena, bundle: number, lanes: Lanes, weightCount: number): number[] {
  const out = bundle + BUNDLE_DOTS
  arena.numeric[`squaredLengths${lanes}`](arena.getU32(bundle + BUNDLE_WEIGHTS), weightCount, out)
  return [...arena.f64(out, arena.getU32(bundle + BUNDLE_MODELS))]
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
    const u32 = (offset: number, value: number): void => arena.setU32(this.at + offset, value)
    u32(BUNDLE_COUNT, rows.rows)
    u32(BUNDLE_ALPHA, this.alpha)
    u32(BUNDLE_WEIGHTS, this.weights)
    u32(BUNDLE_BIAS_FEATURE, rows.weights)
    u32(BUNDLE_LOGISTIC, entropic ? 1 : 0)
    arena.setF64(this.at + BUNDLE_BIAS, problems[0].bias)
    u32(BUNDLE_FOLDS, folds)
    u32(BUNDLE_MODELS, problems.length)
    this.#writeProblems()
    this.activate(problems.map(() => true))
  }

  /** All rows are in memory, and these are their table and their weights. */
  see({ table, rowWeights = 0 }: { table: number; rowWeights?: number | undefined }): void {
    this.#arena.setU32(this.at + BUNDLE_ROWS, table)
    this.#arena.setU32(this.at + BUNDLE_ROW_WEIGHTS, rowWeights)
  }

  #writeProblems(): void {
    for (const [k, problem] of this.problems.entries()) {
      const u32 = (offset: number, value: number): void => this.#arena.setU32(this.at + offset + k * 4, value)
      const f64 = (offset: number, value: number): void => this.#arena.setF64(this.at + offset + k * 8, value)
      u32(BUNDLE_POSITIVE, problem.positive)
      u32(BUNDLE_HELD_OUT, problem.heldOut ?? 0xffffffff)
      u32(BUNDLE_COLUMN, problem.column ?? 0)
      const { positive, negative } = boxesOf(problem)
      f64(BUNDLE_BOUND_POSITIVE, positive.bound)
      f64(BUNDLE_BOUND_NEGATIVE, negative.bound)
      f64(BUNDLE_DIAGONAL_POSITIVE, positive.diagonal)
      f64(BUNDLE_DIAGONAL_NEGATIVE, negative.diagonal)
    }
  }

  /** Which models are trained from now on; nothing is known of their rows. */
  activate(models: boolean[]): void {
    let bits = 0
    for (const [k, trained] of models.entries()) if (trained) bits |= 1 << k
    this.#arena.setU32(this.at + BUNDLE_ACTIVE, bits)
    this.#arena.f64(this.at + BUNDLE_UPPER, BUNDLE_LANES).fill(Number.POSITIVE_INFINITY)
    this.#arena.f64(this.at + BUNDLE_LOWER, BUNDLE_LANES).fill(Number.NEGATIVE_INFINITY)
  }

  /** Whether no model of it is trained. */
  get rests(): boolean {
    return this.#arena.getU32(this.at + BUNDLE_ACTIVE) === 0
  }

  /** Goes on to problems that differ in their costs, from the dual variables of these times a factor. */
  rescale(problems: BundledProblem[], factor: number): void {
    this.problems.splice(0, this.problems.length, ...problems)
    this.#writeProblems()
    const rows = this.#arena.getU32(this.at + BUNDLE_COUNT)
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

  /** ‖w‖² of each model. */
  squaredLengths(): number[] {
    return squaredLengths(this.#arena, this.at, this.lanes, this.weightCount)
  }
}
