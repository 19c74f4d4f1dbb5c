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
import { BinFields } from '../numeric/fields/bin.ts'
import { QueryFields } from '../numeric/fields/query.ts'
import { BIN_BYTES, QUERY_BYTES } from '../numeric/metric-tree-layout.ts'
import { Region } from '../numeric/region.ts'
import type { Address, ByteCount } from '../sizes.ts'
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

/** Nodes that the queue has room for at first. */
const LEAST_QUEUE = 64

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
  /** The node that was taken out of the queue last. */
  readonly #bin: BinFields
  #queue: { at: Address; room: number } = { at: 0, room: 0 }
  readonly #found: Region
  readonly #margins: Region

  private constructor(arena: Arena, store: Store, facts: TreeFacts[], room: CacheRoom, beside: ByteCount) {
    this.#arena = arena
    const { folder, manifest } = store
    const paths = manifest.blocks.map(({ file }) => treeFile(folder, file))
    const largest = facts.reduce((most, { largestPage }) => Math.max(most, largestPage), 0)
    const onDisk = facts.reduce((sum, { bytes }) => sum + bytes, 0)
    this.#cache = new PageCache(arena, paths, room, largest, beside < onDisk)
    this.#query = new QueryFields(arena, arena.allocateZeroed(QUERY_BYTES, 'a query of the index'))
    this.#bin = new BinFields(arena, arena.allocateZeroed(BIN_BYTES, 'a node of the index'))
    this.#found = new Region(arena, 'rows that were found')
    this.#margins = new Region(arena, 'margins of rows that were found')
    let firstRow = 0
    this.trees = facts.flatMap(({ trees, block }, file) => {
      const first = firstRow
      firstRow += block.rows
      return trees.map(root => ({ file, firstRow: first, root }))
    })
  }

  /** The forest of a store; refuses one that is not there or not whole. `room` is for pages. `beside`: what the system has for pages of
   *  files. Where the index does not fit there, it is read past them. */
  static async open(
    arena: Arena,
    store: Store,
    room: CacheRoom | ByteCount,
    beside: ByteCount = Number.POSITIVE_INFINITY,
  ): Promise<MetricForest> {
    const facts = await wholeIndex(store)
    const places =
      typeof room === 'number'
        ? { at: arena.allocate(room, `pages of the index, ${formatBytes(room)}`), bytes: room }
        : room
    return new MetricForest(arena, store, facts, places, beside)
  }

  /** Pages that were read, and pages that were in memory. */
  get counts(): Readonly<PageCache['counts']> {
    return this.#cache.counts
  }

  /** Hands the rows that are found to `take`, leaf by leaf. */
  search(query: BandQuery, limits: SearchLimits, take: (rows: FoundRows) => void): SearchResult {
    this.#ask(query)
    const { wanted = Number.POSITIVE_INFINITY, most = Number.POSITIVE_INFINITY, reach = 1 } = limits
    this.#query.reach = reach
    const result: SearchResult = { found: 0, visited: 0, outside: 0, resting: 0, leftOut: 0, trees: 0, rows: 0 }
    for (const number of limits.trees ?? this.trees.keys()) {
      if (result.found >= wanted || result.visited + result.outside >= most) break
      this.#searchTree(this.trees[number], wanted, result, take)
    }
    return result
  }

  #searchTree(
    { file, firstRow, root }: Tree,
    wanted: number,
    result: SearchResult,
    take: (rows: FoundRows) => void,
  ): void {
    const query = this.#query
    const bin = this.#bin
    const { numeric } = this.#arena
    this.#beginTree(firstRow, root)
    result.rows += root.rows
    while (result.found < wanted && numeric.popBin(query.at, bin.at)) {
      const page = this.#cache.take(file, bin)
      const children = numeric.childCount(page)
      if (children > 0) {
        this.#makeRoom(query.waiting + children)
        numeric.openNode(page, query.at)
        continue
      }
      const { rows, first } = bin
      result.visited += rows
      const count = this.#findInLeaf(page, rows, firstRow + first)
      result.found += count
      if (count > 0) take({ page, firstRow, ...this.#lists(count) })
    }
    if (query.waiting === 0) result.trees++
    result.outside += query.rowsOutside
    result.resting += query.rowsResting
    result.leftOut += query.rowsLeftOut + (numeric.rowsWaiting(query.at) >>> 0)
  }

  /** Of a tree that a search begins with, the root waits and no row is counted. */
  #beginTree(firstRow: number, { page, bytes, checksum, first, rows }: TreeRoot): void {
    const query = this.#query
    const bin = this.#bin
    query.firstRow = firstRow
    query.rowsOutside = 0
    query.rowsResting = 0
    query.rowsLeftOut = 0
    query.waiting = 0
    this.#makeRoom(1)
    bin.beyond = 0
    bin.page = page
    bin.checksum = BigInt(`0x${checksum}`)
    bin.pageBytes = bytes
    bin.rows = rows
    bin.first = first
    this.#arena.numeric.pushBin(query.at, bin.at)
  }

  /** Room for so many nodes that wait. Those that wait already move along. */
  #makeRoom(nodes: number): void {
    const { at, room } = this.#queue
    if (nodes <= room) return
    const more = Math.max(nodes, 2 * room, LEAST_QUEUE)
    const next = this.#arena.allocate(more * BIN_BYTES, 'nodes of the index that wait')
    const waiting = this.#query.waiting * BIN_BYTES
    this.#arena.bytes(next, waiting).set(this.#arena.bytes(at, waiting))
    this.#queue = { at: next, room: more }
    this.#query.queue = next
  }

  #findInLeaf(page: Address, rows: number, place: number): number {
    const query = this.#query
    query.place = place
    query.found = this.#found.room(rows * 4)
    query.margins = this.#margins.room(rows * 8)
    return this.#arena.numeric.findInLeaf(page, query.at)
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
