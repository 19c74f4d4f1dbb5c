// Solver `selective`: selective block minimisation. Like `block`, but half of the memory for rows holds a cache of
// informative rows, kept across blocks; each step minimises the dual over the block and the cache together, then the cache
// is filled anew: rows off their bounds (0 < α < U) first, then rows with a large projected gradient.
//
// Chang, Roth: Selective block minimization for faster convergence of limited memory large-scale linear models (KDD 2011).

import type { BinaryObjective } from '../objectives/binary.ts'
import type { BlockEngine } from '../sources/block-engine.ts'
import type { RowGroup } from '../sources/row-source.ts'
import { BlockBundleRun } from './block-bundle-run.ts'
import { type CacheMemory, RowCache } from './row-cache.ts'
import { selectiveVisitTask } from './selective-task.ts'
import type { BlockSolver, Run, Saved, Seen, SolverSettings, Turn } from './solver.ts'

/** The cache, and what else is kept for each row of the union: addresses only. */
export interface SelectiveMemory {
  cache: CacheMemory
  margins: number
  sums: number
}

class SelectiveBlockMinimisation implements Run {
  readonly #engine: BlockEngine
  readonly #problem: BinaryObjective
  readonly #settings: SolverSettings
  readonly #cache: RowCache
  readonly #memory: SelectiveMemory
  readonly saved: Saved

  constructor(engine: BlockEngine, problem: BinaryObjective, settings: SolverSettings) {
    this.#engine = engine
    this.#problem = problem
    this.#settings = settings
    this.#cache = new RowCache(engine, problem.alphaStride, 8)
    this.#memory = {
      cache: this.#cache.memory,
      margins: this.#cache.room('margins', this.#cache.union * 8),
      sums: this.#cache.room('sums', 16),
    }
    this.saved = this.#cache
  }

  rowsKept(): number {
    return this.#cache.fill.cached
  }

  async visit(block: RowGroup, { pass }: Turn): Promise<Seen> {
    const { seed, shrinking, innerPasses, innerTolerance } = this.#settings
    const problem = this.#problem
    const { cached, used, loss, gap } = await this.#engine.threads.run(selectiveVisitTask, {
      problem: problem.of(block),
      sweep: block.sweep,
      block: { table: block.table, alpha: block.alpha, rows: block.rows, parts: block.parts },
      alpha: problem.alpha,
      stride: problem.alphaStride,
      memory: this.#memory,
      cached: this.#cache.fill.cached,
      logistic: problem.logistic,
      narrow: problem.narrow,
      shrink: shrinking,
      random: [seed, pass, block.group],
      pass,
      innerPasses,
      innerTolerance,
    })
    this.#cache.fill = { cached, used }
    problem.keep(block)
    return { losses: [loss], gaps: [gap] }
  }
}

export const selective: BlockSolver = {
  name: 'selective',
  summary: 'block minimisation with a cache of informative rows',
  data: 'blocks',
  dual: true,
  cacheShare: 0.5,
  options: ['innerPasses', 'innerTolerance', 'blockOrder', 'shrinking', 'tolerance'],
  lossNeeds: {
    what: 'a dual (box or entropic)',
    has: loss => loss.box !== undefined || loss.entropicDual === true,
  },
  start: (objective, source, settings) => new SelectiveBlockMinimisation(source, objective, settings),
  startMany: (objective, source, settings) => new BlockBundleRun(source, objective, settings, 'among'),
}
