// Coordinate descent over features for  min ‖w‖₁ + Σ C_i loss(y_i wᵀx_i),  over the columns of the data (columns.ts).
//
// Squared hinge: Newton steps in one variable with a line search (Chang, Hsieh, Lin, JMLR 9, 2008; Yuan, Chang, Hsieh, Lin,
// JMLR 11, 2010). With v = y √C x in the columns and b = √C (1 − m) for each row, L = Σ max(0, b)², and
//   G_j = −2 Σ v b,  H_j = 2 Σ v²  over the rows with b > 0.
// Logistic: a quadratic model of the loss is solved by coordinate descent, then one line search (newGLMNET: Yuan, Ho, Lin,
// JMLR 13, 2012): exponentials are needed for each row and step, not for each entry. With v = y x, p = 1 / (1 + e^m) and
// D = C p (1 − p), the model's derivative is G_j = −Σ v u, u = C p − D Σ_j v d_j.
//
// Between sweeps come steps of all weights at once (l1-newton.ts); sums and duals are in l1-certificate.ts.
import {
  L1_ACTIVE, L1_COSTS, L1_CURSOR, L1_CURVE, L1_ENTRIES, L1_FEATURES, L1_FIRST, L1_INNER, L1_LIMIT, L1_LOSS, L1_MARGINS,
  L1_MOST, L1_NEXT, L1_ORDER, L1_ROWS, L1_STARTS, L1_STATE, L1_STEEPEST, L1_SUM, L1_VALUES, L1_VISITED, L1_WEIGHTS, L1_WORST,
} from '../l1-layout'
import { bringNextColumns } from './ahead'
import { addColumns } from './columns'
import { swap } from './order'

/** Share of the promised decrease that a step has to bring. */
export const ENOUGH: f64 = 0.01
/** A second derivative counts as no less than this share of what bounds it: steps stay finite where all rows are far away. */
export const LEAST_CURVE: f64 = 1e-6

// --- One variable

/** How far optimality is missed by a weight whose loss has the derivative g. */
@inline
function violation(w: f64, g: f64): f64 {
  return w > 0 ? Math.abs(g + 1) : w < 0 ? Math.abs(g - 1) : max(Math.abs(g) - 1, 0)
}

/** The minimum of g d + ½ h d² + |w + d|. */
@inline
function newton(w: f64, g: f64, h: f64): f64 {
  const hw = h * w
  return g + 1 <= hw ? -(g + 1) / h : g - 1 >= hw ? -(g - 1) / h : -w
}

/** What a sweep leaves behind in any case. */
@inline
function endSweep(l1: usize, cursor: u32, worst: f64, sum: f64, high: f64, visited: f64): void {
  store<u32>(l1, cursor, L1_CURSOR)
  store<f64>(l1, worst, L1_WORST)
  store<f64>(l1, sum, L1_SUM)
  store<f64>(l1, high, L1_STEEPEST)
  store<f64>(l1, load<f64>(l1, L1_VISITED) + visited, L1_VISITED)
}

// --- Squared hinge

