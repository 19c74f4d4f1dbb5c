// Metric trees: distances while they are built, bounds and margins while they are searched. Rows are row records; a pivot or
// a centre is spread out into a vector (f64) when many rows are compared with it.
import { ROW_CLASS, ROW_COUNT, ROW_ENTRIES, ROW_KIND, ROW_KIND_DENSE, ROW_NORM } from '../layouts'
import {
  CHILD_ANGLE, CHILD_BOX, CHILD_CENTRE, CHILD_CLASS, CHILD_LONGEST, CHILD_RADIUS, CHILD_SHORTEST, QUERY_ALPHA, QUERY_ANCHOR,
  QUERY_ANCHOR_BIAS, QUERY_ANCHOR_LENGTH, QUERY_BIAS, QUERY_FEATURES, QUERY_FIRST_ROW, QUERY_FOUND, QUERY_HIGH, QUERY_LENGTH, QUERY_LOW,
  QUERY_MARGINS, QUERY_NARROW, QUERY_PLACE, QUERY_POSITIVE, QUERY_REST_BEYOND, QUERY_RESTING, QUERY_TAKEN, QUERY_TOUCHED, QUERY_UNIT, QUERY_WEIGHTS, SPREAD_FURTHEST, SPREAD_LEAST_COSINE,
  SPREAD_LONGEST, SPREAD_SHORTEST, TREE_COUNT, TREE_ENTRIES, TREE_MIXED, TREE_ROW_BYTES, TREE_ROW_NUMBER, TREE_ROW_RECORD,
} from '../metric-tree-layout'
import { writeEntries } from './entries'
import { axpyRow, dotRow } from './row'

/** For each of some rows: whether a pivot, which stands in a vector, is nearer than the nearest so far. */
export function nearestPivot(table: usize, count: u32, vector: usize, squares: f64, pivot: u32, best: usize, assigned: usize): void {
  for (let k: usize = 0; k < usize(count); k++) {
    const row = <usize>load<u32>(table + (k << 2))
    const distance = load<f64>(row, ROW_NORM) - 2 * dotRow<f64>(row, vector) + squares
    if (distance < load<f64>(best + (k << 3))) {
      store<f64>(best + (k << 3), distance)
      store<u32>(assigned + (k << 2), pivot)
    }
  }
}

/** vector += step · (sum of the rows). */
export function sumRows(table: usize, count: u32, step: f64, vector: usize): void {
  for (let k: usize = 0; k < usize(count); k++) axpyRow<f64>(<usize>load<u32>(table + (k << 2)), step, vector)
}

/** Zeros where a row of plain entries has some. */
export function clearRow(row: usize, vector: usize): void {
  const n = usize(load<u32>(row, ROW_COUNT))
  if (load<u32>(row, ROW_KIND) == ROW_KIND_DENSE) {
    memory.fill(vector, 0, n << 3)
    return
  }
  const indices = row + ROW_ENTRIES
  for (let k: usize = 0; k < n; k++) store<f64>(vector + (usize(load<u32>(indices + (k << 2))) << 3), 0)
}

/** How far rows lie from a centre, which stands in a vector; `squares` is its squared length. */
export function spreadAbout(table: usize, count: u32, vector: usize, squares: f64, spread: usize): void {
  let furthest: f64 = 0, leastCosine: f64 = 1, shortest = f64.POSITIVE_INFINITY, longest: f64 = 0
  for (let k: usize = 0; k < usize(count); k++) {
    const row = <usize>load<u32>(table + (k << 2))
    const norm = load<f64>(row, ROW_NORM)
    const dot = dotRow<f64>(row, vector)
    furthest = max(furthest, norm - 2 * dot + squares)
    if (norm > 0 && squares > 0) leastCosine = min(leastCosine, dot / Math.sqrt(norm * squares))
    shortest = min(shortest, norm)
    longest = max(longest, norm)
  }
  store<f64>(spread, furthest, SPREAD_FURTHEST)
  store<f64>(spread, leastCosine, SPREAD_LEAST_COSINE)
  store<f64>(spread, shortest, SPREAD_SHORTEST)
  store<f64>(spread, longest, SPREAD_LONGEST)
}

