// Dual coordinate descent by two trainers at once, each of which has half of the weights, and the entries of every row that
// belong to them. Both go over the same rows in the same order. The dot product of a row is the sum of two parts:
//
//   second: its part of row c ──► slot ──► first: decides on row c − LAG ──► step ──► slot ──► second: its part of w
//
// Both apply the step of row c − LAG after they made their part of row c, whoever is faster. So the outcome is that of one
// trainer whose dot products miss the last LAG steps, to the bit, and `sweepHalvesAlone` is that trainer. What is handed over is
// a single word: its last bit says whether it is of this round of the ring, so that no order of two stores matters.
//
// It pays where rows are long: handing over takes as long as some tens of entries. Algorithm and names as in dual.ts.
import {
  HALVES_FIRST, HALVES_GAVE_UP, HALVES_KEPT, HALVES_LOADED, HALVES_RING, HALVES_SECOND, HALVES_SLOT, HALVES_SLOTS, HALVES_SPLITS,
  HALVES_STOP, PROBLEM_ALPHA, PROBLEM_BIAS, PROBLEM_BIAS_FEATURE, PROBLEM_POSITIVE, PROBLEM_ROWS, PROBLEM_WEIGHTS, ROW_CLASS, ROW_COUNT,
  ROW_DICTIONARY, ROW_ENTRIES, ROW_KIND, ROW_KIND_CODED, ROW_KIND_CONSTANT, ROW_KIND_DENSE, ROW_KIND_F32, ROW_NORM, ROW_SCALE, SLOT_FIRST, SLOT_ROW,
  SLOT_SECOND, SLOT_STEP, SWEEP_ACTIVE, SWEEP_GAP, SWEEP_GRADIENT_MAX, SWEEP_GRADIENT_MIN, SWEEP_LOSS, SWEEP_LOWER,
  SWEEP_ORDER, SWEEP_SHRINK, SWEEP_UPPER, SWEEP_VISITED,
} from '../layouts'
import { noteTouched, touchLines } from './ahead'
import { boxLoss } from './losses'
import { swap } from './order'
import { denseAxpy, denseDot } from './row'
import {
  boundForNegative, boundForPositive, diagonalForNegative, diagonalForPositive, rowBound, rowDiagonal, rowWeightsOf,
} from './row-costs'

/** So many steps are not in a dot product yet: enough to hide the time that handing over takes. */
const LAG: u32 = 1
/** Weights that belong together: those of a cache line. Vectors begin with one. */
const LINE_SHIFT: u32 = 3
/** A trainer looks so often for what it waits for, about a millisecond long, then sleeps so many nanoseconds. Who sleeps too soon
 *  keeps the other one waiting in its turn. The first one gives up when it has slept so
 *  often since it was called: the other one's core is taken, and one thread is faster than two that wait for each other. */
const LOOKS: u32 = 1 << 19
const SLEEP: i64 = 50_000
const SLEEPS: u32 = 4
/** Rows that are loaded ahead. */
const ROWS_AHEAD: u32 = 8
/** A step that is none, but for its last bit. */
const NO_STEP: f64 = 1e-300

/** Whether rows are of kinds that can be halved: 1 when all are sparse, 2 when all are dense, 0 else. */
export function halvesKind(table: usize, rows: u32): u32 {
  let kinds: u32 = 0
  for (let r: u32 = 0; r < rows; r++) {
    const kind = load<u32>(<usize>load<u32>(table + (usize(r) << 2)), ROW_KIND)
    kinds |= kind == ROW_KIND_DENSE ? 2 : kind == ROW_KIND_F32 || kind == ROW_KIND_CODED || kind == ROW_KIND_CONSTANT ? 1 : 4
  }
  return kinds > 2 ? 0 : kinds
}

/** Puts the entries of the first half of rows from..to first. Of dense rows the features before `half` are the first half; of
 *  others (`half` 0) every other cache line of the weights, so that both halves have frequent and rare features. */
export function splitRows(table: usize, from: u32, to: u32, splits: usize, half: u32): void {
  for (let r = from; r < to; r++) {
    const row = <usize>load<u32>(table + (usize(r) << 2))
    const n = load<u32>(row, ROW_COUNT)
    store<u32>(splits + (usize(r) << 2), half != 0 ? min(n, half) : splitRow(row, n))
  }
}

