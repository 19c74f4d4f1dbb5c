// The driver of one binary problem whose rows come in blocks: asks the solver to work on block after block, keeps
// checkpoints, asks the certificate for the truth, and decides when to stop.

import type { Checkpoints, RunState } from '../../block-store/checkpoint.ts'
import { ALONG_BYTES } from '../../numeric/along-layout.ts'
import { SUMS_BYTES } from '../../numeric/layouts.ts'
import type { BlockProblem } from '../objectives/block-problem.ts'
import { type Certificate, certificateOf } from '../objectives/certificate.ts'
import { certificateAt, LossesAlong, penaltyOf } from '../objectives/line-search.ts'
import { drawFrom } from '../solvers/block-sweeps-task.ts'
import type { FirstPass } from '../solvers/first-pass.ts'
import type { BlockRun, BlockSettings, BlockSolver } from '../solvers/solver.ts'
import type { BlockEngine, LoadedBlock } from '../sources/block-engine.ts'
import { groupsOf } from '../sources/memory-plan.ts'
import type { ExitReason, PassProgress, Solution } from './driver.ts'

export interface OutOfCoreSettings extends BlockSettings {
  tolerance: number
  /** Stop when the projected gradients of a round lie so close together, whatever the gap. */
  gradientTolerance?: number | undefined
  maxPasses: number
  blockOrder: 'random' | 'fixed'
  /** Seconds between two checkpoints. */
  checkpointSeconds: number
  signal?: AbortSignal | undefined
}

/** Weights and the rows that a solver keeps are written with every checkpoint. While they are small beside a block, one
 *  after every block costs little. */
const CHEAP_SHARE = 0.1
/** The length of more weights than these is not worked out after every group: with small groups it would take longer. */
const MANY_WEIGHTS = 1 << 20
/** After an interrupt, rows are looked at for so long: all of a small store, a sample of a large one. */
const BRIEF_SECONDS = 2

/** Where the driver leaves what a run that is killed goes on from. */
export type StateKeeper = Pick<Checkpoints, 'touch' | 'save' | 'loadMemory'>

/** For runs that nobody goes on with. */
export const nowhere: StateKeeper = { touch: () => {}, save: async () => {}, loadMemory: async () => {} }

export class OutOfCoreDriver {
  readonly #engine: BlockEngine
  readonly #solver: BlockSolver
  readonly #problem: BlockProblem
  readonly #settings: OutOfCoreSettings
  readonly #checkpoints: StateKeeper
  readonly #run: BlockRun
  readonly #sums: number
  /** For the last line search: room for a block's part, and what rows showed. */
  readonly #alongRoom: number
  #along = new LossesAlong()
  readonly #tell: (progress: PassProgress) => void
  #lastCheckpoint = performance.now()
  /** Primal and relative gap when stock was last taken, for a solver that keeps rows in memory. */
  #lastKnown: { primal: number; gap: number } | undefined
  #quietUntil = 0
  #state: RunState

  constructor(
    engine: BlockEngine,
    solver: BlockSolver,
    problem: BlockProblem,
    settings: OutOfCoreSettings,
    checkpoints: StateKeeper,
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
    this.#alongRoom = engine.room('the line search', ALONG_BYTES)
    this.#run = solver.start(engine, problem, settings)
  }

  /** Goes on from a checkpoint. */
  async restore(state: RunState): Promise<void> {
    this.#state = state
    if (this.#run.memory && state.solver === undefined) {
      // Nothing is in memory, and nothing is known of any block, but dual variables and weights stand.
      Object.assign(state, { pass: state.pass + 1, position: 0, stockTaken: false, loss: 0, gap: 0, wanted: null })
      return
    }
    this.#run.restore?.(state.solver)
    const memory = this.#run.memory?.()
    if (memory) await this.#checkpoints.loadMemory(memory)
    this.#run.restored?.()
  }

