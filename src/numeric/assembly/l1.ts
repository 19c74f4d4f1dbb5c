// Coordinate descent over features for  min ‖w‖₁ + Σ C_i loss(y_i wᵀx_i),  rows turned into columns first.
//
// Squared hinge: Newton steps in one variable with a line search (Chang, Hsieh, Lin, JMLR 9, 2008; Yuan, Chang, Hsieh, Lin,
// JMLR 11, 2010). With v = y √C x in the columns and b = √C (1 − m) for each row, L = Σ max(0, b)², and
//   G_j = −2 Σ v b,  H_j = 2 Σ v²  over the rows with b > 0.
// Logistic: a quadratic model of the loss is solved by coordinate descent, then one line search (newGLMNET: Yuan, Ho, Lin,
// JMLR 13, 2012): exponentials are needed for each row and step, not for each entry. With v = y x, p = 1 / (1 + e^m) and
// D = C p (1 − p), the model's derivative is G_j = −Σ v u, u = C p − D Σ_j v d_j.
//
// Coordinates are slow where features hang together. So now and then, while signs stay, Newton's step for all weights that
// are not zero is made at once, by conjugate gradients: it is that step that brings derivatives, and with them the dual, near.
import {
  PROBLEM_ALPHA, PROBLEM_BIAS, PROBLEM_BIAS_FEATURE, PROBLEM_BOUND_NEGATIVE, PROBLEM_BOUND_POSITIVE,
  PROBLEM_DIAGONAL_NEGATIVE, PROBLEM_DIAGONAL_POSITIVE, PROBLEM_LOGISTIC, PROBLEM_POSITIVE, PROBLEM_ROWS, PROBLEM_WEIGHTS,
  ROW_CLASS, ROW_COUNT, ROW_DICTIONARY, ROW_ENTRIES, ROW_KIND, ROW_KIND_CODED, ROW_KIND_CONSTANT, ROW_KIND_DENSE,
  ROW_KIND_F32, ROW_SCALE, SUMS_ALPHA_MARGIN, SUMS_CORRECT, SUMS_DUAL, SUMS_LOSS, SUMS_SUPPORT,
} from '../layouts'
import {
  L1_ACTIVE, L1_CHANGE, L1_COSTS, L1_CURSOR, L1_CURVE, L1_ENTRIES, L1_FEATURES, L1_FIRST, L1_GRADIENTS, L1_INNER, L1_LIMIT, L1_LIST, L1_LOSS,
  L1_MARGINS, L1_MOST, L1_NEXT, L1_ORDER, L1_ROWS, L1_STARTS, L1_STATE, L1_STEEPEST, L1_SUM, L1_VALUES, L1_VISITED,
  L1_WEIGHTS, L1_WORST,
} from '../l1-layout'
import { boxLoss, logisticLoss, negativeEntropy } from './losses'
import { dotRow, wideValues } from './row'

/** Share of the promised decrease that a step has to bring. */
const ENOUGH: f64 = 0.01
/** A second derivative counts as no less than this share of what bounds it: steps stay finite where all rows are far away. */
const LEAST_CURVE: f64 = 1e-6

// --- Rows to columns

/** Counts the nonzeros of each feature into u32[], which holds zeros; how many there are in all. */
export function countColumns(table: usize, rows: u32, counts: usize): f64 {
  let all: f64 = 0
  for (let r: u32 = 0; r < rows; r++) {
    const row = <usize>load<u32>(table + (usize(r) << 2))
    const n = load<u32>(row, ROW_COUNT)
    const entries = row + ROW_ENTRIES
    if (load<u32>(row, ROW_KIND) == ROW_KIND_DENSE) {
      for (let j: usize = 0; j < usize(n); j++) {
        if (load<f32>(entries + (j << 2)) == 0) continue
        const at = counts + (j << 2)
        store<u32>(at, load<u32>(at) + 1)
        all += 1
      }
    } else {
      for (let k: usize = 0; k < usize(n); k++) {
        const at = counts + (usize(load<u32>(entries + (k << 2))) << 2)
        store<u32>(at, load<u32>(at) + 1)
      }
      all += f64(n)
    }
  }
  return all
}

/** Counts of columns become their starts, in place; the end of all behind them. */
export function startColumns(counts: usize, columns: u32): void {
  let next: u32 = 0
  for (let j: u32 = 0; j < columns; j++) {
    const at = counts + (usize(j) << 2)
    const count = load<u32>(at)
    store<u32>(at, next)
    next += count
  }
  store<u32>(counts + (usize(columns) << 2), next)
}

