// The metric forest of a store, and best-bin-first search in it: rows whose margin lies in a band,
//
//   low < y wᵀx   and   y wᵀx < high          (10) of the paper, with low = L⁻¹(1 + s) and high = 1
//
// Yen, Chang, Lin, Lin, Lin (KDD 2013), sections 3.2 and 4.1. A node's rows lie in a ball. Their scores are within ‖w‖ times
// its radius of the centre's, and by its angle and the lengths of its rows, which are the paper's R, within another interval.
// So what may be in the band widens and narrows with 1/‖w‖. A node is as far beyond the band as its centre is, in units of
// what the ball allows: from 1 on no row of it can be inside. `reach` ends the search earlier, and some rows are not found.

import type { Store } from '../block-store/reader.ts'
import { type Arena, formatBytes } from '../numeric/arena.ts'
import { QueryFields } from '../numeric/fields/query.ts'
import { TreeChildFields } from '../numeric/fields/tree-child.ts'
import {
  CHILD_BYTES,
  QUERY_BYTES,
  TREE_COUNT,
  TREE_ENTRIES,
  TREE_KIND,
  TREE_KIND_LEAF,
} from '../numeric/metric-tree-layout.ts'
import { Region } from '../numeric/region.ts'
import type { Address, ByteCount } from '../sizes.ts'
import { BinQueue } from './bin-queue.ts'
import { wholeIndex } from './index-state.ts'
import { type CacheRoom, PageCache } from './page-cache.ts'
import { type TreeFacts, type TreeRoot, treeFile } from './tree-file.ts'

/** Which rows are searched. Addresses are those of weights in the arena, the bias last. */
export interface BandQuery {
  weights: Address
  /** Weights in all, the bias among them. */
  weightCount: number
  /** Whether weights are f32. */
  narrow: boolean
  /** Value of the feature added to every row; 0 for none. */
  bias: number
  /** Class number that is positive. */
  positive: number
  /** Whether rows count as if they were unit length. */
  unit: boolean
  /** Margins are below `high`, and above `low` by the weights of the anchor, or by the same weights without one. */
  high: number
  low?: number
  anchor?: Address
  /** Bitmaps over all rows: rows that are not wanted; and where rows that were looked at are marked. */
  taken?: Address
  touched?: Address
  /** Shrinking: a bitmap over all rows in the order of the leaves. Rows whose bit is set are left out, and so is a node of such
   *  rows alone. The search sets the bits of rows that are taken, and of those whose margin is `restBeyond` above `high`. */
  resting?: Address
  restBeyond?: number
  /** Address of the dual variables of all rows: rows are wanted where they are not 0, whatever their margin. */
  alpha?: Address
}

export interface SearchLimits {
  /** Trees to go through, one after the other; all of them in order when not given. */
  trees?: readonly number[]
  /** Ends when so many rows were found. */
  wanted?: number
  /** Begins no other tree when so many rows were covered: looked at, or known to be outside. */
  most?: number
  /** Leaves that lie further beyond the band are left out: 1, the default, leaves out those alone that cannot hold a row of it. */
  reach?: number
}

/** Rows of a leaf that were found. They stay in memory until the taker returns. */
export interface FoundRows {
  /** Address of the page. */
  page: Address
  /** Places of the rows in it, and their margins. */
  places: Uint32Array
  margins: Float64Array
  /** Number of the first row of the block, in the order of the store. */
  firstRow: number
}

export interface SearchResult {
  found: number
  /** Rows that were looked at, and rows that cannot be in the band. */
  visited: number
  outside: number
  /** Rows of nodes that rest. */
  resting: number
  /** Rows that may be in the band and were left out: by `reach`, or because the search ended. */
  leftOut: number
  /** Trees that were gone through to their end. */
  trees: number
  /** Rows of the trees that were begun. */
  rows: number
}

interface Tree {
  file: number
  firstRow: number
  root: TreeRoot
}

export class MetricForest {
  readonly trees: readonly Tree[]
  readonly #arena: Arena
  readonly #cache: PageCache
  readonly #query: QueryFields
  readonly #bounds: Region
  readonly #found: Region
  readonly #margins: Region

  private constructor(arena: Arena, store: Store, facts: TreeFacts[], room: CacheRoom) {
    this.#arena = arena
    const { folder, manifest } = store
    const paths = manifest.blocks.map(({ file }) => treeFile(folder, file))
    const largest = facts.reduce((most, { largestPage }) => Math.max(most, largestPage), 0)
    this.#cache = new PageCache(arena, paths, room, largest)
    this.#query = new QueryFields(arena, arena.allocateZeroed(QUERY_BYTES, 'a query of the index'))
    this.#bounds = new Region(arena, 'bounds of nodes')
    this.#found = new Region(arena, 'rows that were found')
    this.#margins = new Region(arena, 'margins of rows that were found')
    let firstRow = 0
    this.trees = facts.flatMap(({ trees, block }, file) => {
      const first = firstRow
      firstRow += block.rows
      return trees.map(root => ({ file, firstRow: first, root }))
    })
  }

  /** The forest of a store; refuses one that is not there or not whole. `room` is for pages. */
  static async open(arena: Arena, store: Store, room: CacheRoom | ByteCount): Promise<MetricForest> {
    const facts = await wholeIndex(store)
    const places =
      typeof room === 'number'
        ? { at: arena.allocate(room, `pages of the index, ${formatBytes(room)}`), bytes: room }
        : room
    return new MetricForest(arena, store, facts, places)
  }

