// Dual cached loops, the method of solver `stream`. One loop reads rows and decodes them; another keeps improving the dual over
// the rows that are in memory, the working set. A new row is visited once as it comes; if it may still move it stays, and is
// visited again and again until it has to leave.
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
import { ProblemFields } from '../../numeric/fields/problem.ts'
import { ROW_NORM, SUMS_BYTES, SWEEP_LOWER, SWEEP_RANDOM, SWEEP_UPPER } from '../../numeric/layouts.ts'
import type { ByteCount } from '../../sizes.ts'
import { runLoop } from '../../threads/loop-task.ts'
import type { BinaryObjective } from '../objectives/binary.ts'
import { piecesOf, sumInPieces } from '../objectives/certificate.ts'
import type { BlockEngine } from '../sources/block-engine.ts'
import type { RowGroup } from '../sources/row-source.ts'
import { dualSweepsTask } from './dual-sweeps-task.ts'
import { ParallelSweeps } from './parallel-sweeps.ts'
import type { Account, Ledger, Run, Saved, Seen, SolverSettings, Turn } from './solver.ts'
import { streamEvaluateTask, streamVisitTask } from './stream-task.ts'
import { startSweeps } from './sweeps.ts'
import { type Allocate, type StreamMemory, WorkingSet } from './working-set.ts'

/** The smallest radius of a ledger, for rows of length 1; the largest is 2^14 times that. */
const FIRST_RADIUS = 2 ** -12
/** Nonzeros between two looks at the abort signal. */
const SLICE = 4e6
/** Of the tolerance: how much all blocks that are not read may owe together. */
const SKIPPED_SHARE = 1e-3
/** Sweeps over the working set between two rounds of reading, at most, and when all rows are in memory. */
export const SETTLE_SWEEPS = 4
export const SETTLE_ALONE = 12

/** Of what absent rows owe: how much the working set may owe when it is left for them. */
export const BESIDE_ABSENT = 0.25

/** What is known besides the rows in memory: plain data, for checkpoints have it as it is. */
interface Course {
  /** How far w has moved in all, step by step: between two moments it cannot have come further than the difference. */
  path: number
  /** The path when a block's rows were last met; null when they never were. */
  metAt: (number | null)[]
  /** Over ranks: blocks whose dual variables have been changed since. */
  doubted?: boolean[]
  rounds: number
  /** What the rows that came in this round owed as they were met. */
  met: number
  /** The largest and the smallest projected gradient met in this round: the paper's M₊ and m₋, formula (10). */
  extremes: [number, number]
  /** Beyond which gradients the next sweeps over the working set leave rows out; texts, for JSON knows no infinity. */
  thresholds: string[]
}

/** Where the rows that stay have their room. */
export interface LoopsRooms {
  /** Bytes that somebody else keeps for each row in memory. */
  besides?: ByteCount
  /** Room that somebody else had before, and the bytes of it for rows; else what the plan has for a cache. */
  rooms?: { room: Allocate; bytes: ByteCount }
}

const NO_THRESHOLDS = ['Infinity', '-Infinity']

export class DualCachedLoops implements Run, Ledger, Saved {
  readonly #engine: BlockEngine
  readonly #problem: BinaryObjective
  readonly #settings: SolverSettings
  /** Rows that stay in memory. */
  readonly kept: WorkingSet
  readonly #memory: StreamMemory
  readonly #parallel: ParallelSweeps | undefined
  #course: Course
  readonly ledger: Ledger = this
  readonly saved: Saved = this

