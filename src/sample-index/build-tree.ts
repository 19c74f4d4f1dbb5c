// Builds metric trees of rows in memory, page by page, children before their parents. The root divides rows by class; below it
// each node draws pivots among its rows, and every row goes to the nearest.
//
// Yen, Chang, Lin, Lin, Lin: Indexed block coordinate descent for large-scale linear classification with limited memory
// (KDD 2013), section 4.1. The paper's metric is the angle between squares of rows, which takes a row and its opposite for
// one. Here rows of one class are together, so the side of the hyperplane matters, and the metric is the plain distance: for
// rows of unit length it orders as the angle does.
import { type Arena, formatBytes } from '../numeric/arena.ts'
import { drawFrom } from '../numeric/draw.ts'
import { SpreadFields } from '../numeric/fields/spread.ts'
import { TreeChildFields } from '../numeric/fields/tree-child.ts'
import { TreePageFields } from '../numeric/fields/tree-page.ts'
import { ROW_CLASS, ROW_ENTRIES, ROW_KIND, ROW_KIND_DENSE, ROW_NORM, ROW_SCALE } from '../numeric/layouts.ts'
import {
  CHILD_BYTES,
  TREE_ENTRIES,
  TREE_KIND_INNER,
  TREE_KIND_LEAF,
  TREE_MIXED,
  TREE_ROW_BYTES,
} from '../numeric/metric-tree-layout.ts'
import { Region } from '../numeric/region.ts'
import { roundUp } from '../numeric/rounding.ts'
import type { Address, ByteCount } from '../sizes.ts'
import { checksumText, type TreeRoot, type TreeSettings } from './tree-file.ts'

/** With more features a centre is one of the rows, not their mean, which would have an entry for each feature. */
const MOST_MEAN_FEATURES = 4096
/** With more features a ball bounds scores as well as a box does, and takes less room. */
export const MOST_BOX_FEATURES = 256
/** A leaf has room for so many rows at least: its centre and its box take as much as a row or three. */
const LEAST_LEAF = 8
/** With more classes the root does not divide by them. */
const MOST_CLASSES = 256
/** Where pivots leave so many rows together, rows are much the same: they are cut into parts instead. */
const TOGETHER = 0.95
/** What rounding may add to an angle that comes from a cosine near 1. */
const ANGLE_SLACK = 1e-7
const RADIUS_SLACK = 1e-9

/** Rows to build from and room to work in, for as many rows as a block has: addresses. */
export interface BuildRooms {
  /** u32[rows]: records, and the rows' numbers in their block. They are moved about. */
  list: Address
  numbers: Address
  /** u32[rows] each, and f64[rows]. */
  otherList: Address
  otherNumbers: Address
  assigned: Address
  best: Address
  /** f64[features], zeros. */
  vector: Address
  spread: Address
  /** BOX_ROOM bytes. */
  box: Address
}

/** Three numbers for each feature, and an index and a value for each entry of a row. */
export const BOX_ROOM: ByteCount = MOST_BOX_FEATURES * (3 * 8 + 8 + 8)

export const ROOM_PER_ROW: ByteCount = 5 * 4 + 8

/** A page that is written, with the ball of its rows. */
interface Built {
  page: number
  bytes: ByteCount
  checksum: bigint
  rows: number
  depth: number
  class: number
  /** Place of its first row among the block's, in the order of the leaves: children stand where their parent does. */
  first: number
  ball: Ball
}

type Page = Omit<Built, 'ball' | 'class' | 'first'>

interface Ball {
  radius: number
  angle: number
  shortest: number
  longest: number
  /** The record of the centre. */
  centre: Uint8Array
  /** The least value of each feature, then the largest; empty where there are too many features. */
  box: Float32Array
}

export interface PageCounts {
  leaves: number
  innerNodes: number
  largestPage: number
}

