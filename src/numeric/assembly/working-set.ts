// The working set of solver `stream`: who stays in memory, who leaves, and what is still known of those who left.
//
// A row leaves when its dual variable is at a bound and its gradient lies more than ε beyond it: it will hardly move again.
// When memory is nine tenths full, ε shrinks by a tenth until enough rows leave; when that does not help, rows are drawn.
// For the logistic loss, whose dual variables never reach a bound, the size of the margin takes the place of the gradient.
// Matsushima, Vishwanathan, Smola: Linear support vector machines via dual cached loops (KDD 2012), section 3.
import {
  PROBLEM_BIAS, PROBLEM_LOGISTIC, PROBLEM_POSITIVE, PROBLEM_ROWS, PROBLEM_WEIGHTS, ROW_CLASS, ROW_NORM,
} from '../layouts'
import {
  LEDGER_BYTES, LEDGER_CORRECT, LEDGER_DUAL, LEDGER_OWED, LEDGER_SUPPORT, WORKING_ALL_ALPHA, WORKING_ALPHA, WORKING_BLOCKS,
  WORKING_CAPACITY, WORKING_COUNT, WORKING_CURSOR, WORKING_DISMISSED, WORKING_DRAWN, WORKING_EPSILON, WORKING_EVICTED,
  WORKING_FIRST_ROWS, WORKING_GRADIENTS, WORKING_LEDGER, WORKING_MOVED, WORKING_NUMBERS, WORKING_RADII, WORKING_RADIUS,
  WORKING_RANDOM, WORKING_RECORDS, WORKING_RESIDENT, WORKING_ROOM, WORKING_STRIDE, WORKING_TABLE, WORKING_USED, WORKING_WEIGHTS,
} from '../working-set-layout'
import { AHEAD, bringRows } from './ahead'
import { biasPartOf } from './bias'
import { placeFeatures } from './first-pass'
import { boxLoss, logisticLoss, negativeEntropy } from './losses'
import { nextRandom } from './random'
import { dotRow, isDense, recordBytes } from './row'
import {
  boundForNegative, boundForPositive, diagonalForNegative, diagonalForPositive, rowBound, rowDiagonal, rowWeightsOf,
} from './row-costs'

/** Full means so much; then rows leave until so much is left. */
const FULL: f64 = 0.9
const EASED: f64 = 0.8
const SHRINK: f64 = 0.9
/** Below this, ε tells rows apart no more. */
const LEAST_EPSILON: f64 = 1e-9
const MOST_EPSILON: f64 = 9

@inline
function isResident(set: usize, number: u32): bool {
  return (load<u8>(usize(load<u32>(set, WORKING_RESIDENT)) + usize(number >> 3)) & u8(u32(1) << (number & 7))) != 0
}

@inline
function markResident(set: usize, number: u32, here: bool): void {
  const at = usize(load<u32>(set, WORKING_RESIDENT)) + usize(number >> 3)
  const bit = u8(u32(1) << (number & 7))
  store<u8>(at, here ? load<u8>(at) | bit : load<u8>(at) & ~bit)
}

/** Lists which of `rows` rows of a block, numbered from `firstNumber` on, are not in memory: their places in the block
 *  behind the first `listed` of the order, and every row's number. How many are listed then. */
export function listAbsent(set: usize, order: usize, listed: u32, numbers: usize, first: u32, rows: u32, firstNumber: u32): u32 {
  for (let k: u32 = 0; k < rows; k++) {
    const number = firstNumber + k
    store<u32>(numbers + (usize(first + k) << 2), number)
    if (isResident(set, number)) continue
    store<u32>(order + (usize(listed) << 2), first + k)
    listed++
  }
  return listed
}

/** Brings the listed rows of a block to the front of its table, of its dual variables and of its weights, if it has those. */
export function keepListed(order: usize, count: u32, table: usize, alpha: usize, stride: u32, weights: usize): void {
  for (let k: u32 = 0; k < count; k++) {
    const i = load<u32>(order + (usize(k) << 2))
    store<u32>(table + (usize(k) << 2), load<u32>(table + (usize(i) << 2)))
    memory.copy(alpha + usize(k) * usize(stride), alpha + usize(i) * usize(stride), usize(stride))
    if (weights != 0) store<f64>(weights + (usize(k) << 3), load<f64>(weights + (usize(i) << 3)))
  }
}

