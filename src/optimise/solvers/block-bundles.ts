// Many models over blocks: every block that is read is swept over by all bundles in turn, so that the data is read and
// decoded once, whatever the number of models. To the driver they are one problem, whose gap is the worst of theirs. With
// `selective` and `stream` a cache of rows stays in memory, chosen by what a row is worth to all models together.

import type { Stretch } from '../../block-store/checkpoint.ts'
import { ALONG_BYTES } from '../../numeric/along-layout.ts'
import { BUNDLE_LANES } from '../../numeric/bundle-layout.ts'
import { SUMS_BYTES } from '../../numeric/layouts.ts'
import type { ExitReason, Solution } from '../driver/driver.ts'
import type { BlockProblem } from '../objectives/block-problem.ts'
import { Bundle, type BundledProblem, bundleSizes, lanesFor } from '../objectives/bundle.ts'
import { type Certificate, certificateOf } from '../objectives/certificate.ts'
import { certificateAt, LossesAlong, penaltyOf } from '../objectives/line-search.ts'
import type { BlockEngine, LoadedBlock } from '../sources/block-engine.ts'
import { blockBundlesTask } from './block-bundles-task.ts'
import { RowCache } from './row-cache.ts'
import type { Account, BlockRun, BlockSettings, BlockSolver, VisitReport } from './solver.ts'

/** Sweeps over the cache between two rounds of reading, at most. */
const SETTLE_SWEEPS = 4
/** Of what rows owed as they were met: how much those in memory may owe when they are left for others. */
const BESIDE_MET = 0.25

/** Lanes that so many models take. */
export function lanesOf(models: number): number {
  return bundleSizes(models).reduce((sum, size) => sum + lanesFor(size), 0)
}

/** Models that are trained together, and the fold of each row in the order of the store (an address, or 0). */
export interface ManyModels {
  problems: BundledProblem[]
  features: number
  tolerance: number
  folds?: number
}

/** A solver for many models, and what became of them once it has started. */
export function forManyModels(solver: BlockSolver, models: ManyModels): { solver: BlockSolver; run(): BlockBundles } {
  let run: BlockBundles | undefined
  const start: BlockSolver['start'] = (engine, problem, settings) => {
    run = new BlockBundles(engine, problem, settings, models, solver.manyModels ?? 'alone')
    return run
  }
  return {
    solver: { ...solver, start },
    run: () => {
      if (!run) throw new Error('models are asked for before they were trained')
      return run
    },
  }
}

interface PlacedBundle {
  bundle: Bundle
  /** Number of its first model. */
  first: number
  alphaOffset: number
}

export class BlockBundles implements BlockRun {
  readonly #engine: BlockEngine
  readonly #problem: BlockProblem
  readonly #settings: BlockSettings
  readonly #tolerance: number
  readonly #bundles: PlacedBundle[] = []
  readonly #models: number
  readonly #sums: number
  /** Address of the fold of each row in the order of the store, or 0; and room for those of a block. */
  readonly #folds: number
  readonly #slotFolds: number = 0
  readonly #cache: RowCache | undefined
  readonly #cached: { memory: RowCache['memory']; inTurns: boolean; ownWorth: number } | undefined
  readonly keepsAlpha = true
  /** Only where there is a cache. */
  readonly memory?: () => Stretch[]
  /** Of each model, in this pass: losses and debts of rows as they were first met. */
  #losses: number[]
  #gaps: number[]
  /** Of each model: the sums of the certificate, over the rows that have been looked at for it. */
  #evaluated: number[][] = []
  #evaluatedRows = 0
  #settledTimes = 0
  #resting: boolean[]
  #optimism: number[]
  #certificates: (Certificate | undefined)[]
  /** Of each bundle: losses along the weights, and room for a block's part of them. */
  #along: LossesAlong[] = []
  readonly #alongRoom: number

