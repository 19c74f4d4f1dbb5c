// Solver `stream`: dual cached loops. One loop reads rows and decodes them; another keeps improving the dual over the rows
// that are in memory, the working set. A new row is visited once as it comes; if it may still move it stays, and is visited
// again and again until it has to leave.
//
// Matsushima, Vishwanathan, Smola: Linear support vector machines via dual cached loops (KDD 2012). There the loops run side
// by side at whatever speed they have. Here the trainer makes a fixed amount of visits for each row that is read, so that a
// seed gives the same bits on every machine; reading goes on meanwhile.
//
// Beyond the paper: of rows that are not in memory a ledger keeps, for each block, how much they may owe to the duality gap
// when w has moved by so much since they were met. Blocks that cannot owe anything are not read, neither to train on nor for
// the certificate: rows left because they were far from mattering, and w has to move that far before they do.
import type { Arena } from '../numeric/arena.ts'
import { PROBLEM_BYTES, PROBLEM_GRADIENTS, ROW_BOUND, ROW_NORM, SUMS_BYTES, SWEEP_BYTES } from '../numeric/layouts.ts'
import {
  LEDGER_BYTES,
  LEDGER_CORRECT,
  LEDGER_DUAL,
  LEDGER_OWED,
  LEDGER_RADII,
  LEDGER_SUPPORT,
  WORKING_ALL_ALPHA,
  WORKING_ALPHA,
  WORKING_BLOCKS,
  WORKING_BYTES,
  WORKING_CAPACITY,
  WORKING_COUNT,
  WORKING_EPSILON,
  WORKING_FIRST_ROWS,
  WORKING_GRADIENTS,
  WORKING_LEDGER,
  WORKING_NUMBERS,
  WORKING_RADII,
  WORKING_RADIUS,
  WORKING_RANDOM,
  WORKING_RECORDS,
  WORKING_RESIDENT,
  WORKING_ROOM,
  WORKING_STRIDE,
  WORKING_TABLE,
  WORKING_USED,
} from '../numeric/working-set-layout.ts'
import type { BlockEngine, LoadedBlock } from '../training/block-engine.ts'
import type { BlockProblem } from '../training/block-problem.ts'
import type { Stretch } from '../training/checkpoint.ts'
import { writeProblem } from '../training/problem.ts'
import type { Account, BlockRun, BlockSettings, BlockSolver, VisitReport } from './solver.ts'
import { startSweeps } from './sweeps.ts'

/** As in the paper: rows leave first when their gradient is so far beyond the bound. */
const FIRST_EPSILON = 9
/** The smallest radius of a ledger, for rows of length 1; the largest is 2^14 times that. */
const FIRST_RADIUS = 2 ** -12
/** Nonzeros between two looks at the abort signal. */
const SLICE = 4e6
/** Of the tolerance: how much all blocks that are not read may owe together. */
const SKIPPED_SHARE = 1e-3
/** Sweeps over the working set between two rounds of reading, at most. */
const SETTLE_SWEEPS = 10

/** Addresses of what the trainer's thread works on, besides a block. */
export interface StreamMemory {
  set: number
  problem: number
  sweep: number
  order: number
  /** Of the block at hand: u32 numbers and f64 gradients of its rows. */
  numbers: number
  gradients: number
  /** Weights as they were after the last visit of new rows; 0 when nobody follows them. */
  followed: number
  sums: number
}

class DualCachedLoops implements BlockRun {
  readonly #engine: BlockEngine
  readonly #problem: BlockProblem
  readonly #settings: BlockSettings
  readonly #arena: Arena
  readonly #memory: StreamMemory
  readonly #blocks: number
  readonly #logistic: boolean
  /** How far w has moved in all, step by step: between two moments it cannot have come further than the difference. */
  #path = 0
  /** The path when a block's rows were last met; undefined when they never were. */
  readonly #metAt: (number | undefined)[]
  /** Gap that the working set's sweep is asked for, lowered when a certificate did not hold. */
  #rounds = 0
  #moved = 0
  readonly keepsAlpha = true