/** How far a row is from mattering: 0 when it may move at its next visit. One that is left out never does. */
@inline
function distanceOf(logistic: bool, a: f64, bound: f64, gradient: f64): f64 {
  if (logistic) return abs(gradient)
  if (a < 0) return Infinity
  if (a == 0) return max(gradient, 0)
  if (a == bound) return max(-gradient, 0)
  return 0
}

/** What a row owes to the gap at a margin: loss − dual part + α·margin. */
@inline
function owedAt(logistic: bool, a: f64, rest: f64, bound: f64, diagonal: f64, margin: f64): f64 {
  if (logistic) return bound * logisticLoss(margin) - negativeEntropy(a, rest, bound) + a * margin
  return boxLoss(1 - margin, bound, diagonal) - a * (1 - margin) + 0.5 * diagonal * a * a
}

@inline
function blockOf(set: usize, number: u32): u32 {
  const firsts = usize(load<u32>(set, WORKING_FIRST_ROWS))
  let low: u32 = 0
  let high = load<u32>(set, WORKING_BLOCKS)
  while (high - low > 1) {
    const middle = (low + high) >>> 1
    if (load<u32>(firsts + (usize(middle) << 2)) <= number) low = middle
    else high = middle
  }
  return low
}

/** A row is not in memory any more, or did not come in: what is known of it goes into its block's ledger. */
@inline
function enterLedger(set: usize, number: u32, isPositive: bool, logistic: bool, a: f64, rest: f64, bound: f64, diagonal: f64, margin: f64, norm: f64): void {
  // A row that is left out owes nothing, wherever w goes.
  if (a < 0) return
  const ledger = usize(load<u32>(set, WORKING_LEDGER)) + usize(blockOf(set, number)) * LEDGER_BYTES
  const dualPart = logistic ? negativeEntropy(a, rest, bound) : a - 0.5 * diagonal * a * a
  store<f64>(ledger, load<f64>(ledger, LEDGER_DUAL) + dualPart, LEDGER_DUAL)
  if (a > 0) store<f64>(ledger, load<f64>(ledger, LEDGER_SUPPORT) + 1, LEDGER_SUPPORT)
  // A score of 0 means the negative class.
  if (isPositive ? margin > 0 : margin >= 0) store<f64>(ledger, load<f64>(ledger, LEDGER_CORRECT) + 1, LEDGER_CORRECT)
  const owed = ledger + LEDGER_OWED
  store<f64>(owed, load<f64>(owed) + max(owedAt(logistic, a, rest, bound, diagonal, margin), 0))
  const length = Math.sqrt(norm)
  let radius = load<f64>(set, WORKING_RADIUS)
  const radii = load<u32>(set, WORKING_RADII)
  for (let k: u32 = 2; k < radii; k++) radius *= 2
  // What it owes is convex in the margin, so the most within a radius is at one of its ends; it falls with the radius.
  for (let k = radii; k > 1; k--, radius *= 0.5) {
    const reach = length * radius
    const most = max(
      owedAt(logistic, a, rest, bound, diagonal, margin - reach),
      owedAt(logistic, a, rest, bound, diagonal, margin + reach),
    )
    if (!(most > 0)) break
    const at = owed + (usize(k - 1) << 3)
    store<f64>(at, load<f64>(at) + most)
  }
}

/** The listed rows of a block have been visited, each once: their dual variables go to their places, and those that may
 *  move again come into the working set. */
export function takeInF64(set: usize, problem: usize, order: usize, count: u32, numbers: usize, alpha: usize, gradients: usize): void { takeIn<f64>(set, problem, order, count, numbers, alpha, gradients) }
export function takeInF32(set: usize, problem: usize, order: usize, count: u32, numbers: usize, alpha: usize, gradients: usize): void { takeIn<f32>(set, problem, order, count, numbers, alpha, gradients) }

