// What solver `indexed` does in the trainer's thread: it asks the index for fresh rows, which join the active set, and minimises
// the dual over rows of the set.
import { openStore } from '../../block-store/reader.ts'
import type { BoxDual } from '../../losses/loss.ts'
import type { Arena } from '../../numeric/arena.ts'
import { drawFrom } from '../../numeric/draw.ts'
import { PROBLEM_ALPHA, PROBLEM_COUNT, PROBLEM_ROW_WEIGHTS, PROBLEM_ROWS, ROW_CLASS } from '../../numeric/layouts.ts'
import { TREE_ENTRIES, TREE_ROW_BYTES, TREE_ROW_NUMBER, TREE_ROW_RECORD } from '../../numeric/metric-tree-layout.ts'
import {
  type BandQuery,
  type FoundRows,
  MetricForest,
  type SearchLimits,
  type SearchResult,
} from '../../sample-index/metric-forest.ts'
import type { Address, ByteCount } from '../../sizes.ts'
import { declareTask, type TaskContext } from '../../threads/task.ts'
import type { ProblemAt } from '../objectives/one-problem.ts'
import { type ActiveFill, type ActiveMemory, ActiveSet, type AtBound } from './active-set.ts'
import { activateAll, Sweeps, startListed, startSweeps } from './sweeps.ts'

interface OnActiveSet {
  of: ProblemAt
  memory: ActiveMemory
  fill: ActiveFill
}

export interface IndexedSearchOptions extends OnActiveSet {
  store: { folder: string; fingerprint: string }
  /** What the system has for pages of files. */
  beside: ByteCount
  /** What the search is about, weights and bitmaps apart. */
  query: Pick<BandQuery, 'bias' | 'positive' | 'unit' | 'high' | 'low' | 'anchor'>
  boxes: Record<'positive' | 'negative', BoxDual>
  limits: Omit<SearchLimits, 'trees'>
  /** What the order of the trees is drawn from, and the place in it to begin at. */
  trees: { random: number[]; from: number }
  /** Whether rows rest that are far above the band. */
  rests: boolean
  /** Rows that have dual variables already and must be in the set: those are found first. */
  adopt: boolean
}

export interface IndexedFound {
  fill: ActiveFill
  searched: SearchResult
  /** Trees that there are. */
  trees: number
  /** Rows that joined the set at its end, and their losses as they were found: what they owe to the gap. */
  fresh: number
  freshLoss: number
  /** Rows that were ever looked at. */
  touched: number
  pagesRead: number
  bytesRead: number
}

export const indexedSearchTask = declareTask(import.meta.url, 'indexed-search', indexedSearch)

async function indexedSearch(context: TaskContext, options: IndexedSearchOptions): Promise<IndexedFound> {
  const { arena } = context
  const { of, memory, query } = options
  const forest = await forestOf(context, options)
  const before = { ...forest.counts }
  const { boxes } = options
  const atBound: AtBound = (value, record, number) =>
    value >=
    weightOf(arena, memory, number) *
      (arena.getU32(record + ROW_CLASS) === query.positive ? boxes.positive : boxes.negative).bound
  let set = new ActiveSet(arena, memory, options.fill, atBound)
  const { weights, weightCount, narrow } = of
  const { taken, touched } = memory
  const band: BandQuery = { ...query, weights, weightCount, narrow, taken, touched }
  if (options.adopt) {
    const trees = supporting(arena, forest, of.alpha)
    forest.search({ ...band, alpha: of.alpha }, { trees }, rows => set.add(rows, query.unit, of.alpha))
    // From here on they make room for others.
    set = new ActiveSet(arena, memory, set.fill, atBound)
  }
  let [fresh, freshLoss] = [0, 0]
  const resting = options.rests ? { resting: memory.resting, restBeyond: REST_BEYOND } : {}
  const trees = rotated(forest.trees.length, options.trees)
  const searched = forest.search({ ...band, ...resting }, { ...options.limits, trees }, rows => {
    freshLoss += lossOf(arena, rows, options)
    fresh += set.add(rows, query.unit, of.alpha)
  })
  const { pagesRead, bytesRead } = forest.counts
  return {
    ...{ fill: set.fill, searched, trees: trees.length, fresh, freshLoss },
    touched: arena.numeric.countBits(touched, memory.bitmapBytes * 8) >>> 0,
    pagesRead: pagesRead - before.pagesRead,
    bytesRead: bytesRead - before.bytesRead,
  }
}