/** The least and the largest value of each feature among some rows, into f64[features] each; zeros that are not written count.
 *  `seen` is room for f64[features], `entries` for as many indices and values. */
export function boxOf(table: usize, count: u32, features: u32, least: usize, largest: usize, seen: usize, entries: usize): void {
  const bytes = usize(features) << 3
  for (let j: usize = 0; j < bytes; j += 8) {
    store<f64>(least + j, f64.POSITIVE_INFINITY)
    store<f64>(largest + j, f64.NEGATIVE_INFINITY)
    store<f64>(seen + j, 0)
  }
  const values = entries + bytes
  for (let k: usize = 0; k < usize(count); k++) {
    const n = usize(writeEntries(<usize>load<u32>(table + (k << 2)), entries, values))
    for (let e: usize = 0; e < n; e++) {
      const j = usize(load<u32>(entries + (e << 2))) << 3
      const value = load<f64>(values + (e << 3))
      store<f64>(least + j, min(load<f64>(least + j), value))
      store<f64>(largest + j, max(load<f64>(largest + j), value))
      store<f64>(seen + j, load<f64>(seen + j) + 1)
    }
  }
  for (let j: usize = 0; j < bytes; j += 8) {
    if (load<f64>(seen + j) >= f64(count)) continue
    store<f64>(least + j, min<f64>(load<f64>(least + j), 0))
    store<f64>(largest + j, max<f64>(load<f64>(largest + j), 0))
  }
}

@inline
function scoreOf(row: usize, w: usize, narrow: bool): f64 {
  return narrow ? dotRow<f32>(row, w) : dotRow<f64>(row, w)
}

// Bounds of the scores of a ball's rows, the bias not counted, and the score of its centre: what the last call of `boundScores` found.
let scoreLow: f64 = 0
let scoreHigh: f64 = 0
let scoreMiddle: f64 = 0

/** Rounding of distances and scores, relative to the numbers that they are differences of; products with f32 weights may be f32. */
const ROUNDING: f64 = 1e-9
const NARROW_ROUNDING: f64 = 1e-6

/** By the box of a child: its rows' values lie between two each. */
function boundByBox(page: usize, child: usize, w: usize, features: u32, unit: bool, narrow: bool): void {
  const box = load<u32>(child, CHILD_BOX)
  const shortest = load<f64>(child, CHILD_SHORTEST)
  if (box == 0 || (unit && shortest == 0)) return
  let low: f64 = 0, high: f64 = 0, size: f64 = 0
  const least = page + usize(box)
  const largest = least + (usize(features) << 2)
  for (let j: usize = 0; j < usize(features); j++) {
    const weight = narrow ? f64(load<f32>(w + (j << 2))) : load<f64>(w + (j << 3))
    const a = weight * f64(load<f32>(least + (j << 2)))
    const b = weight * f64(load<f32>(largest + (j << 2)))
    low += min(a, b)
    high += max(a, b)
    size += max(abs(a), abs(b))
  }
  const slack = (narrow ? NARROW_ROUNDING : ROUNDING) * size
  low -= slack
  high += slack
  if (unit) {
    const longest = load<f64>(child, CHILD_LONGEST)
    low /= low > 0 ? longest : shortest
    high /= high > 0 ? shortest : longest
  }
  scoreLow = max(scoreLow, low)
  scoreHigh = min(scoreHigh, high)
}