/** Of a sparse row; how many entries the first half has. */
function splitRow(row: usize, n: u32): u32 {
  const kind = load<u32>(row, ROW_KIND)
  const entries = row + ROW_ENTRIES
  const values = entries + (usize(n) << 2)
  let low: u32 = 0
  let high = n
  while (true) {
    while (low < high && isFirst(load<u32>(entries + (usize(low) << 2)))) low++
    while (low < high && !isFirst(load<u32>(entries + (usize(high - 1) << 2)))) high--
    if (low >= high) return low
    high--
    swap(entries, low, high)
    if (kind == ROW_KIND_F32) swap(values, low, high)
    else if (kind == ROW_KIND_CODED) {
      const code = load<u8>(values + usize(low))
      store<u8>(values + usize(low), load<u8>(values + usize(high)))
      store<u8>(values + usize(high), code)
    }
    low++
  }
}

@inline
function isFirst(feature: u32): bool {
  return ((feature >> LINE_SHIFT) & 1) == 0
}

/** Σ w_j x_j over the entries from..to of a row, scale included. */
@inline
function dotOf(row: usize, from: u32, to: u32, w: usize): f64 {
  const kind = load<u32>(row, ROW_KIND)
  const scale = load<f64>(row, ROW_SCALE)
  if (kind == ROW_KIND_DENSE) return denseDot<f64>(row + ROW_ENTRIES + (usize(from) << 2), to - from, w + (usize(from) << 3)) * scale
  let i = row + ROW_ENTRIES + (usize(from) << 2)
  const end = row + ROW_ENTRIES + (usize(to) << 2)
  const end4 = i + (usize((to - from) & ~3) << 2)
  const behind = usize(load<u32>(row, ROW_COUNT)) << 2
  let a: f64 = 0, b: f64 = 0, c: f64 = 0, d: f64 = 0
  if (kind == ROW_KIND_CONSTANT) {
    for (; i < end4; i += 16) {
      a += weight(w, i)
      b += weight(w, i + 4)
      c += weight(w, i + 8)
      d += weight(w, i + 12)
    }
    for (; i < end; i += 4) a += weight(w, i)
  } else if (kind == ROW_KIND_F32) {
    for (; i < end4; i += 16) {
      a += weight(w, i) * f64(load<f32>(i + behind))
      b += weight(w, i + 4) * f64(load<f32>(i + behind, 4))
      c += weight(w, i + 8) * f64(load<f32>(i + behind, 8))
      d += weight(w, i + 12) * f64(load<f32>(i + behind, 12))
    }
    for (; i < end; i += 4) a += weight(w, i) * f64(load<f32>(i + behind))
  } else {
    const dictionary = <usize>load<u32>(row, ROW_DICTIONARY)
    let v = row + ROW_ENTRIES + behind + usize(from)
    for (; i < end4; i += 16, v += 4) {
      const codes = load<u32>(v)
      a += weight(w, i) * f64(load<f32>(dictionary + ((codes & 0xff) << 2)))
      b += weight(w, i + 4) * f64(load<f32>(dictionary + (((codes >> 8) & 0xff) << 2)))
      c += weight(w, i + 8) * f64(load<f32>(dictionary + (((codes >> 16) & 0xff) << 2)))
      d += weight(w, i + 12) * f64(load<f32>(dictionary + ((codes >> 24) << 2)))
    }
    for (; i < end; i += 4, v++) a += weight(w, i) * f64(load<f32>(dictionary + (usize(load<u8>(v)) << 2)))
  }
  return (a + b + (c + d)) * scale
}

@inline
function weight(w: usize, index: usize): f64 {
  return load<f64>(w + (usize(load<u32>(index)) << 3))
}

@inline
function add(w: usize, index: usize, amount: f64): void {
  const at = w + (usize(load<u32>(index)) << 3)
  store<f64>(at, load<f64>(at) + amount)
}

/** w += step · row, over the entries from..to. */
@inline
function axpyOf(row: usize, from: u32, to: u32, step: f64, w: usize): void {
  const kind = load<u32>(row, ROW_KIND)
  const s = step * load<f64>(row, ROW_SCALE)
  let i = row + ROW_ENTRIES + (usize(from) << 2)
  const end = row + ROW_ENTRIES + (usize(to) << 2)
  const behind = usize(load<u32>(row, ROW_COUNT)) << 2
  if (kind == ROW_KIND_DENSE) denseAxpy<f64>(i, to - from, s, w + (usize(from) << 3))
  else if (kind == ROW_KIND_CONSTANT) for (; i < end; i += 4) add(w, i, s)
  else if (kind == ROW_KIND_F32) for (; i < end; i += 4) add(w, i, s * f64(load<f32>(i + behind)))
  else {
    const dictionary = <usize>load<u32>(row, ROW_DICTIONARY)
    let v = row + ROW_ENTRIES + behind + usize(from)
    for (; i < end; i += 4, v++) add(w, i, s * f64(load<f32>(dictionary + (usize(load<u8>(v)) << 2))))
  }
}

