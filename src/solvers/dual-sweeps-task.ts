// Sweeps of dual coordinate descent on one thread, until a budget of nonzeros is spent or the rows met in one whole
// sweep owe no more than the target gap. All state is in the shared sweep structure, so that any thread can go on.
import type { Arena } from '../numeric/arena.ts'
import {
  SWEEP_ACTIVE,
  SWEEP_BEGAN,
  SWEEP_CURSOR,
  SWEEP_GAP,
  SWEEP_GRADIENT_MAX,
  SWEEP_GRADIENT_MIN,
  SWEEP_INNER,
  SWEEP_LAST_GAP,
  SWEEP_LAST_LOSS,
  SWEEP_LOSS,
  SWEEP_LOWER,
  SWEEP_NEWTON,
  SWEEP_ORDER,
  SWEEP_RANDOM,
  SWEEP_SHRINK,
  SWEEP_UPPER,
  SWEEP_VISITED,
} from '../numeric/layouts.ts'
import type { TaskContext } from '../threads/task.ts'

export interface DualSweepsOptions {
  problem: number
  sweep: number
  rows: number
  logistic: boolean
  narrow: boolean
  shrink: boolean
  budget: number
  targetGap: number
}

export interface DualSweepsResult {
  work: number
  ready: boolean
  /** Of the last finished sweep. */
  gap: number
  loss: number
}

/** Forgets the thresholds: the next sweep shrinks nothing, the one after it by what that one saw. */
export function resetShrinking(arena: Arena, sweep: number): void {
  arena.setF64(sweep + SWEEP_UPPER, Number.POSITIVE_INFINITY)
  arena.setF64(sweep + SWEEP_LOWER, Number.NEGATIVE_INFINITY)
}

export function dualSweepsTask({ arena }: TaskContext, options: DualSweepsOptions): DualSweepsResult {
  const { problem, sweep, rows, logistic, narrow, budget } = options
  const { numeric } = arena
  const run = logistic
    ? narrow
      ? numeric.sweepLogisticF32
      : numeric.sweepLogisticF64
    : narrow
      ? numeric.sweepBoxF32
      : numeric.sweepBoxF64
  const u32 = arena.u32(sweep, SWEEP_BEGAN / 4 + 1)
  const f64 = arena.f64(sweep, SWEEP_LAST_LOSS / 8 + 1)
  const result = (ready: boolean): DualSweepsResult => ({
    work: f64[SWEEP_VISITED / 8],
    ready,
    gap: f64[SWEEP_LAST_GAP / 8],
    loss: f64[SWEEP_LAST_LOSS / 8],
  })
  u32[SWEEP_SHRINK / 4] = options.shrink ? 1 : 0
  f64[SWEEP_VISITED / 8] = 0
  for (;;) {
    if (u32[SWEEP_BEGAN / 4] === 0) begin()
    const done = run(problem, sweep, budget - f64[SWEEP_VISITED / 8])
    if (done) {
      const all = u32[SWEEP_BEGAN / 4] === rows
      if (end(all)) return result(true)
    }
    if (f64[SWEEP_VISITED / 8] >= budget) return result(false)
  }

  function begin(): void {
    const active = u32[SWEEP_ACTIVE / 4]
    numeric.shuffle(u32[SWEEP_ORDER / 4], active, sweep + SWEEP_RANDOM)
    u32[SWEEP_BEGAN / 4] = active
    u32[SWEEP_CURSOR / 4] = 0
    f64[SWEEP_GRADIENT_MAX / 8] = logistic ? 0 : Number.NEGATIVE_INFINITY
    f64[SWEEP_GRADIENT_MIN / 8] = Number.POSITIVE_INFINITY
    f64[SWEEP_LOSS / 8] = 0
    f64[SWEEP_GAP / 8] = 0
    f64[SWEEP_NEWTON / 8] = 0
  }

  /** Closes a sweep; true when the target is met as far as its rows can tell. */
  function end(all: boolean): boolean {
    u32[SWEEP_BEGAN / 4] = 0
    const gap = f64[SWEEP_GAP / 8]
    f64[SWEEP_LAST_GAP / 8] = gap
    // Rows that were shrunk are not met: the loss of a full sweep stands until the next one.
    if (all) f64[SWEEP_LAST_LOSS / 8] = f64[SWEEP_LOSS / 8]
    if (logistic && f64[SWEEP_NEWTON / 8] <= rows / 10)
      f64[SWEEP_INNER / 8] = Math.max(1e-9, f64[SWEEP_INNER / 8] * 0.1)
    const upper = f64[SWEEP_GRADIENT_MAX / 8]
    const lower = f64[SWEEP_GRADIENT_MIN / 8]
    f64[SWEEP_UPPER / 8] = upper > 0 ? upper : Number.POSITIVE_INFINITY
    f64[SWEEP_LOWER / 8] = lower < 0 ? lower : Number.NEGATIVE_INFINITY
    return gap <= options.targetGap
  }
}