@inline
function takeIn<W>(set: usize, problem: usize, order: usize, count: u32, numbers: usize, alpha: usize, gradients: usize): void {
  const rows = usize(load<u32>(problem, PROBLEM_ROWS))
  const positive = load<u32>(problem, PROBLEM_POSITIVE)
  const logistic = load<u32>(problem, PROBLEM_LOGISTIC) != 0
  const bias = load<f64>(problem, PROBLEM_BIAS)
  const stride = usize(load<u32>(set, WORKING_STRIDE))
  const all = usize(load<u32>(set, WORKING_ALL_ALPHA))
  const records = usize(load<u32>(set, WORKING_RECORDS))
  const table = usize(load<u32>(set, WORKING_TABLE))
  const setNumbers = usize(load<u32>(set, WORKING_NUMBERS))
  const setAlpha = usize(load<u32>(set, WORKING_ALPHA))
  const setGradients = usize(load<u32>(set, WORKING_GRADIENTS))
  const setWeights = usize(load<u32>(set, WORKING_WEIGHTS))
  const weights = rowWeightsOf(problem)
  const capacity = load<u32>(set, WORKING_CAPACITY)
  const room = f64(load<u32>(set, WORKING_ROOM))
  let moved: f64 = 0
  let dismissed: u32 = 0
  const boundPositive = boundForPositive(problem)
  const boundNegative = boundForNegative(problem)
  const diagonalPositive = diagonalForPositive(problem)
  const diagonalNegative = diagonalForNegative(problem)
  for (let k: u32 = 0; k < count; k++) {
    if (k % AHEAD == 0) bringRows(rows, order, k, min(k + AHEAD, count), alpha, stride)
    const i = load<u32>(order + (usize(k) << 2))
    const number = load<u32>(numbers + (usize(i) << 2))
    const row = usize(load<u32>(rows + (usize(i) << 2)))
    const isPositive = load<u32>(row, ROW_CLASS) == positive
    const bound = rowBound(isPositive, boundPositive, boundNegative, weights, i)
    const diagonal = rowDiagonal(isPositive, diagonalPositive, diagonalNegative, weights, i)
    const norm = load<f64>(row, ROW_NORM) + bias * bias
    const own = alpha + usize(i) * stride
    const place = all + usize(number) * stride
    const a = load<f64>(own)
    const rest: f64 = logistic ? load<f64>(own, 8) : 0
    if (a != load<f64>(place)) {
      moved += abs(a - load<f64>(place)) * Math.sqrt(norm)
      store<f64>(place, a)
      if (logistic) store<f64>(place, rest, 8)
    }
    const gradient = load<f64>(gradients + (usize(i) << 3))
    const distance = distanceOf(logistic, a, bound, gradient)
    const size = recordBytes(row)
    let used = usize(load<u32>(set, WORKING_USED))
    let members = load<u32>(set, WORKING_COUNT)
    let stays = distance <= load<f64>(set, WORKING_EPSILON)
    if (stays && (f64(used + size) > FULL * room || members >= capacity)) {
      makeRoom<W>(set, problem)
      used = usize(load<u32>(set, WORKING_USED))
      members = load<u32>(set, WORKING_COUNT)
      stays = distance <= load<f64>(set, WORKING_EPSILON) && f64(used + size) <= room && members < capacity
    }
    if (!stays) {
      const margin = logistic ? gradient : gradient + 1 - diagonal * a
      enterLedger(set, number, isPositive, logistic, a, rest, bound, diagonal, margin, norm)
      dismissed++
      continue
    }
    memory.copy(records + used, row, size)
    store<u32>(table + (usize(members) << 2), u32(records + used))
    store<u32>(setNumbers + (usize(members) << 2), number)
    store<f64>(setAlpha + usize(members) * stride, a)
    if (logistic) store<f64>(setAlpha + usize(members) * stride, rest, 8)
    store<f64>(setGradients + (usize(members) << 3), gradient)
    if (setWeights != 0) store<f64>(setWeights + (usize(members) << 3), load<f64>(weights + (usize(i) << 3)))
    markResident(set, number, true)
    store<u32>(set, u32(used + size), WORKING_USED)
    store<u32>(set, members + 1, WORKING_COUNT)
  }
  store<f64>(set, moved, WORKING_MOVED)
  store<u32>(set, load<u32>(set, WORKING_DISMISSED) + dismissed, WORKING_DISMISSED)
  // Room enough again: fewer need to leave.
  const epsilon = load<f64>(set, WORKING_EPSILON)
  if (f64(load<u32>(set, WORKING_USED)) < 0.6 * room && load<u32>(set, WORKING_COUNT) < (capacity >>> 1) && epsilon < MOST_EPSILON)
    store<f64>(set, min(MOST_EPSILON, epsilon / SHRINK), WORKING_EPSILON)
}

