// Solver `block`: block minimisation of the dual. Rows are read block by block; each time, the dual is minimised over the
// variables of that block alone, the others fixed:
//
//   min_d  f(α + d)   subject to d_i = 0 outside the block, 0 ≤ α_i + d_i ≤ U_i        w ← w + Σ d_i y_i x_i
//
// Yu, Hsieh, Chang, Lin: Large linear classification when data cannot fit in memory (KDD 2010), Algorithm 2. BLOCK-L-N
// makes N sweeps of coordinate descent over the block (--inner-passes N); BLOCK-L-D sweeps until the projected gradients
// lie within --inner-tolerance of each other, LIBLINEAR's own rule.

import type { BlockProblem } from '../objectives/block-problem.ts'
import type { BlockEngine, LoadedBlock } from '../sources/block-engine.ts'
import { blockSweepsTask } from './block-sweeps-task.ts'
import type { BlockRun, BlockSettings, BlockSolver, VisitReport } from './solver.ts'

class BlockMinimisation implements BlockRun {
  readonly #engine: BlockEngine
  readonly #problem: BlockProblem
  readonly #settings: BlockSettings

  constructor(engine: BlockEngine, problem: BlockProblem, settings: BlockSettings) {
    this.#engine = engine
    this.#problem = problem
    this.#settings = settings
  }

  visit(block: LoadedBlock, pass: number): Promise<VisitReport> {
    const { seed, shrinking, innerPasses, innerTolerance } = this.#settings
    return this.#engine.trainer.run(blockSweepsTask, {
      problem: this.#problem.of(block),
      sweep: block.sweep,
      order: block.order,
      rows: block.rows,
      logistic: this.#problem.settings.loss.entropicDual === true,
      narrow: this.#problem.narrow,
      together: this.#problem.together,
      shrink: shrinking,
      random: [seed, pass, block.group],
      pass,
      innerPasses,
      innerTolerance,
    })
  }
}

export const block: BlockSolver = {
  name: 'block',
  summary: 'block minimisation of the dual, rows read block by block',
  data: 'blocks',
  dual: true,
  cacheShare: 0,
  manyModels: 'alone',
  crammerSinger: true,
  options: ['innerPasses', 'innerTolerance', 'blockOrder', 'shrinking', 'tolerance'],
  lossNeeds: {
    what: 'a dual (box or entropic)',
    has: loss => loss.box !== undefined || loss.entropicDual === true,
  },
  start: (engine, problem, settings) => new BlockMinimisation(engine, problem, settings),
}