  constructor(engine: BlockEngine, problem: BlockProblem, settings: BlockSettings) {
    this.#engine = engine
    this.#problem = problem
    this.#settings = settings
    this.#logistic = problem.settings.loss.entropicDual === true
    const { arena, plan, store } = engine
    this.#arena = arena
    const { rows, nonzeros, blocks } = store.manifest
    this.#blocks = blocks.length
    this.#metAt = new Array(blocks.length).fill(undefined)
    const stride = problem.alphaStride
    // What a row of the working set takes besides its record: table, number, order, dual variable, gradient.
    const perRow = 4 + 4 + 4 + stride + 8
    const perRecord = ROW_BOUND + (8 * nonzeros) / Math.max(rows, 1)
    const left = Math.max(0, plan.cacheBytes - plan.slotRows * 12)
    const capacity = Math.min(rows, Math.floor(left / (perRecord * 0.75 + perRow)))
    const bytes = Math.max(0, Math.min(left - capacity * perRow, allRecords(plan) / 0.89)) & ~7
    const room = (what: string, size: number): number => engine.room(`the working set: ${what}`, size)
    const set = room('itself', WORKING_BYTES)
    const u32 = (offset: number, value: number): void => arena.setU32(set + offset, value)
    u32(WORKING_RECORDS, room('records', bytes))
    u32(WORKING_ROOM, bytes)
    u32(WORKING_CAPACITY, capacity)
    u32(WORKING_TABLE, room('table', capacity * 4))
    u32(WORKING_NUMBERS, room('row numbers', capacity * 4))
    u32(WORKING_ALPHA, room('dual variables', capacity * stride))
    u32(WORKING_STRIDE, stride)
    u32(WORKING_GRADIENTS, room('gradients', capacity * 8))
    u32(WORKING_RESIDENT, room('who is here', Math.ceil(rows / 8)))
    u32(WORKING_ALL_ALPHA, problem.alpha)
    u32(WORKING_LEDGER, room('ledger', blocks.length * LEDGER_BYTES))
    const firsts = room('first rows', (blocks.length + 1) * 4)
    arena.u32(firsts, blocks.length + 1).set([...engine.firstRows, rows])
    u32(WORKING_FIRST_ROWS, firsts)
    u32(WORKING_BLOCKS, blocks.length)
    // Far rows of the logistic loss owe a little at any distance: there is nothing to gain by following them.
    u32(WORKING_RADII, this.#logistic ? 1 : LEDGER_RADII)
    arena.setF64(set + WORKING_EPSILON, FIRST_EPSILON)
    arena.u64(set + WORKING_RANDOM, 1)[0] = BigInt(settings.seed)
    this.#memory = {
      set,
      problem: room('problem', PROBLEM_BYTES),
      sweep: room('sweep', SWEEP_BYTES),
      order: room('order', capacity * 4),
      numbers: room('numbers of a block', plan.slotRows * 4),
      gradients: room('gradients of a block', plan.slotRows * 8),
      followed: problem.narrow ? 0 : room('weights as they were', problem.weightCount * 8),
      sums: room('sums', SUMS_BYTES),
    }
    writeProblem(arena, this.#memory.problem, problem.settings, {
      table: arena.getU32(set + WORKING_TABLE),
      rows: 0,
      alpha: arena.getU32(set + WORKING_ALPHA),
      weights: problem.weights,
      biasFeature: problem.weightCount - 1,
    })
    arena.setU32(this.#memory.problem + PROBLEM_GRADIENTS, arena.getU32(set + WORKING_GRADIENTS))
  }

