// Dual coordinate descent on plain arrays: the straightforward reading of the formulas in numeric/assembly/dual.ts.
import type { Arena } from '../../src/numeric/arena.ts'
import {
  PROBLEM_ALPHA,
  PROBLEM_BIAS,
  PROBLEM_BIAS_FEATURE,
  PROBLEM_BOUND_NEGATIVE,
  PROBLEM_BOUND_POSITIVE,
  PROBLEM_BYTES,
  PROBLEM_COUNT,
  PROBLEM_DAMPING,
  PROBLEM_DIAGONAL_NEGATIVE,
  PROBLEM_DIAGONAL_POSITIVE,
  PROBLEM_LOGISTIC,
  PROBLEM_POSITIVE,
  PROBLEM_ROWS,
  PROBLEM_WEIGHTS,
  SWEEP_ACTIVE,
  SWEEP_BYTES,
  SWEEP_CURSOR,
  SWEEP_GRADIENT_MAX,
  SWEEP_GRADIENT_MIN,
  SWEEP_INNER,
  SWEEP_LOWER,
  SWEEP_ORDER,
  SWEEP_SHRINK,
  SWEEP_UPPER,
} from '../../src/numeric/layouts.ts'

export interface PlainRow {
  indices: number[]
  /** Scaled. */
  values: number[]
  positive: boolean
}

export interface PlainProblem {
  rows: PlainRow[]
  features: number
  bias: number
  boundPositive: number
  boundNegative: number
  diagonalPositive: number
  diagonalNegative: number
  logistic: boolean
  /** Over ranks: how much further w moves; 1 when not said. */
  damping?: number
  /** α, and for the logistic loss the rest C − α. */
  alpha: number[]
  rest: number[]
  /** The bias weight last. */
  w: number[]
}

export interface PlainSweep {
  order: number[]
  active: number
  shrink: boolean
  upper: number
  lower: number
  gradientMax: number
  gradientMin: number
  loss: number
  gap: number
  inner: number
}

const bounds = (p: PlainProblem, row: PlainRow): { y: number; bound: number; diagonal: number } => ({
  y: row.positive ? 1 : -1,
  bound: row.positive ? p.boundPositive : p.boundNegative,
  diagonal: row.positive ? p.diagonalPositive : p.diagonalNegative,
})

export function score(p: PlainProblem, row: PlainRow): number {
  let sum = p.bias * p.w[p.features]
  for (const [k, index] of row.indices.entries()) sum += p.w[index] * row.values[k]
  return sum
}

function add(p: PlainProblem, row: PlainRow, step: number): void {
  for (const [k, index] of row.indices.entries()) p.w[index] += step * row.values[k]
  p.w[p.features] += step * p.bias
}

const squaredNorm = (p: PlainProblem, row: PlainRow): number =>
  row.values.reduce((sum, x) => sum + x * x, 0) + p.bias * p.bias

/** The convex conjugate way round: max over 0 ≤ a ≤ bound of a·slack − ½ D a². */
export function boxLoss(slack: number, bound: number, diagonal: number): number {
  if (slack <= 0) return 0
  const a = diagonal === 0 ? bound : Math.min(bound, slack / diagonal)
  return a * slack - (diagonal / 2) * a * a
}

export const logisticLoss = (margin: number): number =>
  margin > 0 ? Math.log1p(Math.exp(-margin)) : Math.log1p(Math.exp(margin)) - margin

const entropy = (a: number, bound: number): number => (a > 0 ? a * Math.log(a / bound) : 0)

export function sweepBox(p: PlainProblem, s: PlainSweep): void {
  let position = 0
  while (position < s.active) {
    const i = s.order[position]
    const row = p.rows[i]
    const { y, bound, diagonal } = bounds(p, row)
    const a = p.alpha[i]
    const margin = y * score(p, row)
    const g = margin - 1 + diagonal * a
    const loss = boxLoss(1 - margin, bound, diagonal)
    s.loss += loss
    s.gap += loss - a * (1 - margin) + 0.5 * diagonal * a * a
    const shrinks = (a === 0 && g > s.upper) || (a === bound && g < s.lower)
    if (s.shrink && shrinks) {
      s.active--
      s.order[position] = s.order[s.active]
      s.order[s.active] = i
      continue
    }
    const projected = a === 0 ? Math.min(g, 0) : a === bound ? Math.max(g, 0) : g
    s.gradientMax = Math.max(s.gradientMax, projected)
    s.gradientMin = Math.min(s.gradientMin, projected)
    if (Math.abs(projected) > 1e-12) {
      const curvature = (p.damping ?? 1) * squaredNorm(p, row) + diagonal
      const wanted = curvature > 0 ? a - g / curvature : g < 0 ? bound : 0
      const next = Math.min(Math.max(wanted, 0), bound)
      p.alpha[i] = next
      add(p, row, (p.damping ?? 1) * (next - a) * y)
    }
    position++
  }
}

