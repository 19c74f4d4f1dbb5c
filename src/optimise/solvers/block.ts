// Solver `block`: block minimisation of the dual. Rows are read block by block; each time, the dual is minimised over the
// variables of that block alone, the others fixed:
//
//   min_d  f(α + d)   subject to d_i = 0 outside the block, 0 ≤ α_i + d_i ≤ U_i        w ← w + Σ d_i y_i x_i
//
// Yu, Hsieh, Chang, Lin: Large linear classification when data cannot fit in memory (KDD 2010), Algorithm 2. BLOCK-L-N
// makes N sweeps of coordinate descent over the block (--inner-passes N); BLOCK-L-D sweeps until the projected gradients
// lie within --inner-tolerance of each other, LIBLINEAR's own rule.

import type { ThreadPool } from '../../threads/pool.ts'
import type { RowGroup } from '../sources/row-source.ts'
import { BlockBundleRun } from './block-bundle-run.ts'
import { blockSweepsTask } from './block-sweeps-task.ts'
import type { BlockSolver, Run, Seen, SolverSettings, Turn } from './solver.ts'
import type { SweepSettings } from './sweeps.ts'

/** A problem whose rows come in groups. */
interface GroupedProblem {
  of(group: RowGroup): number
  keep(group: RowGroup): void
}

class BlockMinimisation implements Run {
  readonly #threads: ThreadPool
  readonly #problem: GroupedProblem
  readonly #kind: Pick<SweepSettings, 'logistic' | 'narrow' | 'together'>
  readonly #settings: SolverSettings

  constructor(
    threads: ThreadPool,
    problem: GroupedProblem,
    kind: Pick<SweepSettings, 'logistic' | 'narrow' | 'together'>,
    settings: SolverSettings,
  ) {
    this.#threads = threads
    this.#problem = problem
    this.#kind = kind
    this.#settings = settings
  }

  async visit(group: RowGroup, { pass }: Turn): Promise<Seen> {
    const { seed, shrinking, innerPasses, innerTolerance } = this.#settings
    const { loss, gap } = await this.#threads.run(blockSweepsTask, {
      ...this.#kind,
      problem: this.#problem.of(group),
      sweep: group.sweep,
      order: group.order,
      rows: group.rows,
      shrink: shrinking,
      random: [seed, pass, group.group],
      pass,
      innerPasses,
      innerTolerance,
    })
    this.#problem.keep(group)
    return { losses: [loss], gaps: [gap] }
  }
}

export const block: BlockSolver = {
  name: 'block',
  summary: 'block minimisation of the dual, rows read block by block',
  data: 'blocks',
  dual: true,
  cacheShare: 0,
  options: ['innerPasses', 'innerTolerance', 'blockOrder', 'shrinking', 'tolerance'],
  lossNeeds: {
    what: 'a dual (box or entropic)',
    has: loss => loss.box !== undefined || loss.entropicDual === true,
  },
  start: (objective, { threads }, settings) => {
    const { logistic, narrow } = objective
    return new BlockMinimisation(threads, objective, { logistic, narrow }, settings)
  },
  startMany: (objective, source, settings) => new BlockBundleRun(source, objective, settings, 'alone'),
  startAllClasses: (objective, { threads }, settings) =>
    new BlockMinimisation(threads, objective, { logistic: false, narrow: false, together: true }, settings),
}