  constructor(
    engine: BlockEngine,
    problem: BinaryObjective,
    settings: SolverSettings,
    { besides = 0, rooms }: LoopsRooms = {},
  ) {
    this.#engine = engine
    this.#problem = problem
    this.#settings = settings
    const { arena, plan, store } = engine
    const { rows, blocks } = store.manifest
    const metAt = blocks.map(() => null)
    this.#course = { path: 0, metAt, rounds: 0, met: 0, extremes: [0, 0], thresholds: NO_THRESHOLDS }
    const allRecords = plan.costs.reduce((sum, cost) => sum + cost.bytes, 0)
    const room = rooms?.room ?? ((what, bytes, zeroed) => engine.room(`the working set: ${what}`, bytes, zeroed))
    const forRows = (rooms?.bytes ?? plan.cacheBytes) - plan.slotRows * 12
    this.kept = new WorkingSet(arena, room, {
      ...{ bytes: forRows, mostBytes: allRecords, rows, firstRows: engine.firstRows },
      ...{ recordBytes: allRecords / Math.max(rows, 1), alpha: problem.alpha, alphaStride: problem.alphaStride },
      ...{ weights: problem.weights, biasFeature: problem.weightCount - 1, problem: problem.settings },
      ...{ seed: settings.seed, followed: !problem.narrow, weighted: engine.weighted, besides },
    })
    this.#memory = this.kept.memory(room, plan.slotRows, {
      followed: problem.narrow ? 0 : room('weights as they were', problem.weightCount * 8),
      sums: room('sums', settings.trainers * SUMS_BYTES),
    })
    if (settings.trainers > 1) {
      const shared = {
        ...{ ...problem.sweepKind, problem: this.kept.problem, shrink: settings.shrinking },
        ...{ weights: problem.weights, weightCount: problem.weightCount, stride: problem.alphaStride },
      }
      this.#parallel = new ParallelSweeps(arena, engine.threads, settings.trainers, shared, room)
    }
  }

  adopt(rows: WorkingSet, places: number, features: number, map: number): void {
    this.kept.adopt(rows, places, features, map)
  }

  /** Over ranks: how much further visits move w than their rows ask for. */
  set damping(damping: number) {
    new ProblemFields(this.#engine.arena, this.kept.problem).damping = damping
  }

  /** Rounds of reading so far, and what the rows owed that came in this one. */
  get course(): Readonly<Pick<Course, 'rounds' | 'met'>> {
    return this.#course
  }

  /** Dual variables were changed elsewhere: of rows that are not in memory, the ledger is an estimate until they are met again. */
  doubtAbsent(): void {
    this.#course.doubted = this.#course.metAt.map(() => true)
  }

  rowsKept(): number {
    return this.kept.count
  }

  rowsEvicted(): number {
    return this.kept.evicted
  }

  async visit(block: RowGroup, { pass }: Turn): Promise<Seen> {
    const { seed, innerPasses } = this.#settings
    this.#begin(block)
    const met = await this.#engine.threads.run(streamVisitTask, {
      ...{ memory: this.#memory, of: this.#problem.at(block), pass, budget: innerPasses * block.nonzeros },
      budgetRows: innerPasses * block.rows,
      random: [seed, this.#course.rounds, block.group],
    })
    const course = this.#course
    course.path += met.moved
    course.met += met.gap
    this.#seen(met)
    // Rows were met while w was on its way to where it is followed from.
    const within = met.within * this.#problem.damping
    for (const { block: b } of block.parts) course.metAt[b] = course.path - within
    return { losses: [met.loss], gaps: [met.gap] }
  }

  /** Nothing is known any more of the rows of a block that are not in memory. The radii of the ledger are set once, by the
   *  length of the first rows. */
  #begin(block: RowGroup): void {
    if (this.kept.radius === 0) this.kept.radius = FIRST_RADIUS / typicalLength(this.#engine.arena, block)
    for (const { block: b } of block.parts) {
      this.kept.clearLedger(b)
      if (this.#course.doubted) this.#course.doubted[b] = false
    }
  }

  /** Works on the rows in memory alone; in passes over all nonzeros. An abort waits for its few sweeps: a run that is
   *  resumed must find them done. */
  async settle(target: number, passes: number): Promise<number> {
    const { arena, rows, threads } = this.#engine
    const { problem, sweep, order } = this.#memory
    const course = this.#course
    const count = this.kept.count
    if (count === 0) return 0
    const random = BigInt(this.#settings.seed) + BigInt(course.rounds) * 0x10001n
    startSweeps(arena, { sweep, order, rows: count, random, inner: 1e-6 })
    // What was far from moving at the end of the last round is set aside at its first visit, not at its second.
    arena.setF64(sweep + SWEEP_UPPER, Number(course.thresholds[0]))
    arena.setF64(sweep + SWEEP_LOWER, Number(course.thresholds[1]))
    const sweepWork = arena.numeric.workOf(this.kept.table.byteOffset, count)
    const all = (sweepWork / count) * rows
    // With nobody left to wait for, there is no reason to stop before it is done, but that somebody may want to watch.
    const sweeps = count === rows ? SETTLE_ALONE : SETTLE_SWEEPS
    const most = Math.min(sweeps * sweepWork, passes * all)
    // While rows that are not here owe more, it is they who should come.
    const targetGap = Math.max(target, BESIDE_ABSENT * course.met)
    if (this.#parallel) return (await this.#settleTogether(this.#parallel, targetGap, most, random)) / Math.max(all, 1)
    let [work, ready] = [0, false]
    while (work < most && !ready) {
      const step = await threads.run(dualSweepsTask, {
        ...{ ...this.#problem.sweepKind, problem, sweep, rows: count, shrink: this.#settings.shrinking },
        budget: Math.min(SLICE, Math.max(most - work, 1)),
        targetGap,
      })
      work += step.work
      this.#seen(step)
      ready = step.ready
    }
    // Rows that were set aside wrongly come back when the others are done.
    const found = [arena.getF64(sweep + SWEEP_UPPER), arena.getF64(sweep + SWEEP_LOWER)]
    course.thresholds = ready ? NO_THRESHOLDS : found.map(String)
    return work / Math.max(all, 1)
  }

  /** The same with several trainers; in nonzeros. */
  async #settleTogether(sweeps: ParallelSweeps, targetGap: number, most: number, random: bigint): Promise<number> {
    const { order, sweep } = this.#memory
    const { count } = this.kept
    this.#engine.arena.numeric.shuffle(order, count, sweep + SWEEP_RANDOM)
    await sweeps.start({ order, rows: count, others: count < this.#engine.rows, seed: random, inner: 1e-6 })
    let [work, ready] = [0, false]
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
    const { arena, threads } = this.#engine
    const { set, problem, sums, followed } = this.#memory
    const course = this.#course
    const evaluate = this.#problem.narrow ? 'evaluateF32' : 'evaluateF64'
    const pieces = piecesOf({ rows: this.kept.count, whole: true }, this.#settings.trainers)
    const [loss, dualPart, alphaMargin, right, supporting] = await sumInPieces(arena, sums, pieces, piece =>
      runLoop(threads, evaluate, problem, piece.from, piece.to, piece.sums),
    )
    if (followed) {
      course.path += Math.sqrt(arena.numeric.followWeights(this.#problem.weights, followed, this.#problem.weightCount))
    }
    const inMemory = loss - dualPart + alphaMargin
    let [dual, owed, certain, support, correct] = [dualPart, inMemory, inMemory, supporting, right]
    let exact = true
    for (const [b, met] of course.metAt.entries()) {
      const record = this.kept.ledger(b)
      dual += record.dual
      support += record.support
      correct += record.correct
      owed += met === null ? this.#mostOwed(b) : record.owed[0]
      certain += this.#mostOwed(b)
      if ((met !== course.path || course.doubted?.[b]) && this.kept.lacks(b)) exact = false
    }
    arena.numeric.settleAlpha(set)
    return {
      dual: dual - 0.5 * this.#problem.squaredLengths()[0],
      owed,
      // With narrow weights, w is not quite Σ α y x, and nothing is certain without reading.
      certain: followed ? certain : Number.POSITIVE_INFINITY,
      supportVectors: support,
      correct: exact ? correct : null,
      spread: course.extremes[0] - course.extremes[1],
    }
  }

  /** Blocks that may owe something that matters, those that may owe most first; undefined when that is all of them. */
  owing(allowed: number): number[] | undefined {
    if (allowed > 1e300) return undefined
    const debts = this.#course.metAt.map((_, block) => ({ block, most: this.#mostOwed(block) }))
    const each = (SKIPPED_SHARE * allowed) / Math.max(debts.length, 1)
    const owing = debts.filter(({ most }) => most > each)
    // Where every row matters, it is drawn anew which of them meet.
    if (this.#problem.logistic && owing.length > 0) return undefined
    if (owing.length === debts.length && owing.every(({ most }) => most === Number.POSITIVE_INFINITY)) return undefined
    return owing.sort((a, b) => b.most - a.most || a.block - b.block).map(({ block }) => block)
  }

  /** Looks at the rows of a block that are not in memory, for the certificate: the ledger then knows them exactly. */
  async evaluate(block: RowGroup): Promise<void> {
    this.#begin(block)
    await this.#engine.threads.run(streamEvaluateTask, { memory: this.#memory, of: this.#problem.at(block) })
    for (const { block: b } of block.parts) this.#course.metAt[b] = this.#course.path
  }

  #seen({ highest, lowest }: { highest: number; lowest: number }): void {
    const [most, least] = this.#course.extremes
    this.#course.extremes = [Math.max(most, highest), Math.min(least, lowest)]
  }

  endRound(): void {
    this.#course.rounds++
    this.#course.met = 0
    this.#course.extremes = [0, 0]
  }

  #mostOwed(block: number): number {
    const met = this.#course.metAt[block]
    const isUnknown = met === null || this.#course.doubted?.[block] === true
    if (isUnknown || !this.#memory.followed) return this.kept.lacks(block) ? Number.POSITIVE_INFINITY : 0
    return this.kept.mostOwed(block, this.#course.path - met)
  }

  state(): unknown {
    return { set: this.kept.state(), ...this.#course }
  }

  stretches(): Stretch[] {
    const { followed } = this.#memory
    return [...this.kept.stretches(), ...(followed ? [{ at: followed, bytes: this.#problem.weightCount * 8 }] : [])]
  }

  restore(state: unknown): void {
    const { set, ...course } = structuredClone(state) as Course & { set: Record<string, number | string> }
    this.kept.restore(set)
    this.#course = course
  }

  restored(): void {
    this.kept.restored()
  }
}

/** Length of a row, roughly: by the first thousand of a block. */
function typicalLength(arena: Arena, block: RowGroup): number {
  const table = arena.u32(block.table, Math.min(block.rows, 1000))
  const sum = table.reduce((total, record) => total + arena.getF64(record + ROW_NORM), 0)
  return Math.sqrt(sum / Math.max(table.length, 1)) || 1
}