  constructor(
    engine: BlockEngine,
    problem: BlockProblem,
    settings: BlockSettings,
    { problems, features, tolerance, folds = 0 }: ManyModels,
    manner: NonNullable<BlockSolver['manyModels']>,
  ) {
    this.#engine = engine
    this.#problem = problem
    this.#settings = settings
    this.#tolerance = tolerance
    this.#models = problems.length
    const { arena } = engine
    const each = problem.settings.loss.entropicDual ? 16 : 8
    let [first, lanes] = [0, 0]
    for (const size of bundleSizes(problems.length)) {
      const places = { alpha: problem.alpha, weights: problem.weights + (features + 1) * lanes * 8 }
      const part = problems.slice(first, first + size)
      const bundle = new Bundle(arena, { table: 0, rows: 0, weights: features }, part, 0, places)
      this.#bundles.push({ bundle, first, alphaOffset: lanes * each })
      first += size
      lanes += bundle.lanes
    }
    this.#folds = folds
    let rows = engine.plan.slotRows
    if (manner !== 'alone') {
      const stride = Math.max(...this.#bundles.map(({ bundle }) => bundle.alphaStride))
      const cache = new RowCache(engine, stride, 8 + (folds ? 1 : 0))
      rows = cache.union
      const ownWorth = cache.room('worth to a bundle', rows * 8)
      this.#cached = { memory: cache.memory, inTurns: manner === 'in-turns', ownWorth }
      this.#cache = cache
      this.memory = () => cache.stretches()
    }
    if (folds) this.#slotFolds = engine.room('folds of a block', rows)
    this.#sums = engine.room('sums of many models', (SUMS_BYTES / 8 + 1) * BUNDLE_LANES * 8)
    this.#alongRoom = engine.room('lines of many models', this.#bundles.length * ALONG_BYTES)
    this.#losses = new Array(this.#models).fill(0)
    this.#gaps = new Array(this.#models).fill(0)
    this.#resting = new Array(this.#models).fill(false)
    this.#optimism = new Array(this.#models).fill(1)
    this.#certificates = new Array(this.#models).fill(undefined)
  }

  async visit(block: LoadedBlock, pass: number): Promise<VisitReport> {
    const { innerPasses } = this.#settings
    // What was looked at for a certificate holds no more.
    this.#evaluatedRows = 0
    const { losses, gaps } = await this.#sweep(block, pass, { count: innerPasses })
    for (let k = 0; k < this.#models; k++) {
      this.#losses[k] += losses[k]
      this.#gaps[k] += gaps[k]
    }
    const sum = (values: number[]): number => values.reduce((total, value) => total + value, 0)
    return { loss: sum(losses), gap: sum(gaps) }
  }

  async #sweep(block: LoadedBlock, pass: number, sweeps: { count: number; enough?: number[] }) {
    const { seed, shrinking } = this.#settings
    const result = await this.#engine.trainer.run(blockBundlesTask, {
      ...this.#optionsFor(block),
      sweeps: {
        ...sweeps,
        shrink: shrinking && !this.#problem.settings.loss.entropicDual,
        random: [seed, pass, block.group],
        inner: Math.max(1e-9, 10 ** (-2 - pass)),
      },
      ...(this.#cached && { cache: { ...this.#cached, cached: this.#cache!.fill.cached } }),
    })
    if (result.fill) this.#cache!.fill = result.fill
    return result
  }

  /** With rows in turns: works on those in memory alone, until they owe little beside what the others owed. */
  async settle(target: number, most: number): Promise<number> {
    const { cached } = this.#cache?.fill ?? { cached: 0 }
    if (!this.#cached?.inTurns || cached === 0 || most <= 0 || this.#resting.every(Boolean)) return 0
    const { rows } = this.#engine.store.manifest
    const block = this.#engine.vacant()
    const count = Math.min(SETTLE_SWEEPS, Math.ceil((most * rows) / cached))
    const enough = this.#gaps.map(gap => Math.max(BESIDE_MET * gap, target / this.#models))
    const { sweeps } = await this.#sweep(block, this.#settledTimes++, { count, enough })
    return (sweeps * cached) / rows
  }

  #optionsFor(block: LoadedBlock) {
    return {
      bundles: this.#bundles.map(({ bundle, alphaOffset }) => ({
        at: bundle.at,
        lanes: bundle.lanes,
        alphaOffset,
        alphaStride: bundle.alphaStride,
      })),
      table: block.table,
      rows: block.rows,
      parts: block.parts.map(({ rows, firstRow }) => ({ rows, firstRow })),
      slotAlpha: block.alpha,
      alpha: this.#problem.alpha,
      alphaStride: this.#problem.alphaStride,
      sweep: block.sweep,
      order: block.order,
      sums: this.#sums,
      ...(this.#folds && { folds: { all: this.#folds, slot: this.#slotFolds } }),
    }
  }

  /** Adds what the dual variables of a block's rows give to the weights. */
  async addDual(block: LoadedBlock): Promise<void> {
    await this.#engine.trainer.run(blockBundlesTask, { ...this.#optionsFor(block), add: true })
  }

  /** Scores of a block's rows by the models that did not see them, into f32 columns of all rows. */
  async score(block: LoadedBlock, at: number): Promise<void> {
    const scores = { at, rows: this.#engine.store.manifest.rows }
    await this.#engine.trainer.run(blockBundlesTask, { ...this.#optionsFor(block), scores })
  }

  #lengths(): number[] {
    return this.#bundles.flatMap(({ bundle }) => bundle.squaredLengths())
  }

  /** After a pass: what the models owe by what their rows showed. After all rows have been looked at: what they owe. */
  async account(): Promise<Account> {
    const tolerance = this.#tolerance
    const { rows } = this.#engine.store.manifest
    const lengths = this.#lengths()
    const certified = this.#evaluatedRows >= rows && rows > 0
    let [primal, worst, supportVectors] = [0, 0, 0]
    for (let k = 0; k < this.#models; k++) {
      if (certified) {
        const certificate = certificateOf(Float64Array.from(this.#evaluated[k]), lengths[k], rows, true)
        this.#certificates[k] = certificate
        const gap = certificate.gap!
        if (gap > tolerance) this.#optimism[k] *= 0.7
        this.#resting[k] = gap <= tolerance
        primal += certificate.primal
        supportVectors += certificate.supportVectors!
        worst = Math.max(worst, gap)
        continue
      }
      const known = this.#certificates[k]
      if (this.#resting[k] && known) {
        primal += known.primal
        continue
      }
      const own = 0.5 * lengths[k] + this.#losses[k]
      const gap = own > 0 ? this.#gaps[k] / own : 0
      primal += own
      // One that has come close rests until the others have, too.
      if (gap <= tolerance * this.#optimism[k]) this.#resting[k] = true
      else worst = Math.max(worst, gap)
    }
    for (const { bundle, first } of this.#bundles) {
      bundle.activate(bundle.problems.map((_, k) => !this.#resting[first + k]))
    }
    const owed = worst * primal
    return { dual: primal - owed, owed, certain: owed, supportVectors, correct: null, spread: Number.MAX_VALUE }
  }

  owing(): undefined {
    return undefined
  }

  async evaluate(block: LoadedBlock): Promise<void> {
    const { rows } = this.#engine.store.manifest
    if (this.#evaluatedRows >= rows || this.#evaluated.length === 0) {
      this.#evaluated = Array.from({ length: this.#models }, () => new Array(SUMS_BYTES / 8).fill(0))
      this.#evaluatedRows = 0
    }
    const { sums } = await this.#engine.trainer.run(blockBundlesTask, this.#optionsFor(block))
    for (const [k, parts] of sums.entries()) {
      for (const [s, part] of parts.entries()) this.#evaluated[k][s] += part
    }
    this.#evaluatedRows += block.rows
  }

  async lookAlong(block: LoadedBlock | undefined): Promise<void> {
    if (!block) {
      this.#along = this.#bundles.map(() => new LossesAlong())
      return
    }
    const { arena, trainer } = this.#engine
    await trainer.run(blockBundlesTask, { ...this.#optionsFor(block), along: this.#alongRoom })
    for (const [b, along] of this.#along.entries()) along.add(arena, this.#alongRoom + b * ALONG_BYTES, block.rows)
  }

  endRound(): void {
    this.#losses.fill(0)
    this.#gaps.fill(0)
    this.#evaluatedRows = 0
    this.#evaluated = []
  }

  modelsDone(): number {
    return this.#resting.filter(Boolean).length
  }

  models(passes: number, exitReason: ExitReason, certified = true): Solution[] {
    const { rows } = this.#engine.store.manifest
    const lengths = this.#lengths()
    return this.#certificates.map((own, k): Solution => {
      const certificate = certified ? own : undefined
      if (certificate && certificate.gap! <= this.#tolerance) return { certificate, passes, exitReason: 'converged' }
      const b = this.#bundles.findLastIndex(each => each.first <= k)
      if (!this.#along[b]?.rows) return { certificate, passes, exitReason }
      const along = this.#along[b]
      const { primal, ...short } = along.best(k - this.#bundles[b].first, penaltyOf(lengths[k]), { all: rows })
      // A sample tells which multiple is better, not what its objective is.
      const known = short.factor === 1 || along.rows >= rows ? certificate : undefined
      const found = known && certificateAt(known, { ...short, primal })
      const reached = found !== undefined && found.gap! <= this.#tolerance
      return { certificate: found, passes, exitReason: reached ? 'converged' : exitReason, short }
    })
  }

  /** Weights of one model, the bias last. */
  copyWeights(model: number): Float64Array {
    const { bundle, first } = this.#bundles.findLast(each => each.first <= model)!
    return bundle.copyWeights(model - first)
  }

  state(): unknown {
    return {
      losses: this.#losses,
      gaps: this.#gaps,
      resting: this.#resting,
      optimism: this.#optimism,
      certificates: this.#certificates.map(certificate => certificate ?? null),
      settledTimes: this.#settledTimes,
      ...(this.#cache && { cache: this.#cache.state() }),
    }
  }

  restore(state: unknown): void {
    const from = state as Record<'losses' | 'gaps' | 'optimism', number[]> & {
      resting: boolean[]
      certificates: (Certificate | null)[]
      settledTimes: number
      cache?: ReturnType<RowCache['state']>
    }
    this.#settledTimes = from.settledTimes
    if (from.cache) this.#cache?.restore(from.cache)
    this.#losses = [...from.losses]
    this.#gaps = [...from.gaps]
    this.#resting = [...from.resting]
    this.#optimism = [...from.optimism]
    this.#certificates = from.certificates.map(certificate => certificate ?? undefined)
    for (const { bundle, first } of this.#bundles) {
      bundle.activate(bundle.problems.map((_, k) => !this.#resting[first + k]))
    }
  }
  restored(): void {
    this.#cache?.restored()
  }
}
