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
// Of a truncated loss this solves each convex problem of the series. Outliers leave S when one ends, and are not wanted: a row is
// one by the weights at the end of the last problem, the anchor, wherever w goes meanwhile.
import type { Stretch } from '../../block-store/checkpoint.ts'
import { SUMS_BYTES } from '../../numeric/layouts.ts'
import type { BandQuery } from '../../sample-index/metric-forest.ts'
import { runLoops, runOverRows } from '../../threads/loop-task.ts'
import type { BinaryObjective } from '../objectives/binary.ts'
import type { Certificate } from '../objectives/certificate.ts'
import { anchorRoom } from '../objectives/outliers.ts'
import { PrimalView, VIEW_BYTES } from '../objectives/primal-view.ts'
import { boxesOf } from '../objectives/problem.ts'
import type { BlockEngine } from '../sources/block-engine.ts'
import type { RowGroup, RowSource } from '../sources/row-source.ts'
import { type ActiveFill, type ActiveMemory, ActiveSet, newActiveMemory, stretchesOf } from './active-set.ts'
import { DESCENT_BYTES } from './descent.ts'
import { DescentsRun } from './descents-run.ts'
import { type IndexedFound, indexedDualTask, indexedSearchTask, indexedSweepTask } from './indexed-task.ts'
import { isFew, NewtonDescent } from './newton.ts'
import {
  type BlockSolver,
  type Run,
  type Saved,
  type Seen,
  type SolverSettings,
  stepsOnIndex,
  type Turn,
} from './solver.ts'

/** Rows are wanted whose margin is below 1. */
const HIGH = 1
/** Margins by an index and by a pass over rows differ by rounding: so much, for weights of length 1. */
const ROUNDING = 1e-6
/** Rows that a search is asked for: the paper's n, and a share of S once that is large. */
const FRESH_ROWS = 1000
const FRESH_SHARE = 1 / 4
/** A sample covers at least so many rows, and such a share of all. */
const SAMPLE_ROWS = 20_000
const SAMPLE_SHARE = 0.02
/** How far a search reaches at first: scores of rows lie as near to that of their centre as if their distances went in all
 *  directions alike, about. */
const firstReach = (features: number): number => Math.min(0.3, 2 / Math.sqrt(Math.max(1, features)))
/** Sweeps over all of S in one step end when they have met so many rows, or met all rows of the store so many times. */
const MOST_VISITS = 200_000
const MOST_PASSES = 2
/** At least such a part of S is met in every step. */
const PARTS = 4
/** Shares of the gap that is allowed, which rows outside of S and those inside may owe before a certificate is asked for. */
const OUTSIDE_SHARE = 0.4
const INSIDE_SHARE = 0.4
/** Sweeps over all of S end when it owes such a share of what rows outside owe. */
const BESIDE_OUTSIDE = 0.5
/** Second-order steps end when S owes such a share of what rows outside owe, or after so many passes over S. */
const LOOSE = 0.01
const MOST_NEWTON_PASSES = 300
/** S is solved as a whole from when rows outside owe so many times their share. */
const NEARLY = 20

/** How far a run has come: plain data, for checkpoints. */
interface Course {
  fill: ActiveFill
  steps: number
  /** Where the next block begins in S. */
  next: number
  /** Trees are gone through in an order that is drawn anew for each round; the place in it. */
  round: number
  tree: number
  reach: number
  /** Whether searches cover the whole index. */
  exact: boolean
  /** Whether rows rest and nodes are left out that the search does not reach: not when it is asked whether S is all there is. */
  hasty: boolean
  /** What rows of S lose and owe, as far as is known; and whether S is solved as far as it should be. */
  loss: number
  gap: number
  solved: boolean
  /** By the paper's rule the run is at its end. */
  settled: boolean
  /** Whether rows that are left out of the problem lie beyond the limit by the weights of the anchor. */
  anchored: boolean
  /** Where the records of S are. */
  base: number
}

/** What rows outside of S owe to the gap, by a search, and what the gap may be. */
interface Owed {
  outside: number
  allowed: number
}

class IndexedDescent implements Run, Saved {
  readonly findsRows = true
  readonly saved: Saved = this
  readonly #objective: BinaryObjective
  readonly #engine: BlockEngine
  readonly #settings: SolverSettings
  readonly #memory: ActiveMemory
  readonly #sums: number
  /** Address of the weights that said who the outliers are, of a loss that gives some up. */
  readonly #anchor: number | undefined
  #course: Course
  #moved = 0

