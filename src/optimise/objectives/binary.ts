// One binary model: its weights, a dual variable for every row, and the numbers of its loss.
//
//   min_w  ½‖w‖² + Σ_i C_i loss(y_i wᵀx_i)          w = Σ_i α_i y_i x_i at the optimum
import type { Arena } from '../../numeric/arena.ts'
import type { ThreadPool } from '../../threads/pool.ts'
import type { RowGroup } from '../sources/row-source.ts'
import { addDualTask } from './add-dual-task.ts'
import { roomForSums, sumInPieces } from './certificate.ts'
import { evaluateRowsTask } from './evaluate-rows-task.ts'
import { type LossesAlong, lookInPieces, penaltyOf, roomForLook } from './line-search.ts'
import { lookAlongTask } from './look-along-task.ts'
import { allocatePlaces, copyAlpha, type Objective } from './objective.ts'
import { type ProblemSettings, writeProblem } from './problem.ts'

export class BinaryObjective implements Objective {
  readonly arena: Arena
  readonly models = 1
  settings: ProblemSettings
  readonly weights: number
  /** Weights in all, the bias among them. */
  readonly weightCount: number
  /** Address of all dual variables, in the order of the source's rows; 0 for methods without. */
  readonly alpha: number
  readonly alphaStride: number
  readonly #rows: number
  readonly #sums: number
  readonly #look: number
  readonly looks = [{ look: 0, lane: 0 }]

  /** `weights`: the bias not counted. */
  constructor(
    arena: Arena,
    { rows, weights }: { rows: number; weights: number },
    settings: ProblemSettings,
    { dual = true }: { dual?: boolean } = {},
  ) {
    this.arena = arena
    this.settings = settings
    this.#rows = rows
    this.weightCount = weights + 1
    this.alphaStride = settings.loss.entropicDual ? 16 : 8
    const places = {
      weights: this.weightCount,
      weightBytes: this.weightBytes,
      rows,
      alphaStride: dual ? this.alphaStride : 0,
    }
    ;({ weights: this.weights, alpha: this.alpha } = allocatePlaces(arena, places))
    this.#sums = roomForSums(arena)
    this.#look = roomForLook(arena)
  }

  /** Everything back to zero, for the next of several problems on the same rows. */
  startOver(settings: ProblemSettings): void {
    this.settings = settings
    this.arena.bytes(this.weights, this.weightCount * this.weightBytes).fill(0)
    if (this.alpha !== 0) this.arena.bytes(this.alpha, this.#rows * this.alphaStride).fill(0)
  }

  get narrow(): boolean {
    return this.settings.weightBits === 32
  }

  get weightBytes(): number {
    return this.settings.weightBits / 8
  }

  get logistic(): boolean {
    return this.settings.loss.entropicDual === true
  }

  /** Makes a group of rows a problem of its own; the address of its PROBLEM_ structure. */
  of(group: RowGroup): number {
    copyAlpha(this, group, true)
    writeProblem(this.arena, group.problem, this.settings, {
      table: group.table,
      rows: group.rows,
      alpha: group.whole ? this.alpha : group.alpha,
      weights: this.weights,
      biasFeature: this.weightCount - 1,
      rowWeights: group.rowWeights,
    })
    return group.problem
  }

  /** Takes the dual variables of a group back from their copy. */
  keep(group: RowGroup): void {
    copyAlpha(this, group, false)
  }

  async evaluate(threads: ThreadPool, group: RowGroup): Promise<Float64Array[]> {
    const problem = this.of(group)
    return [
      await sumInPieces(this.arena, this.#sums, group, ({ from, to, sums }) =>
        threads.run(evaluateRowsTask, { problem, narrow: this.narrow, from, to, sums }),
      ),
    ]
  }

  async lookAlong(threads: ThreadPool, group: RowGroup, looks: LossesAlong[]): Promise<void> {
    const problem = this.of(group)
    const kind = this.narrow ? 'f32' : 'f64'
    await lookInPieces(this.arena, this.#look, group, looks, ({ from, to, along }) =>
      threads.run(lookAlongTask, { problem, kind, from, to, along }),
    )
  }

  penalties(): ((t: number) => number)[] {
    return this.squaredLengths().map(penaltyOf)
  }

  async addDual(threads: ThreadPool, group: RowGroup): Promise<void> {
    const { alphaStride: stride, narrow } = this
    await threads.run(addDualTask, { problem: this.of(group), rows: group.rows, stride, narrow })
  }

  squaredLengths(): number[] {
    const { numeric } = this.arena
    return [(this.narrow ? numeric.squaredLengthF32 : numeric.squaredLengthF64)(this.weights, this.weightCount)]
  }

  weightsInPlace(): Float64Array | Float32Array {
    const { arena, weights, weightCount } = this
    return this.narrow ? arena.f32(weights, weightCount) : arena.f64(weights, weightCount)
  }

  biasWeight(): number {
    const last = this.weightCount - 1
    return this.narrow ? this.arena.f32(this.weights + last * 4, 1)[0] : this.arena.f64(this.weights + last * 8, 1)[0]
  }

  /** A copy of the weights, the bias last. */
  copyWeights(): Float64Array {
    if (this.narrow) return Float64Array.from(this.arena.f32(this.weights, this.weightCount))
    return this.arena.f64(this.weights, this.weightCount).slice()
  }
}
