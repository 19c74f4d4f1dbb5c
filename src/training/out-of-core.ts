// The driver of one binary problem whose rows come in blocks: asks the solver to work on block after block, keeps
// checkpoints, asks the certificate for the truth, and decides when to stop.

import { SUMS_BYTES } from '../numeric/layouts.ts'
import { drawFrom } from '../solvers/block-sweeps-task.ts'
import type { BlockRun, BlockSettings, BlockSolver } from '../solvers/solver.ts'
import type { BlockEngine } from './block-engine.ts'
import type { BlockProblem } from './block-problem.ts'
import { type Certificate, certificateOf } from './certificate.ts'
import type { Checkpoints, RunState } from './checkpoint.ts'
import type { PassProgress, Solution } from './driver.ts'
import { groupsOf } from './memory-plan.ts'

export interface OutOfCoreSettings extends BlockSettings {
  tolerance: number
  maxPasses: number
  blockOrder: 'random' | 'fixed'
  /** Seconds between two checkpoints. */
  checkpointSeconds: number
  signal?: AbortSignal | undefined
}

/** Weights are written with every checkpoint. While they are small beside a block, one after every block costs little. */
const CHEAP_SHARE = 0.1
/** The length of more weights than these is not worked out after every group: with small groups it would take longer. */
const MANY_WEIGHTS = 1 << 20

export class OutOfCoreDriver {
  readonly #engine: BlockEngine
  readonly #solver: BlockSolver
  readonly #problem: BlockProblem
  readonly #settings: OutOfCoreSettings
  readonly #checkpoints: Checkpoints
  readonly #run: BlockRun
  readonly #sums: number
  readonly #tell: (progress: PassProgress) => void
  #lastCheckpoint = performance.now()
  #quietUntil = 0
  #state: RunState

  constructor(
    engine: BlockEngine,
    solver: BlockSolver,
    problem: BlockProblem,
    settings: OutOfCoreSettings,
    checkpoints: Checkpoints,
    fresh: RunState,
    tell: (progress: PassProgress) => void,
  ) {
    this.#engine = engine
    this.#solver = solver
    this.#problem = problem
    this.#settings = settings
    this.#checkpoints = checkpoints
    this.#state = fresh
    this.#tell = tell
    this.#sums = engine.arena.allocateZeroed(SUMS_BYTES, 'the certificate')
    this.#run = solver.start(engine, problem, settings)
  }

  /** Goes on from a checkpoint. */
  restore(state: RunState): void {
    this.#state = state
    this.#run.restore?.(state.solver)
  }