/** Trees of the blocks that have rows with dual variables. */
function supporting(arena: Arena, { trees }: MetricForest, alpha: Address): number[] {
  const rows = new Map<number, number>()
  for (const { firstRow, root } of trees) rows.set(firstRow, (rows.get(firstRow) ?? 0) + root.rows)
  const found = new Set<number>()
  for (const [first, count] of rows) if (arena.f64(alpha + first * 8, count).some(value => value > 0)) found.add(first)
  return [...trees.keys()].filter(tree => found.has(trees[tree].firstRow))
}

/** All trees in an order that is drawn, from a place in it on and around. */
function rotated(count: number, { random, from }: IndexedSearchOptions['trees']): number[] {
  const order = Array.from({ length: count }, (_, k) => k)
  for (let k = count - 1; k > 0; k--) {
    const other = Number(drawFrom([...random, k]) % BigInt(k + 1))
    ;[order[k], order[other]] = [order[other], order[k]]
  }
  return [...order.slice(from), ...order.slice(0, from)]
}

/** Rows whose margin is so far above the band rest: the threshold T of section 4.3. */
const REST_BEYOND = 0.5

/** The forest stays open between two searches, and its pages in memory. */
async function forestOf({ arena, kept }: TaskContext, options: IndexedSearchOptions): Promise<MetricForest> {
  const { folder, fingerprint } = options.store
  const key = `${folder} ${fingerprint} ${options.memory.pages.at}`
  const found = kept.get('metric-forest') as { key: string; forest: MetricForest } | undefined
  if (found?.key === key) return found.forest
  found?.forest.close()
  const forest = await MetricForest.open(arena, await openStore(folder), options.memory.pages, options.beside)
  kept.set('metric-forest', { key, forest })
  return forest
}

/** The weight of a row, by its number in the order of the store. */
function weightOf(arena: Arena, { allWeights }: ActiveMemory, number: number): number {
  return allWeights ? arena.getF64(allWeights + number * 8) : 1
}

/** Losses of rows by their margins. Their dual variables are 0, so that is what they owe to the gap. */
function lossOf(
  arena: Arena,
  { page, places, margins, firstRow }: FoundRows,
  { boxes, query, memory }: Pick<IndexedSearchOptions, 'boxes' | 'query' | 'memory'>,
): number {
  let sum = 0
  for (const [k, place] of places.entries()) {
    const entry = page + TREE_ENTRIES + place * TREE_ROW_BYTES
    const record = page + arena.getU32(entry + TREE_ROW_RECORD)
    const weight = weightOf(arena, memory, firstRow + arena.getU32(entry + TREE_ROW_NUMBER))
    const { bound, diagonal } = arena.getU32(record + ROW_CLASS) === query.positive ? boxes.positive : boxes.negative
    const slack = 1 - margins[k]
    sum += weight * (diagonal > 0 ? (slack * slack) / (2 * diagonal) : bound * slack)
  }
  return sum
}

export interface IndexedSweepOptions extends OnActiveSet {
  /** Rows at the end of the set that are fresh, and how many others are swept over with them, from `next` on; all of them when
   *  not given, and then until the set owes no more than `targetGap`. */
  fresh: number
  others?: number
  next: number
  /** Sweeps, at most, and visits of rows after which no other begins. */
  sweeps: number
  most: number
  targetGap: number
  shrink: boolean
  random: number[]
  /** Address of room for sums. */
  sums: Address
}