/** A number with its last bit set to that of a round. */
@inline
function marked(value: f64, round: u64): u64 {
  return (reinterpret<u64>(value) & ~u64(1)) | round
}

@inline
function slotOf(slots: usize, position: u32): usize {
  return slots + usize(position & u32(HALVES_RING - 1)) * usize(HALVES_SLOT)
}

/** The last bit of what is handed over for a position. Slots have a 1 before the first round. */
@inline
function roundOf(position: u32): u64 {
  return u64((position / u32(HALVES_RING)) & 1)
}

// What a wait has found, and how often this thread has slept since it was called.
let found: f64 = 0
let slept: u32 = 0

/** Waits until a word is of a round. It gives up when the other trainer has stopped (`stop` is the address of that word), or,
 *  without such an address, when this thread has slept too often. */
@inline
function wait(at: usize, round: u64, stop: usize): bool {
  let bits = atomic.load<u64>(at)
  if ((bits & 1) != round) {
    bits = waitLonger(at, round, stop)
    if ((bits & 1) != round) return false
  }
  found = reinterpret<f64>(bits)
  return true
}

function waitLonger(at: usize, round: u64, stop: usize): u64 {
  let looks: u32 = 0
  while (true) {
    const hasStopped = stop != 0 && atomic.load<u32>(stop) != 0
    // Looked at after that: what was handed over before the stop is there.
    const bits = atomic.load<u64>(at)
    if ((bits & 1) == round || hasStopped) return bits
    if (++looks < LOOKS) continue
    if (stop == 0 && ++slept > SLEEPS) return bits
    // Nobody wakes this word: it is a way to let others work.
    atomic.wait<i64>(at, i64(bits), SLEEP)
  }
}

/** Loads the entries from..to of coming rows; see ahead.ts. `second`: the half behind the split. */
@inline
function bringHalves(rows: usize, order: usize, splits: usize, from: u32, to: u32, second: bool): void {
  let sum: u32 = 0
  for (let k = from; k < to; k++) {
    const i = load<u32>(order + (usize(k) << 2))
    sum += load<u32>(<usize>load<u32>(rows + (usize(i) << 2)), ROW_COUNT) + load<u32>(splits + (usize(i) << 2))
  }
  for (let k = from; k < to; k++) {
    const i = load<u32>(order + (usize(k) << 2))
    const row = <usize>load<u32>(rows + (usize(i) << 2))
    const split = load<u32>(splits + (usize(i) << 2))
    const n = load<u32>(row, ROW_COUNT)
    const first: u32 = second ? split : 0
    const count: u32 = second ? n - split : split
    if (count == 0) continue
    const kind = load<u32>(row, ROW_KIND)
    const entries = row + ROW_ENTRIES
    sum += touchLines(entries + (usize(first) << 2), usize(count) << 2)
    if (kind == ROW_KIND_F32) sum += touchLines(entries + (usize(n + first) << 2), usize(count) << 2)
    else if (kind == ROW_KIND_CODED) sum += touchLines(entries + (usize(n) << 2) + usize(first), usize(count))
  }
  noteTouched(sum)
}

/** Makes a sweep over halves ready to begin. */
export function startHalves(halves: usize): void {
  store<u32>(halves, 0, HALVES_FIRST)
  store<u32>(halves, 0, HALVES_SECOND)
  store<u32>(halves, 0, HALVES_LOADED)
  store<u32>(halves, 0, HALVES_KEPT)
  const slots = <usize>load<u32>(halves, HALVES_SLOTS)
  for (let k: u32 = 0; k < u32(HALVES_RING); k++) {
    store<u64>(slotOf(slots, k), 1, SLOT_SECOND)
    store<u64>(slotOf(slots, k), 1, SLOT_STEP)
  }
}

/** The first trainer: goes on until the sweep is done, about `budget` nonzeros were visited, or the second one does not answer.
 *  True when the sweep is done. */
export function sweepHalvesFirst(problem: usize, sweep: usize, halves: usize, budget: f64): bool { return sweepFirst<bool>(problem, sweep, halves, budget) }
/** Both trainers in one. */
export function sweepHalvesAlone(problem: usize, sweep: usize, halves: usize, budget: f64): bool { return sweepFirst<f64>(problem, sweep, halves, budget) }

