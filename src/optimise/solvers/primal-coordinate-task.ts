// Sweeps over columns on one thread, until a budget of entries is spent or a sweep that met every column finds the gap small
// enough. All state is in shared memory, so that any thread can go on.
import type { Arena } from '../../numeric/arena.ts'
import {
  L1_ACTIVE,
  L1_BEGAN,
  L1_BYTES,
  L1_CURSOR,
  L1_DAMPING,
  L1_FEATURES,
  L1_FIRST,
  L1_GAP,
  L1_INNER,
  L1_LIMIT,
  L1_LOSS,
  L1_ORDER,
  L1_OUTER_LIMIT,
  L1_PHASE,
  L1_PHASE_DIRECTION,
  L1_PHASE_MODEL,
  L1_PHASE_STEP,
  L1_PHASE_SWEEP,
  L1_PRIMAL,
  L1_RANDOM,
  L1_ROWS,
  L1_SHARE,
  L1_SINCE,
  L1_START_SUM,
  L1_STEEPEST,
  L1_SUM,
  L1_SWEEPS,
  L1_VISITED,
  L1_WAIT,
  L1_WAKE,
  L1_WEIGHTS,
  L1_WORST,
} from '../../numeric/l1-layout.ts'
import { declareTask, type TaskContext } from '../../threads/task.ts'

export interface PrimalCoordinateOptions {
  /** Address of the L1_ structure. */
  l1: number
  logistic: boolean
  shrink: boolean
  budget: number
  /** Entries that a Newton step may take, beyond the budget if need be. */
  spare: number
  targetGap: number
  /** Makes the step that is under way as far as it got, and ends. */
  finish: boolean
}

/** More sweeps over one quadratic model bring little. */
const MOST_SWEEPS = 100
/** A Newton step is found to this share of the derivatives, in at most so many rounds. */
const NEWTON_SHARE = 0.03
const NEWTON_ROUNDS = 200
/** Most sweeps between two Newton steps, when those lead nowhere. */
const LONGEST_WAIT = 64

export const primalCoordinateTask = declareTask(import.meta.url, 'primal-coordinate', primalCoordinate)

/** It is ready when a sweep over all columns found the gap no larger than the target. Primal and gap are estimates. */
function primalCoordinate({ arena }: TaskContext, options: PrimalCoordinateOptions) {
  const columns = new Columns(arena, options)
  const ready = options.logistic ? columns.advanceLogistic() : columns.advanceSquared()
  return { work: columns.work, ready, ...columns.estimate }
}

/** The next sweep, or the next model's first one, meets every column. */
export function wakeColumns(arena: Arena, l1: number): void {
  arena.setU32(l1 + L1_PHASE, L1_PHASE_MODEL)
  arena.setU32(l1 + L1_BEGAN, 0)
  arena.setU32(l1 + L1_WAKE, 1)
}

class Columns {
  readonly #arena: Arena
  readonly #options: PrimalCoordinateOptions
  readonly #u32: Uint32Array
  readonly #f64: Float64Array

  constructor(arena: Arena, options: PrimalCoordinateOptions) {
    this.#arena = arena
    this.#options = options
    this.#u32 = arena.u32(options.l1, L1_BYTES / 4)
    this.#f64 = arena.f64(options.l1, L1_BYTES / 8)
    this.#f64[L1_VISITED / 8] = 0
  }

