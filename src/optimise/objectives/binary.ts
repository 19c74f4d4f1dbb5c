// One binary model: its weights, a dual variable for every row, and the numbers of its loss.
//
//   min_w  ½‖w‖² + Σ_i C_i loss(y_i wᵀx_i)          w = Σ_i α_i y_i x_i at the optimum
import { isSmooth } from '../../losses/loss.ts'
import type { Arena } from '../../numeric/arena.ts'
import { ProblemFields } from '../../numeric/fields/problem.ts'
import type { RowGroup } from '../sources/row-source.ts'
import { OneProblem, type ProblemRooms } from './one-problem.ts'
import { type ProblemSettings, writeProblem } from './problem.ts'

export class BinaryObjective extends OneProblem {
  settings: ProblemSettings
  readonly #rows: number

  /** `weights`: the bias not counted. */
  constructor(
    arena: Arena,
    { rows, weights }: { rows: number; weights: number },
    settings: ProblemSettings,
    { dual = true, at }: { dual?: boolean; at?: ProblemRooms } = {},
  ) {
    const alphaStride = settings.loss.entropicDual ? 16 : 8
    super(arena, { rows, weightCount: weights + 1, weightBytes: settings.weightBits / 8, alphaStride, dual }, at)
    this.settings = settings
    this.#rows = rows
  }

  /** Everything back to zero, for the next of several problems on the same rows. */
  startOver(settings: ProblemSettings): void {
    this.settings = settings
    this.arena.bytes(this.weights, this.weightCount * this.weightBytes).fill(0)
    if (this.alpha !== 0) this.arena.bytes(this.alpha, this.#rows * this.alphaStride).fill(0)
  }

  get narrow(): boolean {
    return this.weightBytes === 4
  }

  get logistic(): boolean {
    return this.settings.loss.entropicDual === true
  }

  override get isSmooth(): boolean {
    return isSmooth(this.settings.loss)
  }

  override readonly primalLoops = {
    slope: 'slopeRows',
    product: 'curvatureRows',
    line: 'lineRows',
    matrix: true,
  } as const

  override get sweepKind() {
    return { logistic: this.logistic, narrow: this.narrow }
  }

  protected override get loops() {
    return this.narrow
      ? ({ evaluate: 'evaluateF32', along: 'alongF32', both: 'evaluateAlongF32', addDual: 'addDualF32' } as const)
      : ({ evaluate: 'evaluateF64', along: 'alongF64', both: 'evaluateAlongF64', addDual: 'addDualF64' } as const)
  }

  protected override write(group: RowGroup, alpha: number, weights: number): void {
    const { problem, table, rows, rowWeights, folds } = group
    const places = { table, rows, alpha, weights, biasFeature: this.weightCount - 1, rowWeights, folds }
    writeProblem(this.arena, problem, this.settings, places)
    new ProblemFields(this.arena, problem).damping = this.damping
  }

  override squaredLengths(): number[] {
    const { numeric } = this.arena
    return [(this.narrow ? numeric.squaredLengthF32 : numeric.squaredLengthF64)(this.weights, this.weightCount)]
  }

  /** The weights where they are, the bias last. */
  weightsInPlace(): Float64Array | Float32Array {
    const { arena, weights, weightCount } = this
    return this.narrow ? arena.f32(weights, weightCount) : arena.f64(weights, weightCount)
  }

  copyWeights(): Float64Array {
    return new Float64Array(this.weightsInPlace())
  }
}