function boundScores(page: usize, child: usize, w: usize, length: f64, features: u32, unit: bool, narrow: bool): void {
  const centre = page + usize(load<u32>(child, CHILD_CENTRE))
  const middle = scoreOf(centre, w, narrow)
  const centreLength = Math.sqrt(load<f64>(centre, ROW_NORM))
  const angle = load<f64>(child, CHILD_ANGLE)
  const shortest = load<f64>(child, CHILD_SHORTEST)
  const longest = load<f64>(child, CHILD_LONGEST)
  // The angle between w and any row is that between w and the centre, give or take the ball's.
  const scale = length * centreLength
  const between = scale > 0 ? Math.acos(min<f64>(1, max<f64>(-1, middle / scale))) : Math.PI / 2
  const least = scale > 0 ? Math.cos(min(Math.PI, between + angle)) : -1
  const most = scale > 0 ? Math.cos(max(0, between - angle)) : 1
  const rounding = narrow ? NARROW_ROUNDING : ROUNDING
  if (unit) {
    const slack = rounding * length
    scoreLow = length * least - slack
    scoreHigh = length * most + slack
    // A row without entries has no length to be made 1.
    if (shortest == 0) {
      scoreLow = min(scoreLow, 0)
      scoreHigh = max(scoreHigh, 0)
    }
    scoreMiddle = centreLength > 0 ? middle / centreLength : 0
  } else {
    const slack = rounding * length * (longest + centreLength)
    const reach = length * load<f64>(child, CHILD_RADIUS)
    scoreLow = max(middle - reach, length * min(least * shortest, least * longest)) - slack
    scoreHigh = min(middle + reach, length * max(most * shortest, most * longest)) + slack
    scoreMiddle = middle
  }
  boundByBox(page, child, w, features, unit, narrow)
  scoreMiddle = min(scoreHigh, max(scoreLow, scoreMiddle))
}

/** How far outside of what is wanted the middle lies, as a share of what its ball allows: 0 inside, 1 or more when no row of
 *  the ball can be inside. */
@inline
function beyond(distance: f64, allowed: f64): f64 {
  return distance <= 0 ? 0 : distance / max(allowed, f64.MIN_NORMAL_VALUE)
}

/** The same by the margins of one sign: below `high`, or above `low`. */
@inline
function beyondHigh(y: f64, bias: f64, high: f64): f64 {
  const middle = y * (scoreMiddle + bias)
  return beyond(middle - high, middle - (y > 0 ? scoreLow + bias : -scoreHigh - bias))
}

@inline
function beyondLow(y: f64, bias: f64, low: f64): f64 {
  const middle = y * (scoreMiddle + bias)
  return beyond(low - middle, (y > 0 ? scoreHigh + bias : -scoreLow - bias) - middle)
}

/** How far a child of an inner node lies beyond what the query wants. From 1 on it is not known how far. */
export function boundChild(page: usize, child: usize, query: usize): f64 {
  const w = <usize>load<u32>(query, QUERY_WEIGHTS)
  const bias = load<f64>(query, QUERY_BIAS)
  const high = load<f64>(query, QUERY_HIGH)
  const low = load<f64>(query, QUERY_LOW)
  const unit = load<u32>(query, QUERY_UNIT) != 0
  const narrow = load<u32>(query, QUERY_NARROW) != 0
  const features = load<u32>(query, QUERY_FEATURES)
  const label = load<u32>(child, CHILD_CLASS)
  const isMixed = label == TREE_MIXED
  const isPositive = label == load<u32>(query, QUERY_POSITIVE)
  boundScores(page, child, w, load<f64>(query, QUERY_LENGTH), features, unit, narrow)
  let asPositive = isMixed || isPositive ? beyondHigh(1, bias, high) : f64.POSITIVE_INFINITY
  let asNegative = isMixed || !isPositive ? beyondHigh(-1, bias, high) : f64.POSITIVE_INFINITY
  // The other side of the band is not asked about a node that is outside anyway.
  if (low > f64.NEGATIVE_INFINITY && min(asPositive, asNegative) < 1) {
    const anchor = <usize>load<u32>(query, QUERY_ANCHOR)
    let lowBias = bias
    if (anchor != 0) {
      lowBias = load<f64>(query, QUERY_ANCHOR_BIAS)
      boundScores(page, child, anchor, load<f64>(query, QUERY_ANCHOR_LENGTH), features, unit, narrow)
    }
    asPositive = max(asPositive, beyondLow(1, lowBias, low))
    asNegative = max(asNegative, beyondLow(-1, lowBias, low))
  }
  return min(asPositive, asNegative)
}

@inline
function scoreOfRow(row: usize, w: usize, narrow: bool, unit: bool): f64 {
  const score = scoreOf(row, w, narrow)
  const norm = load<f64>(row, ROW_NORM)
  return unit && norm > 0 ? score / Math.sqrt(norm) : score
}

