// Solver `indexed`: indexed block coordinate descent. Rows are not read in turn: the index of the store is asked for rows
// that can still move, N, those with α = 0 and a margin below 1. They join the active set S. In each step the dual is
// minimised over a block B of the fresh rows and of others of S in turn, as many as the search looked at:
//
//   min_{α_B}  ½ αᵀ(Q + D)α − eᵀα   subject to 0 ≤ α_i ≤ U_i in B, others fixed       w = Σ_S α_i y_i x_i
//
// Yen, Chang, Lin, Lin, Lin: Indexed block coordinate descent for large-scale linear classification with limited memory
// (KDD 2013), Algorithm 1, with the dual solver of section 3.3 and the shrinking of section 4.3. The paper stops when S is
// solved and a search finds fewer than n_ε rows: in the whole index (`exact`), or, by their share among the rows that it covered,
// in a sample of its trees (`sampled`). --index-left N and --index-stop say so. Without --index-left the losses of the fresh rows
// say what rows outside of S still owe to the duality gap, and the certificate over all rows decides.
//
// Where S outgrows the memory, rows of it stay in the blocks of the store. Some of those blocks are read after each step, and their
// rows of S are swept over together with the ones in memory.
//
// Where searches look at most rows, a method goes on that looks at all of them: see indexed-all.ts.
//
// Of a truncated loss this solves each convex problem of the series. Outliers leave S when one ends, and are not wanted: a row is
// one by the weights at the end of the last problem, the anchor, wherever w goes meanwhile.
import type { Stretch } from '../../block-store/checkpoint.ts'
import { SpillwayError } from '../../errors.ts'
import { formatBytes } from '../../numeric/arena.ts'
import { SUMS_BYTES } from '../../numeric/layouts.ts'
import type { BinaryObjective } from '../objectives/binary.ts'
import type { Certificate } from '../objectives/certificate.ts'
import type { BlockEngine } from '../sources/block-engine.ts'
import type { RowGroup } from '../sources/row-source.ts'
import { type ActiveMemory, ActiveSet, leastActive, newActiveMemory, stretchesOf } from './active-set.ts'
import { type AwayRound, AwayRows, FIXED, type SetOfRun } from './away-rows.ts'
import { holdsAll, loopsOverAll, type OverAll, StepsInMemory } from './indexed-all.ts'
import { StepsOnSet } from './indexed-newton.ts'
import { type Course, firstReach, IndexSearch, OUTSIDE_SHARE } from './indexed-search.ts'
import { indexedSweepTask } from './indexed-task.ts'
import { newton } from './newton.ts'
import {
  type BlockSolver,
  extraPerWeight,
  type Run,
  type Saved,
  type Seen,
  type SolverSettings,
  stepsOnIndex,
  type Turn,
} from './solver.ts'

/** Sweeps over all of S in one step end when they have met so many rows, or met all rows of the store so many times. */
const MOST_VISITS = 200_000
const MOST_PASSES = 2
/** At least such a part of S is met in every step. */
const PARTS = 4
/** Share of the gap that is allowed, which rows of S may owe before a certificate is asked for. */
const INSIDE_SHARE = 0.4
/** Sweeps over all of S end when it owes such a share of what rows outside owe. */
const BESIDE_OUTSIDE = 0.5
/** Second-order steps end when S owes such a share of what rows outside owe. */
const LOOSE = 0.01
/** S is solved as a whole from when rows outside owe so many times their share. */
const NEARLY = 20

class IndexedDescent implements Run, Saved {
  readonly saved: Saved = this
  readonly #of: SetOfRun
  readonly #objective: BinaryObjective
  readonly #engine: BlockEngine
  readonly #settings: SolverSettings
  readonly #memory: ActiveMemory
  readonly #sums: number
  readonly #search: IndexSearch
  readonly #away: AwayRows
  readonly #newton: StepsOnSet
  #course: Course
  /** What it goes on with where searches look at most rows. */
  #all: OverAll | undefined
  #moved = 0
  #weightsKnown = false