  get #count(): number {
    return this.#arena.getU32(this.#memory.set + WORKING_COUNT)
  }

  async visit(block: LoadedBlock, pass: number): Promise<VisitReport> {
    const { seed, innerPasses } = this.#settings
    const arena = this.#arena
    if (arena.getF64(this.#memory.set + WORKING_RADIUS) === 0) {
      arena.setF64(this.#memory.set + WORKING_RADIUS, FIRST_RADIUS / typicalLength(arena, block))
    }
    for (const { block: b } of block.parts) this.#forget(b)
    const met = await this.#engine.trainer.run('stream-visit', {
      memory: this.#memory,
      problem: this.#problem.of(block),
      sweep: block.sweep,
      order: block.order,
      alpha: block.alpha,
      parts: block.parts,
      weights: this.#problem.weights,
      weightCount: this.#problem.weightCount,
      logistic: this.#logistic,
      narrow: this.#problem.narrow,
      random: [seed, this.#rounds, block.group],
      pass,
      budget: innerPasses * block.nonzeros,
    })
    this.#path += met.moved
    // Rows were met while w was on its way to where it is followed from.
    for (const { block: b } of block.parts) this.#metAt[b] = this.#path - met.within
    return { loss: met.loss, gap: met.gap }
  }

  /** Works on the rows in memory alone; in passes over all nonzeros. */
  async settle(target: number, signal?: AbortSignal): Promise<number> {
    const arena = this.#arena
    const { problem, sweep, order } = this.#memory
    const count = this.#count
    if (count === 0) return 0
    startSweeps(arena, sweep, order, count, BigInt(this.#settings.seed) + BigInt(this.#rounds) * 0x10001n, 1e-6)
    const all = this.#engine.store.manifest.nonzeros + 4 * this.#engine.store.manifest.rows
    const sweepWork = arena.numeric.workOf(arena.getU32(this.#memory.set + WORKING_TABLE), count)
    const most = SETTLE_SWEEPS * sweepWork
    let work = 0
    while (work < most && !signal?.aborted) {
      const step = await this.#engine.trainer.run('dual-sweeps', {
        problem,
        sweep,
        rows: count,
        logistic: this.#logistic,
        narrow: this.#problem.narrow,
        shrink: this.#settings.shrinking,
        budget: Math.min(SLICE, Math.max(most - work, 1)),
        targetGap: target,
      })
      work += step.work
      if (step.ready) break
    }
    return work / Math.max(all, 1)
  }

  /** What is known of all rows: those in memory are looked at, for the others there is the ledger. */
  async account(): Promise<Account> {
    const arena = this.#arena
    const { set, problem, sums, followed } = this.#memory
    const count = this.#count
    await this.#engine.trainer.run('evaluate-rows', {
      problem,
      narrow: this.#problem.narrow,
      from: 0,
      to: count,
      sums,
    })
    const [loss, dualPart, alphaMargin, right, supporting] = arena.f64(sums, SUMS_BYTES / 8)
    if (followed) {
      this.#path += Math.sqrt(arena.numeric.followWeights(this.#problem.weights, followed, this.#problem.weightCount))
    }
    const inMemory = loss - dualPart + alphaMargin
    let [dual, owed, certain, support, correct] = [dualPart, inMemory, inMemory, supporting, right]
    let exact = true
    for (let b = 0; b < this.#blocks; b++) {
      const record = this.#ledger(b)
      dual += record[LEDGER_DUAL / 8]
      support += record[LEDGER_SUPPORT / 8]
      correct += record[LEDGER_CORRECT / 8]
      owed += this.#metAt[b] === undefined ? Number.POSITIVE_INFINITY : record[LEDGER_OWED / 8]
      certain += this.#mostOwed(b)
      if (this.#metAt[b] !== this.#path && this.#absentOf(b)) exact = false
    }
    arena.numeric.settleAlpha(set)
    return {
      dual: dual - 0.5 * this.#problem.squaredLength(),
      owed,
      // With narrow weights, w is not quite Σ α y x, and nothing is certain without reading.
      certain: followed ? certain : Number.POSITIVE_INFINITY,
      supportVectors: support,
      correct: exact ? correct : null,
    }
  }

  /** Blocks that may owe something that matters, those that may owe most first; undefined when that is all of them. */
  owing(allowed: number): number[] | undefined {
    const each = (SKIPPED_SHARE * allowed) / Math.max(this.#blocks, 1)
    const debts = Array.from({ length: this.#blocks }, (_, block) => ({ block, most: this.#mostOwed(block) }))
    const owing = debts.filter(({ most }) => most > each)
    if (owing.length === this.#blocks && owing.every(({ most }) => most === Number.POSITIVE_INFINITY)) return undefined
    return owing.sort((a, b) => b.most - a.most || a.block - b.block).map(({ block }) => block)
  }

  /** Looks at the rows of a block that are not in memory, for the certificate: the ledger then knows them exactly. */
  async evaluate(block: LoadedBlock): Promise<void> {
    for (const { block: b } of block.parts) this.#forget(b)
    await this.#engine.trainer.run('stream-evaluate', {
      memory: this.#memory,
      problem: this.#problem.of(block),
      order: block.order,
      table: block.table,
      alpha: block.alpha,
      stride: this.#problem.alphaStride,
      parts: block.parts,
      narrow: this.#problem.narrow,
    })
    for (const { block: b } of block.parts) this.#metAt[b] = this.#path
  }

  endRound(): void {
    this.#rounds++
  }

  /** Whether a block has rows that are not in memory. */
  #absentOf(block: number): boolean {
    const bits = this.#arena.bytes(
      this.#arena.getU32(this.#memory.set + WORKING_RESIDENT),
      Math.ceil(this.#engine.store.manifest.rows / 8),
    )
    const first = this.#engine.firstRows[block]
    const end = first + this.#engine.store.manifest.blocks[block].rows
    for (let row = first; row < end; row++) if (!(bits[row >> 3] & (1 << (row & 7)))) return true
    return false
  }

  #ledger(block: number): Float64Array {
    const at = this.#arena.getU32(this.#memory.set + WORKING_LEDGER) + block * LEDGER_BYTES
    return this.#arena.f64(at, LEDGER_BYTES / 8)
  }

  #forget(block: number): void {
    this.#ledger(block).fill(0)
  }

  /** The most that a block's absent rows can owe now. What they owe is convex in how far w has moved, so between two
   *  radii of the ledger the straight line is above it. */
  #mostOwed(block: number): number {
    const met = this.#metAt[block]
    if (met === undefined) return Number.POSITIVE_INFINITY
    const distance = this.#path - met
    const owed = this.#ledger(block).subarray(LEDGER_OWED / 8, LEDGER_OWED / 8 + LEDGER_RADII)
    if (distance === 0) return owed[0]
    const radii = this.#arena.getU32(this.#memory.set + WORKING_RADII)
    let below = 0
    let radius = this.#arena.getF64(this.#memory.set + WORKING_RADIUS)
    for (let k = 1; k < radii; k++) {
      if (distance <= radius) {
        return owed[k - 1] + ((owed[k] - owed[k - 1]) * (distance - below)) / (radius - below)
      }
      below = radius
      radius *= 2
    }
    return this.#absentOf(block) ? Number.POSITIVE_INFINITY : 0
  }

  state(): unknown {
    const { set } = this.#memory
    return {
      count: this.#count,
      used: this.#arena.getU32(set + WORKING_USED),
      base: this.#arena.getU32(set + WORKING_RECORDS),
      epsilon: this.#arena.getF64(set + WORKING_EPSILON),
      radius: this.#arena.getF64(set + WORKING_RADIUS),
      random: String(this.#arena.u64(set + WORKING_RANDOM, 1)[0]),
      path: this.#path,
      metAt: this.#metAt.map(met => met ?? null),
      rounds: this.#rounds,
    }
  }

  memory(): Stretch[] {
    const arena = this.#arena
    const { set, followed } = this.#memory
    arena.numeric.settleAlpha(set)
    const count = this.#count
    const part = (offset: number, bytes: number): Stretch => ({ at: arena.getU32(set + offset), bytes })
    return [
      part(WORKING_NUMBERS, count * 4),
      part(WORKING_TABLE, count * 4),
      part(WORKING_ALPHA, count * this.#problem.alphaStride),
      part(WORKING_GRADIENTS, count * 8),
      part(WORKING_RECORDS, arena.getU32(set + WORKING_USED)),
      part(WORKING_LEDGER, this.#blocks * LEDGER_BYTES),
      ...(followed ? [{ at: followed, bytes: this.#problem.weightCount * 8 }] : []),
    ]
  }

  restore(state: unknown): void {
    const from = state as {
      [name in 'count' | 'used' | 'base' | 'epsilon' | 'radius' | 'path' | 'rounds']: number
    } & { random: string; metAt: (number | null)[] }
    const { set } = this.#memory
    this.#arena.setU32(set + WORKING_COUNT, from.count)
    this.#arena.setU32(set + WORKING_USED, from.used)
    this.#arena.setF64(set + WORKING_EPSILON, from.epsilon)
    this.#arena.setF64(set + WORKING_RADIUS, from.radius)
    this.#arena.u64(set + WORKING_RANDOM, 1)[0] = BigInt(from.random)
    this.#path = from.path
    this.#rounds = from.rounds
    from.metAt.forEach((met, b) => {
      this.#metAt[b] = met ?? undefined
    })
    this.#moved = this.#arena.getU32(set + WORKING_RECORDS) - from.base
  }

  restored(): void {
    const { set } = this.#memory
    const table = this.#arena.u32(this.#arena.getU32(set + WORKING_TABLE), this.#count)
    // The records lie where this run has its working set, not where the earlier one had it.
    for (let k = 0; k < table.length; k++) table[k] += this.#moved
    const bits = this.#arena.bytes(
      this.#arena.getU32(set + WORKING_RESIDENT),
      Math.ceil(this.#engine.store.manifest.rows / 8),
    )
    bits.fill(0)
    const numbers = this.#arena.u32(this.#arena.getU32(set + WORKING_NUMBERS), this.#count)
    for (const number of numbers) bits[number >> 3] |= 1 << (number & 7)
  }
}

/** Bytes of all records, were they in memory together. */
function allRecords(plan: { costs: { bytes: number }[] }): number {
  return plan.costs.reduce((sum, cost) => sum + cost.bytes, 0)
}

/** Length of a row, roughly: by the first thousand of a block. */
function typicalLength(arena: Arena, block: LoadedBlock): number {
  const table = arena.u32(block.table, Math.min(block.rows, 1000))
  const sum = table.reduce((total, record) => total + arena.getF64(record + ROW_NORM), 0)
  return Math.sqrt(sum / Math.max(table.length, 1)) || 1
}

export const stream: BlockSolver = {
  name: 'stream',
  summary: 'dual cached loops: trains on the rows in memory while others are read',
  data: 'blocks',
  dual: true,
  cacheShare: 0.75,
  extra: { perWeight: 8, perRow: 1 / 8 },
  options: ['innerPasses', 'blockOrder', 'shrinking', 'tolerance'],
  lossNeeds: {
    what: 'a dual (box or entropic)',
    has: loss => loss.box !== undefined || loss.entropicDual === true,
  },
  start: (engine, problem, settings) => new DualCachedLoops(engine, problem, settings),
}