export interface IndexedSwept {
  fill: ActiveFill
  /** Losses of the rows that were swept over, and what they owe to the gap: as they were met, or, of the whole set, as they are now. */
  loss: number
  gap: number
  rows: number
  /** Visits of rows. */
  visits: number
  next: number
}

export const indexedSweepTask = declareTask(import.meta.url, 'indexed-sweep', indexedSweep)

function indexedSweep({ arena }: TaskContext, options: IndexedSweepOptions): IndexedSwept {
  const { of, memory, fresh } = options
  const { problem, group } = of
  const { sweep } = group
  const set = new ActiveSet(arena, memory, options.fill)
  const { count } = set.fill
  pointAtSet(arena, of, memory, count)
  const whole = options.others === undefined
  const others = Math.min(count - fresh, options.others ?? count)
  const start = options.next % Math.max(1, count - fresh)
  const order = arena.u32(memory.order, fresh + others)
  for (let k = 0; k < others; k++) order[k] = (start + k) % (count - fresh)
  for (let k = 0; k < fresh; k++) order[others + k] = count - fresh + k
  const rows = order.length
  startListed(arena, { sweep, order: memory.order, rows, random: drawFrom(options.random) })
  // The set is the whole problem of these sweeps: its dual variables may be carried on.
  const { weightCount } = of
  const momentum = whole && memory.before.weights ? { ...memory.before, rows, weightCount } : undefined
  const sweeps = new Sweeps(arena, problem, sweep, { ...of, rows, shrink: options.shrink && whole, momentum })
  const each = arena.numeric.workOf(memory.table, count) / Math.max(1, count)
  let [loss, gap] = [0, 0]
  for (let k = 0; k < options.sweeps && rows > 0 && sweeps.work < options.most * each; k++) {
    const outcome = sweeps.advance(Number.POSITIVE_INFINITY)!
    ;({ loss, gap } = outcome)
    if (!whole || outcome.gap > options.targetGap) continue
    if (outcome.all) break
    activateAll(arena, sweep, rows)
  }
  const visits = sweeps.work / Math.max(1, each)
  if (whole) ({ loss, gap } = evaluateSet(arena, of, count, options.sums))
  endSweeps(arena, options, set)
  return { fill: set.fill, loss, gap, rows, visits, next: start + others }
}

export interface IndexedAwayOptions extends OnActiveSet {
  /** Sweeps over the rows of the group that are away, each followed by one over the rows in memory; or, after second-order steps,
   *  none: dual variables are found by margins. */
  sweeps: number | 'by-margins'
  random: readonly number[]
  /** Address of room for sums. */
  sums: Address
}

export interface IndexedAway {
  fill: ActiveFill
  /** Rows that were away, their losses, and what they owed to the gap as they were met. */
  rows: number
  loss: number
  gap: number
  visits: number
}

export const indexedAwayTask = declareTask(import.meta.url, 'indexed-away', indexedAway)

/** Rows of a loaded group that are of S, but away: meets them together with those in memory. */
function indexedAway({ arena }: TaskContext, options: IndexedAwayOptions): IndexedAway {
  const { of, memory, sweeps } = options
  const { problem, group } = of
  const set = new ActiveSet(arena, memory, options.fill)
  const numbers = set.awayIn(group, of.alpha)
  const rows = numbers.length
  const { count } = set.fill
  const met = { rows, loss: 0, gap: 0, visits: 0 }
  const atGroup = (): void => pointAt(arena, of, group, rows)
  if (sweeps === 'by-margins') {
    atGroup()
    arena.numeric.dualOfMargins(problem, rows, group.alpha)
  } else {
    const sweep = (order: Address, listed: number, random: readonly number[]): { loss: number; gap: number } => {
      if (listed === 0) return { loss: 0, gap: 0 }
      startSweeps(arena, { sweep: group.sweep, order, rows: listed, random: drawFrom(random) })
      met.visits += listed
      return new Sweeps(arena, problem, group.sweep, { ...of, rows: listed, shrink: false }).advance(
        Number.POSITIVE_INFINITY,
      )!
    }
    for (let k = 0; k < sweeps; k++) {
      atGroup()
      const seen = sweep(group.order, rows, [...options.random, k, 0])
      if (k === 0) ({ loss: met.loss, gap: met.gap } = seen)
      pointAtSet(arena, of, memory, count)
      sweep(memory.order, count, [...options.random, k, 1])
    }
    arena.numeric.scatterListed(memory.alpha, 8, memory.numbers, of.alpha, 8, count)
  }
  set.settleAway(numbers, group.alpha, of.alpha)
  return { fill: set.fill, ...met }
}