  /** Starts from what was learnt while the text was read: that was the first pass. */
  async startFrom(first: FirstPass, map: number): Promise<void> {
    const { store, firstRows } = this.#engine
    first.move(store, firstRows, this.#problem, map, (...rows) => this.#run.adopt?.(...rows))
    this.#engine.reuse(first.region)
    const state = this.#state
    state.pass = 1
    state.work = 1
    state.wanted = this.#run.owing?.(0) ?? null
    const primal = 0.5 * this.#problem.squaredLength() + first.loss
    this.#lastKnown = { primal, gap: first.gap / primal }
    this.#checkpoints.touch([...store.manifest.blocks.keys()])
    await this.#checkpoint()
  }

  /** Starts from dual variables that are in place already: w = Σ α y x, by one reading pass. */
  async rebuildWeights(): Promise<void> {
    const { arena, trainer } = this.#engine
    arena.bytes(this.#problem.weights, this.#problem.weightCount * (this.#problem.narrow ? 4 : 8)).fill(0)
    for await (const block of this.#engine.pass(this.#groups(-1))) {
      if (this.#run.addDual) await this.#run.addDual(block)
      else await this.#problem.addDual(trainer, block)
    }
  }

  async solve(): Promise<Solution> {
    const { tolerance, gradientTolerance, maxPasses, signal } = this.#settings
    const { store } = this.#engine
    const state = this.#state
    for (;;) {
      // What was learnt while text was read may be all the passes there are.
      const enough = this.#run.account !== undefined && state.work >= maxPasses - 1e-3
      const groups = enough ? [] : this.#groups(state.pass, state.wanted)
      if (state.position === 0 && groups.length > 0) this.#countSkipped(state.wanted)
      for await (const block of this.#engine.pass(groups, state.position)) {
        const report = await this.#run.visit(block, state.pass)
        if (!this.#run.keepsAlpha) this.#problem.keep(block)
        state.position++
        state.work += block.rows / Math.max(store.manifest.rows, 1)
        state.loss += report.loss
        state.gap += report.gap
        // Rows that stay in memory belong to any block.
        this.#checkpoints.touch(
          this.#run.memory ? [...store.manifest.blocks.keys()] : block.parts.map(part => part.block),
        )
        this.#progress(state.pass, state.position / groups.length)
        if (signal?.aborted) break
        if (this.#checkpointDue(block.packedBytes) && state.position < groups.length) await this.#checkpoint()
      }
      if (signal?.aborted && state.position < groups.length) {
        await this.#checkpoint()
        this.#run.finish?.()
        return this.#end(undefined, 'interrupted')
      }
      if (!state.stockTaken) await this.#takeStock()
      // Until it is decided how to go on, the run stands at the end of this pass: one that is resumed decides the same.
      if (signal?.aborted || this.#checkpointDue(this.#packedBytes)) await this.#checkpoint()
      const last = this.#run.account ? state.work >= maxPasses - 1e-3 : this.#passes() >= maxPasses
      const settled = gradientTolerance !== undefined && state.spread <= gradientTolerance
      // Whoever asks for the paper's rule is stopped by it, not by the gap.
      const close = this.#solver.dual && state.gap <= tolerance * state.primal * state.optimism
      const ready = gradientTolerance === undefined ? close : settled
      if (ready || last || signal?.aborted) {
        const certificate = await this.certify(last)
        if (!certificate) return this.#end(certificate, 'interrupted')
        state.primal = certificate.primal
        const passes = this.#passes()
        const reached = certificate.gap !== null && certificate.gap <= tolerance
        const exitReason = settled || reached ? 'converged' : last ? 'max-passes' : 'interrupted'
        const ends = settled || reached || last || signal?.aborted
        const solution: Solution = { certificate, passes, exitReason }
        const ended = ends && !reached ? await this.#end(certificate, exitReason) : solution
        const { primal, gap } = ended.certificate ?? certificate
        this.#tell({ pass: passes, primal, gap, certified: true })
        if (ends) {
          const models = ended.models ?? this.#run.models?.(passes, exitReason)
          return { ...ended, ...(models && { models }) }
        }
        state.optimism *= 0.7
      }
      state.pass++
      state.position = 0
      state.stockTaken = false
      state.loss = 0
      state.gap = 0
      state.wanted = this.#run.owing?.(tolerance * state.primal) ?? null
    }
  }

  /** Passes so far. A solver that leaves blocks out, or works on rows in memory, makes them in parts. */
  #passes(): number {
    if (!this.#run.account) return this.#state.pass + 1
    return Math.min(this.#settings.maxPasses, Math.max(1, Math.ceil(this.#state.work - 1e-3)))
  }

  /** At the end of a pass: what the primal and the gap are, by what the rows showed as they were met. */
  async #takeStock(): Promise<void> {
    const { tolerance, maxPasses } = this.#settings
    const state = this.#state
    state.stockTaken = true
    if (!this.#run.account) {
      state.primal = 0.5 * this.#problem.squaredLength() + state.loss
      return
    }
    // A new w has a new primal; the last one will do to say how exact the rows in memory are to be.
    const before = state.primal || 0.5 * this.#problem.squaredLength() + state.loss
    // By the paper's rule the rows in memory are worked on as long as they move.
    const target = this.#settings.gradientTolerance === undefined ? 0.5 * tolerance * before * state.optimism : 0
    state.work += (await this.#run.settle?.(target, maxPasses - state.work)) ?? 0
    const { dual, owed, spread } = await this.#run.account()
    this.#run.endRound?.()
    state.spread = spread
    // Nothing is known of a block that was never met: a number that JSON can hold says so.
    state.primal = Math.min(dual + owed, Number.MAX_VALUE)
    state.gap = Math.min(owed, Number.MAX_VALUE)
    this.#lastKnown = { primal: state.primal, gap: state.gap / state.primal }
    this.#tell({ pass: this.#passes(), ...this.#lastKnown, certified: false })
  }

  /** Ends a run short of its tolerance: by the best multiple of its weights. Methods that know no tolerance, and the paper's
   *  rule, end where they meant to: their weights stay as they are, unless w = 0 is better. */
  async #end(certificate: Certificate | undefined, exitReason: ExitReason): Promise<Solution> {
    const { rows } = this.#engine.store.manifest
    const passes = this.#passes()
    if (this.#along.rows < rows) await this.#lookAtRows(exitReason === 'interrupted')
    if (this.#run.lookAlong) {
      const models = this.#run.models!(passes, exitReason, certificate !== undefined)
      return { certificate, passes, exitReason, models }
    }
    const onlyIfWorse = !this.#solver.dual || exitReason === 'converged'
    const penalty = penaltyOf(this.#problem.squaredLength())
    const { primal, ...short } = this.#along.best(0, penalty, { all: rows, onlyIfWorse })
    if (onlyIfWorse && short.factor === 1 && certificate) return { certificate, passes, exitReason }
    // A sample tells which multiple is better, not what its objective is.
    const known = short.factor === 1 || this.#along.rows >= rows ? certificate : undefined
    const found = known && certificateAt(known, { ...short, primal })
    const close = found !== undefined && found.gap !== null && found.gap <= this.#settings.tolerance
    return { certificate: found, passes, exitReason: close ? 'converged' : exitReason, short }
  }

  /** Sums losses along the weights over all rows; after an interrupt over as many as a short time allows, those first that
   *  would have been next. Blocks are drawn at random, so some stand for all. */
  async #lookAtRows(briefly: boolean): Promise<void> {
    const began = performance.now()
    this.#startLook()
    const { pass, position, wanted } = this.#state
    const groups = this.#groups(briefly ? pass : -1)
    const next = briefly && !wanted ? position % Math.max(groups.length, 1) : 0
    for await (const block of this.#engine.pass([...groups.slice(next), ...groups.slice(0, next)])) {
      await this.#lookAlong(block)
      if (briefly && performance.now() - began > BRIEF_SECONDS * 1000) break
    }
  }

  #startLook(): void {
    this.#along = new LossesAlong()
    this.#run.lookAlong?.(undefined)
  }

  async #lookAlong(block: LoadedBlock): Promise<void> {
    // Of several models each has its own losses.
    if (this.#run.lookAlong) {
      await this.#run.lookAlong(block)
      this.#along.rows += block.rows
      return
    }
    await this.#problem.lookAlong(this.#engine.trainer, block, this.#alongRoom)
    this.#along.add(this.#engine.arena, this.#alongRoom, block.rows)
  }

  /** Primal, dual and gap over all rows by a reading pass; undefined when it was interrupted. With `look`, the losses along
   *  the weights are summed as well. */
  async certify(look = false): Promise<Certificate | undefined> {
    const { arena, trainer, store } = this.#engine
    this.#run.finish?.()
    this.#startLook()
    if (this.#run.account && this.#run.evaluate && !this.#problem.narrow) return this.#certifyByAccount(look)
    const total = new Float64Array(SUMS_BYTES / 8)
    // In the order of the store, whatever order the solver took: the sums are the same bits for the same weights.
    for await (const block of this.#engine.pass(this.#groups(-1))) {
      if (this.#settings.signal?.aborted) return undefined
      await this.#problem.evaluate(trainer, block, this.#sums)
      arena.f64(this.#sums, total.length).forEach((part, k) => {
        total[k] += part
      })
      if (look) await this.#lookAlong(block)
    }
    return certificateOf(total, this.#problem.squaredLength(), store.manifest.rows, this.#solver.dual)
  }

  /** The same by what the solver knows of all rows, once those have been read of which it does not know enough. */
  async #certifyByAccount(look: boolean): Promise<Certificate | undefined> {
    const { tolerance, signal } = this.#settings
    const blocks = this.#run.owing!(tolerance * this.#state.primal)
    this.#countSkipped(blocks)
    for await (const block of this.#engine.pass(this.#groups(-1, blocks))) {
      if (signal?.aborted) return undefined
      await this.#run.evaluate!(block)
      // Of several models all rows are read here, and once is enough.
      if (look && this.#run.lookAlong) await this.#lookAlong(block)
    }
    const { dual, certain, supportVectors, correct } = await this.#run.account!()
    const primal = dual + certain
    const { rows } = this.#engine.store.manifest
    return {
      primal,
      dual,
      gap: primal > 0 ? certain / primal : 0,
      supportVectors,
      trainingAccuracy: correct === null ? null : correct / rows,
    }
  }

  #countSkipped(wanted: number[] | null | undefined): void {
    if (!wanted) return
    const { blocks } = this.#engine.store.manifest
    this.#engine.counts.bytesSkipped += wanted.reduce((sum, block) => sum - blocks[block].bytes, this.#packedBytes)
  }

  get #packedBytes(): number {
    return this.#engine.store.manifest.blocks.reduce((sum, block) => sum + block.bytes, 0)
  }

  #progress(pass: number, share: number): void {
    if (this.#lastKnown) {
      // Rows in memory are not met again, so what a round met says little before its end: the last stock stands.
      this.#tell({ pass: this.#state.work, ...this.#lastKnown, certified: false })
      return
    }
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
  #groups(pass: number, wanted?: number[] | null): number[][] {
    const { plan, store } = this.#engine
    if (wanted) return groupsOf(plan, wanted)
    const order = store.manifest.blocks.map((_, k) => k)
    if (pass < 0 || this.#settings.blockOrder === 'fixed') return groupsOf(plan, order)
    for (let k = order.length - 1; k > 0; k--) {
      const other = Number(drawFrom([this.#settings.seed, pass, k]) % BigInt(k + 1))
      ;[order[k], order[other]] = [order[other], order[k]]
    }
    return groupsOf(plan, order)
  }

  #checkpointDue(blockBytes: number): boolean {
    const weightBytes = this.#problem.weightCount * (this.#problem.narrow ? 4 : 8)
    const memory = this.#run.memory?.() ?? []
    const bytes = memory.reduce((sum, stretch) => sum + stretch.bytes, weightBytes)
    if (bytes <= CHEAP_SHARE * blockBytes) return true
    return performance.now() - this.#lastCheckpoint >= this.#settings.checkpointSeconds * 1000
  }

  async #checkpoint(finished = false): Promise<void> {
    this.#state.bytesRead = this.#engine.counts.bytesRead
    const forgets = finished && this.#run.memory !== undefined
    this.#state.solver = forgets ? undefined : this.#run.state?.()
    await this.#checkpoints.save(this.#state, forgets ? undefined : this.#run.memory?.())
    this.#lastCheckpoint = performance.now()
  }

  /** Writes down how the run ended. One that reached its aim is seldom resumed, and then with another: the rows that it had
   *  in memory are not written for that, but read again. */
  async close(done: Solution): Promise<void> {
    this.#state.done = done
    await this.#checkpoint(done.exitReason === 'converged')
  }
}