  /** Starts from dual variables that are in place already: w = Σ α y x, by one reading pass. */
  async rebuildWeights(): Promise<void> {
    const { arena, trainer } = this.#engine
    arena.bytes(this.#problem.weights, this.#problem.weightCount * (this.#problem.narrow ? 4 : 8)).fill(0)
    for await (const block of this.#engine.pass(this.#groups(-1))) {
      await trainer.run('add-dual', {
        problem: this.#problem.of(block),
        rows: block.rows,
        stride: this.#problem.alphaStride,
        narrow: this.#problem.narrow,
      })
    }
  }

  async solve(): Promise<Solution> {
    const { tolerance, maxPasses, signal } = this.#settings
    const state = this.#state
    await this.#run.prepare?.(this.#groups(-1))
    for (;;) {
      const groups = this.#groups(state.pass)
      for await (const block of this.#engine.pass(groups, state.position)) {
        const report = await this.#run.visit(block, state.pass)
        this.#problem.keep(block)
        state.position++
        state.loss += report.loss
        state.gap += report.gap
        this.#checkpoints.touch(block.parts.map(part => part.block))
        this.#progress(state.pass, state.position / groups.length)
        if (signal?.aborted) break
        if (this.#checkpointDue(block.packedBytes) && state.position < groups.length) await this.#checkpoint()
      }
      if (signal?.aborted && state.position < groups.length) {
        if (!this.#run.checkpointsBetweenPasses) await this.#checkpoint()
        return { certificate: undefined, passes: state.pass + 1, exitReason: 'interrupted' }
      }
      // Until it is decided how to go on, the run stands at the end of this pass: one that is resumed decides the same.
      await this.#checkpoint()
      const passes = state.pass + 1
      state.primal = 0.5 * this.#problem.squaredLength() + state.loss
      const last = passes >= maxPasses
      const ready = this.#solver.dual && state.gap <= tolerance * state.primal * state.optimism
      if (ready || last || signal?.aborted) {
        const certificate = await this.certify()
        if (!certificate) return { certificate, passes, exitReason: 'interrupted' }
        state.primal = certificate.primal
        this.#tell({ pass: passes, primal: certificate.primal, gap: certificate.gap, certified: true })
        const converged = certificate.gap !== null && certificate.gap <= tolerance
        if (converged || last || signal?.aborted) {
          const exitReason = converged ? 'converged' : last ? 'max-passes' : 'interrupted'
          return { certificate, passes, exitReason }
        }
        state.optimism *= 0.7
      }
      state.pass++
      state.position = 0
      state.loss = 0
      state.gap = 0
    }
  }

  /** Primal, dual and gap over all rows by a reading pass; undefined when it was interrupted. */
  async certify(): Promise<Certificate | undefined> {
    const { arena, trainer, store } = this.#engine
    this.#run.finish?.()
    const total = new Float64Array(SUMS_BYTES / 8)
    // In the order of the store, whatever order the solver took: the sums are the same bits for the same weights.
    for await (const block of this.#engine.pass(this.#groups(-1))) {
      if (this.#settings.signal?.aborted) return undefined
      await trainer.run('evaluate-rows', {
        problem: this.#problem.of(block),
        narrow: this.#problem.narrow,
        from: 0,
        to: block.rows,
        sums: this.#sums,
      })
      arena.f64(this.#sums, total.length).forEach((part, k) => {
        total[k] += part
      })
    }
    return certificateOf(total, this.#problem.squaredLength(), store.manifest.rows, this.#solver.dual)
  }

  #progress(pass: number, share: number): void {
    const began = performance.now()
    if (this.#problem.weightCount > MANY_WEIGHTS && began < this.#quietUntil && share < 1) return
    const primal = 0.5 * this.#problem.squaredLength() + this.#state.loss / share
    const gap = this.#solver.dual && primal > 0 ? this.#state.gap / share / primal : null
    this.#tell({ pass: pass + share, primal, gap, certified: false })
    const now = performance.now()
    this.#quietUntil = now + 20 * (now - began)
  }

  /** What is loaded together in a pass: drawn from seed and pass, so that a resumed run draws the same. Pass −1, and
   *  every pass of a fixed order, takes the blocks as they stand. */
  #groups(pass: number): number[][] {
    const { plan, store } = this.#engine
    const order = store.manifest.blocks.map((_, k) => k)
    if (pass < 0 || this.#settings.blockOrder === 'fixed') return groupsOf(plan, order)
    for (let k = order.length - 1; k > 0; k--) {
      const other = Number(drawFrom([this.#settings.seed, pass, k]) % BigInt(k + 1))
      ;[order[k], order[other]] = [order[other], order[k]]
    }
    return groupsOf(plan, order)
  }

  #checkpointDue(blockBytes: number): boolean {
    if (this.#run.checkpointsBetweenPasses) return false
    const weightBytes = this.#problem.weightCount * (this.#problem.narrow ? 4 : 8)
    if (weightBytes <= CHEAP_SHARE * blockBytes) return true
    return performance.now() - this.#lastCheckpoint >= this.#settings.checkpointSeconds * 1000
  }

  async #checkpoint(): Promise<void> {
    this.#state.bytesRead = this.#engine.counts.bytesRead
    this.#state.solver = this.#run.state?.()
    await this.#checkpoints.save(this.#state)
    this.#lastCheckpoint = performance.now()
  }

  /** Writes down how the run ended, so that resuming it only reads the answer. */
  async close(done: unknown): Promise<void> {
    if (this.#run.checkpointsBetweenPasses && this.#state.position > 0) return
    this.#state.done = done
    await this.#checkpoint()
  }
}