/** Visits columns until the sweep is done or about `budget` entries have been seen; true when the sweep is done. */
export function sweepL1Squared(l1: usize, budget: f64): bool {
  const starts = <usize>load<u32>(l1, L1_STARTS)
  const entries = <usize>load<u32>(l1, L1_ENTRIES)
  const values = <usize>load<u32>(l1, L1_VALUES)
  const state = <usize>load<u32>(l1, L1_STATE)
  const weights = <usize>load<u32>(l1, L1_WEIGHTS)
  const most = <usize>load<u32>(l1, L1_MOST)
  const order = <usize>load<u32>(l1, L1_ORDER)
  const limit = load<f64>(l1, L1_LIMIT)
  let active = load<u32>(l1, L1_ACTIVE)
  let cursor = load<u32>(l1, L1_CURSOR)
  let worst = load<f64>(l1, L1_WORST), sum = load<f64>(l1, L1_SUM), high = load<f64>(l1, L1_STEEPEST)
  let visited: f64 = 0
  let loaded = cursor
  while (cursor < active && visited < budget) {
    loaded = bringNextColumns(starts, order, cursor, loaded, active, entries, values)
    const j = load<u32>(order + (usize(cursor) << 2))
    const from = load<u32>(starts + (usize(j) << 2))
    const n = load<u32>(starts + (usize(j) << 2), 4) - from
    const first = entries + (usize(from) << 2)
    const end = first + (usize(n) << 2)
    const value = values + (usize(from) << 3)
    visited += f64(n) + 4
    let g: f64 = 0, h: f64 = 0
    for (let e = first, v = value; e < end; e += 4, v += 8) {
      const b = load<f64>(state + (usize(load<u32>(e)) << 3))
      const x = load<f64>(v)
      g -= x * max(b, 0)
      h += select<f64>(x * x, 0, b > 0)
    }
    g *= 2
    const wAt = weights + (usize(j) << 3)
    const w = load<f64>(wAt)
    const size = Math.abs(g)
    high = max(high, size)
    if (w == 0 && size < limit) {
      swap(order, cursor, --active)
      continue
    }
    cursor++
    const owed = violation(w, g)
    worst = max(worst, owed)
    sum += owed
    const bound = load<f64>(most + (usize(j) << 3))
    let d = newton(w, g, max(2 * h, 2 * LEAST_CURVE * bound))
    if (!(Math.abs(d) > 1e-15 * Math.abs(w))) continue
    let grown = Math.abs(w + d) - Math.abs(w)
    // G d + Σ v² d² is never below the loss's change: mostly it allows the step without a look at the rows.
    if (g * d + bound * d * d + grown > ENOUGH * (g * d + grown)) {
      let tries: i32 = 0
      while (true) {
        let change: f64 = 0
        for (let e = first, v = value; e < end; e += 4, v += 8) {
          const b = load<f64>(state + (usize(load<u32>(e)) << 3))
          const before = max(b, 0)
          const after = max(b - d * load<f64>(v), 0)
          change += (after - before) * (after + before)
        }
        visited += f64(n)
        if (change + grown <= ENOUGH * (g * d + grown)) break
        if (++tries == 8) {
          // With the bound for a second derivative a step always brings enough.
          d = newton(w, g, 2 * bound)
          break
        }
        d *= 0.5
        grown = Math.abs(w + d) - Math.abs(w)
      }
    }
    store<f64>(wAt, w + d)
    for (let e = first, v = value; e < end; e += 4, v += 8) {
      const at = state + (usize(load<u32>(e)) << 3)
      store<f64>(at, load<f64>(at) - d * load<f64>(v))
    }
  }
  store<u32>(l1, active, L1_ACTIVE)
  endSweep(l1, cursor, worst, sum, high, visited)
  return cursor >= active
}

/** b = √C (1 − m) anew from w. */
export function stateOfSquared(l1: usize): void {
  const rows = load<u32>(l1, L1_ROWS)
  const state = <usize>load<u32>(l1, L1_STATE)
  memory.copy(state, <usize>load<u32>(l1, L1_COSTS), usize(rows) << 3)
  addColumns(l1, <usize>load<u32>(l1, L1_WEIGHTS), -1, state)
}

// --- Logistic

/** Margins anew from w. */
export function marginsOfColumns(l1: usize): void {
  const margins = <usize>load<u32>(l1, L1_MARGINS)
  memory.fill(margins, 0, usize(load<u32>(l1, L1_ROWS)) << 3)
  addColumns(l1, <usize>load<u32>(l1, L1_WEIGHTS), 1, margins)
}