@inline
function put(next: usize, entries: usize, values: usize, j: u32, row: u32, value: f64): void {
  const at = next + (usize(j) << 2)
  const place = load<u32>(at)
  store<u32>(at, place + 1)
  store<u32>(entries + (usize(place) << 2), row)
  store<f64>(values + (usize(place) << 3), value)
}

/** Puts every entry into its column, rows rising. `next` is a copy of the starts and is used up. A row's values are
 *  multiplied by its scale, and by `positive` or `negative`. A bias column, when there is one, comes behind the features. */
export function fillColumns(problem: usize, rows: u32, next: usize, entries: usize, values: usize, positive: f64, negative: f64): void {
  const table = <usize>load<u32>(problem, PROBLEM_ROWS)
  const positiveClass = load<u32>(problem, PROBLEM_POSITIVE)
  const bias = load<f64>(problem, PROBLEM_BIAS)
  const biasFeature = load<u32>(problem, PROBLEM_BIAS_FEATURE)
  for (let r: u32 = 0; r < rows; r++) {
    const row = <usize>load<u32>(table + (usize(r) << 2))
    const n = load<u32>(row, ROW_COUNT)
    const kind = load<u32>(row, ROW_KIND)
    const side = load<u32>(row, ROW_CLASS) == positiveClass ? positive : negative
    const factor = side * load<f64>(row, ROW_SCALE)
    let i = row + ROW_ENTRIES
    const end = i + (usize(n) << 2)
    if (kind == ROW_KIND_CONSTANT) {
      for (; i < end; i += 4) put(next, entries, values, load<u32>(i), r, factor)
    } else if (kind == ROW_KIND_CODED) {
      const dictionary = <usize>load<u32>(row, ROW_DICTIONARY)
      for (let v = end; i < end; i += 4, v++) {
        put(next, entries, values, load<u32>(i), r, factor * f64(load<f32>(dictionary + (usize(load<u8>(v)) << 2))))
      }
    } else if (kind == ROW_KIND_F32) {
      for (let v = end; i < end; i += 4, v += 4) put(next, entries, values, load<u32>(i), r, factor * f64(load<f32>(v)))
    } else if (kind == ROW_KIND_DENSE) {
      for (let j: u32 = 0; j < n; j++, i += 4) {
        const x = load<f32>(i)
        if (x != 0) put(next, entries, values, j, r, factor * f64(x))
      }
    } else {
      for (let v = wideValues(i, n); i < end; i += 4, v += 8) put(next, entries, values, load<u32>(i), r, factor * load<f64>(v))
    }
    if (bias != 0) put(next, entries, values, biasFeature, r, side * bias)
  }
}

/** Costs for each row (f64), by its side. */
export function rowCosts(problem: usize, rows: u32, costs: usize, positive: f64, negative: f64): void {
  const table = <usize>load<u32>(problem, PROBLEM_ROWS)
  const positiveClass = load<u32>(problem, PROBLEM_POSITIVE)
  for (let r: u32 = 0; r < rows; r++) {
    const row = <usize>load<u32>(table + (usize(r) << 2))
    store<f64>(costs + (usize(r) << 3), load<u32>(row, ROW_CLASS) == positiveClass ? positive : negative)
  }
}

/** For each column Σ v², or Σ C v² when `weighted`: second derivatives are below it, but for a factor. */
export function columnBounds(l1: usize, weighted: bool): void {
  const starts = <usize>load<u32>(l1, L1_STARTS)
  const entries = <usize>load<u32>(l1, L1_ENTRIES)
  const values = <usize>load<u32>(l1, L1_VALUES)
  const costs = <usize>load<u32>(l1, L1_COSTS)
  const most = <usize>load<u32>(l1, L1_MOST)
  const columns = load<u32>(l1, L1_FEATURES)
  for (let j: u32 = 0; j < columns; j++) {
    let k = load<u32>(starts + (usize(j) << 2))
    const end = load<u32>(starts + (usize(j) << 2), 4)
    let sum: f64 = 0
    for (; k < end; k++) {
      const x = load<f64>(values + (usize(k) << 3))
      sum += x * x * (weighted ? load<f64>(costs + (usize(load<u32>(entries + (usize(k) << 2))) << 3)) : 1)
    }
    store<f64>(most + (usize(j) << 3), sum)
  }
}

