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

import type { Stretch } from '../../block-store/checkpoint.ts'
import type { Arena } from '../../numeric/arena.ts'
import { ROW_NORM, SUMS_BYTES, SWEEP_LOWER, SWEEP_RANDOM, SWEEP_UPPER } from '../../numeric/layouts.ts'
import { LEDGER_CORRECT, LEDGER_DUAL, LEDGER_OWED, LEDGER_SUPPORT } from '../../numeric/working-set-layout.ts'
import { runLoop } from '../../threads/loop-task.ts'
import type { BinaryObjective } from '../objectives/binary.ts'
import type { BlockEngine } from '../sources/block-engine.ts'
import type { RowGroup } from '../sources/row-source.ts'
import { blockBundleRun } from './block-bundle-run.ts'
import { ParallelSweeps } from './parallel-sweeps.ts'
import {
  type Account,
  anyDual,
  type BlockSolver,
  type Ledger,
  type Run,
  type Saved,
  type Seen,
  type SolverSettings,
  type Turn,
} from './solver.ts'
import { streamEvaluateTask, streamVisitTask } from './stream-task.ts'
import { dualSweepsTask, startSweeps } from './sweeps.ts'
import { type StreamMemory, WorkingSet } from './working-set.ts'

/** The smallest radius of a ledger, for rows of length 1; the largest is 2^14 times that. */
const FIRST_RADIUS = 2 ** -12
/** Nonzeros between two looks at the abort signal. */
const SLICE = 4e6
/** Of the tolerance: how much all blocks that are not read may owe together. */
const SKIPPED_SHARE = 1e-3
/** Sweeps over the working set between two rounds of reading, at most, and when all rows are in memory. */
const SETTLE_SWEEPS = 4
const SETTLE_ALONE = 12

/** Of what absent rows owe: how much the working set may owe when it is left for them. */
const BESIDE_ABSENT = 0.25

class DualCachedLoops implements Run, Ledger, Saved {
  readonly #engine: BlockEngine
  readonly #problem: BinaryObjective
  readonly #settings: SolverSettings
  readonly #arena: Arena
  readonly #set: WorkingSet
  readonly #memory: StreamMemory
  readonly #blocks: number
  readonly #logistic: boolean
  /** How far w has moved in all, step by step: between two moments it cannot have come further than the difference. */
  #path = 0
  /** The path when a block's rows were last met; undefined when they never were. */
  readonly #metAt: (number | undefined)[]
  #rounds = 0
  /** What the rows that came in this round owed as they were met. */
  #met = 0
  /** The largest and the smallest projected gradient met in this round: the paper's M₊ and m₋, formula (10). */
  #highest = 0
  #lowest = 0
  readonly #parallel: ParallelSweeps | undefined
  #thresholds: [number, number] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  readonly ledger: Ledger = this
  readonly saved: Saved = this