/** The quadratic model of the loss at w: u and D for each row, no step yet; Σ loss goes to L1_LOSS. */
export function startModel(l1: usize): void {
  const rows = load<u32>(l1, L1_ROWS)
  const state = <usize>load<u32>(l1, L1_STATE)
  const costs = <usize>load<u32>(l1, L1_COSTS)
  const margins = <usize>load<u32>(l1, L1_MARGINS)
  let loss: f64 = 0
  for (let i: usize = 0; i < usize(rows); i++) {
    const m = load<f64>(margins + (i << 3))
    const cost = load<f64>(costs + (i << 3))
    const e = Math.exp(-Math.abs(m))
    const p = m > 0 ? e / (1 + e) : 1 / (1 + e)
    loss += cost * (Math.log1p(e) + max(-m, 0))
    const at = state + (i << 4)
    store<f64>(at, cost * p)
    store<f64>(at, cost * (e / ((1 + e) * (1 + e))), 8)
  }
  store<f64>(l1, loss, L1_LOSS)
  memory.copy(<usize>load<u32>(l1, L1_NEXT), <usize>load<u32>(l1, L1_WEIGHTS), usize(load<u32>(l1, L1_FEATURES)) << 3)
}

/** Visits columns of the model until the sweep is done or about `budget` entries have been seen; true when it is done. The
 *  first sweep over a model also finds its second derivatives, and what it shrinks stays away from the later ones. */
export function sweepL1Logistic(l1: usize, budget: f64): bool {
  const starts = <usize>load<u32>(l1, L1_STARTS)
  const entries = <usize>load<u32>(l1, L1_ENTRIES)
  const values = <usize>load<u32>(l1, L1_VALUES)
  const state = <usize>load<u32>(l1, L1_STATE)
  const next = <usize>load<u32>(l1, L1_NEXT)
  const curve = <usize>load<u32>(l1, L1_CURVE)
  const most = <usize>load<u32>(l1, L1_MOST)
  const order = <usize>load<u32>(l1, L1_ORDER)
  const opening = load<u32>(l1, L1_FIRST) != 0
  const limit = load<f64>(l1, L1_LIMIT)
  let inner = load<u32>(l1, L1_INNER)
  let cursor = load<u32>(l1, L1_CURSOR)
  let worst = load<f64>(l1, L1_WORST), sum = load<f64>(l1, L1_SUM), high = load<f64>(l1, L1_STEEPEST)
  let visited: f64 = 0
  let loaded = cursor
  while (cursor < inner && visited < budget) {
    loaded = bringNextColumns(starts, order, cursor, loaded, inner, entries, values)
    const j = load<u32>(order + (usize(cursor) << 2))
    const from = load<u32>(starts + (usize(j) << 2))
    const n = load<u32>(starts + (usize(j) << 2), 4) - from
    const first = entries + (usize(from) << 2)
    const end = first + (usize(n) << 2)
    const value = values + (usize(from) << 3)
    visited += f64(n) + 4
    let g: f64 = 0, h: f64 = 0
    if (opening) {
      for (let e = first, v = value; e < end; e += 4, v += 8) {
        const at = state + (usize(load<u32>(e)) << 4)
        const x = load<f64>(v)
        g -= x * load<f64>(at)
        h += x * x * load<f64>(at, 8)
      }
      h = max(h, LEAST_CURVE * load<f64>(most + (usize(j) << 3)))
      store<f64>(curve + (usize(j) << 3), h)
    } else {
      for (let e = first, v = value; e < end; e += 4, v += 8) g -= load<f64>(v) * load<f64>(state + (usize(load<u32>(e)) << 4))
      h = load<f64>(curve + (usize(j) << 3))
    }
    const wAt = next + (usize(j) << 3)
    const w = load<f64>(wAt)
    const size = Math.abs(g)
    high = max(high, size)
    if (w == 0 && size < limit) {
      swap(order, cursor, --inner)
      continue
    }
    cursor++
    const owed = violation(w, g)
    worst = max(worst, owed)
    sum += owed
    const d = newton(w, g, h)
    if (!(Math.abs(d) > 1e-15 * Math.abs(w))) continue
    store<f64>(wAt, w + d)
    for (let e = first, v = value; e < end; e += 4, v += 8) {
      const at = state + (usize(load<u32>(e)) << 4)
      store<f64>(at, load<f64>(at) - d * load<f64>(v) * load<f64>(at, 8))
    }
  }
  store<u32>(l1, inner, L1_INNER)
  if (opening) store<u32>(l1, inner, L1_ACTIVE)
  endSweep(l1, cursor, worst, sum, high, visited)
  return cursor >= inner
}
