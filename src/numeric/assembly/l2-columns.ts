// Coordinate descent over features for  min ½‖w‖² + Σ C_i loss(y_i wᵀx_i),  over the columns of the data (columns.ts): Newton
// steps in one variable with a line search (Chang, Hsieh, Lin, JMLR 9, 2008). Columns and their state are those of l1.ts, but
// that the logistic loss keeps the pair C p, m for each row, p = 1 / (1 + e^m).
//
//   squared hinge:  G_j = w_j − 2 Σ v b,    H_j = 1 + 2 Σ v²           over the rows with b > 0
//   logistic:       G_j = w_j − Σ v C p,    H_j = 1 + Σ v² C p (1 − p)
//
// Between sweeps come Newton steps of all weights at once (l1-newton.ts).
import {
  L1_COSTS, L1_CURSOR, L1_CURVE, L1_ENTRIES, L1_FEATURES, L1_LOSS, L1_MARGINS, L1_MOST, L1_ORDER, L1_ROWS, L1_STARTS, L1_STATE,
  L1_SUM, L1_VALUES, L1_VISITED, L1_WEIGHTS,
} from '../l1-layout'
import { bringNextColumns } from './ahead'
import { ENOUGH } from './l1'
import { logisticLoss, wrongness } from './losses'

/** The pairs C p, m from the margins; and the largest |v| of each column, in CURVE. */
export function startL2Logistic(l1: usize): void {
  const rows = load<u32>(l1, L1_ROWS)
  const columns = load<u32>(l1, L1_FEATURES)
  const starts = <usize>load<u32>(l1, L1_STARTS)
  const values = <usize>load<u32>(l1, L1_VALUES)
  const state = <usize>load<u32>(l1, L1_STATE)
  const costs = <usize>load<u32>(l1, L1_COSTS)
  const margins = <usize>load<u32>(l1, L1_MARGINS)
  const largest = <usize>load<u32>(l1, L1_CURVE)
  for (let i: usize = 0; i < usize(rows); i++) {
    const m = load<f64>(margins + (i << 3))
    store<f64>(state + (i << 4), load<f64>(costs + (i << 3)) * wrongness(m))
    store<f64>(state + (i << 4), m, 8)
  }
  for (let j: usize = 0; j < usize(columns); j++) {
    let v = values + (usize(load<u32>(starts + (j << 2))) << 3)
    const end = values + (usize(load<u32>(starts + (j << 2), 4)) << 3)
    let most: f64 = 0
    for (; v < end; v += 8) most = max(most, Math.abs(load<f64>(v)))
    store<f64>(largest + (j << 3), most)
  }
}

/** Margins where those of other loops are: for a Newton step of all weights. */
export function keepMarginsL2(l1: usize): void {
  const rows = load<u32>(l1, L1_ROWS)
  const state = <usize>load<u32>(l1, L1_STATE)
  const margins = <usize>load<u32>(l1, L1_MARGINS)
  for (let i: usize = 0; i < usize(rows); i++) store<f64>(margins + (i << 3), load<f64>(state + (i << 4), 8))
}

/** Σ loss, by the margins that are kept. */
export function lossL2Logistic(l1: usize): f64 {
  const rows = load<u32>(l1, L1_ROWS)
  const state = <usize>load<u32>(l1, L1_STATE)
  const costs = <usize>load<u32>(l1, L1_COSTS)
  let sum: f64 = 0
  for (let i: usize = 0; i < usize(rows); i++) sum += load<f64>(costs + (i << 3)) * logisticLoss(load<f64>(state + (i << 4), 8))
  store<f64>(l1, sum, L1_LOSS)
  return sum
}

/** By how much the losses of a column's rows change when its weight changes by d. */
@inline
function lossChange(e: usize, end: usize, v: usize, state: usize, costs: usize, d: f64, logistic: bool): f64 {
  let change: f64 = 0
  if (logistic) {
    for (; e < end; e += 4, v += 8) {
      const row = usize(load<u32>(e))
      const cost = load<f64>(costs + (row << 3))
      // (1 + e^−(m + q)) / (1 + e^−m) = 1 + p (e^−q − 1): no digits are lost to a difference of two losses.
      const p = cost > 0 ? load<f64>(state + (row << 4)) / cost : 0
      change += cost * Math.log1p(p * Math.expm1(-d * load<f64>(v)))
    }
  } else {
    for (; e < end; e += 4, v += 8) {
      const b = load<f64>(state + (usize(load<u32>(e)) << 3))
      const before = max(b, 0)
      const after = max(b - d * load<f64>(v), 0)
      change += (after - before) * (after + before)
    }
  }
  return change
}

