// Solver `dual`: dual coordinate descent with all rows in memory.
//
//   min_α  ½ αᵀ(Q + D)α − eᵀα,  0 ≤ α_i ≤ U_i     (hinge: U = C, D = 0; squared hinge: U = ∞, D = 1/(2C))
//   or, logistic:  min_α  ½ αᵀQα + Σ α_i log α_i + (C − α_i) log(C − α_i),  0 < α_i < C
//
// Hsieh, Chang, Lin, Keerthi, Sundararajan: A dual coordinate descent method for large-scale linear SVM (ICML 2008),
// Algorithm 3 with shrinking; Yu, Huang, Lin: Dual coordinate descent methods for logistic regression and maximum
// entropy models (Machine Learning 85, 2011), Algorithm 5. The loops are in numeric/assembly/dual.ts. The sum of what
// each row owes to the duality gap, P − D = Σ_i loss_i − dual part_i + α_i m_i, is kept as rows are met, so that the
// certificate is asked for when it is likely to hold.
import { SWEEP_BYTES } from '../numeric/layouts.ts'
import type { ThreadPool } from '../threads/pool.ts'
import type { BinaryProblem } from '../training/problem.ts'
import { CrammerSingerRun } from './crammer-singer.ts'
import type { MemorySolver, PassOrder, PassReport, SolverRun, SolverSettings } from './solver.ts'
import { activateAll, startSweeps } from './sweeps.ts'

/** Nonzeros between two looks at the abort signal and the clock: some tens of milliseconds. */
const SLICE = 4e6

class DualRun implements SolverRun {
  readonly #pool: ThreadPool
  readonly #problem: BinaryProblem
  readonly #settings: SolverSettings
  readonly #sweep: number
  readonly #passWork: number
  /** Certified gap over estimated gap, learnt when a certificate was asked for in vain. */
  #optimism = 1

  constructor(pool: ThreadPool, problem: BinaryProblem, settings: SolverSettings) {
    const { arena, rows } = problem
    this.#pool = pool
    this.#problem = problem
    this.#settings = settings
    this.#passWork = arena.numeric.workOf(rows.table, rows.rows)
    this.#sweep = arena.allocate(SWEEP_BYTES, 'the sweep')
    const order = arena.allocate(Math.max(rows.rows, 1) * 4, 'the order of the rows')
    startSweeps(arena, this.#sweep, order, rows.rows, BigInt(settings.seed))
  }

  async pass({ most, targetGap, signal }: PassOrder): Promise<PassReport> {
    const limit = most * this.#passWork
    let work = 0
    for (;;) {
      const step = await this.#pool.run('dual-sweeps', {
        problem: this.#problem.at,
        sweep: this.#sweep,
        rows: this.#problem.rows.rows,
        logistic: this.#problem.settings.loss.entropicDual === true,
        narrow: this.#problem.narrow,
        shrink: this.#settings.shrinking,
        budget: Math.min(SLICE, Math.max(limit - work, 1)),
        targetGap: targetGap * this.#optimism,
      })
      work += step.work
      if (step.ready || work >= limit || signal?.aborted) {
        const primal = 0.5 * this.#problem.squaredLength() + step.loss
        return { passes: work / this.#passWork, estimate: { primal, gap: step.gap }, ready: step.ready }
      }
    }
  }

  notYet(): void {
    this.#optimism *= 0.7
    activateAll(this.#problem.arena, this.#sweep, this.#problem.rows.rows)
  }
}

export const dual: MemorySolver = {
  name: 'dual',
  data: 'memory',
  manyModels: true,
  options: ['shrinking', 'tolerance'],
  summary: 'dual coordinate descent, all rows in memory',
  lossNeeds: {
    what: 'a dual (box or entropic)',
    has: loss => loss.box !== undefined || loss.entropicDual === true,
  },
  start: (pool, problem, settings) => new DualRun(pool, problem, settings),
  crammerSinger: true,
  startCrammerSinger: (pool, problem, settings) => new CrammerSingerRun(pool, problem, settings),
}