  constructor(objective: BinaryObjective, engine: BlockEngine, settings: SolverSettings) {
    this.#objective = objective
    this.#engine = engine
    this.#settings = settings
    const remembers = !stepsOnIndex(settings) && !objective.narrow
    this.#memory = newActiveMemory(engine, remembers ? objective.weightCount : 0)
    this.#sums = engine.room('the active set: sums', SUMS_BYTES)
    const of = { objective, engine, settings, memory: this.#memory, sums: this.#sums }
    this.#of = of
    this.#away = new AwayRows(of)
    this.#newton = new StepsOnSet(of, this.#away)
    this.#search = new IndexSearch(of)
    engine.counts.index ??= { rowsTouched: 0, pagesRead: 0, bytesRead: 0 }
    this.#course = {
      ...{
        fill: { count: 0, used: 0, away: 0 },
        steps: 0,
        next: 0,
        round: 0,
        tree: 0,
        reach: firstReach(objective.weightCount - 1),
      },
      ...{ exact: settings.indexStop === 'exact', hasty: true, loss: 0, gap: 0, solved: false, settled: false },
      ...{ owed: { outside: 0, allowed: 0 }, ready: false, whole: false, away: null },
      ...{ anchored: false, sweepsFirst: false, base: this.#memory.records.at, looked: 0, known: 0 },
    }
  }

  get findsRows(): Run['findsRows'] {
    return this.#all ? this.#all.findsRows : true
  }

  get ledger(): Run['ledger'] {
    return this.#all?.ledger
  }

  get settle(): Run['settle'] {
    return this.#all?.settle?.bind(this.#all)
  }

  get endPass(): Run['endPass'] {
    return this.#all?.endPass?.bind(this.#all)
  }

  get steps(): Run['steps'] {
    return this.#all?.steps?.bind(this.#all)
  }

  get rowsEvicted(): Run['rowsEvicted'] {
    return this.#all?.rowsEvicted?.bind(this.#all)
  }

  /** Second-order steps on all rows move weights alone. */
  get leavesDual(): boolean {
    return this.#all !== undefined && this.#secondOrder
  }

  /** Where the index saves nothing, all rows are trained on from the next pass on. Sweeps over a set that fits in memory are those of
   *  a method that looks at all rows anyway. */
  nextPass(): void {
    const { fill, away } = this.#course
    const isWorse = this.#secondOrder || fill.away > 0
    if (!this.#all && !away && isWorse && this.#search.looksAtMost(this.#course)) this.#goOnWithAll()
  }

  #goOnWithAll(): void {
    const before = this.#all
    this.#engine.counts.index!.leftFor = this.#secondOrder ? 'newton' : 'stream'
    if (!this.#secondOrder) this.#all = loopsOverAll(this.#of)
    else if (before instanceof StepsInMemory) this.#all = before.next(this.#newton.overAll())
    else {
      const steps = this.#newton.overAll()
      this.#all = holdsAll(this.#of) ? new StepsInMemory(this.#of, steps) : steps
    }
  }

  /** Outliers leave S, and are not wanted. */
  nextProblem(anchored: boolean): void {
    const course = this.#course
    if (this.#all) {
      this.#goOnWithAll()
      return
    }
    const { arena, rows } = this.#engine
    const set = new ActiveSet(arena, this.#memory, course.fill)
    set.leaveOut(this.#objective.alpha, rows)
    this.#search.wake()
    Object.assign(course, { fill: set.fill, hasty: true, solved: false, settled: false, away: null })
    course.anchored ||= anchored
    // Without the outliers w is far from what S has found: a search by it would find rows that do not matter.
    course.sweepsFirst = set.fill.count > 0
  }

  async visit(group: RowGroup, turn: Turn): Promise<Seen> {
    const course = this.#course
    await this.#learnWeights()
    if (this.#all) return this.#all.visit(group, turn)
    let visits = 0
    // A round that an abort has ended goes on where it was.
    if (!course.away) visits += await this.#searchAndSweep(group, turn)
    if (course.away) visits += await this.#goRound(course.away, turn)
    if (!course.away) course.steps++
    const { owed, gap, ready } = course
    return {
      ...{ losses: [0], gaps: [gap + owed.outside], primals: [this.#primal(owed.outside)] },
      ...{ work: visits / Math.max(this.#engine.rows, 1), ready },
    }
  }

  /** The index has no weights of rows: they are read once, with the rows. */
  async #learnWeights(): Promise<void> {
    const { arena, weighted } = this.#engine
    if (!weighted || this.#weightsKnown) return
    this.#weightsKnown = true
    const all = this.#memory.allWeights
    for await (const { rowWeights, parts } of this.#engine.pass(this.#engine.groups(-1, FIXED))) {
      let from = rowWeights!
      for (const { rows, firstRow } of parts) {
        arena.bytes(all + firstRow * 8, rows * 8).set(arena.bytes(from, rows * 8))
        from += rows * 8
      }
    }
  }

  /** One search, and what follows from it; visits of rows. */
  async #searchAndSweep(group: RowGroup, turn: Turn): Promise<number> {
    const course = this.#course
    if (course.sweepsFirst) return this.#sweepFirst(group, turn)
    const found = await this.#search.search(group, course)
    const { searched } = found
    const outside = found.freshLoss * (this.#engine.rows / Math.max(1, this.#search.covered(course, found)))
    const allowed = turn.targets[0] * this.#primal(outside)
    course.owed = { outside, allowed }
    course.ready = false
    if (course.solved && this.#search.isAllThereIs(course, found)) {
      course.ready = !course.hasty || this.#search.isNoShorter(course, found)
      if (!course.ready) this.#search.lookClosely(course)
      course.settled = course.ready && this.#settings.indexLeft !== undefined
      course.gap += found.freshLoss
      course.loss += found.freshLoss
      return searched.visited
    }
    if (searched.found > 0 && course.fill.count === 0) throw noRoom(this.#memory)
    if (!course.hasty) this.#search.lookHastily(course)
    if (this.#secondOrder) return searched.visited + (await this.#step(group))
    // While many rows are missing, S is not solved to its end.
    const whole = course.steps > 0 && outside <= NEARLY * OUTSIDE_SHARE * allowed
    const others = Math.max(searched.visited - found.fresh, Math.ceil(course.fill.count / PARTS))
    return searched.visited + (await this.#sweep(group, found.fresh, whole ? undefined : others))
  }

  /** Solves S as it is, before the index is asked; visits of rows. */
  async #sweepFirst(group: RowGroup, turn: Turn): Promise<number> {
    const course = this.#course
    course.sweepsFirst = false
    course.owed = { outside: 0, allowed: turn.targets[0] * this.#primal(0) }
    course.ready = false
    return this.#secondOrder ? this.#step(group) : this.#sweep(group, 0)
  }

  #primal(outside: number): number {
    return 0.5 * this.#objective.squaredLengths()[0] + this.#course.loss + outside
  }

  /** Minimises the dual over the fresh rows and so many others of S, or all; visits of rows. */
  async #sweep(group: RowGroup, fresh: number, others?: number): Promise<number> {
    const course = this.#course
    const { outside, allowed } = course.owed
    const { seed, shrinking: shrink, innerPasses } = this.#settings
    const { count, away } = course.fill
    const whole = others === undefined
    const swept = await this.#engine.threads.run(indexedSweepTask, {
      ...{ of: this.#objective.at(group), memory: this.#memory, fill: course.fill, sums: this.#sums },
      ...{ fresh, next: course.next, shrink, random: [seed, course.steps] },
      // Rows that are away may owe more than those in memory: a round over them follows soon.
      ...(whole ? { sweeps: away > 0 ? innerPasses : Number.POSITIVE_INFINITY } : { others, sweeps: innerPasses }),
      most: Math.max(MOST_VISITS, MOST_PASSES * this.#engine.rows),
      // S need not be solved more closely than rows are missing.
      targetGap: Math.max(0.5 * INSIDE_SHARE * allowed, BESIDE_OUTSIDE * outside),
    })
    // What a part shows stands for all.
    const scale = whole ? 1 : count / Math.max(1, swept.rows)
    Object.assign(course, { fill: swept.fill, next: swept.next, loss: swept.loss * scale, gap: swept.gap * scale })
    course.whole = whole
    course.solved = whole && swept.gap <= INSIDE_SHARE * allowed
    const most = others ?? course.fill.away
    if (course.fill.away > 0) course.away = this.#away.newRound(course.fill, course.steps, most)
    return swept.visits
  }

  /** Goes on with a round over rows that are away; visits of rows. */
  async #goRound(round: AwayRound, { signal }: Turn): Promise<number> {
    const course = this.#course
    const { fill, visits, end } = await this.#away.goOn(round, course.fill, course.steps, signal)
    course.fill = fill
    if (!end) return visits
    course.away = null
    Object.assign(course, end)
    course.solved = course.whole && round.whole && end.gap <= INSIDE_SHARE * course.owed.allowed
    return visits
  }

  get #secondOrder(): boolean {
    return stepsOnIndex(this.#settings)
  }

  /** Second-order steps; visits of rows. */
  async #step(group: RowGroup): Promise<number> {
    const course = this.#course
    const { outside, allowed } = course.owed
    const { count, away } = course.fill
    // While many rows are missing, S need not be solved to its end.
    const target = Math.max(0.5 * INSIDE_SHARE * allowed, LOOSE * outside)
    const { fill, primal, gap, passes } = await this.#newton.solve(group, course.fill, target, course.steps)
    const loss = primal - 0.5 * this.#objective.squaredLengths()[0]
    Object.assign(course, { fill, loss, gap, solved: gap <= INSIDE_SHARE * allowed })
    return passes * (count + away)
  }

  async certificates(): Promise<Certificate[] | undefined> {
    if (this.#all) return this.#all.certificates?.()
    return this.#secondOrder ? [await this.#newton.certificate()] : undefined
  }

  /** The certificate did not confirm what a sample showed: from now on the whole index is searched. */
  notYet(): void {
    if (this.#all) return
    this.#course.exact = true
    this.#course.solved = false
    this.#search.lookHastily(this.#course)
  }

  endsByItself(): boolean {
    return !this.#all && this.#course.settled
  }

  rowsKept(): number {
    return this.#all ? (this.#all.rowsKept?.() ?? 0) : this.#course.fill.count
  }

  state(): unknown {
    const { index } = this.#engine.counts
    return { ...this.#course, index, ...(this.#all && { all: this.#all.saved.state() }) }
  }

  stretches(): Stretch[] {
    const { weightCount, weightBytes } = this.#objective
    const { touched, bitmapBytes } = this.#memory
    if (this.#all) return [...this.#all.saved.stretches!(), { at: touched, bytes: bitmapBytes }]
    const stretches = stretchesOf(this.#memory, this.#course.fill)
    const { anchor } = this.#search
    if (anchor !== undefined) stretches.push({ at: anchor, bytes: weightCount * weightBytes })
    return stretches
  }

  restore(state: unknown): void {
    const { index, all, ...course } = structuredClone(state) as SavedCourse
    this.#moved = this.#memory.records.at - course.base
    this.#course = { ...course, base: this.#memory.records.at, looked: course.looked ?? 0, known: course.known ?? 0 }
    this.#engine.counts.index = index
    if (all === undefined) return
    this.#goOnWithAll()
    this.#all!.saved.restore(all)
  }

  /** The records lie where this run has put its set, not where the earlier one had it. */
  restored(): void {
    if (this.#all) {
      this.#all.saved.restored?.()
      return
    }
    const table = this.#engine.arena.u32(this.#memory.table, this.#course.fill.count)
    for (let k = 0; k < table.length; k++) table[k] += this.#moved
    this.#moved = 0
  }
}

/** What a checkpoint has of a run: its course, what the index was asked, and the state of what it goes on with, if it does. */
type SavedCourse = Course & { index: NonNullable<BlockEngine['counts']['index']>; all?: unknown }

/** Not one row has room. */
function noRoom({ records }: ActiveMemory): SpillwayError {
  return new SpillwayError(
    `a row that matters is larger than the ${formatBytes(records.bytes)} that are left for rows`,
    'give more --memory, or take --solver block',
  )
}

export const indexed: BlockSolver = {
  name: 'indexed',
  summary: 'block coordinate descent on the rows that an index of the store finds near the margin',
  data: 'blocks',
  dual: true,
  needsIndex: true,
  leavesOut: true,
  rowWeights: true,
  cacheShare: 0.75,
  extra: {
    // Second-order steps have vectors of their own, and a matrix where features are few; sweeps remember weights.
    perWeight: (weights, run) => (stepsOnIndex(run) ? extraPerWeight(newton.inBlocks!, weights, run) : 8),
    perRow: 3 / 8,
  },
  leastCache: leastActive,
  // A pass is as many visits as there are rows, and most visits are of rows in memory.
  defaultPasses: 10_000,
  options: ['innerPasses', 'shrinking', 'tolerance', 'indexStop', 'indexLeft', 'indexMethod'],
  lossNeeds: { what: 'a box dual', has: loss => loss.box !== undefined },
  start: (objective, engine, settings) => new IndexedDescent(objective, engine, settings),
}
