// One binary problem whose rows come in blocks: weights and all dual variables are in memory, rows are not.

import type { Arena } from '../../numeric/arena.ts'
import type { ThreadPool } from '../../threads/pool.ts'
import type { BlockEngine, LoadedBlock } from '../sources/block-engine.ts'
import { addDualTask } from './add-dual-task.ts'
import { evaluateRowsTask } from './evaluate-rows-task.ts'
import { lookAlongTask } from './look-along-task.ts'
import { type ProblemSettings, writeProblem } from './problem.ts'

export class BlockProblem {
  readonly arena: Arena
  settings: ProblemSettings
  readonly weights: number
  /** Weights in all, the bias among them. */
  readonly weightCount: number
  /** Address of all dual variables, in the order of the store's rows; 0 for methods without. */
  readonly alpha: number
  readonly alphaStride: number
  readonly #rows: number

  constructor(
    engine: Pick<BlockEngine, 'arena' | 'store'>,
    settings: ProblemSettings,
    weights: number,
    withAlpha: boolean,
    /** Of several models that are trained together, numbers for each feature, and for each row. */
    together?: { perFeature: number; perRow: number },
  ) {
    const { arena, store } = engine
    this.arena = arena
    this.#rows = store.manifest.rows
    this.settings = settings
    this.weightCount = (weights + 1) * (together?.perFeature ?? 1)
    this.weights = arena.allocateZeroed(this.weightCount * (settings.weightBits / 8), 'the weights')
    this.alphaStride = together ? together.perRow * 8 : settings.loss.entropicDual ? 16 : 8
    this.alpha = withAlpha ? arena.allocateZeroed(store.manifest.rows * this.alphaStride, 'the dual variables') : 0
  }

  /** Everything back to zero, for the next of several problems on the same rows. */
  startOver(settings: ProblemSettings): void {
    this.settings = settings
    this.arena.bytes(this.weights, this.weightCount * (settings.weightBits / 8)).fill(0)
    if (this.alpha !== 0) this.arena.bytes(this.alpha, this.#rows * this.alphaStride).fill(0)
  }

  get narrow(): boolean {
    return this.settings.weightBits === 32
  }

  /** Whether it is Crammer and Singer's, all classes at once. */
  get together(): boolean {
    return false
  }

  /** Makes a loaded block a problem of its own, with a copy of its dual variables; the address of its PROBLEM_ structure. */
  of(block: LoadedBlock): number {
    this.takeAlpha(block)
    writeProblem(this.arena, block.problem, this.settings, {
      table: block.table,
      rows: block.rows,
      alpha: block.alpha,
      weights: this.weights,
      biasFeature: this.weightCount - 1,
    })
    return block.problem
  }

  /** Copies the dual variables of a block to its rows. */
  protected takeAlpha(block: LoadedBlock): void {
    this.#copyAlpha(block, true)
  }

  /** Takes the dual variables of a block back from its copy. */
  keep(block: LoadedBlock): void {
    this.#copyAlpha(block, false)
  }

  #copyAlpha(block: LoadedBlock, into: boolean): void {
    if (this.alpha === 0) return
    let at = block.alpha
    for (const { rows, firstRow } of block.parts) {
      const bytes = rows * this.alphaStride
      const place = this.arena.bytes(this.alpha + firstRow * this.alphaStride, bytes)
      const copy = this.arena.bytes(at, bytes)
      if (into) copy.set(place)
      else place.set(copy)
      at += bytes
    }
  }

  /** The sums of the certificate over the rows of a block. */
  async evaluate(trainer: ThreadPool, block: LoadedBlock, sums: number): Promise<void> {
    const { narrow } = this
    await trainer.run(evaluateRowsTask, { problem: this.of(block), narrow, from: 0, to: block.rows, sums })
  }

  /** Losses of a block's rows along the weights, for the last line search. */
  async lookAlong(trainer: ThreadPool, block: LoadedBlock, along: number): Promise<void> {
    const kind = this.narrow ? 'f32' : 'f64'
    await trainer.run(lookAlongTask, { problem: this.of(block), kind, from: 0, to: block.rows, along })
  }

  /** w += Σ α y x over the rows of a block. */
  async addDual(trainer: ThreadPool, block: LoadedBlock): Promise<void> {
    const { alphaStride: stride, narrow } = this
    await trainer.run(addDualTask, { problem: this.of(block), rows: block.rows, stride, narrow })
  }

  /** ‖w‖², the bias included. */
  squaredLength(): number {
    const { numeric } = this.arena
    return (this.narrow ? numeric.squaredLengthF32 : numeric.squaredLengthF64)(this.weights, this.weightCount)
  }

  biasWeight(): number {
    const last = this.weightCount - 1
    return this.narrow ? this.arena.f32(this.weights + last * 4, 1)[0] : this.arena.f64(this.weights + last * 8, 1)[0]
  }

  weightsInPlace(): Float64Array | Float32Array {
    const { arena, weights, weightCount } = this
    return this.narrow ? arena.f32(weights, weightCount) : arena.f64(weights, weightCount)
  }

  copyWeights(): Float64Array {
    if (this.narrow) return Float64Array.from(this.arena.f32(this.weights, this.weightCount))
    return this.arena.f64(this.weights, this.weightCount).slice()
  }
}
