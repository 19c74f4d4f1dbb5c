// The bookkeeping around the sweeps of numeric/assembly/dual.ts, over one problem's rows. The solver decides how many
// sweeps there are. All state is in the SWEEP_ structure.
import type { Arena } from '../../numeric/arena.ts'
import {
  SWEEP_ACTIVE,
  SWEEP_BEGAN,
  SWEEP_BYTES,
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
} from '../../numeric/layouts.ts'
import type { SweepKind } from '../objectives/one-problem.ts'

export interface SweepStart {
  sweep: number
  order: number
  rows: number
  random: bigint
  /** How finely Newton steps go at first. */
  inner?: number
}

/** Makes a structure ready: rows in the order 0, 1, 2, …, all active, random numbers from a seed. */
export function startSweeps(arena: Arena, start: SweepStart): void {
  arena.numeric.iota(start.order, start.rows)
  startListed(arena, start)
}

/** The same over the rows that the order lists already. */
export function startListed(arena: Arena, { sweep, order, rows, random, inner = 1e-2 }: SweepStart): void {
  arena.bytes(sweep, SWEEP_BYTES).fill(0)
  arena.setU32(sweep + SWEEP_ORDER, order)
  arena.setU32(sweep + SWEEP_ACTIVE, rows)
  arena.setF64(sweep + SWEEP_INNER, inner)
  arena.u64(sweep + SWEEP_RANDOM, 1)[0] = random
  activateAll(arena, sweep, rows)
}

/** How finely Newton steps go in a pass over rows that are met afresh in each. */
export function innerOf(pass: number): number {
  return Math.max(1e-9, 10 ** (-2 - pass))
}

/** Brings shrunk rows back and forgets the thresholds: the next sweep shrinks nothing, the one after it by what it saw. */
export function activateAll(arena: Arena, sweep: number, rows: number): void {
  arena.setU32(sweep + SWEEP_ACTIVE, rows)
  arena.setF64(sweep + SWEEP_UPPER, Number.POSITIVE_INFINITY)
  arena.setF64(sweep + SWEEP_LOWER, Number.NEGATIVE_INFINITY)
}

export interface SweepSettings extends SweepKind {
  rows: number
  shrink: boolean
  /** Whether the problem's most frequent weights are a trainer's own (PROBLEM_OWN). */
  parted?: boolean
}

/** What a finished sweep saw. */
export interface SweepOutcome {
  /** What its rows owed to the duality gap, and their losses, as they were met. */
  gap: number
  loss: number
  /** Whether it met every row. */
  all: boolean
  /** The largest and the smallest projected gradient, and the distance between them (LIBLINEAR's stopping rule). */
  highest: number
  lowest: number
  spread: number
}

export class Sweeps {
  readonly #arena: Arena
  readonly #problem: number
  readonly #sweep: number
  readonly #settings: SweepSettings
  readonly #run: (problem: number, sweep: number, budget: number) => number
  readonly #u32: Uint32Array
  readonly #f64: Float64Array

  constructor(arena: Arena, problem: number, sweep: number, settings: SweepSettings) {
    const { numeric } = arena
    const { logistic, narrow, parted = false, together = false } = settings
    this.#arena = arena
    this.#problem = problem
    this.#sweep = sweep
    this.#settings = settings
    const bits = narrow ? 'F32' : 'F64'
    this.#run = together
      ? numeric.sweepTogether
      : numeric[`sweep${logistic ? 'Logistic' : 'Box'}${parted ? 'Parted' : ''}${bits}`]
    this.#u32 = arena.u32(sweep, SWEEP_BYTES / 4)
    this.#f64 = arena.f64(sweep, SWEEP_BYTES / 8)
    this.#u32[SWEEP_SHRINK / 4] = settings.shrink ? 1 : 0
    this.#f64[SWEEP_VISITED / 8] = 0
  }

  /** Nonzeros visited since this object was made. */
  get work(): number {
    return this.#f64[SWEEP_VISITED / 8]
  }

  /** Of the last finished sweep; the loss of the last one that met every row. */
  get last(): { gap: number; loss: number } {
    return { gap: this.#f64[SWEEP_LAST_GAP / 8], loss: this.#f64[SWEEP_LAST_LOSS / 8] }
  }

  /** The largest and the smallest projected gradient of the present sweep so far. */
  get extremes(): { highest: number; lowest: number } {
    const highest = this.#f64[SWEEP_GRADIENT_MAX / 8]
    const lowest = this.#f64[SWEEP_GRADIENT_MIN / 8]
    return highest >= lowest ? { highest, lowest } : { highest: 0, lowest: 0 }
  }

  /** Goes on with the present sweep, or begins one, until about `budget` nonzeros were visited; its outcome if it ended. */
  advance(budget: number): SweepOutcome | undefined {
    if (this.#u32[SWEEP_BEGAN / 4] === 0) this.#begin()
    // The loop needs the sweep to have begun even when no row is active.
    if (!this.#run(this.#problem, this.#sweep, budget)) return undefined
    return this.#end()
  }

  #begin(): void {
    const u32 = this.#u32
    const f64 = this.#f64
    const active = u32[SWEEP_ACTIVE / 4]
    this.#arena.numeric.shuffle(u32[SWEEP_ORDER / 4], active, this.#sweep + SWEEP_RANDOM)
    // One more than the active rows, so that 0 can say that no sweep is under way.
    u32[SWEEP_BEGAN / 4] = active + 1
    u32[SWEEP_CURSOR / 4] = 0
    f64[SWEEP_GRADIENT_MAX / 8] = this.#settings.logistic ? 0 : Number.NEGATIVE_INFINITY
    f64[SWEEP_GRADIENT_MIN / 8] = this.#settings.logistic ? 0 : Number.POSITIVE_INFINITY
    f64[SWEEP_LOSS / 8] = 0
    f64[SWEEP_GAP / 8] = 0
    f64[SWEEP_NEWTON / 8] = 0
  }

  #end(): SweepOutcome {
    const u32 = this.#u32
    const f64 = this.#f64
    const { rows, logistic } = this.#settings
    const all = u32[SWEEP_BEGAN / 4] === rows + 1
    u32[SWEEP_BEGAN / 4] = 0
    const gap = f64[SWEEP_GAP / 8]
    const loss = f64[SWEEP_LOSS / 8]
    f64[SWEEP_LAST_GAP / 8] = gap
    // Rows that were shrunk are not met: the loss of a full sweep stands until the next one.
    if (all) f64[SWEEP_LAST_LOSS / 8] = loss
    // Once most rows need no Newton step at this accuracy, a finer one.
    if (logistic && f64[SWEEP_NEWTON / 8] <= rows / 10)
      f64[SWEEP_INNER / 8] = Math.max(1e-9, f64[SWEEP_INNER / 8] * 0.1)
    const upper = f64[SWEEP_GRADIENT_MAX / 8]
    const lower = f64[SWEEP_GRADIENT_MIN / 8]
    f64[SWEEP_UPPER / 8] = upper > 0 ? upper : Number.POSITIVE_INFINITY
    f64[SWEEP_LOWER / 8] = lower < 0 ? lower : Number.NEGATIVE_INFINITY
    const [highest, lowest] = upper >= lower ? [upper, lower] : [0, 0]
    return { gap, loss, all, highest, lowest, spread: highest - lowest }
  }
}