/** Lowers ε until enough rows lie beyond it, and sends them away; draws among the rest when none do. */
@inline
function makeRoom<W>(set: usize, problem: usize): void {
  const positive = load<u32>(problem, PROBLEM_POSITIVE)
  const logistic = load<u32>(problem, PROBLEM_LOGISTIC) != 0
  const boundPositive = boundForPositive(problem)
  const boundNegative = boundForNegative(problem)
  const diagonalPositive = diagonalForPositive(problem)
  const diagonalNegative = diagonalForNegative(problem)
  const w = usize(load<u32>(problem, PROBLEM_WEIGHTS))
  const bias = load<f64>(problem, PROBLEM_BIAS)
  const biasPart = biasPartOf<W>(problem, w)
  const stride = usize(load<u32>(set, WORKING_STRIDE))
  const all = usize(load<u32>(set, WORKING_ALL_ALPHA))
  const records = usize(load<u32>(set, WORKING_RECORDS))
  const table = usize(load<u32>(set, WORKING_TABLE))
  const numbers = usize(load<u32>(set, WORKING_NUMBERS))
  const alpha = usize(load<u32>(set, WORKING_ALPHA))
  const gradients = usize(load<u32>(set, WORKING_GRADIENTS))
  const weights = usize(load<u32>(set, WORKING_WEIGHTS))
  const count = load<u32>(set, WORKING_COUNT)
  const room = EASED * f64(load<u32>(set, WORKING_ROOM))
  const capacity = EASED * f64(load<u32>(set, WORKING_CAPACITY))
  let epsilon = load<f64>(set, WORKING_EPSILON)
  let bytes: f64 = 0, rows: f64 = 0
  do {
    epsilon = max(epsilon * SHRINK, LEAST_EPSILON)
    bytes = 0
    rows = 0
    for (let k: u32 = 0; k < count; k++) {
      const row = usize(load<u32>(table + (usize(k) << 2)))
      const bound = rowBound(load<u32>(row, ROW_CLASS) == positive, boundPositive, boundNegative, weights, k)
      const a = load<f64>(alpha + usize(k) * stride)
      if (distanceOf(logistic, a, bound, load<f64>(gradients + (usize(k) << 3))) > epsilon) continue
      bytes += f64(recordBytes(row))
      rows += 1
    }
  } while ((bytes > room || rows > capacity) && epsilon > LEAST_EPSILON)
  store<f64>(set, epsilon, WORKING_EPSILON)
  // Share of those within ε that may stay.
  const share = min(1, min(bytes > 0 ? room / bytes : 1, rows > 0 ? capacity / rows : 1))
  let kept: u32 = 0, evicted: u32 = 0, drawn: u32 = 0
  let to = records
  for (let k: u32 = 0; k < count; k++) {
    const row = usize(load<u32>(table + (usize(k) << 2)))
    const size = recordBytes(row)
    const isPositive = load<u32>(row, ROW_CLASS) == positive
    const bound = rowBound(isPositive, boundPositive, boundNegative, weights, k)
    const own = alpha + usize(k) * stride
    const a = load<f64>(own)
    const rest: f64 = logistic ? load<f64>(own, 8) : 0
    const number = load<u32>(numbers + (usize(k) << 2))
    const gradient = load<f64>(gradients + (usize(k) << 3))
    const beyond = distanceOf(logistic, a, bound, gradient) > epsilon
    const unlucky = !beyond && share < 1 && f64(nextRandom(set + WORKING_RANDOM) >>> 11) * (1.0 / 9007199254740992.0) >= share
    if (beyond || unlucky) {
      const place = all + usize(number) * stride
      store<f64>(place, a)
      if (logistic) store<f64>(place, rest, 8)
      markResident(set, number, false)
      // Its gradient may be of some time ago; what the ledger says must hold for the w of now.
      const dot = dotRow<W>(row, w) + biasPart
      const diagonal = rowDiagonal(isPositive, diagonalPositive, diagonalNegative, weights, k)
      enterLedger(set, number, isPositive, logistic, a, rest, bound, diagonal, isPositive ? dot : -dot, load<f64>(row, ROW_NORM) + bias * bias)
      if (beyond) evicted++
      else drawn++
      continue
    }
    if (to != row) memory.copy(to, row, size)
    store<u32>(table + (usize(kept) << 2), u32(to))
    store<u32>(numbers + (usize(kept) << 2), number)
    store<f64>(alpha + usize(kept) * stride, a)
    if (logistic) store<f64>(alpha + usize(kept) * stride, rest, 8)
    store<f64>(gradients + (usize(kept) << 3), gradient)
    if (weights != 0) store<f64>(weights + (usize(kept) << 3), load<f64>(weights + (usize(k) << 3)))
    to += size
    kept++
  }
  store<u32>(set, kept, WORKING_COUNT)
  store<u32>(set, u32(to - records), WORKING_USED)
  store<u32>(set, load<u32>(set, WORKING_EVICTED) + evicted, WORKING_EVICTED)
  store<u32>(set, load<u32>(set, WORKING_DRAWN) + drawn, WORKING_DRAWN)
}

