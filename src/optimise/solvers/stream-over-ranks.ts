// Solver `stream` over ranks: each rank has the rows of its own store, and its own rows in memory. See cached-loops.ts for what a rank
// does by itself, and over-ranks.ts for how ranks put together what they learn.
//
//   a pass    each rank reads its blocks and visits rows, new ones and those in memory, with the damping σ; then ranks meet
//   settling  the rows in memory of all ranks are trained on as `dual` has it: damped sweeps, meetings, and a step together
//
// The ledger of a rank holds for w as all ranks know it: its path is followed through meetings, too. It holds for dual variables as they
// are. Where ranks go less far than all of what they found, absent rows have other dual variables than they left with: the ledger is
// an estimate then, until they are read again. The certificate is the sum of all ranks' accounts.
import type { Stretch } from '../../block-store/checkpoint.ts'
import { alone, type Communicator } from '../../ranks/communicator.ts'
import { maxNumbers, sumNumbers } from '../../ranks/records.ts'
import type { Address } from '../../sizes.ts'
import type { BinaryObjective } from '../objectives/binary.ts'
import type { BlockEngine } from '../sources/block-engine.ts'
import type { RowGroup } from '../sources/row-source.ts'
import { BESIDE_ABSENT, DualCachedLoops, SETTLE_ALONE, SETTLE_SWEEPS } from './cached-loops.ts'
import { BYTES_OVER_RANKS, FreeRows } from './free-rows.ts'
import { KeptRows } from './kept-rows.ts'
import { RanksTogether, type TogetherState } from './over-ranks.ts'
import { isLittle, RankSweeps } from './rank-sweeps.ts'
import type { Account, Ledger, Run, Saved, Seen, SolverSettings, Start, Turn } from './solver.ts'

/** Bytes for each weight and row besides: what a pass began with, and the diagonal of the dual. What is kept for rows in memory is a
 *  part of the working set. */
export const STREAM_BYTES_OVER_RANKS = { perWeight: 8 + BYTES_OVER_RANKS.perWeight, perRow: 16 + 8 }

/** Where a round of sweeps at the same time leaves more than such a share of what rows owed, ranks go one after the other. */
const SLOW = 0.8

/** Of sweeps over the rows in memory: work, in passes over them, and what they owed. */
interface Swept {
  work: number
  gap: number
}

interface State {
  loops: unknown
  all: TogetherState
  kept: TogetherState
  holding: number
  inTurns: boolean
}

class LoopsOverRanks implements Run, Ledger, Saved {
  readonly #engine: BlockEngine
  readonly #objective: BinaryObjective
  readonly #settings: SolverSettings
  readonly #ranks: Communicator
  readonly #loops: DualCachedLoops
  readonly #together: RanksTogether
  /** Of each row, in the order of the store: see listDiagonals. 0 for the entropic dual. */
  readonly #diagonals: Address
  /** The same of the rows in memory alone. */
  readonly #kept: KeptRows
  readonly #keptObjective: BinaryObjective
  readonly #keptTogether: RanksTogether
  readonly #free: FreeRows
  /** Whether ranks sweep one after the other. */
  #inTurns = false
  readonly ledger: Ledger = this
  readonly saved: Saved = this

  constructor(engine: BlockEngine, objective: BinaryObjective, settings: SolverSettings) {
    const { ranks = alone, seed } = settings
    this.#engine = engine
    this.#objective = objective
    this.#settings = settings
    this.#ranks = ranks
    this.#loops = new DualCachedLoops(engine, objective, settings, { besides: BYTES_OVER_RANKS.perRow })
    this.#together = new RanksTogether(objective, engine, ranks)
    this.#diagonals = objective.logistic ? 0 : engine.room('diagonals of rows', Math.max(1, engine.rows) * 8)
    this.#kept = new KeptRows(engine, this.#loops.kept)
    this.#keptObjective = this.#kept.objective(objective)
    this.#keptTogether = new RanksTogether(this.#keptObjective, this.#kept, ranks)
    const order = { seed, blockOrder: 'fixed' as const }
    this.#free = new FreeRows(this.#keptObjective, this.#kept, { ranks, order, together: this.#keptTogether })
  }

  async visit(group: RowGroup, turn: Turn): Promise<Seen> {
    this.#together.begin()
    this.#loops.damping = this.#objective.damping
    const seen = await this.#loops.visit(group, turn)
    if (this.#diagonals) this.#listDiagonals(group)
    return seen
  }

  #listDiagonals({ problem, parts }: RowGroup): void {
    let done = 0
    for (const { rows, firstRow } of parts) {
      const list = this.#diagonals + (firstRow - done) * 8
      this.#engine.arena.numeric.listDiagonals(problem, done, done + rows, list)
      done += rows
    }
  }

