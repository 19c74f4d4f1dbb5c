// Many models over blocks: every group that is read is swept over by all bundles in turn, so that the data is read and decoded
// once, whatever the number of models. With `selective` and `stream` a cache of rows stays in memory, chosen by what a row is
// worth to all models together: it is swept over among the group's rows, or in turns with them.
import type { BundlesObjective } from '../objectives/bundles.ts'
import type { BlockEngine } from '../sources/block-engine.ts'
import type { RowGroup } from '../sources/row-source.ts'
import { type BundleVisitResult, bundleVisitTask } from './bundle-visit-task.ts'
import { RowCache } from './row-cache.ts'
import type { Run, Saved, Seen, SolverSettings, Turn } from './solver.ts'

/** Sweeps over the cache between two rounds of reading, at most. */
const SETTLE_SWEEPS = 4
/** Of what rows owed as they were met: how much those in memory may owe when they are left for others. */
const BESIDE_MET = 0.25

export class BlockBundleRun implements Run {
  readonly #engine: BlockEngine
  readonly #objective: BundlesObjective
  readonly #settings: SolverSettings
  readonly #cache: RowCache | undefined
  readonly #cached: { memory: RowCache['memory']; inTurns: boolean; ownWorth: number } | undefined
  /** Of each model: what rows owed as they were met, since the cache was last settled. */
  #met: number[]
  #settledTimes = 0
  readonly saved: Saved
  readonly settle?: (target: number, most: number) => Promise<number>
  readonly rowsKept?: () => number

  constructor(
    engine: BlockEngine,
    objective: BundlesObjective,
    settings: SolverSettings,
    manner: 'alone' | 'among' | 'in-turns',
  ) {
    this.#engine = engine
    this.#objective = objective
    this.#settings = settings
    this.#met = new Array(objective.models).fill(0)
    let rows = engine.plan.slotRows
    if (manner !== 'alone') {
      const stride = Math.max(...objective.bundles.map(({ bundle }) => bundle.alphaStride))
      this.#cache = new RowCache(engine, stride, 8 + (objective.hasFolds ? 1 : 0))
      rows = this.#cache.union
      const cache = this.#cache
      this.rowsKept = () => cache.fill.cached
      const ownWorth = this.#cache.room('worth to a bundle', rows * 8)
      this.#cached = { memory: this.#cache.memory, inTurns: manner === 'in-turns', ownWorth }
    }
    if (objective.hasFolds) objective.groupFolds = engine.room('folds of a group', rows)
    if (manner === 'in-turns') this.settle = (target, most) => this.#settle(target, most)
    this.saved = {
      state: () => ({ met: this.#met, settledTimes: this.#settledTimes, cache: this.#cache?.state() }),
      stretches: () => this.#cache?.stretches() ?? [],
      restore: state => {
        const from = state as { met: number[]; settledTimes: number; cache?: unknown }
        this.#met = [...from.met]
        this.#settledTimes = from.settledTimes
        if (from.cache) this.#cache?.restore(from.cache)
      },
      restored: () => this.#cache?.restored(),
    }
  }

  async visit(group: RowGroup, { pass }: Turn): Promise<Seen> {
    const { losses, gaps } = await this.#sweep(group, pass, { count: this.#settings.innerPasses })
    this.#met = this.#met.map((met, k) => met + gaps[k])
    return { losses, gaps }
  }

  async #sweep(
    group: RowGroup,
    pass: number,
    sweeps: { count: number; enough?: number[] },
  ): Promise<BundleVisitResult> {
    const { seed, shrinking } = this.#settings
    const result = await this.#engine.threads.run(bundleVisitTask, {
      bundles: this.#objective.bundles.map(({ place }) => place),
      group: this.#objective.groupOf(group),
      ...{ sweep: group.sweep, order: group.order },
      ...sweeps,
      shrink: shrinking && !this.#objective.logistic,
      random: [seed, pass, group.group],
      inner: Math.max(1e-9, 10 ** (-2 - pass)),
      ...(this.#cached && { cache: { ...this.#cached, cached: this.#cache!.fill.cached } }),
    })
    if (result.fill) this.#cache!.fill = result.fill
    return result
  }

  /** Works on the rows in memory alone, until they owe little beside what the others owed. */
  async #settle(target: number, most: number): Promise<number> {
    const met = this.#met
    this.#met = met.map(() => 0)
    const { cached } = this.#cache!.fill
    if (cached === 0 || most <= 0 || this.#objective.allRest) return 0
    const { rows } = this.#engine
    const count = Math.min(SETTLE_SWEEPS, Math.ceil((most * rows) / cached))
    const enough = met.map(gap => Math.max(BESIDE_MET * gap, target / met.length))
    const { sweeps } = await this.#sweep(this.#engine.vacant(), this.#settledTimes++, { count, enough })
    return (sweeps * cached) / rows
  }
}
