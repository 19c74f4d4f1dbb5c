// Best-bin-first search in a metric tree: the queue of nodes that wait, the nearest to the band first, and what becomes of the
// children of a node that is opened.
import {
  BIN_BEYOND, BIN_BYTES, BIN_CHECKSUM, BIN_FIRST, BIN_PAGE, BIN_PAGE_BYTES, BIN_ROWS, BIN_TURN, CHILD_BYTES, CHILD_CHECKSUM, CHILD_FIRST,
  CHILD_LEAF, CHILD_PAGE, CHILD_PAGE_BYTES, CHILD_ROWS, QUERY_ALPHA, QUERY_FIRST_ROW, QUERY_QUEUE, QUERY_REACH, QUERY_RESTING,
  QUERY_ROWS_LEFT_OUT, QUERY_ROWS_OUTSIDE, QUERY_ROWS_RESTING, QUERY_WAITING, TREE_COUNT, TREE_ENTRIES, TREE_KIND, TREE_KIND_LEAF,
} from '../metric-tree-layout'
import { allBits, boundChild } from './metric-tree'

const GOLDEN: f64 = 0.6180339887498949

/** Nodes that lie equally far come from neither end of a file, so that rows of all classes come, and yet in the same way every
 *  time. */
@inline
function turnOf(page: f64): f64 {
  const place = page * GOLDEN
  return place - Math.floor(place)
}

@inline
function isBefore(beyond: f64, turn: f64, bin: usize): bool {
  const other = load<f64>(bin, BIN_BEYOND)
  return beyond < other || (beyond == other && turn < load<f64>(bin, BIN_TURN))
}

@inline
function isBinBefore(bin: usize, other: usize): bool {
  return isBefore(load<f64>(bin, BIN_BEYOND), load<f64>(bin, BIN_TURN), other)
}

@inline
function copyBin(to: usize, from: usize): void {
  for (let k: usize = 0; k < usize(BIN_BYTES); k += 8) store<u64>(to + k, load<u64>(from + k))
}

/** The place in the queue for one more node, which is written there next. */
function makePlace(query: usize, beyond: f64, turn: f64): usize {
  const queue = <usize>load<u32>(query, QUERY_QUEUE)
  let k = usize(load<u32>(query, QUERY_WAITING))
  store<u32>(query, u32(k + 1), QUERY_WAITING)
  while (k > 0) {
    const parent = queue + ((k - 1) >> 1) * BIN_BYTES
    if (!isBefore(beyond, turn, parent)) break
    copyBin(queue + k * BIN_BYTES, parent)
    k = (k - 1) >> 1
  }
  return queue + k * BIN_BYTES
}

/** Puts a node into the queue, which must have room for it. */
export function pushBin(query: usize, bin: usize): void {
  const turn = turnOf(load<f64>(bin, BIN_PAGE))
  store<f64>(bin, turn, BIN_TURN)
  copyBin(makePlace(query, load<f64>(bin, BIN_BEYOND), turn), bin)
}

/** Takes the nearest node out of the queue; false when there is none. */
export function popBin(query: usize, bin: usize): bool {
  const waiting = usize(load<u32>(query, QUERY_WAITING))
  if (waiting == 0) return false
  const queue = <usize>load<u32>(query, QUERY_QUEUE)
  copyBin(bin, queue)
  const count = waiting - 1
  store<u32>(query, u32(count), QUERY_WAITING)
  if (count == 0) return true
  const last = queue + count * BIN_BYTES
  let k: usize = 0
  for (;;) {
    let child: usize = (k << 1) + 1
    if (child >= count) break
    let at = queue + child * BIN_BYTES
    if (child + 1 < count && isBinBefore(at + BIN_BYTES, at)) {
      child++
      at += BIN_BYTES
    }
    if (!isBinBefore(at, last)) break
    copyBin(queue + k * BIN_BYTES, at)
    k = child
  }
  copyBin(queue + k * BIN_BYTES, last)
  return true
}

/** Rows of all nodes that wait. */
export function rowsWaiting(query: usize): u32 {
  const queue = <usize>load<u32>(query, QUERY_QUEUE)
  const end = queue + usize(load<u32>(query, QUERY_WAITING)) * BIN_BYTES
  let rows: u32 = 0
  for (let bin = queue; bin < end; bin += BIN_BYTES) rows += load<u32>(bin, BIN_ROWS)
  return rows
}

/** Children of an inner node; 0 for a leaf. */
export function childCount(page: usize): u32 {
  return load<u32>(page, TREE_KIND) == TREE_KIND_LEAF ? 0 : load<u32>(page, TREE_COUNT)
}

@inline
function countRows(query: usize, field: usize, rows: u32): void {
  store<u32>(query + field, load<u32>(query + field) + rows)
}

/** Puts the children of a node into the queue that may hold rows of the band. The queue must have room for all. */
export function openNode(page: usize, query: usize): void {
  const count = usize(load<u32>(page, TREE_COUNT))
  const resting = <usize>load<u32>(query, QUERY_RESTING)
  const firstRow = load<u32>(query, QUERY_FIRST_ROW)
  // Rows that are wanted for their dual variables may lie anywhere.
  const isAnywhere = load<u32>(query, QUERY_ALPHA) != 0
  const reach = load<f64>(query, QUERY_REACH)
  for (let k: usize = 0; k < count; k++) {
    const child = page + TREE_ENTRIES + k * CHILD_BYTES
    const rows = load<u32>(child, CHILD_ROWS)
    const first = load<u32>(child, CHILD_FIRST)
    // Bits are cheaper than bounds.
    if (resting != 0 && allBits(resting, firstRow + first, rows)) {
      countRows(query, QUERY_ROWS_RESTING, rows)
      continue
    }
    const beyond: f64 = isAnywhere ? 0 : boundChild(page, child, query)
    if (beyond >= 1) {
      countRows(query, QUERY_ROWS_OUTSIDE, rows)
      continue
    }
    // The parts of a large ball may lie anywhere in it: only leaves are left out that are far, but not certain to be outside.
    if (load<u32>(child, CHILD_LEAF) == 1 && beyond >= reach) {
      countRows(query, QUERY_ROWS_LEFT_OUT, rows)
      continue
    }
    const offset = f64(load<u64>(child, CHILD_PAGE))
    const turn = turnOf(offset)
    const bin = makePlace(query, beyond, turn)
    store<f64>(bin, beyond, BIN_BEYOND)
    store<f64>(bin, turn, BIN_TURN)
    store<f64>(bin, offset, BIN_PAGE)
    store<u64>(bin, load<u64>(child, CHILD_CHECKSUM), BIN_CHECKSUM)
    store<u32>(bin, load<u32>(child, CHILD_PAGE_BYTES), BIN_PAGE_BYTES)
    store<u32>(bin, rows, BIN_ROWS)
    store<u32>(bin, first, BIN_FIRST)
  }
}