export class TreeBuilder {
  readonly counts: PageCounts = { leaves: 0, innerNodes: 0, largestPage: 0 }
  readonly #arena: Arena
  readonly #rooms: BuildRooms
  readonly #settings: TreeSettings
  readonly #features: number
  readonly #page: Region
  /** Appends a page to the file; where it begins. */
  readonly #append: (page: Uint8Array) => number | Promise<number>
  #drawn = 0
  #leafRows = 1
  #block = 0

  constructor(
    arena: Arena,
    rooms: BuildRooms,
    settings: TreeSettings,
    features: number,
    append: (page: Uint8Array) => number | Promise<number>,
  ) {
    this.#arena = arena
    this.#rooms = rooms
    this.#settings = settings
    this.#features = features
    this.#append = append
    this.#page = new Region(arena, 'a page of the index')
  }

  /** Trees of all rows of a block, each of a random part of them. */
  async build(block: number, rows: number, recordBytes: ByteCount): Promise<TreeRoot[]> {
    this.#block = block
    this.#drawn = 0
    const fitting = Math.floor((this.#settings.leafBytes * rows) / Math.max(recordBytes, 1))
    this.#leafRows = Math.max(LEAST_LEAF, fitting)
    const trees = Math.max(1, Math.ceil(rows / this.#settings.treeRows))
    if (trees > 1) this.#shuffle(rows)
    const roots: TreeRoot[] = []
    for (let t = 0; t < trees; t++) {
      const from = Math.floor((rows * t) / trees)
      const count = Math.floor((rows * (t + 1)) / trees) - from
      if (count === 0) continue
      const { page, bytes, checksum, depth } = await this.#root(from, count)
      roots.push({ page, bytes, checksum: checksumText(checksum), first: from, rows: count, depth })
    }
    return roots
  }

  #draw(below: number): number {
    const { seed } = this.#settings
    return Number(drawFrom([seed, this.#block, this.#drawn++]) % BigInt(below))
  }

  #shuffle(rows: number): void {
    const [list, numbers] = this.#lists(0, rows)
    for (let k = rows - 1; k > 0; k--) {
      const other = this.#draw(k + 1)
      ;[list[k], list[other]] = [list[other], list[k]]
      ;[numbers[k], numbers[other]] = [numbers[other], numbers[k]]
    }
  }

  #lists(from: number, count: number): [list: Uint32Array, numbers: Uint32Array] {
    const { list, numbers } = this.#rooms
    return [this.#arena.u32(list + from * 4, count), this.#arena.u32(numbers + from * 4, count)]
  }

  /** The root: an inner node whose children are the classes. */
  async #root(from: number, count: number): Promise<Page> {
    const [list] = this.#lists(from, count)
    const classes = new Map<number, number>()
    const assigned = this.#arena.u32(this.#rooms.assigned, count)
    for (let k = 0; k < count; k++) {
      const number = this.#arena.getU32(list[k] + ROW_CLASS)
      assigned[k] = classes.get(number) ?? classes.size
      classes.set(number, assigned[k])
    }
    if (classes.size > MOST_CLASSES) return this.#inner([await this.#node(from, count, TREE_MIXED)])
    const numbers = [...classes.keys()]
    const children: Built[] = []
    for (const [group, part] of this.#partition(from, count, numbers.length).entries())
      children.push(await this.#node(part.from, part.count, numbers[group]))
    return this.#inner(children)
  }

  /** Brings rows of a group together, by what `assigned` says of each. */
  #partition(from: number, count: number, groups: number): { from: number; count: number }[] {
    const assigned = this.#arena.u32(this.#rooms.assigned, count)
    const [list, numbers] = this.#lists(from, count)
    const otherList = this.#arena.u32(this.#rooms.otherList, count)
    const otherNumbers = this.#arena.u32(this.#rooms.otherNumbers, count)
    const next = new Uint32Array(groups + 1)
    for (let k = 0; k < count; k++) next[assigned[k] + 1]++
    for (let g = 0; g < groups; g++) next[g + 1] += next[g]
    const parts = Array.from({ length: groups }, (_, g) => ({ from: from + next[g], count: next[g + 1] - next[g] }))
    for (let k = 0; k < count; k++) {
      const at = next[assigned[k]]++
      otherList[at] = list[k]
      otherNumbers[at] = numbers[k]
    }
    list.set(otherList)
    numbers.set(otherNumbers)
    return parts
  }

  async #node(from: number, count: number, label: number): Promise<Built> {
    const ball = this.#ballOf(from, count)
    if (count <= this.#leafRows) return { ...(await this.#leaf(from, count)), class: label, first: from, ball }
    const children: Built[] = []
    for (const part of this.#split(from, count)) children.push(await this.#node(part.from, part.count, label))
    return { ...(await this.#inner(children)), class: label, first: from, ball }
  }

  /** Parts of some rows: those nearest to each of some pivots. */
  #split(from: number, count: number): { from: number; count: number }[] {
    const { fanOut } = this.#settings
    const { list, vector, best, assigned } = this.#rooms
    const { numeric } = this.#arena
    const pivots = Math.min(fanOut, Math.max(2, Math.ceil(count / this.#leafRows)))
    const [rows] = this.#lists(from, count)
    this.#arena.f64(best, count).fill(Number.POSITIVE_INFINITY)
    for (let p = 0; p < pivots; p++) {
      const pivot = rows[this.#draw(count)]
      numeric.axpyF64(pivot, 1, vector)
      numeric.nearestPivot(list + from * 4, count, vector, this.#arena.getF64(pivot + ROW_NORM), p, best, assigned)
      numeric.clearRow(pivot, vector)
    }
    const parts = this.#partition(from, count, pivots).filter(part => part.count > 0)
    if (Math.max(...parts.map(part => part.count)) <= TOGETHER * count) return parts
    return Array.from({ length: pivots }, (_, p) => {
      const start = from + Math.floor((count * p) / pivots)
      return { from: start, count: from + Math.floor((count * (p + 1)) / pivots) - start }
    })
  }

  /** The centre of some rows and how far they lie from it. */
  #ballOf(from: number, count: number): Ball {
    const { list, vector, spread } = this.#rooms
    const { numeric } = this.#arena
    const features = this.#features
    const table = list + from * 4
    let centre: Uint8Array
    let squares = 0
    const isMean = features <= MOST_MEAN_FEATURES
    const pivot = this.#arena.getU32(table)
    if (isMean) {
      numeric.sumRows(table, count, 1 / count, vector)
      centre = new Uint8Array(roundUp(ROW_ENTRIES + features * 4, 8))
      const values = new Float32Array(centre.buffer, ROW_ENTRIES, features)
      // The ball is about the centre as it is kept.
      const mean = this.#arena.f64(vector, features)
      values.set(mean)
      mean.set(values)
      for (const value of values) squares += value * value
      const view = new DataView(centre.buffer)
      view.setUint32(0, features, true)
      view.setUint32(ROW_KIND, ROW_KIND_DENSE, true)
      view.setFloat64(ROW_SCALE, 1, true)
      view.setFloat64(ROW_NORM, squares, true)
    } else {
      numeric.axpyF64(pivot, 1, vector)
      squares = this.#arena.getF64(pivot + ROW_NORM)
      centre = this.#arena.bytes(pivot, numeric.recordBytes(pivot) >>> 0).slice()
    }
    numeric.spreadAbout(table, count, vector, squares, spread)
    if (isMean) this.#arena.f64(vector, features).fill(0)
    else numeric.clearRow(pivot, vector)
    const found = new SpreadFields(this.#arena, spread)
    const longest = Math.sqrt(found.longest)
    // Distances are differences of squares: what rounding takes of them is relative to the squares.
    const furthest = Math.max(0, found.furthest) + RADIUS_SLACK * (found.longest + squares)
    const cosine = Math.max(-1, Math.min(1, found.leastCosine))
    return {
      radius: Math.sqrt(furthest),
      angle: squares > 0 ? Math.min(Math.PI, Math.acos(cosine) + ANGLE_SLACK) : Math.PI,
      shortest: Math.sqrt(found.shortest) * (1 - RADIUS_SLACK),
      longest: longest * (1 + RADIUS_SLACK),
      centre,
      box: this.#boxOf(table, count),
    }
  }

  #boxOf(table: Address, count: number): Float32Array {
    const features = this.#features
    if (features > MOST_BOX_FEATURES) return new Float32Array(0)
    const { box: least } = this.#rooms
    const [largest, seen, entries] = [1, 2, 3].map(k => least + k * features * 8)
    this.#arena.numeric.boxOf(table, count, features, least, largest, seen, entries)
    const bounds = this.#arena.f64(least, 2 * features)
    // Rounded away from the rows.
    return Float32Array.from(bounds, (bound, j) => {
      const near = Math.fround(bound)
      const step = Math.abs(near) * 2 ** -23 + 2 ** -149
      return j < features ? (near > bound ? near - step : near) : near < bound ? near + step : near
    })
  }

  #leaf(from: number, count: number): Promise<Page> {
    const [list, numbers] = this.#lists(from, count)
    const { numeric } = this.#arena
    const sizes = Array.from(list, row => numeric.recordBytes(row) >>> 0)
    const records = roundUp(TREE_ENTRIES + count * TREE_ROW_BYTES, 8)
    const bytes = sizes.reduce((sum, size) => sum + size, records)
    const at = this.#startPage(TREE_KIND_LEAF, count, bytes)
    const entries = this.#arena.u32(at + TREE_ENTRIES, count * 2)
    const page = this.#arena.bytes(at, bytes)
    let record = records
    for (let k = 0; k < count; k++) {
      entries[2 * k] = numbers[k]
      entries[2 * k + 1] = record
      page.set(this.#arena.bytes(list[k], sizes[k]), record)
      record += sizes[k]
    }
    this.counts.leaves++
    return this.#endPage(page, count, 1)
  }

  #inner(children: Built[]): Promise<Page> {
    const centres = TREE_ENTRIES + children.length * CHILD_BYTES
    const sizeOf = ({ centre, box }: Ball): number => roundUp(centre.length, 8) + box.length * 4
    const bytes = children.reduce((sum, { ball }) => sum + sizeOf(ball), centres)
    const at = this.#startPage(TREE_KIND_INNER, children.length, bytes)
    const page = this.#arena.bytes(at, bytes)
    let centre = centres
    for (const [k, child] of children.entries()) {
      const { centre: record, box, ...ball } = child.ball
      const fields = new TreeChildFields(this.#arena, at + TREE_ENTRIES + k * CHILD_BYTES)
      Object.assign(fields, ball)
      fields.page = BigInt(child.page)
      fields.checksum = child.checksum
      fields.pageBytes = child.bytes
      fields.rows = child.rows
      fields.class = child.class
      fields.first = child.first
      fields.leaf = child.depth === 1 ? 1 : 0
      fields.centre = centre
      page.set(record, centre)
      centre += roundUp(record.length, 8)
      fields.box = box.length > 0 ? centre : 0
      page.set(new Uint8Array(box.buffer), centre)
      centre += box.length * 4
    }
    this.counts.innerNodes++
    const rows = children.reduce((sum, child) => sum + child.rows, 0)
    return this.#endPage(page, rows, 1 + Math.max(...children.map(({ depth }) => depth)))
  }

  #startPage(kind: number, count: number, bytes: ByteCount): Address {
    if (bytes >= 2 ** 31) throw new Error(`a page of ${formatBytes(bytes)} cannot be`)
    const at = this.#page.room(bytes)
    this.#arena.bytes(at, bytes).fill(0)
    const fields = new TreePageFields(this.#arena, at)
    fields.kind = kind
    fields.count = count
    fields.length = bytes
    return at
  }

  async #endPage(page: Uint8Array, rows: number, depth: number): Promise<Page> {
    const checksum = BigInt.asUintN(64, this.#arena.numeric.xxh64(page.byteOffset, page.length))
    this.counts.largestPage = Math.max(this.counts.largestPage, page.length)
    return { page: await this.#append(page), bytes: page.length, checksum, rows, depth }
  }
}