export const indexedEvaluateTask = declareTask(import.meta.url, 'indexed-evaluate', indexedEvaluate)

/** Losses of the rows in memory, and what they owe to the gap. */
function indexedEvaluate(
  { arena }: TaskContext,
  options: OnActiveSet & { sums: Address },
): { loss: number; gap: number } {
  const { of, memory, fill, sums } = options
  pointAtSet(arena, of, memory, fill.count)
  return evaluateSet(arena, of, fill.count, sums)
}

export const indexedDualTask = declareTask(import.meta.url, 'indexed-dual', indexedDual)

/** After second-order steps on the primal: dual variables as the margins have them. Rows without one may leave. */
function indexedDual({ arena }: TaskContext, options: OnActiveSet): ActiveFill {
  const { of, memory } = options
  const set = new ActiveSet(arena, memory, options.fill)
  pointAtSet(arena, of, memory, set.fill.count)
  arena.numeric.dualOfMargins(of.problem, set.fill.count, memory.alpha)
  endSweeps(arena, options, set)
  return set.fill
}

/** Makes the problem that of the active set. */
function pointAtSet(arena: Arena, of: ProblemAt, memory: ActiveMemory, count: number): void {
  gatherWeights(arena, memory, count)
  pointAt(arena, of, memory, count)
}

/** Weights of the rows that are in the set, from those of all. */
export function gatherWeights(arena: Arena, memory: ActiveMemory, count: number): void {
  const { allWeights, rowWeights, numbers } = memory
  if (allWeights) arena.numeric.gatherListed(allWeights, 8, numbers, rowWeights, 8, count)
}

/** Makes the problem that of listed rows: of the active set, or of a group. */
function pointAt(
  arena: Arena,
  { problem }: ProblemAt,
  { table, alpha, rowWeights = 0 }: Pick<ProblemAt['group'], 'table' | 'alpha' | 'rowWeights'>,
  count: number,
): void {
  arena.setU32(problem + PROBLEM_ROW_WEIGHTS, rowWeights)
  arena.setU32(problem + PROBLEM_ROWS, table)
  arena.setU32(problem + PROBLEM_COUNT, count)
  arena.setU32(problem + PROBLEM_ALPHA, alpha)
}

/** Dual variables go back to those of all rows, and rows leave that have none, where they are most. */
function endSweeps(arena: Arena, { of, memory }: OnActiveSet, set: ActiveSet): void {
  const { count } = set.fill
  arena.numeric.scatterListed(memory.alpha, 8, memory.numbers, of.alpha, 8, count)
  if (count > MANY_ROWS && set.idle > IDLE_SHARE * count) set.dismissIdle()
}

/** A set of more rows than this, most of them idle, lets the idle ones go. */
const MANY_ROWS = 4096
const IDLE_SHARE = 0.6

/** Losses of the set's rows, and what they owe to the gap, with w as it is. */
function evaluateSet(arena: Arena, of: ProblemAt, count: number, sums: Address): { loss: number; gap: number } {
  const { evaluateF32, evaluateF64 } = arena.numeric
  ;(of.narrow ? evaluateF32 : evaluateF64)(of.problem, 0, count, sums)
  const [loss, dualPart, alphaMargin] = arena.f64(sums, 3)
  return { loss, gap: loss - dualPart + alphaMargin }
}