  /** Pages that were read, and pages that were in memory. */
  get counts(): Readonly<PageCache['counts']> {
    return this.#cache.counts
  }

  /** Hands the rows that are found to `take`, leaf by leaf. */
  search(query: BandQuery, limits: SearchLimits, take: (rows: FoundRows) => void): SearchResult {
    this.#ask(query)
    const { wanted = Number.POSITIVE_INFINITY, most = Number.POSITIVE_INFINITY, reach = 1 } = limits
    const result: SearchResult = { found: 0, visited: 0, outside: 0, resting: 0, leftOut: 0, trees: 0, rows: 0 }
    for (const number of limits.trees ?? this.trees.keys()) {
      if (result.found >= wanted || result.visited + result.outside >= most) break
      this.#searchTree(this.trees[number], { wanted, reach }, result, take)
    }
    return result
  }

  #searchTree(
    { file, firstRow, root }: Tree,
    { wanted, reach }: { wanted: number; reach: number },
    result: SearchResult,
    take: (rows: FoundRows) => void,
  ): void {
    this.#query.firstRow = firstRow
    result.rows += root.rows
    const queue = new BinQueue()
    const { page: at, bytes, first, rows } = root
    queue.push({ beyond: 0, first, rows, page: at, bytes, checksum: BigInt(`0x${root.checksum}`) })
    while (result.found < wanted) {
      const bin = queue.pop()
      if (!bin) break
      const page = this.#cache.take(file, bin)
      if (this.#arena.getU32(page + TREE_KIND) === TREE_KIND_LEAF) {
        result.visited += bin.rows
        const count = this.#findInLeaf(page, firstRow + bin.first)
        result.found += count
        if (count > 0) take({ page, firstRow, ...this.#lists(count) })
      } else this.#openNode(page, { reach, firstRow }, queue, result)
    }
    if (queue.size === 0) result.trees++
    result.leftOut += queue.rows
  }

  /** Puts the children of a node into the queue that may hold rows of the band. */
  #openNode(
    page: Address,
    { reach, firstRow }: { reach: number; firstRow: number },
    queue: BinQueue,
    result: SearchResult,
  ): void {
    const count = this.#arena.getU32(page + TREE_COUNT)
    const bounds = this.#bounds.room(count * 8)
    // Rows that are wanted for their dual variables may lie anywhere.
    if (this.#query.alpha !== 0) this.#arena.f64(bounds, count).fill(0)
    else this.#arena.numeric.boundChildren(page, this.#query.at, bounds)
    const beyond = this.#arena.f64(bounds, count)
    const { resting } = this.#query
    const { numeric } = this.#arena
    for (let k = 0; k < count; k++) {
      const child = new TreeChildFields(this.#arena, page + TREE_ENTRIES + k * CHILD_BYTES)
      const { first, rows, pageBytes: bytes, checksum } = child
      if (beyond[k] >= 1) result.outside += rows
      else if (resting !== 0 && numeric.allBits(resting, firstRow + first, rows)) result.resting += rows
      // The parts of a large ball may lie anywhere in it: only leaves are left out that are far, but not certain to be outside.
      else if (child.leaf === 1 && beyond[k] >= reach) result.leftOut += rows
      else queue.push({ beyond: beyond[k], first, rows, page: Number(child.page), bytes, checksum })
    }
  }

  #findInLeaf(page: Address, place: number): number {
    this.#query.place = place
    const count = this.#arena.getU32(page + TREE_COUNT)
    this.#query.found = this.#found.room(count * 4)
    this.#query.margins = this.#margins.room(count * 8)
    return this.#arena.numeric.findInLeaf(page, this.#query.at)
  }

  #lists(count: number): { places: Uint32Array; margins: Float64Array } {
    const { found, margins } = this.#query
    return { places: this.#arena.u32(found, count), margins: this.#arena.f64(margins, count) }
  }

  /** Writes a query down for the loops. */
  #ask(query: BandQuery): void {
    const { weights, weightCount, narrow, bias, anchor = 0 } = query
    const fields = this.#query
    const { numeric } = this.#arena
    const features = weightCount - 1
    const lengthOf = (w: Address): number =>
      Math.sqrt((narrow ? numeric.squaredLengthF32 : numeric.squaredLengthF64)(w, features))
    const biasOf = (w: Address): number =>
      bias === 0 ? 0 : bias * (narrow ? this.#arena.f32(w, weightCount) : this.#arena.f64(w, weightCount))[features]
    fields.weights = weights
    fields.features = features
    fields.anchor = anchor
    fields.bias = biasOf(weights)
    fields.anchorBias = anchor ? biasOf(anchor) : 0
    fields.length = lengthOf(weights)
    fields.anchorLength = anchor ? lengthOf(anchor) : 0
    fields.high = query.high
    fields.low = query.low ?? Number.NEGATIVE_INFINITY
    fields.positive = query.positive
    fields.unit = query.unit ? 1 : 0
    fields.narrow = narrow ? 1 : 0
    fields.taken = query.taken ?? 0
    fields.touched = query.touched ?? 0
    fields.resting = query.resting ?? 0
    fields.restBeyond = query.restBeyond ?? 1
    fields.alpha = query.alpha ?? 0
  }

  close(): void {
    this.#cache.close()
  }
}