export function sweepLogistic(p: PlainProblem, s: PlainSweep): void {
  for (let position = 0; position < s.active; position++) {
    const i = s.order[position]
    const row = p.rows[i]
    const { y, bound } = bounds(p, row)
    const margin = y * score(p, row)
    const q = (p.damping ?? 1) * squaredNorm(p, row)
    const loss = bound * logisticLoss(margin)
    s.loss += loss
    s.gap += loss + entropy(p.alpha[i], bound) + entropy(p.rest[i], bound) + p.alpha[i] * margin
    // Yu, Huang, Lin 2011, Algorithm 5: z is α or C − α, whichever ends smaller.
    const onAlpha = 0.5 * q * (p.rest[i] - p.alpha[i]) + margin >= 0
    const sign = onAlpha ? 1 : -1
    const old = onAlpha ? p.alpha[i] : p.rest[i]
    let z = bound - old < 0.5 * bound ? 0.1 * old : old
    const slope = (): number => q * (z - old) + sign * margin + Math.log(z / (bound - z))
    s.gradientMax = Math.max(s.gradientMax, Math.abs(slope()))
    let moved = false
    for (let step = 0; step < 100 && Math.abs(slope()) >= s.inner; step++) {
      const next = z - slope() / (q + bound / (z * (bound - z)))
      z = next <= 0 ? 0.1 * z : next
      moved = true
    }
    if (!moved) continue
    p.alpha[i] = onAlpha ? z : bound - z
    p.rest[i] = onAlpha ? bound - z : z
    add(p, row, (p.damping ?? 1) * sign * (z - old) * y)
  }
}

/** The same problem in the arena, over records that are there already. */
export function writeProblem(
  arena: Arena,
  p: PlainProblem,
  table: number,
  positive: number,
  weightBytes: 4 | 8,
): number {
  const at = arena.allocateZeroed(PROBLEM_BYTES, 'a test problem')
  const n = p.rows.length
  const alpha = arena.allocate(n * 16 + 16, 'test')
  if (p.logistic) {
    arena.f64(alpha, n * 2).set(p.alpha.flatMap((a, i) => [a, p.rest[i]]))
  } else arena.f64(alpha, n).set(p.alpha)
  const w = arena.allocate((p.features + 1) * weightBytes, 'test')
  if (weightBytes === 8) arena.f64(w, p.features + 1).set(p.w)
  else arena.f32(w, p.features + 1).set(p.w)
  arena.setU32(at + PROBLEM_ROWS, table)
  arena.setU32(at + PROBLEM_COUNT, n)
  arena.setU32(at + PROBLEM_ALPHA, alpha)
  arena.setU32(at + PROBLEM_WEIGHTS, w)
  arena.setU32(at + PROBLEM_POSITIVE, positive)
  arena.setU32(at + PROBLEM_BIAS_FEATURE, p.features)
  arena.setF64(at + PROBLEM_BIAS, p.bias)
  arena.setF64(at + PROBLEM_BOUND_POSITIVE, p.boundPositive)
  arena.setF64(at + PROBLEM_BOUND_NEGATIVE, p.boundNegative)
  arena.setF64(at + PROBLEM_DIAGONAL_POSITIVE, p.diagonalPositive)
  arena.setF64(at + PROBLEM_DIAGONAL_NEGATIVE, p.diagonalNegative)
  arena.setU32(at + PROBLEM_LOGISTIC, p.logistic ? 1 : 0)
  arena.setF64(at + PROBLEM_DAMPING, p.damping ?? 1)
  return at
}

export function writeSweep(arena: Arena, s: PlainSweep): number {
  const at = arena.allocateZeroed(SWEEP_BYTES, 'a test sweep')
  const order = arena.allocate(s.order.length * 4, 'test')
  arena.u32(order, s.order.length).set(s.order)
  arena.setU32(at + SWEEP_ORDER, order)
  arena.setU32(at + SWEEP_ACTIVE, s.active)
  arena.setU32(at + SWEEP_CURSOR, 0)
  arena.setU32(at + SWEEP_SHRINK, s.shrink ? 1 : 0)
  arena.setF64(at + SWEEP_UPPER, s.upper)
  arena.setF64(at + SWEEP_LOWER, s.lower)
  arena.setF64(at + SWEEP_GRADIENT_MAX, s.gradientMax)
  arena.setF64(at + SWEEP_GRADIENT_MIN, s.gradientMin)
  arena.setF64(at + SWEEP_INNER, s.inner)
  return at
}