@inline
function sweepFirst<S>(problem: usize, sweep: usize, halves: usize, budget: f64): bool {
  const isAlone = !isBoolean<S>()
  const rows = <usize>load<u32>(problem, PROBLEM_ROWS)
  const alpha = <usize>load<u32>(problem, PROBLEM_ALPHA)
  const w = <usize>load<u32>(problem, PROBLEM_WEIGHTS)
  const positive = load<u32>(problem, PROBLEM_POSITIVE)
  const bias = load<f64>(problem, PROBLEM_BIAS)
  const biasAt = w + (usize(load<u32>(problem, PROBLEM_BIAS_FEATURE)) << 3)
  const boundPositive = boundForPositive(problem), boundNegative = boundForNegative(problem)
  const diagonalPositive = diagonalForPositive(problem), diagonalNegative = diagonalForNegative(problem)
  const rowWeights = rowWeightsOf(problem)
  const order = <usize>load<u32>(sweep, SWEEP_ORDER)
  const shrink = load<u32>(sweep, SWEEP_SHRINK) != 0
  const upper = load<f64>(sweep, SWEEP_UPPER), lower = load<f64>(sweep, SWEEP_LOWER)
  const active = load<u32>(sweep, SWEEP_ACTIVE)
  const splits = <usize>load<u32>(halves, HALVES_SPLITS)
  const slots = <usize>load<u32>(halves, HALVES_SLOTS)
  let cursor = load<u32>(halves, HALVES_FIRST)
  let kept = load<u32>(halves, HALVES_KEPT)
  let gradientMax = load<f64>(sweep, SWEEP_GRADIENT_MAX), gradientMin = load<f64>(sweep, SWEEP_GRADIENT_MIN)
  let lossSum = load<f64>(sweep, SWEEP_LOSS), gapSum = load<f64>(sweep, SWEEP_GAP)
  let visited: f64 = 0
  let loaded = cursor
  let gaveUp = false
  slept = 0

  for (; cursor < active + LAG && visited < budget; cursor++) {
    // Decides on an earlier row.
    let step: f64 = 0
    let decided: usize = 0
    let split: u32 = 0
    if (cursor >= LAG) {
      const d = cursor - LAG
      const slot = slotOf(slots, d)
      if (!wait(slot + SLOT_SECOND, roundOf(d), 0)) {
        gaveUp = true
        break
      }
      const i = load<u32>(order + (usize(d) << 2))
      decided = <usize>load<u32>(rows + (usize(i) << 2))
      split = load<u32>(splits + (usize(i) << 2))
      const isPositive = load<u32>(decided, ROW_CLASS) == positive
      const y: f64 = isPositive ? 1 : -1
      const bound = rowBound(isPositive, boundPositive, boundNegative, rowWeights, i)
      const diagonal = rowDiagonal(isPositive, diagonalPositive, diagonalNegative, rowWeights, i)
      const alphaAt = alpha + (usize(i) << 3)
      const a = load<f64>(alphaAt)
      let stays = true
      // A row that is left out has no α: see outliers.ts.
      if (a >= 0) {
        const margin = y * (load<f64>(slot, SLOT_FIRST) + found)
        const gradient = margin - 1 + diagonal * a
        const loss = boxLoss(1 - margin, bound, diagonal)
        lossSum += loss
        gapSum += loss - a * (1 - margin) + 0.5 * diagonal * a * a
        stays = !(shrink && ((a == 0 && gradient > upper) || (a != 0 && a == bound && gradient < lower)))
        if (stays) {
          const projected: f64 = a == 0 ? min(gradient, 0) : a == bound ? max(gradient, 0) : gradient
          gradientMax = max(gradientMax, projected)
          gradientMin = min(gradientMin, projected)
          if (abs(projected) > 1e-12) {
            const curvature = load<f64>(decided, ROW_NORM) + bias * bias + diagonal
            const next = curvature > 0 ? min(max(a - gradient / curvature, 0), bound) : (gradient < 0 ? bound : 0)
            if (next != a) {
              store<f64>(alphaAt, next)
              step = (next - a) * y
            }
          }
        }
      }
      // Rows that are shrunk gather behind those that stay.
      if (stays) {
        if (kept != d) swap(order, kept, d)
        kept++
      }
      const word = marked(step, roundOf(d))
      step = reinterpret<f64>(word)
      store<u64>(slot, word, SLOT_STEP)
    }
    if (cursor < active) {
      if (cursor == loaded) {
        loaded = min(cursor + ROWS_AHEAD, active)
        bringHalves(rows, order, splits, cursor, loaded, false)
        if (isAlone) bringHalves(rows, order, splits, cursor, loaded, true)
      }
      const i = load<u32>(order + (usize(cursor) << 2))
      const row = <usize>load<u32>(rows + (usize(i) << 2))
      const to = load<u32>(splits + (usize(i) << 2))
      const slot = slotOf(slots, cursor)
      store<f64>(slot, dotOf(row, 0, to, w), SLOT_FIRST)
      if (isAlone) {
        store<u32>(slot, i, SLOT_ROW)
        store<u64>(slot, marked(secondDot(row, to, w, bias, biasAt), roundOf(cursor)), SLOT_SECOND)
      }
      visited += f64(load<u32>(row, ROW_COUNT)) + 4
    }
    if (abs(step) > NO_STEP) {
      axpyOf(decided, 0, split, step, w)
      if (isAlone) secondStep(decided, split, step, w, bias, biasAt)
    }
  }

  store<u32>(halves, cursor, HALVES_FIRST)
  if (isAlone) {
    store<u32>(halves, cursor, HALVES_SECOND)
    store<u32>(halves, cursor, HALVES_LOADED)
  }
  store<u32>(halves, kept, HALVES_KEPT)
  store<u32>(halves, u32(gaveUp), HALVES_GAVE_UP)
  store<f64>(sweep, gradientMax, SWEEP_GRADIENT_MAX)
  store<f64>(sweep, gradientMin, SWEEP_GRADIENT_MIN)
  store<f64>(sweep, lossSum, SWEEP_LOSS)
  store<f64>(sweep, gapSum, SWEEP_GAP)
  store<f64>(sweep, load<f64>(sweep, SWEEP_VISITED) + visited, SWEEP_VISITED)
  // What was stored before is there for whoever sees this.
  if (!isAlone) atomic.store<u32>(halves + HALVES_STOP, 1)
  return cursor >= active + LAG
}

