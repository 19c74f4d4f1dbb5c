// Sweeps over a bundle of models with all rows in memory. Models rest as they come close; those that a certificate did not
// confirm go on, over all rows again.
import type { BundlesObjective } from '../objectives/bundles.ts'
import type { RowGroup, RowSource } from '../sources/row-source.ts'
import { bundleSweepsTask } from './bundle-sweeps-task.ts'
import type { Run, Seen, SolverSettings, Turn } from './solver.ts'
import { startSweeps } from './sweeps.ts'

/** Nonzeros between two looks at the abort signal. */
const SLICE = 4e6

export class BundleRun implements Run {
  readonly #source: RowSource
  readonly #objective: BundlesObjective
  readonly #settings: SolverSettings
  #started: { group: RowGroup; passWork: number } | undefined
  /** Of each model: its primal objective by the last sweep that met every row. */
  #primals: number[]
  #gaps: number[]
  #tries = 0n

  constructor(source: RowSource, objective: BundlesObjective, settings: SolverSettings) {
    this.#source = source
    this.#objective = objective
    this.#settings = settings
    this.#primals = new Array(objective.models).fill(0)
    this.#gaps = new Array(objective.models).fill(Number.POSITIVE_INFINITY)
  }

  #start(group: RowGroup): number {
    if (this.#started) return this.#started.passWork
    const { arena } = this.#source
    const { bundle } = this.#objective.bundles[0]
    bundle.see(group)
    if (this.#objective.logistic) arena.numeric[`startEntropicBundle${bundle.lanes}`](bundle.at, group.rows)
    const passWork = Math.max(1, arena.numeric.workOf(group.table, group.rows))
    startSweeps(arena, group.sweep, group.order, group.rows, BigInt(this.#settings.seed))
    this.#started = { group, passWork }
    return passWork
  }

  async visit(group: RowGroup, { most, primals, targets, signal, tick }: Turn): Promise<Seen> {
    const passWork = this.#start(group)
    const { bundle } = this.#objective.bundles[0]
    this.#primals = this.#primals.map((own, k) => primals[k] || own)
    const limit = most * passWork
    let work = 0
    for (;;) {
      const step = await this.#source.threads.run(bundleSweepsTask, {
        ...{ bundle: bundle.at, lanes: bundle.lanes, models: bundle.problems.length, weightCount: bundle.weightCount },
        ...{ sweep: group.sweep, rows: group.rows, shrink: this.#settings.shrinking },
        budget: Math.min(SLICE, Math.max(limit - work, 1)),
        targets: [...targets],
        primals: this.#primals,
      })
      work += step.work
      this.#primals = step.primals
      this.#gaps = step.gaps.map((gap, k) => (Number.isFinite(gap) ? gap : this.#gaps[k]))
      tick(work / passWork, this.#worst(step.gaps))
      if (step.ready || work >= limit * (1 - 1e-6) || signal?.aborted) {
        const finite = this.#gaps.map(gap => Math.min(gap, Number.MAX_VALUE))
        const seen = { losses: finite.map(() => 0), gaps: finite, primals: this.#primals }
        return { ...seen, work: work / passWork, ready: step.ready }
      }
    }
  }

  #worst(gaps: number[]): number {
    return Math.max(...gaps.map((gap, k) => (Number.isFinite(gap) ? gap / (this.#primals[k] || 1) : 0)))
  }

  notYet(done: boolean[]): void {
    const { group } = this.#started!
    this.#objective.activate(done.map(is => !is))
    this.#tries++
    const random = BigInt(this.#settings.seed) + (this.#tries << 32n)
    startSweeps(this.#source.arena, group.sweep, group.order, group.rows, random, 1e-6)
  }
}