/** The rows of a column follow its weight. */
@inline
function moveRows(e: usize, end: usize, v: usize, state: usize, costs: usize, d: f64, logistic: bool): void {
  if (logistic) {
    for (; e < end; e += 4, v += 8) {
      const row = usize(load<u32>(e))
      const at = state + (row << 4)
      const m = load<f64>(at, 8) + d * load<f64>(v)
      store<f64>(at, load<f64>(costs + (row << 3)) * wrongness(m))
      store<f64>(at, m, 8)
    }
  } else {
    for (; e < end; e += 4, v += 8) {
      const at = state + (usize(load<u32>(e)) << 3)
      store<f64>(at, load<f64>(at) - d * load<f64>(v))
    }
  }
}

/** Visits columns until the sweep is done or about `budget` entries have been seen; true when the sweep is done. SUM is that of
 *  G_j², as they were met. */
export function sweepL2(l1: usize, logistic: bool, budget: f64): bool {
  const columns = load<u32>(l1, L1_FEATURES)
  const starts = <usize>load<u32>(l1, L1_STARTS)
  const entries = <usize>load<u32>(l1, L1_ENTRIES)
  const values = <usize>load<u32>(l1, L1_VALUES)
  const state = <usize>load<u32>(l1, L1_STATE)
  const costs = <usize>load<u32>(l1, L1_COSTS)
  const weights = <usize>load<u32>(l1, L1_WEIGHTS)
  const order = <usize>load<u32>(l1, L1_ORDER)
  const most = <usize>load<u32>(l1, L1_MOST)
  const largest = <usize>load<u32>(l1, L1_CURVE)
  let cursor = load<u32>(l1, L1_CURSOR)
  let sum = load<f64>(l1, L1_SUM)
  let visited: f64 = 0
  let loaded = cursor
  while (cursor < columns && visited < budget) {
    loaded = bringNextColumns(starts, order, cursor, loaded, columns, entries, values)
    const j = usize(load<u32>(order + (usize(cursor++) << 2)))
    const from = load<u32>(starts + (j << 2))
    const n = load<u32>(starts + (j << 2), 4) - from
    const first = entries + (usize(from) << 2)
    const end = first + (usize(n) << 2)
    const value = values + (usize(from) << 3)
    visited += f64(n) + 4
    let g: f64 = 0, h: f64 = 0
    if (logistic) {
      for (let e = first, v = value; e < end; e += 4, v += 8) {
        const row = usize(load<u32>(e))
        const a = load<f64>(state + (row << 4))
        const cost = load<f64>(costs + (row << 3))
        const x = load<f64>(v)
        g -= x * a
        h += cost > 0 ? x * x * a * (1 - a / cost) : 0
      }
    } else {
      for (let e = first, v = value; e < end; e += 4, v += 8) {
        const b = load<f64>(state + (usize(load<u32>(e)) << 3))
        const x = load<f64>(v)
        g -= 2 * x * max(b, 0)
        h += select<f64>(2 * x * x, 0, b > 0)
      }
    }
    const w = load<f64>(weights + (j << 3))
    g += w
    sum += g * g
    let d = -g / (1 + h)
    if (!(Math.abs(d) > 1e-15 * Math.abs(w))) continue
    for (let tries: u32 = 0; !isSafe(g, d, logistic, most + (j << 3), largest + (j << 3)); tries++) {
      const change = w * d + 0.5 * d * d + lossChange(first, end, value, state, costs, d, logistic)
      visited += f64(n)
      if (change <= ENOUGH * g * d || tries == 40) break
      d *= 0.5
    }
    store<f64>(weights + (j << 3), w + d)
    moveRows(first, end, value, state, costs, d, logistic)
  }
  store<u32>(l1, cursor, L1_CURSOR)
  store<f64>(l1, sum, L1_SUM)
  store<f64>(l1, load<f64>(l1, L1_VISITED) + visited, L1_VISITED)
  return cursor >= columns
}

/** Whether a step brings enough for certain, without a look at the rows. Squared hinge: second derivatives stay below 1 + 2 Σ v².
 *  Logistic: along d that of a row grows no faster than e^(|v d|), so that up to |v d| = 1 the objective changes by no more than
 *  G d + 0.72 H d². */
@inline
function isSafe(g: f64, d: f64, logistic: bool, most: usize, largest: usize): bool {
  if (logistic) return Math.abs(d) * load<f64>(largest) <= 1
  return g * d + (0.5 + load<f64>(most)) * d * d <= ENOUGH * g * d
}
