// Solver `selective`: selective block minimisation. Like `block`, but half of the memory for rows holds a cache of
// informative rows, kept across blocks; each step minimises the dual over the block and the cache together, then the cache
// is filled anew: rows off their bounds (0 < α < U) first, then rows with a large projected gradient.
//
// Chang, Roth: Selective block minimization for faster convergence of limited memory large-scale linear models (KDD 2011).
import type { BlockEngine, LoadedBlock } from '../training/block-engine.ts'
import type { BlockProblem } from '../training/block-problem.ts'
import type { Stretch } from '../training/checkpoint.ts'
import type { BlockRun, BlockSettings, BlockSolver, VisitReport } from './solver.ts'

/** Where the cache and the union of block and cache are: addresses only, for it crosses to the trainer's thread. */
export interface SelectiveMemory {
  /** Row records of the cache. */
  records: { at: number; bytes: number }
  /** u32[capacity]: the record of each cached row; u32[capacity]: its number in the order of the store. */
  table: number
  rowNumbers: number
  capacity: number
  /** Of the union, room for every row of a block and of the cache. */
  unionTable: number
  unionAlpha: number
  unionOrder: number
  margins: number
  worth: number
  sums: number
}

class SelectiveBlockMinimisation implements BlockRun {
  readonly #engine: BlockEngine
  readonly #problem: BlockProblem
  readonly #settings: BlockSettings
  readonly #memory: SelectiveMemory
  #cached = 0
  #used = 0
  #moved = 0

  constructor(engine: BlockEngine, problem: BlockProblem, settings: BlockSettings) {
    this.#engine = engine
    this.#problem = problem
    this.#settings = settings
    const { plan, store } = engine
    const { rows } = store.manifest
    const stride = problem.alphaStride
    // What a row of the union takes besides its record: table, order, dual variable, margin, worth; and in the cache its
    // record's address and its number.
    const perUnionRow = 4 + 4 + stride + 8 + 8
    const perRecord = plan.recordBytes
    const left = Math.max(0, plan.cacheBytes - plan.slotRows * perUnionRow)
    const capacity = Math.min(rows, Math.floor(left / (perRecord + perUnionRow + 8)))
    const bytes = Math.max(0, Math.floor(Math.min(left - capacity * (perUnionRow + 8), rows * perRecord * 1.2)))
    const union = plan.slotRows + capacity
    const room = (what: string, size: number): number => engine.room(`the cache of rows: ${what}`, size)
    this.#memory = {
      records: { at: room('records', bytes), bytes },
      table: room('table', capacity * 4),
      rowNumbers: room('rowNumbers', capacity * 4),
      capacity,
      unionTable: room('unionTable', union * 4),
      unionAlpha: room('unionAlpha', union * stride),
      unionOrder: room('unionOrder', union * 4),
      margins: room('margins', union * 8),
      worth: room('worth', union * 8),
      sums: room('sums', 16),
    }
  }

  async visit(block: LoadedBlock, pass: number): Promise<VisitReport> {
    const { seed, shrinking, innerPasses, innerTolerance } = this.#settings
    const problem = this.#problem
    const { cached, used, loss, gap } = await this.#engine.trainer.run('selective-visit', {
      problem: problem.of(block),
      sweep: block.sweep,
      block: { table: block.table, alpha: block.alpha, rows: block.rows, parts: block.parts },
      alpha: problem.alpha,
      stride: problem.alphaStride,
      memory: this.#memory,
      cached: this.#cached,
      used: this.#used,
      logistic: problem.settings.loss.entropicDual === true,
      narrow: problem.narrow,
      shrink: shrinking,
      random: [seed, pass, block.group],
      pass,
      innerPasses,
      innerTolerance,
    })
    this.#cached = cached
    this.#used = used
    return { loss, gap }
  }

  state(): unknown {
    return { cached: this.#cached, used: this.#used, base: this.#memory.records.at }
  }

  memory(): Stretch[] {
    const { rowNumbers, table, records } = this.#memory
    return [
      { at: rowNumbers, bytes: this.#cached * 4 },
      { at: table, bytes: this.#cached * 4 },
      { at: records.at, bytes: this.#used },
    ]
  }

  restore(state: unknown): void {
    const { cached, used, base } = state as { cached: number; used: number; base: number }
    this.#cached = cached
    this.#used = used
    this.#moved = this.#memory.records.at - base
  }

  /** The records lie where this run has put its cache, not where the earlier one had it. */
  restored(): void {
    const table = this.#engine.arena.u32(this.#memory.table, this.#cached)
    for (let c = 0; c < table.length; c++) table[c] += this.#moved
    this.#moved = 0
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
  start: (engine, problem, settings) => new SelectiveBlockMinimisation(engine, problem, settings),
}