  get work(): number {
    return this.#f64[L1_VISITED / 8]
  }
  get estimate(): { primal: number; gap: number } {
    return { primal: this.#f64[L1_PRIMAL / 8], gap: this.#f64[L1_GAP / 8] }
  }
  get #left(): number {
    return this.#options.budget - this.work
  }
  get #rows(): number {
    return this.#u32[L1_ROWS / 4]
  }

  /** True when ready. */
  advanceSquared(): boolean {
    const u32 = this.#u32
    const { l1, finish, targetGap } = this.#options
    if (finish) return false
    for (;;) {
      if (u32[L1_BEGAN / 4] === 0) {
        const limit = this.#wake() ? Number.NEGATIVE_INFINITY : this.#limit()
        this.#begin(u32[L1_ACTIVE / 4], limit)
      }
      if (!this.#arena.numeric.sweepL1Squared(l1, this.#left)) return false
      const all = u32[L1_BEGAN / 4] === u32[L1_FEATURES / 4] + 1
      u32[L1_BEGAN / 4] = 0
      const enough = this.#estimateSquared() <= targetGap
      if (enough && all) return true
      if (this.#newtonIsDue()) this.#newton()
      // What was shrunk has not been seen: only a sweep over all columns tells.
      if (enough || u32[L1_ACTIVE / 4] === 0) u32[L1_WAKE / 4] = 1
      if (this.#left <= 0) return false
    }
  }

  /** The same. A model, sweeps over it, and a step. */
  advanceLogistic(): boolean {
    const u32 = this.#u32
    const f64 = this.#f64
    const { numeric } = this.#arena
    const { l1, finish, targetGap } = this.#options
    if (finish && u32[L1_PHASE / 4] === L1_PHASE_MODEL) return false
    if (finish && u32[L1_PHASE / 4] === L1_PHASE_SWEEP) this.#leaveModel()
    for (;;) {
      const phase = u32[L1_PHASE / 4]
      if (phase === L1_PHASE_MODEL) {
        const limit = this.#wake() ? Number.NEGATIVE_INFINITY : f64[L1_OUTER_LIMIT / 8]
        numeric.startModel(l1)
        this.#count(2)
        if (!finish && this.#newtonIsDue()) {
          this.#newton()
          numeric.startModel(l1)
          this.#count(2)
        }
        u32[L1_FIRST / 4] = 1
        u32[L1_SWEEPS / 4] = 0
        this.#begin(u32[L1_ACTIVE / 4], limit)
        u32[L1_PHASE / 4] = L1_PHASE_SWEEP
      } else if (phase === L1_PHASE_SWEEP) {
        if (!numeric.sweepL1Logistic(l1, this.#left)) return false
        if (this.#endModelSweep(targetGap)) return true
      } else if (phase === L1_PHASE_DIRECTION) {
        const budget = finish ? Number.POSITIVE_INFINITY : this.#left
        if (numeric.directionL1(l1, budget)) u32[L1_PHASE / 4] = L1_PHASE_STEP
      } else {
        // A model that led nowhere was not solved well enough.
        if (numeric.stepL1(l1, 1e-9) === 0) f64[L1_SHARE / 8] *= 0.25
        this.#count(4)
        u32[L1_PHASE / 4] = L1_PHASE_MODEL
        if (finish) return false
      }
      if (!finish && this.#left <= 0) return false
    }
  }

  /** Decides what follows a sweep over the model; true when ready. */
  #endModelSweep(targetGap: number): boolean {
    const u32 = this.#u32
    const f64 = this.#f64
    const sum = f64[L1_SUM / 8]
    const sweeps = ++u32[L1_SWEEPS / 4]
    const opening = u32[L1_FIRST / 4] === 1
    const all = u32[L1_BEGAN / 4] === u32[L1_FEATURES / 4] + 1
    u32[L1_FIRST / 4] = 0
    let ready = false
    if (opening) {
      f64[L1_OUTER_LIMIT / 8] = this.#limit()
      if (f64[L1_START_SUM / 8] === 0) f64[L1_START_SUM / 8] = sum
      const enough = this.#estimateLogistic() <= targetGap
      ready = enough && all
      if ((enough && !all) || u32[L1_ACTIVE / 4] === 0) u32[L1_WAKE / 4] = 1
    }
    const solved = sum <= f64[L1_SHARE / 8] * f64[L1_START_SUM / 8]
    // All columns of the model, not only those that sweeps over it left, have to agree that it is solved.
    const whole = u32[L1_BEGAN / 4] === u32[L1_ACTIVE / 4] + 1 || opening
    if (sweeps >= MOST_SWEEPS || (solved && whole)) {
      // The violations are down to this share after one sweep: the next model is worth more.
      if (sweeps === 1) f64[L1_SHARE / 8] *= 0.25
      this.#leaveModel()
    } else if (solved) this.#begin(u32[L1_ACTIVE / 4], Number.NEGATIVE_INFINITY)
    else this.#begin(u32[L1_INNER / 4], this.#limit())
    return ready
  }

  #newtonIsDue(): boolean {
    return ++this.#f64[L1_SINCE / 8] >= this.#f64[L1_WAIT / 8]
  }

  /** Newton's step for the weights that are not zero. It comes more often while it is taken whole. */
  #newton(): void {
    const f64 = this.#f64
    const { numeric } = this.#arena
    const { l1, logistic } = this.#options
    f64[L1_SINCE / 8] = 0
    const damping = f64[L1_DAMPING / 8]
    numeric.newtonL1(l1, logistic, damping, NEWTON_SHARE, NEWTON_ROUNDS, this.#options.spare - this.work)
    let taken = 0
    let share = 1
    for (; share > 1e-3; share /= 4) {
      numeric.clipNewton(l1, share)
      this.#u32[L1_CURSOR / 4] = 0
      numeric.directionL1(l1, Number.POSITIVE_INFINITY)
      taken = logistic ? numeric.stepL1(l1, 1) : numeric.stepL1Squared(l1, 1)
      this.#count(4)
      if (taken > 0) break
    }
    const wait = f64[L1_WAIT / 8]
    const whole = taken > 0 && share === 1
    f64[L1_WAIT / 8] = taken === 0 ? Math.min(2 * wait, LONGEST_WAIT) : whole ? Math.max(wait / 2, 1) : wait
    f64[L1_DAMPING / 8] = whole ? Math.max(damping / 4, 1e-9) : Math.min(damping * 4, 1)
  }

  #leaveModel(): void {
    this.#u32[L1_BEGAN / 4] = 0
    this.#u32[L1_CURSOR / 4] = 0
    this.#u32[L1_PHASE / 4] = L1_PHASE_DIRECTION
  }

  /** Begins a sweep over the first columns of the order. */
  #begin(count: number, limit: number): void {
    const u32 = this.#u32
    const f64 = this.#f64
    this.#arena.numeric.shuffle(u32[L1_ORDER / 4], count, this.#options.l1 + L1_RANDOM)
    u32[L1_INNER / 4] = count
    u32[L1_CURSOR / 4] = 0
    u32[L1_BEGAN / 4] = count + 1
    f64[L1_LIMIT / 8] = limit
    f64[L1_WORST / 8] = 0
    f64[L1_SUM / 8] = 0
    f64[L1_STEEPEST / 8] = 0
  }

  /** Wakes all columns if that was wished for. */
  #wake(): boolean {
    const u32 = this.#u32
    if (u32[L1_WAKE / 4] === 0) return false
    u32[L1_WAKE / 4] = 0
    u32[L1_ACTIVE / 4] = u32[L1_FEATURES / 4]
    return true
  }

  /** Below what derivative a weight of zero is shrunk after the sweep that just ended. */
  #limit(): number {
    return this.#options.shrink ? 1 - this.#f64[L1_WORST / 8] / this.#rows : Number.NEGATIVE_INFINITY
  }

  /** Looks at rows are work, too, and a sweep over no columns must not look like none. */
  #count(perRow: number): void {
    this.#f64[L1_VISITED / 8] += perRow * this.#rows + 1
  }

  // Both take the derivatives of a sweep, met while weights still moved, for those of the weights at its end.

  #estimateSquared(): number {
    const f64 = this.#f64
    const alpha = this.#arena.numeric.sumsOfSquared(this.#options.l1)
    this.#count(1)
    const loss = f64[L1_LOSS / 8]
    const factor = loss > 0 ? Math.min(1 / f64[L1_STEEPEST / 8], alpha / (2 * loss)) : 0
    return this.#keep(loss, factor * alpha - factor * factor * loss)
  }

  #estimateLogistic(): number {
    const f64 = this.#f64
    this.#count(2)
    const factor = Math.min(1, 1 / f64[L1_STEEPEST / 8])
    return this.#keep(f64[L1_LOSS / 8], this.#arena.numeric.dualOfLogistic(this.#options.l1, factor))
  }

  #keep(loss: number, dual: number): number {
    const f64 = this.#f64
    const u32 = this.#u32
    const primal = this.#arena.numeric.lengthL1(u32[L1_WEIGHTS / 4], u32[L1_FEATURES / 4]) + loss
    f64[L1_PRIMAL / 8] = primal
    f64[L1_GAP / 8] = Math.max(primal - dual, 0)
    return f64[L1_GAP / 8]
  }
}