@inline
function secondDot(row: usize, from: u32, w: usize, bias: f64, biasAt: usize): f64 {
  const dot = dotOf(row, from, load<u32>(row, ROW_COUNT), w)
  return bias == 0 ? dot : dot + bias * load<f64>(biasAt)
}

@inline
function secondStep(row: usize, from: u32, step: f64, w: usize, bias: f64, biasAt: usize): void {
  axpyOf(row, from, load<u32>(row, ROW_COUNT), step, w)
  if (bias != 0) store<f64>(biasAt, load<f64>(biasAt) + step * bias)
}

/** The second trainer: goes on until the sweep over so many active rows is done, or the first one has stopped, and as far as that
 *  one came. */
export function sweepHalvesSecond(problem: usize, sweep: usize, halves: usize, active: u32): void {
  const rows = <usize>load<u32>(problem, PROBLEM_ROWS)
  const w = <usize>load<u32>(problem, PROBLEM_WEIGHTS)
  const bias = load<f64>(problem, PROBLEM_BIAS)
  const biasAt = w + (usize(load<u32>(problem, PROBLEM_BIAS_FEATURE)) << 3)
  const order = <usize>load<u32>(sweep, SWEEP_ORDER)
  const splits = <usize>load<u32>(halves, HALVES_SPLITS)
  const slots = <usize>load<u32>(halves, HALVES_SLOTS)
  let cursor = load<u32>(halves, HALVES_SECOND)
  // What the first trainer has decided on since may stand elsewhere in the order.
  let loaded = load<u32>(halves, HALVES_LOADED)
  for (; cursor < active + LAG; cursor++) {
    if (cursor < active) {
      if (cursor == loaded) {
        loaded = min(cursor + ROWS_AHEAD, active)
        bringHalves(rows, order, splits, cursor, loaded, true)
        // The first trainer writes to the order all the time, and each time this one's copy of those lines is gone.
        for (let k = cursor; k < loaded; k++) store<u32>(slotOf(slots, k), load<u32>(order + (usize(k) << 2)), SLOT_ROW)
      }
      const slot = slotOf(slots, cursor)
      const i = load<u32>(slot, SLOT_ROW)
      const row = <usize>load<u32>(rows + (usize(i) << 2))
      store<u64>(slot, marked(secondDot(row, load<u32>(splits + (usize(i) << 2)), w, bias, biasAt), roundOf(cursor)), SLOT_SECOND)
    }
    if (cursor < LAG) continue
    const d = cursor - LAG
    const slot = slotOf(slots, d)
    // It begins with this row again when it goes on: the same weights give the same part.
    if (!wait(slot + SLOT_STEP, roundOf(d), halves + HALVES_STOP)) break
    if (abs(found) <= NO_STEP) continue
    const i = load<u32>(slot, SLOT_ROW)
    secondStep(<usize>load<u32>(rows + (usize(i) << 2)), load<u32>(splits + (usize(i) << 2)), found, w, bias, biasAt)
  }
  store<u32>(halves, cursor, HALVES_SECOND)
  store<u32>(halves, loaded, HALVES_LOADED)
}