/** out_i += Σ_j w_j v_ij over all columns with a weight. */
export function addColumns(l1: usize, w: usize, sign: f64, out: usize): void {
  const columns = load<u32>(l1, L1_FEATURES)
  for (let j: u32 = 0; j < columns; j++) {
    const x = load<f64>(w + (usize(j) << 3))
    if (x != 0) addColumn(l1, j, sign * x, out)
  }
}

@inline
function addColumn(l1: usize, j: u32, step: f64, out: usize): u32 {
  const starts = <usize>load<u32>(l1, L1_STARTS) + (usize(j) << 2)
  const from = load<u32>(starts)
  const to = load<u32>(starts, 4)
  let e = <usize>load<u32>(l1, L1_ENTRIES) + (usize(from) << 2)
  const end = <usize>load<u32>(l1, L1_ENTRIES) + (usize(to) << 2)
  let v = <usize>load<u32>(l1, L1_VALUES) + (usize(from) << 3)
  for (; e < end; e += 4, v += 8) {
    const at = out + (usize(load<u32>(e)) << 3)
    store<f64>(at, load<f64>(at) + step * load<f64>(v))
  }
  return to - from
}

/** Σ |w_j|. */
export function lengthL1(w: usize, count: u32): f64 {
  let sum: f64 = 0
  for (let j: u32 = 0; j < count; j++) sum += Math.abs(load<f64>(w + (usize(j) << 3)))
  return sum
}

/** max |v_j|. */
export function steepest(v: usize, count: u32): f64 {
  let most: f64 = 0
  for (let j: u32 = 0; j < count; j++) most = max(most, Math.abs(load<f64>(v + (usize(j) << 3))))
  return most
}

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

