// Searches of solver indexed: which rows the index is asked for, how closely it is looked at, and what a search says of the rows
// that it did not find.
import type { BandQuery } from '../../sample-index/metric-forest.ts'
import { anchorRoom } from '../objectives/outliers.ts'
import { boxesOf } from '../objectives/problem.ts'
import type { RowGroup } from '../sources/row-source.ts'
import type { ActiveFill } from './active-set.ts'
import type { AwayRound, SetOfRun } from './away-rows.ts'
import { type IndexedFound, indexedSearchTask } from './indexed-task.ts'

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
export const firstReach = (features: number): number => Math.min(0.3, 2 / Math.sqrt(Math.max(1, features)))
/** Share of the gap that is allowed, which rows outside of S may owe before a certificate is asked for. */
export const OUTSIDE_SHARE = 0.4

/** Of an index that knows fewer rows than this share to be outside, most rows are looked at. */
const MOST_OUTSIDE = 0.5

/** What searches must have looked at before they tell whether the index leaves rows out: so many rows, or such a share of all. */
const TELLING_ROWS = 20_000
const TELLING_SHARE = 0.25

/** How far a run has come: plain data, for checkpoints. */
export interface Course {
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
  /** What rows outside of S owe, by the last search, and what the gap may be. */
  owed: Owed
  /** Whether the last search found that S is all there is. */
  ready: boolean
  /** Whether the last step was one over all of S. */
  whole: boolean
  /** The round over rows of S that are away, where one is under way. */
  away: AwayRound | null
  /** By the paper's rule the run is at its end. */
  settled: boolean
  /** Whether rows that are left out of the problem lie beyond the limit by the weights of the anchor. */
  anchored: boolean
  /** Whether S is solved as it is before the next search. */
  sweepsFirst: boolean
  /** Where the records of S are. */
  base: number
  /** Rows that searches have looked at, and rows that they knew to be outside without a look. */
  looked: number
  known: number
}

/** What rows outside of S owe to the gap, by a search, and what the gap may be. */
export interface Owed {
  outside: number
  allowed: number
}

export class IndexSearch {
  readonly #of: SetOfRun
  /** Address of the weights that said who the outliers are, of a loss that gives some up. */
  readonly anchor: number | undefined

  constructor(of: SetOfRun) {
    this.#of = of
    const { objective, engine } = of
    if (objective.settings.outliersBelow !== undefined) this.anchor = anchorRoom(engine, objective)
  }

  /** Margins of the rows that are wanted. Outliers are known one by one; by the anchor, nodes of nothing else are not opened. */
  #band({ anchored }: Course): Pick<BandQuery, 'high' | 'low' | 'anchor'> {
    const { objective } = this.#of
    const { outliersBelow: limit } = objective.settings
    const { anchor } = this
    if (limit === undefined || anchor === undefined || !anchored) return { high: HIGH }
    const { arena, weightCount, narrow } = objective
    const { squaredLengthF32, squaredLengthF64 } = arena.numeric
    const length = Math.sqrt((narrow ? squaredLengthF32 : squaredLengthF64)(anchor, weightCount))
    return { high: HIGH, low: limit - ROUNDING * (1 + length), anchor }
  }

  /** Rows that a search is asked for: what there is room for, and no more than may come at a time. */
  #wanted({ fill: { count, away } }: Course): number {
    const wanted = Math.max(FRESH_ROWS, Math.ceil(FRESH_SHARE * (count + away)))
    return Math.max(1, Math.min(wanted, Math.floor(this.#of.memory.capacity / 2)))
  }

  /** Asks the next trees for rows, which join S. */
  async search(group: RowGroup, course: Course): Promise<IndexedFound> {
    const { objective, engine, settings, memory } = this.#of
    const { store, rows, threads, counts } = engine
    const { settings: problem } = objective
    const { seed, shrinking, normalize } = settings
    const found = await threads.run(indexedSearchTask, {
      ...{ of: objective.at(group), memory, fill: course.fill },
      store: { folder: store.folder, fingerprint: store.manifest.fingerprint },
      beside: engine.beside,
      query: { bias: problem.bias, positive: problem.positive, unit: normalize === 'unit', ...this.#band(course) },
      boxes: boxesOf(problem),
      limits: {
        wanted: this.#wanted(course),
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
    counts.index = {
      ...before,
      rowsTouched,
      pagesRead: before.pagesRead + pagesRead,
      bytesRead: before.bytesRead + bytesRead,
    }
    course.looked += found.searched.visited
    course.known += found.searched.outside
    course.tree += found.searched.trees
    if (course.tree >= found.trees) nextRound(course)
    return found
  }

  /** Rows of an earlier run may have dual variables, and none of them is in memory. */
  #hasDualVariables(): boolean {
    const { objective, engine } = this.#of
    return objective.arena.f64(objective.alpha, engine.rows).some(value => value > 0)
  }

  /** Rows that a search speaks for: all of the trees that it went through to the end, but of the last one what it saw. */
  covered(course: Course, { searched: { found, visited, outside, resting, leftOut } }: IndexedFound): number {
    return visited + outside + resting + (found < this.#wanted(course) ? leftOut : 0)
  }

  /** Whether rows outside of S hardly matter: by the paper's rule, or by what they and those of S owe to the gap. */
  isAllThereIs(course: Course, found: IndexedFound): boolean {
    const { settings, engine } = this.#of
    const { indexLeft } = settings
    const { outside, allowed } = course.owed
    if (indexLeft === undefined) return outside <= OUTSIDE_SHARE * allowed
    if (course.exact) return found.searched.found < indexLeft
    return found.searched.found / Math.max(1, this.covered(course, found)) < indexLeft / engine.rows
  }

  /** Whether a search that leaves nothing out would look at most rows of the store, by the rows that a hasty one knew to be outside:
   *  the certificate looks at all of them anyway, and reads less. The paper's rule goes by searches alone. */
  isNoShorter({ exact }: Course, { searched: { outside } }: IndexedFound): boolean {
    const { indexStop, indexLeft } = this.#of.settings
    return exact && indexStop !== 'exact' && indexLeft === undefined && outside < MOST_OUTSIDE * this.#of.engine.rows
  }

  /** Whether searches look at most rows, by all of them so far: then the index saves nothing. Who asks for a rule of searches gets
   *  searches. */
  looksAtMost({ looked, known }: Course): boolean {
    const { indexStop, indexLeft } = this.#of.settings
    if (indexStop === 'exact' || indexLeft !== undefined) return false
    const telling = Math.min(TELLING_ROWS, TELLING_SHARE * this.#of.engine.rows)
    return looked >= telling && known < MOST_OUTSIDE * (looked + known)
  }

  /** A search that is to say whether S is all there is leaves nothing out. */
  lookClosely(course: Course): void {
    course.hasty = false
    nextRound(course)
  }

  /** There are more rows after all. */
  lookHastily(course: Course): void {
    course.hasty = true
    course.reach = Math.min(1, 2 * course.reach)
    this.wake()
  }

  /** No row rests any more. */
  wake(): void {
    const { resting, bitmapBytes } = this.#of.memory
    this.#of.engine.arena.bytes(resting, bitmapBytes).fill(0)
  }
}

function nextRound(course: Course): void {
  course.tree = 0
  course.round++
}