/** Lists the rows of the working set that may move at their next visit, or nearly: those within `nearness` of it. `most` of them at
 *  most: where there may be more, they are looked for from the cursor on, which then stands behind the last one. */
export function listNear(set: usize, problem: usize, order: usize, nearness: f64, most: u32): u32 {
  const positive = load<u32>(problem, PROBLEM_POSITIVE)
  const logistic = load<u32>(problem, PROBLEM_LOGISTIC) != 0
  const table = usize(load<u32>(set, WORKING_TABLE))
  const alpha = usize(load<u32>(set, WORKING_ALPHA))
  const stride = usize(load<u32>(set, WORKING_STRIDE))
  const gradients = usize(load<u32>(set, WORKING_GRADIENTS))
  const weights = usize(load<u32>(set, WORKING_WEIGHTS))
  const count = load<u32>(set, WORKING_COUNT)
  let listed: u32 = 0
  const boundPositive = boundForPositive(problem)
  const boundNegative = boundForNegative(problem)
  // Rows lie far apart in memory: one is only looked at where its class decides.
  const alike = boundPositive == boundNegative && weights == 0
  const cursor = load<u32>(set, WORKING_CURSOR)
  let k: u32 = most < count && cursor < count ? cursor : 0
  let looked: u32 = 0
  for (; looked < count && listed < most; looked++, k = k + 1 < count ? k + 1 : 0) {
    if (!logistic) {
      const a = load<f64>(alpha + usize(k) * stride)
      let bound = boundPositive
      if (a > 0 && !alike) {
        const row = usize(load<u32>(table + (usize(k) << 2)))
        bound = rowBound(load<u32>(row, ROW_CLASS) == positive, boundPositive, boundNegative, weights, k)
      }
      if (distanceOf(false, a, bound, load<f64>(gradients + (usize(k) << 3))) > nearness) continue
    }
    store<u32>(order + (usize(listed) << 2), k)
    listed++
  }
  if (most < count) store<u32>(set, k, WORKING_CURSOR)
  return listed
}

/** Writes the dual variables of the working set to their places among all. */
export function settleAlpha(set: usize): void {
  const stride = usize(load<u32>(set, WORKING_STRIDE))
  const all = usize(load<u32>(set, WORKING_ALL_ALPHA))
  const numbers = usize(load<u32>(set, WORKING_NUMBERS))
  const alpha = usize(load<u32>(set, WORKING_ALPHA))
  const count = load<u32>(set, WORKING_COUNT)
  for (let k: u32 = 0; k < count; k++) {
    memory.copy(all + usize(load<u32>(numbers + (usize(k) << 2))) * stride, alpha + usize(k) * stride, stride)
  }
}

