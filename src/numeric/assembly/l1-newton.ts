// Steps of many weights at once, for coordinate descent over features (l1.ts): the way there, and how far along it to go.
//
// Where the logistic loss has a model, its step. And for both losses Newton's step: coordinates are slow where features hang
// together. So now and then, while signs stay, it is made for all weights that are not zero at once, by conjugate gradients:
// it is that step that brings derivatives, and with them the dual, near.
import {
  L1_ACTIVE, L1_CHANGE, L1_COSTS, L1_CURSOR, L1_ENTRIES, L1_FEATURES, L1_GRADIENTS, L1_LIST, L1_MARGINS, L1_MOST, L1_NEXT,
  L1_ORDER, L1_ROWS, L1_STARTS, L1_STATE, L1_VALUES, L1_VISITED, L1_WEIGHTS,
} from '../l1-layout'
import { addColumn } from './columns'
import { ENOUGH, LEAST_CURVE } from './l1'
import { wrongness } from './losses'

// --- Along a step

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
export function stepL1(l1: usize, sparse: bool, least: f64): f64 {
  const rows = load<u32>(l1, L1_ROWS)
  const state = <usize>load<u32>(l1, L1_STATE)
  const costs = <usize>load<u32>(l1, L1_COSTS)
  const margins = <usize>load<u32>(l1, L1_MARGINS)
  const changes = <usize>load<u32>(l1, L1_CHANGE)
  let slope: f64 = 0
  // The model has done its work: its place takes what is needed for each row.
  for (let i: usize = 0; i < usize(rows); i++) {
    const q = load<f64>(changes + (i << 3))
    if (q == 0) continue
    const p = wrongness(load<f64>(margins + (i << 3)))
    store<f64>(state + (i << 4), p)
    slope -= load<f64>(costs + (i << 3)) * p * q
  }
  const promised = slope + penaltySlope(l1, sparse, 0)
  if (!(promised < 0)) return 0
  for (let t: f64 = 1; t >= least; t *= 0.5) {
    let fall: f64 = 0
    for (let i: usize = 0; i < usize(rows); i++) {
      const q = load<f64>(changes + (i << 3))
      // (1 + e^−(m + tq)) / (1 + e^−m) = 1 + p (e^−tq − 1): no digits are lost to a difference of two losses.
      if (q != 0) fall += load<f64>(costs + (i << 3)) * Math.log1p(load<f64>(state + (i << 4)) * Math.expm1(-t * q))
    }
    if (!(fall + penaltyChange(l1, sparse, t, 0) <= ENOUGH * t * promised)) continue
    moveWeights(l1, t)
    for (let i: usize = 0; i < usize(rows); i++) {
      const at = margins + (i << 3)
      store<f64>(at, load<f64>(at) + t * load<f64>(changes + (i << 3)))
    }
    return t
  }
  return 0
}

/** What the regulariser changes by along the whole step, if it went on as it begins; added to a sum. ‖w‖₁ has corners: there it
 *  is what the whole step brings. */
@inline
function penaltySlope(l1: usize, sparse: bool, sum: f64): f64 {
  const weights = <usize>load<u32>(l1, L1_WEIGHTS)
  const next = <usize>load<u32>(l1, L1_NEXT)
  const order = <usize>load<u32>(l1, L1_ORDER)
  const active = load<u32>(l1, L1_ACTIVE)
  for (let k: u32 = 0; k < active; k++) {
    const j = usize(load<u32>(order + (usize(k) << 2))) << 3
    const w = load<f64>(weights + j)
    const to = load<f64>(next + j)
    sum += sparse ? Math.abs(to) - Math.abs(w) : w * (to - w)
  }
  return sum
}

/** What it changes by along a share of the step, added to a sum. */
@inline
function penaltyChange(l1: usize, sparse: bool, t: f64, sum: f64): f64 {
  const weights = <usize>load<u32>(l1, L1_WEIGHTS)
  const next = <usize>load<u32>(l1, L1_NEXT)
  const order = <usize>load<u32>(l1, L1_ORDER)
  const active = load<u32>(l1, L1_ACTIVE)
  for (let k: u32 = 0; k < active; k++) {
    const j = usize(load<u32>(order + (usize(k) << 2))) << 3
    const w = load<f64>(weights + j)
    const d = t * (load<f64>(next + j) - w)
    sum += sparse ? Math.abs(w + d) - Math.abs(w) : d * (w + 0.5 * d)
  }
  return sum
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
export function stepL1Squared(l1: usize, sparse: bool, least: f64): f64 {
  const rows = load<u32>(l1, L1_ROWS)
  const state = <usize>load<u32>(l1, L1_STATE)
  const changes = <usize>load<u32>(l1, L1_CHANGE)
  let promised: f64 = 0
  for (let i: usize = 0; i < usize(rows); i++) promised -= 2 * max(load<f64>(state + (i << 3)), 0) * load<f64>(changes + (i << 3))
  promised = penaltySlope(l1, sparse, promised)
  if (!(promised < 0)) return 0
  for (let t: f64 = 1; t >= least; t *= 0.5) {
    let change: f64 = 0
    for (let i: usize = 0; i < usize(rows); i++) {
      const b = load<f64>(state + (i << 3))
      const before = max(b, 0)
      const after = max(b - t * load<f64>(changes + (i << 3)), 0)
      change += (after - before) * (after + before)
    }
    change = penaltyChange(l1, sparse, t, change)
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

// --- Newton's step

/** Newton's step for the weights that are not zero, under ½‖w‖² for all, for clipNewton to take. Second derivatives are raised by a share of
 *  theirs, `damping`: features that others make up would leave the system singular. Conjugate gradients, until the residual is
 *  down to a share, or after so many rounds, or when the budget of entries is spent. */
export function newtonL1(l1: usize, logistic: bool, sparse: bool, damping: f64, share: f64, rounds: u32, budget: f64): void {
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
    if (sparse && w == 0) continue
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
    const r = -(g + (sparse ? (w > 0 ? 1 : -1) : w))
    h = sparse ? max(h, LEAST_CURVE * load<f64>(most + k)) : h + 1
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
      if (!sparse) sum += p
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

/** A share of Newton's step goes to NEXT; under ‖w‖₁, weights that would change their sign end at zero. */
export function clipNewton(l1: usize, sparse: bool, t: f64): void {
  const columns = load<u32>(l1, L1_FEATURES)
  const weights = <usize>load<u32>(l1, L1_WEIGHTS)
  const next = <usize>load<u32>(l1, L1_NEXT)
  const step = <usize>load<u32>(l1, L1_GRADIENTS)
  for (let j: u32 = 0; j < columns; j++) {
    const at = usize(j) << 3
    const w = load<f64>(weights + at)
    if (sparse && w == 0) continue
    const to = w + t * load<f64>(step + at)
    store<f64>(next + at, !sparse || to * w > 0 ? to : 0)
  }
}