  constructor(engine: BlockEngine, problem: BinaryObjective, settings: SolverSettings) {
    this.#engine = engine
    this.#problem = problem
    this.#settings = settings
    this.#logistic = problem.logistic
    const { arena, plan, store } = engine
    this.#arena = arena
    const { rows, blocks } = store.manifest
    const allRecords = plan.costs.reduce((sum, cost) => sum + cost.bytes, 0)
    this.#blocks = blocks.length
    this.#metAt = new Array(blocks.length).fill(undefined)
    const room = (what: string, bytes: number, zeroed?: boolean): number =>
      engine.room(`the working set: ${what}`, bytes, zeroed)
    this.#set = new WorkingSet(arena, room, {
      bytes: plan.cacheBytes - plan.slotRows * 12,
      mostBytes: allRecords,
      rows,
      recordBytes: allRecords / Math.max(rows, 1),
      firstRows: engine.firstRows,
      alpha: problem.alpha,
      alphaStride: problem.alphaStride,
      weights: problem.weights,
      biasFeature: problem.weightCount - 1,
      problem: problem.settings,
      seed: settings.seed,
      followed: !problem.narrow,
    })
    this.#memory = this.#set.memory(room, plan.slotRows, {
      followed: problem.narrow ? 0 : room('weights as they were', problem.weightCount * 8),
      sums: room('sums', settings.trainers * SUMS_BYTES),
    })
    if (settings.trainers > 1) {
      const shared = {
        ...{ ...problem.sweepKind, problem: this.#set.problem, shrink: settings.shrinking },
        ...{ weights: problem.weights, weightCount: problem.weightCount, stride: problem.alphaStride },
      }
      this.#parallel = new ParallelSweeps(arena, engine.threads, settings.trainers, shared, room)
    }
  }

  adopt(rows: WorkingSet, places: number, features: number, map: number): void {
    this.#set.adopt(rows, places, features, map)
  }

  rowsKept(): number {
    return this.#set.count
  }

  async visit(block: RowGroup, { pass }: Turn): Promise<Seen> {
    const { seed, innerPasses } = this.#settings
    this.#setRadius(block)
    for (const { block: b } of block.parts) this.#set.ledger(b).fill(0)
    const met = await this.#engine.threads.run(streamVisitTask, {
      ...{ memory: this.#memory, of: this.#problem.at(block), pass, budget: innerPasses * block.nonzeros },
      random: [seed, this.#rounds, block.group],
    })
    this.#path += met.moved
    this.#met += met.gap
    this.#seen(met)
    // Rows were met while w was on its way to where it is followed from.
    for (const { block: b } of block.parts) this.#metAt[b] = this.#path - met.within
    return { losses: [met.loss], gaps: [met.gap] }
  }

  /** The radii of the ledger are set once, by the length of the first rows. */
  #setRadius(block: RowGroup): void {
    if (this.#set.radius === 0) this.#set.radius = FIRST_RADIUS / typicalLength(this.#arena, block)
  }

  /** Works on the rows in memory alone; in passes over all nonzeros. An abort waits for its few sweeps: a run that is
   *  resumed must find them done. */
  async settle(target: number, passes: number): Promise<number> {
    const arena = this.#arena
    const { problem, sweep, order } = this.#memory
    const count = this.#set.count
    if (count === 0) return 0
    const random = BigInt(this.#settings.seed) + BigInt(this.#rounds) * 0x10001n
    startSweeps(arena, { sweep, order, rows: count, random, inner: 1e-6 })
    // What was far from moving at the end of the last round is set aside at its first visit, not at its second.
    arena.setF64(sweep + SWEEP_UPPER, this.#thresholds[0])
    arena.setF64(sweep + SWEEP_LOWER, this.#thresholds[1])
    const sweepWork = arena.numeric.workOf(this.#set.table.byteOffset, count)
    const all = (sweepWork / count) * this.#engine.store.manifest.rows
    // With nobody left to wait for, there is no reason to stop before it is done, but that somebody may want to watch.
    const sweeps = count === this.#engine.store.manifest.rows ? SETTLE_ALONE : SETTLE_SWEEPS
    const most = Math.min(sweeps * sweepWork, passes * all)
    // While rows that are not here owe more, it is they who should come.
    const targetGap = Math.max(target, BESIDE_ABSENT * this.#met)
    if (this.#parallel) return (await this.#settleTogether(this.#parallel, targetGap, most, random)) / Math.max(all, 1)
    let work = 0
    let ready = false
    while (work < most) {
      const step = await this.#engine.threads.run(dualSweepsTask, {
        ...{ ...this.#problem.sweepKind, problem, sweep, rows: count, shrink: this.#settings.shrinking },
        budget: Math.min(SLICE, Math.max(most - work, 1)),
        targetGap,
      })
      work += step.work
      this.#seen(step)
      ready = step.ready
      if (ready) break
    }
    // Rows that were set aside wrongly come back when the others are done.
    this.#thresholds = ready
      ? [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
      : [arena.getF64(sweep + SWEEP_UPPER), arena.getF64(sweep + SWEEP_LOWER)]
    return work / Math.max(all, 1)
  }

  /** The same with several trainers; in nonzeros. */
  async #settleTogether(sweeps: ParallelSweeps, targetGap: number, most: number, random: bigint): Promise<number> {
    const { order, sweep } = this.#memory
    const { count } = this.#set
    this.#arena.numeric.shuffle(order, count, sweep + SWEEP_RANDOM)
    const others = count < this.#engine.store.manifest.rows
    await sweeps.start(order, count, others, random)
    let work = 0
    let ready = false
    while (work < most && !ready) {
      work += await sweeps.sweep(targetGap)
      this.#seen(sweeps)
      ready = sweeps.gap <= targetGap
    }
    await sweeps.finish(ready)
    return work
  }

  /** What is known of all rows: those in memory are looked at, for the others there is the ledger. */
  async account(): Promise<Account> {
    const arena = this.#arena
    const { set, problem, sums, followed } = this.#memory
    const { count } = this.#set
    const { trainers } = this.#settings
    const evaluate = this.#problem.narrow ? 'evaluateF32' : 'evaluateF64'
    const cut = (k: number): number => Math.floor((count * k) / trainers)
    await Promise.all(
      Array.from({ length: trainers }, (_, k) =>
        runLoop(this.#engine.threads, evaluate, problem, cut(k), cut(k + 1), sums + k * SUMS_BYTES),
      ),
    )
    const parts = arena.f64(sums, (trainers * SUMS_BYTES) / 8)
    const [loss, dualPart, alphaMargin, right, supporting] = Array.from({ length: SUMS_BYTES / 8 }, (_, sum) =>
      parts.reduce((total, part, at) => (at % (SUMS_BYTES / 8) === sum ? total + part : total), 0),
    )
    if (followed) {
      this.#path += Math.sqrt(arena.numeric.followWeights(this.#problem.weights, followed, this.#problem.weightCount))
    }
    const inMemory = loss - dualPart + alphaMargin
    let [dual, owed, certain, support, correct] = [dualPart, inMemory, inMemory, supporting, right]
    let exact = true
    for (let b = 0; b < this.#blocks; b++) {
      const record = this.#set.ledger(b)
      dual += record[LEDGER_DUAL / 8]
      support += record[LEDGER_SUPPORT / 8]
      correct += record[LEDGER_CORRECT / 8]
      owed += this.#metAt[b] === undefined ? this.#mostOwed(b) : record[LEDGER_OWED / 8]
      certain += this.#mostOwed(b)
      if (this.#metAt[b] !== this.#path && this.#set.lacks(b)) exact = false
    }
    arena.numeric.settleAlpha(set)
    return {
      dual: dual - 0.5 * this.#problem.squaredLengths()[0],
      owed,
      // With narrow weights, w is not quite Σ α y x, and nothing is certain without reading.
      certain: followed ? certain : Number.POSITIVE_INFINITY,
      supportVectors: support,
      correct: exact ? correct : null,
      spread: this.#highest - this.#lowest,
    }
  }

  /** Blocks that may owe something that matters, those that may owe most first; undefined when that is all of them. */
  owing(allowed: number): number[] | undefined {
    if (allowed > 1e300) return undefined
    const each = (SKIPPED_SHARE * allowed) / Math.max(this.#blocks, 1)
    const debts = Array.from({ length: this.#blocks }, (_, block) => ({ block, most: this.#mostOwed(block) }))
    const owing = debts.filter(({ most }) => most > each)
    // Where every row matters, it is drawn anew which of them meet.
    if (this.#logistic && owing.length > 0) return undefined
    if (owing.length === this.#blocks && owing.every(({ most }) => most === Number.POSITIVE_INFINITY)) return undefined
    return owing.sort((a, b) => b.most - a.most || a.block - b.block).map(({ block }) => block)
  }

  /** Looks at the rows of a block that are not in memory, for the certificate: the ledger then knows them exactly. */
  async evaluate(block: RowGroup): Promise<void> {
    this.#setRadius(block)
    for (const { block: b } of block.parts) this.#set.ledger(b).fill(0)
    await this.#engine.threads.run(streamEvaluateTask, { memory: this.#memory, of: this.#problem.at(block) })
    for (const { block: b } of block.parts) this.#metAt[b] = this.#path
  }

  #seen({ highest, lowest }: { highest: number; lowest: number }): void {
    this.#highest = Math.max(this.#highest, highest)
    this.#lowest = Math.min(this.#lowest, lowest)
  }

  endRound(): void {
    this.#rounds++
    this.#met = 0
    this.#highest = 0
    this.#lowest = 0
  }

  #mostOwed(block: number): number {
    const met = this.#metAt[block]
    if (met === undefined || !this.#memory.followed) return this.#set.lacks(block) ? Number.POSITIVE_INFINITY : 0
    return this.#set.mostOwed(block, this.#path - met)
  }

  state(): unknown {
    return {
      set: this.#set.state(),
      path: this.#path,
      metAt: this.#metAt.map(met => met ?? null),
      rounds: this.#rounds,
      met: this.#met,
      extremes: [this.#highest, this.#lowest],
      thresholds: this.#thresholds.map(String),
    }
  }

  stretches(): Stretch[] {
    const { followed } = this.#memory
    return [...this.#set.stretches(), ...(followed ? [{ at: followed, bytes: this.#problem.weightCount * 8 }] : [])]
  }

  restore(state: unknown): void {
    const from = state as {
      set: Record<string, number | string>
      path: number
      metAt: (number | null)[]
      rounds: number
      met: number
      extremes: number[]
      thresholds: string[]
    }
    this.#set.restore(from.set)
    this.#path = from.path
    this.#rounds = from.rounds
    this.#met = from.met
    this.#highest = from.extremes[0]
    this.#lowest = from.extremes[1]
    this.#thresholds = [Number(from.thresholds[0]), Number(from.thresholds[1])]
    from.metAt.forEach((met, b) => {
      this.#metAt[b] = met ?? undefined
    })
  }

  restored(): void {
    this.#set.restored()
  }
}

/** Length of a row, roughly: by the first thousand of a block. */
function typicalLength(arena: Arena, block: RowGroup): number {
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
  defaultInnerPasses: 1,
  firstPass: true,
  severalTrainers: true,
  options: ['innerPasses', 'blockOrder', 'shrinking', 'tolerance', 'gradientTolerance'],
  lossNeeds: anyDual,
  start: (objective, source, settings) => new DualCachedLoops(source, objective, settings),
  startMany: (objective, source, settings) => blockBundleRun(source, objective, settings, 'in-turns'),
}