  constructor(objective: BinaryObjective, engine: BlockEngine, settings: SolverSettings) {
    this.#objective = objective
    this.#engine = engine
    this.#settings = settings
    this.#memory = newActiveMemory(engine)
    this.#sums = engine.room('the active set: sums', SUMS_BYTES)
    if (objective.settings.outliersBelow !== undefined) this.#anchor = anchorRoom(engine, objective)
    engine.counts.index ??= { rowsTouched: 0, pagesRead: 0, bytesRead: 0 }
    this.#course = {
      ...{
        fill: { count: 0, used: 0 },
        steps: 0,
        next: 0,
        round: 0,
        tree: 0,
        reach: firstReach(objective.weightCount - 1),
      },
      ...{ exact: settings.indexStop === 'exact', hasty: true, loss: 0, gap: 0, solved: false, settled: false },
      ...{ anchored: false, base: this.#memory.records.at },
    }
  }

  /** Outliers leave S, and are not wanted. */
  nextProblem(anchored: boolean): void {
    const course = this.#course
    const { arena, rows } = this.#engine
    const set = new ActiveSet(arena, this.#memory, course.fill)
    set.leaveOut(this.#objective.alpha, rows)
    const { resting, bitmapBytes } = this.#memory
    arena.bytes(resting, bitmapBytes).fill(0)
    Object.assign(course, { fill: set.fill, hasty: true, solved: false, settled: false })
    course.anchored ||= anchored
  }

  /** Margins of the rows that are wanted. Outliers are known one by one; by the anchor, nodes of nothing else are not opened. */
  #band(): Pick<BandQuery, 'high' | 'low' | 'anchor'> {
    const { outliersBelow: limit } = this.#objective.settings
    const anchor = this.#anchor
    if (limit === undefined || anchor === undefined || !this.#course.anchored) return { high: HIGH }
    const { arena, weightCount, narrow } = this.#objective
    const { squaredLengthF32, squaredLengthF64 } = arena.numeric
    const length = Math.sqrt((narrow ? squaredLengthF32 : squaredLengthF64)(anchor, weightCount))
    return { high: HIGH, low: limit - ROUNDING * (1 + length), anchor }
  }

  async visit(group: RowGroup, turn: Turn): Promise<Seen> {
    const course = this.#course
    const { rows } = this.#engine
    const found = await this.#search(group)
    const { searched } = found
    const outside = found.freshLoss * (rows / Math.max(1, covered(searched, this.#wanted)))
    let visits = searched.visited
    let primal = this.#primal(outside)
    const allowed = turn.targets[0] * primal
    this.#nextTrees(found)
    let ready = false
    if (course.solved && this.#isAllThereIs(found, outside, allowed)) {
      // A search that is to say so leaves nothing out.
      ready = !course.hasty
      if (course.hasty) this.#lookClosely()
      course.settled = ready && this.#settings.indexLeft !== undefined
      course.gap += found.freshLoss
      course.loss += found.freshLoss
    } else {
      if (!course.hasty) this.#lookHastily()
      const moved = { outside, allowed }
      visits += await (this.#secondOrder ? this.#step(group, moved) : this.#sweep(group, found, moved))
      primal = this.#primal(outside)
    }
    course.steps++
    return { losses: [0], gaps: [course.gap + outside], primals: [primal], work: visits / Math.max(rows, 1), ready }
  }

  get #wanted(): number {
    return Math.max(FRESH_ROWS, Math.ceil(FRESH_SHARE * this.#course.fill.count))
  }

  async #search(group: RowGroup): Promise<IndexedFound> {
    const course = this.#course
    const { store, rows, threads, counts } = this.#engine
    const { settings: problem } = this.#objective
    const { seed, shrinking, normalize } = this.#settings
    const found = await threads.run(indexedSearchTask, {
      ...{ of: this.#objective.at(group), memory: this.#memory, fill: course.fill },
      store: { folder: store.folder, fingerprint: store.manifest.fingerprint },
      query: { bias: problem.bias, positive: problem.positive, unit: normalize === 'unit', ...this.#band() },
      boxes: boxesOf(problem),
      limits: {
        wanted: this.#wanted,
        ...(!course.exact && { most: Math.max(SAMPLE_ROWS, SAMPLE_SHARE * rows) }),
        reach: course.hasty ? course.reach : 1,
      },
      trees: { random: [seed, course.round], from: course.tree },
      rests: shrinking && course.hasty,
      adopt: course.fill.count === 0 && this.#hasDualVariables(),
    })
    course.fill = found.fill
    const { touched: rowsTouched, pagesRead, bytesRead } = found
    const before = counts.index!
    counts.index = { rowsTouched, pagesRead: before.pagesRead + pagesRead, bytesRead: before.bytesRead + bytesRead }
    return found
  }

  /** Rows of an earlier run may have dual variables, and none of them is in memory. */
  #hasDualVariables(): boolean {
    const { arena, alpha } = this.#objective
    return arena.f64(alpha, this.#engine.rows).some(value => value > 0)
  }

  #nextTrees({ searched, trees }: IndexedFound): void {
    const course = this.#course
    course.tree += searched.trees
    if (course.tree < trees) return
    course.tree = 0
    course.round++
  }

  #primal(outside: number): number {
    return 0.5 * this.#objective.squaredLengths()[0] + this.#course.loss + outside
  }

  /** Whether rows outside of S hardly matter: by the paper's rule, or by what they and those of S owe to the gap. */
  #isAllThereIs({ searched }: IndexedFound, outside: number, allowed: number): boolean {
    const { indexLeft } = this.#settings
    if (indexLeft === undefined) return outside <= OUTSIDE_SHARE * allowed
    if (this.#course.exact) return searched.found < indexLeft
    return searched.found / Math.max(1, covered(searched, this.#wanted)) < indexLeft / this.#engine.rows
  }

  #lookClosely(): void {
    this.#course.hasty = false
    this.#course.tree = 0
    this.#course.round++
  }

  /** There are more rows after all. */
  #lookHastily(): void {
    const course = this.#course
    course.hasty = true
    course.reach = Math.min(1, 2 * course.reach)
    const { resting, bitmapBytes } = this.#memory
    this.#engine.arena.bytes(resting, bitmapBytes).fill(0)
  }

  /** Minimises the dual over the fresh rows and others of S; visits of rows. */
  async #sweep(group: RowGroup, { fresh, searched }: IndexedFound, { outside, allowed }: Owed): Promise<number> {
    const course = this.#course
    const { seed, shrinking: shrink, innerPasses } = this.#settings
    const { count } = course.fill
    // While many rows are missing, S is not solved to its end.
    const whole = course.steps > 0 && outside <= NEARLY * OUTSIDE_SHARE * allowed
    const others = Math.max(searched.visited - fresh, Math.ceil(count / PARTS))
    const swept = await this.#engine.threads.run(indexedSweepTask, {
      ...{ of: this.#objective.at(group), memory: this.#memory, fill: course.fill, sums: this.#sums },
      ...{ fresh, next: course.next, shrink, random: [seed, course.steps] },
      ...(whole ? { sweeps: Number.POSITIVE_INFINITY } : { others, sweeps: innerPasses }),
      most: Math.max(MOST_VISITS, MOST_PASSES * this.#engine.rows),
      // S need not be solved more closely than rows are missing.
      targetGap: Math.max(0.5 * INSIDE_SHARE * allowed, BESIDE_OUTSIDE * outside),
    })
    // What a part shows stands for all.
    const scale = whole ? 1 : count / Math.max(1, swept.rows)
    Object.assign(course, { fill: swept.fill, next: swept.next, loss: swept.loss * scale, gap: swept.gap * scale })
    course.solved = whole && swept.gap <= INSIDE_SHARE * allowed
    return swept.visits
  }

  get #secondOrder(): boolean {
    return stepsOnIndex(this.#settings)
  }

  /** Second-order steps on the primal of S, (16) of the paper with B = S; visits of rows. */
  async #step(group: RowGroup, { outside, allowed }: Owed): Promise<number> {
    const course = this.#course
    const { count } = course.fill
    // While many rows are missing, S need not be solved to its end.
    const target = Math.max(0.5 * INSIDE_SHARE * allowed, LOOSE * outside)
    const here: RowGroup = { ...group, table: this.#memory.table, rows: count, alpha: this.#memory.alpha }
    const source = this.#asSource()
    const run = new DescentsRun(source, [new NewtonDescent(this.#objective, source, this.#settings)], this.#settings)
    let [gap, primal, passes] = [Number.POSITIVE_INFINITY, 0, 0]
    for (; gap > target && passes < MOST_NEWTON_PASSES; passes++) {
      await run.visit(here)
      const end = await run.endPass(0)
      ;[[gap], [primal]] = [end.gaps, end.primals]
    }
    const dual = { of: this.#objective.at(here), memory: this.#memory, fill: course.fill }
    const fill = await this.#engine.threads.run(indexedDualTask, dual)
    const loss = primal - 0.5 * this.#objective.squaredLengths()[0]
    Object.assign(course, { fill, loss, gap, solved: gap <= INSIDE_SHARE * allowed })
    return passes * count
  }

  /** Weights of second-order steps are certified by the gradient over all rows: half of its square is the gap. */
  async certificates(): Promise<Certificate[] | undefined> {
    if (!this.#secondOrder) return undefined
    const engine = this.#engine
    const { arena, weights, weightCount } = this.#objective
    const view = new PrimalView(this.#objective, this.#asSource(engine.rows), isFew(weightCount))
    arena.bytes(view.point, weightCount * 8).set(arena.bytes(weights, weightCount * 8))
    view.begin()
    const order = { seed: this.#settings.seed, blockOrder: 'fixed' } as const
    for await (const group of engine.pass(engine.groups(-1, order))) {
      await runOverRows(engine.threads, group, view.calls(group, 'slope'))
      view.met('slope')
    }
    await runLoops(engine.threads, view.closing('slope'))
    return [view.slope(view.direction).certificate]
  }

  /** S as a source of rows, for a method that looks at all of them. */
  #asSource(count = this.#course.fill.count): RowSource {
    const { arena, threads, nonzeros, rows } = this.#engine
    const all = { rows: count, nonzeros: (nonzeros / Math.max(1, rows)) * count }
    return {
      ...{ arena, threads, ...all, all, blockBytes: [1] },
      ...{ counts: { blocksRead: 0, bytesRead: 0, bytesSkipped: 0 }, groups: () => [[0]] },
      room: (name, bytes, zeroed) => this.#engine.room(`the active set: ${name}`, bytes, zeroed),
      pass: async function* () {},
    }
  }

  /** The certificate did not confirm what a sample showed: from now on the whole index is searched. */
  notYet(): void {
    this.#course.exact = true
    this.#course.solved = false
    this.#lookHastily()
  }

  endsByItself(): boolean {
    return this.#course.settled
  }

  rowsKept(): number {
    return this.#course.fill.count
  }

  state(): unknown {
    return { ...this.#course, index: this.#engine.counts.index }
  }

  stretches(): Stretch[] {
    const { weightCount, weightBytes } = this.#objective
    const stretches = stretchesOf(this.#memory, this.#course.fill)
    if (this.#anchor !== undefined) stretches.push({ at: this.#anchor, bytes: weightCount * weightBytes })
    return stretches
  }

  restore(state: unknown): void {
    const { index, ...course } = structuredClone(state) as Course & { index: BlockEngine['counts']['index'] }
    this.#moved = this.#memory.records.at - course.base
    this.#course = { ...course, base: this.#memory.records.at }
    this.#engine.counts.index = index
  }

  /** The records lie where this run has put its set, not where the earlier one had it. */
  restored(): void {
    const table = this.#engine.arena.u32(this.#memory.table, this.#course.fill.count)
    for (let k = 0; k < table.length; k++) table[k] += this.#moved
    this.#moved = 0
  }
}

/** Rows that a search speaks for: all of the trees that it went through to the end, but of the last one what it saw. */
function covered(
  { found, visited, outside, resting, leftOut }: Omit<IndexedFound['searched'], 'trees' | 'rows'>,
  wanted: number,
): number {
  return visited + outside + resting + (found < wanted ? leftOut : 0)
}

export const indexed: BlockSolver = {
  name: 'indexed',
  summary: 'block coordinate descent on the rows that an index of the store finds near the margin',
  data: 'blocks',
  dual: true,
  needsIndex: true,
  leavesOut: true,
  cacheShare: 0.75,
  extra: {
    // Second-order steps have vectors of their own, and a matrix where features are few.
    perWeight: weights => VIEW_BYTES + DESCENT_BYTES + 8 + (isFew(weights) ? weights * 16 + 20 : 0),
    perRow: 3 / 8,
  },
  options: ['innerPasses', 'shrinking', 'tolerance', 'indexStop', 'indexLeft', 'indexMethod'],
  lossNeeds: { what: 'a box dual', has: loss => loss.box !== undefined },
  start: (objective, engine, settings) => new IndexedDescent(objective, engine, settings),
}