  async meet(): Promise<number> {
    const { kept } = this.#loops
    kept.settleAlpha()
    // A rank that has read nothing has moved nothing, but meets the others.
    this.#together.begin()
    const { rows } = this.#engine
    const all = { ...this.#engine.vacant(), rows, parts: [{ block: 0, rows, firstRow: 0 }], whole: true }
    this.#together.met(all, this.#diagonals)
    const step = await this.#together.meet()
    if (step === 1) return 0
    kept.takeAlpha()
    this.#loops.doubtAbsent()
    return 0
  }

  /** Works on the rows in memory of all ranks: as long as each learns something, then together. An abort waits for it: all ranks have
   *  to end at the same place. */
  async settle(target: number, passes: number): Promise<number> {
    const { rows, all } = this.#engine
    const { count } = this.#loops.kept
    const { met, rounds } = this.#loops.course
    const { seed, shrinking } = this.#settings
    const [owed, absent, kept] = await sumNumbers(this.#ranks, [met, rows - count, count])
    if (kept === 0) return 0
    const enough = Math.max(target, BESIDE_ABSENT * owed)
    const sweeps = new RankSweeps(this.#keptObjective, this.#kept, { seed: seed + rounds, shrinking })
    const most = absent === 0 ? SETTLE_ALONE : SETTLE_SWEEPS
    let [work, before, made] = [0, Number.POSITIVE_INFINITY, 0]
    for (; made < most; made++) {
      const own = this.#inTurns
        ? await this.#keptTogether.inTurns(() => this.#sweep(sweeps))
        : await this.#sweepAtOnce(sweeps)
      const [done, gap] = await sumNumbers(this.#ranks, [own.work * count, own.gap])
      work += done / all.rows
      if (gap <= enough || work >= passes) break
      if (made > 0 && gap > SLOW * before) this.#inTurns = true
      before = gap
    }
    if (work < passes) work += ((await this.#free.step(() => false)) * kept) / all.rows
    this.#loops.kept.settleAlpha()
    return work
  }

  /** Sweeps over the rows in memory of all ranks at the same time, each with the damping; then ranks meet. */
  async #sweepAtOnce(sweeps: RankSweeps): Promise<Swept> {
    this.#keptTogether.begin()
    const swept = await this.#sweep(sweeps)
    this.#keptTogether.met(this.#kept.group())
    await this.#keptTogether.meet()
    return swept
  }

  async #sweep(sweeps: RankSweeps): Promise<Swept> {
    if (this.#kept.rows === 0) return { work: 0, gap: 0 }
    const { work, first } = await sweeps.sweep(this.#kept.group(), { most: 1, isEnough: isLittle, signal: undefined })
    return { work, gap: first.gap }
  }

  async account(): Promise<Account> {
    const own = await this.#loops.account()
    const penalty = 0.5 * this.#objective.squaredLengths()[0]
    const [dual, owed, certain, supportVectors, correct, unknown] = await sumNumbers(this.#ranks, [
      ...[own.dual + penalty, own.owed, own.certain, own.supportVectors],
      ...[own.correct ?? 0, own.correct === null ? 1 : 0],
    ])
    const [spread] = await maxNumbers(this.#ranks, [own.spread])
    return { dual: dual - penalty, owed, certain, supportVectors, correct: unknown > 0 ? null : correct, spread }
  }

  /** Ranks share what blocks that are not read may owe. */
  owing(gap: number): number[] | undefined {
    return this.#loops.owing(gap / this.#ranks.size)
  }

  evaluate(group: RowGroup): Promise<void> {
    return this.#loops.evaluate(group)
  }

  endRound(): void {
    this.#loops.endRound()
  }

  rowsKept(): number {
    return this.#loops.rowsKept()
  }

  rowsEvicted(): number {
    return this.#loops.rowsEvicted()
  }

  state(): State {
    const [all, kept] = [this.#together.state(), this.#keptTogether.state()]
    return { loops: this.#loops.state(), all, kept, holding: this.#free.holding, inTurns: this.#inTurns }
  }

  stretches(): Stretch[] {
    const diagonals = this.#diagonals ? [{ at: this.#diagonals, bytes: this.#engine.rows * 8 }] : []
    return [...this.#loops.stretches(), ...this.#together.stretches(), ...diagonals]
  }

  restore(state: unknown): void {
    const { loops, all, kept, holding, inTurns } = state as State
    this.#inTurns = inTurns
    this.#loops.restore(loops)
    this.#together.restore(all)
    this.#keptTogether.restore(kept)
    this.#free.holding = holding
  }

  restored(): void {
    this.#loops.restored()
  }
}

export const streamOverRanks: Start<BinaryObjective, BlockEngine> = (objective, engine, settings) =>
  new LoopsOverRanks(engine, objective, settings)