@inline
function swap(order: usize, a: u32, b: u32): void {
  const x = load<u32>(order + (usize(a) << 2))
  store<u32>(order + (usize(a) << 2), load<u32>(order + (usize(b) << 2)))
  store<u32>(order + (usize(b) << 2), x)
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
  while (cursor < active && visited < budget) {
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
  store<u32>(l1, cursor, L1_CURSOR)
  store<f64>(l1, worst, L1_WORST)
  store<f64>(l1, sum, L1_SUM)
  store<f64>(l1, high, L1_STEEPEST)
  store<f64>(l1, load<f64>(l1, L1_VISITED) + visited, L1_VISITED)
  return cursor >= active
}

/** b = √C (1 − m) anew from w. */
export function stateOfSquared(l1: usize): void {
  const rows = load<u32>(l1, L1_ROWS)
  const state = <usize>load<u32>(l1, L1_STATE)
  memory.copy(state, <usize>load<u32>(l1, L1_COSTS), usize(rows) << 3)
  addColumns(l1, <usize>load<u32>(l1, L1_WEIGHTS), -1, state)
}

/** Σ loss goes to L1_LOSS; Σ α is returned, α = 2 C (1 − m) where that is above 0. */
export function sumsOfSquared(l1: usize): f64 {
  const rows = load<u32>(l1, L1_ROWS)
  const state = <usize>load<u32>(l1, L1_STATE)
  const costs = <usize>load<u32>(l1, L1_COSTS)
  let loss: f64 = 0, alpha: f64 = 0
  for (let i: usize = 0; i < usize(rows); i++) {
    const b = max(load<f64>(state + (i << 3)), 0)
    loss += b * b
    alpha += load<f64>(costs + (i << 3)) * b
  }
  store<f64>(l1, loss, L1_LOSS)
  return 2 * alpha
}

// --- Logistic

/** 1 / (1 + e^m). */
@inline
function wrongness(m: f64): f64 {
  const e = Math.exp(-Math.abs(m))
  return m > 0 ? e / (1 + e) : 1 / (1 + e)
}

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
  while (cursor < inner && visited < budget) {
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
  store<u32>(l1, cursor, L1_CURSOR)
  store<f64>(l1, worst, L1_WORST)
  store<f64>(l1, sum, L1_SUM)
  store<f64>(l1, high, L1_STEEPEST)
  store<f64>(l1, load<f64>(l1, L1_VISITED) + visited, L1_VISITED)
  return cursor >= inner
}

/** Adds up how the model's step changes the margins, column by column; true when all are in. */
export function directionL1(l1: usize, budget: f64): bool {
  const weights = <usize>load<u32>(l1, L1_WEIGHTS)
  const next = <usize>load<u32>(l1, L1_NEXT)
  const order = <usize>load<u32>(l1, L1_ORDER)
  const change = <usize>load<u32>(l1, L1_CHANGE)
  const active = load<u32>(l1, L1_ACTIVE)
  let cursor = load<u32>(l1, L1_CURSOR)
  if (cursor == 0) memory.fill(change, 0, usize(load<u32>(l1, L1_ROWS)) << 3)
  let visited: f64 = 0
  for (; cursor < active && visited < budget; cursor++) {
    const j = load<u32>(order + (usize(cursor) << 2))
    const d = load<f64>(next + (usize(j) << 3)) - load<f64>(weights + (usize(j) << 3))
    if (d != 0) visited += f64(addColumn(l1, j, d, change))
  }
  store<u32>(l1, cursor, L1_CURSOR)
  store<f64>(l1, load<f64>(l1, L1_VISITED) + visited, L1_VISITED)
  return cursor >= active
}

/** Goes as far along the model's step as the objective falls enough; that share of it, 0 when it falls nowhere. Shares below
 *  the least one are not tried. */
export function stepL1(l1: usize, least: f64): f64 {
  const rows = load<u32>(l1, L1_ROWS)
  const weights = <usize>load<u32>(l1, L1_WEIGHTS)
  const next = <usize>load<u32>(l1, L1_NEXT)
  const order = <usize>load<u32>(l1, L1_ORDER)
  const state = <usize>load<u32>(l1, L1_STATE)
  const costs = <usize>load<u32>(l1, L1_COSTS)
  const margins = <usize>load<u32>(l1, L1_MARGINS)
  const changes = <usize>load<u32>(l1, L1_CHANGE)
  const active = load<u32>(l1, L1_ACTIVE)
  let slope: f64 = 0
  // The model has done its work: its place takes what is needed for each row.
  for (let i: usize = 0; i < usize(rows); i++) {
    const q = load<f64>(changes + (i << 3))
    if (q == 0) continue
    const p = wrongness(load<f64>(margins + (i << 3)))
    store<f64>(state + (i << 4), p)
    slope -= load<f64>(costs + (i << 3)) * p * q
  }
  let whole: f64 = 0
  for (let k: u32 = 0; k < active; k++) {
    const j = usize(load<u32>(order + (usize(k) << 2))) << 3
    whole += Math.abs(load<f64>(next + j)) - Math.abs(load<f64>(weights + j))
  }
  const promised = slope + whole
  if (!(promised < 0)) return 0
  for (let t: f64 = 1; t >= least; t *= 0.5) {
    let fall: f64 = 0
    for (let i: usize = 0; i < usize(rows); i++) {
      const q = load<f64>(changes + (i << 3))
      // (1 + e^−(m + tq)) / (1 + e^−m) = 1 + p (e^−tq − 1): no digits are lost to a difference of two losses.
      if (q != 0) fall += load<f64>(costs + (i << 3)) * Math.log1p(load<f64>(state + (i << 4)) * Math.expm1(-t * q))
    }
    let grown: f64 = 0
    for (let k: u32 = 0; k < active; k++) {
      const j = usize(load<u32>(order + (usize(k) << 2))) << 3
      const w = load<f64>(weights + j)
      grown += Math.abs(w + t * (load<f64>(next + j) - w)) - Math.abs(w)
    }
    if (!(fall + grown <= ENOUGH * t * promised)) continue
    moveWeights(l1, t)
    for (let i: usize = 0; i < usize(rows); i++) {
      const at = margins + (i << 3)
      store<f64>(at, load<f64>(at) + t * load<f64>(changes + (i << 3)))
    }
    return t
  }
  return 0
}

/** w goes a share of the way to where the step leads. A whole step lands on its zeros exactly. */
@inline
function moveWeights(l1: usize, t: f64): void {
  const weights = <usize>load<u32>(l1, L1_WEIGHTS)
  const next = <usize>load<u32>(l1, L1_NEXT)
  const order = <usize>load<u32>(l1, L1_ORDER)
  const active = load<u32>(l1, L1_ACTIVE)
  for (let k: u32 = 0; k < active; k++) {
    const j = usize(load<u32>(order + (usize(k) << 2))) << 3
    const w = load<f64>(weights + j)
    const to = load<f64>(next + j)
    store<f64>(weights + j, t == 1 ? to : w + t * (to - w))
  }
}

/** The same as stepL1 for the squared hinge. */
export function stepL1Squared(l1: usize, least: f64): f64 {
  const rows = load<u32>(l1, L1_ROWS)
  const weights = <usize>load<u32>(l1, L1_WEIGHTS)
  const next = <usize>load<u32>(l1, L1_NEXT)
  const order = <usize>load<u32>(l1, L1_ORDER)
  const state = <usize>load<u32>(l1, L1_STATE)
  const changes = <usize>load<u32>(l1, L1_CHANGE)
  const active = load<u32>(l1, L1_ACTIVE)
  let promised: f64 = 0
  for (let i: usize = 0; i < usize(rows); i++) promised -= 2 * max(load<f64>(state + (i << 3)), 0) * load<f64>(changes + (i << 3))
  for (let k: u32 = 0; k < active; k++) {
    const j = usize(load<u32>(order + (usize(k) << 2))) << 3
    promised += Math.abs(load<f64>(next + j)) - Math.abs(load<f64>(weights + j))
  }
  if (!(promised < 0)) return 0
  for (let t: f64 = 1; t >= least; t *= 0.5) {
    let change: f64 = 0
    for (let i: usize = 0; i < usize(rows); i++) {
      const b = load<f64>(state + (i << 3))
      const before = max(b, 0)
      const after = max(b - t * load<f64>(changes + (i << 3)), 0)
      change += (after - before) * (after + before)
    }
    for (let k: u32 = 0; k < active; k++) {
      const j = usize(load<u32>(order + (usize(k) << 2))) << 3
      const w = load<f64>(weights + j)
      change += Math.abs(w + t * (load<f64>(next + j) - w)) - Math.abs(w)
    }
    if (!(change <= ENOUGH * t * promised)) continue
    moveWeights(l1, t)
    for (let i: usize = 0; i < usize(rows); i++) {
      const at = state + (i << 3)
      store<f64>(at, load<f64>(at) - t * load<f64>(changes + (i << 3)))
    }
    return t
  }
  return 0
}

/** Newton's step for the weights that are not zero, for clipNewton to take. Second derivatives are raised by a share of
 *  theirs, `damping`: features that others make up would leave the system singular. Conjugate gradients, until the residual is
 *  down to a share, or after so many rounds, or when the budget of entries is spent. */
export function newtonL1(l1: usize, logistic: bool, damping: f64, share: f64, rounds: u32, budget: f64): void {
  const rows = load<u32>(l1, L1_ROWS)
  const columns = load<u32>(l1, L1_FEATURES)
  const weights = <usize>load<u32>(l1, L1_WEIGHTS)
  const starts = <usize>load<u32>(l1, L1_STARTS)
  const entries = <usize>load<u32>(l1, L1_ENTRIES)
  const values = <usize>load<u32>(l1, L1_VALUES)
  const state = <usize>load<u32>(l1, L1_STATE)
  const most = <usize>load<u32>(l1, L1_MOST)
  const next = <usize>load<u32>(l1, L1_NEXT)
  const change = <usize>load<u32>(l1, L1_CHANGE)
  const list = <usize>load<u32>(l1, L1_LIST)
  const residual = <usize>load<u32>(l1, L1_GRADIENTS)
  const search = residual + (usize(columns) << 3)
  const product = search + (usize(columns) << 3)
  const diagonal = product + (usize(columns) << 3)
  memory.copy(next, weights, usize(columns) << 3)
  let listed: u32 = 0
  let visited: f64 = 0, first: f64 = 0
  for (let j: u32 = 0; j < columns; j++) {
    const w = load<f64>(weights + (usize(j) << 3))
    if (w == 0) continue
    store<u32>(list + (usize(listed++) << 2), j)
    const from = load<u32>(starts + (usize(j) << 2))
    const n = load<u32>(starts + (usize(j) << 2), 4) - from
    let e = entries + (usize(from) << 2)
    let v = values + (usize(from) << 3)
    const end = e + (usize(n) << 2)
    let g: f64 = 0, h: f64 = 0
    if (logistic) {
      for (; e < end; e += 4, v += 8) {
        const at = state + (usize(load<u32>(e)) << 4)
        const x = load<f64>(v)
        g -= x * load<f64>(at)
        h += x * x * load<f64>(at, 8)
      }
    } else {
      for (; e < end; e += 4, v += 8) {
        const b = load<f64>(state + (usize(load<u32>(e)) << 3))
        const x = load<f64>(v)
        g -= 2 * x * max(b, 0)
        h += select<f64>(2 * x * x, 0, b > 0)
      }
    }
    visited += f64(n)
    const k = usize(j) << 3
    const r = -(g + (w > 0 ? 1 : -1))
    h = max(h, LEAST_CURVE * load<f64>(most + k))
    store<f64>(residual + k, r)
    store<f64>(diagonal + k, h)
    store<f64>(search + k, r / h)
    first += (r * r) / h
  }
  let rest = first
  for (let round: u32 = 0; round < rounds && visited < budget && rest > share * share * first; round++) {
    memory.fill(change, 0, usize(rows) << 3)
    for (let k: u32 = 0; k < listed; k++) {
      const j = load<u32>(list + (usize(k) << 2))
      visited += 2 * f64(addColumn(l1, j, load<f64>(search + (usize(j) << 3)), change))
    }
    if (logistic) {
      for (let i: usize = 0; i < usize(rows); i++) store<f64>(change + (i << 3), load<f64>(change + (i << 3)) * load<f64>(state + (i << 4), 8))
    } else {
      for (let i: usize = 0; i < usize(rows); i++) store<f64>(change + (i << 3), select<f64>(2 * load<f64>(change + (i << 3)), 0, load<f64>(state + (i << 3)) > 0))
    }
    visited += f64(rows)
    let curved: f64 = 0
    for (let k: u32 = 0; k < listed; k++) {
      const j = load<u32>(list + (usize(k) << 2))
      const from = load<u32>(starts + (usize(j) << 2))
      const to = load<u32>(starts + (usize(j) << 2), 4)
      let v = values + (usize(from) << 3)
      const end = entries + (usize(to) << 2)
      let sum: f64 = 0
      for (let e = entries + (usize(from) << 2); e < end; e += 4, v += 8) sum += load<f64>(v) * load<f64>(change + (usize(load<u32>(e)) << 3))
      const at = usize(j) << 3
      const p = load<f64>(search + at)
      sum += damping * load<f64>(diagonal + at) * p
      store<f64>(product + at, sum)
      curved += p * sum
    }
    if (!(curved > 0)) break
    const a = rest / curved
    let left: f64 = 0
    for (let k: u32 = 0; k < listed; k++) {
      const at = usize(load<u32>(list + (usize(k) << 2))) << 3
      store<f64>(next + at, load<f64>(next + at) + a * load<f64>(search + at))
      const r = load<f64>(residual + at) - a * load<f64>(product + at)
      store<f64>(residual + at, r)
      left += (r * r) / load<f64>(diagonal + at)
    }
    const turn = left / rest
    rest = left
    for (let k: u32 = 0; k < listed; k++) {
      const at = usize(load<u32>(list + (usize(k) << 2))) << 3
      store<f64>(search + at, load<f64>(residual + at) / load<f64>(diagonal + at) + turn * load<f64>(search + at))
    }
  }
  for (let k: u32 = 0; k < listed; k++) {
    const at = usize(load<u32>(list + (usize(k) << 2))) << 3
    store<f64>(residual + at, load<f64>(next + at) - load<f64>(weights + at))
  }
  store<f64>(l1, load<f64>(l1, L1_VISITED) + visited, L1_VISITED)
}

/** A share of Newton's step goes to NEXT; weights that would change their sign end at zero. */
export function clipNewton(l1: usize, t: f64): void {
  const columns = load<u32>(l1, L1_FEATURES)
  const weights = <usize>load<u32>(l1, L1_WEIGHTS)
  const next = <usize>load<u32>(l1, L1_NEXT)
  const step = <usize>load<u32>(l1, L1_GRADIENTS)
  for (let j: u32 = 0; j < columns; j++) {
    const at = usize(j) << 3
    const w = load<f64>(weights + at)
    if (w == 0) continue
    const to = w + t * load<f64>(step + at)
    store<f64>(next + at, to * w > 0 ? to : 0)
  }
}

/** The dual objective of α = factor · C p at the present margins. */
export function dualOfLogistic(l1: usize, factor: f64): f64 {
  const rows = load<u32>(l1, L1_ROWS)
  const costs = <usize>load<u32>(l1, L1_COSTS)
  const margins = <usize>load<u32>(l1, L1_MARGINS)
  let sum: f64 = 0
  for (let i: usize = 0; i < usize(rows); i++) {
    const cost = load<f64>(costs + (i << 3))
    const a = factor * cost * wrongness(load<f64>(margins + (i << 3)))
    sum += negativeEntropy(a, cost - a, cost)
  }
  return sum
}

// --- The certificate, from rows alone

/** Margins of rows from..to afresh from w, and from them α = −C loss'(m), in its place. Sums: losses, rows on the right side,
 *  Σ α, and Σ of what is quadratic in α (SUMS_ALPHA_MARGIN). */
export function evaluateL1(problem: usize, from: u32, to: u32, sums: usize): void {
  const rows = <usize>load<u32>(problem, PROBLEM_ROWS)
  const alpha = <usize>load<u32>(problem, PROBLEM_ALPHA)
  const w = <usize>load<u32>(problem, PROBLEM_WEIGHTS)
  const positive = load<u32>(problem, PROBLEM_POSITIVE)
  const logistic = load<u32>(problem, PROBLEM_LOGISTIC) != 0
  const bias = load<f64>(problem, PROBLEM_BIAS)
  const biasPart = bias == 0 ? 0 : bias * load<f64>(w + (usize(load<u32>(problem, PROBLEM_BIAS_FEATURE)) << 3))
  let loss: f64 = 0, correct: f64 = 0, linear: f64 = 0, square: f64 = 0
  for (let i = from; i < to; i++) {
    const row = <usize>load<u32>(rows + (usize(i) << 2))
    const isPositive = load<u32>(row, ROW_CLASS) == positive
    const bound = load<f64>(problem + (isPositive ? PROBLEM_BOUND_POSITIVE : PROBLEM_BOUND_NEGATIVE))
    const dot = dotRow<f64>(row, w) + biasPart
    const margin = isPositive ? dot : -dot
    if (isPositive ? dot > 0 : dot <= 0) correct += 1
    if (logistic) {
      const a = bound * wrongness(margin)
      store<f64>(alpha + (usize(i) << 4), a)
      store<f64>(alpha + (usize(i) << 4), bound - a, 8)
      loss += bound * logisticLoss(margin)
    } else {
      const diagonal = load<f64>(problem + (isPositive ? PROBLEM_DIAGONAL_POSITIVE : PROBLEM_DIAGONAL_NEGATIVE))
      const a = max(1 - margin, 0) / diagonal
      store<f64>(alpha + (usize(i) << 3), a)
      loss += boxLoss(1 - margin, bound, diagonal)
      linear += a
      square += 0.5 * diagonal * a * a
    }
  }
  store<f64>(sums, loss, SUMS_LOSS)
  store<f64>(sums, linear, SUMS_DUAL)
  store<f64>(sums, square, SUMS_ALPHA_MARGIN)
  store<f64>(sums, correct, SUMS_CORRECT)
  store<f64>(sums, 0, SUMS_SUPPORT)
}

/** Multiplies α of all rows by a factor that makes it feasible; the dual objective there. */
export function shortenDual(problem: usize, rows: u32, factor: f64): f64 {
  const table = <usize>load<u32>(problem, PROBLEM_ROWS)
  const alpha = <usize>load<u32>(problem, PROBLEM_ALPHA)
  const positive = load<u32>(problem, PROBLEM_POSITIVE)
  const logistic = load<u32>(problem, PROBLEM_LOGISTIC) != 0
  let sum: f64 = 0
  for (let i: u32 = 0; i < rows; i++) {
    const row = <usize>load<u32>(table + (usize(i) << 2))
    const isPositive = load<u32>(row, ROW_CLASS) == positive
    if (logistic) {
      const bound = load<f64>(problem + (isPositive ? PROBLEM_BOUND_POSITIVE : PROBLEM_BOUND_NEGATIVE))
      const at = alpha + (usize(i) << 4)
      const a = factor * load<f64>(at)
      store<f64>(at, a)
      store<f64>(at, bound - a, 8)
      sum += negativeEntropy(a, bound - a, bound)
    } else {
      const diagonal = load<f64>(problem + (isPositive ? PROBLEM_DIAGONAL_POSITIVE : PROBLEM_DIAGONAL_NEGATIVE))
      const at = alpha + (usize(i) << 3)
      const a = factor * load<f64>(at)
      store<f64>(at, a)
      sum += a - 0.5 * diagonal * a * a
    }
  }
  return sum
}