/** Enters rows that were evaluated, the first `count` of a problem, with their margins, into their blocks' ledgers. */
export function enterEvaluated(set: usize, problem: usize, count: u32, order: usize, numbers: usize, alpha: usize, margins: usize): void {
  const rows = usize(load<u32>(problem, PROBLEM_ROWS))
  const positive = load<u32>(problem, PROBLEM_POSITIVE)
  const logistic = load<u32>(problem, PROBLEM_LOGISTIC) != 0
  const bias = load<f64>(problem, PROBLEM_BIAS)
  const stride = usize(load<u32>(set, WORKING_STRIDE))
  const boundPositive = boundForPositive(problem)
  const boundNegative = boundForNegative(problem)
  const diagonalPositive = diagonalForPositive(problem)
  const diagonalNegative = diagonalForNegative(problem)
  const weights = rowWeightsOf(problem)
  for (let k: u32 = 0; k < count; k++) {
    const row = usize(load<u32>(rows + (usize(k) << 2)))
    const isPositive = load<u32>(row, ROW_CLASS) == positive
    const bound = rowBound(isPositive, boundPositive, boundNegative, weights, k)
    const diagonal = rowDiagonal(isPositive, diagonalPositive, diagonalNegative, weights, k)
    const a = load<f64>(alpha + usize(k) * stride)
    const rest: f64 = logistic ? load<f64>(alpha + usize(k) * stride, 8) : 0
    const number = load<u32>(numbers + (usize(load<u32>(order + (usize(k) << 2))) << 2))
    enterLedger(set, number, isPositive, logistic, a, rest, bound, diagonal, load<f64>(margins + (usize(k) << 3)), load<f64>(row, ROW_NORM) + bias * bias)
  }
}

/** Takes over the rows of a working set of the first pass: their numbers become places, their features those of the store. */
export function adoptRows(set: usize, from: usize, places: usize, features: usize, map: usize): void {
  const stride = usize(load<u32>(set, WORKING_STRIDE))
  const records = usize(load<u32>(set, WORKING_RECORDS))
  const room = FULL * f64(load<u32>(set, WORKING_ROOM))
  const capacity = load<u32>(set, WORKING_CAPACITY)
  const table = usize(load<u32>(set, WORKING_TABLE))
  const numbers = usize(load<u32>(set, WORKING_NUMBERS))
  const alpha = usize(load<u32>(set, WORKING_ALPHA))
  const gradients = usize(load<u32>(set, WORKING_GRADIENTS))
  const count = load<u32>(from, WORKING_COUNT)
  let used: usize = 0
  let kept: u32 = 0
  for (let k: u32 = 0; k < count; k++) {
    const row = usize(load<u32>(usize(load<u32>(from, WORKING_TABLE)) + (usize(k) << 2)))
    const size = recordBytes(row)
    // A dense row has no feature numbers that could change.
    if (map != 0 && isDense(row)) continue
    if (f64(used + size) > room || kept >= capacity) break
    const place = load<u32>(places + (usize(load<u32>(usize(load<u32>(from, WORKING_NUMBERS)) + (usize(k) << 2))) << 2))
    memory.copy(records + used, row, size)
    placeFeatures(features, map, records + used)
    store<u32>(table + (usize(kept) << 2), u32(records + used))
    store<u32>(numbers + (usize(kept) << 2), place)
    memory.copy(alpha + usize(kept) * stride, usize(load<u32>(from, WORKING_ALPHA)) + usize(k) * stride, stride)
    store<f64>(gradients + (usize(kept) << 3), load<f64>(usize(load<u32>(from, WORKING_GRADIENTS)) + (usize(k) << 3)))
    markResident(set, place, true)
    used += size
    kept++
  }
  store<u32>(set, u32(used), WORKING_USED)
  store<u32>(set, kept, WORKING_COUNT)
  store<f64>(set, load<f64>(from, WORKING_EPSILON), WORKING_EPSILON)
}

/** ‖w − copy‖², after which the copy is w. */
export function followWeights(w: usize, copy: usize, count: u32): f64 {
  let sum: f64 = 0
  for (let j: u32 = 0; j < count; j++) {
    const at = usize(j) << 3
    const now = load<f64>(w + at)
    const step = now - load<f64>(copy + at)
    if (step == 0) continue
    sum += step * step
    store<f64>(copy + at, now)
  }
  return sum
}
