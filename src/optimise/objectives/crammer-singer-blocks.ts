// Crammer and Singer's problem whose rows come in blocks: the weights of all classes and a dual variable for every row and
// class are in memory, rows are not. Yu, Hsieh, Chang, Lin (KDD 2010), section 6: block minimisation as for two classes,
// the variables of a block's rows for all classes at once.

import type { ThreadPool } from '../../threads/pool.ts'
import type { BlockEngine, LoadedBlock } from '../sources/block-engine.ts'
import { BlockProblem } from './block-problem.ts'
import {
  type CrammerSingerSettings,
  even,
  type PlacedClasses,
  placeClasses,
  withoutPadding,
  writeTogether,
} from './crammer-singer-problem.ts'
import { addDualTogetherTask, evaluateTogetherTask } from './evaluate-together-task.ts'
import { lookAlongTask } from './look-along-task.ts'
import type { ProblemSettings } from './problem.ts'

export class CrammerSingerBlocks extends BlockProblem {
  readonly #features: number
  readonly #classes: PlacedClasses
  /** Bits of the classes that are shrunk, for the rows of one loaded block. */
  readonly #shrunk: { at: number; words: number }
  readonly #scores: number

  /** `mostRows`: of a loaded block. */
  constructor(
    engine: Pick<BlockEngine, 'arena' | 'store'>,
    settings: ProblemSettings,
    features: number,
    together: CrammerSingerSettings,
    mostRows: number,
  ) {
    const K = together.classes.length
    super(engine, settings, features, true, { perFeature: even(K), perRow: K })
    const { arena } = engine
    const words = Math.ceil(K / 64)
    this.#features = features
    this.#classes = placeClasses(arena, together, engine.store.manifest.labels.length)
    this.#shrunk = { at: arena.allocate(Math.max(mostRows, 1) * words * 8, 'the classes in play'), words }
    this.#scores = arena.allocate(even(K) * 8, 'scores')
  }

  override get together(): boolean {
    return true
  }

  override of(block: LoadedBlock): number {
    const { at: shrunk, words } = this.#shrunk
    this.takeAlpha(block)
    // A block is met afresh every time.
    this.arena.bytes(shrunk, block.rows * words * 8).fill(0)
    writeTogether(this.arena, block.problem, {
      ...this.#classes,
      table: block.table,
      weights: this.weights,
      features: this.#features,
      alpha: block.alpha,
      shrunk,
    })
    return block.problem
  }

  override async evaluate(trainer: ThreadPool, block: LoadedBlock, sums: number): Promise<void> {
    const problem = this.of(block)
    await trainer.run(evaluateTogetherTask, { problem, from: 0, to: block.rows, scores: this.#scores, sums })
  }

  override async lookAlong(trainer: ThreadPool, block: LoadedBlock, along: number): Promise<void> {
    const options = { problem: this.of(block), from: 0, to: block.rows, scores: this.#scores, along }
    await trainer.run(lookAlongTask, { ...options, kind: 'together' })
  }

  override async addDual(trainer: ThreadPool, block: LoadedBlock): Promise<void> {
    await trainer.run(addDualTogetherTask, { problem: this.of(block), rows: block.rows })
  }

  /** A copy of the weights, w[j·K + k], and of those of the bias. */
  copyAll(): ReturnType<typeof withoutPadding> {
    return withoutPadding(this.arena.f64(this.weights, this.weightCount), this.#features, this.#classes.count)
  }
}