@inline
function hasBit(bitmap: usize, place: usize): bool {
  return ((load<u8>(bitmap + (place >> 3)) >> u8(place & 7)) & 1) != 0
}

@inline
function setBit(bitmap: usize, place: usize): void {
  const at = bitmap + (place >> 3)
  store<u8>(at, load<u8>(at) | (u8(1) << u8(place & 7)))
}

/** Whether all of some bits are set. */
export function allBits(bitmap: usize, from: u32, count: u32): bool {
  const end = usize(from) + count
  let place = usize(from)
  while (place < end) {
    if ((place & 7) == 0 && end - place >= 8) {
      if (load<u8>(bitmap + (place >> 3)) != 0xff) return false
      place += 8
    } else {
      if (!hasBit(bitmap, place)) return false
      place++
    }
  }
  return true
}

/** How many of the first so many bits are set. */
export function countBits(bitmap: usize, count: u32): u32 {
  let set: u32 = 0
  let place: usize = 0
  const end = usize(count)
  for (; place + 8 <= end; place += 8) set += popcnt<u32>(load<u8>(bitmap + (place >> 3)))
  for (; place < end; place++) if (hasBit(bitmap, place)) set++
  return set
}

/** The rows of a leaf that a query wants: how many, with their places and margins in the query's lists. */
export function findInLeaf(page: usize, query: usize): u32 {
  const count = usize(load<u32>(page, TREE_COUNT))
  const w = <usize>load<u32>(query, QUERY_WEIGHTS)
  const anchor = <usize>load<u32>(query, QUERY_ANCHOR)
  const bias = load<f64>(query, QUERY_BIAS)
  const anchorBias = load<f64>(query, QUERY_ANCHOR_BIAS)
  const high = load<f64>(query, QUERY_HIGH)
  const low = load<f64>(query, QUERY_LOW)
  const positive = load<u32>(query, QUERY_POSITIVE)
  const unit = load<u32>(query, QUERY_UNIT) != 0
  const narrow = load<u32>(query, QUERY_NARROW) != 0
  const first = load<u32>(query, QUERY_FIRST_ROW)
  const taken = <usize>load<u32>(query, QUERY_TAKEN)
  const alpha = <usize>load<u32>(query, QUERY_ALPHA)
  const list = <usize>load<u32>(query, QUERY_FOUND)
  const margins = <usize>load<u32>(query, QUERY_MARGINS)
  const touched = <usize>load<u32>(query, QUERY_TOUCHED)
  const resting = <usize>load<u32>(query, QUERY_RESTING)
  const restAt = high + load<f64>(query, QUERY_REST_BEYOND)
  const place = usize(load<u32>(query, QUERY_PLACE))
  let found: usize = 0
  for (let k: usize = 0; k < count; k++) {
    if (resting != 0 && hasBit(resting, place + k)) continue
    const entry = page + TREE_ENTRIES + k * TREE_ROW_BYTES
    const number = usize(first + load<u32>(entry, TREE_ROW_NUMBER))
    if (touched != 0) setBit(touched, number)
    if (taken != 0 && hasBit(taken, number)) {
      if (resting != 0) setBit(resting, place + k)
      continue
    }
    const row = page + usize(load<u32>(entry, TREE_ROW_RECORD))
    const y: f64 = load<u32>(row, ROW_CLASS) == positive ? 1 : -1
    const margin = y * (scoreOfRow(row, w, narrow, unit) + bias)
    if (alpha != 0) {
      if (load<f64>(alpha + (number << 3)) == 0) continue
    } else {
      if (resting != 0 && margin > restAt) setBit(resting, place + k)
      if (!(margin < high)) continue
      if (low > f64.NEGATIVE_INFINITY) {
        const lowMargin = anchor != 0 ? y * (scoreOfRow(row, anchor, narrow, unit) + anchorBias) : margin
        if (!(lowMargin > low)) {
          // By the anchor this does not change until the anchor does.
          if (resting != 0 && anchor != 0) setBit(resting, place + k)
          continue
        }
      }
    }
    store<u32>(list + (found << 2), u32(k))
    store<f64>(margins + (found << 3), margin)
    found++
  }
  return u32(found)
}
